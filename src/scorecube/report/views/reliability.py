"""View of reliability: variance components, coefficients and numbers of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube.report.tables import reliability
from scorecube.report.tables.design import about
from scorecube.report.text_formats import with_labels
from scorecube.report.views.others import topics_and_teams
from scorecube.report.views.phrases import NONE, on_collection
from scorecube.report.views.questions import TOPICS
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Lines,
    Order,
    ResultGroup,
    Table,
    View,
    on_demand,
    select_tables,
)

NAMES = {"erho2": "E rho^2", "phi": "Phi"}
FEW_LEVELS = 10
"""Levels of a third facet below which its variances are hardly known."""
DESIGN = f"topic set size design for a difference of {reliability.DIFFERENCE:g} between the best and the worst of 10 systems"


def title(options: Mapping[str, Any]) -> str:
    """Return what was left out, the targets, and the confidence level."""
    sizes = options.get("topic_sizes") or ()
    parts = [f"{', '.join(map(str, sizes))} topics"] if sizes else []
    parts += [f"target {', '.join(f'{each:g}' for each in options['target'])}"]
    parts += [f"without the worst {options['drop']:.0%} of the runs"] if options["drop"] else []
    if options.get("judgement_sets"):
        parts.append(f"judgements {options['first']} and {options['second']}")
    return ", ".join([*parts, f"{options['confidence']:.0%} intervals"])


def interval(row: Mapping[Any, Any], name: str, form: str = ".2f") -> str:
    """Return a value with its interval by the jackknife; by F distributions where there is none, and says so."""
    low, high = (row[f"{name}_jackknife_{end}"] for end in ("low", "high"))
    by = ""
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        by = " by F"
    if np.isnan(row[name]):
        return "not defined"
    return f"{row[name]:{form}} ({low:{form}} to {high:{form}}{by})"


def topics_text(row: Mapping[Any, Any]) -> str:
    """Return a number of topics with its interval."""
    shown = {"topics": row["n_topics"]} | {
        f"topics_{end}": row[f"n_topics_jackknife_{end}"] for end in ("low", "high")
    }
    return about(shown)


def headline(result: xr.Dataset) -> list[str]:
    """Return the most and the least reliable metric, and the topics that a target takes beside those of topic set size design."""
    found = with_labels(reliability.coefficients(result)).dropna(subset="erho2")
    confidence = f"{result.attrs['confidence']:.0%}"
    if found.empty:
        return ["all scores are equal: no coefficient is defined"]
    found = found[found["n_topics"] == _size(result, found)]
    rows = found.sort_values("erho2", ascending=False, kind="stable").to_dict("records")
    shown = [rows[0], *([rows[-1]] if len(rows) > 1 else [])]
    lines = [
        f"with {rows[0]['n_topics']} topics, "
        + "; ".join(
            f"{row['label']}: E rho^2 {interval(row, 'erho2')}, Phi {interval(row, 'phi')}"
            for row in shown
        )
        + f"; {confidence} intervals for systems and topics like these, each by itself"
    ]
    needed = with_labels(reliability.topics(result))
    needed = needed[
        (needed["coefficient"] == "erho2") & (needed["target"] == needed["target"].max())
    ]
    for row in (
        each
        for name in shown
        for each in needed.to_dict("records")
        if each["label"] == name["label"]
    ):
        lines.append(f"{row['label']}: {_comparison(row)}")
    return [*lines, *_negative(result), *result.attrs["notes"]]


def _size(result: xr.Dataset, rows: pd.DataFrame) -> int:
    """Return the number of topics at hand if there are coefficients of it, else the first one."""
    own = int(result.attrs["n_topics"])
    return own if (rows["n_topics"] == own).any() else int(rows["n_topics"].iloc[0])


def _comparison(row: Mapping[Any, Any]) -> str:
    """Return the answers of reliability and of topic set size design in words."""
    if np.isnan(row["n_topics"]):
        return f"no number of topics gives an E rho^2 of {row['target']:g}, as systems' variance is not above 0"
    first = f"an E rho^2 of {row['target']:g} takes {topics_text(row)} topics"
    if np.isnan(row["design_topics"]):
        return first
    seen = (
        ""
        if np.isnan(row["detectable"])
        else f"; that many topics detect a difference of about {row['detectable']:.2f} between two systems with power .8"
    )
    asked = about({"topics": row["design_topics"]})
    return f"{first}{seen}; {DESIGN}, by the same residual variance, takes about {asked} (scorecube design has its interval)"


def _negative(result: xr.Dataset) -> list[str]:
    """Return which components are negative and count as 0."""
    components = reliability.components(result)
    if not components["negative"].any():
        return []
    rows = with_labels(components).to_dict("records")
    found = [f"{row['negative']} by {row['label']}" for row in rows if row["negative"]]
    return [f"negative estimates of variance, which count as 0: {'; '.join(found)}"]


def page_tables(frames: Frames) -> Headed:
    """Return the tables; further facets only where there are any."""
    headings = {
        "Variance components": "components",
        "Topics for a target": "topics",
        "Runs nested in teams": "teams",
        "Third facet": "facets",
    }
    first = frames["coefficients"].drop(columns="n_runs")
    # Intervals that hold more often come first.
    behind = [f"{name}_{end}" for name in NAMES for end in reliability.LIMITS]
    first = first[[*first.columns.drop(behind), *behind]]
    further = [(heading, frame) for heading, frame in select_tables(frames, headings) if len(frame)]
    return [("Coefficients", first), *further]


def most_reliable(frame: pd.DataFrame) -> str:
    """Return the metric with the highest E rho^2, for the largest number of topics."""
    rows = frame.dropna(subset="erho2").sort_values(
        ["n_topics", "erho2"], ascending=False, kind="stable"
    )
    if rows.empty:
        return NONE
    best = rows.iloc[0]
    return f"{best['label']} {best['erho2']:.2f} ({best['n_topics']} topics)"


def answer(group: ResultGroup) -> Lines:
    """Yield the topics that reliability asks for, beside those of topic set size design."""
    frame = with_labels(group.frames["topics"]) if "topics" in group.frames else None
    if frame is None or frame.empty:
        return
    frame = frame[frame["target"] == frame["target"].max()]
    several = frame["collection"].nunique() > 1
    rows = frame[frame["coefficient"] == "erho2"].dropna(subset=["n_topics", "design_topics"])
    rows = rows.sort_values("n_topics", kind="stable")
    if rows.empty:
        return
    records = rows.to_dict("records")
    least, most = (
        f"{topics_text(row)} topics by {row['label']}{on_collection(row, several)}"
        for row in (records[0], records[-1])
    )
    span = f"From {least} to {most}" if len(records) > 1 else least
    designs = [about({"topics": number}) for number in sorted(rows["design_topics"])]
    asked = designs[0] if designs[0] == designs[-1] else f"{designs[0]} to {designs[-1]}"
    yield (
        f"{span} give differences between systems an E rho^2 of {records[0]['target']:g}; topic set size design by the same variances asks for about {asked} "
        "(its chapter has their intervals). "
        "The two differ because reliability is relative to how much the systems differ, and design to a difference that is named: alike systems need more "
        "topics for the same reliability, while the design stays as it is.",
        f"{group.heading}; {DESIGN}, alpha 0.05, power 80%, same topics for all systems; jackknife intervals over {topics_and_teams(*group.facts)}, each by itself",
    )


def cautions(result: xr.Dataset, _frames: Frames) -> list[tuple[str, str]]:
    """Return remarks on negative components, teams, dropped runs, and third facets of few levels."""
    remarks = []
    negative = _negative(result)
    if negative:
        remarks.append(
            (
                "Estimates of variance are negative and count as 0: the true ones are small.",
                negative[0].partition(": ")[2],
            )
        )
    if result.attrs["n_teams"] < result.attrs["n_runs"]:
        remarks.append(
            (
                "Runs of a team are alike: the F intervals (low, high), for independent runs, are too narrow; the jackknife leaves out whole teams.",
                f"{result.attrs['n_runs']} runs of {result.attrs['n_teams']} teams",
            )
        )
    if result.attrs["drop"]:
        remarks.append(
            (
                "Runs were left out by their observed means: coefficients are about the better systems only, and too low by about the standard error of the quantile.",
                f"worst {result.attrs['drop']:.0%}",
            )
        )
    if "n_levels" in result.coords and int(result["n_levels"].min()) < FEW_LEVELS:
        remarks.append(
            (
                "The third facet has few levels, which are no random sample: its variances are descriptive, and have no intervals.",
                ", ".join(
                    f"{facet} {count}"
                    for facet, count in zip(
                        result["facet"].values.tolist(),
                        result["n_levels"].values.tolist(),
                        strict=True,
                    )
                ),
            )
        )
    return remarks


VIEW = View(
    name="reliability",
    heading="Reliability",
    about=(
        "Generalisability theory takes a score as the sum of a system effect, a topic effect and an interaction with error, of which systems and topics at hand are random "
        "samples. E rho^2 is the expected squared correlation of systems' means over these topics with those over infinitely many, and is about differences between "
        "systems; Phi is about absolute means, for which differences of topics' difficulty are an error, too. Both rise with the number of topics; both are high where the systems "
        "differ much, whatever a metric's merit. Intervals by F distributions (low, high) are those of the literature and assume normal, independent effects; in simulations and on real "
        "scores they often cover less than stated, as the documentation of scorecube shows "
        '("Reliability: estimands and coverage"). Headlines and figures therefore have the jackknife over topics and teams. With several gain settings '
        "or sets of judgements the third facet shows what remains if one of them is taken at random (erho2_one), or all as fixed (erho2_fixed). "
        "With teams, different_teams is about runs of different teams and same_team about runs of one team, which usually differ less; limits are by the jackknife."
    ),
    tables={
        "coefficients": Table(reliability.coefficients),
        "components": Table(reliability.components),
        "topics": Table(reliability.topics),
        "teams": Table(reliability.teams),
        "facets": Table(reliability.facets),
    },
    title=title,
    caption=lambda result: (
        f"{reliability.conditions(result)}. Coefficients by number of topics; bands are jackknife intervals over {topics_and_teams(result.attrs)}, lines the target and the topics at hand."
    ),
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.reliability:reliability_curves"),
    column=Column("highest E rho^2", most_reliable),
    order=Order("erho2", more_is_better=True, conditions=("n_topics",)),
    answers={TOPICS: answer},
    cautions=cautions,
)

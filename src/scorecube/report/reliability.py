"""What is shown of reliability: tables, figure and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.reliability.reliability_quantities import (
    DIFFERENCE,
    coefficient_at,
    curve_topics,
    shown_limit,
)
from scorecube.collection.schema import labels_of
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, Axes, curve_style
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import (
    about,
    listed,
    number_of,
    on_collection,
    topics_and_teams,
    with_limits,
)
from scorecube.report.tables import declared, where
from scorecube.report.text_formats import with_labels
from scorecube.report.view import (
    TOPICS,
    Canvas,
    Frames,
    HeadedTables,
    Remarks,
    ResultGroup,
    Summary,
    View,
    notes_of,
    on_page,
)

NAMES = {"erho2": "E rho^2", "phi": "Phi"}
DESIGN = f"topic set size design for a difference of {DIFFERENCE:g} between the best and the worst of 10 systems"
BY_F, BY_JACKKNIFE = ("_low", "_high"), ("_jackknife_low", "_jackknife_high")
COEFFICIENTS = declared(
    "metric gain n_topics",
    "metric gain n_topics erho2~=value~[erho2] phi~=value~[phi] "
    "erho2_jackknife_low=value_jackknife_low[erho2] "
    "erho2_jackknife_high=value_jackknife_high[erho2] phi_jackknife_low=value_jackknife_low[phi] "
    "phi_jackknife_high=value_jackknife_high[phi] n_runs",
)
"""Coefficients by number of topics; limits by F distributions, then by the jackknife over topics and teams."""
COMPONENTS = declared(
    "metric gain",
    "metric gain systems=component[systems] topics=component[topics] "
    "interaction=component[interaction] systems_share=component_share[systems] "
    "topics_share=component_share[topics] interaction_share=component_share[interaction] negative "
    "n_runs n_topics=topics_at_hand",
)
"""Variances of systems, topics and interaction; `negative` names those whose unbiased estimate is below 0."""
NEEDED = declared(
    "metric gain target coefficient",
    "metric gain target coefficient n_topics~=needed~ n_topics_jackknife_low=needed_jackknife_low "
    "n_topics_jackknife_high=needed_jackknife_high design_topics detectable system_deviation",
)
"""Numbers of topics for the targets, missing where no number suffices; beside them, topic set size design by the same variances.

`design_topics` detect a difference of 0.1 between the best and the worst of 10 systems with power .8 at alpha = .05: for E rho^2 by the
residual variance (the same topics for all systems), for Phi by the variance within systems. `detectable` is the difference that as many
topics as the target asks for detect between two systems by the paired t test (E rho^2 only).
"""


def conditions(result: xr.Dataset) -> str:
    """Return collection, and numbers of runs, teams and topics."""
    attrs = result.attrs
    teams = f" of {attrs['n_teams']} teams" if attrs["n_teams"] < attrs["n_runs"] else ""
    sizes = f"{attrs['n_runs']} runs{teams}, {attrs['n_topics']} topics"
    return listed(where(result)["collection"], sizes, by=": ")


def title(options: Mapping[str, Any]) -> str:
    """Return the numbers of topics, the targets, and the confidence level."""
    sizes = ", ".join(map(str, options.get("topic_sizes") or ()))
    return listed(
        sizes and f"{sizes} topics",
        f"target {', '.join(f'{each:g}' for each in options['target'])}",
        f"{options['confidence']:.0%} intervals",
    )


def limits(row: Mapping[Any, Any], name: str) -> tuple[float, float, str]:
    """Return the limits of a value by the jackknife; by F distributions where there are none, and says so."""
    _, low, high = number_of(row, name, ("", *BY_JACKKNIFE))
    if np.isfinite(low) and np.isfinite(high):
        return low, high, ""
    return row[f"{name}_low"], row[f"{name}_high"], " by F"


def interval(row: Mapping[Any, Any], name: str) -> str:
    """Return a value with its interval, see `limits`."""
    low, high, by = limits(row, name)
    if np.isnan(row[name]):
        return "not defined"
    return with_limits(row[name], low, high, ".2f").replace(")", f"{by})")


def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield the topics that reliability asks for beside those of topic set size design, of the metrics that need fewest and most."""
    if "topics" not in group.frames or group.first_table["erho2"].isna().all():
        return
    frame = with_labels(group.frames["topics"])
    frame = frame[(frame["target"] == frame["target"].max()) & (frame["coefficient"] == "erho2")]
    rows = frame.sort_values("n_topics", kind="stable").to_dict("records")
    for row in [rows[0], *rows[1:][-1:]]:
        where = on_collection(row, group.several)
        yield with_number(
            f"{row['label']}{where}: {_comparison(row)}; jackknife intervals over {topics_and_teams(*group.attrs)}, each by itself",
            f"topics for an E rho^2 of {row['target']:g}, {row['label']}{where}",
            number_of(row, "n_topics", ("", *BY_JACKKNIFE)),
            "topics",
            float(group.attrs[0]["confidence"]),
            "no number of topics is a limit on one side or both",
            table="topics",
        )


def _comparison(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["n_topics"]):
        return f"no number of topics gives an E rho^2 of {row['target']:g}, as systems' variance is not above 0"
    topics = number_of(row, "n_topics", ("", *BY_JACKKNIFE))
    first = f"an E rho^2 of {row['target']:g} takes {about(*topics)} topics"
    if np.isnan(row["design_topics"]):
        return first
    seen = (
        ""
        if np.isnan(row["detectable"])
        else f"; that many topics detect a difference of about {row['detectable']:.2f} between two systems with power .8"
    )
    return f"{first}{seen}; {DESIGN}, by the same residual variance, takes about {about(row['design_topics'])} (scorecube design has its interval)"


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the coefficients of the most and the least reliable metric, negative estimates of variance, and notes."""
    found = with_labels(COEFFICIENTS.make(result)).dropna(subset="erho2")
    if found.empty:
        yield Finding("all scores are equal: no coefficient is defined")
        return
    confidence, own = float(result.attrs["confidence"]), int(result.attrs["n_topics"])
    size = own if (found["n_topics"] == own).any() else int(found["n_topics"].iloc[0])
    rows = found[found["n_topics"] == size].sort_values("erho2", ascending=False, kind="stable")
    shown = rows.iloc[[0, -1] if len(rows) > 1 else [0]].to_dict("records")
    values = "; ".join(
        f"{row['label']}: E rho^2 {interval(row, 'erho2')}, Phi {interval(row, 'phi')}"
        for row in shown
    )
    yield with_number(
        f"with {size} topics, {values}; {confidence:.0%} intervals for systems and topics like these, each by itself",
        f"E rho^2 of {size} topics, {shown[0]['label']}",
        (shown[0]["erho2"], *limits(shown[0], "erho2")[:2]),
        confidence=confidence,
        unlimited="no interval is defined",
        table="coefficients",
    )
    if negative := _negative(result):
        yield Finding(f"negative estimates of variance, which count as 0: {negative}")
    yield from notes_of(result)


def _negative(result: xr.Dataset) -> str:
    """Return which components are negative and count as 0."""
    components = COMPONENTS.make(result)
    if not components["negative"].any():
        return ""
    rows = with_labels(components).to_dict("records")
    return "; ".join(f"{row['negative']} by {row['label']}" for row in rows if row["negative"])


def page_tables(frames: Frames) -> HeadedTables:
    """Return the tables, intervals that hold more often first."""
    headings = {
        "Coefficients": "coefficients",
        "Variance components": "components",
        "Topics for a target": "topics",
    }
    first = frames["coefficients"].drop(columns="n_runs")
    behind = [f"{name}_{end}" for name in NAMES for end in ("low", "high")]
    first = first[[*first.columns.drop(behind), *behind]]
    return on_page(headings)({**frames, "coefficients": first})


def cautions(result: xr.Dataset, _frames: Frames) -> Remarks:
    """Yield remarks on negative components, and on teams."""
    if negative := _negative(result):
        yield (
            "Estimates of variance are negative and count as 0: the true ones are small.",
            negative,
        )
    if result.attrs["n_teams"] < result.attrs["n_runs"]:
        yield (
            "Runs of a team are alike: the F intervals (low, high), for independent runs, are too narrow; the jackknife leaves out whole teams.",
            f"{result.attrs['n_runs']} runs of {result.attrs['n_teams']} teams",
        )


def reliability_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """E rho^2 and Phi by number of topics, a curve and a band a metric.

    Bands are jackknife intervals over topics and teams, or intervals by F distributions where there are none. Vertical lines: topics at hand;
    horizontal lines: targets.
    """
    cells = result.isel(gain=0)
    coefficients = labels_of(cells, names.COEFFICIENT)
    panels = canvas.figure(FIGURE_SIZE).subplots(1, len(coefficients), sharey=True)
    for axes, name in zip(panels, coefficients, strict=True):
        _curves(axes, cells.sel({names.COEFFICIENT: name}), curve_topics(cells))
        of = "differences between systems" if name == "erho2" else "absolute means"
        axes.set_title(f"{NAMES[name]}: {of}")
    limits = coefficient_at(shown_limit(cells, "low"), cells.attrs["n_topics"])
    # The axis ends twice as far below 1 as the lowest limit for the topics at hand, in tenths.
    least = max(0.0, float(np.floor(10 * (2 * np.nan_to_num(limits.values).min() - 1)) / 10))
    panels[0].set(ylim=(least, 1.0), ylabel="coefficient")
    canvas.name(f"{conditions(result)}, gains {cells[names.GAIN].item()}")
    canvas.legend_outside(panels[0], "lower center", 6, fontsize=8)


def _curves(axes: Axes, at: xr.Dataset, topics: xr.DataArray) -> None:
    sizes, ratios = topics.values, at["ratio"].values
    curves = coefficient_at(at["ratio"], topics)
    bands = [coefficient_at(shown_limit(at, end), topics) for end in ("low", "high")]
    known = [k for k in np.argsort(ratios) if np.isfinite(ratios[k])]
    # Bands cover each other: of more metrics only the highest and the lowest have one.
    banded = known if len(known) <= 3 else [known[0], known[-1]]
    own = int(at.attrs["n_topics"])
    for k, metric in enumerate(labels_of(at, names.METRIC)):
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(sizes, curves[k].values, linewidth=1.2, color=colour)
        height = float(coefficient_at(at["ratio"][k], own))
        axes.plot([own], [height], **curve_style(k, 4, 1.2), label=metric)
        if k in banded:
            low, high = (band[k].values for band in bands)
            axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
    for target in at[names.TARGET].values:
        axes.axhline(target, linestyle="--", linewidth=0.8, color="0.4")
    axes.axvline(own, linestyle=":", linewidth=0.8, color="0.4")
    axes.set(xlim=(1, sizes[-1]), xlabel="topics")


VIEW = View(
    name="reliability",
    heading="Reliability",
    about=(
        "Generalisability theory takes a score as the sum of a system effect, a topic effect and an interaction with error, of which systems and topics at hand are random "
        "samples. E rho^2 is the expected squared correlation of systems' means over these topics with those over infinitely many, and is about differences between "
        "systems; Phi is about absolute means, for which differences of topics' difficulty are an error, too. Both rise with the number of topics; both are high where the systems "
        "differ much, whatever a metric's merit. Intervals by F distributions (low, high) are those of the literature and assume normal, independent effects; in simulations and on real "
        "scores they often cover less than stated, as the documentation of scorecube shows "
        '("Reliability: estimands and coverage"). Headlines and figures therefore have the jackknife over topics and teams.'
    ),
    summary=(
        Summary(
            "metric=label E_rho^2=erho2,erho2_jackknife_low,erho2_jackknife_high "
            "Phi=phi,phi_jackknife_low,phi_jackknife_high",
            at={names.N_TOPICS: math.inf},
            most=5,
            bar="E rho^2",
        ),
        Summary(
            "metric=label target topics=n_topics,n_topics_jackknife_low,n_topics_jackknife_high",
            table="topics",
            most=5,
            at={"coefficient": "erho2"},
            title="topics needed for a reliability",
        ),
    ),
    tables={"coefficients": COEFFICIENTS, "components": COMPONENTS, "topics": NEEDED},
    title=title,
    caption=lambda result: (
        f"{conditions(result)}. Coefficients by number of topics; bands are jackknife intervals over {topics_and_teams(result.attrs)}, lines the target and the topics at hand."
    ),
    findings=findings,
    page_tables=page_tables,
    figure=reliability_curves,
    answers={TOPICS: answer},
    cautions=cautions,
)

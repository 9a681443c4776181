"""What the views of tests of pairs of runs share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import pairs
from scorecube.report.tables.rows import COLLECTION
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import (
    MOST_NAMED,
    first_of,
    first_places,
    labels_by_share,
    value_range,
)
from scorecube.report.views.questions import DISCRIMINATION, Question
from scorecube.report.views.view import (
    Column,
    Findings,
    Frames,
    Headed,
    Lines,
    Order,
    Table,
    View,
    on_demand,
    rows_along,
    select_tables,
)

PAIR_ROWS = rows_along(names.METRIC, names.GAIN, names.PAIR)


def title(options: Mapping[str, Any]) -> str:
    """Return the significance levels, and how the test differs from the usual two-sided test of t."""
    odd = ["one-sided"] if options.get("sided") == 1 else []
    odd += ["unstudentised"] if options.get("studentised") is False else []
    odd += ["p = (count + 1) / (B + 1)"] if options["plus_one"] else []
    return ", ".join([f"alpha {', '.join(f'{each:g}' for each in options['alphas'])}", *odd])


def page_tables(frames: Frames) -> Headed:
    """Return discriminative power at each level, and how much is left after an adjustment for the number of pairs."""
    frame = frames["power"].drop(columns="trials")
    frame = frame.drop(
        columns=[odd for odd in ("degenerate_pairs", "constant_pairs") if not frame[odd].any()]
    )
    tables = [
        (f"Discriminative power at {alpha:g}", part.drop(columns="alpha"))
        for alpha, part in frame.groupby("alpha", sort=False)
    ]
    # Tukey's p-values account for all pairs together and need no adjustment.
    return [*tables, *select_tables(frames, {"Adjusted for the number of pairs": "adjusted"})]


def caption(result: xr.Dataset) -> str:
    """Describe the curves."""
    return f"{pairs.conditions(result)}. Sorted p-values: the lower a curve, the more pairs of runs a metric separates."


def headline(result: xr.Dataset) -> list[str]:
    """Return the metric that separates most pairs of runs, and how many pairs have equal scores."""
    frame = with_labels(pairs.power(result))
    best = frame[frame["alpha"] == frame["alpha"].max()].iloc[0]
    difference = best.get("estimated_difference")
    enough = (
        ""
        if difference is None or pd.isna(difference)
        else f"; a difference of {difference:.2f} is enough for that"
    )
    lines = [
        f"no pair of runs has p < {best['alpha']:g}, whatever the metric ({best['pairs']:,} pairs)"
        if best["significant"] == 0
        else f"{best['label']} separates the most pairs of runs: {best['significant']:,} of {best['pairs']:,} ({best['share']:.1%}) "
        f"have p < {best['alpha']:g}{enough}"
    ]
    equal = int(frame["degenerate_pairs"].max())
    if equal:
        lines.append(
            f"up to {equal} pairs of runs have equal scores on every topic; they count as not different"
        )
    return [*lines, *result.attrs["notes"]]


def strongest(frame: pd.DataFrame) -> str:
    """Return the metric with the largest share of significant pairs at the largest level."""
    frame = frame[frame["alpha"] == frame["alpha"].max()].sort_values(
        "share", ascending=False, kind="stable"
    )
    return f"{frame['label'].iloc[0]} {frame['share'].iloc[0]:.1%}"


def discrimination(findings: Findings, *, scope: str = "for each pair by itself") -> Lines:
    """Yield the metrics that separate most pairs of runs."""
    frame = with_labels(findings.first_table)
    if "adjustment" in frame:
        frame = frame[(frame["adjustment"] == "none") & (frame["test"] == frame["test"].iloc[0])]
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="share")
    frame = frame.sort_values("share", ascending=False, kind="stable")
    if frame.empty:
        return
    trials = f", {findings.trials:,} trials" if findings.trials else ""
    where = f"{findings.heading}, p < {frame['alpha'].iloc[0]:g} {scope}{trials}"
    if frame[COLLECTION].nunique() == 1:
        yield _of_one_collection(frame), where
        return
    means = frame.groupby("label", sort=False)["share"].agg(["mean", "count"])
    everywhere = means[means["count"] == frame[COLLECTION].nunique()].sort_values(
        "mean", ascending=False
    )
    shares = [f"{name} {row['mean']:.1%}" for name, row in everywhere.iterrows()]
    listed = (
        f" Mean share, of the metrics of all collections: {', '.join(shares[:MOST_NAMED])}."
        if shares
        else ""
    )
    if places := first_places(frame):
        yield f"The most pairs of runs are separated by {places}.{listed}", where
    else:
        yield (
            f"Each collection has one metric, which separates {value_range(frame['share'], '.1%')} of the pairs of runs.",
            where,
        )


def _of_one_collection(frame: pd.DataFrame) -> str:
    """Return the shares of the metrics of one collection, the largest first."""
    n_pairs = f"{frame['pairs'].iloc[0]:,}"
    if frame["significant"].max() == 0:
        return f"No metric separates any of {n_pairs} pairs of runs."
    shares = [f"{row['label']} {row['share']:.1%}" for row in frame.to_dict("records")]
    last = f"; the fewest by {shares[-1]}" if len(shares) > MOST_NAMED else ""
    return f"Separated pairs of runs, of {n_pairs}: {first_of(shares, rest='')}{last}."


def estimated_differences(findings: Findings) -> Lines:
    """Yield the differences from which on every pair is significant."""
    frame = with_labels(findings.first_table)
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="estimated_difference")
    if frame.empty:
        return
    needs = [
        f"{label} {value_range(frame.loc[frame['label'] == label, 'estimated_difference'], '.2f')}"
        for label in labels_by_share(frame)
    ]
    topics = value_range([int(facts["n_topics"]) for facts in findings.facts], "d")
    yield (
        f"With all {topics} topics, differences that suffice for p < {frame['alpha'].iloc[0]:g}: {first_of(needs, rest='')}.",
        f"{findings.heading}, each pair by itself, {findings.trials:,} trials",
    )


def cautions_of_pairs(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return remarks on pairs of runs that the test treats in a special way."""
    frame = frames["power"]
    remarks = []
    for column, text in (
        (
            "degenerate_pairs",
            "Pairs of runs have equal scores on every topic: they count as not different.",
        ),
        (
            "constant_pairs",
            "Pairs of runs differ by the same amount on every topic: their t statistic is infinite.",
        ),
        ("untested_pairs", "Pairs of runs have too few common topics to be tested."),
    ):
        if column in frame and int(frame[column].max()):
            remarks.append(
                (text, f"up to {int(frame[column].max()):,} of {result.sizes[names.PAIR]:,} pairs")
            )
    return remarks


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return the remarks of `cautions_of_pairs`, and one on too few trials for Holm's adjustment."""
    remarks = cautions_of_pairs(result, frames)
    trials, n_pairs = int(result.attrs["trials"]), result.sizes[names.PAIR]
    alpha = float(result[names.ALPHA].max())
    if (trials + 1) * alpha < n_pairs:
        text = (
            "Too few trials for Holm's adjustment to find any pair: it needs as many as pairs / alpha. Tukey's test "
            "(scorecube tukey) accounts for all pairs together with fewer trials."
        )
        remarks.append((text, f"{result.attrs['analysis']}: {n_pairs / alpha:,.0f} trials"))
    return remarks


TABLES = {
    "power": Table(pairs.power),
    "pairs": Table(pairs.p_value_pairs, PAIR_ROWS),
    "curve": Table(pairs.curve, PAIR_ROWS),
}
ADJUSTED = {"adjusted": Table(pairs.adjusted_power)}
COLUMN = Column("most separated pairs", strongest)


def pair_test_view(
    name: str,
    heading: str,
    about: str,
    *,
    tables: Mapping[str, Table] = TABLES | ADJUSTED,
    answers: Mapping[Question, Any] | None = None,
    joint: bool = False,
) -> View:
    """Return the view of a resampling test of pairs of runs.

    Parameters
    ----------
    name, heading, about, tables
        As of `View`.
    answers
        To further questions than which metric separates most pairs.
    joint
        Whether p-values account for all pairs together.
    """
    answer = partial(discrimination, scope="for all pairs together") if joint else discrimination
    return View(
        name=name,
        heading=heading,
        about=about,
        tables=tables,
        title=title,
        caption=caption,
        headline=headline,
        page_tables=page_tables,
        figure=on_demand("figures.pairs:p_value_curves"),
        overview=on_demand("figures.pairs:power_bars"),
        column=COLUMN,
        order=Order("share", more_is_better=True, conditions=("alpha",)),
        answers={DISCRIMINATION: answer, **(answers or {})},
        cautions=cautions_of_pairs if joint else cautions,
    )

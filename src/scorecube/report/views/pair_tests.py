"""What the views of tests of pairs of runs share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.monte_carlo_error import undecided
from scorecube.errors import counted
from scorecube.report.tables import pairs
from scorecube.report.tables.rows import COLLECTION
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import (
    MOST_NAMED,
    about_repetitions,
    by_system,
    first_of,
    first_places,
    labels_by_share,
    noun,
    value_range,
)
from scorecube.report.views.questions import DISCRIMINATION, Question
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
    rows_along,
    select_tables,
)

PAIR_ROWS = rows_along(names.METRIC, names.GAIN, names.PAIR)
MEASURED = {
    "tukey": "0.05 to 0.12, and 0.34 with one erratic run of 30; those of the max-T test are lower",
    "maxt": "0.05 to 0.08",
}
"""Family-wise error rates of tests of all pairs together at 0.05, for 50 topics of real collections with equal means (docs/believe/ranks.md)."""
MEASURED_SYSTEMS = "0.04 to 0.08 for systems of 5 runs or more, up to 0.17 with 2 or 3"
"""The same of the max-T test for systems with repeated runs."""


def title(options: Mapping[str, Any]) -> str:
    """Return the significance levels, how the test differs from the usual two-sided test of t, and the run that others are compared with."""
    odd = ["one-sided"] if options.get("sided") == 1 else []
    odd += ["unstudentised"] if options.get("studentised") is False else []
    odd += ["p = (count + 1) / (B + 1)"] if options["plus_one"] else []
    levels = f"alpha {', '.join(f'{each:g}' for each in options['alphas'])}"
    return ", ".join([levels, *odd, *by_system(options), *against(options)])


def against(facts: Mapping[str, Any]) -> list[str]:
    """Return the run that others are compared with, for titles; nothing for all pairs."""
    return [] if facts.get("baseline") is None else [f"against {facts['baseline']}"]


def what_is_compared(facts: Mapping[str, Any]) -> str:
    """Return what the pairs of a result are."""
    return (
        f"pairs of {noun(facts)}s"
        if facts.get("baseline") is None
        else f"{noun(facts)}s from {facts['baseline']}"
    )


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
    """Return the metric that separates most pairs of runs, or most runs from the baseline, and how many pairs have equal scores."""
    frame = with_labels(pairs.power(result))
    rows = frame[frame["alpha"] == frame["alpha"].max()]
    best = rows.iloc[0]
    difference = best.get("estimated_difference")
    estimate = (
        ""
        if difference is None or pd.isna(difference)
        else f"; Sakai's estimated difference of {best['label']} is {difference:.2f}{_exception(best)}; no interval for it is known"
    )
    lines = [
        f"{separated(result, rows)}{_undecided(result, best)}{estimate if best['significant'] else ''}"
    ]
    if best["significant"] and result.attrs.get("analysis") in MEASURED:
        lines.append(measured(result.attrs))
    equal = int(frame["degenerate_pairs"].max())
    if equal:
        lines.append(
            f"{'1 pair of runs has' if equal == 1 else f'up to {equal:,} pairs of runs have'} equal scores on every topic: not different"
        )
    return [*lines, *result.attrs["notes"]]


def measured(facts: Mapping[str, Any]) -> str:
    """Return the measured error rates of a test of all pairs together; empty for other tests.

    Parameters
    ----------
    facts
        Attributes of a result: its analysis, and whether it compares systems.

    Examples
    --------
    >>> measured({"analysis": "maxt"})
    'measured family-wise error rates at 0.05, with 50 topics: 0.05 to 0.08'
    """
    if facts.get("analysis") not in MEASURED:
        return ""
    rates = MEASURED_SYSTEMS if facts.get("by_system") else MEASURED[facts["analysis"]]
    return f"measured family-wise error rates at 0.05, with 50 topics: {rates}"


def family(facts: Mapping[str, Any]) -> str:
    """Return which comparisons a p-value accounts for.

    Parameters
    ----------
    facts
        Attributes of a result: its analysis, and perhaps a baseline.

    Examples
    --------
    >>> family({"analysis": "bootstrap"}), family({"analysis": "maxt", "baseline": "BM25"})
    ('each pair by itself', 'all comparisons with BM25 together')
    """
    baseline = facts.get("baseline")
    if facts.get("analysis") not in MEASURED:
        return "each pair by itself" if baseline is None else "each comparison by itself"
    return "all pairs together" if baseline is None else f"all comparisons with {baseline} together"


def separated(result: xr.Dataset, rows: pd.DataFrame, test: int | None = None) -> str:
    """Return how many pairs a metric separates on these topics, and the next metric; for a baseline, how many runs are better and worse.

    Parameters
    ----------
    result
        Of a test of pairs of runs.
    rows
        Of the table of discriminative power at one level, with labels, the most pairs first.
    test
        Position of the test, for a result with several.
    """
    row, baseline = rows.iloc[0], result.attrs.get("baseline")
    level, compared = f"p < {row['alpha']:g}", noun(result.attrs)
    if row["significant"] == 0:
        if baseline is None:
            return f"no pair of {compared}s has {level}, whatever the metric ({row['pairs']:,} pairs, {family(result.attrs)})"
        return (
            f"no {compared} is separated from {baseline} with {level}, whatever the metric ({row['pairs']:,} {compared}s, "
            f"{family(result.attrs)})"
        )
    level = f"{level}, {family(result.attrs)}"
    most, after = ("the most ", _next(rows)) if len(rows) > 1 else ("", "")
    on = f", on these {result.attrs['n_topics']} topics{after}"
    counts = f"{row['significant']:,} of {row['pairs']:,}"
    if baseline is None:
        return f"{row['label']} separates {most}pairs of {compared}s: {counts} ({row['share']:.1%}) have {level}{on}"
    data = _of_row(result, row)
    p = (data["p_value"] if test is None else data["p_value"].isel({names.TEST: test})).values
    found = pairs.differences(result, data)["mean_difference"][p < row["alpha"]]
    better = f"{int((found > 0).sum())} better, {int((found < 0).sum())} worse"
    return f"{row['label']} separates {most}{compared}s from {baseline}: {counts} ({better}) have {level}{on}"


def _undecided(result: xr.Dataset, row: Mapping[Any, Any]) -> str:
    """Return how many pairs of a metric have a p-value that cannot be distinguished from alpha with so many trials."""
    if "p_value" not in result or not result.attrs["trials"]:
        return ""
    own = _of_row(result[["p_value"]], row)  # of millions of pairs, those of one metric alone
    near = int(undecided(own, float(row["alpha"])).sum())
    if not near:
        return ""
    return f"; {counted(near, 'p-value')} within the Monte Carlo error of {row['alpha']:g}"


def _of_row(data: Any, row: Any) -> Any:
    """Return the part of a result that a row of a table is about."""
    at = data.sel({names.METRIC: row["metric"]})
    gains = [str(gain) for gain in data[names.GAIN].values]
    return at.isel({names.GAIN: gains.index(row["gain"]) if row.get("gain") in gains else 0})


def _next(rows: pd.DataFrame) -> str:
    """Return the metric that separates the second most pairs."""
    return f"; next is {rows['label'].iloc[1]} with {rows['significant'].iloc[1]:,}"


def _exception(row: Mapping[Any, Any]) -> str:
    """Return the largest difference of a pair that is not significant."""
    largest = row.get("largest_not_significant")
    known = largest is not None and not pd.isna(largest)
    return f" and the largest difference that is not significant {largest:.2f}" if known else ""


def strongest(frame: pd.DataFrame) -> str:
    """Return the metric with the largest share of significant pairs at the largest level."""
    frame = frame[frame["alpha"] == frame["alpha"].max()].sort_values(
        "share", ascending=False, kind="stable"
    )
    return f"{frame['label'].iloc[0]} {frame['share'].iloc[0]:.1%}"


def discrimination(group: ResultGroup) -> Lines:
    """Yield the metrics that separate most pairs of runs; by the t test where there are several tests."""
    frame = with_labels(group.first_table)
    test = ""
    if "adjustment" in frame:
        chosen = "t" if (frame["test"] == "t").any() else frame["test"].iloc[0]
        frame = frame[(frame["adjustment"] == "none") & (frame["test"] == chosen)]
        test = f" ({chosen} test)"
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="share")
    frame = frame.sort_values("share", ascending=False, kind="stable")
    if frame.empty:
        return
    trials = f", {group.trials:,} trials" if group.trials else ""
    facts = group.facts[0]
    compared = what_is_compared(facts)
    rates = f"; {measured(facts)}" if measured(facts) else ""
    where = (
        f"{group.heading}{test}, p < {frame['alpha'].iloc[0]:g}, {family(facts)}{trials}; counts of these runs and topics, without an interval "
        f"for others{rates}"
    )
    if frame[COLLECTION].nunique() == 1:
        yield _of_one_collection(frame, compared), where
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
        yield f"The most {compared} are separated by {places}.{listed}", where
    else:
        yield (
            f"Each collection has one metric, which separates {value_range(frame['share'], '.1%')} of the {compared}.",
            where,
        )


def _of_one_collection(frame: pd.DataFrame, compared: str) -> str:
    """Return the shares of the metrics of one collection, the largest first; and of what."""
    n_pairs = f"{frame['pairs'].iloc[0]:,}"
    if frame["significant"].max() == 0:
        return f"No metric separates any of {n_pairs} {compared}."
    shares = [f"{row['label']} {row['share']:.1%}" for row in frame.to_dict("records")]
    last = f"; the fewest by {shares[-1]}" if len(shares) > MOST_NAMED else ""
    return f"Separated {compared}, of {n_pairs}: {first_of(shares, rest='')}{last}."


def estimated_differences(group: ResultGroup) -> Lines:
    """Yield Sakai's estimated differences, and the largest differences that are not significant."""
    frame = with_labels(group.first_table)
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="estimated_difference")
    if frame.empty:
        return
    needs = [
        f"{label} {value_range(frame.loc[frame['label'] == label, 'estimated_difference'], '.2f')}"
        for label in labels_by_share(frame)
    ]
    largest = (
        frame["largest_not_significant"].dropna() if "largest_not_significant" in frame else ()
    )
    seen = (
        f" The largest difference of a pair that is not significant is {value_range(largest, '.2f')}, depending on the metric."
        if len(largest)
        else ""
    )
    topics = value_range([int(facts["n_topics"]) for facts in group.facts], "d")
    pairs_tested = ", ".join(["each pair by itself", *against(group.facts[0])])
    yield (
        f"With all {topics} topics, Sakai's estimated differences for p < {frame['alpha'].iloc[0]:g}: {first_of(needs, rest='')}.{seen}",
        f"{group.heading}, {pairs_tested}, {group.trials:,} trials; for these runs and topics, without an interval, as none is known to hold",
    )


def cautions_of_pairs(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return remarks on pairs of runs that the test treats in a special way."""
    frame = frames["power"]
    remarks = about_repetitions(result) + _near_alpha(result)
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


def _near_alpha(result: xr.Dataset) -> list[tuple[str, str]]:
    """Return a remark on p-values that cannot be distinguished from the largest alpha with so many trials."""
    if "p_value" not in result or not result.attrs["trials"]:
        return []
    alpha = float(result[names.ALPHA].max())
    near = int(undecided(result, alpha).sum(names.PAIR).max())
    if not near:
        return []
    detail = f"{result.attrs['analysis']}, {result.attrs['trials']:,} trials: up to {near:,} of {result.sizes[names.PAIR]:,} at {alpha:g}"
    return [
        (
            "P-values of some pairs are within the Monte Carlo error of alpha: with other seeds these pairs may change sides, and counts of significant pairs with them; "
            "more trials decide.",
            detail,
        )
    ]


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return the remarks of `cautions_of_pairs`, and one on too few trials for Holm's adjustment."""
    remarks = cautions_of_pairs(result, frames)
    trials, n_pairs = int(result.attrs["trials"]), result.sizes[names.PAIR]
    alpha = float(result[names.ALPHA].max())
    if (trials + 1) * alpha < n_pairs:
        text = (
            "Too few trials for Holm's adjustment to find any pair: it needs as many as pairs / alpha. The max-T test "
            "(scorecube maxt) accounts for all pairs together with fewer trials."
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
        bars=True,
        column=COLUMN,
        order=Order("share", more_is_better=True, conditions=("alpha",)),
        answers={DISCRIMINATION: discrimination, **(answers or {})},
        cautions=cautions_of_pairs if joint else cautions,
    )

"""What is shown of tests of pairs of runs by resampling: tables, figures, findings and answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.style import FIGURE_SIZE, line_style, round_ticks
from scorecube.report.findings import Finding, Short, with_number
from scorecube.report.phrases import (
    MOST_NAMED,
    first_of,
    first_places,
    labels_by_share,
    listed,
    noun,
    own_errors,
    value_range,
)
from scorecube.report.tables import combine, declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import (
    DIFFERENCE,
    DISCRIMINATION,
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

MEASURED = {
    "tukey": "0.07 to 0.13, and up to 0.26 with one erratic run of 20; those of max-T are lower",
    "maxt": "0.05 to 0.11",
}
"""Family-wise error rates of tests of all pairs together at 0.05, for real collections moved to equal means (docs/believe/ranks.csv)."""
LEAST_MEASURED = 25
"""Fewest topics that these rates are shown with; of fewer a warning says that none are known."""
FEW = 30
"""Pairs whose p-values are marked one by one."""
TEST_NAMES = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon test",
    "sign": "sign test",
    "unpaired": "Welch's t test",
}
OWN_ERRORS = "own_error_pairs"


def at_largest_alpha(result: xr.Dataset) -> xr.Dataset:
    """Return the part of a result at its largest significance level."""
    return result.isel({names.ALPHA: int(result[names.ALPHA].values.argmax())})


def legend(attrs: Mapping[str, Any]) -> str:
    """Return which comparisons p-values and limits of pairs are about, for captions."""
    what = f"Differences: first minus second {noun(attrs)}, estimates for infinitely many topics like these"
    return f"{what}; p-values: {family(attrs)}"


COUNTS = Summary(
    "metric=label significant of=pairs share estimated_difference=estimated_difference alpha",
    at={names.TEST: "t", names.ADJUSTMENT: "none", names.ALPHA: math.inf},
    most=5,
)
PAIR = "run=run_a and_run=run_b difference=mean_difference,difference_low,difference_high"
CLOSEST = Summary(
    f"{PAIR} p=p_value",
    table="pairs",
    most=5,
    first_metric=True,
    near="p_value",
    bar="difference",
    title="pairs whose p is closest to alpha",
)
"""Pairs whose decisions are closest."""
POWER_COLUMNS = (
    "significant pairs=n_tested share estimated_difference? trials degenerate_pairs constant_pairs"
)
PAIR_COLUMNS = "run_a run_b mean_difference difference_low difference_high effect_size d_z? p_value p_value_holm? p_value_bh? p_single? t standard_error"
POWER = declared(
    "metric gain alpha", f"metric gain test alpha {POWER_COLUMNS}", sort="-alpha -share"
)
"""Discriminative power, best first; the bootstrap's also with the estimated difference (Sakai 2007, Tables 4 and 6)."""
AT_LARGEST_ALPHA = declared("metric gain", "metric gain alpha share", part=at_largest_alpha)
ADJUSTED_COLUMNS = (
    "alpha adjustment significant=adjusted_significant pairs=n_tested share=adjusted_share"
)
ADJUSTED = declared("metric gain adjustment alpha", f"metric gain test {ADJUSTED_COLUMNS}")
"""Significant pairs under each adjustment for testing many pairs. Holm's needs more trials than pairs / alpha to find any pair."""
PAIRS = replace(
    declared("metric gain pair", f"metric gain test {PAIR_COLUMNS}", long=True), legend=legend
)
"""Every pair of runs: difference with 95 % limits, effect sizes, and p-values."""


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions of a test in one line."""
    attrs, n_pairs = result.attrs, result.sizes[names.PAIR]
    compared = (
        f"{counted(n_pairs, noun(attrs))} against {attrs['baseline']}"
        if "baseline" in attrs
        else f"{attrs['n_runs']} {noun(attrs)}s ({n_pairs:,} pairs)"
    )
    trials = attrs["trials"]
    how = f"{trials:,} trials" if trials else f"{result[names.TEST].item()} test"
    return f"{attrs.get('collection', '')}  {compared}, {attrs['n_topics']} topics, {how}".strip()


def title(options: Mapping[str, Any]) -> str:
    """Return the significance levels, how p-values are made, and the run that others are compared with."""
    return listed(
        f"alpha {', '.join(f'{each:g}' for each in options['alphas'])}",
        "" if options["plus_one"] else "p = count / B",
        against(options),
    )


def against(attrs: Mapping[str, Any]) -> str:
    """Return the run that others are compared with, for titles; nothing for all pairs."""
    return "" if attrs.get("baseline") is None else f"against {attrs['baseline']}"


def what_is_compared(attrs: Mapping[str, Any]) -> str:
    """Return what the pairs of a result are."""
    return (
        f"pairs of {noun(attrs)}s"
        if attrs.get("baseline") is None
        else f"{noun(attrs)}s from {attrs['baseline']}"
    )


def page_tables(frames: Frames) -> HeadedTables:
    """Return discriminative power at each level, and how much is left after an adjustment for the number of pairs."""
    frame = frames["power"].drop(columns=["test", "trials"])
    frame = frame.drop(
        columns=[odd for odd in ("degenerate_pairs", "constant_pairs") if not frame[odd].any()]
    )
    tables = [
        (f"Discriminative power at {alpha:g}", part.drop(columns="alpha"))
        for alpha, part in frame.groupby("alpha", sort=False)
    ]
    # Tukey's p-values account for all pairs together and need no adjustment.
    return [*tables, *on_page({"Adjusted for the number of pairs": "adjusted"})(frames)]


def discrimination(group: ResultGroup) -> Iterator[Finding]:
    """Yield the metric that separates most pairs of runs, or most runs from the baseline; of several collections which do, and by mean share.

    By the test that was asked for first, where there are several.
    """
    frame = with_labels(group.first_table)
    frame = frame[frame["alpha"] == frame["alpha"].max()]
    test = ""
    if names.TEST in group.results[0].dims:
        asked = labels_of(group.results[0], names.TEST)
        frame = frame[frame["test"] == asked[0]]
        test = f"{_test(group.results[0], asked[0])}: "
    frame = frame.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    if frame.empty:
        return
    if not group.several:
        attrs, baseline = group.attrs[0], group.attrs[0].get("baseline")
        whom = f"pairs of {noun(attrs)}s are separated"
        whom = whom if baseline is None else f"{noun(attrs)}s are separated from {baseline}"
        seen = zip(frame["label"], frame["share"], strict=True)
        drawn = [(label, share, None, None) for label, share in seen][:MOST_NAMED]
        short = Short(words=f"of the {whom} ({group.heading})", shares=drawn)
        yield replace(separated(group.results[0], frame), short=(short,))
        return
    attrs = group.attrs[0]
    compared, level = what_is_compared(attrs), f"p < {frame['alpha'].iloc[0]:g}, {family(attrs)}"
    means = frame.groupby("label", sort=False)["share"].agg(["mean", "count"])
    everywhere = means[means["count"] == len(group.results)]["mean"].sort_values(ascending=False)
    shares = [f"{label} {share:.1%}" for label, share in everywhere.items()]
    listed = f"; mean share, of the metrics of all collections: {first_of(shares, rest='')}"
    places = first_places(frame)
    line = (
        f"the most {compared} are separated by {places}{listed if shares else ''}"
        if places
        else f"each collection has one metric, which separates {value_range(frame['share'], '.1%')} of the {compared}"
    )
    sentence = f"{test}{line}; {level}, on the topics of each collection"
    if not shares:
        yield Finding(sentence, table="power")
        return
    subject = f"mean over collections of the share of {compared} separated, {everywhere.index[0]}"
    yield with_number(sentence, subject, [everywhere.iloc[0]], table="power")


def separated(result: xr.Dataset, rows: pd.DataFrame) -> Finding:
    """Return how many pairs a metric separates on these topics, and the next metric; for a baseline, how many runs are better and worse.

    result: Of tests of pairs of runs.
    rows: Of the table of discriminative power of one test at one level, with labels, the most pairs first.
    """
    row, attrs, baseline = rows.iloc[0], result.attrs, result.attrs.get("baseline")
    level, one = f"p < {row['alpha']:g}, {family(attrs)}", noun(attrs)
    compared, test = (
        what_is_compared(attrs),
        f"{_test(result, row['test'])}: " if names.TEST in result.dims else "",
    )
    if row["significant"] == 0:
        no = f"no pair of {one}s is separated"
        what = counted(int(row["pairs"]), "pair" if baseline is None else one)
        no = no if baseline is None else f"no {one} is separated from {baseline}"
        sentence = f"{no} with {level}, whatever the metric ({what})"
    else:
        share = f"{row['share']:.1%}"
        if baseline is not None:
            share = ", ".join(
                f"{_count(result, row, f'significant_{side}')} {side}"
                for side in ("better", "worse")
            )
        most, after = "", ""
        if len(rows) > 1:
            most = "the most "
            after = f"; next is {rows['label'].iloc[1]} with {rows['significant'].iloc[1]:,}"
        sentence = (
            f"{row['label']} separates {most}{compared}: {row['significant']:,} of {row['pairs']:,} ({share}) have {level}, "
            f"on these {attrs['n_topics']} topics{after}"
        )
    own = _count(result, row, OWN_ERRORS) if OWN_ERRORS in result else 0
    sentence += own_errors(own)
    subject = f"share of {compared} separated, {row['label']}"
    return with_number(f"{test}{sentence}", subject, [row["share"]], table="power")


def _test(result: xr.Dataset, test: str) -> str:
    """Return the name of a classical test, of the one asked for first with the number that was made."""
    asked = labels_of(result, names.TEST)
    first = f", the first of {len(asked)} made" if asked[1:] and test == asked[0] else ""
    return f"{TEST_NAMES[test]}{first}"


def _count(result: xr.Dataset, row: Any, name: str) -> int:
    """Return a count of pairs that a row of a table is about: of millions of pairs, those of one metric alone are read."""
    at = result.sel({names.METRIC: row["metric"]})
    gains = labels_of(result, names.GAIN)
    at = at.isel({names.GAIN: gains.index(row["gain"]) if row.get("gain") in gains else 0})
    counts = at[name].sel({names.ALPHA: row["alpha"]})
    return int(counts.sel({names.TEST: row["test"]}) if names.TEST in counts.dims else counts)


def estimated_differences(group: ResultGroup) -> Iterator[Finding]:
    """Yield Sakai's estimated differences."""
    frame = with_labels(group.first_table)
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="estimated_difference")
    if frame.empty:
        return
    of_metrics = {
        label: frame.loc[frame["label"] == label, "estimated_difference"]
        for label in labels_by_share(frame)
    }
    needs = [f"{label} {value_range(values, '.2f')}" for label, values in of_metrics.items()]
    topics = value_range([int(attrs["n_topics"]) for attrs in group.attrs], "d")
    pairs_tested = listed("each pair by itself", against(group.attrs[0]))
    label, values = next(iter(of_metrics.items()))
    yield with_number(
        f"with all {topics} topics, Sakai's estimated differences for p < {frame['alpha'].iloc[0]:g}, {pairs_tested}: "
        f"{first_of(needs, rest='')}; no interval for them is known",
        f"{'largest ' if len(values) > 1 else ''}estimated difference, {label}",
        [values.max()],
        "score",
        table="power",
    )


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield what is known of the error rates of the test, how many pairs have equal scores, and notes."""
    frame = POWER.make(result)
    largest = frame[frame["alpha"] == frame["alpha"].max()]
    if largest["significant"].any() and measured(result.attrs):
        yield Finding(measured(result.attrs))
    if equal := int(frame["degenerate_pairs"].max()):
        pairs = "1 pair of runs has" if equal == 1 else f"up to {equal:,} pairs of runs have"
        yield Finding(f"{pairs} equal scores on every topic: not different", table="power")
    yield from notes_of(result)


def measured(attrs: Mapping[str, Any]) -> str:
    """Return the measured error rates of a test of all pairs together; empty for other tests, and for fewer topics than they are like.

    attrs: Attributes of a result: its analysis, whether it compares systems, and its number of topics.

    Examples
    --------
    >>> measured({"analysis": "maxt"})
    'measured family-wise error rates at 0.05, with 25 and 50 topics: 0.05 to 0.11'
    """
    few = attrs.get("n_topics", LEAST_MEASURED) < LEAST_MEASURED
    if attrs.get("analysis") not in MEASURED or few:
        return ""
    rates = MEASURED[attrs["analysis"]]
    return f"measured family-wise error rates at 0.05, with 25 and 50 topics: {rates}"


def family(attrs: Mapping[str, Any]) -> str:
    """Return which comparisons a p-value accounts for.

    attrs: Attributes of a result: its analysis, and perhaps a baseline.

    Examples
    --------
    >>> family({"analysis": "bootstrap"}), family({"analysis": "maxt", "baseline": "BM25"})
    ('each pair by itself', 'all comparisons with BM25 of a metric together')
    """
    baseline = attrs.get("baseline")
    if attrs.get("analysis") not in MEASURED:
        return "each pair by itself" if baseline is None else "each comparison by itself"
    compared = "pairs" if baseline is None else f"comparisons with {baseline}"
    return f"all {compared} of a metric together"


def cautions_of_pairs(result: xr.Dataset, frames: Frames) -> Remarks:
    """Yield remarks on pairs of runs that the test treats in a special way."""
    frame = frames["power"]
    for column, text in (
        (
            "degenerate_pairs",
            "Pairs of runs have equal scores on every topic: they count as not different.",
        ),
        (
            "constant_pairs",
            "Pairs of runs differ by the same amount on every topic: their t statistic is infinite.",
        ),
    ):
        if column in frame and int(frame[column].max()):
            yield text, f"up to {int(frame[column].max()):,} of {result.sizes[names.PAIR]:,} pairs"


def cautions(result: xr.Dataset, frames: Frames) -> Remarks:
    """Yield the remarks of `cautions_of_pairs`, and one on too few trials for Holm's adjustment."""
    yield from cautions_of_pairs(result, frames)
    trials, n_pairs = int(result.attrs["trials"]), result.sizes[names.PAIR]
    alpha = float(result[names.ALPHA].max())
    if (trials + 1) * alpha < n_pairs:
        text = (
            "Too few trials for Holm's adjustment to find any pair: it needs as many as pairs / alpha. The max-T test "
            "(scorecube maxt) accounts for all pairs together with fewer trials."
        )
        yield text, f"{result.attrs['analysis']}: {n_pairs / alpha:,.0f} trials"


def p_value_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Sorted p-values of all pairs, a curve a metric (Sakai 2017, section 2): the lower, the more pairs a metric separates."""
    cells = result.isel(gain=0)
    alphas = result[names.ALPHA].values
    n_pairs = result.sizes[names.PAIR]
    axes = canvas.panel(FIGURE_SIZE)
    few: dict[str, Any] = {"marker": "o", "markersize": 3.5} if n_pairs <= FEW else {}
    for k, label in enumerate(labels_of(result, names.METRIC)):
        p = np.sort(cells["p_value"].isel(metric=k).values)
        p = p[~np.isnan(p)]  # of tested pairs
        # Of a curve over very many pairs a thousand points.
        shown = np.unique(np.linspace(0, max(len(p) - 1, 0), min(1000, len(p))).astype(int))
        axes.plot(shown + 1, p[shown], label=label, linewidth=1.4, **line_style(k), **few)
    for alpha in alphas:
        axes.axhline(alpha, linestyle=":", linewidth=0.9, color="0.35")
        style: Any = {"fontsize": 8, "color": "0.35", "va": "center", "annotation_clip": False}
        axes.annotate(f"{alpha:g}", (1.005, alpha), xycoords=("axes fraction", "data"), **style)
    top = min(1.0, max(3 * float(max(alphas)), 0.15))
    # Room below, so that curves along p = 0 are visible.
    axes.set(ylim=(-0.02 * top, top), xlim=(0, n_pairs + max(1, n_pairs // 50)))
    round_ticks(axes.xaxis, whole=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    baseline = result.attrs.get("baseline")
    compared = "pairs of runs" if baseline is None else f"runs against {baseline}"
    axes.set(xlabel=f"{compared}, by p-value", ylabel="p-value")
    axes.set_title(f"{conditions(result)}, gains {cells[names.GAIN].item()}")
    canvas.legend_outside(axes, "right upper")


def power_bars(canvas: Canvas, results: Sequence[xr.Dataset]) -> None:
    """Discriminative power by collection, a bar a metric (Sakai 2007, Figure 10), at the largest level and the first gain setting."""
    from scorecube.report.figures.panels import shares_by_collection

    table = combine([AT_LARGEST_ALPHA.make(each.isel({names.GAIN: [0]})) for each in results])
    shares_by_collection(canvas, table, results, f"% of pairs with p < {table['alpha'].max():g}")


def _view(name: str, heading: str, about: str, *, joint: bool = False) -> View:
    """Return the view of a resampling test of pairs of runs.

    name, heading, about: As of `View`.
    joint: Whether p-values account for all pairs together.
    """
    return View(
        name=name,
        heading=heading,
        about=about,
        tables={"power": POWER, "pairs": PAIRS, **({} if joint else {"adjusted": ADJUSTED})},
        summary=(COUNTS, CLOSEST),
        title=title,
        caption=lambda result: (
            f"{conditions(result)}. Sorted p-values: the lower a curve, the more pairs of runs a metric separates."
        ),
        findings=findings,
        page_tables=page_tables,
        figure=p_value_curves,
        overview=power_bars,
        answers={DISCRIMINATION: discrimination}
        | ({} if joint else {DIFFERENCE: estimated_differences}),
        cautions=cautions_of_pairs if joint else cautions,
    )


BOOTSTRAP = _view(
    "bootstrap",
    "Bootstrap test",
    "Every pair of runs is compared on topics drawn anew with replacement. The achieved significance level (ASL) is the share of draws "
    "in which chance alone makes a t statistic as large as the observed one. A metric's discriminative power is the share of pairs "
    "with an ASL below alpha. Sakai's estimated difference is the largest, over all pairs, that chance alone reaches with probability alpha in that pair; "
    "a pair with a smaller difference can be significant. As the largest of many estimates it is too large on average, and no interval for it is known to hold. Pairs are tested one by one: of many "
    "pairs without any difference, a share of about alpha is expected to be significant (measured at 0.05 in simulations: 0.06 to 0.07 with 25 topics, 0.06 with 50).",
)
RANDOMISATION = _view(
    "randomisation",
    "Randomisation test",
    "If two runs did not differ, their scores on a topic could be exchanged. The p-value is the share of random exchanges that "
    "make the mean difference at least as large as the observed one. Pairs are tested one by one.",
)
TUKEY = _view(
    "tukey",
    "Randomised Tukey HSD test",
    "The scores of all runs are shuffled within each topic, and the largest difference between any two run means is kept. The p-value "
    "of a pair is the share of shuffles in which that largest difference is at least the pair's. It accounts for all pairs together if "
    "runs that do not differ can be exchanged for each other: then one or more of their pairs are significant with probability alpha. Where runs "
    "vary differently, the probability is larger: measured at alpha = 0.05, 0.05 to 0.12 on real scores with equal means, and 0.34 with one "
    "run of 30 that varies seven times as much as the others. The max-T test (scorecube maxt) needs no such condition; in the same simulations it erred less and found more pairs.",
    joint=True,
)
MAXT = _view(
    "maxt",
    "Step-down max-T test",
    "Topics are resampled with replacement, with the differences of every pair centred, so that no pair differs. The largest t statistic (moderated: with the median "
    "variance of all pairs beside the pair's own) over all "
    "pairs is kept, and after the clearest pairs are decided, the largest over the others. The adjusted p-value of a pair is the share "
    "of resamples in which that maximum reaches the pair's t. If some pairs do not differ in their means over infinitely many topics, one or more of them "
    "are to be significant with probability alpha at most; measured at alpha = 0.05, 0.05 to 0.08 on 50 topics of real collections with equal means, so that a p-value just below "
    "alpha is weak evidence. Unlike Tukey's test it does not assume that runs without a difference can be exchanged for "
    "each other: one run that varies more than the others does no harm.",
    joint=True,
)
UNPAIRED = _view(
    "unpaired",
    "Unpaired bootstrap test",
    "Each run's scores are drawn anew on their own, as if the two runs of a pair had different topics. The p-value is the share of "
    "draws in which chance alone makes the difference (for means, Welch's t) as large as the observed one. The test is less powerful "
    "than the paired one, but also serves summaries other than the mean: geometric means and area measures.",
)
VIEWS = {each.name: each for each in (BOOTSTRAP, RANDOMISATION, TUKEY, MAXT, UNPAIRED)}

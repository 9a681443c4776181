"""What is shown of tests of pairs of runs by resampling: tables, figures, findings and answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import has_quantity, quantity
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.style import COLOURS, CURVE_DASHES, FIGURE_SIZE
from scorecube.report.findings import OF_THESE_TOPICS, Finding
from scorecube.report.tables.declaration import CELL, declared
from scorecube.report.tables.rows import COLLECTION, combine
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
from scorecube.report.views.questions import DIFFERENCE, DISCRIMINATION, Question
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Order,
    ResultGroup,
    Table,
    View,
    select_tables,
)

if TYPE_CHECKING:
    from scorecube.report.figures.canvas import Canvas

MEASURED = {
    "tukey": "0.05 to 0.12, and 0.34 with one erratic run of 30; those of the max-T test are lower",
    "maxt": "0.05 to 0.08",
}
"""Family-wise error rates of tests of all pairs together at 0.05, for 50 topics of real collections with equal means (docs/believe/ranks.md)."""
MEASURED_SYSTEMS = "0.04 to 0.08 for systems of 5 runs or more, up to 0.17 with 2 or 3"
"""The same of the max-T test for systems with repeated runs."""
FEW = 30
"""Pairs whose p-values are marked one by one."""
POINTS = 1000
"""Of a curve over very many pairs."""
ADJUSTED_COUNTS = (
    *(("significant", "adjusted_significant"), ("pairs", "n_tested")),
    ("share", "adjusted_share"),
)
IN_PAIRS = (*CELL, names.PAIR)
RUNS = (*CELL, names.RUN_A, names.RUN_B)
DIFFERENCES = (*RUNS, ("n_topics?", "common_topics"), "mean_difference")
P_VALUES = ("p_value", "p_value_holm", "p_value_bh")
ESTIMATES = ("estimated_difference", "largest_not_significant")
UNDECIDED = "undecided_pairs"


def at_largest_alpha(result: xr.Dataset) -> xr.Dataset:
    """Return the part of a result at its largest significance level."""
    return result.isel({names.ALPHA: int(result[names.ALPHA].values.argmax())})


POWER = declared(
    (*CELL, names.ALPHA),
    (
        *(*CELL, names.ALPHA, "significant", ("pairs", "n_tested"), "share"),
        *("estimated_difference?", "trials", "degenerate_pairs", "constant_pairs"),
        *("untested_pairs?", "largest_not_significant?"),
    ),
    sort=("-alpha", "-share"),
)
"""Discriminative power, best first; the bootstrap's also with the estimated difference (S1 Tables 4 and 6)."""
AT_LARGEST_ALPHA = declared(CELL, (*CELL, names.ALPHA, "share"), part=at_largest_alpha)
ADJUSTED = declared(
    (*CELL, names.ADJUSTMENT, names.ALPHA), (*CELL, names.ALPHA, names.ADJUSTMENT, *ADJUSTED_COUNTS)
)
"""Significant pairs under each adjustment for testing many pairs. Holm's needs more trials than pairs / alpha to find any pair."""
P_VALUE_PAIRS = declared(IN_PAIRS, (*DIFFERENCES, *P_VALUES), long=True)
"""Every pair of runs with its p-value; differences are first minus second run."""
ASL_PAIRS = declared(
    IN_PAIRS,
    (*DIFFERENCES, "t", *((each.replace("p_value", "asl"), each) for each in P_VALUES), *P_VALUES),
    long=True,
)
"""The same with the achieved significance level, which is the p-value under another name."""
JOINT_PAIRS = declared(IN_PAIRS, (*DIFFERENCES, "p_value"), long=True)
"""Every pair of runs with its p-value, which accounts for all pairs together and takes no adjustment."""
SIMULTANEOUS_PAIRS = declared(
    IN_PAIRS,
    (
        *(*RUNS, "mean_difference", "difference_low", "difference_high"),
        *("effect_size", "d_z?", "p_value"),
    ),
    long=True,
    part=at_largest_alpha,
)
"""Every pair of runs with the simultaneous interval of its difference, first minus second run, and effect sizes.

All intervals of a metric together hold the true differences with probability 1 - the largest alpha.
"""
CURVE = declared(
    (*CELL, names.RANK),
    (*CELL, names.RANK, ("p_value", "sorted_p_value")),
    only="sorted_p_value",
    long=IN_PAIRS,
)
"""Sorted p-values: how many pairs have one up to a value (S2, section 2)."""


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions of a test in one line."""
    facts, n_pairs = result.attrs, result.sizes[names.PAIR]
    compared = (
        f"{counted(n_pairs, noun(facts))} against {facts['baseline']}"
        if "baseline" in facts
        else f"{facts['n_runs']} {noun(facts)}s ({n_pairs:,} pairs)"
    )
    trials = facts["trials"]
    how = f"{trials:,} trials" if trials else f"{result[names.TEST].item()} test"
    return f"{facts.get('collection', '')}  {compared}, {facts['n_topics']} topics, {how}".strip()


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


def findings(result: xr.Dataset) -> list[Finding]:
    """Return the metric that separates most pairs of runs, or most runs from the baseline, and how many pairs have equal scores."""
    frame = with_labels(POWER.make(result))
    rows = frame[frame["alpha"] == frame["alpha"].max()]
    best = rows.iloc[0]
    main = separated(result, rows)
    sentence, lines = main.sentence, []
    near = _count(result, best, UNDECIDED) if has_quantity(result, UNDECIDED) else 0
    if near:
        error = f"within the Monte Carlo error of {best['alpha']:g}"
        sentence += f"; {counted(near, 'p-value')} {error}"
    difference, largest = (best.get(each, math.nan) for each in ESTIMATES)
    if best["significant"] and not math.isnan(difference):
        sentence += f"; Sakai's estimated difference of {best['label']} is {difference:.2f}"
        if not math.isnan(largest):
            sentence += f" and the largest difference that is not significant {largest:.2f}"
        sentence += "; no interval for it is known"
    if best["significant"] and result.attrs.get("analysis") in MEASURED:
        lines.append(measured(result.attrs))
    equal = int(frame["degenerate_pairs"].max())
    if equal:
        lines.append(
            f"{'1 pair of runs has' if equal == 1 else f'up to {equal:,} pairs of runs have'} equal scores on every topic: not different"
        )
    return [replace(main, sentence=sentence), *map(Finding, [*lines, *result.attrs["notes"]])]


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


def separated(result: xr.Dataset, rows: pd.DataFrame) -> Finding:
    """Return how many pairs a metric separates on these topics, and the next metric; for a baseline, how many runs are better and worse.

    Parameters
    ----------
    result
        Of one test of pairs of runs.
    rows
        Of the table of discriminative power at one level, with labels, the most pairs first.
    """
    row, facts, baseline = rows.iloc[0], result.attrs, result.attrs.get("baseline")
    level, together, one = f"p < {row['alpha']:g}", family(facts), noun(facts)
    counts, share = f"{row['significant']:,} of {row['pairs']:,}", f"{row['share']:.1%}"
    most, after = "", ""
    if len(rows) > 1:
        most = "the most "
        after = f"; next is {rows['label'].iloc[1]} with {rows['significant'].iloc[1]:,}"
    if row["significant"] == 0:
        no, what = (
            (f"no pair of {one}s has", "pairs")
            if baseline is None
            else (f"no {one} is separated from {baseline} with", f"{one}s")
        )
        sentence = f"{no} {level}, whatever the metric ({row['pairs']:,} {what}, {together})"
    else:
        if baseline is not None:
            sides = ("better", "worse")
            share = ", ".join(
                f"{_count(result, row, f'significant_{each}')} {each}" for each in sides
            )
        sentence = (
            f"{row['label']} separates {most}{what_is_compared(facts)}: {counts} ({share}) have {level}, {together}, "
            f"on these {facts['n_topics']} topics{after}"
        )
    return Finding(
        sentence,
        question=DISCRIMINATION.text,
        subject=f"share of {what_is_compared(facts)} separated, {row['label']}",
        estimate=row["share"],
        unit="1",
        conditions=f"{level}, {together}",
        cautions=(OF_THESE_TOPICS,),
        table="power",
    )


def _count(result: xr.Dataset, row: Any, name: str) -> int:
    """Return a count of pairs that a row of a table is about: of millions of pairs, those of one metric alone are read."""
    at = result.sel({names.METRIC: row["metric"]})
    gains = labels_of(result, names.GAIN)
    at = at.isel({names.GAIN: gains.index(row["gain"]) if row.get("gain") in gains else 0})
    return int(quantity(at, name).sel({names.ALPHA: row["alpha"]}))


def strongest(frame: pd.DataFrame) -> str:
    """Return the metric with the largest share of significant pairs at the largest level."""
    frame = frame[frame["alpha"] == frame["alpha"].max()].sort_values(
        "share", ascending=False, kind="stable"
    )
    return f"{frame['label'].iloc[0]} {frame['share'].iloc[0]:.1%}"


def discrimination(group: ResultGroup) -> Iterator[Finding]:
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
    facts, n_collections = group.facts[0], frame[COLLECTION].nunique()
    compared = what_is_compared(facts)
    rates = f"; {measured(facts)}" if measured(facts) else ""
    means = frame.groupby("label", sort=False)["share"].agg(["mean", "count"])
    everywhere = means[means["count"] == n_collections].sort_values("mean", ascending=False)["mean"]
    shares = ", ".join(f"{label} {share:.1%}" for label, share in everywhere[:MOST_NAMED].items())
    listed = f" Mean share, of the metrics of all collections: {shares}." if shares else ""
    sentence = f"Each collection has one metric, which separates {value_range(frame['share'], '.1%')} of the {compared}."
    if n_collections == 1:
        sentence = _of_one_collection(frame, compared)
    elif places := first_places(frame):
        sentence = f"The most {compared} are separated by {places}.{listed}"
    label, best = next(iter(everywhere.items()), ("", None))
    share = "share" if n_collections == 1 else "mean over collections of the share"
    yield Finding(
        sentence,
        subject=f"{share} of {compared} separated, {label}" if shares else "",
        estimate=best,
        unit="1",
        conditions=(
            f"{group.heading}{test}, p < {frame['alpha'].iloc[0]:g}, {family(facts)}{trials}; counts of these runs and topics, without an interval "
            f"for others{rates}"
        ),
        cautions=(OF_THESE_TOPICS,),
        table="power",
    )


def _of_one_collection(frame: pd.DataFrame, compared: str) -> str:
    """Return the shares of the metrics of one collection, the largest first; and of what."""
    n_pairs = f"{frame['pairs'].iloc[0]:,}"
    if frame["significant"].max() == 0:
        return f"No metric separates any of {n_pairs} {compared}."
    shares = [f"{row['label']} {row['share']:.1%}" for row in frame.to_dict("records")]
    last = f"; the fewest by {shares[-1]}" if len(shares) > MOST_NAMED else ""
    return f"Separated {compared}, of {n_pairs}: {first_of(shares, rest='')}{last}."


def estimated_differences(group: ResultGroup) -> Iterator[Finding]:
    """Yield Sakai's estimated differences, and the largest differences that are not significant."""
    frame = with_labels(group.first_table)
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="estimated_difference")
    if frame.empty:
        return
    of_metrics = {
        label: frame.loc[frame["label"] == label, "estimated_difference"]
        for label in labels_by_share(frame)
    }
    needs = [f"{label} {value_range(values, '.2f')}" for label, values in of_metrics.items()]
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
    label, values = next(iter(of_metrics.items()))
    yield Finding(
        f"With all {topics} topics, Sakai's estimated differences for p < {frame['alpha'].iloc[0]:g}: {first_of(needs, rest='')}.{seen}",
        subject=f"{'largest ' if len(values) > 1 else ''}estimated difference, {label}",
        estimate=values.max(),
        unit="score",
        conditions=f"{group.heading}, {pairs_tested}, {group.trials:,} trials; for these runs and topics, without an interval, as none is known to hold",
        cautions=(OF_THESE_TOPICS,),
        table="power",
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
    if not has_quantity(result, UNDECIDED):
        return []
    alpha = float(result[names.ALPHA].max())
    near = int(quantity(result, UNDECIDED).sel({names.ALPHA: alpha}).max())
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


def p_value_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Sorted p-values of all pairs, a curve a metric (S2, section 2): the lower, the more pairs a metric separates.

    Parameters
    ----------
    result
        Of the bootstrap, randomisation or Tukey test.
    gain
        Gain setting; the first by default.
    """
    from scorecube.report.figures.log_labels import whole_number_labels

    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    alphas = result[names.ALPHA].values
    n_pairs = result.sizes[names.PAIR]
    axes = canvas.panel(FIGURE_SIZE)
    few: dict[str, Any] = {"marker": "o", "markersize": 3.5} if n_pairs <= FEW else {}
    for k, label in enumerate(labels_of(result, names.METRIC)):
        p = np.sort(cells["p_value"].isel(metric=k).values)
        p = p[~np.isnan(p)]  # of tested pairs
        shown = np.unique(np.linspace(0, max(len(p) - 1, 0), min(POINTS, len(p))).astype(int))
        axes.plot(
            shown + 1,
            p[shown],
            label=label,
            color=COLOURS[k % len(COLOURS)],
            linestyle=CURVE_DASHES[k // len(COLOURS) % len(CURVE_DASHES)],
            linewidth=1.4,
            **few,
        )
    for alpha in alphas:
        axes.axhline(alpha, linestyle=":", linewidth=0.9, color="0.35")
        axes.annotate(
            f"{alpha:g}",
            (1.005, alpha),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            color="0.35",
            va="center",
            annotation_clip=False,
        )
    top = min(1.0, max(3 * float(max(alphas)), 0.15))
    # Room below, so that curves along p = 0 are visible.
    axes.set_ylim(-0.02 * top, top)
    axes.set_xlim(0, n_pairs + max(1, n_pairs // 50))
    whole_number_labels(axes.xaxis)
    baseline = result.attrs.get("baseline")
    axes.set_xlabel(
        "pairs of runs, by p-value" if baseline is None else f"runs against {baseline}, by p-value"
    )
    axes.set_ylabel("p-value")
    axes.set_title(
        f"{conditions(result)}, gains {cells[names.GAIN].item()}", loc="left", fontsize=9
    )
    canvas.legend_outside(axes, "right upper")


def power_bars(canvas: Canvas, results: Sequence[xr.Dataset]) -> None:
    """Discriminative power by collection, a bar a metric (S1 Figure 10), at the largest level and the first gain setting."""
    from scorecube.report.figures.collections import by_collection

    table = combine([AT_LARGEST_ALPHA.make(each.isel({names.GAIN: [0]})) for each in results])
    metrics = list(
        dict.fromkeys(name for result in results for name in labels_of(result, names.METRIC))
    )
    shares = {
        metric: 100 * rows.set_index(COLLECTION)["share"]
        for metric, rows in table.groupby("metric", sort=False)
    }
    by_collection(
        canvas,
        {metric: shares[metric] for metric in metrics},
        list(dict.fromkeys(table[COLLECTION])),
        f"% of pairs with p < {table['alpha'].max():g}",
    )


COLUMN = Column("most separated pairs", strongest)


def _view(
    name: str,
    heading: str,
    about: str,
    pairs: Table,
    *,
    answers: Mapping[Question, Any] | None = None,
    joint: bool = False,
) -> View:
    """Return the view of a resampling test of pairs of runs.

    Parameters
    ----------
    name, heading, about
        As of `View`.
    pairs
        Table of all pairs.
    answers
        To further questions than which metric separates most pairs.
    joint
        Whether p-values account for all pairs together.
    """
    return View(
        name=name,
        heading=heading,
        about=about,
        tables={
            "power": POWER,
            "pairs": pairs,
            "curve": CURVE,
            **({} if joint else {"adjusted": ADJUSTED}),
        },
        title=title,
        caption=lambda result: (
            f"{conditions(result)}. Sorted p-values: the lower a curve, the more pairs of runs a metric separates."
        ),
        findings=findings,
        page_tables=page_tables,
        figure=p_value_curves,
        overview=power_bars,
        bars=True,
        column=COLUMN,
        order=Order("share", more_is_better=True, conditions=("alpha",)),
        answers={DISCRIMINATION: discrimination, **(answers or {})},
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
    ASL_PAIRS,
    answers={DIFFERENCE: estimated_differences},
)
RANDOMISATION = _view(
    "randomisation",
    "Randomisation test",
    "If two runs did not differ, their scores on a topic could be exchanged. The p-value is the share of random exchanges that "
    "make the mean difference at least as large as the observed one. Pairs are tested one by one.",
    P_VALUE_PAIRS,
)
TUKEY = _view(
    "tukey",
    "Randomised Tukey HSD test",
    "The scores of all runs are shuffled within each topic, and the largest difference between any two run means is kept. The p-value "
    "of a pair is the share of shuffles in which that largest difference is at least the pair's. It accounts for all pairs together if "
    "runs that do not differ can be exchanged for each other: then one or more of their pairs are significant with probability alpha. Where runs "
    "vary differently, the probability is larger: measured at alpha = 0.05, 0.05 to 0.12 on real scores with equal means, and 0.34 with one "
    "run of 30 that varies seven times as much as the others. The max-T test (scorecube maxt) needs no such condition; in the same simulations it erred less and found more pairs.",
    JOINT_PAIRS,
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
    SIMULTANEOUS_PAIRS,
    joint=True,
)
UNPAIRED = _view(
    "unpaired",
    "Unpaired bootstrap test",
    "Each run's scores are drawn anew on their own, as if the two runs of a pair had different topics. The p-value is the share of "
    "draws in which chance alone makes the difference (for means, Welch's t) as large as the observed one. The test is less powerful "
    "than the paired one, but also serves summaries other than the mean: geometric means and area measures.",
    P_VALUE_PAIRS,
)
VIEWS = {each.name: each for each in (BOOTSTRAP, RANDOMISATION, TUKEY, MAXT, UNPAIRED)}

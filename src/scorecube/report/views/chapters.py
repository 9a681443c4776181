"""What the report says about each analysis: its title, its explanation, the tables it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import COLLECTION, agreement, averages, correlation, pairs, swap, teams

Tables = list[tuple[str, pd.DataFrame]]
Frames = Mapping[str, pd.DataFrame]
"""The analysis' tables by name, as in `TABLES`, each over all collections; those that are too long for a page are not there."""


@dataclass(frozen=True)
class Chapter:
    """One analysis in the report.

    Parameters
    ----------
    name
        Of the method.
    about
        What was done and how to read it, in plain words, with its conditions.
    title
        Options of a plan -> what tells it from other plans.
    caption
        A result -> what its picture shows.
    tables
        The analysis' tables by name -> headings and what people read of them; all but the first are folded.
    """

    name: str
    about: str
    title: Callable[[Mapping[str, Any]], str]
    caption: Callable[[xr.Dataset], str]
    tables: Callable[[Frames], Tables]


def swap_title(options: Mapping[str, Any]) -> str:
    """Name sampling, sizes, rule and what is unusual."""
    odd = [name for name in ("signed", "symmetric") if options[name]]
    odd += ["a required difference may be 0"] if options["allow_zero"] else []
    odd += ["own samples for every pair"] if options["share"] == "none" else []
    odd += (
        [f"{options['bins']} bins of {options['bin_width']:g}"]
        if (options["bins"], options["bin_width"]) != (21, 0.01)
        else []
    )
    return ", ".join([samples_title(options), f"rule {options['rule']}", *odd])


def samples_title(options: Mapping[str, Any]) -> str:
    """Name sampling and sizes."""
    size = options["size"]
    if not size:
        return f"{options['sampling']} samples"
    words = str(size) if isinstance(size, int) else f"{size[0]} to {size[-1]}"
    return f"{options['sampling']} samples of {words} topics"


def swap_tables(frames: Frames) -> Tables:
    """Return the sensitivity table of each confidence, without the columns that are alike in all rows."""
    frame = frames["sensitivity"].drop(columns=["trials", "sampling"])
    first, suffix = frame["required_difference_first"], frame["required_difference"]
    if ((first == suffix) | (first.isna() & suffix.isna())).all():
        frame = frame.drop(columns="required_difference_first")
    tables = [
        (f"Sensitivity at {confidence:.0%} confidence", part.drop(columns="confidence"))
        for confidence, part in frame.groupby("confidence", sort=False)
    ]
    return [*tables, ("Topics in the samples", frames["overlap"])]


def swap_caption(result: xr.Dataset) -> str:
    """Say what the picture shows: rates by difference, or, with several sizes, by size."""
    if result.sizes[names.SIZE] == 1:
        return f"{swap.conditions(result)}. Bands are {swap.interval_note(result)}; gaps are empty bins.{swap.support_note(result)}"
    return (
        f"{swap.conditions(result)}. Required difference and swap rates by topic set size; a gap is a bin that is empty or without any "
        f"swap. Dashed curves are fitted decays; beyond the grey line they are extrapolated to sizes that were not tried.{swap.support_note(result)}"
    )


def pair_title(options: Mapping[str, Any]) -> str:
    """Name what differs from the usual two-sided test of t."""
    odd = ["one-sided"] if options.get("sided") == 1 else []
    odd += ["unstudentised"] if options.get("studentised") is False else []
    odd += ["p = (count + 1) / (B + 1)"] if options["plus_one"] else []
    return ", ".join([f"alpha {', '.join(f'{each:g}' for each in options['alphas'])}", *odd])


def pair_tables(frames: Frames) -> Tables:
    """Return discriminative power at each level, and what adjusting for the number of pairs leaves of it."""
    frame = frames["power"].drop(columns="trials")
    frame = frame.drop(columns=[odd for odd in ("degenerate_pairs", "constant_pairs") if not frame[odd].any()])
    tables = [
        (f"Discriminative power at {alpha:g}", part.drop(columns="alpha"))
        for alpha, part in frame.groupby("alpha", sort=False)
    ]
    # Tukey's p-values hold for all pairs together as they are.
    return [*tables, *chosen(frames, {"Adjusted for the number of pairs": "adjusted"})]


def classical_tables(frames: Frames) -> Tables:
    """Return the significant pairs at each level, and what adjusting for the number of pairs leaves of them."""
    frame = frames["power"]
    plain, others = frame[frame["adjustment"] == "none"], frame[frame["adjustment"] != "none"]
    tables = [
        (f"Significant pairs at {alpha:g}", part.drop(columns=["alpha", "adjustment"]))
        for alpha, part in plain.groupby("alpha", sort=False)
    ]
    return [*tables, ("Adjusted for the number of pairs", others)]


def curve_caption(result: xr.Dataset) -> str:
    """Say what the curves show."""
    return (
        f"{pairs.conditions(result)}. Sorted p-values: the lower a curve, the more pairs of runs a metric tells apart."
    )


def correlation_title(options: Mapping[str, Any]) -> str:
    """Name what is resampled, the confidence and the rule for marking."""
    drawn = ", ".join(options["intervals"])
    parts = [f"{options['confidence']:.0%} intervals" + (f" over {drawn}" if drawn else "")]
    parts += [] if len(options["along"]) > 1 else [f"along {options['along'][0]}"]
    parts += [f"marked above {options['bold']:g}"] if options["bold"] is not None else []
    return ", ".join(parts)


def correlation_tables(frames: Frames) -> Tables:
    """Return the tables along metrics and gain settings, and their averages over collections (S4 Tables 7 and 12)."""
    tables: Tables = []
    for heading, name in (("Between metrics", "metrics"), ("Gain settings against the default", "gains")):
        frame = frames[name].drop(columns=list(correlation.COUNTS))
        if len(frame):
            tables.append((heading, frame))
        averaged = averages(frame) if len(frame) and frame[COLLECTION].nunique() > 1 else frame[:0]
        if len(averaged):
            tables.append((f"{heading}, mean of the collections", averaged))
    return [*tables, *chosen(frames, {"Runs in the order of the first metric": "swops"})]


def chosen(frames: Frames, headings: Mapping[str, str], without: Sequence[str] = ()) -> Tables:
    """Return tables by heading, those that are there, without some columns."""
    return [
        (heading, frames[name].drop(columns=list(without), errors="ignore"))
        for heading, name in headings.items()
        if name in frames
    ]


def teams_title(options: Mapping[str, Any]) -> str:
    """Name the pool, what is left out and what is unusual."""
    leave, steps = options["leave"], options["topic_sizes"]
    odd = [f"{', '.join(map(str, leave))} left out"] if leave else []
    odd += [f"also {', '.join(map(str, steps))} topics"] if steps else []
    odd += [] if options["keep_unpooled"] else ["documents in nobody's pool are gone"]
    odd += ["a topic is lost where all runs fail"] if options["lost_topics"] == "all_runs_zero" else []
    odd += ["different teams in all trials"] if options["distinct"] else []
    return ", ".join([f"pool depth {options['pool_depth']}", *odd])


def teams_caption(result: xr.Dataset) -> str:
    """Say what the panels show."""
    chain = " Below, the same with the fewest topics, and by number of topics." * (result.sizes[names.TOPIC_STEP] > 1)
    return (
        f"{teams.conditions(result)}. Variance of the remaining runs' scores with its interval over trials; dotted: that of the whole, and a ring "
        f"where the interval misses it for the first time. What is left of the order of the runs.{chain}"
    )


TEAM_TABLES = {
    "First number of teams left out whose interval misses the variance of the whole": "first_miss",
    "Variance by number of teams left out": "variance",
    "Order and means of the remaining runs": "reusability",
    "Runs without what only their own team contributed": "own",
    "Judged documents that only one team contributed": "contributions",
}


def design_title(options: Mapping[str, Any]) -> str:
    """Name method and requirements."""
    asked = f"difference {options['min_diff']:g}, {options['systems']:g} systems"
    return f"{options['method']}, {options['mode']}, {asked}, alpha {options['alpha']:g}, beta {options['beta']:g}"


DESIGN_COLUMNS = [COLLECTION, names.METRIC, names.GAIN, "variance", "topics", "power"]
"""What the title does not say."""

CHAPTERS: Mapping[str, Chapter] = {
    "swap": Chapter(
        "Swap method",
        "Two topic sets are drawn, and every pair of runs is compared on both. The swap rate is the share of comparisons in which the "
        "two sets disagree about the better run, given the difference seen on the first. The required difference is the smallest "
        "from which on the swap rate stays within what is accepted. A metric is the more sensitive the larger the share of comparisons "
        "that reach its required difference (column iv). The rates describe these runs and topics; they are no significance test.",
        swap_title,
        swap_caption,
        swap_tables,
    ),
    "stability": Chapter(
        "Stability method",
        "Topic sets are drawn, and every pair of runs is compared on each. Two means that differ by less than the fuzziness (a share of the "
        "larger mean) are a tie. The error rate is the share of comparisons that contradict the majority of their pair's; a good metric has "
        "few errors and few ties.",
        lambda options: f"{samples_title(options)}, fuzziness {', '.join(f'{each:.0%}' for each in options['fuzziness'])}",
        lambda result: f"{swap.conditions(result)}. Left and low is better.",
        lambda frames: chosen(frames, {"Error rates and ties": "stability"}),
    ),
    "bootstrap": Chapter(
        "Bootstrap test",
        "Every pair of runs is compared on topics drawn anew with replacement. The achieved significance level (ASL) is the share of draws "
        "in which chance alone makes a t statistic as large as the observed one. A metric's discriminative power is the share of pairs "
        "with an ASL below alpha; the estimated difference is the smallest that is always enough. Pairs are tested one by one: of many "
        "pairs without any difference, a share of alpha is still expected below it.",
        pair_title, curve_caption, pair_tables,
    ),
    "randomisation": Chapter(
        "Randomisation test",
        "If two runs were alike, their scores on a topic could as well be exchanged. The p-value is the share of random exchanges that "
        "make the mean difference at least as large as it was observed. Pairs are tested one by one.",
        pair_title, curve_caption, pair_tables,
    ),
    "unpaired": Chapter(
        "Unpaired bootstrap test",
        "Each run's scores are drawn anew on their own, as if the two runs of a pair had different topics. The p-value is the share of "
        "draws in which chance alone makes the difference (for means, Welch's t) as large as it was observed. The test is less powerful "
        "than the paired one, but also serves summaries other than the mean: geometric means and area measures.",
        pair_title, curve_caption, pair_tables,
    ),
    "tukey": Chapter(
        "Randomised Tukey HSD test",
        "The scores of all runs are shuffled within each topic, and the largest difference between any two run means is kept. The p-value "
        "of a pair is the share of shuffles in which that largest difference is at least the pair's. It holds for all pairs together: "
        "if no run differed from any other, one or more pairs would be significant with probability alpha only.",
        pair_title, curve_caption, pair_tables,
    ),
    "paired": Chapter(
        "Classical tests",
        "Paired t test, Wilcoxon's signed-rank test and the sign test of every pair of runs, as quick references. Each makes assumptions "
        "about the differences that resampling does not need.",
        lambda options: f"{', '.join(options['tests'])}",
        lambda result: f"{pairs.conditions(result.isel({names.TEST: 0}))}. Sorted p-values.",
        classical_tables,
    ),
    "correlate": Chapter(
        "Rank correlation",
        "Two metrics, or two gain settings of one, rank the same runs; Kendall's tau is the share of pairs of runs that they order alike minus the "
        "share that they order differently. Pairs with equal means count as neither. The interval by the null variance is that of the papers: it is "
        "valid for unrelated rankings only, and may exceed 1. Bootstrap intervals over topics keep the runs; drawing topics anew adds noise "
        "to both rankings, so they lie low where rankings are very alike. Intervals over runs keep the topics. A swop is a rise between neighbours when runs "
        "are sorted by the first metric.",
        correlation_title,
        lambda result: f"{correlation.conditions(result)}. Tau of all pairs of metrics; mean scores of the runs in the order of the first metric, with swops; all mean scores, with median and quartiles.",
        correlation_tables,
    ),
    "splits": Chapter(
        "Split-half rank correlation",
        "Two samples of the topics each rank the runs; tau says how alike the rankings are: 1 is the same order, 0 none in common, and a share "
        "of (1 - tau) / 2 of the pairs of runs change order. Where the curve has flattened, more topics would hardly change the ranking. "
        "Samples are at most as large as the collection allows, and nothing is said of larger ones.",
        samples_title,
        lambda result: f"{swap.conditions(result)}. Tau by topic set size, and its distribution at the largest.",
        lambda frames: chosen(
            frames,
            {"Tau between two samples": "quantiles", "Topics from which on the 5 % quantile of tau reaches a value": "settled"},
            without=("trials", "sampling"),
        ),
    ),
    "agreement": Chapter(
        "Agreement of two sets of judgements",
        "The same runs are scored with two sets of judgements, the first of which is taken for the truth. Rank correlations (tau, tau-AP, "
        "rank-biased overlap, the last two with more weight on the best runs) compare the rankings. Pairs of runs are active if both sets find "
        "a significant difference, mixed if one does, passive if neither does; disagreements put the two runs in opposite orders. False "
        "positives are differences among the best runs that only the second set finds. Intervals are over topic samples, which rank runs less "
        "well than all topics do, so they can lie below the observed value.",
        lambda options: f"{options['first']} against {options['second']}, {options['test']} test, top {options['top']}, RBO with p = {options['p']:g}",
        lambda result: f"{agreement.conditions(result)}. Means under both sets, and ranks; red runs lose a tenth of the ranks or more, blue ones gain.",
        lambda frames: chosen(
            frames, {"Rankings of runs": "rankings", "Decisions on pairs of runs": "decisions"}, without=("trials", "set_a", "set_b")
        ),
    ),
    "teams": Chapter(
        "Leaving teams out",
        "Teams are drawn at random and left out: their runs are gone, and judged documents that only they brought into the pool become unjudged. "
        "All other runs are evaluated anew. As long as the interval over trials holds the variance of the whole, fewer teams would have "
        "led topic set size design to the same number of topics. Tau and lost ranks say whether the order of the other runs hangs on the "
        "teams that are gone, and the table of runs without their own team what a newcomer, whose documents nobody judged, would have to expect. "
        "Pools are made anew from these runs: where others were pooled, too, or runs were cut before the pool depth, documents count as unique "
        "that were not. Intervals are over draws of teams only, not of topics: with few teams left out they are so narrow that a small change "
        "misses the variance of the whole, with few teams left they are wide. Equal means count against tau, also with all teams.",
        teams_title, teams_caption, lambda frames: chosen(frames, TEAM_TABLES),
    ),
    "design": Chapter(
        "Topic set size design",
        "How many topics would a collection need for the best and the worst of several systems to be told apart, if their mean scores differ by "
        "at least the difference, with probability 1 - beta, at significance level alpha? The variance within systems is estimated from "
        "all runs and topics of the collection (one-way analysis of variance, topics' differences included). Numbers hold for collections "
        "whose topics, runs and pools are like these, and are as uncertain as the variance: see leaving teams out. A metric that needs fewer "
        "topics for a difference is not better for that alone, as equal differences mean less on a metric with a wide range.",
        design_title,
        lambda result: f"{result.attrs['topics_at_hand']} topics at hand. Topics by difference to be detected.",
        lambda frames: [("Topics needed", frames["sizes"][DESIGN_COLUMNS])],
    ),
}  # fmt: skip

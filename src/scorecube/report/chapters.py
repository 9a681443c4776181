"""What the report says about each analysis: its title, its explanation, the tables it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import combine, paired, pairs, stability, swap

Tables = list[tuple[str, pd.DataFrame]]


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
        Results of several collections, made alike -> headings and tables; all but the first of a heading are folded.
    """

    name: str
    about: str
    title: Callable[[Mapping[str, Any]], str]
    caption: Callable[[xr.Dataset], str]
    tables: Callable[[Sequence[xr.Dataset]], Tables]


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


def swap_tables(results: Sequence[xr.Dataset]) -> Tables:
    """Return the sensitivity table of each confidence, without the columns that are alike in all rows."""
    frame = combine([swap.sensitivity(result) for result in results]).drop(columns=["trials", "sampling"])
    first, suffix = frame["required_difference_first"], frame["required_difference"]
    if ((first == suffix) | (first.isna() & suffix.isna())).all():
        frame = frame.drop(columns="required_difference_first")
    tables = [
        (f"Sensitivity at {confidence:.0%} confidence", part.drop(columns="confidence"))
        for confidence, part in frame.groupby("confidence", sort=False)
    ]
    return [*tables, ("Topics in the samples", combine([swap.overlap(result) for result in results]))]


def swap_caption(result: xr.Dataset) -> str:
    """Say what the picture shows: rates by difference, or, with several sizes, by size."""
    if result.sizes[names.SIZE] == 1:
        return f"{swap.conditions(result)}. Bands are 95 % intervals; gaps are empty bins.{swap.support_note(result)}"
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


def pair_tables(results: Sequence[xr.Dataset]) -> Tables:
    """Return discriminative power at each level, and what adjusting for the number of pairs leaves of it."""
    frame = combine([pairs.power(result) for result in results]).drop(columns="trials")
    frame = frame.drop(columns=[odd for odd in ("degenerate_pairs", "constant_pairs") if not frame[odd].any()])
    tables = [
        (f"Discriminative power at {alpha:g}", part.drop(columns="alpha"))
        for alpha, part in frame.groupby("alpha", sort=False)
    ]
    if str(results[0].attrs["analysis"]) == "tukey":
        return tables
    return [
        *tables,
        ("Adjusted for the number of pairs", combine([pairs.adjusted_power(result) for result in results])),
    ]


def curve_caption(result: xr.Dataset) -> str:
    """Say what the curves show."""
    return (
        f"{pairs.conditions(result)}. Sorted p-values: the lower a curve, the more pairs of runs a metric tells apart."
    )


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
        lambda results: [("Error rates and ties", combine([stability.stability(result) for result in results]))],
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
        "Each run's scores are resampled on their own, so that pairs of runs need not share topics; less powerful than the paired test. It "
        "also serves summaries other than the mean: geometric means and area measures.",
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
        lambda results: [("Significant pairs", combine([paired.power(result) for result in results]))],
    ),
}  # fmt: skip

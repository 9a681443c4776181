"""Rows of leaderboards: means with limits, ranks, groups, differences from a baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.analyses.maxima import critical_value
from scorecube.analyses.step_down import Family
from scorecube.analyses.table import Table
from scorecube.collection.schema import read_variables
from scorecube.statistics.intervals import estimate, few_differ, logit_limits, mean_limits
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, rank_limits

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VARIABLES = read_variables("""
    [metric gain run]
    mean | estimate | score | mean score of a run
    mean | limits:mean | score | limit of the mean
    leads | flag | 1 | whether the run leads: its limits hold although it was chosen by its mean
    rank | estimate/iu | 1 | rank of the mean, 1 for the best; the best rank of ties
    rank_low | low/iu:rank | 1 | best rank of the confidence set
    rank_high | high/iu:rank | 1 | worst rank of the confidence set
    group_first | label/iu | 1 | first group of runs that are not separated
    group_last | label/iu | 1 | last group of runs that are not separated
    groups | label | 1 | groups of a run: letters, or numbers where there are more than letters
    difference | estimate | score | mean minus that of the baseline
    difference_low | low:difference | score | simultaneous lower limit of the difference
    difference_high | high:difference | score | simultaneous upper limit of the difference
    p_baseline | p_value | 1 | adjusted p-value of the difference from the baseline
    better | flag | 1 | whether a run is significantly better than the baseline
    worse | flag | 1 | whether a run is significantly worse than the baseline
    wins | count | topics | topics with a better score than the baseline
    ties | count | topics | topics with the baseline's score
    losses | count | topics | topics with a worse score than the baseline
    mean_rank | estimate | 1 | mean of the ranks in the collections (Borda); no limits hold
    [metric gain]
    separated_neighbours | count | pairs | neighbours in the order of means that are separated
    own_error_pairs | count | pairs | pairs that only their own errors would separate (t, Holm)
    [metric gain collection run]
    collection_mean | estimate | score | mean score in a collection
    collection_mean | limits:collection_mean | score | limit of the mean in a collection
    [collection]
    weight | share | 1 | weight of a collection
    topics | count | topics | topics of a collection
""")


def sign_of(table: Table, cell: int) -> float:
    """Return by what scores are multiplied so that larger ones are better."""
    return 1.0 if table.higher[cell] else -1.0


def mean_rows(table: Table, cell: int, largest: Any, alpha: float) -> dict[str, Any]:
    """Return the means of the runs of a cell with limits, those of leaders over all runs.

    largest: float64 (trial,): largest t over the means of runs.
    """
    ends, mean = table.ranges[cell], table.means[cell]
    samples = [table.samples(scores) for scores in table.scores[cell]]
    limits = np.array([mean_limits(sample, ends, 1 - alpha) for sample in samples])
    leads = competition_ranks(sign_of(table, cell) * mean) == 1
    critical = critical_value(largest, alpha)
    for run in np.flatnonzero(leads):
        leader = estimate(samples[run])
        if ends is None:
            margin = critical * leader.error
            limits[run] = leader.mean - margin, leader.mean + margin
        elif few_differ(samples[run], ends[1] - ends[0]):
            limits[run] = mean_limits(samples[run], ends, 1 - alpha / len(mean))
        else:
            limits[run] = logit_limits(leader.mean, leader.error, critical, ends)
    return {"mean": mean, "mean_low": limits[:, 0], "mean_high": limits[:, 1], "leads": leads}


def rank_rows(table: Table, cell: int, family: Family, p: Any, alpha: float) -> dict[str, Any]:
    """Return ranks, rank sets and groups of the runs of a cell."""
    ahead = sign_of(table, cell) * family.difference
    decided = (p < alpha) & (ahead != 0)
    better = np.where(ahead > 0, family.first, family.second)[decided]
    worse = np.where(ahead > 0, family.second, family.first)[decided]
    low, high = rank_limits(better, worse, len(table.runs))
    # On the grid: equal scores have equal means.
    means = sum(
        part.weight * table.units[cell][:, part.units].sum(axis=1) / part.size()
        for part in table.strata
    )
    order = np.argsort(-sign_of(table, cell) * means, kind="stable")
    begin, end = groups_in_order(order, better, worse)
    return {
        "rank": competition_ranks(sign_of(table, cell) * means),
        "rank_low": low,
        "rank_high": high,
        "group_first": begin,
        "group_last": end,
        "separated_neighbours": np.int32((begin[order[1:]] > end[order[:-1]]).sum()),
        "own_error_pairs": np.int32((family.by_own_errors(alpha) & ~decided).sum()),
    }


def baseline_rows(
    table: Table, cell: int, family: Family, critical: float, p: Any, alpha: float, rank: Any
) -> dict[str, Any]:
    """Return the differences of the runs of a cell from the baseline, with simultaneous limits.

    family, p: Pairs of the other runs with the baseline, and their p-values.
    critical: What the largest statistic of the family exceeds with probability alpha.
    """
    base, others = family.second[0], family.first
    margin = np.sqrt(critical) * np.sqrt(family.variance + family.added) * table.grids[cell].unit
    difference, low, high, p_baseline = np.full((4, len(table.runs)), np.nan)
    difference[others] = table.means[cell, others] - table.means[cell, base]
    low[others] = difference[others] - np.where(family.varied, margin, np.nan)
    high[others] = difference[others] + np.where(family.varied, margin, np.nan)
    p_baseline[others], significant = p, np.zeros(len(rank), bool)
    significant[others] = p < alpha
    moved = sign_of(table, cell) * (table.units[cell] - table.units[cell, base])
    return {
        "difference": difference,
        "difference_low": low,
        "difference_high": high,
        "p_baseline": p_baseline,
        "better": significant & (rank < rank[base]),
        "worse": significant & (rank > rank[base]),
        "wins": np.int32((moved > 1).sum(axis=1)),
        "ties": np.int32((np.abs(moved) <= 1).sum(axis=1)),
        "losses": np.int32((moved < -1).sum(axis=1)),
    }


def group_labels(first: Any, last: Any) -> Any:
    """Return groups as text, of int (cell, run): letters, or numbers if a cell has more of them.

    Examples
    --------
    >>> group_labels(np.array([[1, 1, 2]]), np.array([[1, 2, 2]])).tolist()
    [['a', 'ab', 'b']]
    """
    texts = np.empty(first.shape, object)
    for cell, run in np.ndindex(first.shape):
        low, high = int(first[cell, run]), int(last[cell, run])
        if last[cell].max() <= len(LETTERS):
            texts[cell, run] = LETTERS[low - 1 : high]
        else:
            texts[cell, run] = f"{low}-{high}" if low < high else f"{low}"
    return texts

"""Rows of leaderboards: means with limits, ranks, groups, differences from a baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.analyses.max_statistics import Family, critical_value
from scorecube.analyses.table import Table
from scorecube.statistics.intervals import estimate, few_differ, logit_limits, mean_limits
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, rank_limits


def mean_rows(table: Table, cell: int, largest: Any, alpha: float) -> dict[str, Any]:
    """Return the means of the runs of a cell with limits, those of leaders over all runs."""
    ends, mean = table.ranges[cell], table.means[cell]
    samples = [table.samples(scores) for scores in table.scores[cell]]
    limits = np.array([mean_limits(sample, ends, 1 - alpha) for sample in samples])
    leads = competition_ranks(_directed(table, cell, mean)) == 1
    critical = critical_value(largest, alpha)
    for run in np.flatnonzero(leads):
        found = estimate(samples[run])
        if ends is None:
            margin = critical * found.error
            limits[run] = found.mean - margin, found.mean + margin
        elif few_differ(samples[run], ends[1] - ends[0]):
            limits[run] = mean_limits(samples[run], ends, 1 - alpha / len(mean))
        else:
            limits[run] = logit_limits(found.mean, found.error, critical, ends)
    return {"mean": mean, "mean_low": limits[:, 0], "mean_high": limits[:, 1], "leads": leads}


def rank_rows(table: Table, cell: int, family: Family, p: Any, alpha: float) -> dict[str, Any]:
    """Return ranks, rank sets and groups of the runs of a cell."""
    ahead = _directed(table, cell, family.difference)
    decided = (p < alpha) & (ahead != 0)
    better = np.where(ahead > 0, family.first, family.second)[decided]
    worse = np.where(ahead > 0, family.second, family.first)[decided]
    low, high = rank_limits(better, worse, len(table.runs))
    # On the grid: equal scores have equal means.
    means = sum(
        part.weight * table.units[cell][:, part.units].sum(axis=1) / part.size()
        for part in table.strata
    )
    values = _directed(table, cell, means)
    order = np.argsort(-values, kind="stable")
    begin, end = groups_in_order(order, better, worse)
    return {
        "rank": competition_ranks(values),
        "rank_low": low,
        "rank_high": high,
        "group_first": begin,
        "group_last": end,
        "separated_neighbours": np.int32((begin[order[1:]] > end[order[:-1]]).sum()),
        "own_error_pairs": np.int32((family.by_own_errors(alpha) & ~decided).sum()),
    }


def baseline_rows(
    table: Table, cell: int, family: Family, p: Any, largest: Any, rank: Any, alpha: float
) -> dict[str, Any]:
    """Return the differences of the runs of a cell from the baseline, with simultaneous limits."""
    base, others = family.second[0], family.first
    critical = np.sqrt(critical_value(largest, alpha))
    margin = critical * np.sqrt(family.variance + family.added) * table.grids[cell].unit
    margin = np.where(family.varied, margin, np.nan)
    difference = table.means[cell] - table.means[cell, base]
    difference[base] = np.nan
    low, high, p_baseline = np.full((3, len(table.runs)), np.nan)
    low[others], high[others] = difference[others] - margin, difference[others] + margin
    p_baseline[others] = p
    moved = _directed(table, cell, table.units[cell] - table.units[cell, base])
    with np.errstate(invalid="ignore"):
        significant = p_baseline < alpha
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


def collection_rows(table: Table, alpha: float) -> dict[str, Any]:
    """Return the means of runs in each collection with limits: float64 (cell, collection, run)."""
    means = np.stack([table.means_in(part) for part in table.strata], axis=1)
    limits = np.empty((*means.shape, 2))
    for cell, part, run in np.ndindex(means.shape):
        sample = table.samples(table.scores[cell, run])[part]
        limits[cell, part, run] = mean_limits([sample], table.ranges[cell], 1 - alpha)
    return {
        "collection_mean": means,
        "collection_mean_low": limits[..., 0],
        "collection_mean_high": limits[..., 1],
    }


def _directed(table: Table, cell: int, values: Any) -> Any:
    """Return values of which larger ones are better."""
    return values if table.higher[cell] else -values

"""Rows of leaderboards by cell: means with limits, ranks and groups, and a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np

from scorecube.analyses.step_down import Family
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.statistics.intervals import few_differ, mean_limits
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, rank_limits


def means(table: Table, cell: int, critical: float, alpha: float) -> dict[str, Any]:
    """Return means of runs with limits, those of leaders by the critical largest t of means."""
    mean, samples, ends = table.means[cell], table.samples(table.scores[cell]), table.ranges[cell]
    leads = competition_ranks(mean if table.higher[cell] else -mean) == 1
    single = mean_limits(samples, ends, 1 - alpha)
    simultaneous = mean_limits(samples, ends, 1 - alpha / len(mean), critical)
    low, high = np.where(leads, simultaneous, single)
    return {"mean": mean, "mean_low": low, "mean_high": high, "leads": leads}


def largest_of_means(
    table: Table, cell: int, counts: Sequence[FloatArray], sums: FloatArray
) -> FloatArray:
    """Return the largest |t| of means over runs that vary, (trial,); of logits with a range."""
    scores, ends, grid = table.scores[cell], table.ranges[cell], table.grids[cell]
    varied = np.ptp(scores, axis=1) > 0
    if ends is not None:
        varied = ~few_differ(table.samples(scores), ends[1] - ends[0])
    units = table.units[cell][varied]
    observed = np.zeros((len(units), 1))
    means, variances = np.zeros((2, len(units), sums.shape[-1]))
    for part, drawn, every in zip(table.strata, counts, sums, strict=True):
        x, total, n, weight = units[:, part.units], every[varied], part.size(), part.weight
        spread = np.maximum((x * x) @ drawn - total * total / n, 0.0)
        observed += weight * x.mean(axis=1, keepdims=True)
        means += weight / n * total
        variances += weight**2 / (n * (n - 1)) * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        if ends is None:
            t = np.abs(means - observed) / np.sqrt(variances)
        else:
            low, high = ((end - grid.low) / grid.unit for end in ends)
            share, centre = ((of - low) / (high - low) for of in (means, observed))
            moved = np.log(share / (1 - share)) - np.log(centre / (1 - centre))
            t = np.abs(moved) * share * (1 - share) / (np.sqrt(variances) / (high - low))
    # A resample without spread says that a run may be anywhere.
    t[~np.isfinite(t)] = np.inf
    return np.asarray(t.max(axis=0, initial=0.0))


def ranks(table: Table, cell: int, family: Family, p: Any, alpha: float) -> dict[str, Any]:
    """Return ranks, rank sets and groups of the runs of a cell."""
    sign = 1.0 if table.higher[cell] else -1.0
    ahead = sign * family.difference
    decided = (p < alpha) & (ahead != 0)
    separated = family.first[decided], family.second[decided]
    low, high = rank_limits(*separated, ahead[decided], len(table.runs))
    # On the grid: equal scores have equal means.
    of_runs = sign * sum(
        part.weight * table.units[cell][:, part.units].sum(axis=1) / part.size()
        for part in table.strata
    )
    order = np.argsort(-of_runs, kind="stable")
    begin, end = groups_in_order(order, *separated)
    spans = list(zip(begin.tolist(), end.tolist(), strict=True))
    groups = [ascii_lowercase[first - 1 : last] for first, last in spans]
    if end.max() > len(ascii_lowercase):
        groups = [f"{first}-{last}" if first < last else f"{first}" for first, last in spans]
    return {
        "rank": competition_ranks(of_runs),
        "rank_low": low,
        "rank_high": high,
        "groups": np.array(groups, object),
        "separated_neighbours": np.int32((begin[order[1:]] > end[order[:-1]]).sum()),
        "own_error_pairs": np.int32(family.own_error_pairs(alpha, decided)),
    }


def baseline(
    table: Table, cell: int, family: Family, critical: float, p: Any, alpha: float, rank: Any
) -> dict[str, Any]:
    """Return differences from the baseline, with simultaneous limits, of pairs with it."""
    base, others = family.second[0], family.first
    margin = family.margins(critical) * table.grids[cell].unit
    apart = table.means[cell, others] - table.means[cell, base]
    of_others = np.array([apart, apart - margin, apart + margin, p])
    difference, low, high, p_baseline = np.insert(of_others, base, np.nan, axis=1)
    return {
        "difference": difference,
        "difference_low": low,
        "difference_high": high,
        "p_baseline": p_baseline,
        "better": (p_baseline < alpha) & (rank < rank[base]),
        "worse": (p_baseline < alpha) & (rank > rank[base]),
    }

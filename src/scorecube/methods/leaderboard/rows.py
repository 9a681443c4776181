"""Rows of leaderboards by cell: means with limits, ranks and groups, and a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.differences import CONFIDENCE, difference_in, least_of, width_of
from scorecube.analyses.pairs import fewest_units
from scorecube.analyses.step_down import Family
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.teams import listed
from scorecube.statistics.intervals import difference_limits, few_differ, mean_limits
from scorecube.statistics.rank_sets import (
    competition_ranks,
    group_names,
    groups_in_order,
    rank_limits,
    with_equals,
)


def means(table: ScoreTable, cell: int, critical: float, alpha: float) -> dict[str, Any]:
    """Return means of runs with limits of each, and those of whichever leads.

    critical: Of the largest t of means of runs.
    """
    mean = table.means[cell]
    samples = table.samples(table.scores[cell])
    ends = table.ranges[cell]
    leads = competition_ranks(merits(table, cell)) == 1
    low, high = mean_limits(samples, ends, 1 - alpha)
    leading = [of._replace(sums=of.sums[leads]) for of in samples]
    least, most = mean_limits(leading, ends, 1 - alpha / len(mean), critical)
    return {
        "mean": mean,
        "mean_low": low,
        "mean_high": high,
        "limits_reason": np.where(np.isnan(low), table.why_no_limits, "").astype(object),
        "leads": leads,
        "leader_low": np.min(least),
        "leader_high": np.max(most),
    }


def few_notes(table: ScoreTable) -> list[str]:
    """Return of which metrics few units of some runs differ, and what that does to their limits."""
    single = len(table.strata) == 1 and fewest_units(table) < 2
    notes = [f"no limits: {table.why_no_limits}"] if single else []
    for cell in range(len(table.scores) if fewest_units(table) > 1 else 0):
        few = np.flatnonzero(_few_of(table, cell))
        if not len(few):
            continue
        metric = table.metrics[np.argwhere(table.cell_of == cell)[0][0]]
        runs = listed([table.runs[run] for run in few])
        topics = table.nouns.topics
        fate = f"their limits count two {topics} more, one at either end of the range"
        if table.ranges[cell] is None:
            fate = (
                f"they have no limits, as no range of {metric} was stated when they were imported"
            )
        notes.append(f"{metric}: fewer than 8 {topics} differ of {runs}: {fate}")
    return notes


def _few_of(table: ScoreTable, cell: int) -> NDArray[np.bool_]:
    """Return of which runs few units differ, bool (run,)."""
    samples = table.samples(table.scores[cell])
    width = width_of(table, cell)
    return np.asarray(few_differ(samples, width, least_of(table, cell)))


def largest_of_means(
    table: ScoreTable, cell: int, counts: Sequence[FloatArray], sums: FloatArray
) -> FloatArray:
    """Return the largest |t| of means over runs that vary, (trial,); of logits with a range.

    Runs vary of which at least 8 units differ.
    """
    ends = table.ranges[cell]
    grid = table.grids[cell]
    if fewest_units(table) < 2:  # a collection shows no error
        return np.full(sums.shape[-1], np.inf)
    varied = ~_few_of(table, cell)
    units = table.units[cell][varied]
    observed = np.zeros((len(units), 1))
    means, variances = np.zeros((2, len(units), sums.shape[-1]))
    for part, drawn, every in zip(table.strata, counts, sums, strict=True):
        x = units[:, part.units]
        total = every[varied]
        n = part.size()
        weight = part.weight
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


def merits(table: ScoreTable, cell: int) -> FloatArray:
    """Return means of runs by which they are ranked, the largest the best: equal ones are equal."""
    equal = with_equals(table.means[cell], least_of(table, cell))
    return equal if table.higher[cell] else -equal


def ranks(
    table: ScoreTable, cell: int, family: Family, p: FloatArray, alpha: float
) -> dict[str, Any]:
    """Return ranks, rank sets and groups of the runs of a cell."""
    merit = merits(table, cell)
    ahead = merit[family.first] - merit[family.second]
    decided = (p < alpha) & (ahead != 0)
    separated = family.first[decided], family.second[decided]
    low, high = rank_limits(*separated, ahead[decided], len(table.runs))
    order = np.argsort(-merit, kind="stable")
    begin, end = groups_in_order(order, *separated)
    return {
        "rank": competition_ranks(merit),
        "rank_low": low,
        "rank_high": high,
        "groups": group_names(begin, end),
        "separated_neighbours": np.int32((begin[order[1:]] > end[order[:-1]]).sum()),
        "own_error_pairs": np.int32(family.own_error_pairs(alpha, decided)),
    }


def baseline(
    table: ScoreTable, cell: int, family: Family, critical: float, p: FloatArray, alpha: float
) -> dict[str, Any]:
    """Return differences from the baseline of pairs with it, with limits of each and of all."""
    base = family.second[0]
    found = difference_in(table, cell, (family.first, family.second))
    width = width_of(table, cell)
    low, high = difference_limits(found.guarded, width, CONFIDENCE)
    margin = family.margins(critical) * table.grids[cell].unit
    most = np.inf if width is None else width
    merit = merits(table, cell)
    ahead = merit - merit[base]
    of_others = {
        "difference": found.mean,
        "difference_low": low,
        "difference_high": high,
        "joint_low": np.maximum(found.mean - margin, -most),
        "joint_high": np.minimum(found.mean + margin, most),
        "p_baseline": p,
    }
    row: dict[str, Any] = {name: np.insert(of, base, np.nan) for name, of in of_others.items()}
    row["better"] = (row["p_baseline"] < alpha) & (ahead > 0)
    row["worse"] = (row["p_baseline"] < alpha) & (ahead < 0)
    return row

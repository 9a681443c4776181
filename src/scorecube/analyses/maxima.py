"""Largest statistics of each resample: over pairs of runs, and over the means of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from scorecube import names
from scorecube.analyses.protocol import Concat, Part, Sum
from scorecube.analyses.step_down import Family
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.maxima import running_maxima
from scorecube.kernels.random.draws import bootstrap_samples, multiplicities
from scorecube.statistics.intervals import few_differ

TRIALS_AT_ONCE = 512
"""Trials that are computed together; results do not depend on it."""


def drawn_counts(table: Table, start: int, stop: int) -> list[FloatArray]:
    """Return how often some trials draw each unit: float64 (unit, trial) of each collection."""
    counts = []
    for stratum, part in enumerate(table.strata):
        key, n = table.key(names.Purpose.BOOTSTRAP_TOPICS, stratum), part.size()
        counts.append(multiplicities(bootstrap_samples(key, n, start, stop), n)[0].T)
    return counts


def maxima_block(
    table: Table, families: Sequence[Sequence[Family]], start: int, stop: int, *, means: bool
) -> dict[str, Part]:
    """Return in how many of some trials the maximum reaches each pair, and the largest statistics.

    families: Of each cell.
    means: Whether the largest t of the means of runs is computed, too.
    Returns reached: int64 (cell, pair), of a family behind that before it: see `adjusted_counts`.
    Returns largest: float64 (cell, family, trial).
    Returns largest_t: float64 (cell, trial), of means.
    """
    n_pairs = sum(len(family.first) for family in families[0])
    reached = np.zeros((len(families), n_pairs), np.int64)
    largest = np.zeros((len(families), len(families[0]), stop - start))
    largest_t = np.empty((len(families), stop - start))
    starts = np.array([0, *(part.units.stop for part in table.strata)])
    weights = np.array([part.weight for part in table.strata])
    for low in range(start, stop, TRIALS_AT_ONCE):
        counts = drawn_counts(table, low, min(low + TRIALS_AT_ONCE, stop))
        by_trial = np.ascontiguousarray(np.concatenate(counts).T, np.int32)
        here = slice(low - start, low - start + len(by_trial))
        parts = list(zip(table.strata, counts, strict=True))
        for cell, units in enumerate(table.units):
            sums, place = np.stack([units[:, part.units] @ drawn for part, drawn in parts]), 0
            for k, family in enumerate(families[cell]):
                order, edges = family.ascending
                runs, of = (family.first[order], family.second[order]), (starts, weights)
                observed = np.ascontiguousarray(family.totals[:, order]), edges
                of_trials = largest[cell, k, here], reached[cell, place : place + len(order)]
                running_maxima(runs, units, sums, by_trial, observed, of, family.added, of_trials)
                place += len(family.first)
            if means:
                largest_t[cell, here] = largest_of_means(table, cell, counts, sums)
    blocks: dict[str, Part] = {"reached": Sum(reached), "largest": Concat(largest)}
    return blocks | ({"largest_t": Concat(largest_t)} if means else {})


def largest_of_means(
    table: Table, cell: int, counts: Sequence[FloatArray], sums: FloatArray
) -> FloatArray:
    """Return the largest absolute t over runs of the mean in each trial: float64 (trial,).

    On the logit scale of scores with a range; of runs of which enough units differ.

    counts: Of `drawn_counts`; `sums` of the scores that are drawn, (stratum, run, trial).
    """
    varied = table.once(f"varied {cell}", lambda: varied_runs(table, cell))
    units, ends, grid = table.units[cell][varied], table.ranges[cell], table.grids[cell]
    observed = np.zeros((len(units), 1))
    means, variances = np.zeros((2, len(units), sums.shape[-1]))
    for part, drawn, every in zip(table.strata, counts, sums, strict=True):
        scores, total, n, weight = units[:, part.units], every[varied], part.size(), part.weight
        spread = np.maximum((scores * scores) @ drawn - total * total / n, 0.0)
        observed += weight * scores.mean(axis=1, keepdims=True)
        means += weight / n * total
        variances += weight**2 / (n * (n - 1)) * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        if ends is None:
            t = np.abs(means - observed) / np.sqrt(variances)
        else:
            low, high = ((end - grid.low) / grid.unit for end in ends)
            share, centre = ((x - low) / (high - low) for x in (means, observed))
            moved = np.log(share / (1 - share)) - np.log(centre / (1 - centre))
            t = np.abs(moved) * share * (1 - share) / (np.sqrt(variances) / (high - low))
    # A resample without spread says that a run may be anywhere.
    t[~np.isfinite(t)] = np.inf
    return np.asarray(t.max(axis=0, initial=0.0))


def varied_runs(table: Table, cell: int) -> Any:
    """Return of which runs enough units differ, bool (run,); without a range, any units."""
    ends = table.ranges[cell]
    if ends is None:
        return np.ptp(table.scores[cell], axis=1) > 0
    width = ends[1] - ends[0]
    return np.array([not few_differ(table.samples(x), width) for x in table.scores[cell]])


def critical_value(largest: FloatArray, alpha: float) -> float:
    """Return what the largest statistic of a trial exceeds with probability alpha.

    The ceil((1 - alpha) (B + 1))-th smallest of B; NaN if B is too small.
    """
    rank = math.ceil(round((1 - alpha) * (len(largest) + 1), 9))
    return float(np.sort(largest)[rank - 1]) if rank <= len(largest) else math.nan

"""The largest t over the means of runs in resamples: limits of whichever run leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.statistics.intervals import few_differ


def largest_of_means(table: Table, cell: int, counts: list[FloatArray]) -> FloatArray:
    """Return the largest absolute t over runs of the mean in each trial: float64 (trial,).

    On the logit scale of scores with a range; of runs of which enough units differ.

    counts: float64 (unit, trial) of each collection: how often a trial draws a unit.
    """
    varied = table.once(f"varied {cell}", lambda: varied_runs(table, cell))
    units, ends, grid = table.units[cell][varied], table.ranges[cell], table.grids[cell]
    observed = np.zeros((len(units), 1))
    means, variances = np.zeros((2, len(units), counts[0].shape[1]))
    for part, drawn in zip(table.strata, counts, strict=True):
        scores, n, weight = units[:, part.units], part.size(), part.weight
        sums, squares = scores @ drawn, (scores * scores) @ drawn
        observed += weight * scores.mean(axis=1, keepdims=True)
        means += weight / n * sums
        variances += weight**2 / (n * (n - 1)) * np.maximum(squares - sums * sums / n, 0.0)
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
    largest: FloatArray = t.max(axis=0, initial=0.0)
    return largest


def varied_runs(table: Table, cell: int) -> NDArray[np.bool_]:
    """Return of which runs enough units differ, bool (run,); without a range, any units."""
    ends = table.ranges[cell]
    if ends is None:
        return np.asarray(np.ptp(table.scores[cell], axis=1) > 0)
    width = ends[1] - ends[0]
    return np.array([not few_differ(table.samples(x), width) for x in table.scores[cell]])

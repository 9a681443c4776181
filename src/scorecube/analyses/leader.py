"""The largest t over the means of runs in resamples: limits of the mean of whichever run leads."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.analyses.table import Table
from scorecube.statistics.intervals import few_differ


def largest_of_means(
    units: Any, strata: list[tuple[float, slice]], counts: list[Any], ends: Any
) -> Any:
    """Return the largest absolute t over runs of the mean in each trial, on the logit scale of scores with a range: float64 (trial,).

    units: float64 (run, unit), of runs of which at least 8 units differ.
    ends: Units of the range's ends; NaN without a range.
    """
    n_trials = counts[0].shape[1]
    observed = np.zeros((len(units), 1))
    means, variances = np.zeros((2, len(units), n_trials))
    for (weight, place), drawn in zip(strata, counts, strict=True):
        scores, n = units[:, place], place.stop - place.start
        sums, squares = scores @ drawn, (scores * scores) @ drawn
        observed += weight * scores.mean(axis=1, keepdims=True)
        means += weight / n * sums
        variances += weight**2 / (n * (n - 1)) * np.maximum(squares - sums * sums / n, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isnan(ends).any():
            t = np.abs(means - observed) / np.sqrt(variances)
        else:
            share, centre = ((x - ends[0]) / (ends[1] - ends[0]) for x in (means, observed))
            moved = np.log(share / (1 - share)) - np.log(centre / (1 - centre))
            t = np.abs(moved) * share * (1 - share) / (np.sqrt(variances) / (ends[1] - ends[0]))
    # A resample without spread says that a run may be anywhere.
    t[~np.isfinite(t)] = np.inf
    found: Any = t.max(axis=0, initial=0.0)
    return found


def ends_in_units(table: Table, cell: int) -> tuple[float, float]:
    """Return the ends of a cell's range in units of its grid, NaN without a range."""
    ends, grid = table.ranges[cell], table.grids[cell]
    if ends is None:
        return np.nan, np.nan
    low, high = ((end - grid.low) / grid.unit for end in ends)
    return low, high


def varied_runs(table: Table, cell: int) -> Any:
    """Return of which runs enough units differ: bool (run,); of scores without a range those with any spread."""
    ends = table.ranges[cell]
    if ends is None:
        return np.ptp(table.scores[cell], axis=1) > 0
    width = ends[1] - ends[0]
    return np.array([not few_differ(table.samples(x), width) for x in table.scores[cell]])

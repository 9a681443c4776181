"""Bins of the absolute difference in mean score, of the swap method."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.statistics.grid import UNITS

MOST_BINS = 1000
Swap = Any
"""The record of options, which counts by these bins."""


def bin_widths(swap: Swap, table: Table, size: int) -> FloatArray:
    """Return the width of a bin in units of sums over a sample, float64 (cell,)."""
    ranges = np.array([grid.high - grid.low for grid in table.grids])
    return np.asarray(swap.bin_width * UNITS * size / ranges)


def bins_needed(swap: Swap, table: Table) -> int:
    """Return the number of bins for the largest difference of two means of samples."""
    smallest = 1 if swap.sampling == "replacement" else swap.n_drawn(table)[0]
    spread = np.sort(np.ptp(table.units, axis=1), axis=-1)[:, -smallest:].mean(axis=-1)
    if swap.summary != "mean":
        spread = np.ptp(table.units, axis=(1, 2))
    return max(2, int((spread / bin_widths(swap, table, 1)).max()) + 2)


def n_bins_of(swap: Swap, table: Table) -> int:
    """Return the number of bins that are counted."""
    return min(bins_needed(swap, table), MOST_BINS) if swap.bins == "auto" else int(swap.bins)


def n_closed(swap: Swap, n_bins: int) -> int:
    """Return how many of the bins have an upper limit: all, unless their number is stated."""
    return n_bins - int(swap.bins != "auto" or n_bins == MOST_BINS)


def bin_edges(swap: Swap, n_bins: int) -> FloatArray:
    """Return the lower edges of bins, as they are written in decimals."""
    return np.array([float(k * Fraction(str(swap.bin_width))) for k in range(n_bins)])

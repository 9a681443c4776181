"""Number of bins of the swap method: as stated, or up to the largest difference that is possible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import xarray as xr

from scorecube.collection.selection import cells
from scorecube.errors import option

MOST_BINS = 1000
FEWEST_BINS = 2


@dataclass(frozen=True)
class Bins:
    """Bins of absolute differences.

    number: Number of bins that are counted.
    closed: Number of bins with an upper limit: all of them, or all but the last.
    automatic: Whether the number was not stated; then empty bins at the end are left out of a result.
    warnings: Warnings for the user.
    """

    number: int
    closed: int
    automatic: bool
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        stated: Literal["auto"] | int,
        width: Fraction,
        sampling: str,
        sizes: tuple[int, ...],
        cube: xr.Dataset,
    ) -> Bins:
        """Return the bins for a cube; with ``auto`` as many as its largest possible difference needs, up to 1,000."""
        if stated != "auto":
            return cls(stated, stated - 1, False)
        largest = largest_difference(cube, sampling, sizes)
        needed = max(int(largest / float(width)) + 2, FEWEST_BINS)
        if 0.0 < largest < float(width):
            warning = (
                f"all differences are in one bin, as scores differ by at most {largest:.3g}; "
                f"use a {option('bin_width')} below it"
            )
            return cls(needed, needed, True, (warning,))
        if needed <= MOST_BINS:
            return cls(needed, needed, True)
        warning = (
            f"differences of {float((MOST_BINS - 1) * width):g} and more are in one open bin, "
            f"as scores may differ by up to {needed * float(width):g}; use a larger {option('bin_width')}"
        )
        return cls(MOST_BINS, MOST_BINS - 1, True, (warning,))


def largest_difference(cube: xr.Dataset, sampling: str, sizes: tuple[int, ...]) -> float:
    """Return a bound of the differences in mean score of two runs on a sample, over all cells.

    On each topic, runs differ at most by the range of their scores; a sample without repeated topics has at most the
    topics with the largest ranges.
    """
    scores = cells(cube)[0]
    ranges = np.sort(scores.max(axis=1) - scores.min(axis=1), axis=-1)
    # Topics without a score, and infinite scores, are refused later.
    ranges = np.nan_to_num(ranges, nan=0.0, posinf=0.0)
    smallest = 1 if sampling == "replacement" else max(min(sizes), 1)
    return float(ranges[:, -smallest:].mean(axis=1).max(initial=0.0))

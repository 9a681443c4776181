"""Options of the swap method, and its bins: as many as stated, or up to the largest difference that is possible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.topic_samples.base import TopicSampling
from scorecube.collection.score_range import LARGEST_SCORE, SMALLEST_MAXIMUM
from scorecube.collection.selection import cell_kinds, cells
from scorecube.errors import option
from scorecube.metrics.registry import MEAN

SMALLEST_WIDTH = SMALLEST_MAXIMUM / 1000
"""Narrowest bins: of the smallest scores they are a thousandth."""


@dataclass(frozen=True, kw_only=True)
class SwapOptions(TopicSampling):
    """Declared options of `scorecube.analyses.topic_samples.swap.Swap`."""

    rule: Literal["s0", "s1"] = option_field(
        "s0",
        "Two zero differences are no swap (s0, Sakai 2005) or a swap (s1, Sakai 2007).",
        finalize=True,
    )
    confidence: tuple[float, ...] = level_field(
        names.CONFIDENCE,
        (0.95, 0.9, 0.8),
        "1 - accepted swap rates.",
        detail="The sensitivity table has one row for each.",
        finalize=True,
    )
    bin_width: float = option_field(
        0.01,
        "Width of the difference bins, in units of the score.",
        minimum=SMALLEST_WIDTH,
        maximum=LARGEST_SCORE,
        unit="score",
    )
    bins: Literal["auto"] | int = option_field(
        "auto",
        "Number of difference bins, of which the last is open; auto: as many as needed, all closed.",
        detail="The open bin is that of the papers, and does not show where in it swaps end.",
        minimum=2,
        maximum=1000,
    )
    share: Literal["all", "none"] = option_field(
        "all",
        "Samples of a trial are used for all pairs of runs, or none: samples are drawn for each pair (slow).",
        detail="``all`` is Sakai 2007; ``none``, Sakai 2005, Fig. 1, takes about a hundred times longer.",
    )
    required: Literal["isotonic", "suffix"] = option_field(
        "isotonic",
        "Required difference: lower edge of the first bin whose fitted swap rate is low enough (isotonic), "
        "or from which on all rates are (suffix, as in the papers).",
        detail="The fit does not increase with the difference (`scorecube.statistics.required_difference`). Limits exist for "
        "``isotonic``. The open bin of a stated number of bins is no answer of ``isotonic``; as that of ``suffix`` it is marked (`open_bin`).",
    )

    @property
    def width(self) -> Fraction:
        """Width of a bin, exactly as it is written."""
        return Fraction(str(self.bin_width))


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
    topics with the largest ranges. Geometric means and area measures differ at most by the range of all scores.
    """
    scores = cells(cube)[0]
    ranges = np.sort(scores.max(axis=1) - scores.min(axis=1), axis=-1)
    for k, kind in enumerate(cell_kinds(cube)):
        if kind != MEAN:
            ranges[k] = scores[k].max() - scores[k].min()
    # Topics without a score, and infinite scores, are refused later.
    ranges = np.nan_to_num(ranges, nan=0.0, posinf=0.0)
    smallest = 1 if sampling == "replacement" else max(min(sizes), 1)
    return float(ranges[:, -smallest:].mean(axis=1).max(initial=0.0))

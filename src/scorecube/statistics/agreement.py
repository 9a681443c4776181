"""Agreement of two rankings by chance (Kendall's tau), and of the labels of two judges.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
    document", section 4.1; Kendall 1970, "Rank correlation methods", chapter 5; Cohen 1960 and 1968
    (kappa, weighted kappa); Krippendorff 2019, "Content analysis", chapter 12 (alpha).
"""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
COEFFICIENTS = ("kappa", "weighted_kappa", "alpha")
MOST_EXACT = 60
"""Runs up to which p-values are exact; for more runs the normal distribution is close."""


def null_error(n_runs: int) -> float:
    """Return the standard error of tau (Sakai 2007, equation 9); NaN for fewer than 3 runs."""
    n = n_runs
    return math.sqrt((4 * n + 10) / (9 * n * (n - 1))) if n >= 3 else math.nan


@cache
def discordant_shares(n_runs: int) -> NDArray[np.float64]:
    """Return the share of all orders of runs with 0, 1, 2, ... discordant pairs."""
    shares = np.ones(1)
    for n_before in range(1, n_runs):
        # A further run is put at any place, before 0 to all of the others.
        shares = np.convolve(shares, np.full(n_before + 1, 1 / (n_before + 1)))
    return shares


def exact_p(n_runs: int, concordant: int, discordant: int) -> float:
    """Return the two-sided p-value: the share of all n! orders whose tau is as far from 0.

    NaN with ties, or for more than `MOST_EXACT` runs.
    """
    if not 2 <= n_runs <= MOST_EXACT or concordant + discordant != math.comb(n_runs, 2):
        return math.nan
    fewest = min(concordant, discordant)
    return min(1.0, 2 * float(discordant_shares(n_runs)[: fewest + 1].sum()))


def label_coefficients(counts: NDArray[Any]) -> FloatArray:
    """Return kappa, kappa with quadratic weights, alpha of ordinal labels.

    counts: Integers (..., level of the first, level of the second): documents.
    Returns coefficients: float64 (..., coefficient); NaN where all labels are one level, or none.
    """
    tables = np.asarray(counts, np.float64)
    total = tables.sum(axis=(-2, -1))
    both = tables + tables.swapaxes(-2, -1)
    levels = np.arange(tables.shape[-1], dtype=np.float64)
    apart = np.abs(levels[:, np.newaxis] - levels)
    margins = both.sum(axis=-1)
    # Ordinal distances: the labels between two levels, those of the two levels by half.
    middle = np.cumsum(margins, axis=-1) - margins / 2
    ordinal = (middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [
            _beyond_chance(tables, (apart > 0).astype(np.float64), total),
            _beyond_chance(tables, apart**2, total),
            _beyond_chance(both, ordinal, margins.sum(axis=-1) - 1),
        ]
    return np.stack(found, axis=-1)


def _beyond_chance(seen: FloatArray, cost: FloatArray, times: FloatArray) -> FloatArray:
    """Return 1 - the cost of the labels seen over that of labels by chance, (...)."""
    chance = seen.sum(axis=-1)[..., :, np.newaxis] * seen.sum(axis=-2)[..., np.newaxis, :]
    expected = (chance * cost).sum(axis=(-2, -1))
    observed = (seen * cost).sum(axis=(-2, -1)) * times
    return np.asarray(np.where(expected > 0, 1.0 - observed / expected, np.nan))

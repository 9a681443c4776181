"""The distribution of Kendall's tau between unrelated rankings without ties.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
    document", section 4.1; Kendall 1970, "Rank correlation methods", chapter 5.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

MOST_EXACT = 60
"""Runs up to which p-values are exact; for more runs the normal distribution is close."""


def null_error(n_runs: int) -> float:
    """Return the standard error of tau (Sakai 2007, equation 9); NaN for fewer than 3 runs."""
    n = n_runs
    return math.sqrt((4 * n + 10) / (9 * n * (n - 1))) if n >= 3 else math.nan


@cache
def discordant_shares(n_runs: int) -> NDArray[np.float64]:
    """Return the share of all orders of runs with 0, 1, 2, ... discordant pairs.

    Examples
    --------
    >>> (discordant_shares(4) * 24).round().tolist()
    [1.0, 3.0, 5.0, 6.0, 5.0, 3.0, 1.0]
    """
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

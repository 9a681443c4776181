"""Kendall's tau-b of one pair of rankings, without `scipy.stats`, whose import takes a hundred times as long.

`scorecube.kernels.rank.concordance` counts the pairs of many rankings in many trials.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def tau_b(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Kendall's tau-b; NaN where a ranking ties all items.

    first, second: float64 (item,): values by which items are ranked.
    References: Kendall 1970, "Rank correlation methods", section 3.4.

    Examples
    --------
    >>> tau_b(np.array([4.0, 3.0, 2.0, 1.0]), np.array([4.0, 2.0, 2.0, 3.0]))
    0.18257418583505539
    """
    n_items = len(first)
    x, y = (np.unique(values, return_inverse=True)[1] for values in (first, second))
    y = y[np.lexsort((y, x))]  # by the first ranking; of items that it ties, none is discordant
    discordant = sum(int(np.count_nonzero(y[:k] > y[k])) for k in range(n_items))
    n_pairs = math.comb(n_items, 2)
    tied_first, tied_second = _tied(x), _tied(y)
    if n_pairs in (tied_first, tied_second):
        return math.nan
    x = np.sort(x)
    both = _tied(x * n_items + y)
    score = n_pairs - tied_first - tied_second + both - 2 * discordant
    tau = score / math.sqrt(n_pairs - tied_first) / math.sqrt(n_pairs - tied_second)
    return min(1.0, max(-1.0, tau))


def _tied(ranks: NDArray[np.int64]) -> int:
    """Return the number of pairs of equal ranks."""
    counts = np.unique(ranks, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())

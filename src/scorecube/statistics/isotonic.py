"""Weighted isotonic regression, in plain Python: importing `scipy.optimize` takes longer than all fits of an analysis.

References: Busing 2022, "Monotone regression: a simple and fast O(n) PAVA implementation", Journal of Statistical Software 102, code
snippet 1, algorithm 1; `scipy.optimize.isotonic_regression` adds in the same order, so that all bits are equal (tests/statistics/test_isotonic.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def non_increasing(values: Floats, weights: Floats) -> Floats:
    """Return the sequence that does not increase and has the least weighted sum of squared differences from the values.

    values, weights: float64 (place,): weights above 0.
    Returns fitted: float64 (place,).

    Examples
    --------
    >>> non_increasing(np.array([0.5, 0.0, 0.25, 0.0]), np.array([4.0, 6.0, 2.0, 1.0])).tolist()
    [0.5, 0.0625, 0.0625, 0.0]
    """
    x, w = values[::-1].tolist(), weights[::-1].tolist()
    means: list[float] = []
    totals: list[float] = []
    ends, place = [0], 0
    while place < len(x):
        mean, weight = x[place], w[place]
        if means and means[-1] >= mean:
            before = totals.pop()
            product = before * means.pop() + weight * mean
            weight += before
            ends.pop()
            mean = product / weight
            while place + 1 < len(x) and mean >= x[place + 1]:
                place += 1
                product += w[place] * x[place]
                weight += w[place]
                mean = product / weight
            while means and means[-1] >= mean:
                product += totals[-1] * means.pop()
                weight += totals.pop()
                ends.pop()
                mean = product / weight
        means.append(mean)
        totals.append(weight)
        place += 1
        ends.append(place)
    return np.repeat(np.array(means, np.float64), np.diff(ends))[::-1]

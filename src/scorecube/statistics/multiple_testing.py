"""P-values adjusted for testing many hypotheses: Holm 1979; Benjamini and Hochberg 1995."""

import numpy as np
from numpy.typing import NDArray

METHODS = ("none", "holm", "bh")
"""No adjustment, family-wise error rate, false discovery rate."""


def adjusted(p: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    """Return p-values (test,) adjusted for their number by one of `METHODS`; NaN do not count."""
    if method == "none":
        return p
    tested = np.flatnonzero(~np.isnan(p))
    order, left = tested[np.argsort(p[tested])], np.arange(len(tested), 0, -1)
    if method == "holm":
        steps = np.maximum.accumulate(p[order] * left)
    else:
        order = order[::-1]
        steps = np.minimum.accumulate(p[order] * (len(tested) / left))
    found = np.full(len(p), np.nan)
    found[order] = np.minimum(steps, 1.0)
    return found

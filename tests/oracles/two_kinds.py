"""Plain reference of a mixture of two bivariate normal distributions with one covariance: its log-likelihood by SciPy, after McLachlan and Peel 2000."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import multivariate_normal

Points = Sequence[Sequence[float]]


def likelihood(points: Points, kinds: Sequence[int]) -> float:
    """Return the log-likelihood of points (system, 2) whose kinds are known: centres, one covariance and shares are the most likely ones."""
    x, of = np.asarray(points), np.asarray(kinds)
    found = sorted(set(kinds))
    centres = {kind: x[of == kind].mean(axis=0) for kind in found}
    away = np.array([row - centres[kind] for row, kind in zip(x, kinds, strict=True)])
    covariance = sum(np.outer(row, row) for row in away) / len(x)
    shares = {kind: (of == kind).mean() for kind in found}
    total = 0.0
    for row in x:
        density = sum(shares[k] * multivariate_normal.pdf(row, centres[k], covariance) for k in found)  # fmt: skip
        total += math.log(density)
    return total


def bic_prefers_two(points: Points, kinds: Sequence[int]) -> bool:
    """Return whether two kinds have the better BIC, which hard kinds can only understate."""
    gain = likelihood(points, kinds) - likelihood(points, [0] * len(kinds))
    return 2 * gain > 3 * math.log(len(kinds))

"""Triangular factors of covariance matrices."""

from __future__ import annotations

import math

import numpy as np

from scorecube.kernels.arrays import Float64Array2
from scorecube.kernels.jit import compiled

DEPENDENT = 1e-10
"""Share of a variance that is left by the rows before it, up to which it is rounding."""


@compiled
def triangular_factor(matrix: Float64Array2) -> Float64Array2:
    """Return L of L L' = matrix: float64 (row, column), a row that depends on those before it with 0 on the diagonal.

    Sums are added in one order, whatever the machine: libraries add them by the number of threads.

    matrix: float64 (row, column), symmetric, without negative eigenvalues.
    """
    n = matrix.shape[0]
    factor = np.zeros((n, n))
    for column in range(n):
        own = factor[column]
        rest = matrix[column, column]
        for k in range(column):
            rest -= own[k] * own[k]
        if rest <= DEPENDENT * matrix[column, column]:
            continue
        root = math.sqrt(rest)
        own[column] = root
        for row in range(column + 1, n):
            other, total = factor[row], matrix[row, column]
            for k in range(column):
                total -= other[k] * own[k]
            other[column] = total / root
    return factor

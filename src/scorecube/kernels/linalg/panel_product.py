"""Matrix products of pairs of runs by trials, some columns at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorecube.kernels.arrays import Float64Array2, Float64Array3

AT_ONCE = 2**20
"""Elements of columns that are float64 at a time."""


def in_panels(columns: NDArray[np.number]) -> Float64Array3:
    """Return a matrix (inner, column) of any element type as float64 (1, inner, column), as `multiply` takes it."""
    return columns[np.newaxis].astype(np.float64)


def room_for_product(n_rows: int, panels: Float64Array3) -> Float64Array2:
    """Return an array for a product with `n_rows` rows, not initialised."""
    return np.empty((n_rows, panels.shape[2]))


def multiply(rows: Float64Array2, panels: Float64Array3, out: Float64Array2) -> None:
    """Write the product of rows (row, inner) and panels to `out`."""
    np.matmul(rows, panels[0], out=out)


def product_of_columns(rows: NDArray[np.float64], columns: NDArray[np.number]) -> Float64Array2:
    """Return the product of rows (row, inner) and columns (inner, column) of any element type."""
    n_columns, step = columns.shape[1], max(1, AT_ONCE // max(len(columns), 1))
    found = np.empty((len(rows), n_columns))
    for low in range(0, n_columns, step):
        found[:, low : low + step] = rows @ columns[:, low : low + step].astype(np.float64)
    return found

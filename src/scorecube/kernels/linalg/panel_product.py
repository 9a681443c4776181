"""Matrix products of a few rows by many columns, in wide vector registers.

BLAS libraries choose their kernels by the name of the processor, and older kernels for names that they do not know;
this product depends on the registers only. Without them, the product of NumPy's library is used. The two round
differently.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorecube.kernels.arrays import Float64Array2, Float64Array3
from scorecube.kernels.intrinsics import register_tile
from scorecube.kernels.jit import compiled
from scorecube.kernels.registers import ROWS, VECTOR_BYTES, VECTORS, has_wide_registers

AT_ONCE = 2**20
"""Elements of columns that are in panels at a time."""


def in_panels(columns: NDArray[np.number]) -> Float64Array3:
    """Return a matrix in panels as wide as a register tile, as `multiply` takes it.

    columns: (inner, column), of any element type.
    Returns panels: float64 (panel, inner, column), the last panel filled up with zeros; without wide registers one panel
        of all columns.
    """
    if not has_wide_registers():
        return columns[np.newaxis].astype(np.float64)
    inner, n = columns.shape
    width = VECTORS * VECTOR_BYTES // 8
    panels = np.empty((-(-n // width), inner, width))
    full, rest = divmod(n, width)
    whole = columns[:, : full * width].reshape(inner, full, width)
    panels[:full] = whole.transpose(1, 0, 2)
    panels[full:, :, :rest], panels[full:, :, rest:] = columns[:, full * width :], 0
    return panels


def room_for_product(n_rows: int, panels: Float64Array3) -> Float64Array2:
    """Return an array for a product, not initialised.

    It has `n_rows` rows, rounded up to a multiple of `ROWS`, and the columns of all panels.
    """
    return np.empty((-(-n_rows // ROWS) * ROWS, panels.shape[0] * panels.shape[2]))


def multiply(rows: Float64Array2, panels: Float64Array3, out: Float64Array2) -> None:
    """Write the product of rows and columns.

    rows: float64 (row, inner), contiguous; as many rows as `out` has.
    panels: Of `in_panels`.
    out: Of `room_for_product`, written; columns beyond those of the matrix become zero.
    """
    if has_wide_registers():
        multiply_wide(rows, panels, out)
    else:
        np.matmul(rows, panels[0], out=out)


def product_of_columns(rows: NDArray[np.float64], columns: NDArray[np.number]) -> Float64Array2:
    """Return the product of rows (row, inner) and columns (inner, column) of any element type, which are in panels a few at a time, as memory is slower than the processor."""
    n_columns, step = columns.shape[1], max(1, AT_ONCE // max(len(columns), 1))
    found = np.empty((len(rows), n_columns))
    for low in range(0, n_columns, step):
        some = columns[:, low : low + step]
        part = product(rows, in_panels(some))
        found[:, low : low + step] = part[: len(rows), : some.shape[1]]
    return found


def product(rows: NDArray[np.float64], panels: Float64Array3) -> Float64Array2:
    """Return the product of rows (row, inner) and panels.

    Rows and columns beyond those of the matrices are zero.
    """
    out = room_for_product(len(rows), panels)
    filled = np.zeros((len(out), rows.shape[1]))
    filled[: len(rows)] = rows
    multiply(filled, panels, out)
    return out


@compiled
def multiply_wide(rows: Float64Array2, panels: Float64Array3, out: Float64Array2) -> None:
    """Do what `multiply` does, from compiled code; requires `has_wide_registers`."""
    n_rows, n_columns, inner, width = out.shape[0], out.shape[1], rows.shape[1], panels.shape[2]
    size, zero = out.itemsize, out.dtype.type(0)
    row_address, panel_address, out_address = rows.ctypes.data, panels.ctypes.data, out.ctypes.data
    for panel in range(panels.shape[0]):
        for row in range(0, n_rows, ROWS):
            register_tile(
                row_address + row * inner * size,
                panel_address + panel * inner * width * size,
                out_address + (row * n_columns + panel * width) * size,
                (inner, n_columns, zero),
            )

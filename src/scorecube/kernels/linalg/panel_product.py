"""Matrix products of tall tiles by many columns, in wide vector registers where the machine has them.

Libraries choose their kernels by the name of the processor, and take older ones for names that they do not know; this product
asks for the registers only. Where they are missing, the library's product is used. The two round differently.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.intrinsics import ROWS, VECTOR_BYTES, VECTORS, has_wide_registers, register_tile
from scorecube.kernels.jit import compiled


def in_panels(columns: Any, kind: Any) -> Any:
    """Return a matrix (inner, column) as what `multiply` takes: panels as wide as a register tile, the last filled up with zeros.

    Returns
    -------
    panels
        `kind` (panel, inner, column); a single one of all columns where the library multiplies.
    """
    if not has_wide_registers():
        return columns[np.newaxis].astype(kind)
    inner, n = columns.shape
    width = VECTORS * VECTOR_BYTES // np.dtype(kind).itemsize
    panels = np.empty((-(-n // width), inner, width), kind)
    _fill(columns, panels)
    return panels


def room_for_product(n_rows: int, panels: Any) -> Any:
    """Return an array for a product of some rows: a multiple of `ROWS` of them, with the columns of all panels."""
    return np.empty((-(-n_rows // ROWS) * ROWS, panels.shape[0] * panels.shape[2]), panels.dtype)


def multiply(rows: Any, panels: Any, out: Any) -> None:
    """Write the product of rows and columns.

    Parameters
    ----------
    rows
        (row, inner), without gaps, of the element type of `panels`; as many as rows of `out`.
    panels
        As from `in_panels`.
    out
        As from `room_for_product`; columns beyond those of the matrix are zero.
    """
    if has_wide_registers():
        multiply_wide(rows, panels, out)
    else:
        np.matmul(rows, panels[0], out=out)


def product(rows: Any, panels: Any) -> Any:
    """Return the product of rows (row, inner) and columns; it may have rows and columns to spare."""
    out = room_for_product(len(rows), panels)
    filled = np.zeros((len(out), rows.shape[1]), panels.dtype)
    filled[: len(rows)] = rows
    multiply(filled, panels, out)
    return out


@compiled
def _fill(columns: Any, panels: Any) -> None:
    kind, width = panels.dtype.type, panels.shape[2]
    for panel in range(panels.shape[0]):
        start = panel * width
        here = min(width, columns.shape[1] - start)
        for row in range(panels.shape[1]):
            for k in range(here):
                panels[panel, row, k] = kind(columns[row, start + k])
            for k in range(here, width):
                panels[panel, row, k] = kind(0)


@compiled
def multiply_wide(rows: Any, panels: Any, out: Any) -> None:
    """As `multiply`, for compiled code; only where `has_wide_registers`."""
    kind, inner, width = out.dtype.type, rows.shape[1], panels.shape[2]
    for panel in range(panels.shape[0]):
        for row in range(0, out.shape[0], ROWS):
            register_tile(
                rows[row:].ctypes.data, panels[panel].ctypes.data, out[row:, panel * width :].ctypes.data,
                (inner, out.shape[1], kind(0)),
            )  # fmt: skip

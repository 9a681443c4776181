"""Pairs of runs tile by tile, in one call: between two calls a thread needs Python's lock, which others may hold for long."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.intrinsics import ROWS, has_wide_registers
from scorecube.kernels.jit import compiled
from scorecube.kernels.linalg.panel_product import multiply, multiply_wide, room_for_product
from scorecube.kernels.pairs.pairs import squared_differences
from scorecube.kernels.pairs.tail_counts import tail_studentised


def tail_tiles(
    tile: int, centred: Any, weights: Any, sums: Any, counts: Any, first: Any, second: Any, observed: Any, exact: Any, ties: Any,
    guard: float, snap: float, sided: int, ranks: Any, guesses: Any, reached: Any, totals: Any, degenerate: Any,
) -> None:  # fmt: skip
    """Count, for all pairs, the trials that reach the observed r: one matrix product gives the sums of squares of a tile's pairs.

    Parameters
    ----------
    tile
        Pairs that are worked on together.
    weights
        `counts` as panels, see `kernels.product`; their precision is that of the sums of squares.
    centred, sums, counts, first, second, observed, exact, ties, guard, snap, sided, ranks, guesses, reached, totals, degenerate
        As of `tail_studentised`.
    """
    products = room_for_product(tile, weights)
    squares = np.zeros((len(products), centred.shape[1]), products.dtype)
    given = (
        centred, weights, sums, counts, first, second, observed, exact, ties, guard, snap, sided, ranks, guesses, reached, totals,
        degenerate, squares, products,
    )  # fmt: skip
    if has_wide_registers():
        _tail_tiles(tile, *given)
        return
    for low in range(0, len(first), tile):  # the library's product cannot be called from compiled code
        part = slice(low, min(low + tile, len(first)))
        squared_differences(centred, first[part], second[part], snap, squares)
        rows = -(-(part.stop - low) // ROWS) * ROWS
        multiply(squares[:rows], weights, products[:rows])
        tail_studentised(
            products, sums, centred, counts, first[part], second[part], observed[part], exact[part], ties[part], guard, snap, sided,
            ranks, guesses, reached[part], totals[:, part], degenerate,
        )  # fmt: skip


@compiled
def _tail_tiles(
    tile: int, centred: Any, weights: Any, sums: Any, counts: Any, first: Any, second: Any, observed: Any, exact: Any, ties: Any,
    guard: float, snap: float, sided: int, ranks: Any, guesses: Any, reached: Any, totals: Any, degenerate: Any, squares: Any,
    products: Any,
) -> None:  # fmt: skip
    for low in range(0, len(first), tile):
        high = min(low + tile, len(first))
        a, b = first[low:high], second[low:high]
        squared_differences(centred, a, b, snap, squares)
        rows = (high - low + ROWS - 1) // ROWS * ROWS
        multiply_wide(squares[:rows], weights, products[:rows])
        tail_studentised(
            products, sums, centred, counts, a, b, observed[low:high], exact[low:high], ties[low:high], guard, snap, sided, ranks,
            guesses, reached[low:high], totals[:, low:high], degenerate,
        )  # fmt: skip

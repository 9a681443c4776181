"""Counts of the swap method: how both samples of a trial order each pair of runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.kernels.arrays import Float64Array3, Int32Array2
from scorecube.kernels.jit import compiled

IntArray = NDArray[Any]
CLASSES = 3
"""What becomes of a difference: the same order on both samples, a tie on one, opposite orders."""
COUNTS_AT_ONCE = 2**13
"""Counts of trials that are added to together: they stay in the first-level cache."""
LANES = 256
"""Comparisons of an inner loop."""


@compiled
def count_orders(
    sums: Float64Array3, units_per_bin: float, tolerance: float, counted: Int32Array2
) -> None:
    """Add the comparisons of all pairs of runs in some trials to their counts (Sakai 2005, Fig. 1).

    sums: float64 (run, half, trial): sums of scores over both topic samples, integers.
    units_per_bin: Width of a bin in the unit of these sums.
    tolerance: Largest absolute difference of two sums that is a tie.
    counted: int32 (trial, 3 * bin + 1), added to: by bin of the absolute difference on the first
        sample the pairs with the same order on both, those with a tie on exactly one, and those
        with opposite orders; last the pairs with ties on both, which are counted nowhere else. The
        last bin has no upper limit.
    """
    n_runs, _, n_trials = sums.shape
    width = counted.shape[1]
    n_bins = (width - 1) // CLASSES
    per_unit = 1.0 / units_per_bin
    last = n_bins - 0.5
    none = np.int32(CLASSES * n_bins)
    at_once = min(max(COUNTS_AT_ONCE // width, 16), n_trials)
    for low in range(0, n_trials, at_once):
        n = min(at_once, n_trials - low)
        places = counted[low : low + n].reshape(-1)
        first = sums[:, 0, low : low + n].copy().reshape(-1)
        second = sums[:, 1, low : low + n].copy().reshape(-1)
        # Several runs together, so that inner loops are long where trials are few.
        together = max(1, LANES // n)
        x_first = np.empty(together * n)
        x_second = np.empty(together * n)
        rows, codes = np.empty((2, together * n), np.int32)
        for k in range(together * n):
            rows[k] = k % n * width
        for x in range(n_runs - 1):
            for begin in range(0, min(together, n_runs - 1 - x) * n, n):
                for k in range(n):
                    x_first[begin + k] = first[x * n + k]
                    x_second[begin + k] = second[x * n + k]
            for y in range(x + 1, n_runs, together):
                y_first = first[y * n :]
                y_second = second[y * n :]
                length = min(together, n_runs - y) * n
                # First codes, by vector instructions, then counts.
                for k in range(length):
                    d = x_first[k] - y_first[k]
                    e = x_second[k] - y_second[k]
                    sign_d = np.int32(d > tolerance) - np.int32(d < -tolerance)
                    sign_e = np.int32(e > tolerance) - np.int32(e < -tolerance)
                    place = np.int32(min((abs(d) + tolerance) * per_unit, last)) * abs(sign_d)
                    # 0 for the same order, 1 for a tie on one sample, 2 for opposite orders.
                    code = place + abs(sign_d - sign_e) * np.int32(n_bins)
                    codes[k] = rows[k] + (code if (sign_d | sign_e) != 0 else none)
                for k in range(length):
                    places[np.uint32(codes[k])] += 1


class Orders(NamedTuple):
    """Comparisons by what both samples say: by bin (..., bin), and with ties on both (...)."""

    same: IntArray
    tied: IntArray
    opposite: IntArray
    both_tied: IntArray


def orders(counted: IntArray) -> Orders:
    """Return the parts of the counts of `count_orders`, or of sums of them, (..., 3 * bin + 1)."""
    parts = counted[..., :-1].reshape(*counted.shape[:-1], CLASSES, -1)
    return Orders(parts[..., 0, :], parts[..., 1, :], parts[..., 2, :], counted[..., -1])


def count_and_swaps(counted: IntArray, two_ties_are_swaps: bool) -> tuple[IntArray, IntArray]:
    """Return comparisons and swaps, int64 (..., bin).

    Swaps are all but those that both samples order alike, and by Fig. 1 of Sakai 2005 those that
    are tied on both.
    """
    same, tied, opposite, both_tied = orders(counted)
    swaps = tied + opposite
    count = same + swaps
    count[..., 0] += both_tied
    if two_ties_are_swaps:
        swaps[..., 0] += both_tied
    return count, swaps

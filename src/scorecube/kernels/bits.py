"""Bits of 64-bit words. Compilers recognise both functions and make one machine instruction of each."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.jit import compiled

_ONE, _TWO, _FOUR, _HALF, _TOP = (np.uint64(k) for k in (1, 2, 4, 32, 56))
_LOW = np.uint64(0xFFFFFFFF)
_PAIRS, _FOURS, _EIGHTS, _SUM = (
    np.uint64(k * 0x0101010101010101) for k in (0x55, 0x33, 0x0F, 0x01)
)


@compiled
def count_ones(word: np.uint64) -> np.int64:
    """Count the set bits."""
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    return np.int64((((word + (word >> _FOUR)) & _EIGHTS) * _SUM) >> _TOP)


@compiled
def multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the upper 64 bits of a product of 128 bits."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    crossed = a_high * b_low + ((a_low * b_low) >> _HALF)
    middle = a_low * b_high + (crossed & _LOW)
    return a_high * b_high + (crossed >> _HALF) + (middle >> _HALF)

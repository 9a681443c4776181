"""The upper half of a product of 64-bit words, which compilers make one instruction of."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.jit import compiled

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@compiled
def multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the upper 64 bits of a product of 128 bits."""
    a_low = a & _LOW
    a_high = a >> _HALF
    b_low = b & _LOW
    b_high = b >> _HALF
    crossed = a_high * b_low + ((a_low * b_low) >> _HALF)
    middle = a_low * b_high + (crossed & _LOW)
    return a_high * b_high + (crossed >> _HALF) + (middle >> _HALF)

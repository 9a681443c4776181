"""Bits of words, against Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scorecube.kernels import bits

multiply_high = bits.multiply_high
words = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1])


@given(words, words)
def test_the_upper_half_of_a_product(a: int, b: int) -> None:
    assert multiply_high(np.uint64(a), np.uint64(b)) == a * b >> 64

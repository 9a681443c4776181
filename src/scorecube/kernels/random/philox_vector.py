"""The words of `kernels.streams`, many at a time.

A round of Philox waits for the one before, and machines have no vector instruction for the upper half of a 64-bit product. With the
product put together from 32-bit halves, and rounds outside of counters, compilers use vector registers: 2.5 times faster
for hundreds of words, not worth it for a few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import inlined
from scorecube.kernels.random.philox import MULTIPLIER_0, MULTIPLIER_1, WEYL_0, WEYL_1

LANES = 64
"""Counters that go through a round together; their state fits into the first cache."""
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@inlined
def multiply_high(low: Any, high: Any, word: Any) -> Any:
    """Upper 64 bits of the product of a word and a constant, given as 32-bit halves."""
    word_low, word_high = word & _LOW, word >> _HALF
    crossed = high * word_low
    middle = ((low * word_low) >> _HALF) + ((low * word_high) & _LOW) + crossed
    return high * word_high + ((low * word_high) >> _HALF) + (middle >> _HALF)


@inlined
def fill_many(key: Any, trial: int, words: Any, state: Any) -> None:
    """Write the stream's words at positions 0, 1, ... of one trial into `words`, as `streams.fill_words` does.

    Parameters
    ----------
    key, trial, words
        As in `streams.fill_words`.
    state
        uint64 (4, LANES), overwritten.
    """
    low_0, high_0, low_1, high_1 = (
        MULTIPLIER_0 & _LOW,
        MULTIPLIER_0 >> _HALF,
        MULTIPLIER_1 & _LOW,
        MULTIPLIER_1 >> _HALF,
    )
    n = words.shape[0]
    for block in range(0, (n + 3) // 4, LANES):
        for lane in range(LANES):
            state[0, lane], state[1, lane] = np.uint64(block + lane + 1), np.uint64(trial)
            state[2, lane], state[3, lane] = np.uint64(0), np.uint64(0)
        key_0, key_1 = key[0], key[1]
        for _ in range(10):
            for lane in range(LANES):
                c0, c1, c2, c3 = state[0, lane], state[1, lane], state[2, lane], state[3, lane]
                state[0, lane] = multiply_high(low_1, high_1, c2) ^ c1 ^ key_0
                state[1, lane] = MULTIPLIER_1 * c2
                state[2, lane] = multiply_high(low_0, high_0, c0) ^ c3 ^ key_1
                state[3, lane] = MULTIPLIER_0 * c0
            key_0 += WEYL_0
            key_1 += WEYL_1
        whole = min(LANES, n // 4 - block)
        for lane in range(whole):
            first = 4 * (block + lane)
            words[first], words[first + 1] = state[0, lane], state[1, lane]
            words[first + 2], words[first + 3] = state[2, lane], state[3, lane]
        if whole < LANES:
            for k in range(n % 4):
                words[n - n % 4 + k] = state[k, whole]

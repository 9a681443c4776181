"""Random words as a function of their address (seed, purpose; position, trial).

The generator is Philox4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC 2011), the one in `numpy.random.Philox`; `tests/kernels/random/test_philox.py` compares
word for word. There is no state and no order: the words of a trial are the same wherever and
whenever they are drawn.

The key is (seed, purpose + 2**32 * STREAM_VERSION + 2**40 * part); the counter is (1 + position //
4 + 2**32 * stream, trial, 0, 0).
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Integer, UInt64Array1
from scorecube.kernels.bits import multiply_high
from scorecube.kernels.jit import compiled
from scorecube.names import Purpose

STREAM_VERSION = 1
"""Increased whenever the numbers of any draw routine change; stored with every result."""

MULTIPLIER_0 = np.uint64(0xD2E7470EE14C6C93)
MULTIPLIER_1 = np.uint64(0xCA5A826395121157)
WEYL_0 = np.uint64(0x9E3779B97F4A7C15)
WEYL_1 = np.uint64(0xBB67AE8584CAA73B)
LANES = 32
"""Counters whose words `fill_many` computes together."""
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def stream_key(seed: int, purpose: Purpose, part: int = 0) -> UInt64Array1:
    """Return the two key words of a stream, uint64 (2,).

    seed: Non-negative, below 2**64.
    purpose: Use of the words.
    part: Number of a stream of its own for the same use, such as that of a collection among
        several; below 2**24.
    """
    return np.array([seed, int(purpose) + (STREAM_VERSION << 32) + (part << 40)], dtype=np.uint64)


NONE = np.int64(0)
"""A stream or a place for `fill_words`, which literals and defaults would compile once more."""


@compiled
def fill_words(
    key: UInt64Array1, trial: int, words: UInt64Array1, stream: Integer, before: Integer
) -> None:
    """Write the words of one trial to `words` (position,), but the first `before`, a multiple of 4.

    The number of words and the stream are below 2**32.
    """
    n = words.shape[0]
    for first in range(0, n, 4):
        c0 = (np.uint64(stream) << np.uint64(32)) + np.uint64((before + first) // 4 + 1)
        c1 = np.uint64(trial)
        c2 = np.uint64(0)
        c3 = np.uint64(0)
        key0 = key[0]
        key1 = key[1]
        for _ in range(10):
            high0 = multiply_high(MULTIPLIER_0, c0)
            low0 = MULTIPLIER_0 * c0
            high1 = multiply_high(MULTIPLIER_1, c2)
            low1 = MULTIPLIER_1 * c2
            c0 = high1 ^ c1 ^ key0
            c1 = low1
            c2 = high0 ^ c3 ^ key1
            c3 = low0
            key0 += WEYL_0
            key1 += WEYL_1
        words[first] = c0
        if first + 1 < n:
            words[first + 1] = c1
        if first + 2 < n:
            words[first + 2] = c2
        if first + 3 < n:
            words[first + 3] = c3


@compiled
def fill_many(key: UInt64Array1, trial: int, words: UInt64Array1) -> None:
    """Do what `fill_words` does, twice as fast for hundreds of words.

    Each round depends on the one before, so the loop over counters is inside that over rounds.
    """
    state = np.empty((4, LANES), np.uint64)
    low_0 = MULTIPLIER_0 & _LOW
    high_0 = MULTIPLIER_0 >> _HALF
    low_1 = MULTIPLIER_1 & _LOW
    high_1 = MULTIPLIER_1 >> _HALF
    done = words.shape[0] - words.shape[0] % (4 * LANES)
    for first in range(0, done, 4 * LANES):
        for lane in range(LANES):
            state[0, lane], state[1, lane] = np.uint64(first // 4 + lane + 1), np.uint64(trial)
            state[2, lane], state[3, lane] = np.uint64(0), np.uint64(0)
        key_0 = key[0]
        key_1 = key[1]
        for _ in range(10):
            for lane in range(LANES):
                c0 = state[0, lane]
                c1 = state[1, lane]
                c2 = state[2, lane]
                c3 = state[3, lane]
                state[0, lane] = _upper_half(low_1, high_1, c2) ^ c1 ^ key_0
                state[1, lane] = MULTIPLIER_1 * c2
                state[2, lane] = _upper_half(low_0, high_0, c0) ^ c3 ^ key_1
                state[3, lane] = MULTIPLIER_0 * c0
            key_0 += WEYL_0
            key_1 += WEYL_1
        for lane in range(LANES):
            for k in range(4):
                words[first + 4 * lane + k] = state[k, lane]
    fill_words(key, trial, words[done:], NONE, done)


@compiled
def _upper_half(low: np.uint64, high: np.uint64, word: np.uint64) -> np.uint64:
    """Return the upper 64 bits of the product of a word and a factor, given by its 32-bit halves.

    Compilers make one instruction of `multiply_high`, of which there is none for vectors.
    """
    word_low = word & _LOW
    word_high = word >> _HALF
    crossed = low * word_high
    middle = ((low * word_low) >> _HALF) + (crossed & _LOW) + high * word_low
    return high * word_high + (crossed >> _HALF) + (middle >> _HALF)


@compiled
def below(word: np.uint64, bound: Integer) -> np.int64:
    """Map a random word to 0 .. bound-1 by multiply-shift.

    The bias is at most bound / 2**64.
    """
    return np.int64(multiply_high(word, np.uint64(bound)))

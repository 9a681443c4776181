"""Random words: NumPy's Philox word for word, the published vectors, and draws that are uniform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.kernels.random import philox as helpers
from scorecube.kernels.random.philox import STREAM_VERSION, stream_key
from scorecube.names import Purpose

below, fill_words = helpers.below, helpers.fill_words
LARGEST = 2**64 - 1
seeds = st.integers(0, LARGEST) | st.integers(0, 100)
purposes = st.sampled_from(Purpose)
words_64 = st.integers(0, LARGEST) | st.sampled_from(
    [0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, LARGEST]
)


def words(seed: int, trial: int, length: int, purpose: Purpose = Purpose.SWAP_TOPICS) -> list[int]:
    """Return the first words at an address."""
    found = np.full(length, 12345, np.uint64)
    fill_words(stream_key(seed, purpose), trial, found, 0, 0)
    return [int(word) for word in found]


def numpy_words(
    seed: int, trial: int, length: int, purpose: Purpose = Purpose.SWAP_TOPICS
) -> list[int]:
    """Return what NumPy's generator says they are."""
    key = np.array([seed, int(purpose) + 2**32 * STREAM_VERSION], np.uint64)
    return [
        int(word) for word in np.random.Philox(key=key, counter=[0, trial, 0, 0]).random_raw(length)
    ]


@settings(deadline=None)
@given(
    seed=seeds,
    trial=st.integers(0, 2**63 - 1) | st.integers(0, 10),
    length=st.integers(0, 41),
    purpose=purposes,
)
def test_equal_numpy_word_for_word(seed: int, trial: int, length: int, purpose: Purpose) -> None:
    assert words(seed, trial, length, purpose) == numpy_words(seed, trial, length, purpose)


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 725, 1024])
def test_many_words_are_the_same_words(length: int) -> None:
    found = np.full(length, 12345, np.uint64)
    helpers.fill_many(stream_key(3, Purpose.SWAP_TOPICS), 10**9, found)
    assert found.tolist() == numpy_words(3, 10**9, length)


@pytest.mark.parametrize("stream", [0, 1, 2**32 - 1])
def test_stream_is_the_upper_half_of_the_counter(stream: int) -> None:
    key = stream_key(5, Purpose.SWAP_TOPICS)
    found = np.empty(7, np.uint64)
    fill_words(key, 3, found, stream, 0)
    expected = np.random.Philox(key=key, counter=[stream << 32, 3, 0, 0]).random_raw(7)
    np.testing.assert_array_equal(found, expected)


@settings(deadline=None, max_examples=300)
@given(word=words_64, bound=st.integers(1, 2**31) | st.integers(1, 300))
def test_below_is_multiply_shift(word: int, bound: int) -> None:
    found = int(below(np.uint64(word), bound))
    assert found == (word * bound) >> 64
    assert 0 <= found < bound

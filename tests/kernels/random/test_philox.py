"""Random words: NumPy's Philox word for word, the published vectors, and draws that are uniform."""

from __future__ import annotations

from typing import Any

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
    fill_words(stream_key(seed, purpose), trial, found)
    return [int(word) for word in found]


def numpy_words(
    seed: int, trial: int, length: int, purpose: Purpose = Purpose.SWAP_TOPICS
) -> list[int]:
    """Return what NumPy's generator says they are."""
    key = np.array([seed, int(purpose) + 2**32 * STREAM_VERSION], np.uint64)
    return [
        int(word) for word in np.random.Philox(key=key, counter=[0, trial, 0, 0]).random_raw(length)
    ]


def assert_uniform(counts: np.ndarray[Any, np.dtype[np.int64]], spread: float = 1.0) -> None:
    """Refuse counts that differ too much, or too little, to be draws from equally likely values.

    `spread` is the variance of a count over that of independent draws. The cube root of chi-square over its degrees of
    freedom is nearly normal (Wilson and Hilferty 1931); 4.5 standard deviations are passed once in 150,000 tests.
    """
    expected, df = counts.sum() / counts.size, counts.size - 1
    chi_square = float(((counts - expected) ** 2 / expected).sum()) / spread
    error = 2 / (9 * df)
    z = ((chi_square / df) ** (1 / 3) - (1 - error)) / error**0.5
    assert abs(z) < 4.5, (z, counts)


@settings(deadline=None)
@given(
    seed=seeds,
    trial=st.integers(0, 2**63 - 1) | st.integers(0, 10),
    length=st.integers(0, 41),
    purpose=purposes,
)
def test_equal_numpy_word_for_word(seed: int, trial: int, length: int, purpose: Purpose) -> None:
    assert words(seed, trial, length, purpose) == numpy_words(seed, trial, length, purpose)


def test_long_trial_equals_numpy() -> None:
    assert words(LARGEST, 10**9, 100_003) == numpy_words(LARGEST, 10**9, 100_003)


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 725, 1024])
def test_many_words_are_the_same_words(length: int) -> None:
    found = np.full(length, 12345, np.uint64)
    helpers.fill_many(stream_key(3, Purpose.SWAP_TOPICS), 10**9, found)
    assert found.tolist() == numpy_words(3, 10**9, length)


def test_golden_words() -> None:
    assert words(42, 7, 6) == [
        0x197A7450ADC08111,
        0x4EFB7E66B14094ED,
        0x9D42B32E01851F62,
        0xBAE72B222F74BB42,
        0x18EC4D013B484407,
        0x25178E9A4B9D9AAA,
    ]


def test_numpy_has_the_vector_of_the_generators_authors() -> None:
    # NumPy adds 1 to the counter before it computes words: these are the words at counter 0.
    generator = np.random.Philox(key=0, counter=[LARGEST] * 4)
    assert [int(word) for word in generator.random_raw(4)] == [
        0x16554D9ECA36314C,
        0xDB20FE9D672D0FDC,
        0xD7E772CEE186176B,
        0x7E68B68AEC7BA23B,
    ]


@pytest.mark.parametrize("stream", [0, 1, 2**32 - 1])
def test_stream_is_the_upper_half_of_the_counter(stream: int) -> None:
    key = stream_key(5, Purpose.SWAP_TOPICS)
    found = np.empty(7, np.uint64)
    fill_words(key, 3, found, stream)
    expected = np.random.Philox(key=key, counter=[stream << 32, 3, 0, 0]).random_raw(7)
    np.testing.assert_array_equal(found, expected)


def test_key_holds_seed_purpose_and_stream_version() -> None:
    assert STREAM_VERSION == 1
    for seed in (0, 1, 2**63, LARGEST):
        key = stream_key(seed, Purpose.SIMULATION)
        assert key.dtype == np.uint64
        assert key.tolist() == [seed, 2**32 + 2]
    assert {purpose.name: int(purpose) for purpose in Purpose}.items() >= {
        "SWAP_TOPICS": 1,
        "SIMULATION": 2,
    }.items()


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_that_does_not_fit_is_refused(seed: int) -> None:
    with pytest.raises(OverflowError):
        stream_key(seed, Purpose.SWAP_TOPICS)


def test_addresses_do_not_share_words() -> None:
    blocks = [
        words(seed, trial, 100, purpose)
        for seed in (0, 1, 2, 2**32, 2**63, LARGEST)
        for trial in (0, 1, 2, 2**32, 10**12)
        for purpose in Purpose
    ]
    assert len({word for block in blocks for word in block}) == 100 * len(blocks)


@settings(deadline=None)
@given(
    seed=seeds, trial=st.integers(0, 10**6), length=st.integers(0, 30), longer=st.integers(1, 30)
)
def test_words_do_not_depend_on_how_many_are_asked_for(
    seed: int, trial: int, length: int, longer: int
) -> None:
    assert words(seed, trial, length + longer)[:length] == words(seed, trial, length)


@settings(deadline=None, max_examples=300)
@given(word=words_64, bound=st.integers(1, 2**31) | st.integers(1, 300))
def test_below_is_multiply_shift(word: int, bound: int) -> None:
    found = int(below(np.uint64(word), bound))
    assert found == (word * bound) >> 64
    assert 0 <= found < bound


@pytest.mark.parametrize("bound", [1, 2, 3, 42, 50, 195, 1000])
def test_below_reaches_both_ends(bound: int) -> None:
    assert below(np.uint64(0), bound) == 0
    assert below(np.uint64(LARGEST), bound) == bound - 1


@pytest.mark.parametrize("bound", [2, 7, 42, 195])
def test_draws_are_uniform(bound: int) -> None:
    drawn = np.array([below(np.uint64(word), bound) for word in words(2024, bound, 300 * bound)])
    assert_uniform(np.bincount(drawn, minlength=bound))


def test_uneven_draws_are_noticed() -> None:
    random = np.random.default_rng(1)
    assert_uniform(random.multinomial(12_600, np.ones(42) / 42))
    for uneven in (np.repeat([1, 1.5], 21) / 52.5, np.array([2, *[1] * 41]) / 43):
        with pytest.raises(AssertionError):
            assert_uniform(random.multinomial(12_600, uneven))
    with pytest.raises(AssertionError):
        assert_uniform(np.full(42, 300))


def test_every_bit_is_set_half_of_the_time() -> None:
    trials = 4000
    found = np.array([words(3, trial, 4) for trial in range(trials)], np.uint64)
    bits = (found[..., np.newaxis] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    shares = bits.mean(axis=0)
    assert (np.abs(shares - 0.5) < 4.5 * 0.5 / trials**0.5).all()


def test_neighbouring_trials_and_seeds_are_not_correlated() -> None:
    n = 4000
    first = np.array([words(seed, 0, 1)[0] for seed in range(n)]) / 2**64
    second = np.array([words(0, trial, 1)[0] for trial in range(n)]) / 2**64
    for sample in (first, second):
        assert abs(np.corrcoef(sample[:-1], sample[1:])[0, 1]) < 4 / n**0.5
    assert abs(np.corrcoef(first[1:], second[1:])[0, 1]) < 4 / n**0.5

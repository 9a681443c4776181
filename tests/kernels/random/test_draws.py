"""Topic samples: what they contain, how they nest, and that they are uniform."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.kernels.random import draws
from scorecube.kernels.random.draws import (
    Sampling,
    multiplicities,
    overlap,
    topic_counts,
    topic_samples,
)
from scorecube.kernels.random.philox import stream_key
from scorecube.names import Purpose

Samples = np.ndarray[Any, np.dtype[np.int32]]
EVERY_SAMPLING = pytest.mark.parametrize("sampling", Sampling)
examples = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**64 - 1)


def draw(
    sampling: Sampling, n_topics: int, size: int, start: int, stop: int, seed: int = 1
) -> Samples:
    """Draw the samples of some trials."""
    samples: Samples = topic_samples(
        stream_key(seed, Purpose.SWAP_TOPICS), int(sampling), n_topics, size, start, stop
    )
    return samples


@st.composite
def designs(draw: st.DrawFn, sampling: Sampling) -> tuple[int, int]:
    """Draw a number of topics and a sample size that the sampling allows."""
    size = draw(st.integers(1, 12))
    smallest = {Sampling.DISJOINT: 2 * size, Sampling.REPLACEMENT: 1, Sampling.INDEPENDENT: size}[
        sampling
    ]
    return smallest + draw(st.integers(0, 6)), size


def plain_samples(
    sampling: Sampling,
    n_topics: int,
    size: int,
    trial: int,
    seed: int,
    purpose: int = 1,
    stream: int = 0,
) -> list[list[int]]:
    """Draw both samples of one trial with Python's integers: word 2 * draw + half serves a draw of a half."""
    key = np.array([seed, 2**32 + purpose], np.uint64)
    words = np.random.Philox(key=key, counter=[stream << 32, trial, 0, 0]).random_raw(2 * size)
    shared = list(range(n_topics))
    pools = (
        [shared, shared]
        if sampling is Sampling.DISJOINT
        else [list(range(n_topics)), list(range(n_topics))]
    )
    samples: list[list[int]] = [[], []]
    for k, word in enumerate(int(word) for word in words):
        half, done = k % 2, k if sampling is Sampling.DISJOINT else k // 2
        pool = pools[half]
        if sampling is Sampling.REPLACEMENT:
            samples[half].append(word * n_topics >> 64)
            continue
        other = done + (word * (n_topics - done) >> 64)
        pool[done], pool[other] = pool[other], pool[done]
        samples[half].append(pool[done])
    return samples


@EVERY_SAMPLING
@examples
@given(data=st.data(), seed=seeds, trial=st.integers(0, 10**12))
def test_equal_plain_python(sampling: Sampling, data: st.DataObject, seed: int, trial: int) -> None:
    n_topics, size = data.draw(designs(sampling))
    trials = range(trial, trial + 3)
    expected = [plain_samples(sampling, n_topics, size, each, seed) for each in trials]
    assert draw(sampling, n_topics, size, trial, trial + 3, seed).tolist() == expected


def expected_overlap(sampling: Sampling, n: int, c: int) -> tuple[float, float, float]:
    """Expected distinct topics of a sample, its variance, and expected common topics (Sakai 2005, Table 5)."""
    if sampling is Sampling.REPLACEMENT:
        absent, both_absent = (1 - 1 / n) ** c, (1 - 2 / n) ** c
        variance = n * absent * (1 - absent) + n * (n - 1) * (both_absent - absent**2)
        return n * (1 - absent), variance, n * (1 - absent) ** 2
    return c, 0.0, 0.0 if sampling is Sampling.DISJOINT else c * c / n


@pytest.mark.parametrize(
    ("sampling", "n_topics", "size", "unique", "common", "error"),
    [
        (Sampling.REPLACEMENT, 42, 20, 16.062, 6.142, 0.054),
        (Sampling.INDEPENDENT, 42, 20, 20, 9.524, 0.052),
        (Sampling.DISJOINT, 42, 20, 20, 0, 0),
        (Sampling.REPLACEMENT, 195, 97, 76.575, 30.070, 0.120),
        (Sampling.INDEPENDENT, 195, 97, 97, 48.251, 0.111),
        (Sampling.DISJOINT, 195, 97, 97, 0, 0),
    ],
)
def test_overlap_of_sakai_2005_table_5(
    sampling: Sampling, n_topics: int, size: int, unique: float, common: float, error: float
) -> None:
    """`error` is the standard error of the common topics over 1,000 trials."""
    expected_unique, variance, expected_common = expected_overlap(sampling, n_topics, size)
    assert (round(expected_unique, 3), round(expected_common, 3)) == (unique, common)
    for trials in (1000, 9000):
        counts = multiplicities(draw(sampling, n_topics, size, 0, trials, seed=5), n_topics)
        first, second, shared = overlap(counts) / trials
        assert abs(shared - expected_common) <= 4 * error * (1000 / trials) ** 0.5
        for found in (first, second):
            assert abs(found - expected_unique) <= 4 * (variance / trials) ** 0.5 + 1e-12


@EVERY_SAMPLING
@examples
@given(data=st.data(), seed=seeds, words=st.sampled_from([4, 8, 12, 2**12]))
def test_counts_are_those_of_the_samples(
    sampling: Sampling, data: st.DataObject, seed: int, words: int
) -> None:
    n_topics, size = data.draw(designs(sampling))
    start = data.draw(st.integers(0, 9))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(draws, "WORDS_AT_ONCE", words)
        counts = topic_counts(
            stream_key(seed, Purpose.SWAP_TOPICS), sampling, n_topics, size, start, start + 3
        )

    expected = multiplicities(draw(sampling, n_topics, size, start, start + 3, seed), n_topics)
    np.testing.assert_array_equal(counts, expected)


@EVERY_SAMPLING
@examples
@given(data=st.data(), seed=seeds)
def test_multiplicities_and_overlap_are_plain_counts(
    sampling: Sampling, data: st.DataObject, seed: int
) -> None:
    n_topics, size = data.draw(designs(sampling))
    samples = draw(sampling, n_topics, size, 0, 7, seed)

    counts = multiplicities(samples, n_topics)

    assert counts.shape == (2, 7, n_topics)
    assert counts.dtype == np.float64
    firsts = seconds = common = 0
    for trial, halves in enumerate(samples.tolist()):
        for half, topics in enumerate(halves):
            expected = Counter(topics)
            assert counts[half, trial].tolist() == [expected[topic] for topic in range(n_topics)]
        first, second = map(set, halves)
        firsts, seconds, common = (
            firsts + len(first),
            seconds + len(second),
            common + len(first & second),
        )
    assert overlap(counts).tolist() == [firsts, seconds, common]

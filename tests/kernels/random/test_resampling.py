"""Bootstrap samples, signs and permutations: their words, golden values, and that they are uniform.

Every uniformity test refuses chi-square beyond 4.5 standard deviations, that is at alpha = 7e-6, with fixed seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.kernels.random.draws import bootstrap_samples, sign_columns
from scorecube.kernels.random.philox import STREAM_VERSION, stream_key
from scorecube.kernels.tukey import null_ranges, permutations
from scorecube.names import Purpose

Integers = np.ndarray[Any, Any]
examples = settings(max_examples=60)
seeds = st.integers(0, 2**64 - 1)
trials = st.integers(0, 10**12)


def numpy_words(seed: int, purpose: int, trial: int, length: int) -> list[int]:
    """Return the first words of a trial as NumPy's generator makes them; see `philox`."""
    key = np.array([seed, purpose + 2**32 * STREAM_VERSION], np.uint64)
    return [
        int(word) for word in np.random.Philox(key=key, counter=[0, trial, 0, 0]).random_raw(length)
    ]


def samples_of(n_topics: int, start: int, stop: int, seed: int = 1) -> Integers:
    drawn = bootstrap_samples(stream_key(seed, Purpose.BOOTSTRAP_TOPICS), n_topics, start, stop)
    return drawn[:, 0]


def signs_of(n_topics: int, start: int, stop: int, seed: int = 1) -> Integers:
    """Return (trial, topic)."""
    return sign_columns(stream_key(seed, Purpose.TOPIC_SIGNS), n_topics, start, stop).T


def permutations_of(n_topics: int, n_runs: int, start: int, stop: int, seed: int = 1) -> Integers:
    return permutations(stream_key(seed, Purpose.RUN_PERMUTATIONS), n_topics, n_runs, start, stop)


def plain_permutations(seed: int, trial: int, n_topics: int, n_runs: int) -> list[list[int]]:
    """Fisher and Yates with Python's integers: half word `topic (runs - 1) + place` serves a place of a topic, low half first."""
    n_places = n_topics * (n_runs - 1)
    words = numpy_words(seed, 5, trial, (n_places + 1) // 2)
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    rows = []
    for topic in range(n_topics):
        order = list(range(n_runs))
        for place in range(n_runs - 1):
            other = place + (halves[topic * (n_runs - 1) + place] * (n_runs - place) >> 32)
            order[place], order[other] = order[other], order[place]
        rows.append(order)
    return rows


@examples
@given(n_topics=st.integers(1, 70), seed=seeds, trial=trials)
def test_samples_equal_plain_python(n_topics: int, seed: int, trial: int) -> None:
    expected = [
        [word * n_topics >> 64 for word in numpy_words(seed, 3, each, n_topics)]
        for each in range(trial, trial + 3)
    ]
    assert samples_of(n_topics, trial, trial + 3, seed).tolist() == expected


@examples
@given(
    n_topics=st.integers(1, 70) | st.sampled_from([63, 64, 65, 127, 128, 129, 249]),
    seed=seeds,
    trial=trials,
)
def test_signs_equal_plain_python(n_topics: int, seed: int, trial: int) -> None:
    for each, found in enumerate(signs_of(n_topics, trial, trial + 3, seed), trial):
        words = numpy_words(seed, 4, each, (n_topics + 63) // 64)
        expected = [1 - 2 * (words[topic // 64] >> topic % 64 & 1) for topic in range(n_topics)]
        assert found.tolist() == expected


@examples
@given(n_topics=st.integers(1, 12), n_runs=st.integers(2, 15), seed=seeds, trial=trials)
def test_permutations_equal_plain_python(n_topics: int, n_runs: int, seed: int, trial: int) -> None:
    found = permutations_of(n_topics, n_runs, trial, trial + 3, seed).tolist()
    places = range(trial, trial + 3)
    assert found == [plain_permutations(seed, each, n_topics, n_runs) for each in places]


@examples
@given(n_topics=st.integers(1, 8), n_runs=st.integers(2, 9), n_cells=st.integers(1, 3), seed=seeds)
def test_ranges_are_those_of_the_permutations_drawn(
    n_topics: int, n_runs: int, n_cells: int, seed: int
) -> None:
    key = stream_key(seed, Purpose.RUN_PERMUTATIONS)
    scores = (
        np.random.default_rng(seed).integers(-50, 50, (n_topics, n_cells, n_runs)).astype(float)
    )
    drawn = null_ranges(scores, key, 4, 10).T
    expected = []
    for trial in range(4, 10):
        orders = plain_permutations(seed, trial, n_topics, n_runs)
        sums = [
            [
                sum(scores[topic, cell, orders[topic][run]] for topic in range(n_topics))
                for run in range(n_runs)
            ]
            for cell in range(n_cells)
        ]
        expected.append([max(row) - min(row) for row in sums])
    assert drawn.tolist() == expected

"""Differences of two simulated systems equal plain Python that draws the same points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scorecube.kernels.experiments import pair_copulas
from scorecube.kernels.experiments.differences import draw_differences, guides_of
from scorecube.kernels.experiments.pair_copulas import WORDS, Family
from scorecube.kernels.random.philox import fill_words, stream_key
from scorecube.names import Purpose
from tests.kernels.entry import entry

CUMULATIVE = np.array([[0.1, 0.3, 0.7, 1.0], [0.4, 0.5, 0.9, 1.0]])
SCORES = np.array([0, 2000, 5000, 9000], np.int32)
CHOICES = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 0]], np.int32)
N_TOPICS = 7
point, fill = entry(pair_copulas.point), entry(fill_words)


def plain(key: Any, trial: int, copula: int, a: float, b: float, exponents: Any) -> list[int]:
    """Return the differences of one trial."""
    words = np.empty(1 + WORDS * N_TOPICS, np.uint64)
    fill(key, trial, words, 0, 0)
    choice = int(words[0]) * len(CHOICES) >> 64
    first, second, like = CHOICES[choice].tolist()
    raised, lowered = exponents[choice]
    found = []
    for topic in range(N_TOPICS):
        own = words[1 + WORDS * topic :][:WORDS]
        uniforms = np.array([((int(word) >> 11) + 0.5) / 2**53 for word in own])
        u, v = point(copula, a, b, uniforms)
        if first > second:  # copulas are those of the first system and the second
            u, v = v, u
        v = v**raised if raised != 1 else 1 - (1 - v) ** lowered
        places = [
            np.searchsorted(CUMULATIVE[k], x, side="right") for k, x in ((first, u), (like, v))
        ]
        found.append(int(SCORES[places[1]] - SCORES[places[0]]))
    return found


@pytest.mark.parametrize("family", [Family.GAUSSIAN, Family.CLAYTON, Family.TAWN_FIRST])
@pytest.mark.parametrize("exponents", [(1.0, 1.0), (0.8, 1.0), (1.0, 0.7)])
def test_differences_equal_plain_python(family: Family, exponents: tuple[float, float]) -> None:
    key, a, b = stream_key(4, Purpose.EXPERIMENTS), 0.5 if family is Family.GAUSSIAN else 2.5, 0.5
    of_choices = np.array([(1.0, 1.0), exponents, exponents])
    copulas, parameters = np.full((2, 2), int(family), np.int32), np.full((2, 2, 2), (a, b))
    # The copula of a later system with an earlier one is not read.
    copulas[1, 0], parameters[1, 0] = -1, np.nan
    found = np.empty((60, N_TOPICS), np.int32)
    margins = (CUMULATIVE, guides_of(CUMULATIVE), SCORES)
    draw_differences(key, 5, CHOICES, of_choices, margins, (copulas, parameters), found)
    expected = [plain(key, trial, int(family), a, b, of_choices) for trial in range(5, 65)]
    assert found.tolist() == expected
    assert len(set(found.ravel().tolist())) > 5

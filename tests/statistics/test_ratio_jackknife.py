"""Ratios without each topic and team: deletion formulas against exact fractions, and their time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from scorecube.statistics import variance_components
from scorecube.statistics.variance_components import jackknife, ratios_without
from tests.oracles.reliability import exact_ratios

TEAMS = np.array([1, 0, 2, 1, 3, 0, 2, 0, 3])


def simulated(seed: int, p: int = len(TEAMS), n: int = 7) -> Any:
    random = np.random.default_rng(seed)
    return random.normal(size=(p, 1)) + random.normal(size=(1, n)) + random.normal(size=(p, n))


def exact(scores: Any, teams: Any) -> tuple[Any, Any]:
    """Return the ratios of the tables without each topic, and without each team."""
    rows = scores.tolist()
    topics = [
        exact_ratios([[x for k, x in enumerate(row) if k != topic] for row in rows])
        for topic in range(scores.shape[1])
    ]
    without = [exact_ratios(scores[teams != team].tolist()) for team in np.unique(teams)]
    return np.array(topics, np.float64).T, np.array(without, np.float64).T


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("offset", "tolerance"), [(0.0, 1e-12), (1e6, 1e-12)])
def test_ratios_without_a_part_are_exact(seed: int, offset: float, tolerance: float) -> None:
    scores = offset + simulated(seed)
    for found, expected in zip(ratios_without(scores, TEAMS), exact(scores, TEAMS), strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", [1e6, 1e9])
@pytest.mark.parametrize("where", [(slice(None), 3), (TEAMS == 1, slice(None)), (4, 2)])
def test_a_part_that_is_nearly_all_of_the_sums_takes_no_digits_with_it(
    size: float, where: Any
) -> None:
    """Without this topic or team, less than a millionth of a sum of squares is left."""
    scores = simulated(5)
    scores[where] *= size
    for found, expected in zip(ratios_without(scores, TEAMS), exact(scores, TEAMS), strict=True):
        # Scores of this size are rounded when they are centred.
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_both_ways_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are the same if every table is made again."""
    scores = simulated(6, 30, 40)
    teams = np.arange(30) % 8
    formulas = ratios_without(scores, teams)
    monkeypatch.setattr(variance_components, "LEAST_LEFT", np.inf)
    for found, expected in zip(formulas, ratios_without(scores, teams), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_one_pass_over_the_table_is_enough() -> None:
    """4,100 tables of 200,000 numbers took 10 s."""
    scores = simulated(8, 100, 2000)
    scores = np.tile(scores, (1, 2))
    start = time.process_time()
    jackknife(scores, np.arange(100))
    assert time.process_time() - start < 1

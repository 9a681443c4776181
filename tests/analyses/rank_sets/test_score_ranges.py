"""Intervals of means of scores of any size, against exact fractions of the same samples."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scorecube.analyses import Leaderboard
from scorecube.workflow.api import analyse, cube_from_scores

TRIALS, ALPHA = 39, 0.1


def limits(scores: list[float], samples: list[list[int]]) -> tuple[float, float]:
    """Return the bootstrap-t limits of a mean, and the size of the mean's t interval."""
    exact = [Fraction(score) for score in scores]
    n, mean = len(exact), sum(exact) / len(exact)
    error = math.sqrt(sum((x - mean) ** 2 for x in exact) / (n - 1) / n)
    ratios = []
    for sample in samples:
        drawn = [exact[topic] for topic in sample]
        centre = sum(drawn) / n
        spread = sum((x - centre) ** 2 for x in drawn) / (n - 1) / n
        ratios.append(float(centre - mean) / math.sqrt(spread))
    ratios.sort()
    below = math.floor(ALPHA / 2 * (TRIALS + 1))
    return float(mean) - ratios[TRIALS - below] * error, float(mean) - ratios[below - 1] * error


@pytest.mark.parametrize("kind", ["usual", "one huge topic", "huge topics", "tiny", "large"])
def test_intervals_of_means_are_those_of_exact_scores(kind: str) -> None:
    chance = np.random.default_rng(3)
    scores = chance.random(60) + chance.normal(0.0, 0.1, (4, 60))
    scores = {
        "usual": scores,
        "one huge topic": scores + 1e10 * (np.arange(60) == 7),
        "huge topics": scores + 10.0 ** chance.uniform(0.0, 11.0, 60),
        "tiny": scores * 1e-11,
        "large": scores + 1e10,
    }[kind]
    cube = cube_from_scores(
        {"M": pd.DataFrame(scores, index=list("abcd"), columns=range(100, 160))}
    )
    analysis = Leaderboard(alpha=ALPHA)
    result = analyse(cube, analysis, trials=TRIALS, seed=1, workers=1).squeeze()
    drawn = analysis.samples(cube, 1, TRIALS)["topic_sample"].values[:, 0].astype(int) - 100
    for run, row in enumerate(scores.tolist()):
        low, high = limits(row, drawn.tolist())
        found: Any = result.isel(run=run)
        centre = float(found["mean"])
        assert float(found["mean_low"]) - centre == pytest.approx(low - centre, rel=1e-3)
        assert float(found["mean_high"]) - centre == pytest.approx(high - centre, rel=1e-3)
        interval = stats.t.interval(1 - ALPHA, 59, centre, stats.sem(row))
        assert [float(found["t_low"]), float(found["t_high"])] == pytest.approx(interval)

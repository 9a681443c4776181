"""Unpaired bootstrap tests of geometric means and areas, in plain Python (Sakai 2007, 4.3)."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube

TRIALS, CLOSE = 200, 1e-6
Row = list[float]


def geometric_mean(row: Row) -> float:
    return math.exp(fmean(math.log(max(score, 1e-5)) for score in row))


def area(row: Row) -> float:
    """Return the mean over X = 1 .. n / 4 of the mean of the X worst scores (Voorhees 2005)."""
    worst = sorted(row)[: max(1, len(row) // 4)]
    return fmean(fmean(worst[:x]) for x in range(1, len(worst) + 1))


def moved(kind: str, x: Row, y: Row, a: Row, b: Row) -> float:
    """Return the difference of samples a and b of two runs, moved to a common summary."""
    if kind == "area":
        return abs((area(a) - area(x)) - (area(b) - area(y)))
    middle = math.sqrt(geometric_mean(x) * geometric_mean(y))
    ratios = [geometric_mean(s) / geometric_mean(of) for s, of in ((a, x), (b, y))]
    return abs(ratios[0] - ratios[1]) * middle


@pytest.mark.parametrize("kind", ["geo", "area"])
@pytest.mark.parametrize("values", [(0, 1), (0, 1, 2, 5), range(100)], ids=len)
def test_every_trial_in_plain_python(kind: Any, values: range) -> None:
    chance = np.random.default_rng(len(values))
    scores = chance.choice(np.array(values), (5, 13)) / 100
    scores[1], scores[2] = scores[0], 0.25
    topics = [f"t{k:02d}" for k in range(13)]
    cube = sc.cube_from_scores({"AP": pd.DataFrame(scores, list("abcde"), topics)})
    test = sc.Bootstrap(summary=kind, plus_one=False)
    drawn = sc.samples(cube, test, trials=TRIALS, seed=3)["topic_sample"].values
    result = sc.analyse(cube, test, trials=TRIALS, seed=3).isel(metric=0, gain=0)
    summary = area if kind == "area" else geometric_mean
    rows = scores.tolist()
    for k, (i, j) in enumerate(combinations(range(5), 2)):
        x, y = rows[i], rows[j]
        difference = summary(x) - summary(y)
        trials = [moved(kind, x, y, [x[t] for t in a], [y[t] for t in b]) for a, b in drawn]
        least, most = (sum(t >= abs(difference) + by for t in trials) for by in (CLOSE, -CLOSE))
        assert least <= int(result["reached"][k]) <= most
        assert float(result["mean_difference"][k]) == pytest.approx(difference, abs=1e-9)
        assert float(result["p_value"][k]) == int(result["reached"][k]) / TRIALS
    assert result["t"].isnull().all()
    assert "estimated_difference" not in result


def test_groups_are_refused() -> None:
    cube = simulate_cube(n_runs=3, seed=1).isel(topic=slice(8))
    cube = cube.assign_coords(topic_group=("topic", [f"g{k // 2}" for k in range(8)]))
    with pytest.raises(BadPlan):
        sc.analyse(cube, sc.Bootstrap(summary="geo"), trials=10)

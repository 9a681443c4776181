"""Bootstrap tests with few topics: the warning, and the error rates behind it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.testing import simulate_cube
from scorecube.workflow.api import cube_from_scores


def test_few_topics_are_warned_of() -> None:
    cube = simulate_cube(n_runs=4, seed=1)
    few, many = (
        make_plan(cube.isel(topic=slice(n)), sc.Bootstrap(), trials=10, seed=1).warnings
        for n in (24, 25)
    )
    assert many == ()
    assert len(few) == 1
    assert "24 topics are few for a bootstrap test" in few[0]
    assert "randomisation" in few[0]


def rejections(n_topics: int) -> float:
    """Return how often two runs with equal true means and skewed differences are significant at .05."""
    random, repeats = np.random.default_rng(3), 300
    differences = random.exponential(size=(repeats, n_topics)) - 1.0
    frames = {
        f"m{k:03d}": pd.DataFrame([0.5 + row / 10, np.full(n_topics, 0.5)], ["a", "b"], [f"{t:02d}" for t in range(n_topics)])
        for k, row in enumerate(differences)
    }  # fmt: skip
    result = sc.analyse(cube_from_scores(frames), sc.Bootstrap(), trials=500, seed=1)
    return float((result["p_value"].values < 0.05).mean())


@pytest.mark.slow
def test_skewed_differences_of_few_topics_are_significant_too_often() -> None:
    few, many = rejections(10), rejections(50)
    # Rates of 300 tests have a standard error of .014 to .02; topic samples are shared.
    assert few > 0.06
    assert many < few

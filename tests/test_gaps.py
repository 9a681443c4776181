"""Missing scores: what is said of topics that are left out, and means by the model of runs and topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import scorecube as sc
from scorecube import names
from scorecube.report.results import notes_of
from scorecube.testing import simulate_cube


def cube_of(scores: Any) -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k:02d}" for k in range(scores.shape[1])]
    return sc.cube_from_scores({"AP": pd.DataFrame(scores, *labels)})


def with_gaps(seed: int = 3, n_runs: int = 6, n_topics: int = 40) -> Any:
    """Scores of runs of which one lacks its 15 hardest topics, and the means of all."""
    chance = np.random.default_rng(seed)
    topic = 0.15 * chance.standard_normal(n_topics)
    means = 0.3 + 0.02 * np.arange(n_runs)
    scores = means[:, np.newaxis] + topic + 0.06 * chance.standard_normal((n_runs, n_topics))
    scores[0, np.argsort(topic)[:15]] = np.nan
    return scores, means


def test_topics_that_are_left_out_are_said_everywhere() -> None:
    scores, _ = with_gaps()
    cube = sc.select(cube_of(scores), missing="drop")
    said = cube.attrs[names.LEFT_OUT]
    assert said == ("25 of 40 topics are used: scores are missing on the others, most of r0 (15).")
    result = sc.analyse(cube, sc.Leaderboard(), trials=100, seed=1)
    assert said in result.attrs["warnings"]
    assert said.rstrip(".") in notes_of(result.attrs)
    assert sc.variances(cube).attrs[names.LEFT_OUT] == said
    assert sc.variances(cube_of(scores), "drop").attrs["notes"][0] == said
    whole = sc.select(simulate_cube(n_runs=4, seed=1), missing="drop")
    assert names.LEFT_OUT not in whole.attrs

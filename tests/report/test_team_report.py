"""Tables, pictures and chapters of leaving teams out and of topic set size design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.teams import Teams
from scorecube.collection.rankings import with_rankings
from scorecube.report.drawing import drawn
from scorecube.report.teams import leave_out_panels
from scorecube.testing import simulate_rankings

GAINS = ["3:2:1", "1:1:1"]


def made(
    n_metrics: int = 3, steps: tuple[int, ...] | None = (20, 10), **options: Any
) -> xr.Dataset:
    metrics = ["AP", "nDCG@10", "P@10", *(f"P@{k}" for k in range(11, 40))][:n_metrics]
    rankings = simulate_rankings(n_runs=10, n_teams=5, depth=40, seed=3)
    cube = with_rankings(sc.evaluate(rankings, metrics, GAINS), rankings)
    return sc.analyse(cube, Teams(topic_sizes=steps, **options), trials=4, seed=1).assign_attrs(
        collection="c"
    )


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return made()


def test_curves_are_the_mean_variances(result: xr.Dataset) -> None:
    for gain in GAINS:
        figure = drawn(leave_out_panels, result.sel(gain=[gain]))
        variance, fewest, by_topics = figure.axes
        for metric in result["metric"].values:
            at = result.sel(metric=metric, gain=gain)
            for axes, step in ((variance, 0), (fewest, -1)):
                line = next(line for line in axes.get_lines() if line.get_label() == metric)
                places = np.asarray(line.get_xdata(), float)  # bars of metrics stand side by side
                np.testing.assert_array_equal(np.round(places), [0, 1, 2, 3, 4])
                np.testing.assert_array_equal(
                    line.get_ydata(), at["variance_mean"].isel(topic_step=step)
                )
                across = [
                    line
                    for line in axes.get_lines()
                    if len(set(np.asarray(line.get_ydata()).tolist())) == 1
                ]
                whole = float(at["variance_mean"].sel(leave=0).isel(topic_step=step))
                assert any(np.asarray(line.get_ydata())[0] == whole for line in across)
            line = next(line for line in by_topics.get_lines() if line.get_label() == metric)
            np.testing.assert_array_equal(line.get_xdata(), [50, 20, 10])
            np.testing.assert_array_equal(line.get_ydata(), at["variance_mean"].sel(leave=0))

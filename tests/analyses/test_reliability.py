"""Reliability: published numbers, a plain oracle, unbiased components, limits of what is defined."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.topic_units import groups_left_out
from scorecube.statistics.variance import components, mean_squares
from scorecube.workflow.api import analyse, cube_from_scores
from tests.oracles import reliability as oracle

Scores = np.ndarray[Any, np.dtype[np.float64]]


def cube_of(scores: Scores) -> xr.Dataset:
    """Return a cube of one metric."""
    runs = [f"r{k:02d}" for k in range(len(scores))]
    topics = [f"t{k:02d}" for k in range(scores.shape[1])]
    return cube_from_scores({"score": pd.DataFrame(scores, runs, topics)})


def of(cube: xr.Dataset, **options: Any) -> xr.Dataset:
    """Return the result of one metric."""
    return analyse(cube, sc.Reliability(**options), workers=1).isel(metric=0, gain=0)


def simulated(seed: int, p: int = 9, n: int = 12, systems: float = 0.3) -> Scores:
    random = np.random.default_rng(seed)
    effects = systems * random.normal(size=(p, 1)) + random.normal(size=(1, n))
    return np.asarray(effects + random.normal(size=(p, n)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("systems", [0.0, 1.0])
def test_results_are_those_of_the_oracle(seed: int, systems: float) -> None:
    scores = simulated(seed, systems=systems)
    rows, cube = scores.tolist(), cube_of(scores)
    result = of(cube, target=(0.5, 0.8))
    np.testing.assert_allclose(result["component"], oracle.components(rows), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(
        result["value"], oracle.coefficients(rows, 12), rtol=1e-9, atol=1e-13
    )
    if oracle.components(rows)[0] > 0:
        for k, target in enumerate((0.5, 0.8)):
            assert result["topics"].values[:, k].tolist() == list(oracle.topics_for(rows, target))
    both = np.stack([result["value_low"].values, result["value_high"].values], axis=-1)
    if np.isfinite(both).all():
        groups = groups_left_out([cube.sizes["topic"]]).tolist()
        limits = oracle.jackknife_limits(rows, groups, 12)
        np.testing.assert_allclose(both, np.array(limits), rtol=1e-8)
    else:  # a group of topics without which systems do not vary
        assert systems < 1


def indicator(labels: Any) -> Scores:
    """Return which observation has which level: the factor of an effect with variance 1."""
    _, codes = np.unique(np.asarray(labels), return_inverse=True)
    return np.asarray(np.equal.outer(codes, np.arange(codes.max() + 1)), np.float64)


def test_components_are_unbiased() -> None:
    """The exact expectation of a quadratic form of normal scores with covariance F F' is a sum over the columns of F."""
    p, n = 4, 6
    system, topic = (grid.ravel() for grid in np.indices((p, n)))
    parts = [indicator(system), indicator(topic), np.eye(p * n)]
    for truth in ([1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]):
        factor = np.hstack([np.sqrt(v) * part for v, part in zip(truth, parts, strict=True)])
        found = components(factor.T.reshape(-1, p, n)).sum(axis=1)
        np.testing.assert_allclose(found, truth, atol=1e-12)


@pytest.mark.parametrize("larger", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("topics", [1, 40])
def test_mean_squares_of_large_scores_are_those_of_exact_fractions(
    larger: float, topics: int
) -> None:
    scores = np.random.default_rng(1).normal(0.5, 0.1, (6, 40))
    scores[:, :topics] += larger
    exact = [[Fraction(score) for score in row] for row in scores.tolist()]
    grand = sum(map(sum, exact)) / 240
    by_run = [sum(row) / 40 - grand for row in exact]
    by_topic = [sum(column) / 6 - grand for column in zip(*exact, strict=True)]
    rest = [
        (score - grand - by_run[i] - by_topic[k]) ** 2
        for i, row in enumerate(exact)
        for k, score in enumerate(row)
    ]
    sums = [sum(x * x for x in by_run), sum(x * x for x in by_topic), sum(rest)]
    expected = [float(40 * sums[0] / 5), float(6 * sums[1] / 39), float(sums[2] / 195)]
    error = 1e-12 + larger * 2e-14  # where runs differ by about 0.01
    assert mean_squares(scores).tolist() == pytest.approx(expected, rel=error)


def test_negative_components_are_zero_and_said() -> None:
    grid = np.array([[0.1, 0.9, 0.5], [0.9, 0.1, 0.5], [0.5, 0.5, 0.5]])
    result = analyse(cube_of(grid), sc.Reliability())
    (row,) = sc.table(result, "components").to_dict("records")
    assert (row["systems"], row["topics"]) == (0.0, 0.0)
    (value,) = sc.table(result).to_dict("records")
    assert (value["erho2"], value["phi"]) == (0.0, 0.0)
    assert np.isnan(value["erho2_low"])
    assert sc.table(result, "topics")["n_topics"].isna().all()
    assert "count as 0" in result.attrs["notes"][0]


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_variances_within_systems_are_those_of_the_oracle(shift: float) -> None:
    """Of systems with 3, 1 and 4 repetitions; the other numbers are about their means."""
    chance = np.random.default_rng(6)
    counts = {"a": 3, "b": 1, "c": 4}
    topics = chance.normal(size=20)
    systems = {
        name: topics + chance.normal(0, shift, (k, 1)) + chance.normal(size=(k, 20))
        for name, k in counts.items()
    }
    labels = np.repeat(list(counts), list(counts.values()))
    cube = cube_of(np.concatenate(list(systems.values())))
    result = of(cube.assign_coords(system=("run", labels.astype(object))))
    expected = oracle.within_systems([rows.tolist() for rows in systems.values()])
    found = result["repetitions"].item(), result["by_repetition"].item()
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    means = cube_of(np.array([rows.mean(axis=0) for rows in systems.values()]))
    np.testing.assert_allclose(result["value"], of(means)["value"], rtol=1e-12)
    assert "repetitions" not in of(means)
    assert "repetitions" not in sc.table(analyse(means, sc.Reliability()), "components")

"""Copulas of two systems: densities, random points and fits belong together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from scorecube.analyses.simulation.pair_models import choose_copulas, random_ranks
from scorecube.kernels.arrays import Float64Array2
from scorecube.kernels.experiments import pair_copulas
from scorecube.kernels.experiments.pair_copulas import COLUMNS, ROTATED, WORDS, Family, point
from scorecube.kernels.jit import compiled
from tests.kernels.entry import entry

PARAMETERS = {
    Family.GAUSSIAN: (0.6, 1.0),
    Family.CLAYTON: (1.5, 1.0),
    Family.GUMBEL: (1.8, 1.0),
    Family.FRANK: (5.0, 1.0),
    Family.JOE: (2.2, 1.0),
    Family.TAWN_FIRST: (2.5, 0.5),
    Family.TAWN_SECOND: (2.5, 0.5),
}
CELLS, FINE, POINTS = 8, 24, 100_000


def columns(u: float) -> np.ndarray:
    """Return the functions of u that likelihoods read."""
    row = [u, math.log(u), math.log1p(-u), math.log(-math.log(u)), float(scipy.stats.norm.ppf(u))]
    assert len(row) == COLUMNS
    return np.array(row)


@compiled
def draw_points(
    copula: int, a: float, b: float, uniforms: Float64Array2, points: Float64Array2
) -> None:
    for k in range(uniforms.shape[0]):
        points[k, 0], points[k, 1] = point(copula, a, b, uniforms[k])


def points_of(copula: int, a: float, b: float, n: int, seed: int = 1) -> np.ndarray:
    points = np.empty((n, 2))
    draw_points(copula, a, b, np.random.default_rng(seed).random((n, WORDS)), points)
    return points


@pytest.mark.parametrize("family", PARAMETERS)
def test_random_points_have_the_density(family: Family) -> None:
    a, b = PARAMETERS[family]
    points = points_of(family, a, b, POINTS)
    found = (
        np.histogram2d(points[:, 0], points[:, 1], bins=CELLS, range=[[0.0, 1.0]] * 2)[0] / POINTS
    )
    log_density = entry(pair_copulas.log_density)
    rows = [columns((k + 0.5) / (CELLS * FINE)) for k in range(CELLS * FINE)]
    dense = np.array([[math.exp(log_density(int(family), a, b, x, y)) for y in rows] for x in rows])
    expected = dense.reshape(CELLS, FINE, CELLS, FINE).mean(axis=(1, 3)) / CELLS**2
    assert expected.sum() == pytest.approx(1.0, abs=3e-3)
    inner = np.ones((CELLS, CELLS), bool)
    inner[[0, 0, -1, -1], [0, -1, 0, -1]] = False  # densities without bound in corners
    errors = np.sqrt(expected * (1 - expected) / POINTS)
    assert (np.abs(found - expected) < 5 * errors + 1e-3 * expected + 1e-5)[inner].all()
    for margin in points.T:
        assert scipy.stats.kstest(margin, "uniform").pvalue > 1e-4


def test_quarter_turns_reflect() -> None:
    plain = points_of(Family.CLAYTON, 2.0, 1.0, 100)
    for turns, (flip_u, flip_v) in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)]):
        turned = points_of(Family.CLAYTON + ROTATED * turns, 2.0, 1.0, 100)
        expected = np.where([flip_u, flip_v], 1 - plain, plain)
        np.testing.assert_allclose(turned, expected, rtol=1e-12)


@pytest.mark.parametrize("family", PARAMETERS)
@pytest.mark.parametrize("turns", [0, 1, 2])
def test_fits_find_the_copula(family: Family, turns: int) -> None:
    if turns and family in (Family.GAUSSIAN, Family.FRANK):
        pytest.skip("not rotated")
    a, b = PARAMETERS[family]
    copula = int(family) + ROTATED * turns
    points = points_of(copula, a, b, 4000, seed=3)
    copulas, parameters = choose_copulas(random_ranks(points.T), np.array([[0, 1]], np.int32))
    assert copulas[0] == copula
    assert parameters[0] == pytest.approx((a, b), rel=0.12)


def test_independent_scores_have_few_fits() -> None:
    points = np.random.default_rng(4).random((40, 50))
    first, second = np.triu_indices(40, 1)
    pairs = np.stack([first, second], axis=1).astype(np.int32)
    copulas, _ = choose_copulas(random_ranks(points), pairs)
    assert (copulas == 0).mean() > 0.3


def test_ranks_are_a_permutation_that_keeps_the_order() -> None:
    scores = np.random.default_rng(5).integers(0, 4, (6, 30)) / 4
    ranks = random_ranks(scores)
    assert (np.sort(ranks, axis=1) == np.arange(1, 31)).all()
    for row, order in zip(scores, ranks, strict=True):
        assert (np.diff(row[np.argsort(order)]) >= 0).all()

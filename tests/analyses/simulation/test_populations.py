"""Simulated collections: truth against large samples, any cut into blocks, equal and moved means, messages."""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.simulation import populations
from scorecube.analyses.simulation.lazy_scores import SimulatedScores
from scorecube.analyses.simulation.populations import Population, fit_population
from scorecube.analyses.simulation.topics import TOPICS_AT_ONCE, scores_of
from scorecube.collection.selection import cells
from scorecube.errors import BadPlan, BadStudy
from scorecube.storage import datasets, open_study, study
from scorecube.storage.encoding import CHUNK_LENGTHS
from scorecube.storage.verify import verify_study
from scorecube.testing import simulate_cube
from scorecube.workflow.simulation import simulate_into

MANY = 60_000


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(metrics=("P@10", "AP"), n_runs=8, seed=3)


@pytest.fixture(scope="module")
def population(cube: xr.Dataset) -> Population:
    return fit_population(cells(cube)[0])


def test_the_population_has_the_moments_of_the_sample(
    cube: xr.Dataset, population: Population
) -> None:
    scores = cells(cube)[0]
    np.testing.assert_allclose(population.means, scores.mean(axis=2), atol=1e-9)
    np.testing.assert_allclose(population.variances, scores.var(axis=2, ddof=1), rtol=0.02)
    wanted = np.corrcoef(scores.reshape(16, -1))
    deviations = np.sqrt(population.variances.ravel())
    reached = population.covariances() / np.outer(deviations, deviations)
    apart = np.abs(reached - wanted)[np.triu_indices(16, 1)]
    assert np.median(apart) < 0.02
    assert apart.max() < 0.1


def test_large_samples_have_the_truth(population: Population) -> None:
    drawn = population.draw(1, 0, MANY)
    errors = 5 * np.sqrt(population.variances.ravel() / MANY)
    assert (np.abs(drawn.mean(axis=1) - population.means.ravel()) < errors).all()
    np.testing.assert_allclose(drawn.var(axis=1), population.variances.ravel(), rtol=0.05)
    deviations = np.sqrt(population.variances.ravel())
    np.testing.assert_allclose(
        np.corrcoef(drawn), population.covariances() / np.outer(deviations, deviations), atol=0.02
    )


def test_scores_do_not_depend_on_blocks(population: Population) -> None:
    whole = population.draw(7, 0, 3000)
    for cuts in ([0, 1, 2, 1500, 3000], [0, 999, 3000]):
        parts = [population.draw(7, low, high) for low, high in pairwise(cuts)]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)
    assert (population.draw(8, 0, 100) != whole[:, :100]).any()


def test_vine_copulas(cube: xr.Dataset) -> None:
    pytest.importorskip("pyvinecopulib")
    scores = cells(cube)[0]
    one, two = (fit_population(scores, copula="vine", n_threads=n) for n in (1, 2))
    topics = 3500
    whole = one.draw(7, 0, topics)
    np.testing.assert_array_equal(two.draw(7, 0, topics, n_threads=2), whole)
    for cuts in ([0, 1, 999, 1001], [0, 730, topics]):
        parts = [two.draw(7, low, high) for low, high in pairwise(cuts)]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole[:, : cuts[-1]])
    errors = 5 * np.sqrt(one.variances.ravel() / topics)
    assert (np.abs(whole.mean(axis=1) - one.means.ravel()) < errors).all()
    np.testing.assert_allclose(whole.var(axis=1), one.variances.ravel(), rtol=0.1)
    pairs = np.triu_indices(8, 1)
    for k, cell in enumerate(scores):
        reached, wanted = np.corrcoef(whole[8 * k : 8 * k + 8]), np.corrcoef(cell)
        assert np.median(np.abs(reached - wanted)[pairs]) < 0.1
        assert np.median(wanted[pairs]) > 0.15  # so that independent systems fail
    between = np.corrcoef(whole)[:8, 8:]
    assert np.abs(between).max() < 5 / topics**0.5  # metrics are independent


def test_vine_copulas_need_a_package(cube: xr.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyvinecopulib", None)
    with pytest.raises(BadPlan, match=r"need pyvinecopulib: pip install 'scorecube\[simulate\]'"):
        sc.simulate(cube, copula="vine")


@pytest.mark.parametrize("memory", [math.inf, 4e8])
def test_scores_are_made_when_they_are_read(cube: xr.Dataset, memory: float) -> None:
    whole = sc.simulate(cube, topics=500, seed=4)
    made = populations.simulated(cube, topics=500, seed=4, workers=2, memory=memory)
    for runs, topics in ((3, slice(10, 20)), (slice(2, 7), 4), ([6, 0, 3], slice(None))):
        for metric in (1, slice(None)):
            place = {"metric": metric, "run": runs, "topic": topics}
            xr.testing.assert_identical(made.isel(place).compute(), whole.isel(place))
    with pytest.raises(BadPlan, match=r"model of these scores and what is kept of 500 topics take"):
        populations.simulated(cube, topics=500, memory=1e6)


def test_written_part_by_part(
    cube: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sc.simulate(cube, topics=300, seed=5)
    made: list[tuple[int, ...]] = []
    make = SimulatedScores._make

    def note(self: SimulatedScores, key: tuple[Any, ...]) -> np.ndarray:
        found = make(self, key)
        made.append(found.shape)
        return found

    monkeypatch.setattr(SimulatedScores, "_make", note)
    monkeypatch.setattr(datasets, "MAX_BUFFERED_BYTES", 0)
    monkeypatch.setattr(study, "MAX_BUFFERED_BYTES", 0)
    monkeypatch.setattr(datasets, "PART_BYTES", 3 * 300 * 8)
    monkeypatch.setitem(CHUNK_LENGTHS["score"], "run", 1)
    opened = open_study(tmp_path / "study.zarr", mode="a")
    options: dict[str, Any] = {"topics": 300, "seed": 5, "workers": 1}
    attributes = simulate_into(opened, "truth", cube, "demo", **options)
    assert attributes["source"] == "simulated from demo"
    assert made == [(1, 1, n, 300) for n in (3, 3, 2)] * 2  # each score once, three runs at a time
    stored = opened["truth"]
    xr.testing.assert_equal(stored.cube, expected)
    assert stored.row().facts["cube"]["missing_scores"] == 0
    assert verify_study(opened)[1] == []
    with pytest.raises(BadStudy, match="written part by part cannot be merged"):
        simulate_into(opened, "truth", cube, "demo", **options)
    simulate_into(opened, "truth", cube, "demo", replace=True, **options | {"seed": 6})
    assert (opened["truth"].cube["score"] != expected["score"]).any()


@pytest.mark.parametrize("copula", ["gaussian", "independent"])
def test_scores_do_not_depend_on_threads_and_parts(cube: xr.Dataset, copula: str) -> None:
    scores = cells(cube)[0]
    one, two = (fit_population(scores, copula=copula, n_threads=n) for n in (1, 2))
    topics = 2 * TOPICS_AT_ONCE + 100  # three parts, and more than 2**18 scores
    whole = one.draw(7, 0, topics)
    np.testing.assert_array_equal(two.draw(7, 0, topics, n_threads=2), whole)
    late = np.empty((5, topics - 1000))
    for most_bytes in (0, 10**9):  # what is random of topics is made again, or kept
        source = one.source(7, 1000, topics, most_bytes=most_bytes)
        scores_of(source, one.margins, 6, 11, late)  # not from a multiple of four on
        np.testing.assert_array_equal(late, whole[6:11, 1000:])


def test_more_topics_begin_with_fewer(cube: xr.Dataset) -> None:
    few = sc.simulate(cube, topics=150, seed=3)
    more = sc.simulate(cube, topics=TOPICS_AT_ONCE + 500, seed=3)
    np.testing.assert_array_equal(more["score"].values[..., :150], few["score"].values)
    assert few["topic"].values[[0, -1]].tolist() == ["s001", "s150"]


def test_supports_are_those_of_the_sample(cube: xr.Dataset) -> None:
    found = sc.simulate(cube, topics=5000, seed=3)["score"]
    assert set(np.unique(found.sel(metric="P@10"))) == set(np.arange(11) / 10)
    fine = np.unique(found.sel(metric="AP"))
    assert (np.round(fine, 5) == fine).all()
    assert fine.min() >= 0
    assert fine.max() <= 1


@pytest.mark.parametrize("copula", ["gaussian", "independent"])
def test_equal_and_moved_means(cube: xr.Dataset, copula: str) -> None:
    null = sc.simulate(cube, topics=20, null=True, copula=copula)
    moved = sc.simulate(cube, topics=20, delta=0.05, copula=copula)
    for metric in ("P@10", "AP"):
        sample = cube["score"].sel(metric=metric).isel(gain=0)
        truth = null["true_mean"].sel(metric=metric).values.ravel()
        np.testing.assert_allclose(truth, float(sample.mean()), atol=1e-9)
        best = int(sample.mean("topic").argmax("run"))
        expected = np.full(8, float(sample.mean()))
        expected[best] += 0.05
        np.testing.assert_allclose(
            moved["true_mean"].sel(metric=metric).values.ravel(), expected, atol=1e-9
        )


def test_independent_systems(cube: xr.Dataset) -> None:
    found = sc.simulate(cube.sel(metric=["AP"]), topics=20_000, copula="independent")
    apart = np.corrcoef(found["score"].values[0, 0])[np.triu_indices(8, 1)]
    assert np.abs(apart).max() < 5 / 20_000**0.5


def test_constant_runs_stay_constant(cube: xr.Dataset) -> None:
    scores = cube["score"].copy(deep=True)
    scores[:, :, 2] = 0.0
    found = sc.simulate(cube.assign(score=scores), topics=200, seed=1)["score"]
    assert (found.isel(run=2) == 0).all()
    assert np.isfinite(found).all()


def test_provenance_says_what_it_is(cube: xr.Dataset) -> None:
    found = sc.simulate(cube, topics=30, seed=9)
    assert found.attrs["note"].startswith(
        "simulated: gaussian copula, means of the sample, seed 9; margins: "
    )
    record = json.loads(found.attrs["simulation"])
    assert record["options"] == {
        "copula": "gaussian",
        "null": False,
        "delta": None,
        "seed": "9",
        "topics": 30,
    }
    assert len(record["margins"]) == 16
    assert {each["kind"] for each in record["margins"]} <= {
        "normal",
        "beta",
        "kernel",
        "beta kernel",
        "beta-binomial",
        "smoothed",
    }


def test_other_analyses_take_it(cube: xr.Dataset) -> None:
    found = sc.simulate(cube, topics=60, seed=1)
    result = sc.analyse(found, sc.Swap(size=20), trials=20, seed=1)
    assert result.sizes["metric"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": 1}, "1 topics; use 2 to 1,000,000"),
        ({"copula": "frank"}, "'frank' is not one of gaussian, vine, independent"),
        ({"null": True, "delta": 0.1}, "exclude each other"),
        ({"delta": 1.5}, "1.5 is not between 0 and 1"),
        ({"delta": 0.9}, "no distortion of a margin with mean"),
    ],
)
def test_bad_options(cube: xr.Dataset, options: dict[str, object], message: str) -> None:
    with pytest.raises(BadPlan) as error:
        sc.simulate(cube, **options)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_bad_scores(cube: xr.Dataset) -> None:
    with pytest.raises(BadPlan, match="scores from 0 to 1 can be simulated, found"):
        sc.simulate(cube.assign(score=2 * cube["score"]))
    with pytest.raises(BadPlan, match="a model of scores needs 5 topics, found 4 topics"):
        sc.simulate(cube.isel(topic=slice(0, 4)))
    with pytest.raises(BadPlan, match="scores are missing"):
        sc.simulate(cube.assign(score=cube["score"].where(cube["topic"] != "007")))

"""Errors of means that are drawn in place of topics: a plain oracle, the same bits on any cut, and critical values beside those of resampled topics."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.special import ndtri

import scorecube as sc
from scorecube import names
from scorecube.analyses.pair_tests import gaussian
from scorecube.analyses.plan import make_plan
from scorecube.collection import rows, schema
from scorecube.collection.evaluation import cube_dataset
from scorecube.execute.executor import Executor
from scorecube.execute.run import run as run_plan
from scorecube.kernels import threads
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.metrics import parse_metric
from scorecube.storage import datasets, encoding
from scorecube.workflow.api import analyse
from tests.analyses.pair_tests.test_maxt import cube_of, labelled_pairs, odd_scores
from tests.oracles.gaussian import adjusted, covariance, errors
from tests.oracles.step_down import MODERATION

TRIALS = 200
FORMS: list[Any] = [sc.MaxT, sc.Ranks, sc.Leaderboard, sc.Board]


def deviates(n_runs: int, trials: int = TRIALS, seed: int = 1) -> Any:
    return ndtri(uniforms(stream_key(seed, names.Purpose.NORMAL_ERRORS), n_runs, 0, trials))


def together(kind: Any, cubes: dict[str, xr.Dataset]) -> xr.Dataset:
    """Return what a kind of analysis takes of collections."""
    return sc.join_collections(cubes) if kind is sc.Board else cubes["c"]


def large_cube(n_topics: int, seed: int = 3, n_runs: int = 12) -> xr.Dataset:
    chance = np.random.default_rng(seed)
    common, own = chance.standard_normal(n_topics), chance.standard_normal((n_runs, n_topics))
    return cube_of(np.exp((common + own) / 2 + 0.02 * np.arange(n_runs)[:, np.newaxis]).tolist())


@pytest.mark.parametrize("baseline", [None, "r02"])
@pytest.mark.parametrize("rounded", [False, True], ids=["whole units", "rounded"])
def test_adjusted_p_values_are_those_of_the_oracle(baseline: str | None, rounded: bool) -> None:
    scores = odd_scores()
    if rounded:
        scores = [[math.sqrt(2) * value for value in row] for row in scores]
    test = sc.MaxT(baseline=baseline, plus_one=False, resampling="gaussian")
    result = analyse(cube_of(scores), test, trials=TRIALS, seed=1)
    pairs = labelled_pairs(result)
    expected, largest = adjusted([scores], [1.0], deviates(len(scores)), MODERATION, pairs)
    found = dict(zip(pairs, result["p_value"].values.ravel().tolist(), strict=True))
    assert found == expected
    assert len(set(expected.values())) > (4 if baseline is None else 2)
    critical = sorted(largest)[math.ceil(0.95 * (TRIALS + 1)) - 1]
    assert result["critical_value"].values[0, 0, 0] == pytest.approx(critical, rel=1e-5)
    assert result.attrs["resampling"] == "gaussian"


def test_a_leaderboard_has_the_rank_sets_of_ranks_and_limits_of_the_oracle() -> None:
    scores = odd_scores()
    cube = cube_of(scores)
    ranks = analyse(cube, sc.Ranks(resampling="gaussian"), trials=TRIALS, seed=1)
    board = analyse(
        cube,
        sc.Leaderboard(bounds=(), plus_one=False, resampling="gaussian"),
        trials=TRIALS,
        seed=1,
    )
    for name in ("mean", "rank", "rank_low", "rank_high"):
        assert np.array_equal(ranks[name], board[name]), name
    matrix = covariance([scores], [1.0])
    drawn = errors(matrix, deviates(len(scores)))
    means = [math.fsum(row) / len(row) for row in scores]
    below = math.floor(0.025 * (TRIALS + 1))
    for run, own in enumerate(means):
        ordered = sorted(each[run] for each in drawn)
        assert board["mean_low"].values[0, 0, run] == pytest.approx(own - ordered[-below], abs=1e-6)
        assert board["mean_high"].values[0, 0, run] == pytest.approx(own - ordered[below - 1], abs=1e-6)  # fmt: skip
    best = [sum(each[run] + means[run] >= max(e + m for e, m in zip(each, means, strict=True)) - 1e-12 for each in drawn) for run in range(len(means))]  # fmt: skip
    assert board["best"].values[0, 0].tolist() == [count / TRIALS for count in best]


def test_a_board_draws_the_weighted_mean_over_collections() -> None:
    scores = odd_scores()
    parts = [[row[:16] for row in scores], [row[16:] for row in scores]]
    cubes = {name: cube_of(part) for name, part in zip(("a", "b"), parts, strict=True)}
    board = sc.Board(baseline="r04", weights=("b=3",), plus_one=False, resampling="gaussian")
    result = analyse(sc.join_collections(cubes), board, trials=TRIALS, seed=1)
    others = [run for run in range(len(scores)) if run != 4]
    expected, _ = adjusted(parts, [0.25, 0.75], deviates(len(scores)), 4.0, [(k, 4) for k in others])  # fmt: skip
    assert result["p_baseline"].values[0, 0, others].tolist() == [expected[k, 4] for k in others]
    one = analyse(sc.join_collections({"a": cubes["a"]}), sc.Board(resampling="gaussian"), trials=TRIALS, seed=1)  # fmt: skip
    alone = analyse(cubes["a"], sc.Leaderboard(resampling="gaussian"), trials=TRIALS, seed=1)
    for name in ("rank_low", "rank_high", "best"):
        assert np.array_equal(one[name], alone[name]), name


@pytest.mark.parametrize(
    ("topics", "at_once", "read"), [(2**20, 5, 2**20), (64, 16, 900), (7, 64, 1)]
)
def test_products_are_exact_in_any_chunks_of_runs_and_topics(
    monkeypatch: pytest.MonkeyPatch, topics: int, at_once: int, read: int
) -> None:
    scores = np.random.default_rng(2).standard_normal((5, 300)) * [[1], [1e6], [1e-6], [0.5], [0]]
    whole = products(scores)
    for module, name, size in ((gaussian, "TOPICS_AT_ONCE", topics), (gaussian, "AT_ONCE", at_once), (rows, "AT_ONCE", read)):  # fmt: skip
        monkeypatch.setattr(module, name, size)
    assert len(rows.row_parts(5, 300)) == {2**20: 1, 900: 2, 1: 5}[read]
    assert np.array_equal(products(scores), whole)
    assert np.array_equal(products(scores[:, np.random.default_rng(3).permutation(300)]), whole)
    units = gaussian.row_units(rows.Rows(scores), gaussian.look(rows.Rows(scores)))
    own = (scores - scores.mean(axis=1, keepdims=True)) * 300 * units.per_score
    scale = np.sqrt((own**2).sum(axis=1)) + 1.0
    assert np.abs((whole - own @ own.T) / np.outer(scale, scale)).max() < 2e-6


def products(scores: Any) -> Any:
    of_runs = rows.Rows(scores)
    return gaussian.products_of_scores(gaussian.row_units(of_runs, gaussian.look(of_runs)))


@pytest.mark.parametrize("n_topics", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_critical_values_are_those_of_resampled_topics(n_topics: int) -> None:
    """Within 4 Monte Carlo standard errors of a difference of two quantiles, whose density is that of the drawn errors."""
    cube, trials = large_cube(n_topics), 20_000 if n_topics == 2000 else 4000
    found = [analyse(cube, sc.MaxT(resampling=how), trials=trials, seed=5) for how in ("topics", "gaussian")]  # fmt: skip
    topics, drawn = (each["critical_value"].values[0, 0] for each in found)
    close = analyse(cube, sc.MaxT(alphas=(0.06, 0.04, 0.013, 0.007), resampling="gaussian"), trials=200_000, seed=6)  # fmt: skip
    quantiles = close["critical_value"].values[0, 0]
    for k, (alpha, width) in enumerate([(0.05, 0.02), (0.01, 0.006)]):
        density = width / (quantiles[2 * k + 1] - quantiles[2 * k])
        error = math.sqrt(2 * alpha * (1 - alpha) / trials) / density
        assert abs(topics[k] - drawn[k]) < 4 * error


def test_systems_with_repetitions_have_the_critical_value_of_resampled_topics() -> None:
    chance, n, runs = np.random.default_rng(8), 1000, 12
    scores = chance.standard_normal((runs, n)) + 0.05 * chance.standard_normal((runs, 1))
    cube = cube_of(scores.tolist()).assign_coords(
        system=("run", [f"s{k // 3}" for k in range(runs)])
    )
    found = [analyse(cube, sc.MaxT(resampling=how), trials=20_000, seed=5) for how in ("topics", "gaussian")]  # fmt: skip
    assert all(each.attrs["by_system"] == 1 for each in found)
    topics, drawn = (each["critical_value"].values[0, 0, 0] for each in found)
    assert drawn == pytest.approx(topics, rel=0.02)


@pytest.mark.parametrize("kind", FORMS)
def test_what_takes_topics_is_refused_in_one_message(kind: Any) -> None:
    cube = large_cube(60)
    if kind is not sc.Board:
        with pytest.raises(sc.ScorecubeError, match=r"draws no topics"):
            kind(resampling="gaussian").samples(cube, 1, 20)


def test_means_and_residual_variances_are_those_of_the_scores() -> None:
    cube = large_cube(700)
    drawn, plain = (analyse(cube, sc.MaxT(resampling=each), trials=20, seed=1) for each in ("gaussian", "topics"))  # fmt: skip
    assert drawn["mean"].equals(plain["mean"])
    np.testing.assert_allclose(drawn["residual_variance"], plain["residual_variance"], rtol=1e-6)


@pytest.fixture
def read_on_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_LOADED_BYTES", 0)
    monkeypatch.setattr(datasets, "MAX_DIRECT_BYTES", 0)


@pytest.mark.usefixtures("read_on_use")
@pytest.mark.parametrize("chunk", [2**23, 2**13, 2**10])
@pytest.mark.parametrize("kind", FORMS)
def test_a_stored_cube_that_is_read_on_use_has_the_same_digest_and_result(
    kind: Any, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of all runs, of some, and of some topics of one; scores 0 and 1, of three decimals, and rounded ones."""
    chance, runs, n = np.random.default_rng(4), 7, 600
    kinds = [chance.random((runs, n)) < 0.7, chance.random((runs, n)).round(3), chance.random((runs, n)) ** 3]  # fmt: skip
    kinds[2][5] = kinds[2][4]  # a pair whose squares are added topic by topic
    kinds[2][6] = kinds[2][4] + 1e-9 * chance.standard_normal(n)
    cube = cube_dataset(np.stack(kinds)[:, np.newaxis].astype(float), [parse_metric(f"P@{k}") for k in (1, 5, 10)], ["auto"], [f"r{k}" for k in range(runs)], [f"{k:03d}" for k in range(n)])  # fmt: skip
    options: dict[str, Any] = {} if kind in (sc.MaxT, sc.Ranks) else {"baseline": "r2"}
    parts = {"c": cube} if kind is not sc.Board else {"d": cube.isel(topic=slice(150)), "c": cube}
    analysis = kind(resampling="gaussian", **options)
    expected = analyse(together(kind, parts), analysis, trials=300, seed=1)
    monkeypatch.setattr(schema, "MAX_LOADED_BYTES", 0)
    monkeypatch.setattr(encoding, "MAX_CHUNK_BYTES", chunk)
    for collection, part in parts.items():
        sc.open_study(tmp_path / "s", mode="a").add(collection, cube=part)
    study = sc.open_study(tmp_path / "s")
    shape = study["c"].cube["score"].encoding["chunks"]
    assert shape == {2**23: (1, 1, 7, 600), 2**13: (1, 1, 1, 600), 2**10: (1, 1, 1, 128)}[chunk]
    monkeypatch.setattr(rows, "AT_ONCE", {2**23: 2**20, 2**13: 1500, 2**10: 1}[chunk])
    monkeypatch.setattr(threads, "LEAST", 1)
    monkeypatch.setattr(gaussian, "TOPICS_AT_ONCE", {2**23: 2**20, 2**13: 600, 2**10: 100}[chunk])
    stored = together(kind, {name: study[name].cube for name in parts})
    plan = make_plan(stored, analysis, trials=300, seed=1)
    found = run_plan(plan, Executor(workers=2), block_units=110)
    assert not rows.is_loaded(stored), "all scores were read together"
    assert found.attrs["digest"] == expected.attrs["digest"]
    for name, variable in expected.data_vars.items():
        assert variable.identical(found[name]), name

"""Error rates of tests: the same counts on every cut, known rates of a symmetric model, messages, published rates."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from scorecube import names
from scorecube.analyses.simulation.decisions import TESTS
from scorecube.analyses.simulation.errors import GROUP, groups
from scorecube.analyses.simulation.pair_models import UNITS, distinct_systems, fit_pair_model
from scorecube.errors import BadPlan
from scorecube.kernels.experiments.differences import draw_differences, guides_of, place_of
from scorecube.kernels.random.philox import stream_key
from scorecube.testing import simulate_cube
from tests.kernels.entry import entry
from tests.simulations.errors import TOLERANCES, pooled, published

SMALL = sc.Errors(n=(10, 25), n_resamples=200, alphas=(0.01, 0.05, 0.1))
COUNTS = ("significant", "wrong_sign", "experiments")


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(metrics=("P@10", "AP"), n_runs=14, seed=3)


def same(first: xr.Dataset, second: xr.Dataset) -> bool:
    return all((first[name].values == second[name].values).all() for name in COUNTS)


@pytest.fixture(scope="module")
def result(cube: xr.Dataset) -> xr.Dataset:
    return sc.analyse(cube, SMALL, trials=2500, seed=2, workers=1, block_units=2500)


@pytest.mark.parametrize(("workers", "block_units"), [(1, 300), (2, 700), (2, GROUP), (1, 2499)])
def test_counts_do_not_depend_on_blocks(
    cube: xr.Dataset, result: xr.Dataset, workers: int, block_units: int
) -> None:
    assert list(groups(0, 2500)) != [(0, 0, 2500)]
    cut = sc.analyse(cube, SMALL, trials=2500, seed=2, workers=workers, block_units=block_units)
    assert same(result, cut)


def test_blocks_add_up(cube: xr.Dataset, result: xr.Dataset) -> None:
    fewer = sc.analyse(cube, SMALL, trials=1500, seed=2)
    assert (fewer["significant"] <= result["significant"]).all()
    other = sc.analyse(cube, SMALL, trials=2500, seed=3)
    assert not same(result, other)


def test_a_metric_by_itself_gives_the_same(cube: xr.Dataset, result: xr.Dataset) -> None:
    alone = sc.analyse(cube.sel(metric=["AP"]), SMALL, trials=2500, seed=2)
    assert same(result.sel(metric=["AP"]), alone)


def test_fewer_options_give_the_same_numbers(cube: xr.Dataset, result: xr.Dataset) -> None:
    part = sc.Errors(
        tests=("sign", "permutation"), n=(25,), deltas=(0.05,), n_resamples=200, alphas=(0.05,)
    )
    found = sc.analyse(cube, part, trials=2500, seed=2)
    where = {"test": ["sign", "permutation"], "size": [25], "delta": [0.05]}
    expected = result.sel(where).sel(alpha=[0.05])
    for name in COUNTS:
        np.testing.assert_array_equal(found[name].values, expected[name].values)


def test_rates_of_independent_systems_are_alpha(cube: xr.Dataset) -> None:
    """Differences of independent scores with one distribution are symmetric: tests of signs and ranks keep their level, too."""
    analysis = sc.Errors(
        n=(25,), deltas=(0.0,), n_resamples=1000, copula="independent", ties="half"
    )
    found = sc.analyse(cube.sel(metric=["AP"]), analysis, trials=6000, seed=5)
    at = found.isel(metric=0, gain=0, size=0, delta=0).sel(alpha=0.05, method="nearest")
    rates = at["significant"] / at["experiments"]
    error = 4 * (0.05 * 0.95 / 6000) ** 0.5
    for test in ("t", "wilcoxon", "permutation"):
        for sided in (1, 2):
            assert float(rates.sel(test=test, sided=sided)) == pytest.approx(0.05, abs=error), test
    assert float(rates.sel(test="sign", sided=2)) < 0.05 + error  # discrete
    assert float(rates.sel(test="bootstrap", sided=2)) > 0.05  # divides by n


def test_gaussian_copulas_have_the_correlations_of_normal_ranks() -> None:
    rising, noise = np.linspace(0.0, 1.0, 30), np.random.default_rng(1).random(30)
    scores = np.stack([rising, 0.5 * rising + 0.5 * noise, 1.0 - rising, noise])
    parameters = fit_pair_model(scores, "gaussian").parameters[..., 0]
    normal = scipy.stats.norm.ppf(scipy.stats.rankdata(scores, axis=1) / 31)
    for a, b in itertools.combinations(range(4), 2):
        expected = scipy.stats.pearsonr(normal[a], normal[b]).statistic
        assert parameters[a, b] == pytest.approx(min(max(expected, -0.99), 0.99))
    assert parameters[0, 2] == -0.99


def test_experiments_have_the_true_difference(cube: xr.Dataset) -> None:
    scores = cube["score"].sel(metric="AP").values[0]
    model = fit_pair_model(scores[distinct_systems(scores, 0.1)], "gaussian")
    arrays, n = model.arrays(), 40_000
    for delta in (0.0, 0.05):
        choices, exponents = model.moved_choices(delta) if delta else model.null_choices()
        differences = np.empty((n, 5), np.int32)
        draw_differences(
            stream_key(1, names.Purpose.EXPERIMENTS),
            0,
            choices,
            exponents,
            (arrays["cumulative"], arrays["guides"], arrays["scores"]),
            (arrays["copulas"], arrays["parameters"]),
            differences,
        )
        error = 4 * differences.mean(axis=1).std() / n**0.5
        assert differences.mean() == pytest.approx(delta * UNITS, abs=error)


def test_choices_are_those_of_the_study(cube: xr.Dataset) -> None:
    scores = cube["score"].sel(metric="AP").values[0]
    model = fit_pair_model(scores, "independent")
    means = np.array([margin.mean for margin in model.margins])
    choices, exponents = model.moved_choices(0.03)
    best = np.argsort(-means)[: round(0.25 * len(means))]
    assert not set(choices[:, 0]) & set(best)
    assert (choices[:, 1] == choices[:, 2]).all()
    for baseline in set(choices[:, 0]):
        chosen = choices[choices[:, 0] == baseline, 1]
        distances = np.abs(means - means[baseline] - 0.03)
        others = [k for k in range(len(means)) if k != baseline and k not in chosen]
        assert len(chosen) == 10
        assert max(distances[chosen]) <= min(distances[others])
    for (baseline, other, _), (raised, lowered) in zip(choices, exponents, strict=True):
        moved = model.margins[other].distorted(1 / raised, 1 / lowered)
        assert moved.mean == pytest.approx(means[baseline] + 0.03, abs=1e-8)
    null, unchanged = model.null_choices()
    assert len(null) == 14 * 13
    assert (null[:, 2] == null[:, 0]).all()
    assert (unchanged == 1).all()


def test_equal_and_bad_systems_are_left_out() -> None:
    scores = np.random.default_rng(1).random((20, 30))
    scores[7] = scores[3] + 5e-6
    scores[11] = scores[2] * 0.1
    kept = distinct_systems(scores, 0.05)
    assert 3 in kept
    assert 7 not in kept
    assert 11 not in kept
    assert len(kept) == 18


def test_places_are_the_quantiles() -> None:
    random = np.random.default_rng(2)
    cumulative = np.append(np.sort(random.random(500)), 1.0)[np.newaxis]
    cumulative[0, 100:200] = cumulative[0, 100]  # points without probability
    guides, find = guides_of(cumulative), entry(place_of)
    for u in (0.0, *random.random(300), 1 - 2.0**-53):
        assert find(float(u), cumulative[0], guides[0]) == np.searchsorted(
            cumulative[0], u, side="right"
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda cube: cube.isel(topic=slice(0, 4)),
            "models of scores need 5 topics, found 4 topics",
        ),
        (
            lambda cube: cube.isel(run=slice(0, 3)),
            "experiments need 3 different runs after the worst are left out, found 2",
        ),
        (
            lambda cube: cube.assign(score=cube["score"] - 1),
            "experiments are simulated for scores from 0 to 1, found -1 to",
        ),
        (
            lambda cube: cube.assign(score=cube["score"].where(cube["topic"] != "007")),
            "scores are missing; leave their topics out with",
        ),
    ],
)
def test_impossible_cubes_are_refused(cube: xr.Dataset, change: object, message: str) -> None:
    with pytest.raises(BadPlan) as error:
        sc.analyse(change(cube), SMALL, trials=10)  # type: ignore[operator]
    assert message in str(error.value)


def test_samples_are_refused(cube: xr.Dataset) -> None:
    with pytest.raises(BadPlan, match="errors resamples nothing: there are no samples to save"):
        SMALL.samples(cube, 1, 10)
    samples = sc.Bootstrap().samples(cube, 1, 10)
    with pytest.raises(BadPlan, match="no samples can be replayed"):
        sc.analyse(cube, SMALL, trials=10, samples=samples)


def test_table_and_headline(result: xr.Dataset) -> None:
    from scorecube.report.results import headline

    frame = sc.table(result, "rates")
    assert set(frame["kind"]) == {"type_1", "power", "type_3"}
    assert (frame["delta"].eq(0) == frame["kind"].eq("type_1")).all()
    row = frame[
        (frame["test"] == "t")
        & (frame["alpha"] == 0.05)
        & (frame["sided"] == 2)
        & (frame["n_topics"] == 25)
        & (frame["metric"] == "AP")
        & (frame["kind"] == "power")
    ].iloc[0]
    counted = int(
        result["significant"]
        .sel(metric="AP", test="t", size=25, delta=0.05, sided=2, alpha=0.05)
        .item()
    )
    assert row["rate"] == counted / 2500
    assert row["rate_low"] < row["rate"] < row["rate_high"]
    first = headline(result)[0]
    assert first.startswith("P@10, 25 topics: type I at 0.05: t test 0.")
    assert "permutation test" in first


@pytest.mark.slow
@pytest.mark.data
def test_published_rates(data: Path) -> None:
    """Type I rates of AP with 50 topics, over all four collections: within the tolerances and five standard errors."""
    trials = 12_000
    found = pooled(data, "ap", trials, deltas=(0.0,), n_resamples=1000)
    at = found.isel(delta=0).sel(size=50).sel(alpha=0.05, sided=2, method="nearest")
    for test in TESTS:
        rate = float(at["significant"].sel(test=test) / at["experiments"].sel(test=test))
        expected = float(published(data, "type_1", "ap", 50)[f"{test[0]}2"].loc[0.05])
        error = 5 * (expected * (1 - expected) / trials) ** 0.5
        assert rate == pytest.approx(expected, abs=TOLERANCES[test] + error), test

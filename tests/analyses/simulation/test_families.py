"""Family-wise error rates by `errors`: the same counts on every cut, which results are errors, known rates, what is shown."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy
import xarray as xr

import scorecube as sc
from scorecube.analyses.simulation.errors import Errors
from scorecube.analyses.simulation.families import FAMILIES, holm_t, level_of, smallest_error
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.report.results import headline
from scorecube.testing import simulate_cube

SMALL = Errors(tests=FAMILIES, n=(12, 25), n_resamples=100, alphas=(0.05, 0.2), deltas=(0.0, 0.1))  # type: ignore[arg-type]
COUNTS = ("significant", "wrong_sign", "experiments")


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(metrics=("P@10",), n_runs=6, seed=3)


@pytest.fixture(scope="module")
def result(cube: xr.Dataset) -> xr.Dataset:
    return sc.analyse(cube, SMALL, trials=20, seed=2, workers=1)


@pytest.mark.parametrize(("workers", "block_units"), [(1, 7), (2, 11)])
def test_counts_do_not_depend_on_blocks(
    cube: xr.Dataset, result: xr.Dataset, workers: int, block_units: int
) -> None:
    cut = sc.analyse(cube, SMALL, trials=20, seed=2, workers=workers, block_units=block_units)
    for name in COUNTS:
        np.testing.assert_array_equal(result[name].values, cut[name].values)
    assert (result["experiments"] == 20).all()


def test_tests_of_pairs_stay_the_same_beside_families(cube: xr.Dataset) -> None:
    plain = Errors(tests=("t",), n=(12,), n_resamples=100, copula="gaussian")
    both = Errors(tests=("t", "holm"), n=(12,), n_resamples=100, copula="gaussian")
    alone = sc.analyse(cube, plain, trials=20, seed=1)
    beside = sc.analyse(cube, both, trials=20, seed=1).sel(test=["t"])
    for name in COUNTS:
        np.testing.assert_array_equal(alone[name].values, beside[name].values)


def test_p_values_are_those_of_t_tests_with_holms_adjustment() -> None:
    scores = np.random.default_rng(1).random((6, 20))
    scores[4] = scores[2]
    pairs = list(combinations(range(6), 2))
    p = [scipy.stats.ttest_rel(scores[i], scores[j]).pvalue for i, j in pairs if (i, j) != (2, 4)]
    expected, largest = {}, 0.0
    for rank, k in enumerate(np.argsort(p)):
        largest = max(largest, min(1.0, p[k] * (len(p) - rank)))
        expected[k] = largest
    found = holm_t(scores)
    assert np.isnan(found[pairs.index((2, 4))])
    np.testing.assert_allclose(
        found[np.isfinite(found)], [expected[k] for k in range(len(p))], rtol=1e-9
    )


@pytest.mark.parametrize("test", FAMILIES)
def test_only_wrong_results_are_errors(test: str) -> None:
    """Run 0 is far better: no error if it is the best, an error if no run is, and one if another is."""
    scores = 0.3 + 0.1 * np.random.default_rng(2).random((4, 40))
    scores[0] += 0.5
    assert smallest_error(test, scores, -1, 200, 1) <= 0.01
    assert smallest_error(test, scores, 0, 200, 1) > 0.05
    assert smallest_error(test, scores, 1, 200, 1) <= 0.01
    assert smallest_error(test, np.full((3, 10), 0.5), -1, 200, 1) == 1.0


def test_levels_are_reached_from_below() -> None:
    assert [level_of(p, (0.01, 0.05), 1e-9) for p in (0.01, 0.02, 0.05, 0.06)] == [0, 1, 1, 2]


@pytest.mark.slow
def test_independent_runs_of_one_kind_have_errors_in_alpha_of_the_collections() -> None:
    """Runs with nearly one distribution can be exchanged, as Tukey's test asks; standard error .015."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        np.round(random.beta(4, 4, (8, 60)), 2),
        [f"r{k}" for k in range(8)],
        [f"t{k}" for k in range(60)],
    )
    analysis = Errors(
        tests=FAMILIES,  # type: ignore[arg-type]
        n=(50,),
        n_resamples=300,
        alphas=(0.1,),
        deltas=(0.0,),
        copula="independent",
    )
    found = sc.analyse(cube_from_scores({"X": frame}), analysis, trials=400, seed=3)
    rates = (found["significant"].sel(sided=2) / found["experiments"]).squeeze()
    assert float(rates.sel(test="tukey")) == pytest.approx(0.1, abs=0.06)
    assert float(rates.sel(test="holm")) == pytest.approx(0.08, abs=0.06)
    assert float(rates.sel(test="maxt")) == pytest.approx(0.1, abs=0.06)


def test_rates_are_shown_as_families(result: xr.Dataset) -> None:
    table = sc.table(result)
    assert set(table["kind"]) == {"family"}
    assert set(table["sided"]) == {2}
    assert len(table) == 1 * 3 * 2 * 2 * 2
    assert (table["trials"] == 20).all()
    lines = headline(result)
    assert any("family-wise errors at 0.05: Tukey's test" in line for line in lines)
    assert any("one run better by 0.1" in line for line in lines)
    assert len(sc.figure(result).axes) >= 1

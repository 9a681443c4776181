"""Statistical validity: p-values of runs that do not differ are uniform, those that differ are found.

Each metric of a cube is an experiment of its own with independent scores (topic effects and noise, both normal), so that p-values
are independent but for the resamples that all share. Kolmogorov-Smirnov and binomial tests are at alpha = 0.001, seeds are fixed.
The bootstrap is asymptotic: with 50 topics of normal noise its p-values are uniform up to a few thousandths, which is small against
the deviation that the test of 1,500 p-values tolerates, 0.0502; no other allowance is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from scorecube.analyses import Bootstrap, Randomisation, Tukey
from scorecube.workflow.api import analyse, cube_from_scores

pytestmark = pytest.mark.slow
ALPHA, EXPERIMENTS, TRIALS, N_TOPICS = 0.001, 1500, 1000, 50
Test = Bootstrap | Randomisation


def experiments(
    n_runs: int, n_topics: int, seed: int, shift: float = 0.0, number: int = EXPERIMENTS
) -> xr.Dataset:
    """Return independent experiments as metrics; the first run is better by `shift` standard deviations of a difference."""
    chance = np.random.default_rng(seed)
    labels = [f"r{k}" for k in range(n_runs)], [f"t{k:02d}" for k in range(n_topics)]
    frames = {}
    for k in range(number):
        scores = (
            0.5
            + 0.1 * chance.standard_normal(n_topics)
            + 0.05 * chance.standard_normal((n_runs, n_topics))
        )
        scores[0] += shift * 0.05 * 2**0.5
        frames[f"m{k:04d}"] = pd.DataFrame(scores, *labels)
    return cube_from_scores(frames)


def p_values(cube: xr.Dataset, test: Any, seed: int = 1) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return p-values (experiment, pair)."""
    found: np.ndarray[Any, Any] = analyse(cube, test, trials=TRIALS, seed=seed, workers=1)[
        "p_value"
    ].values[:, 0]
    return found


def assert_uniform(found: np.ndarray[Any, Any]) -> None:
    """Refuse p-values that are not uniform on the steps 1/B, ..., 1 (at most 1/B from uniform on 0 .. 1)."""
    distance = stats.kstest(found, "uniform").statistic
    assert distance < stats.kstwo.isf(ALPHA, len(found)) + 1 / TRIALS
    for level in (0.05, 0.1, 0.5):
        assert_share((found <= level).sum(), len(found), level)


def assert_share(number: int, of: int, expected: float) -> None:
    """Refuse a number that is not binomial."""
    assert stats.binomtest(int(number), of, expected).pvalue > ALPHA, (number, of, expected)


@pytest.fixture(scope="module")
def null() -> xr.Dataset:
    return experiments(2, N_TOPICS, seed=11)


def test_the_deviation_tolerated_is_what_is_said_above() -> None:
    assert round(stats.kstwo.isf(ALPHA, EXPERIMENTS), 4) == 0.0502


def test_bootstrap_p_values_of_equal_runs_are_uniform(null: xr.Dataset) -> None:
    assert_uniform(p_values(null, Bootstrap())[:, 0])


def test_sign_flip_p_values_of_equal_runs_are_uniform(null: xr.Dataset) -> None:
    assert_uniform(p_values(null, Randomisation(plus_one=True))[:, 0])


def test_sign_flip_p_values_are_uniform_also_for_few_topics_and_odd_scores() -> None:
    # Exact for any symmetric difference, here of skew scores of two exchangeable runs on 12 topics.
    cube = experiments(2, 12, seed=12)
    skew = np.random.default_rng(13).exponential(size=cube["score"].shape) ** 2
    assert_uniform(p_values(cube.copy(data={"score": skew}), Randomisation(plus_one=True))[:, 0])


@pytest.mark.parametrize("test", [Bootstrap(), Randomisation()], ids=lambda test: test.name)
def test_a_small_true_difference_is_noticed_by_these_tests(test: Test) -> None:
    found = p_values(experiments(2, N_TOPICS, seed=14, shift=0.1), test)[:, 0]
    with pytest.raises(AssertionError):
        assert_uniform(found)


@pytest.mark.parametrize("n_runs", [2, 8])
def test_tukey_keeps_the_family_wise_error(n_runs: int) -> None:
    found = p_values(experiments(n_runs, 20, seed=15), Tukey(plus_one=True)).min(axis=1)
    # The smallest p-value of a family belongs to its range, whose null distribution is exact.
    assert_uniform(found)
    for level in (0.05, 0.01):
        assert_share((found <= level).sum(), EXPERIMENTS, level)


def test_without_care_for_families_errors_pile_up() -> None:
    found = p_values(experiments(8, 20, seed=15, number=400), Randomisation()).min(axis=1)
    assert (found < 0.05).mean() > 0.3


@pytest.mark.parametrize("test", [Bootstrap(), Randomisation(), Tukey()], ids=str)
def test_identical_runs_have_no_discriminative_power(test: Any) -> None:
    cube = experiments(6, N_TOPICS, seed=16, number=5)
    cube["score"][:, :, 1:] = cube["score"][:, :, :1].values
    result = analyse(cube, test, trials=TRIALS, seed=2, workers=1)
    assert (result["p_value"].values == 1.0).all()
    assert (result["share"].values == 0.0).all()


@pytest.mark.parametrize("test", [Bootstrap(), Randomisation(), Tukey()], ids=str)
def test_power_grows_with_the_true_difference_and_the_number_of_topics(test: Any) -> None:
    def power(shift: float, n_topics: int) -> float:
        return float(
            (
                p_values(experiments(2, n_topics, seed=17, shift=shift, number=400), test) < 0.05
            ).mean()
        )

    by_shift = [power(shift, 25) for shift in (0.0, 0.2, 0.4, 0.8, 1.5)]
    assert by_shift == sorted(by_shift)
    assert by_shift[0] < 0.1
    assert by_shift[-1] > 0.99
    # The t test's power, from the noncentral t distribution; three standard errors of 400 experiments and 0.02 for the resampling.
    expected = stats.nct.sf(stats.t.isf(0.05 / 2, 24), 24, 0.4 * 25**0.5)
    assert abs(by_shift[2] - expected) < 3 * (expected * (1 - expected) / 400) ** 0.5 + 0.02
    by_topics = [power(0.4, n_topics) for n_topics in (10, 25, 60)]
    assert by_topics == sorted(by_topics)
    assert by_topics[0] < by_topics[-1]

"""Checks of analyses: the same numbers on every cut, truth by other means, failures that are found, messages."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy
import xarray as xr

import scorecube as sc
from scorecube.analyses.simulation import check, claims
from scorecube.analyses.simulation.check import TEAMS, cell_labels, middle, summary
from scorecube.analyses.simulation.claims import SUBJECTS
from scorecube.analyses.simulation.populations import Population, fit_population
from scorecube.collection.rankings import with_rankings
from scorecube.collection.selection import cells
from scorecube.errors import BadPlan
from scorecube.report.results import headline
from scorecube.testing import simulate_cube, simulate_rankings

Array = np.ndarray[Any, Any]
N = 20
SMALL: dict[str, Any] = {"n": N, "n_resamples": 60, "at": (20, 40)}
OF_SCORES = [*SUBJECTS]


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(metrics=("P@10", "AP"), n_runs=12, seed=3)


@pytest.fixture(scope="module")
def population(cube: xr.Dataset) -> Population:
    return fit_population(cells(cube)[0])


@pytest.fixture(scope="module")
def pooled() -> xr.Dataset:
    rankings = simulate_rankings(n_runs=12, n_teams=5, depth=10, seed=1)
    return with_rankings(sc.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1"]), rankings)


FITTED: dict[Any, Population] = {}


def fit_once(scores: Array, **options: Any) -> Population:
    key = (scores.tobytes(), *options.items())
    if key not in FITTED:
        FITTED[key] = fit_population(scores, **options)
    return FITTED[key]


@pytest.fixture(autouse=True)
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the truth of swap rates and subsets be from fewer samples, and fit each population once."""
    monkeypatch.setattr(check, "fit_population", fit_once)
    monkeypatch.setattr(claims, "TRUE_TOPICS", 2000)
    monkeypatch.setattr(claims, "TRUE_TRIALS", 500)
    monkeypatch.setattr(claims, "TRUE_SUBSETS", 400)


def checked(cube: xr.Dataset, subject: str, trials: int = 5, **options: Any) -> xr.Dataset:
    settings: dict[str, Any] = {"workers": 1, "block_units": None}
    settings |= {key: options.pop(key) for key in tuple(options) if key in settings}
    analysis = sc.Check(subject=subject, **SMALL | options)  # type: ignore[arg-type]
    return sc.analyse(cube, analysis, trials=trials, seed=4, **settings)


def subject_of(name: str, cube: xr.Dataset) -> claims.Subject:
    return claims.SUBJECTS[name](N, 60, (20, 40), cell_labels(cube))


@pytest.mark.parametrize("subject", [*SUBJECTS, TEAMS])
def test_numbers_do_not_depend_on_blocks(
    cube: xr.Dataset, pooled: xr.Dataset, subject: str
) -> None:
    source = pooled if subject == "teams" else cube
    options: dict[str, Any] = {"n_resamples": None} if subject == "teams" else {}
    whole = checked(source, subject, **options)
    cut = checked(source, subject, workers=2, block_units=2, **options)
    for name in whole.data_vars:
        np.testing.assert_array_equal(whole[name].values, cut[name].values, err_msg=str(name))
    assert int(whole["n_judged"].max()) == 5


@pytest.mark.parametrize("subject", ["ranks", "teams"])
def test_more_samples_keep_the_first(cube: xr.Dataset, pooled: xr.Dataset, subject: str) -> None:
    source = pooled if subject == "teams" else cube
    few, many = checked(source, subject, 3), checked(source, subject, 7)
    assert (few["n_held"] <= many["n_held"]).all()
    np.testing.assert_array_equal(few["truth"].values, many["truth"].values)


def test_true_tau_and_ranks_are_those_of_the_true_means(
    cube: xr.Dataset, population: Population
) -> None:
    means = population.means
    pairs = list(combinations(range(12), 2))
    signs = np.array([np.sign(np.round(row[i] - row[j], 7)) for row in means for i, j in pairs])
    first, second = signs.reshape(2, -1)
    truth = subject_of("correlate", cube).truth(population, 1)["truth"]
    assert truth[0, 0] == pytest.approx((first * second).sum() / len(pairs))
    lowest, highest = subject_of("ranks", cube).truth(population, 1)["ranks"]
    for cell, row in enumerate(means.tolist()):
        for run, mean in enumerate(row):
            better = sum(other > mean + 1e-7 for other in row)
            worse = sum(other < mean - 1e-7 for other in row)
            assert (lowest[cell, run], highest[cell, run]) == (1 + better, 12 - worse)


def test_equal_means_share_all_ranks(cube: xr.Dataset) -> None:
    result = checked(cube, "ranks", 1, null=True)
    assert (result["truth"].sel(claim="all ranks together") == 12).all()
    assert (result["truth"].sel(claim="the 1 best") == 12).all()


def test_true_variances_are_those_of_many_topics(cube: xr.Dataset, population: Population) -> None:
    """Number of topics and coefficients of 20,000 topics, by plain formulas, are near the exact ones of the population."""
    drawn = population.draw(9, 0, 20_000).reshape(2, 12, -1)
    sizes = subject_of("design", cube).truth(population, 1)
    exact = subject_of("reliability", cube).truth(population, 1)["truth"]
    for cell, scores in enumerate(drawn):
        within = scores.var(axis=1, ddof=1).mean()
        residuals = scores - scores.mean(axis=1, keepdims=True)
        residuals = residuals - residuals.mean(axis=0)
        rest = (residuals**2).sum() / (11 * (scores.shape[1] - 1))
        topics = 12 * scores.mean(axis=0).var(ddof=1) - rest
        systems = scores.mean(axis=1).var(ddof=1)
        assert sizes["truth"][cell, 0] == pytest.approx(needed(within), rel=0.05, abs=1)
        assert sizes["truth"][cell, 1] == pytest.approx(needed(rest), rel=0.05, abs=1)
        erho2 = systems / (systems + rest / N)
        phi = systems / (systems + (topics / 12 + rest) / N)
        np.testing.assert_allclose(exact[cell, [0, 2]], [erho2, phi], atol=0.01)
        target = np.array([rest, rest + topics / 12]) * 19 / systems
        np.testing.assert_allclose(exact[cell, [4, 6]], target, rtol=0.1, atol=1)
        half = np.array([np.var(a - b, ddof=1) / 2 for a, b in combinations(scores, 2)])
        np.testing.assert_allclose(sizes["spread"][cell], half, rtol=0.15, atol=1e-4)


def needed(variance: float) -> int:
    """Return the topics with which a paired t test has a power of .8 for a difference of .1, for differences with twice the variance."""
    n = 2
    while True:
        shift = 0.1 * np.sqrt(n / (2 * variance))
        limit = scipy.stats.t.isf(0.025, n - 1)
        if scipy.stats.nct.sf(limit, n - 1, shift) + scipy.stats.nct.cdf(-limit, n - 1, shift) >= 0.8:  # fmt: skip
            return n
        n += 1


def test_power_is_that_of_simulated_t_tests(cube: xr.Dataset, population: Population) -> None:
    """With the true number of topics, t tests of simulated scores with a difference of .1 have the mean power that is claimed."""
    design = subject_of("design", cube)
    true = design.truth(population, 1)
    n = int(true["truth"][1, 0])
    found = sc.design.achieved_power(true["spread"][1], 0.1, n, method="t")["power"].values
    scores = population.draw(5, 0, n * 400).reshape(2, 12, 400, n)[1]
    centred = scores - population.means[1][:, None, None]
    rejected = [
        np.mean(scipy.stats.ttest_1samp(first - second + 0.1, 0.0, axis=-1).pvalue <= 0.05)
        for first, second in combinations(centred, 2)
    ]
    assert np.mean(rejected) == pytest.approx(found.mean(), abs=0.02)


@pytest.mark.parametrize("size", [10, 40])
def test_true_swap_rates_are_those_of_new_topics(
    cube: xr.Dataset, population: Population, size: int
) -> None:
    """A plain simulation: two samples of new topics for each trial, pair by pair."""
    swap = subject_of("swap", cube)
    truth = swap.truth(population, 1)["truth"]
    trials = 600
    drawn = population.draw(77, 0, trials * 2 * size).reshape(2, 12, trials, 2, size)
    means = drawn.sum(axis=-1) / size
    first, second = np.triu_indices(12, 1)
    for cell in range(2):
        one, two = np.moveaxis(means[cell][first] - means[cell][second], -1, 0)
        one, two = np.round(one, 9), np.round(two, 9)
        bins = np.floor(np.abs(one) / 0.01 + 1e-7).astype(int)
        opposite = np.where(one * two == 0, (one != 0) | (two != 0), one * two < 0)
        for k, claim in enumerate(swap.claims):
            if not claim.quantity.startswith("swap rate") or claim.size != size:
                continue
            inside = bins == round(float(claim.quantity.split()[-1]) * 100)
            if np.isfinite(truth[cell, k]) and inside.sum() > 500:
                assert opposite[inside].mean() == pytest.approx(truth[cell, k], abs=0.05)


def test_few_subsets_of_teams_are_compared_with_all(pooled: xr.Dataset) -> None:
    """The truth of one team left out is the mean over the five teams."""
    result = checked(pooled, "teams", 40, n_resamples=10)
    every = sc.analyse(pooled, sc.Teams(leave=(1,), distinct=True), trials=5, seed=1)
    found = result["truth"].isel(gain=0, claim=0)
    assert str(found["claim"].values) == "variance, teams left out"
    exact = every["variance"].isel(leave=1, topic_step=0, gain=0)
    error = 5 * exact.std("trial") / 400**0.5
    assert (np.abs(found.values - exact.mean("trial").values) <= error.values + 1e-15).all()
    held = result["held"].isel(claim=0).values
    assert (held >= 0.8).all()


def test_an_end_of_an_interval_is_in_it() -> None:
    low, high = np.array([0.0, 0.5, 0.7, np.nan, np.nan, 0.0]), np.array([0.5, 1.0, 1.0, 0.4, np.nan, 1.0])  # fmt: skip
    truth = np.array([0.5, 0.5, 0.5, 0.4, 0.5, np.nan])
    expected = [1.0, 1.0, 0.0, 1.0, np.nan, np.nan]
    np.testing.assert_array_equal(claims.covered(low, high, truth), expected)
    below = claims.covered(np.array([0.6, np.nan]), np.array([np.nan, 0.4]), np.array([0.5, 0.5]))
    assert below.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_bins", [1, 2, 3, 10, 11, 20])
def test_bins_that_do_not_exist_have_no_rate(cube: xr.Dataset, n_bins: int) -> None:
    dims, values = ("metric", "size", "bin"), np.arange(4.0 * n_bins).reshape(2, 2, n_bins)
    swap = subject_of("swap", cube)
    assert isinstance(swap, claims.SwapClaims)
    chosen = swap._of_bins(xr.Dataset({"swap_rate": (dims, values)}), "swap_rate")
    expected = np.full((2, len(claims.BINS), 2), np.nan)
    for k, number in enumerate(claims.BINS):
        if number < n_bins:
            expected[:, k] = values[:, :, number]
    np.testing.assert_array_equal(chosen, expected)


def test_sets_of_best_runs_are_those_of_simultaneous_rank_sets(
    cube: xr.Dataset, population: Population
) -> None:
    ranks = subject_of("ranks", cube)
    true = ranks.truth(population, 1)
    found = ranks.measure(cube, true, 7)
    lowest, highest = true["ranks"]
    for marginal in (False, True):
        result = sc.analyse(cube, sc.Ranks(marginal=marginal), trials=60, seed=7, workers=1)
        low, high = (result[f"rank_{end}"].values[:, 0] for end in ("low", "high"))
        for cell in range(2):
            runs = range(12)
            held = [low[cell, r] <= lowest[cell, r] and highest[cell, r] <= high[cell, r] for r in runs]  # fmt: skip
            share = float(np.mean(held)) if marginal else float(all(held))
            size = float(np.mean([high[cell, r] - low[cell, r] + 1 for r in runs]))
            assert found[[0, 3], cell, int(marginal)].tolist() == [size, share]
            for k, top in enumerate(() if marginal else claims.TOPS, 2):
                chosen = [r for r in runs if low[cell, r] <= top]
                best = {r for r in runs if lowest[cell, r] <= top}
                assert found[[0, 3], cell, k].tolist() == [len(chosen), float(best <= {*chosen})]
    np.testing.assert_array_equal(found[4], true["truth"])


def test_intervals_that_are_too_narrow_are_found(
    cube: xr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = checked(cube, "reliability", 40)
    held = whole["held"].sel(claim="E rho^2, F")
    assert (held > 0.85).all()
    level = claims.LEVEL
    monkeypatch.setattr(claims, "LEVEL", 0.4)
    narrow = checked(cube, "reliability", 40)["held"].sel(claim="E rho^2, F")
    assert (narrow < held - 0.2).all()
    assert level == 0.95


def test_summary_counts_what_exists() -> None:
    """One claim in four samples: held, below, above, and without an upper limit; an estimate is missing once."""
    claimed = np.array(
        [
            [1.0, 0.5, 2.5, np.nan],
            [0.5, 0.0, 2.0, 0.0],
            [1.5, 0.8, 3.0, np.nan],
            [1.0, 0.0, 0.0, 1.0],
            [1.0, 1.0, 1.0, 1.0],
        ]
    )[:, None, None]
    found = {name: values.item() for name, values in summary(claimed).items()}
    assert found["held"] == 0.5
    assert (found["n_held"], found["n_judged"], found["n_estimated"]) == (2, 4, 3)
    assert (found["n_below"], found["n_above"]) == (1, 1)
    assert found["bias"] == pytest.approx((0.0 - 0.5 + 1.5) / 3)
    assert found["error"] == pytest.approx(((0.25 + 2.25) / 3) ** 0.5)
    assert found["width"] == 1.0
    assert found["held_low"] < 0.5 < found["held_high"]
    infinite = np.array([[np.inf], [np.inf], [np.inf], [0.0], [2.0]])[:, None, None]
    without = {name: values.item() for name, values in summary(infinite).items()}
    assert (without["n_above"], without["n_estimated"], without["held"]) == (1, 0, 0.0)
    nothing = summary(np.full((5, 1, 1, 2), np.nan))
    assert np.isnan(nothing["held"]).all()
    assert np.isnan(middle(np.array([np.nan, np.nan])))


def test_tables_show_what_fails_first(cube: xr.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LEVEL", 0.4)
    result = checked(cube, "reliability", 30)
    result = result.assign_coords(nominal=("claim", np.full(result.sizes["claim"], 0.95)))
    table = sc.table(result)
    short = (table["held"] - table["nominal"]).to_numpy()
    assert (np.diff(short) >= 0).all()
    lines = headline(result)
    assert "fails" in lines[0]
    assert "more claims fail" in lines[-1]


@pytest.mark.parametrize("subject", OF_SCORES)
def test_figures_and_tables_exist(cube: xr.Dataset, subject: str) -> None:
    result = checked(cube, subject, 2)
    table = sc.table(result)
    assert set(table["subject"]) == {subject}
    assert len(sc.figure(result).axes) >= 1
    assert table["samples"].max() == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subject": "swap", "null": True}, "without differences of runs there is nothing"),
        ({"subject": "stability"}, "not one of swap, correlate, design"),
        ({"subject": "ranks", "n": 5}, "n"),
    ],
)
def test_bad_options(cube: xr.Dataset, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadPlan, match=message):
        sc.analyse(cube, sc.Check(**options), trials=2, seed=1)


def test_bad_cubes(cube: xr.Dataset) -> None:
    with pytest.raises(BadPlan, match="rankings by two metrics, found 1"):
        checked(cube.isel(metric=[0]), "correlate")
    with pytest.raises(BadPlan, match="a check needs 3 runs, found 2 runs"):
        checked(cube.isel(run=[0, 1]), "ranks")
    with pytest.raises(BadPlan, match="use fewer metrics, trials or workers"):
        checked(cube, "ranks", 10**8)
    with pytest.raises(BadPlan, match="no samples can be replayed"):
        sc.Check().replay(None, xr.Dataset(), 1)  # type: ignore[arg-type]


def test_required_differences_are_those_of_the_largest_samples(cube: xr.Dataset) -> None:
    swap = claims.SwapClaims(40, 60, (40,), cell_labels(cube))
    assert swap.sizes == (5, 10, 15, 20)
    empty = np.full((2, len(swap.claims)), np.nan)
    estimate, low, high, _, _ = swap.measure(cube, {"truth": empty}, 7)
    options = sc.Swap(sampling="disjoint", size=20, bin_width=claims.BIN_WIDTH)
    alone = sc.analyse(cube, options, trials=60, seed=7, workers=1).isel(
        gain=0, size=0, confidence=0
    )
    for found, ending in ((estimate, ""), (low, "_low"), (high, "_high")):
        for k, name in enumerate(("required_difference_smooth", "share")):
            values = alone[(name if k or not ending else "required") + ending].values
            np.testing.assert_array_equal(found[:, k], values)
    assert np.isfinite(low[:, :2]).any()
    assert np.isnan(low[:, 2:]).all()
    np.testing.assert_array_equal(estimate[:, 2], alone["swap_rate"].isel(bin=0).values)

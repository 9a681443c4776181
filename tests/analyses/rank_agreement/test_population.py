"""Correlations over infinitely many topics: the same for any blocks and seeds, in both analyses, and with the stated coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import Agreement, Correlation
from scorecube.analyses.rank_agreement import population
from scorecube.kernels.rank.concordance import compare, pairs_of, tau_a
from scorecube.names import Purpose
from scorecube.report.results import headline, table
from scorecube.report.views import view_of
from scorecube.workflow.api import cube_from_scores
from tests.validation.rates import tau_coverage
from tests.validation.two_metrics import DESIGNS, simulate, two_metrics


def collection(n_runs: int = 20, n_topics: int = 30, tau: float = 0.8, seed: int = 1) -> xr.Dataset:
    scores = simulate(np.random.default_rng(seed), n_runs, n_topics, tau, DESIGNS["teams"])[0]
    runs, topics = [f"r{k:02d}" for k in range(n_runs)], [f"{k:02d}" for k in range(n_topics)]
    frames = {name: pd.DataFrame(each, runs, topics) for name, each in zip(("AP", "RR"), scores, strict=True)}  # fmt: skip
    return cube_from_scores(frames)


def estimate(result: xr.Dataset) -> dict[str, float]:
    at = result.sel(statistic="tau").isel(comparison=0)
    return {name: float(at[name]) for name in population.MEANINGS}


def test_blocks_seeds_and_other_metrics_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cube = collection()
    first = estimate(sc.analyse(cube, Correlation(), trials=5, seed=1))
    assert first == estimate(sc.analyse(cube, Correlation(), trials=3, seed=9, workers=2))
    more = cube_from_scores({
        name: pd.DataFrame(cube["score"].sel(metric=metric).isel(gain=0).values ** power, cube["run"].values, cube["topic"].values)
        for name, metric, power in (("AP", "AP", 1), ("RR", "RR", 1), ("P@10", "AP", 3))
    })  # fmt: skip
    result = sc.analyse(more, Correlation(), trials=5, seed=1)
    chosen = (result["metric_a"].values == "AP") & (result["metric_b"].values == "RR")
    assert estimate(result.isel(comparison=np.flatnonzero(chosen))) == first
    monkeypatch.setattr(population, "trials_at_once", lambda size: 7)
    assert first == estimate(sc.analyse(cube, Correlation(), trials=5, seed=1))


def test_draws_have_addresses() -> None:
    words = population._uniforms(3, 6, 10)
    np.testing.assert_array_equal(words[1:2], population._uniforms(4, 5, 10))
    np.testing.assert_array_equal(words[:, :6], population._uniforms(3, 6, 6))
    key = np.array([population.SEED, int(Purpose.POPULATION_EFFECTS) + (1 << 32)], np.uint64)
    raw = np.random.Philox(counter=[0, 4, 0, 0], key=key).random_raw(10)
    np.testing.assert_array_equal(words[1], ((raw >> np.uint64(11)) + 0.5) / 2**53)


def test_both_analyses_share_one_estimate() -> None:
    cube = collection()
    first, second = (cube.sel(metric=[name]).assign_coords(metric=["AP"]) for name in ("AP", "RR"))
    result = sc.analyse(sc.judgement_sets(first, second, ("a", "b")), Agreement(), trials=5, seed=1)
    at = result.isel(metric=0, gain=0).sel(statistic="tau")
    correlated = sc.analyse(cube, Correlation(), trials=5, seed=1)
    assert {name: float(at[name]) for name in population.MEANINGS} == estimate(correlated)


def test_every_printed_interval_contains_its_value() -> None:
    cube = collection(60, 25, tau=1.0, seed=4)
    result = sc.analyse(cube, Correlation(), trials=300, seed=1)
    frame = table(result, "metrics")
    ((_, shown), *_) = view_of("correlate").page_tables(
        {name: sc.table(result, name) for name in view_of("correlate").tables}
    )
    # Limits by the null variance, which may exceed 1, stand in the CSV file and not on the page.
    assert "tau_population_high" in shown
    assert "tau_low" not in shown
    for value, low, high in (
        ("tau_population", "tau_population_low", "tau_population_high"),
        ("tau", "topics_low", "topics_high"),
    ):
        outside = (frame[low] > frame[value]) | (frame[high] < frame[value])
        assert not outside.any()
    assert (frame["tau_population_high"] <= 1).all()
    # With so similar rankings the percentile interval lies below the observed tau, and is not printed.
    assert frame["topics_low"].isna().all()
    assert float(result["high"].sel(resampled="topics").sel(statistic="tau").max()) < float(
        result["tau"].max()
    )
    assert "over infinitely many topics" in headline(result)[0]


def test_rankings_that_are_the_same_have_tau_one() -> None:
    cube = collection()
    scores = {name: pd.DataFrame(cube["score"].sel(metric="AP").isel(gain=0).values * factor, cube["run"].values, cube["topic"].values) for name, factor in (("AP", 1), ("RR", 0.5), ("Q", -1))}  # fmt: skip
    result = sc.analyse(cube_from_scores(scores), Correlation(), trials=2, seed=1)
    found = result.sel(statistic="tau")
    signs = np.where((result["metric_a"].values == "Q") | (result["metric_b"].values == "Q"), -1, 1)
    for name in population.MEANINGS:
        np.testing.assert_array_equal(found[name], signs)


@pytest.mark.parametrize(("runs", "topics", "reason"), [(9, 30, "9 runs"), (20, 9, "9 topics")])
def test_too_little_has_no_interval_and_a_reason(runs: int, topics: int, reason: str) -> None:
    result = sc.analyse(collection(runs, topics), Correlation(), trials=5, seed=1)
    assert np.isnan(estimate(result)["population_low"])
    assert any(f"no interval over infinitely many topics: {reason}" in line for line in headline(result))  # fmt: skip


def plain_taus(units: Any) -> Any:
    """Return the observed tau and the drawn ones."""
    one, two = np.array([0]), np.array([1])
    parts = [compare(each, np.zeros(2), one, two) for each in population.population_rankings(units, one, two)]  # fmt: skip
    pairs = pairs_of(units.shape[1])
    return np.concatenate([tau_a(each.concordant, each.discordant, pairs)[:, 0] for each in parts])


def test_more_topics_bring_limits_together_at_the_truth() -> None:
    widths = []
    for n_topics in (25, 100, 1600):
        scores, means = simulate(np.random.default_rng(8), 30, n_topics, 0.8, DESIGNS["normal"])
        drawn = plain_taus(np.rint(scores * 2**30))
        low, high = np.quantile(drawn, [0.025, 0.975])
        widths.append(high - low)
    truth = np.sign(np.subtract.outer(means[0], means[0]) * np.subtract.outer(means[1], means[1]))
    truth = truth[np.triu_indices(30, 1)].mean()
    assert widths[0] > widths[1] > widths[2]
    assert abs(np.median(drawn) - truth) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("design", ["normal", "teams", "bent", "bounded"])
@pytest.mark.parametrize("tau", [0.8, 0.95, 1.0])
def test_coverage_is_that_of_the_page(design: str, tau: float) -> None:
    values = tau_coverage(two_metrics(design, 30, 50, tau), 100, 1)
    found = {name: each.mean() for name, each in values.items()}
    # The page has .94 or more; three standard errors of 100 repetitions are .065.
    assert found["tau"] >= 0.875, found
    assert found["bias of the estimate"] > found["bias of the observed tau"]
    assert abs(found["bias of the estimate"]) < 0.05


def test_a_last_part_may_be_shorter_than_a_round_of_the_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with 88 runs and 5 metrics: the last part had one draw, and two models none."""
    units = np.random.default_rng(1).integers(0, 1000, (2, 6, 10)).astype(float)
    pair = np.array([0]), np.array([1])
    whole = np.concatenate(list(population.population_rankings(units, *pair)))
    monkeypatch.setattr(population, "trials_at_once", lambda _: population.N_DRAWS - 1)
    parts = list(population.population_rankings(units, *pair))
    assert [len(part) for part in parts] == [population.N_DRAWS - 1, 1]
    # The unit of the integers is that of a part; the order of the runs is the same.
    np.testing.assert_array_equal(
        np.argsort(np.concatenate(parts), axis=-1, kind="stable"),
        np.argsort(whole, axis=-1, kind="stable"),
    )

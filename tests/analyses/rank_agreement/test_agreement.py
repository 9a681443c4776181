"""Two sets of judgements: against exact fractions, published values, and what must hold for any two sets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.analyses import Agreement, Bootstrap, Paired
from scorecube.analyses.plan import make_plan
from scorecube.analyses.rank_agreement import agreement
from scorecube.analyses.rank_agreement.agreement_quantities import DECISIONS, TOP_PAIR_COUNTS
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube
from tests.oracles.agreement import FAMILIES, Table, as_cube, topic_positions
from tests.oracles.judgements import decisions
from tests.oracles.splits import (
    Values,
    compare,
    order_statistics,
    rank,
    sums,
    tau_a,
    tau_ap_accuracy,
    tau_b,
)
from tests.units import centred_units

DISAGREEMENTS = [name for name in DECISIONS if name.endswith("disagreement")]


def numbers(result: xr.Dataset) -> xr.Dataset:
    return result.drop_attrs()


def joined(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    return sc.judgement_sets(first, second, ("a", "b"))


def agree(one: xr.Dataset, other: xr.Dataset, /, *, trials: int = 20, **options: Any) -> xr.Dataset:
    return sc.analyse(joined(one, other), Agreement(**options), trials=trials, seed=1, workers=1)


def of_means(*sets: Values) -> tuple[xr.Dataset, ...]:
    """Return a cube for each list of run means, with the same score on all of three topics."""
    return tuple(as_cube({"m": [[value] * 3 for value in values]}) for values in sets)


@pytest.fixture(scope="module")
def pair() -> tuple[xr.Dataset, xr.Dataset]:
    how: dict[str, Any] = {"metrics": ("AP", "nDCG@10"), "gains": ("3:2:1", "1:1:1"), "n_runs": 12}
    return simulate_cube(seed=5, **how), simulate_cube(seed=6, **how)


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[Table, Table]:
    family = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    n_runs, n_topics = draw(st.integers(2, 5)), draw(st.integers(2, 7))
    row = st.lists(st.sampled_from(family), min_size=n_topics, max_size=n_topics)
    table = st.lists(row, min_size=n_runs, max_size=n_runs)
    return draw(table), draw(table)


def expected_values(a: Values, b: Values) -> list[float]:
    """Return tau, tau-b and tau-AP of two rankings."""
    return [float(tau_a(a, b)), tau_b(a, b), float(tau_ap_accuracy(a, b))]


@settings(max_examples=80)
@given(two_tables(), st.integers(0, 2**64 - 1))
def test_rankings_and_intervals_are_exact(tables: tuple[Table, Table], seed: int) -> None:
    cube, trials = joined(*(as_cube({"m": table}) for table in tables)), 7
    analysis = Agreement(confidence=0.5)
    result = sc.analyse(cube, analysis, trials=trials, seed=seed, workers=1).isel(metric=0, gain=0)
    topics = range(len(tables[0][0]))
    a, b = (sums(table, topics) for table in tables)
    np.testing.assert_allclose(
        result["agreement"].values, expected_values(a, b), rtol=1e-12, atol=1e-12
    )
    assert result["rank_first"].values.tolist() == rank(a)
    assert result["rank_second"].values.tolist() == rank(b)
    lost = [after - before for before, after in zip(rank(a), rank(b), strict=True)]
    assert int(result["drop"]) == max(lost)
    assert lost[int(result["drop_run"])] == max(lost)
    for name, values in (("mean_first", a), ("mean_second", b)):
        np.testing.assert_allclose(
            result[name].values, [float(each / len(topics)) for each in values], atol=1e-12
        )
    drawn = topic_positions(analysis.samples(cube, seed, trials), cube)
    both = [[sums(table, sample) for table in tables] for sample in drawn]
    replicates = np.array([expected_values(x, y) for x, y in both]).T
    np.testing.assert_allclose(result["replicate"].values, replicates, rtol=1e-12, atol=1e-12)
    tau = [tau_a(x, y) for x, y in both]
    found = (float(result["low"].values[0]), float(result["high"].values[0]))
    assert found == tuple(map(float, order_statistics(tau, Fraction(1, 4))))
    drops = order_statistics([Fraction(compare(x, y).drop) for x, y in both], Fraction(1, 4))
    assert (float(result["drop_low"]), float(result["drop_high"])) == tuple(map(float, drops))


@settings(max_examples=60)
@given(two_tables(), st.sampled_from([0.05, 0.3, 0.7]), st.integers(2, 6))
def test_decisions_are_those_of_single_tests(
    tables: tuple[Table, Table], alpha: float, top: int
) -> None:
    cubes = [as_cube({"m": table}) for table in tables]
    with mock.patch.object(agreement, "TOP", top):
        result = agree(*cubes, trials=2, alphas=(alpha,)).squeeze()
    expected = decisions(*tables, alpha, top)
    assert {name: int(result[name]) for name in (*DECISIONS, *TOP_PAIR_COUNTS)} == {
        name: expected[name] for name in (*DECISIONS, *TOP_PAIR_COUNTS)
    }


@pytest.mark.parametrize(("n_runs", "n_warnings"), [(9, 1), (10, 0)])
def test_fewer_runs_than_the_top_are_warned_of(n_runs: int, n_warnings: int) -> None:
    first, second = (simulate_cube(n_runs=n_runs, seed=seed) for seed in (1, 2))
    warnings = make_plan(sc.judgement_sets(first, second), Agreement(), trials=2, seed=1).warnings
    assert sum("there are only" in line for line in warnings) == n_warnings


IRCOR = {
    1: ("0.897 0.372 0.908 0.898 0.661 0.062 0.177 0.384 0.498 0.992", "0.82 0.406 0.817 0.953 0.673 0.073 0.364 0.547 0.589 0.988", "0.8 0.4 0.8 1 0.7 0.1 0.4 0.5 0.6 1"),
    2: ("0.266 0.573 0.202 0.945 0.629 0.206 0.687 0.77 0.718 0.38", "0.263 0.843 0.728 0.928 0.08 0.114 0.467 0.641 0.973 0.644", "0.3 0.8 0.7 0.9 0.1 0.1 0.5 0.6 1 0.6"),
    3: ("0.185 0.573 0.944 0.129 0.468 0.553 0.761 0.405 0.976 0.445", "0.845 0.272 0.275 0.924 0.605 0.334 0.162 0.872 0.018 0.25", "0.8 0.3 0.3 0.9 0.6 0.3 0.2 0.9 0 0.2"),
}  # fmt: skip
"""Test vectors of ircor: truth, estimate, estimate with ties."""


@pytest.mark.parametrize(
    ("number", "ties", "tau", "tau_ap"),
    [
        (1, False, 0.9111, 0.8519), (2, False, 0.2889, 0.2504), (3, False, -0.6889, -0.6971),
        (1, True, 0.8889, 0.7454), (2, True, 0.3333, 0.2692), (3, True, -0.6222, -0.5558),
    ],
)  # fmt: skip
def test_correlations_are_those_of_ircor(
    number: int, ties: bool, tau: float, tau_ap: float
) -> None:
    truth, estimate, tied = ([Fraction(word) for word in text.split()] for text in IRCOR[number])
    found = agree(*of_means(truth, tied if ties else estimate))["agreement"].squeeze()
    assert float(found.sel(statistic="tau")) == pytest.approx(tau, abs=5e-5)
    assert float(found.sel(statistic="tau_ap")) == pytest.approx(tau_ap, abs=5e-5)


def test_equal_judgements_agree_in_everything(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    result = agree(pair[0], pair[0])
    for name in ("agreement", "low", "high"):
        np.testing.assert_allclose(result[name], 1.0, rtol=1e-15)
        assert (result[name].sel(statistic="tau") == 1.0).all()
    assert int(result["drop"].max()) == 0
    assert all(
        int(result[name].sum()) == 0
        for name in (*DISAGREEMENTS, "mixed_agreement", "false_positives", "false_negatives")
    )
    table = sc.table(result, "rankings")
    assert set(table["drop_run"]) == {""}
    assert (sc.table(result, "runs")["rank_change"] == 0).all()


def test_the_opposite_judgements_disagree_in_everything(
    pair: tuple[xr.Dataset, xr.Dataset],
) -> None:
    first = pair[0]
    result = agree(first, first.assign(score=1.0 - first["score"]))
    for statistic in ("tau", "tau_b", "tau_ap"):
        np.testing.assert_allclose(
            result[["agreement", "low", "high"]].sel(statistic=statistic).to_array(),
            -1.0,
            rtol=1e-15,
        )
    assert int(result["drop"].min()) == 11
    assert all(int(result[name].sum()) == 0 for name in DECISIONS if name not in DISAGREEMENTS)
    assert int(result["mixed_disagreement"].sum()) == 0
    assert (result["active_disagreement"] > 0).all()


def test_to_exchange_the_sets_exchanges_what_is_not_symmetric(
    pair: tuple[xr.Dataset, xr.Dataset],
) -> None:
    there, back = agree(*pair), agree(*pair[::-1])
    for statistic in ("tau", "tau_b"):
        for name in ("agreement", "low", "high", "replicate"):
            np.testing.assert_array_equal(
                there[name].sel(statistic=statistic), back[name].sel(statistic=statistic)
            )
    for name in DECISIONS:
        np.testing.assert_array_equal(there[name], back[name])
    np.testing.assert_array_equal(there["rank_first"], back["rank_second"])


def test_samples_are_those_of_the_bootstrap_test(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    drawn = Agreement().samples(joined(*pair), 9, 6)
    assert drawn.equals(Bootstrap().samples(pair[0], 9, 6))


@pytest.mark.parametrize(("workers", "block_units"), [(1, 1), (2, 7), (3, 64), (1, 200)])
def test_blocks_and_workers_change_no_bit(
    pair: tuple[xr.Dataset, xr.Dataset], workers: int, block_units: int
) -> None:
    cube = joined(*pair)
    expected = sc.analyse(cube, Agreement(), trials=130, seed=3, workers=1, block_units=130)
    result = sc.analyse(
        cube, Agreement(), trials=130, seed=3, workers=workers, block_units=block_units
    )
    xr.testing.assert_identical(numbers(result), numbers(expected))


def test_metrics_do_not_know_of_each_other(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    both, alone = agree(*pair), agree(*(cube.sel(metric=["nDCG@10"]) for cube in pair))
    xr.testing.assert_identical(numbers(both.sel(metric=["nDCG@10"])), numbers(alone))


def test_gain_settings_do_not_know_of_each_other(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    both = agree(*pair)
    for gain in ("3:2:1", "1:1:1"):
        alone = agree(*(cube.sel(gain=[gain]) for cube in pair))
        xr.testing.assert_identical(numbers(both.sel(gain=[gain])), numbers(alone))
    assert not both.sel(metric="nDCG@10", gain="3:2:1").equals(
        both.sel(metric="nDCG@10", gain="1:1:1")
    )


def test_of_runs_that_lose_equally_many_ranks_the_best_is_named() -> None:
    before, after = ([Fraction(k, 10) for k in ranks] for ranks in ((3, 4, 2, 1), (1, 2, 4, 3)))
    result = agree(*of_means(before, after)).squeeze()
    assert (int(result["drop"]), int(result["drop_run"])) == (2, 1)
    opposite = agree(*of_means(before[:2], before[1::-1])).squeeze()
    assert (int(opposite["drop"]), int(opposite["drop_run"])) == (1, 1)


def test_the_bias_is_that_of_the_replicates(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    result = agree(*pair, trials=60)
    np.testing.assert_allclose(
        result["bias"], result["replicate"].mean("trial") - result["agreement"], atol=1e-12
    )


def test_runs_topics_and_metrics_are_matched_by_label(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    first = pair[0].isel(run=slice(0, 9), topic=slice(5, 50))
    second = (
        pair[1].isel(run=slice(2, 12), topic=slice(0, 40)).sel(metric=["nDCG@10"], gain=["1:1:1"])
    )
    cube = joined(first, second)
    assert cube["gain"].values.tolist() == ["a", "b"]
    assert (cube.sizes["run"], cube.sizes["topic"], cube.sizes["metric"]) == (7, 35, 1)
    notes = " ".join(cube.attrs["left_out"])
    for words in (
        "only a has it (metric): AP",
        "only a has it (gain): 3:2:1",
        "only a has it (run)",
        "only b has it (run)",
        "and 5 more",
    ):
        assert words in notes
    common = {
        "run": cube["run"].values,
        "topic": cube["topic"].values,
        "metric": ["nDCG@10"],
        "gain": ["1:1:1"],
    }
    expected = agree(first.sel(common), second.sel(common))
    result = sc.analyse(cube, Agreement(), trials=20, seed=1, workers=1)
    xr.testing.assert_identical(numbers(result), numbers(expected))
    assert result.attrs["notes"] == cube.attrs["left_out"]


def test_one_gain_setting_each_is_matched_whatever_its_name(
    pair: tuple[xr.Dataset, xr.Dataset],
) -> None:
    cube = joined(pair[0].isel(gain=[0]), pair[1].isel(gain=[1]))
    result = sc.analyse(cube, Agreement(), trials=3, seed=1)
    assert result["gain"].values.tolist() == ["3:2:1 | 1:1:1"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (({"run": slice(0, 3)}, {"run": slice(2, 9)}), "have 1 run in common"),
        (({"topic": slice(0, 20)}, {"topic": slice(20, 50)}), "have 0 topics in common"),
        (({"metric": [0]}, {"metric": [1]}), "no metric in common: AP and nDCG@10"),
    ],
)
def test_too_little_in_common_is_refused(
    pair: tuple[xr.Dataset, xr.Dataset], parts: tuple[dict[str, Any], dict[str, Any]], message: str
) -> None:
    with pytest.raises(BadPlan, match=message):
        joined(pair[0].isel(parts[0]), pair[1].isel(parts[1]))


def test_other_gain_settings_are_refused(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    other = pair[1].assign_coords(gain=np.array(["2:1", "10:1"], object))
    with pytest.raises(BadPlan, match="no gain setting in common: 3:2:1, 1:1:1 and 2:1, 10:1"):
        joined(pair[0], other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 0.0}, "expected a number above 0 and below 1"), ({"alphas": ()}, "expected a list that is not empty"), ({"second": "c"}, "the sets of judgements are a and b; the plan is for a and c"),
    ],
)  # fmt: skip
def test_impossible_options_are_refused(
    pair: tuple[xr.Dataset, xr.Dataset], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadPlan, match=message):
        agree(*pair, **options)


def test_an_ordinary_cube_is_refused(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    with pytest.raises(BadPlan, match="two sets of judgements are needed"):
        sc.analyse(pair[0], Agreement(), trials=3, seed=1)
    with pytest.raises(BadPlan, match="two different names"):
        sc.judgement_sets(*pair, ("a", "a"))
    missing = pair[0].copy(deep=True)
    missing["score"][0, 0, 3, 7] = np.nan
    with pytest.raises(BadPlan, match="1 scores are missing"):
        agree(missing, pair[1])


def test_figures_show_means_and_ranks(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    result = agree(*pair)
    axes = sc.figure(result, metrics=list(result["metric"].values)).axes
    assert len(axes) == 4
    for k in range(2):
        at = result.isel(metric=k, gain=0)
        points = axes[2 * k].collections[0].get_offsets()
        np.testing.assert_array_equal(
            points, np.stack([at["mean_first"], at["mean_second"]], axis=1)
        )
        slopes = sorted(tuple(map(int, line.get_ydata())) for line in axes[2 * k + 1].get_lines())
        assert slopes == sorted(
            zip(at["rank_first"].values.tolist(), at["rank_second"].values.tolist(), strict=True)
        )


def test_tables_hold_the_result(pair: tuple[xr.Dataset, xr.Dataset]) -> None:
    result = agree(*pair)
    runs, rankings, decided = (sc.table(result, name) for name in ("runs", "rankings", "decisions"))
    assert (runs["rank_change"] == runs["rank_b"] - runs["rank_a"]).all()
    np.testing.assert_allclose(runs["mean_change"], runs["mean_b"] - runs["mean_a"])
    for row in rankings.to_dict("records"):
        mine = runs[(runs["metric"] == row["metric"]) & (runs["gain"] == row["gain"])].set_index(
            "run"
        )
        assert (
            mine["rank_change"].max() == row["largest_drop"] == mine["rank_change"][row["drop_run"]]
        )
    assert (decided[list(DECISIONS)].sum(axis=1) == 66).all()
    assert (decided["top_pairs"] == 45).all()
    assert (
        decided["top_significant_second"] - decided["top_significant"]
        == decided["false_positives"] - decided["false_negatives"]
    ).all()
    assert isinstance(rankings, pd.DataFrame)


def test_decisions_are_those_of_the_paired_test_where_scores_are_rounded() -> None:
    """Differences that rounding alone can cause are none, whatever their number."""
    x = np.random.default_rng(1).uniform(0.25, 0.5, 10)
    unit = 1.0 / centred_units(np.stack([x, x])).per_score
    x = np.rint(x / unit) * unit
    y = x + unit * np.array([1, 1, 1, 1, 1, 1, 1, 1, 0, 2])
    cube = sc.cube_from_scores({"m": pd.DataFrame([x, y], ["x", "y"], [f"{k}" for k in range(10)])})
    paired = sc.analyse(cube, Paired(tests=("t",)), trials=1)
    found = sc.analyse(sc.judgement_sets(cube, cube), Agreement(), trials=5, seed=1)
    assert float(paired["p_value"].item()) == 1.0
    assert found["passive_agreement"].values.ravel().tolist() == [1, 1]

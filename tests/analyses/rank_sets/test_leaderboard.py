"""Leaderboard: intervals, differences from a baseline, groups, and the forms of its tables."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.report.results import headline
from scorecube.report.text_formats import render
from scorecube.workflow.api import analyse
from tests.analyses.pair_tests.test_maxt import cube_of, drawn, odd_scores
from tests.oracles.bounded_means import mid_p
from tests.oracles.step_down import adjusted, groups
from tests.oracles.winners import limits, possible_winners

TRIALS = 199
BASE = "r03"


@pytest.fixture(scope="module")
def board() -> xr.Dataset:
    analysis = sc.Leaderboard(baseline=BASE, alpha=0.1, plus_one=False)
    return analyse(cube_of(odd_scores()), analysis, trials=TRIALS, seed=1).isel(metric=0, gain=0)


def bootstrap_t(row: list[float], samples: Any, alpha: float) -> tuple[float, float]:
    """Return the bootstrap-t interval (Efron and Tibshirani 1993, section 12.5)."""
    n, mean = len(row), math.fsum(row) / len(row)
    error = math.sqrt(math.fsum((x - mean) ** 2 for x in row) / (n - 1) / n)
    found = []
    for sample in samples:
        values = [row[topic] for topic in sample]
        middle = math.fsum(values) / n
        spread = math.sqrt(math.fsum((x - middle) ** 2 for x in values) / (n - 1) / n)
        found.append(0.0 if abs(middle - mean) < 1e-12 else (middle - mean) / spread)
    ordered = sorted(found)
    k = math.floor(alpha / 2 * (len(samples) + 1))
    return mean - ordered[len(samples) - k] * error, mean - ordered[k - 1] * error


def test_intervals_of_means(board: xr.Dataset) -> None:
    samples = drawn(26, TRIALS)
    for k, row in enumerate(odd_scores()):
        one = board.isel(run=k)
        assert float(one["mean"]) == pytest.approx(math.fsum(row) / len(row), abs=1e-12)
        limits = bootstrap_t(row, samples, 0.1)
        assert (float(one["mean_low"]), float(one["mean_high"])) == pytest.approx(limits, abs=1e-6)
        t = stats.ttest_1samp(row, 0).confidence_interval(0.9)
        assert (float(one["t_low"]), float(one["t_high"])) == pytest.approx(tuple(t), abs=1e-9)


def test_shares_of_trials_with_the_largest_mean(board: xr.Dataset) -> None:
    scores, best = odd_scores(), [0] * 8
    for sample in drawn(26, TRIALS):
        totals = [round(sum(row[topic] for topic in sample), 9) for row in scores]
        for run, total in enumerate(totals):
            best[run] += total == max(totals)
    assert board["best"].values.tolist() == [count / TRIALS for count in best]
    assert sum(best) >= TRIALS


def test_differences_from_the_baseline(board: xr.Dataset) -> None:
    scores, base = odd_scores(), 3
    pairs = [pair for pair in combinations(range(8), 2) if base in pair]
    p = adjusted(scores, drawn(26, TRIALS), pairs, 4.0)
    tested = analyse(
        cube_of(scores),
        sc.MaxT(baseline=BASE, alphas=(0.1,), plus_one=False),
        trials=TRIALS,
        seed=1,
    )
    limits_of = {
        (row["run_a"], row["run_b"]): [row["difference_low"], row["difference_high"]]
        for row in sc.table(tested, "pairs").to_dict("records")
    }
    for run, row in enumerate(scores):
        one = board.isel(run=run)
        if run == base:
            assert math.isnan(float(one["difference"]))
            assert math.isnan(float(one["p_baseline"]))
            assert int(one["ties"]) == 26
            continue
        assert float(one["p_baseline"]) == p[min(run, base), max(run, base)]
        expected = limits_of[f"r{run:02d}", BASE]
        found = [float(one["difference_low"]), float(one["difference_high"])]
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
        signs = [round(x - y, 9) for x, y in zip(row, scores[base], strict=True)]
        counts = [sum(sign > 0 for sign in signs), signs.count(0), sum(sign < 0 for sign in signs)]
        assert [int(one[name]) for name in ("wins", "ties", "losses")] == counts


def test_groups_hold_runs_that_are_not_separated(board: xr.Dataset) -> None:
    p = adjusted(odd_scores(), drawn(26, TRIALS), list(combinations(range(8), 2)), 4.0)
    means = board["mean"].values
    separated = {frozenset(pair) for pair, value in p.items() if value < 0.1}
    order = np.argsort(-np.round(means, 12), kind="stable").tolist()
    expected = groups(order, separated)
    found = [
        {
            run
            for run in range(8)
            if board["group_first"].values[run] <= group <= board["group_last"].values[run]
        }
        for group in range(1, int(board["group_last"].max()) + 1)
    ]
    assert found == expected
    assert len(expected) > 1


def test_too_few_trials_for_a_limit_give_none() -> None:
    result = analyse(
        cube_of(odd_scores()), sc.Leaderboard(baseline=BASE, bounds=()), trials=10, seed=1
    )
    assert np.isnan(result["mean_low"].values).all()
    assert np.isfinite(result["t_low"].values).all()
    low = result["difference_low"].values.ravel()
    assert np.isnan(low[2:]).all()
    assert low[:2] == pytest.approx([-0.2, -0.2])  # a constant difference has a point
    assert " leads with 0." in headline(result)[0]


def test_a_mean_of_equal_scores_has_no_limits() -> None:
    scores = [[1.0] * 30, [0.3 + 0.01 * k for k in range(30)]]
    result = analyse(
        cube_of(scores).assign_coords(metric=["my score"]), sc.Leaderboard(), trials=200, seed=1
    )
    assert " leads with 1.000 on these topics; " in headline(result)[0]
    for name in ("mean_low", "mean_high", "t_low", "t_high"):
        assert np.isnan(result[name].values.ravel()).tolist() == [True, False], name
    known = analyse(cube_of(scores), sc.Leaderboard(), trials=200, seed=1).isel(metric=0, gain=0)
    assert 0.7 < float(known["mean_low"][0]) < float(known["mean_high"][0]) == 1.0


def test_a_run_with_one_score_above_zero_has_no_finite_limit() -> None:
    scores = [[0.0] * 25 + [0.5], [0.3 + 0.01 * k for k in range(26)]]
    result = analyse(cube_of(scores), sc.Leaderboard(bounds=()), trials=400, seed=1).isel(
        metric=0, gain=0
    )
    assert np.isnan(result["mean_high"].values.tolist()).tolist() == [True, False]
    assert not np.isinf(result["mean_low"].values).any()


def test_the_table_for_a_paper_has_marks() -> None:
    rows = [[value + 0.15 * k for value in row] for k, row in enumerate(odd_scores())]
    result = analyse(cube_of(rows), sc.Leaderboard(baseline=BASE), trials=500, seed=1)
    table = sc.table(result, "matrix")
    data = result.isel(metric=0, gain=0)
    significant = data["p_baseline"].values < 0.05
    up = {f"r{k:02d}" for k in np.flatnonzero(significant & (data["difference"].values > 0))}
    down = {f"r{k:02d}" for k in np.flatnonzero(significant & (data["difference"].values < 0))}
    assert up
    assert down
    assert {row["run"] for row in table.to_dict("records") if "\u2020" in row["AP"]} == up
    assert {row["run"] for row in table.to_dict("records") if "\u2021" in row["AP"]} == down
    latex, markdown = render(table, "latex"), render(table, "markdown")
    assert latex.count(r"\textsuperscript{\dag}") == len(up)
    assert latex.count(r"\textbf{") == markdown.count("**") / 2 == 1
    assert "**" not in render(table, "text") + render(table, "csv")
    first = table.iloc[0]
    assert first["run"] in latex.split(r"\textbf{")[0].splitlines()[-1]


def test_letters_end_where_there_are_more_groups() -> None:
    chance = np.random.default_rng(1)
    n = 60
    scores = 0.3 + 0.02 * chance.standard_normal((n, 30)) + 0.008 * np.arange(n)[:, np.newaxis]
    result = analyse(cube_of(scores.tolist()), sc.Leaderboard(), trials=300, seed=1)
    texts = sc.table(result)["groups"].tolist()
    assert int(result["group_last"].max()) > 26
    assert all(part.isdigit() for text in texts for part in text.split("-"))
    few = analyse(cube_of(odd_scores()), sc.Leaderboard(), trials=300, seed=1)
    assert set("".join(sc.table(few)["groups"])) <= set("abcdefgh")


@pytest.mark.data
@pytest.mark.parametrize("collection", ["adhoc5", "web2011"])
def test_baseline_of_a_real_collection(data: Path, collection: str) -> None:
    from tests.validation.truths import real_scores

    scores = real_scores(f"{collection}/ap.csv")[::5][:12].tolist()
    cube = cube_of(scores)
    samples = sc.MaxT().samples(cube, 5, 120)
    result = analyse(cube, sc.Leaderboard(baseline="r02", plus_one=False), trials=120, seed=5)
    topics = [str(label) for label in cube["topic"].values]
    picked = [
        [topics.index(str(label)) for label in row] for row in samples["topic_sample"].values[:, 0]
    ]
    pairs = [pair for pair in combinations(range(12), 2) if 2 in pair]
    expected = adjusted(scores, picked, pairs, 4.0)
    found = result["p_baseline"].values.ravel()
    assert {pair: found[pair[0] if pair[1] == 2 else pair[1]] for pair in pairs} == expected


def test_limits_of_the_mean_of_the_run_that_leads(board: xr.Dataset) -> None:
    """By the plain reference, from resampled scores; nothing else of the result differs, and neither does the digest of other plans."""
    scores = np.array(odd_scores())
    analysis = sc.Leaderboard(baseline=BASE, alpha=0.1, bounds=())
    trials = 999
    found = analyse(cube_of(odd_scores()), analysis, trials=trials, seed=1).isel(metric=0, gain=0)
    n, means = scores.shape[1], scores.mean(axis=1)
    samples = drawn(26, trials)
    values = scores[:, np.array(samples)]
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = values.std(axis=2, ddof=1) / math.sqrt(n)
        t = (values.mean(axis=2) - means[:, np.newaxis]) / errors
    own = scores.std(axis=1, ddof=1) / math.sqrt(n)
    leader = int(np.argmax(means))
    maxt = sc.MaxT(alphas=(0.01,), baseline=f"r{leader:02d}")
    every = analyse(cube_of(odd_scores()), sc.MaxT(alphas=(0.01,)), trials=trials, seed=1)
    near = analyse(cube_of(odd_scores()), maxt, trials=trials, seed=1)
    critical = float(every["critical_value"].squeeze())
    margins = np.insert(critical * near["moderated_error"].values.squeeze(), leader, 0.0)
    runs = possible_winners(means.tolist(), margins.tolist())
    expected = limits(means.tolist(), own.tolist(), t.tolist(), runs, 0.1, 0.01)
    assert (float(found["winner_low"]), float(found["winner_high"])) == pytest.approx(expected, abs=1e-5)  # fmt: skip
    without = analyse(cube_of(odd_scores()), sc.Leaderboard(baseline=BASE, alpha=0.1, bounds=(), winner=False), trials=trials, seed=1)  # fmt: skip
    xr.testing.assert_identical(
        found.drop_vars(["winner_low", "winner_high", "own_error_pairs"]).drop_attrs(),
        without.isel(metric=0, gain=0).drop_attrs(),
    )
    assert found["winner_low"] < found["mean"].max() < found["winner_high"]


def test_limits_within_bounds_hold_without_spread() -> None:
    """A run with a perfect score on all topics has a lower limit; one that varies keeps its bootstrap-t limits; 0 and 1 have mid-p limits."""
    chance = np.random.default_rng(5)
    scores = chance.uniform(0.2, 0.8, (4, 30))
    scores[0], scores[1] = 1.0, 0.4
    scores[2] = chance.random(30) < 0.9
    plain, found = (
        analyse(cube_of(scores.tolist()), sc.Leaderboard(winner=True, bounds=bounds), trials=999, seed=1).isel(metric=0, gain=0)
        for bounds in ((), (0.0, 1.0))
    )  # fmt: skip
    low, high = found["mean_low"].values, found["mean_high"].values
    assert (low[3], high[3]) == (plain["mean_low"].values[3], plain["mean_high"].values[3])
    assert (low[2], high[2]) == pytest.approx(mid_p(int(scores[2].sum()), 30, 0.025), abs=1e-9)
    assert (low[0], high[0]) == pytest.approx(mid_p(30, 30, 0.025), abs=1e-9)
    assert 0.0 < low[1] < 0.4 < high[1] < 1.0
    assert np.isnan(plain["winner_low"])
    assert 0.7 < found["winner_low"] < low[0]
    assert found["winner_high"] == 1.0


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((1.0, 0.0), "two numbers, the smaller one first"),
        ((0.0,), "two numbers"),
        ((0.0, 0.2), "does not hold all scores, which lie between"),
    ],
)
def test_bounds_that_are_none_are_refused(bounds: tuple[float, ...], words: str) -> None:
    with pytest.raises(BadPlan, match=words):
        analyse(cube_of(odd_scores()), sc.Leaderboard(bounds=bounds), trials=99, seed=1)

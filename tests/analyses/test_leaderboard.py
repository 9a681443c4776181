"""Leaderboards, boards and max-T tests: plain Python as oracle, direction, groups, bags, boards of a study, and what is refused."""

from __future__ import annotations

import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import rankdata

import scorecube as sc
from scorecube import names
from scorecube.analyses.along_topics import join_collections
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadPlan
from scorecube.kernels.random.draws import bootstrap_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.intervals import Sample, mean_limits
from scorecube.testing import simulate_cube
from tests.attributes import without_attrs
from tests.oracles import step_down
from tests.oracles.step_down import adjusted, groups

TRIALS, SEED, FEW = 199, 4, 8
SIZES = {"code": 14, "news": 9, "web": 26}
WEIGHTS = {"code": 0.5, "news": 1.0, "web": 2.0}
RUNS = ["a", "b", "c", "d", "e", "f", "g"]


def scores_of(name: str, decimals: int = 2) -> np.ndarray[Any, Any]:
    """Return scores (run, topic) between 0 and 1: few decimals, or rounded to the grid; f is almost a copy of e, and g is one of d."""
    chance = np.random.default_rng(len(name) + SIZES[name])
    topics = chance.uniform(0.2, 0.5, SIZES[name])
    own = 0.05 * np.arange(7)[:, np.newaxis]
    found = topics + own + 0.12 * chance.standard_normal((7, SIZES[name]))
    found[5], found[6] = found[4], found[3]
    found[5, :2] += 0.1
    return np.asarray(found.clip(0, 1).round(decimals))


def cube_of(scores: Any, metric: str = "AP", runs: list[str] = RUNS) -> xr.Dataset:
    topics = [f"t{k:05d}" for k in range(np.shape(scores)[1])]
    return sc.cube_from_scores({metric: pd.DataFrame(scores, runs[: len(scores)], topics)})


def joined(decimals: int = 2) -> xr.Dataset:
    return join_collections({name: cube_of(scores_of(name, decimals)) for name in SIZES})


def drawn(sizes: list[int], trials: int = TRIALS) -> step_down.Samples:
    """Return the samples of the seed: topics of each collection from a stream of its own."""
    parts = [
        bootstrap_samples(stream_key(SEED, names.Purpose.BOOTSTRAP_TOPICS, k), n, 0, trials)[:, 0]
        for k, n in enumerate(sizes)
    ]
    return [[part[trial].tolist() for part in parts] for trial in range(trials)]


@pytest.mark.parametrize("decimals", [2, 15], ids=["on the grid", "rounded to it"])
def test_a_board_is_that_of_the_oracle(decimals: int) -> None:
    analysis = sc.Board(weights=("web=2", "code=0.5"), baseline="c", alpha=0.1)
    result = sc.analyse(joined(decimals), analysis, trials=TRIALS, seed=SEED)
    result = result.isel(metric=0, gain=0)
    scores = [scores_of(name, decimals).tolist() for name in SIZES]
    weights = [weight / sum(WEIGHTS.values()) for weight in WEIGHTS.values()]
    samples, pairs = drawn(list(SIZES.values())), list(combinations(range(7), 2))
    p = adjusted(scores, weights, samples, pairs)
    assert p[4, 5] == p[3, 6] == 1.0
    means = [round(step_down.weighted([of[k] for of in scores], weights), 12) for k in range(7)]
    for run, one in enumerate(result.isel(run=k) for k in range(7)):
        assert float(one["mean"]) == pytest.approx(means[run], abs=1e-12)
        decided = [sum(pair) - run for pair in pairs if run in pair and p[pair] < 0.1]
        better = sum(means[other] > means[run] for other in decided)
        worse = sum(means[other] < means[run] for other in decided)
        assert (int(one["rank_low"]), int(one["rank_high"])) == (1 + better, 7 - worse)
        rows = [np.array(of[run]) for of in scores]
        of_run = [Sample(w, x, np.ones(len(x))) for w, x in zip(weights, rows, strict=True)]
        limits = float(one["mean_low"]), float(one["mean_high"])
        assert limits == pytest.approx(mean_limits(of_run, (0, 1), 0.9), abs=1e-12)
    against = adjusted(scores, weights, samples, [pair for pair in pairs if 2 in pair])
    for pair, expected in against.items():
        assert float(result["p_baseline"][sum(pair) - 2]) == pytest.approx(expected, abs=1e-12)
        gap = step_down.weighted(step_down.differences(scores, (sum(pair) - 2, 2)), weights)
        assert float(result["difference"][sum(pair) - 2]) == pytest.approx(gap, abs=1e-12)
    order = sorted(range(7), key=lambda run: -means[run])
    separated = {frozenset(pair) for pair in pairs if p[pair] < 0.1}
    letters = result["groups"].values.tolist()
    spans = [{k for k in range(7) if g in letters[k]} for g in sorted({*"".join(letters)})]
    assert spans == groups(order, separated)


def test_the_leader_has_the_limits_of_the_largest_t_over_runs() -> None:
    scores = scores_of("web")
    result = sc.analyse(cube_of(scores), sc.Leaderboard(), trials=TRIALS, seed=SEED)
    means, largest = scores.mean(axis=1), []
    for (places,) in drawn([26]):
        sample = scores[:, places]
        share, error = sample.mean(axis=1), sample.std(axis=1, ddof=1) / math.sqrt(26)
        moved = np.log(share / (1 - share)) - np.log(means / (1 - means))
        largest.append(np.abs(moved * share * (1 - share) / error).max())
    critical = sorted(largest)[math.ceil(0.95 * 200) - 1]
    leader = int(means.argmax())
    mean, error = means[leader], scores[leader].std(ddof=1) / math.sqrt(26)
    margin = critical * error / (mean * (1 - mean))
    logit = math.log(mean / (1 - mean))
    expected = [1 / (1 + math.exp(-(logit + sign * margin))) for sign in (-1, 1)]
    one = result.isel(metric=0, gain=0, run=leader)
    assert [float(one["leader_low"]), float(one["leader_high"])] == pytest.approx(expected, abs=1e-9)  # fmt: skip
    own = mean_limits([Sample(1.0, scores[leader], np.ones(26))], (0, 1), 0.95)
    assert (float(one["mean_low"]), float(one["mean_high"])) == pytest.approx(own, abs=1e-12)
    assert float(one["leader_low"]) < own[0] < own[1] < float(one["leader_high"])
    assert result["leads"].values.ravel().tolist() == [run == leader for run in range(7)]


@pytest.mark.parametrize("declared", [True, False])
def test_a_board_of_ranks_and_limits_do_not_depend_on_the_scale(declared: bool) -> None:
    """Where a range is declared, and where there is none."""
    scores = {"code": scores_of("code"), "web": scores_of("web")}

    def of(scale: float, analysis: Any) -> xr.Dataset:
        ends = {"score_low": ("metric", [-scale]), "score_high": ("metric", [scale])}
        cubes = {
            name: sc.cube_from_scores({"M": pd.DataFrame(x * scale)}).assign_coords(
                ends if declared else {}
            )
            for name, x in scores.items()
        }
        return sc.analyse(cubes, analysis, trials=99, seed=1)

    small, large = (of(scale, sc.Board(standardise="rank")) for scale in (2**-10, 2**10))
    xr.testing.assert_allclose(without_attrs(small), without_attrs(large))
    small, large = (of(scale, sc.Board()) for scale in (2**-10, 2**10))
    for name in ("mean", "mean_low", "mean_high"):
        np.testing.assert_allclose(small[name] * 2**10, large[name] / 2**10, atol=1e-6)


def test_a_leader_that_hardly_varies_has_pseudo_topics_at_both_ends() -> None:
    scores = scores_of("web")
    scores[0] = [1.0] * 25 + [0.5]
    result = sc.analyse(cube_of(scores), sc.Leaderboard(), trials=99, seed=1)
    sample = Sample(1.0, scores[0], np.ones(26))
    expected = mean_limits([sample], (0, 1), 1 - 0.05 / 7)
    found = result.isel(metric=0, gain=0, run=0)
    assert (float(found["leader_low"]), float(found["leader_high"])) == pytest.approx(expected)
    (note,) = result.attrs["warnings"]
    assert note.startswith(
        "AP: fewer than 8 topics differ of a: their limits count two topics more"
    )


def unbounded() -> Any:
    """Return scores without a range: of one run no topic differs, of one seven do, of others all."""
    scores = scores_of("web")
    scores[0], scores[1] = 0.75, 0.5
    scores[1, :7] = 0.25
    return scores


def test_without_a_range_a_run_of_which_few_topics_differ_has_no_limits() -> None:
    """They are missing, and not infinite or of no width; the run may have any rank, and never leads apart from others."""
    cube = cube_of(unbounded(), "M").assign_attrs(words=["model", "item", "benchmark", "seed"])
    result = sc.analyse(cube, sc.Leaderboard(baseline="a"), trials=TRIALS, seed=1)
    (note,) = result.attrs["warnings"]
    assert re.findall(r"\b[abM]\b", note) == ["M", "a", "b", "M"]
    table = sc.table(result).set_index("run")
    for run in RUNS:
        row, few = table.loc[run], run in "ab"
        assert bool(np.isnan(row["mean_low"])) == bool(np.isnan(row["mean_high"])) == few
        assert row["limits_reason"] == ("too few items differ" if few else "")
        if few:
            assert (row["rank_low"], row["rank_high"]) == (1, 7)
    assert not np.isinf(table.select_dtypes("number").to_numpy()).any()
    assert np.isnan(result["leader_low"].item())
    scores = unbounded()
    scores[1, 7] = 0.75  # the eighth
    eight = sc.table(sc.analyse(cube_of(scores, "M"), sc.Leaderboard(), trials=TRIALS))
    assert eight.set_index("run")["mean_low"].isna().sum() == 1


def test_a_small_collection_of_a_board_is_named_and_refuses_nothing() -> None:
    """One item shows no error: the mean over collections has no limits; four that are all solved have those of pseudo-items."""
    chance = np.random.default_rng(2)
    cubes = {
        name: cube_of((chance.random((4, n)) < 0.9) * 1.0, "accuracy")
        for name, n in {"big": 100, "mid": 60}.items()
    }
    solved = np.ones((4, 4))
    solved[3, 0] = 0.0
    for n, words in ((1, "means over collections have no limits"), (4, "limits are wide")):
        joined = {**cubes, "tiny": cube_of(solved[:, :n], "accuracy")}
        result = sc.analyse(joined, sc.Board(), trials=TRIALS, seed=1)
        note = next(note for note in result.attrs["warnings"] if "of tiny" in note)
        assert f"fewer than 8 topics of tiny ({n}): {words}" in note
        assert "collections=['big', 'mid'] leaves it out" in str(BadPlan(note))
        table = sc.table(result)
        assert np.isfinite(table["mean"]).all()
        assert table["mean_low"].isna().tolist() == [n == 1] * 4
        if n == 1:
            assert table["limits_reason"].str.endswith("tiny").all()
            assert (table["rank_low"] == 1).all()
            assert (table["rank_high"] == 4).all()
        else:
            alone = sc.table(sc.analyse(cubes, sc.Board(), trials=TRIALS, seed=1))
            width, before = ((of["mean_high"] - of["mean_low"]).min() for of in (table, alone))
            assert width > 3 * before
    chosen = sc.analyse({name: cubes[name] for name in cubes}, sc.Board(), trials=TRIALS)
    assert not any("fewer than" in note for note in chosen.attrs["warnings"])


def test_a_board_of_one_collection_is_its_leaderboard() -> None:
    cube = cube_of(scores_of("web"))
    how: Any = {"trials": 300, "seed": 3}
    board = sc.analyse(join_collections({"web": cube}), sc.Board(baseline="b"), **how)
    leaderboard = sc.analyse(cube, sc.Leaderboard(baseline="b"), **how)
    for name, expected in leaderboard.data_vars.items():
        np.testing.assert_array_equal(board[name].values, expected.values, err_msg=str(name))
    np.testing.assert_array_equal(board["collection_mean"][:, :, 0], leaderboard["mean"])
    np.testing.assert_array_equal(board["mean_rank"][0, 0, :3], leaderboard["rank"][0, 0, :3])


def test_smaller_scores_lead_where_they_are_better() -> None:
    scores = scores_of("web")
    up = sc.analyse(cube_of(1 - scores), sc.Leaderboard(baseline="c"), trials=99, seed=1)
    turned = cube_of(scores).assign_coords({names.HIGHER_IS_BETTER: ("metric", [False])})
    down = sc.analyse(turned, sc.Leaderboard(baseline="c"), trials=99, seed=1)
    for name in ("rank", "rank_low", "rank_high", "groups", "better", "worse", "p_baseline"):
        np.testing.assert_array_equal(up[name], down[name], err_msg=name)
    np.testing.assert_allclose(down["difference"], -up["difference"], atol=1e-12)


def test_a_board_draws_the_groups_of_each_collection() -> None:
    chance = np.random.default_rng(7)
    scores = {name: chance.random((5, n)) for name, n in {"one": 40, "two": 60}.items()}
    grouped = {
        name: cube_of(x).assign_coords(topic_group=("topic", [f"g{k // 4:02d}" for k in range(x.shape[1])]))
        for name, x in scores.items()
    }  # fmt: skip
    means = {name: cube_of(x.reshape(5, -1, 4).mean(axis=2)) for name, x in scores.items()}
    found, expected = (
        sc.analyse(join_collections(cubes), sc.Board(), trials=99, seed=1)
        for cubes in (grouped, means)
    )
    for name in ("mean", "mean_low", "rank_low", "rank_high", "collection_mean_high"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6, err_msg=name)


@pytest.mark.parametrize("how", ["z", "std-AB", "rank"])
def test_standardised_scores_and_ranks(how: Any) -> None:
    cube = joined()
    result = sc.analyse(cube, sc.Board(standardise=how), trials=99, seed=1)
    assert result.attrs["standardise"] == how
    if how == "rank":
        shares = (rankdata(cube["score"].values, axis=2) - 1) / 6
        expected = cube["score"].copy(data=shares)
    else:
        expected = sc.standardise(cube, how)["score"]
    means = expected.groupby("collection").mean("topic").mean("collection")
    np.testing.assert_allclose(result["mean"].values, means.values, atol=1e-12)


def test_systems_and_metrics_that_a_collection_lacks_are_named_and_left_out() -> None:
    web, news = cube_of(scores_of("web")), cube_of(scores_of("news")[:4])
    board = join_collections({"web": web, "news": news})
    assert board[names.RUN].values.tolist() == RUNS[:4]
    prepared = make_plan(board, sc.Board(), trials=10, seed=1)
    assert any("news" in note and note.endswith(": e, f, g") for note in prepared.warnings)
    with pytest.raises(BadPlan, match="0 runs"):
        join_collections({"web": web, "news": cube_of(scores_of("news")[:2], runs=["x", "y"])})
    with pytest.raises(BadPlan, match="metric"):
        join_collections({"web": web, "news": cube_of(scores_of("news"), metric="other")})


# Max-T tests


def odd_scores() -> list[list[float]]:
    """Runs with equal scores, a constant difference, a difference on one topic only, ties of |t|, and others."""
    chance = np.random.default_rng(4)
    base = (chance.integers(0, 6, 26) / 10).tolist()
    once = [*base[:-1], base[-1] + 0.3]
    shifted = [value + 0.2 for value in base]
    others = [(np.array(base) + chance.integers(-2, 4, 26) / 10).tolist() for _ in range(4)]
    return [base, list(base), once, shifted, *others]


def cube_of_odd(scores: list[list[float]]) -> xr.Dataset:
    cube = cube_of(scores, "M", [f"{k}" for k in range(8)])
    return cube.assign_coords(score_low=("metric", [-1.0]), score_high=("metric", [2.0]))


@pytest.mark.parametrize("baseline", [None, 2])
@pytest.mark.parametrize("factor", [1.0, math.sqrt(2)], ids=["on the grid", "rounded to it"])
def test_adjusted_p_values_are_those_of_the_oracle(baseline: int | None, factor: float) -> None:
    """Pairs that differ on fewer than 8 topics have p = 1."""
    scores = [[factor * value for value in row] for row in odd_scores()]
    analysis = sc.MaxT(baseline=None if baseline is None else f"{baseline}")
    table = sc.table(sc.analyse(cube_of_odd(scores), analysis, trials=150, seed=SEED), "pairs")
    pairs = [p for p in combinations(range(8), 2) if baseline is None or baseline in p]
    expected = adjusted([scores], [1.0], drawn([26], 150), pairs)
    # Against a baseline it is the second run of each pair.
    runs = [sorted(map(int, of)) for of in table[["run_a", "run_b"]].to_numpy()]
    found = dict(zip(map(tuple, runs), table["p_value"], strict=True))
    assert found == pytest.approx(expected)
    assert {expected[pair] for pair in ((0, 1), (0, 2), (0, 3)) if pair in expected} == {1.0}
    assert len(set(expected.values())) > (4 if baseline is None else 2)


def test_limits_are_simultaneous_ones_of_the_moderated_t() -> None:
    """Half the width over the moderated standard error is one number: the critical value."""
    scores = odd_scores()
    result = sc.analyse(cube_of_odd(scores), sc.MaxT(), trials=400, seed=1)
    n = len(scores[0])
    rows = sc.table(result, "pairs").to_dict("records")
    own, enough = [], []
    for row in rows:
        a, b = int(row["run_a"]), int(row["run_b"])
        values = [x - y for x, y in zip(scores[a], scores[b], strict=True)]
        average = math.fsum(values) / n
        spread = math.sqrt(math.fsum((value - average) ** 2 for value in values) / (n - 1))
        own.append(spread / math.sqrt(n))
        enough.append(step_down.varied([values]) >= 8)
        assert row["mean_difference"] == pytest.approx(average, abs=1e-12)
        if spread > 1e-9:
            assert row["d_z"] == pytest.approx(average / spread, abs=1e-9)
    common = float(np.median(np.square(own)[enough]))
    half = np.array([(row["joint_high"] - row["joint_low"]) / 2 for row in rows])
    critical = half[enough] / np.sqrt((np.square(own)[enough] + 4 * common) / 5)
    assert critical == pytest.approx(np.full(sum(enough), critical[0]), rel=1e-6)
    assert 2 < critical[0] < 4
    assert np.isnan(half[~np.array(enough)]).all()
    # Step-down rejects all that the limits do, and more.
    apart = np.array([row["joint_low"] > 0 or row["joint_high"] < 0 for row in rows])
    assert (result["p_value"].values.ravel()[apart] < 0.05).all()


def test_too_few_trials_bound_no_interval() -> None:
    result = sc.analyse(cube_of_odd(odd_scores()), sc.MaxT(), trials=10, seed=1)
    assert result["joint_high"].isnull().all()
    assert result["difference_high"].notnull().any()


@pytest.mark.parametrize("metric", ["AP", "my score"])
def test_means_that_are_equal_up_to_rounding_share_rank_and_lead(metric: str) -> None:
    """.1 + .2 is .3, and a mean of thirds does not depend on the order of the topics."""
    thirds = np.random.default_rng(1).integers(0, 3000, 60) / 3001
    better = np.full(60, 0.3)
    rows = np.vstack([thirds, thirds[::-1], np.roll(thirds, 7), better, better * 0 + (0.1 + 0.2)])
    # As floating-point numbers they differ.
    assert len(set(rows[:3].mean(axis=1).tolist())) > 1 < len(set(rows[3:].mean(axis=1).tolist()))
    cube = sc.cube_from_scores({metric: pd.DataFrame(rows, list("vwxyz"))})
    result = sc.analyse(cube, sc.Leaderboard(baseline="y"), trials=99, seed=1).isel(
        metric=0, gain=0
    )
    assert result["rank"].values.tolist() == [1, 1, 1, 4, 4]
    board = sc.analyse({"a": cube, "b": cube}, sc.Board(), trials=99, seed=1).isel(metric=0, gain=0)
    assert board["mean_rank"].values.tolist() == [2, 2, 2, 4.5, 4.5]
    assert result["better"].values.tolist() == [True, True, True, False, False]
    assert not result["worse"].any()


def test_a_baseline_has_limits_of_each_pair_and_of_all() -> None:
    cube = simulate_cube(n_runs=6, seed=3)
    base = str(cube["run"].values[2])
    board = sc.table(sc.analyse(cube, sc.Leaderboard(baseline=base), trials=200, seed=1))
    maxt = sc.table(sc.analyse(cube, sc.MaxT(baseline=base), trials=200, seed=1), "pairs")
    ends = ["difference_low", "difference_high", "joint_low", "joint_high"]
    for row in maxt.to_dict("records"):
        (same,) = board.query("metric == @row['metric'] and run == @row['run_a']").to_dict(
            "records"
        )
        assert [same[end] for end in ends] == pytest.approx([row[end] for end in ends], abs=1e-9)
        assert (
            same["joint_low"]
            < same["difference_low"]
            < same["difference_high"]
            < same["joint_high"]
        )

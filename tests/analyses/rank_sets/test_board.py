"""Boards: an oracle, the leaderboard of one collection, plain means, blocks, repetitions, topic groups, and what is refused."""

from __future__ import annotations

import json
import math
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import scorecube as sc
from scorecube import names
from scorecube.analyses.base import Accumulator
from scorecube.analyses.plan import cube_digest, make_plan
from scorecube.collection import rows, schema
from scorecube.collection.joined_scores import JoinedScores, joined_along_topic
from scorecube.collection.selection import with_labels
from scorecube.errors import BadPlan
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples
from scorecube.report.page.board import TO
from scorecube.storage import datasets, encoding
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores
from scorecube.workflow.tasks import ReadCubes, selected_from_all
from tests.oracles import boards
from tests.oracles.step_down import MODERATION

if TYPE_CHECKING:
    from tests.conftest import Cli

TRIALS, SEED = 120, 4
SIZES = {"code": 14, "news": 9, "web": 26}
WEIGHTS = {"code": 0.5, "news": 1.0, "web": 2.0}
RUNS = ["a", "b", "c", "d", "e", "f"]


def scores_of(name: str, decimals: int = 2) -> np.ndarray[Any, Any]:
    """Return scores (run, topic) of a collection: few decimals, or rounded irrational ones."""
    chance = np.random.default_rng(len(name) + SIZES[name])
    topics = chance.uniform(0.2, 0.6, SIZES[name])
    own = 0.05 * np.arange(len(RUNS))[:, np.newaxis]
    found = topics + own + 0.15 * chance.standard_normal((len(RUNS), SIZES[name]))
    return np.asarray(found.round(decimals))


def cube_of(scores: Any, runs: list[str] = RUNS, metric: str = "score") -> xr.Dataset:
    topics = [f"t{k:02d}" for k in range(np.shape(scores)[1])]
    return cube_from_scores({metric: pd.DataFrame(scores, runs, topics)})


def joined(decimals: int = 2) -> xr.Dataset:
    return sc.join_collections({name: cube_of(scores_of(name, decimals)) for name in SIZES})


def drawn(seed: int = SEED, trials: int = TRIALS) -> boards.Samples:
    """Return the samples of a seed: topics of each collection from a stream of its own."""
    by_collection = [
        bootstrap_samples(stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS, part), n, 0, trials)[
            :, 0
        ]
        for part, n in enumerate(SIZES.values())
    ]
    return [[each[trial].tolist() for each in by_collection] for trial in range(trials)]


@pytest.mark.parametrize("decimals", [2, 15], ids=["whole units", "rounded"])
def test_a_board_is_that_of_the_oracle(decimals: int) -> None:
    analysis = sc.Board(weights=("web=2", "code=0.5"), baseline="c", plus_one=False, bounds=())
    result = analyse(joined(decimals), analysis, trials=TRIALS, seed=SEED).isel(metric=0, gain=0)
    scores = [scores_of(name, decimals).tolist() for name in SIZES]
    weights = [each / sum(WEIGHTS.values()) for each in WEIGHTS.values()]
    pairs = list(combinations(range(len(RUNS)), 2))
    p = boards.adjusted(scores, weights, drawn(), pairs, MODERATION)
    means = [boards.weighted([of[run] for of in scores], weights) for run in range(len(RUNS))]
    for run in range(len(RUNS)):
        rows, one = [of[run] for of in scores], result.isel(run=run)
        assert float(one["mean"]) == pytest.approx(means[run], abs=1e-15)
        limits = boards.bootstrap_t(rows, weights, drawn(), 0.05)
        assert (float(one["mean_low"]), float(one["mean_high"])) == pytest.approx(limits, abs=1e-6)
        limits = boards.t_interval(rows, weights, 0.05)
        assert (float(one["t_low"]), float(one["t_high"])) == pytest.approx(limits, abs=1e-8)
        others = [(sum(pair) - run, found) for pair, found in p.items() if run in pair]
        decided = [other for other, found in others if found < 0.05]
        better = sum(means[other] > means[run] for other in decided)
        worse = sum(means[other] < means[run] for other in decided)
        assert (int(one["rank_low"]), int(one["rank_high"])) == (1 + better, len(RUNS) - worse)
    against = boards.adjusted(
        scores, weights, drawn(), [pair for pair in pairs if 2 in pair], MODERATION
    )
    for pair, expected in against.items():
        assert float(result["p_baseline"][sum(pair) - 2]) == expected
        gap = boards.weighted(boards.differences(scores, (sum(pair) - 2, 2)), weights)
        assert float(result["difference"][sum(pair) - 2]) == pytest.approx(gap, abs=1e-12)


def test_a_board_of_one_collection_is_its_leaderboard() -> None:
    cube = cube_of(scores_of("web"))
    how: Any = {"trials": 500, "seed": 3}
    board = analyse(sc.join_collections({"web": cube}), sc.Board(baseline="b"), **how)
    leaderboard = analyse(cube, sc.Leaderboard(baseline="b"), **how)
    for name, expected in leaderboard.data_vars.items():
        np.testing.assert_allclose(
            board[name].values, expected.values, atol=1e-12, err_msg=str(name)
        )
    np.testing.assert_array_equal(board["collection_mean"][:, :, 0], leaderboard["mean"])
    np.testing.assert_array_equal(board["mean_rank"], leaderboard["rank"])


def test_a_board_of_binary_scores_of_one_collection_has_the_limits_of_its_leaderboard() -> None:
    chance = np.random.default_rng(8)
    scores = (chance.uniform(size=(5, 30)) < [[0.3], [0.5], [0.9], [1.1], [-1.0]]).astype(float)
    cube = cube_of(scores, ["a", "b", "c", "always", "never"], "accuracy")
    board, leaderboard = (
        analyse(each, kind(), trials=300, seed=1)
        for each, kind in ((sc.join_collections({"x": cube}), sc.Board), (cube, sc.Leaderboard))
    )
    for name in ("mean_low", "mean_high", "winner_low", "winner_high"):
        np.testing.assert_allclose(board[name].values, leaderboard[name].values, atol=1e-12)


def test_limits_allow_for_scores_without_spread_in_a_collection() -> None:
    small, large = np.ones((3, 20)), np.zeros((3, 200))
    large[:, ::2], small[1, :4], large[2, :50] = 1.0, 0.0, 0.0
    board = sc.join_collections({"small": cube_of(small, ["x", "y", "z"], "accuracy"), "large": cube_of(large, ["x", "y", "z"], "accuracy")})  # fmt: skip
    result = analyse(board, sc.Board(), trials=300, seed=1).isel(metric=0, gain=0)
    # x and z are right on all of 20 items: by mid-p a true mean of .86 to 1, and so much less on the board.
    low, high = result["collection_mean_low"].values, result["collection_mean_high"].values
    assert low[1, 0] == pytest.approx(0.8609, abs=1e-3)
    assert high[1, 0] == 1.0
    below = math.hypot(0.5 * (1 - low[1, 0]), 0.5 * (0.5 - low[0, 0]))
    assert float(result["mean_low"][0]) == pytest.approx(0.75 - below, abs=1e-12)
    unknown = analyse(board, sc.Board(bounds=()), trials=300, seed=1)
    assert np.isfinite(unknown["mean_low"]).all()


def test_every_cut_gives_the_same_bits() -> None:
    prepared = make_plan(joined(15), sc.Board(weights=("news=3",)), trials=TRIALS, seed=SEED)
    analysis, cube = prepared.plan.analysis, prepared.prepared
    inputs = analysis.inputs(cube, TRIALS, SEED)
    results = []
    for cuts in ([0, TRIALS], [0, 1, 50, 51, TRIALS], [*range(0, TRIALS, 7), TRIALS]):
        total = Accumulator(analysis.outputs(cube), TRIALS)
        for start, stop in pairwise(cuts):
            total.add(start, stop, analysis.block(inputs, start, stop))
        results.append(analysis.finalize(cube, total.arrays, TRIALS))
    assert results[0].identical(results[1])
    assert results[0].identical(results[2])


@pytest.mark.parametrize(
    "key",
    [
        (0, 0),
        (0, slice(None), [4, 1], slice(10, 30)),
        (slice(None), 0, slice(1, 5, 2), slice(14, 23)),
        (0, 0, 3, slice(None, None, -3)),
        (0, 0, [0, 5], [40, 2, 13, 14]),
        (0, 0, slice(None), 48),
        (0, 0, slice(None), slice(7, 7)),
    ],
    ids=str,
)
def test_joined_scores_that_are_read_on_use_are_those_of_the_parts(key: Any) -> None:
    parts = [cube_of(scores_of(name)).variables["score"] for name in sorted(SIZES)]
    lazy, whole = joined_along_topic(parts), joined()["score"].variable
    found = lazy[key].values
    assert not lazy._in_memory
    np.testing.assert_array_equal(found, whole[key].values)


def test_collections_in_another_order_change_no_mean_and_no_rank() -> None:
    first = analyse(joined(), sc.Board(), trials=50, seed=1)
    cubes = {name: cube_of(scores_of(name)) for name in reversed(SIZES)}
    second = analyse(sc.join_collections(cubes), sc.Board(), trials=50, seed=1)
    for name in ("mean", "rank", "mean_rank"):
        np.testing.assert_array_equal(first[name], second[name])
    np.testing.assert_allclose(first["t_low"], second["t_low"], atol=1e-14)


def test_systems_and_metrics_that_a_collection_lacks_are_named_and_left_out() -> None:
    web, news = cube_of(scores_of("web")), cube_of(scores_of("news")[:4], RUNS[:4])
    board = sc.join_collections({"web": web, "news": news})
    assert board[names.RUN].values.tolist() == RUNS[:4]
    prepared = make_plan(board, sc.Board(), trials=10, seed=1)
    assert "left out, as news lacks them (run): e, f" in prepared.warnings
    with pytest.raises(BadPlan, match="0 runs in all of 2 collections, 2 are needed"):
        sc.join_collections({"web": web, "news": cube_of(scores_of("news")[:2], ["x", "y"])})
    with pytest.raises(BadPlan, match="no metric in common"):
        sc.join_collections({"web": web, "news": cube_of(scores_of("news"), metric="other")})


def test_repetitions_are_those_of_the_mean_over_collections() -> None:
    chance = np.random.default_rng(5)
    index = pd.MultiIndex.from_product([["s", "t", "u"], ["1", "2", "3", "4"]], names=["system", "seed"])  # fmt: skip
    cubes, tables = {}, {}
    for name, n in SIZES.items():
        base = chance.uniform(0.3, 0.7, n)
        rows = (
            base + 0.03 * chance.standard_normal((12, 1)) + 0.05 * chance.standard_normal((12, n))
        )
        tables[name] = rows.round(3)
        topics = [f"t{k:02d}" for k in range(n)]
        cubes[name] = cube_from_scores({"score": pd.DataFrame(tables[name], index, topics)})
    prepared = make_plan(sc.join_collections(cubes), sc.Board(), trials=200, seed=1)
    assert any("systems are compared" in line for line in prepared.warnings)
    result = analyse(sc.join_collections(cubes), sc.Board(baseline="t"), trials=200, seed=1)
    assert result["repetitions"].values.tolist() == [4, 4, 4]
    of_runs = np.mean([table.mean(axis=1) for table in tables.values()], axis=0).reshape(3, 4)
    np.testing.assert_allclose(result["mean"].values.ravel(), of_runs.mean(axis=1), atol=1e-12)
    parts = [table.reshape(3, 4, -1).mean(axis=1) for table in tables.values()]
    squares = np.array([each.var(axis=1, ddof=1) / each.shape[1] / 9 for each in parts])
    single = of_runs.var(axis=1, ddof=1) / 4
    total = squares.sum(axis=0) + single
    freedom = total**2 / (sum(each**2 / (n - 1) for each, n in zip(squares, SIZES.values(), strict=True)) + single**2 / 3)  # fmt: skip
    margins = [stats.t.ppf(0.975, one) * math.sqrt(each) for one, each in zip(freedom, total, strict=True)]  # fmt: skip
    found = (result["t_high"] - result["mean"]).values.ravel()
    np.testing.assert_allclose(found, margins, atol=1e-8)


def test_topic_groups_are_those_of_each_collection() -> None:
    web, news = cube_of(scores_of("web")), cube_of(scores_of("news"))
    grouped = web.assign_coords(
        {names.TOPIC_GROUP: (names.TOPIC, [f"g{k // 2:02d}" for k in range(26)])}
    )
    pairs = scores_of("web").reshape(6, 13, 2).mean(axis=2)
    expected = analyse(sc.join_collections({"web": cube_of(pairs), "news": news}), sc.Board(), trials=50, seed=1)  # fmt: skip
    board = sc.join_collections({"web": grouped, "news": news})
    result = analyse(board, sc.Board(), trials=50, seed=1)
    for name in ("mean", "t_low", "rank_low"):
        np.testing.assert_allclose(result[name], expected[name], atol=1e-12)
    assert "web: The 26 topics come in 13 topic groups" in result.attrs[names.TOPIC_GROUPS]
    by_topic = sc.join_collections({"web": grouped, "news": news}, by_topic=True)
    assert by_topic.sizes[names.TOPIC] == 35
    with pytest.raises(BadPlan, match="come in groups; standardise each collection first"):
        analyse(board, sc.Board(standardise="z"), trials=10)


def test_standardised_scores_and_ranks() -> None:
    cubes = {name: cube_of(scores_of(name)) for name in SIZES}
    result = analyse(sc.join_collections(cubes), sc.Board(standardise="z"), trials=50, seed=1)
    single = [sc.standardise(cube, "z")["score"].mean("topic").values for cube in cubes.values()]
    np.testing.assert_allclose(result["mean"].values, np.mean(single, axis=0), atol=1e-12)
    assert result[names.METRIC].values.tolist() == ["z:score"]
    ranked = analyse(sc.join_collections(cubes), sc.Board(standardise="rank"), trials=50, seed=1)
    scores = {name: scores_of(name) for name in SIZES}
    for run in range(6):
        shares = [
            np.mean([(np.sum(column < column[run]) + 0.5 * (np.sum(column == column[run]) - 1)) / 5 for column in of.T])
            for of in scores.values()
        ]  # fmt: skip
        assert float(ranked["mean"][0, 0, run]) == pytest.approx(np.mean(shares), abs=1e-12)
    # Borda: the mean of ranks by the mean of each collection; no limits.
    ranks = [[sum(of.mean(axis=1) > of[run].mean()) + 1 for of in scores.values()] for run in range(6)]  # fmt: skip
    np.testing.assert_allclose(result["mean_rank"].shape, (1, 1, 6))
    plain = analyse(sc.join_collections(cubes), sc.Board(), trials=50, seed=1)
    np.testing.assert_allclose(plain["mean_rank"].values.ravel(), np.mean(ranks, axis=1))
    assert not {"mean_rank_low", "mean_rank_high"} & set(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": ("web=0",)}, "a number above 0, such as code=2; the collections are code, news, web"),
        ({"weights": ("nothing=1",)}, "expected a collection, each once"),
        ({"weights": ("web",)}, "expected a collection, each once"),
        ({"collections": ("news", "web")}, "the collections of the cube are code, news, web"),
        ({"baseline": "x"}, "no run 'x'"),
    ],
)  # fmt: skip
def test_refused_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sc.ScorecubeError, match=message):
        analyse(joined(), sc.Board(**options), trials=10)


def test_a_collection_needs_two_topics() -> None:
    cubes = {"web": cube_of(scores_of("web")), "one": cube_of(scores_of("news")[:, :1])}
    with pytest.raises(BadPlan, match="a board needs 2 topics of each collection; one has fewer"):
        analyse(sc.join_collections(cubes), sc.Board(), trials=10)


def test_metrics_with_and_without_gain_settings_have_a_matrix() -> None:
    cubes = {name: simulate_cube(n_runs=5, seed=seed, gains=("3:2:1", "1:1:1")) for seed, name in enumerate("xy")}  # fmt: skip
    result = analyse(sc.join_collections(cubes), sc.Board(), trials=50, seed=1)
    shown = sc.table(result, "matrix")
    assert shown["metric"].unique().tolist() == ["AP", "nDCG@10 (3:2:1)", "nDCG@10 (1:1:1)"]
    said = [each for each in sc.findings(result) if "neighbouring" in each.sentence]
    assert len(said) >= 3


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study of three collections; code lacks the run f, and has a missing score."""
    path = tmp_path / "boards.zarr"
    opened = sc.open_study(path, mode="a")
    for name in SIZES:
        scores, runs = scores_of(name), RUNS
        if name == "code":
            scores, runs = scores[:5].copy(), RUNS[:5]
            scores[0, 3] = np.nan
        opened.add(name, cube=cube_of(scores, runs))
    return path


def test_a_board_of_a_study(study: Path, tmp_path: Path, scorecube: Cli) -> None:
    refused = scorecube("board", study, "--seed", 1)
    assert refused.status == 1
    assert "1 scores are missing" in refused.stderr
    command = ("board", study, "--drop-missing", "--weights", "web=2", "--seed", 1, "--trials", 300)
    done = scorecube(*command).succeeded()
    assert "left out, as code lacks them (run): f" in done.stderr
    assert "mean over 3 collections, score: e leads" in " ".join(done.stdout.split())
    assert "of 4 neighbouring pairs are separated" in " ".join(done.stdout.split())
    assert "code and 2 more" in done.stdout
    assert "already there" in scorecube(*command).succeeded().stderr
    rows = json.loads(scorecube("show", study, "board", "--table", "collections", "--format", "json").succeeded().stdout)  # fmt: skip
    assert {row["collection"]: row["topics"] for row in rows} == {"code": 13, "news": 9, "web": 26}
    latex = scorecube("show", study, "board", "--table", "matrix", "--format", "latex").succeeded()
    assert "mean over collections" in latex.stdout
    assert "code & news & web" in latex.stdout
    scorecube("figure", study, "board", "--out", tmp_path / "board.svg").succeeded()
    assert (tmp_path / "board.svg").stat().st_size > 1000


def test_collections_that_are_large_together_are_read_on_use_and_each_chunk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fits into memory by itself; a stored chunk holds three of the six runs, a part that is read at a time without chunks one."""
    cubes = {name: cube_of(np.tile(scores_of(name), 8)) for name in SIZES}
    limit = 5 * max(cube.nbytes for cube in cubes.values()) // 4
    expected = make_plan(sc.join_collections(cubes), sc.Board(), trials=9, seed=1).plan.cube_digest
    for name, cube in cubes.items():
        with monkeypatch.context() as patched:
            patched.setattr(encoding, "MAX_CHUNK_BYTES", 3 * 8 * cube.sizes["topic"])
            sc.open_study(tmp_path / "s", mode="a").add(name, cube=cube)
    for module in (datasets, schema):
        monkeypatch.setattr(module, "MAX_LOADED_BYTES", limit)
    monkeypatch.setattr(datasets, "MAX_DIRECT_BYTES", 0)
    monkeypatch.setattr(rows, "AT_ONCE", 1)
    study = sc.open_study(tmp_path / "s")
    assert study["web"].cube["score"].variable._in_memory
    joined = selected_from_all(study, list(SIZES), {}, ReadCubes(len(SIZES)))
    assert not rows.is_loaded(joined)
    read: list[Any] = []
    whole = JoinedScores._read

    def noted(self: JoinedScores, key: tuple[Any, ...]) -> Any:
        read.append(key)
        return whole(self, key)

    monkeypatch.setattr(JoinedScores, "_read", noted)
    assert cube_digest(joined) == expected
    assert sorted(runs for _, _, runs, _ in read) == [slice(0, 3, 1), slice(3, 6, 1)]


@pytest.mark.parametrize(
    ("labels", "place"), [("bcd", slice(1, 4)), ("abdf", [0, 1, 3, 5]), ("ca", [2, 0]), ("", [])]
)
def test_labels_that_follow_each_other_are_read_as_a_slice(labels: str, place: Any) -> None:
    cube = cube_of(scores_of("web"))
    lazy = cube.assign(score=joined_along_topic([cube.variables["score"]]))
    found = with_labels(lazy, {"run": [*labels]})
    xr.testing.assert_equal(found.load(), cube.isel(run=place))


def test_blocks_of_a_board_are_resumed(study: Path, scorecube: Cli) -> None:
    options = ("--collections", "web,news", "--trials", 40, "--seed", 1)
    scorecube("board", study, *options, block_units=10).succeeded()
    more = scorecube("board", study, "--collections", "web,news", "--trials", 80, "--seed", 1).succeeded()  # fmt: skip
    assert "40 trials are recorded already; 40 to go" in more.stderr
    opened = sc.open_study(study)
    result = next(each for each in opened["news"].results("board") if each.attrs["trials"] == 80)
    cubes = {name: opened[name].cube for name in ("web", "news")}
    direct = analyse(sc.join_collections(cubes), sc.Board(), trials=80, seed=1)
    for name, values in direct.data_vars.items():
        np.testing.assert_array_equal(result[name].values, values.values)


def test_replaced_scores_of_any_collection_are_computed_anew(study: Path, scorecube: Cli) -> None:
    command = ("board", study, "--collections", "web,news", "--trials", 40, "--seed", 1)
    first = scorecube(*command).succeeded().stdout
    sc.open_study(study, mode="a").add("news", cube=cube_of(scores_of("news")[::-1].copy()), replace=True)  # fmt: skip
    second = scorecube(*command).succeeded()
    assert "already there" not in second.stderr
    assert second.stdout != first


def test_the_page_of_a_study_with_a_board_opens_with_systems_by_collections(
    study: Path, tmp_path: Path, scorecube: Cli
) -> None:
    page = tmp_path / "report.html"
    scorecube("leaderboard", study, "--drop-missing", "--trials", 50, "--seed", 1).succeeded()
    scorecube("report", study, "--out", page).succeeded()
    before = page.read_text(encoding="utf-8")
    assert before.index('id="leaderboard"') < before.index('id="collections"')
    scorecube("board", study, "--drop-missing", "--trials", 300, "--seed", 1).succeeded()
    scorecube("report", study, "--out", page).succeeded()
    text = page.read_text(encoding="utf-8")
    assert text.index('id="collections"') < text.index('id="leaderboard"')
    assert "mean of these 3" in text
    assert "all rank sets hold together" in text
    (card,) = [part for part in text.split('<div class="card">')[1:] if "Who leads?" in part]
    assert '<p class="big">e ' in card
    rows = text[text.index('class="matrix"') :].partition("</table>")[0].split("<tr>")[2:]
    result = sc.open_study(study)["code"].result("board")
    order = np.argsort(result["rank"].values[0, 0], kind="stable")
    for row, run in zip(rows, order, strict=True):
        sets = {int(result[name][0, 0, run]): 0 for name in ("rank_low", "rank_high")}
        assert f'<td class="n">{TO.join(map(str, sets))}</td>' in row
        assert f'<th scope="row">{result["run"].values[run]}</th>' in row

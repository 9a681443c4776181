"""Boards: an oracle, the leaderboard of one collection, plain means, blocks, repetitions, topic groups, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube import names
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadName, BadPlan
from scorecube.report.results import answers
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

TRIALS, SEED = 120, 4
SIZES = {"code": 14, "news": 9, "web": 26}
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


def test_collections_in_another_order_change_no_mean_and_no_rank() -> None:
    first = analyse(joined(), sc.Board(), trials=50, seed=1)
    cubes = {name: cube_of(scores_of(name)) for name in reversed(SIZES)}
    second = analyse(sc.join_collections(cubes), sc.Board(), trials=50, seed=1)
    for name in ("mean", "rank", "mean_rank"):
        np.testing.assert_array_equal(first[name], second[name])
    np.testing.assert_allclose(
        first["mean_low"][0, 0, :5], second["mean_low"][0, 0, :5], atol=1e-12
    )


def test_means_and_limits_in_a_collection_are_those_of_its_leaderboard() -> None:
    """But for leaders, whose limits are simultaneous there."""
    board = analyse(joined(), sc.Board(weights=("web=2",)), trials=TRIALS)
    for name in SIZES:
        one = analyse(cube_of(scores_of(name)), sc.Leaderboard(), trials=TRIALS)
        follows = ~one["leads"].values.ravel()
        for quantity in ("mean", "mean_low", "mean_high"):
            found = board[f"collection_{quantity}"].sel(collection=name).values.ravel()
            np.testing.assert_allclose(found[follows], one[quantity].values.ravel()[follows])


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


@pytest.mark.parametrize(
    "options",
    [{"weights": ("web=0",)}, {"weights": ("nothing=1",)}, {"weights": ("web",)}, {"collections": ("news", "web")}, {"baseline": "x"}],
)  # fmt: skip
def test_refused_options(options: dict[str, Any]) -> None:
    with pytest.raises((BadPlan, BadName)):
        analyse(joined(), sc.Board(**options), trials=10)


def test_metrics_with_and_without_gain_settings_have_a_matrix() -> None:
    cubes = {name: simulate_cube(n_runs=5, seed=seed, gains=("3:2:1", "1:1:1")) for seed, name in enumerate("xy")}  # fmt: skip
    result = analyse(sc.join_collections(cubes), sc.Board(), trials=50, seed=1)
    shown = sc.table(result, "matrix")
    assert shown["metric"].unique().tolist() == ["AP", "nDCG@10 (3:2:1)", "nDCG@10 (1:1:1)"]
    assert [answer.label for answer in answers(result)] == shown["metric"].unique().tolist()


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
    assert "scores are missing on 1 of 14 topics, most of a (1)" in refused.stderr
    command = (
        "board",
        study,
        "--missing",
        "drop",
        "--weights",
        "web=2",
        "--seed",
        1,
        "--trials",
        300,
    )
    done = scorecube(*command).succeeded()
    assert "left out, as code lacks them (run): f" in done.stderr
    told = " ".join(done.stdout.split())
    assert "score: e " in told
    assert "mean over 3 collections" in told
    assert "code and 2 more" in done.stdout
    assert "already there" in scorecube(*command).succeeded().stderr
    rows = json.loads(scorecube("show", study, "board", "--table", "collections", "--format", "json").succeeded().stdout)  # fmt: skip
    assert {row["collection"]: row["topics"] for row in rows} == {"code": 13, "news": 9, "web": 26}
    latex = scorecube("show", study, "board", "--table", "matrix", "--format", "latex").succeeded()
    assert "mean over collections" in latex.stdout
    assert "code & news & web" in latex.stdout
    scorecube("figure", study, "board", "--out", tmp_path / "board.svg").succeeded()
    assert (tmp_path / "board.svg").stat().st_size > 1000


def test_replaced_scores_of_any_collection_are_computed_anew(study: Path, scorecube: Cli) -> None:
    command = ("board", study, "--collections", "web,news", "--trials", 40, "--seed", 1)
    first = scorecube(*command).succeeded().stdout
    sc.open_study(study, mode="a").add("news", cube=cube_of(scores_of("news")[::-1].copy()), replace=True)  # fmt: skip
    second = scorecube(*command).succeeded()
    assert "already there" not in second.stderr
    assert second.stdout != first

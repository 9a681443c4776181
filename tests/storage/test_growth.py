"""A collection grows: runs that are added one by one are what one call gives, bit by bit; nothing that was there changes unasked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.collection.growth import OtherCollection, merge_rankings
from scorecube.errors import BadInput, BadStudy, ScorecubeError
from scorecube.storage import open_study
from scorecube.testing import simulate_rankings
from tests.conftest import REPO, Cli, Files
from tests.storage.states import FAULTS, Killed, is_whole, new_result

MODELS = [f"m{k}" for k in (3, 1, 8, 5, 2, 7, 4, 6)]
TOPICS = [f"t{k:02d}" for k in range(30)]


def scores(models: list[str], metrics: tuple[str, ...] = ("f1", "em"), seed: int = 1) -> xr.Dataset:
    """Return scores that depend on nothing but model, metric and topic."""
    frames = {}
    for metric in metrics:
        rows = {
            model: np.random.default_rng([seed, ord(model[1]), len(metric)]).random(len(TOPICS))
            for model in models
        }
        frames[metric] = pd.DataFrame(rows, index=TOPICS).T
    made: xr.Dataset = sc.cube_from_scores(frames)
    return made


def write(folder: Path, models: list[str], metrics: tuple[str, ...] = ("f1", "em")) -> list[Path]:
    """Write a CSV file for each model: a row for each topic and metric."""
    cube, paths = scores(models, metrics), []
    for model in models:
        frame = cube.sel(run=[model]).score.to_dataframe().reset_index()
        paths.append(folder / f"{model}.csv")
        frame.rename(columns={"run": "model"})[["model", "topic", "metric", "score"]].to_csv(
            paths[-1], index=False
        )
    return paths


def digests(place: Path | str) -> tuple[str, str]:
    head = open_study(place)["a"].head
    return head.cube, head.rankings


def test_eight_imports_are_one(tmp_path: Path, scorecube: Cli) -> None:
    paths = write(tmp_path, MODELS)
    scorecube("import", tmp_path / "one", "--name", "a", *paths).succeeded()
    for path in paths:
        scorecube("import", tmp_path / "eight", "--name", "a", path).succeeded()
    said = scorecube("import", tmp_path / "eight", "--name", "a", paths[0]).succeeded().stderr
    assert "8 models now" in said
    assert digests(tmp_path / "one") == digests(tmp_path / "eight")
    assert is_whole(tmp_path / "eight")


def of_values(models: list[str], value: float) -> xr.Dataset:
    """Return scores of 0 and 1, and one other, which is that of the first topic of the last."""
    frame = pd.DataFrame(
        {model: [(k + place) % 2 for k in range(30)] for place, model in enumerate(models)},
        index=TOPICS,
        dtype=float,
    ).T
    frame.loc[models[-1], TOPICS[0]] = value
    made: xr.Dataset = sc.cube_from_scores({"x": frame})
    return made


@pytest.mark.parametrize(("value", "now"), [(0.5, (-np.inf, np.inf)), (1.0, (0.0, 1.0))])
def test_ranges_are_of_all_scores_and_their_change_is_said(
    tmp_path: Path, value: float, now: tuple[float, float]
) -> None:
    whole = of_values(MODELS, value)
    open_study(tmp_path / "one", mode="a").add("a", cube=whole)
    study, lines = open_study(tmp_path / "eight", mode="a"), list[str]()
    for model in MODELS:
        part = of_values(MODELS, value).sel(run=[model]).drop_vars(["score_low", "score_high"])
        study.add("a", cube=part, notify=lines.append)
    assert digests(tmp_path / "one") == digests(tmp_path / "eight")
    cube = study["a"].cube
    assert (float(cube.score_low[0]), float(cube.score_high[0])) == now
    assert len(lines) == (value == 0.5)
    study.add("a", cube=whole, notify=lines.append)
    assert len(lines) == (value == 0.5)


def test_a_stated_range_stands(tmp_path: Path) -> None:
    study, lines = open_study(tmp_path / "study", mode="a"), list[str]()
    ends = {"score_low": ("metric", [0.0]), "score_high": ("metric", [2.0])}
    study.add("a", cube=of_values(MODELS[:2], 1.0).assign_coords(ends))
    study.add("a", cube=of_values(MODELS[2:4], 0.5), notify=lines.append)
    assert (study["a"].cube.score_high.item(), lines) == (2.0, [])
    with pytest.raises(BadInput, match="outside the range"):
        study.add("a", cube=of_values(MODELS[4:], 2.5))
    other = of_values(MODELS[4:], 0.5).assign_coords({**ends, "score_high": ("metric", [3.0])})
    with pytest.raises(BadStudy, match="was stated as"):
        study.add("a", cube=other)
    study.add("a", cube=other, replace="cells", notify=lines.append)
    assert (study["a"].cube.score_high.item(), len(lines)) == (3.0, 1)


def split_runs(files: Files, folder: Path) -> list[Path]:
    """Return the run files of a collection, one a run."""
    return sorted(path for path in files.runs.rglob("*") if path.is_file())


@pytest.mark.parametrize("order", [1, -1])
def test_evaluating_run_by_run_is_evaluating_all(
    files: Files, tmp_path: Path, scorecube: Cli, order: int
) -> None:
    options = ["--name", "a", "--qrels", files.qrels, "--teams", files.teams, "--metrics", "AP,RR"]
    runs = split_runs(files, tmp_path)[::order]
    assert len(runs) > 3
    scorecube("evaluate", tmp_path / "one", *options, "--runs", *runs).succeeded()
    for run in runs:
        scorecube("evaluate", tmp_path / "many", *options, "--runs", run).succeeded()
    assert digests(tmp_path / "one") == digests(tmp_path / "many")
    more = ["--gains", "auto,3:2:1"]
    added = [*options[:-1], "Q"]
    scorecube("evaluate", tmp_path / "many", *added, *more, "--runs", runs[0]).succeeded()
    whole = [*options[:-1], "AP,RR,Q"]
    scorecube("evaluate", tmp_path / "both", *whole, *more, "--runs", *runs).succeeded()
    assert digests(tmp_path / "both") == digests(tmp_path / "many")


def test_new_runs_outdate_results_and_new_metrics_keep_them(place: str) -> None:
    study, lines = open_study(place, mode="a"), list[str]()
    study.add("a", cube=scores(MODELS[:4], ("m",)))
    study["a"].write_result(new_result(study["a"]))
    study.add("a", cube=scores(MODELS[:4], ("n0",)), notify=lines.append)
    assert study["a"].contents()["results"] == {"swap": 1}
    assert lines == []
    study.add("a", cube=scores(MODELS[2:], ("m", "n0")), notify=lines.append)
    assert study["a"].contents()["outdated"] == {"swap": 1}
    assert [line.startswith("a: 1 result of earlier scores outdated") for line in lines] == [True]
    assert list(study["a"].cube.run.values) == sorted(MODELS)
    assert len(study["a"].head.contains) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda cube: cube.isel(topic=slice(1, None)), "30 stored, only there t00; 29 given"),
        (lambda cube: cube.sel(metric=["f1"]), "lacks em"),
        (lambda cube: cube + 0.001, "another score of"),
        (lambda cube: cube.assign_coords(gain=["1:1"]), "lacks f1 with gains auto"),
        (lambda cube: cube.assign_coords(team=("run", ["x"] * cube.sizes["run"])), "another team"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, change: Callable[[Any], Any], words: str
) -> None:
    study = open_study(tmp_path / "study", mode="a")
    study.add("a", cube=scores(MODELS[:4]))
    before = digests(tmp_path / "study")
    with pytest.raises(BadStudy, match=words):
        study.add("a", cube=change(scores(MODELS[2:])))
    with pytest.raises(BadStudy, match="4 runs"):
        study.add("a", cube=scores(MODELS[4:], ("f1", "em", "new")))
    assert digests(tmp_path / "study") == before


def test_cells_that_are_given_are_replaced_and_no_others(tmp_path: Path, scorecube: Cli) -> None:
    study = open_study(tmp_path / "study", mode="a")
    study.add("a", cube=scores(MODELS))
    (path,) = write(tmp_path, ["m3"], ("f1",))
    frame = pd.read_csv(path)
    frame["score"] = 0.25
    frame.to_csv(path, index=False)
    words = ["import", tmp_path / "study", "--name", "a", path]
    refused = scorecube(*words)
    assert refused.status == 1
    assert "--replace" in refused.stderr
    scorecube(*words, "--replace").succeeded()
    expected = scores(MODELS)
    expected.score.loc[{"metric": "f1", "run": "m3"}] = 0.25
    np.testing.assert_array_equal(study["a"].cube.score, expected.score)


def test_other_topics_are_replaced_as_a_whole_and_it_is_said(tmp_path: Path) -> None:
    study, lines = open_study(tmp_path / "study", mode="a"), list[str]()
    study.add("a", cube=scores(MODELS))
    fewer = scores(MODELS[:2]).isel(topic=slice(5))
    study.add("a", cube=fewer, replace="cells", notify=lines.append)
    assert study["a"].cube.sizes["run"] == 2
    assert [line.startswith("a: replaced as a whole") for line in lines] == [True]


def test_judgements_and_options_are_the_same(files: Files, tmp_path: Path, scorecube: Cli) -> None:
    runs, study = split_runs(files, tmp_path), tmp_path / "study"
    options = ["evaluate", study, "--name", "a", "--metrics", "AP"]
    scorecube(*options, "--qrels", files.qrels, "--runs", *runs[:2]).succeeded()
    before = digests(study)
    lines = files.qrels.read_text().splitlines()
    other = tmp_path / "qrels"
    other.write_text("\n".join([*lines[:-1], f"{lines[-1][:-1]}{1 - min(1, int(lines[-1][-1]))}"]))
    for extra in (
        ["--qrels", other],
        ["--qrels", files.qrels, "--depth", 3],
        ["--qrels", files.qrels, "--order", "file"],
    ):
        refused = scorecube(*options, *extra, "--runs", runs[2])
        assert (refused.status, digests(study)) == (1, before)
        assert "differ in" in refused.stderr
    said = scorecube(*options, "--qrels", other, "--runs", runs[2], "--replace").succeeded().stderr
    assert "a: replaced" in said
    assert open_study(study)["a"].cube.sizes["run"] == 1


def test_scores_alone_are_no_runs_of_an_evaluated_collection(
    files: Files, tmp_path: Path, scorecube: Cli
) -> None:
    study = open_study(tmp_path / "study", mode="a")
    rankings = simulate_rankings(n_runs=4, seed=1)
    study.add("a", cube=sc.evaluate(rankings, ["AP"]), rankings=rankings)
    renamed = (
        sc.evaluate(rankings, ["AP"]).isel(run=[0]).assign_coords(run=["zz"], team=("run", ["zz"]))
    )
    with pytest.raises(BadStudy, match="evaluate"):
        study.add("a", cube=renamed)


def test_rankings_of_other_depths_are_joined() -> None:
    whole = simulate_rankings(n_runs=5, seed=3)
    parts = [whole.isel(run=[k]) for k in range(5)]
    last = parts[0].level_at_rank.values
    assert (last[..., -1] == -1).all() or last.shape[-1] > 1
    joined = parts[3]
    for part in (parts[1], parts[4], parts[0], parts[2]):
        joined = merge_rankings(joined, part, "x")
    xr.testing.assert_identical(joined, whole)
    short = whole.isel(run=[0], rank=slice(7)).assign_coords(run=["zz"], team=("run", ["zz"]))
    grown = merge_rankings(whole, short, "x")
    assert (grown.level_at_rank.sel(run="zz").values[:, 7:] == -1).all()
    with pytest.raises(OtherCollection, match="order"):
        merge_rankings(whole, short.assign_attrs(order="file"), "x")
    with pytest.raises(BadStudy, match="another level_at_rank"):
        merge_rankings(whole, whole.assign(level_at_rank=whole.level_at_rank * 0), "x")


@pytest.mark.slow
def test_a_killed_addition_adds_all_or_nothing(tmp_path: Path) -> None:
    def fresh(name: str) -> Path:
        open_study(tmp_path / name, mode="a").add("a", cube=scores(MODELS[:4]))
        return tmp_path / name

    def grow(path: Path) -> None:
        open_study(path, mode="a").add("a", cube=scores(MODELS[4:]))

    whole = fresh("whole")
    with FAULTS.below(whole):
        grow(whole)
        calls = FAULTS.calls
    for moment in range(1, calls, max(1, calls // 12)):
        path = fresh(f"at{moment}")
        old = digests(path)
        with FAULTS.below(path, moment, kill=True), pytest.raises(Killed):
            grow(path)
        assert digests(path) in (old, digests(whole))
        grow(path)
        assert digests(path) == digests(whole)
        assert is_whole(path)


ADD = """
import sys
from scorecube.storage import open_study
from tests.storage.test_growth import scores
open_study(sys.argv[1], mode="a").add("a", cube=scores([sys.argv[2]]))
"""


@pytest.mark.slow
def test_eight_processes_add_a_model_each(place: str) -> None:
    commands = [[sys.executable, "-W", "ignore", "-c", ADD, place, model] for model in MODELS]
    processes = [subprocess.Popen(command, cwd=REPO) for command in commands]
    assert [process.wait(timeout=300) for process in processes] == [0] * len(MODELS)
    open_study(f"{place}-one", mode="a").add("a", cube=scores(MODELS))
    assert digests(place) == digests(f"{place}-one")
    assert is_whole(place)


def of_range(
    model: str, values: list[float], ends: tuple[float, float] | None = None
) -> xr.Dataset:
    """Return scores of one model and a metric that no name bounds."""
    frame = pd.DataFrame({"model": model, "item": TOPICS[: len(values)], "mine": values})
    made: xr.Dataset = sc.cube_from_scores(frame, ranges={"mine": ends} if ends else None)
    return made


ITEMS, GRADED = [0.0, 1.0, 1.0] * 4, [0.0, 0.5, 1.0] * 4
NONE = (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        ((ITEMS, None), (ITEMS, None), (0, 1)),
        ((ITEMS, None), (GRADED, None), NONE),
        ((ITEMS, (0, 1)), (GRADED, None), NONE),  # what scores show anyway is not told apart
        ((GRADED, (0, 2)), (GRADED, None), (0, 2)),
        ((GRADED, (0, 2)), (ITEMS, None), (0, 2)),
        ((GRADED, (0, 1)), (ITEMS, None), (0, 1)),
        ((GRADED, (0, 1)), (ITEMS, (0, 1)), (0, 1)),
        ((GRADED, (0, 1)), (GRADED, (0, 2)), None),
        ((GRADED, (0, 1)), ([3.0] * 12, None), None),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_range_is_of_all_scores_in_any_order(
    tmp_path: Path, first: Any, second: Any, ends: Any, turned: bool
) -> None:
    """One that was declared stays; else it is what all scores show; a change outdates results and is said."""
    study, said = open_study(tmp_path / "study", mode="a"), list[str]()
    sides = [of_range("b", *first), of_range("c", *second)][:: -1 if turned else 1]
    study.add("a", cube=sides[0])
    before = study["a"].head.cube
    if ends is None:
        with pytest.raises(ScorecubeError, match="range"):
            study.add("a", cube=sides[1])
        assert study["a"].head.cube == before
        return
    study.add("a", cube=sides[1], notify=said.append)
    (low,), (high,) = study["a"].cube["score_low"].values, study["a"].cube["score_high"].values
    assert (low, high) == ends
    was = (sides[0]["score_low"].item(), sides[0]["score_high"].item())
    assert len(said) == (was != ends)


def test_a_range_that_is_stated_later_outdates_results(tmp_path: Path) -> None:
    study = open_study(tmp_path / "study", mode="a")
    study.add("a", cube=of_range("b", GRADED))
    before = study["a"].head.cube
    study.add("a", cube=of_range("b", GRADED, (0, 1)))
    assert before not in study["a"].head.contains

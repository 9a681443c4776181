"""Numbers and promises that one changed line broke while all other tests passed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.topic_units import groups_left_out
from scorecube.declare import Answer
from scorecube.errors import BadPlan, BadStudy
from scorecube.methods.judges.agreement import labels as compared_labels
from scorecube.report.averages import averages
from scorecube.report.page import _cards
from scorecube.report.result_parts import median_of
from scorecube.report.views import view_of
from scorecube.testing import simulate_cube
from scorecube.workflow.tasks import plan_in_study


def cube_of_means(**means: list[float]) -> xr.Dataset:
    """Return a cube of runs a, b, ... whose scores by each metric have these means, on four topics."""
    runs = [chr(ord("a") + k) for k in range(len(next(iter(means.values()))))]
    topics = ["1", "2", "3", "4"]
    spread = np.array([-0.05, 0.05, -0.02, 0.02])
    frames = {name: pd.DataFrame(np.add.outer(of, spread), runs, topics) for name, of in means.items()}  # fmt: skip
    return sc.cube_from_scores(frames)


def test_neighbours_with_equal_means_are_no_swop() -> None:
    """Sakai 2004: a swop is a neighbour in the first metric's order whose mean by another is larger."""
    cube = cube_of_means(AP=[0.8, 0.6, 0.4, 0.2], Q=[0.5, 0.5, 0.7, 0.1], RR=[0.2, 0.4, 0.6, 0.8])
    swops = sc.analyse(cube, sc.Correlation())["swops"].squeeze("gain")
    found = {str(name): int(swops.sel(metric=name)) for name in ("AP", "Q", "RR")}
    assert found == {"AP": 0, "Q": 1, "RR": 3}


def test_a_partially_correct_answer_of_inspect_is_worth_a_half(tmp_path: Path) -> None:
    samples = [
        {"id": k, "epoch": 1, "scores": {"match": {"value": value}}}
        for k, value in enumerate("CPIN")
    ]
    log = {"version": 2, "status": "success", "plan": {}, "eval": {"model": "m", "task": "t"}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log | {"samples": samples}))
    cube = sc.import_scores(path, notify=lambda _: None)
    assert cube["score"].squeeze().values.tolist() == [1.0, 0.5, 0.0, 0.0]


def test_answers_of_several_collections_are_medians() -> None:
    answers = [[Answer("AP", value), Answer("RR", 1.0)] for value in (0.1, 0.2, 0.9)]
    assert [answer.value for answer in median_of(answers, "task")] == [0.2, 1.0]


def test_a_number_that_one_collection_lacks_has_no_mean() -> None:
    frame = pd.DataFrame({"collection": ["x", "y", "x", "y"], "run": list("aabb"), "mean": [0.5, np.nan, 0.5, 0.25]})  # fmt: skip
    means = averages(frame)["mean"].tolist()
    assert np.isnan(means[0])
    assert means[1] == 0.375


def test_topics_without_common_documents_are_no_groups_of_labels() -> None:
    chance = np.random.default_rng(2)
    counts = chance.integers(1, 9, (23, 3, 3))
    gaps = np.insert(counts, [0, 5, 5, 20], 0, axis=0)
    for name, value in compared_labels(counts).items():
        np.testing.assert_array_equal(compared_labels(gaps)[name], value)


def test_a_board_of_replaced_scores_is_not_stored(tmp_path: Path) -> None:
    """Whichever of its collections was replaced meanwhile."""
    for replaced in ("a", "b"):
        study = sc.open_study(tmp_path / replaced, mode="a")
        for seed, name in enumerate("ab"):
            study.add(name, cube=simulate_cube(n_runs=4, seed=seed))
        (task,) = plan_in_study(study, sc.Board(), trials=50)
        study.add(replaced, cube=simulate_cube(n_runs=4, seed=9), replace=True)
        with pytest.raises(BadStudy, match=f": {replaced}: "):
            task.run()
        assert not any(study[name].contents()["results"] for name in "ab")


def test_a_question_has_one_card() -> None:
    def section(kind: str, value: float) -> Any:
        answers = [Answer("AP", value)]
        return SimpleNamespace(
            kind=kind, anchor=kind, answers=lambda _: answers, view=view_of(kind)
        )

    cards = _cards([section("bootstrap", 0.1), section("tukey", 0.2)], ["AP"], False, {})
    assert len({card["question"] for card in cards}) == len(cards) > 0


def test_a_repetition_without_a_score_leaves_its_system_without_one() -> None:
    """The mean of the other repetitions would be of other seeds than elsewhere."""
    runs = ["a#1", "a#2", "b#1", "b#2"]
    scores = np.arange(12.0).reshape(4, 3) / 12
    scores[0, 1] = np.nan
    systems = {run: run[0] for run in runs}
    cube = sc.cube_from_scores({"AP": pd.DataFrame(scores, runs, ["1", "2", "3"])}, systems=systems)
    with pytest.raises(BadPlan, match=r"1 of 3 .* a \(1\)"):
        sc.analyse(cube, sc.Correlation())


def test_groups_that_are_left_out_hold_as_many_of_each_collection() -> None:
    groups = groups_left_out([30, 12, 7])
    parts = np.split(groups, [30, 42])
    assert [sorted(set(part.tolist())) for part in parts] == [[*range(7)]] * 3
    assert all(np.ptp(np.bincount(part)) <= 1 for part in parts)
    assert groups_left_out([30, 4]).size == 0
    first, second = np.split(groups_left_out([30, 30]), 2)
    assert (first != second).any()  # drawn for each collection by itself


def test_top_runs_are_the_best_in_the_direction_of_the_metric() -> None:
    frame = pd.DataFrame([[0.5, 0.25], [0.1, 0.2], [0.9, 0.9]], ["a", "b", "c"], ["1", "2"])
    scores = {"loss": frame}
    cube = sc.import_scores(scores, lower_is_better=["loss"], notify=lambda _: None)
    assert sc.select(cube, top_runs=2)["run"].values.tolist() == ["a", "b"]
    other = sc.import_scores(scores, notify=lambda _: None)
    assert sc.select(other, top_runs=2)["run"].values.tolist() == ["a", "c"]

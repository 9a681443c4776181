"""What is declared of metrics: that smaller values are better, which ranks, tests, choices and gates follow; and their range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube import names
from scorecube.analyses.along_topics import join_collections
from scorecube.analyses.preparation import make_table
from scorecube.errors import BadInput, BadPlan
from scorecube.metrics import DEFINITIONS

LAST_RELEVANT = "topic,a,b\n1,9,4\n2,0,7\n3,8,2\n"
RUNS = ["a", "b", "c", "d"]


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "last_rel.csv"
    path.write_text(LAST_RELEVANT)
    return path


def cubes(n_topics: int = 40, seed: int = 1) -> tuple[xr.Dataset, xr.Dataset]:
    """Return ranks of which smaller ones are better, and the same negated, of which larger ones are."""
    chance = np.random.default_rng(seed)
    scores = (20 * chance.random((4, n_topics)) + [[0], [4], [4], [9]]).round()
    topics = [f"t{k:02d}" for k in range(n_topics)]
    frame = pd.DataFrame(scores, index=RUNS, columns=topics)
    lower = sc.import_scores({"last_rel": frame}, lower_is_better=["last_rel"])
    return lower, sc.cube_from_scores({"last_rel": -frame})


def test_direction_is_declared_and_stored(matrix: Path, tmp_path: Path) -> None:
    said: list[str] = []
    cube = sc.import_scores([matrix], lower_is_better=["last_rel"], notify=said.append)
    assert cube.score.sel(run="a").values.ravel().tolist() == [9, 0, 8]
    assert cube[names.HIGHER_IS_BETTER].values.tolist() == [False]
    assert [line for line in said if line.startswith("no range is known of last_rel")]
    study = sc.open_study(tmp_path / "s", mode="a")
    study.add("x", cube=cube)
    study.add("x", cube=cube.drop_vars(names.HIGHER_IS_BETTER).assign_coords(metric=["AP"]) / 10)
    found = study["x"].cube
    assert dict(zip(found.metric.values, found[names.HIGHER_IS_BETTER].values, strict=True)) == {
        "last_rel": False,
        "AP": True,
    }


def test_gates_and_boards_follow_the_direction() -> None:
    lower, higher = cubes()
    for cube, verdict in ((lower, "pass"), (higher.assign(score=-higher.score), "fail")):
        assert sc.gate(cube, "a", "b", margin=0.5).attrs["verdict"] == verdict
    board = sc.analyse(join_collections({"x": lower, "y": lower}), sc.Board(), trials=99)
    assert board["rank"].sel(run="a").item() == 1
    with pytest.raises(BadPlan, match="last_rel"):
        join_collections({"x": lower, "y": higher})


def test_a_board_refuses_a_metric_with_two_ranges_unless_it_is_standardised() -> None:
    frame = pd.DataFrame(np.random.default_rng(1).random((3, 20)).round(2), RUNS[:3])
    one = sc.import_scores({"f1": frame}, ranges=["f1=0,1"])
    for ranges in (["f1=0,100"], []):
        joined = join_collections({"x": one, "y": sc.import_scores({"f1": 100 * frame}, ranges=ranges)})  # fmt: skip
        with pytest.raises(BadPlan, match="range of f1"):
            sc.analyse(joined, sc.Board(), trials=99)
        for how in ("z", "std-AB", "rank"):
            assert np.isfinite(sc.analyse(joined, sc.Board(standardise=how), trials=99)["mean"]).all()  # fmt: skip
    same = sc.analyse(join_collections({"x": one, "y": one}), sc.Board(), trials=99)
    assert (same["mean_high"] <= 1).all()


def test_ranges_are_declared_and_limits_stay_within(tmp_path: Path, scorecube: Any) -> None:
    file, study = tmp_path / "f1.csv", tmp_path / "s"
    rows = [f"{k},{100 if k else 97},{95 - k % 3}" for k in range(12)]
    file.write_text("\n".join(["topic,a,b", *rows, ""]))
    scorecube("import", study, file, "--name", "x", "--range", "f1=0,100").succeeded()
    cube = sc.open_study(study)["x"].cube
    assert [cube[name].item() for name in (names.SCORE_LOW, names.SCORE_HIGH)] == [0, 100]
    assert names.SCORE_LOW not in sc.standardise(cube, method="z").coords
    found = sc.table(sc.analyse(cube, sc.Leaderboard(), trials=99))
    assert found["mean_high"].max() == 100
    free = sc.table(sc.analyse(sc.import_scores([file], metric="f2"), sc.Leaderboard(), trials=99))
    assert free["mean_high"].isna().tolist() == [True, False]  # one run differs on one topic
    assert (free["limits_reason"] != "").tolist() == [True, False]
    for words, said in (("f1=0,50", "outside the range 0 to 50"), ("x=0,1", "x is not among"), ("f1=1", "such as f1=0,100")):  # fmt: skip
        refused = scorecube("import", study, file, "--name", "y", "--range", words)
        assert (refused.status, said in refused.stderr) == (1, True)


def seeded(n_items: int = 25, wrong: int = 1) -> xr.Dataset:
    """Return two models with three seeds each: items of 0 and 1, some of which a seed fails."""
    scores = np.ones((6, n_items))
    scores[1, :wrong] = 0.0
    runs = [f"{model}#{seed}" for model in "xy" for seed in range(3)]
    systems = {run: run[0] for run in runs}
    return sc.cube_from_scores({"score": pd.DataFrame(scores, runs)}, systems=systems)


def widths(cube: Any) -> list[Any]:
    """Return the ranges that analyses compute with."""
    return list(make_table(cube).ranges)


def test_the_range_is_a_fact_of_all_raw_scores(tmp_path: Path) -> None:
    cube, unit = seeded(), [(0.0, 1.0)]
    assert widths(cube) == unit  # and not of the means over seeds
    plain = cube.drop_vars([names.SCORE_LOW, names.SCORE_HIGH])
    assert widths(plain) == widths(plain.chunk()) == unit
    assert widths(sc.select(plain, runs=["x#0", "y#1"])) == unit
    # Another run with other scores: no choice of runs brings a range back.
    graded = plain.score.copy()
    graded[:, :, 5, 0] = 0.5
    mixed = plain.assign(score=graded)
    assert widths(mixed) == widths(sc.select(mixed, runs=["x#0", "x#1"])) == [None]
    study = sc.open_study(tmp_path / "s", mode="a")
    study.add("plain", cube=plain)
    study.add("mixed", cube=mixed)
    one = {metric: sc.cube_from_scores({metric: pd.DataFrame(np.full((6, 25), 0.3), cube.run.values)}) for metric in ("AP", "f1")}  # fmt: skip
    for metric in one.values():
        study.add("plain", cube=metric.assign_coords(system=cube.system))
    assert widths(study["plain"].cube) == [*unit, *unit, *unit]
    assert widths(sc.select(study["mixed"].cube, runs=["x#0", "x#1"])) == [None]
    joined = join_collections({"a": plain, "b": cube})
    assert widths(joined) == unit
    again = sc.cube_from_scores(cube.assign_coords(score_high=("metric", [2.0])))
    assert widths(again) == [(0.0, 2.0)]


def test_ranges_of_names_and_of_arguments() -> None:
    chance = np.random.default_rng(2)
    shares = chance.random((2, 12)).round(3)

    def of(name: str, scores: Any, **ranges: Any) -> Any:
        said: list[str] = []
        frame = pd.DataFrame(scores, ["a", "b"])
        cube = sc.cube_from_scores({name: frame}, ranges=ranges, notify=said.append)
        return widths(cube)[0], said

    for name in ("f1", "Accuracy", "pass@5", "Exact Match", "gdeval:nDCG@20", "win-rate", "pass^3"):
        assert of(name, shares) == ((0, 1), [])
        assert of(name, 100 * shares)[0] == (0, 100)
        assert of(name, np.rint(100 * shares))[0] is None
        assert of(name, 40 * shares)[0] is None
    for name in ("score", "latency", "f2", "z:AP", "accuracy_gain"):
        assert of(name, shares)[0] is None
        assert of(name, shares, **{name: (0, 1)}) == ((0, 1), [])
        assert of(name, (shares > 0.5) * 1.0)[0] == (0, 1)
    assert of("AP", 100 * shares, AP=(0, 100))[0] == (0, 100)
    with pytest.raises(BadInput, match=r"^AP .* ranges='AP=0,100'"):
        of("AP", 100 * shares)
    for wrong in ((1, 0), (0, np.inf), (0,), "x"):
        with pytest.raises(BadPlan, match="f2"):
            of("f2", shares, f2=wrong)
    with pytest.raises(BadPlan, match="f3"):
        of("f2", shares, f3=(0, 1))


def test_every_metric_of_this_package_declares_its_range() -> None:
    assert {name: definition.range for name, definition in DEFINITIONS.items() if not definition.range} == {}  # fmt: skip

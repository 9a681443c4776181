"""What a study promises, in a directory and in an object store alike."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

import scorecube as sc
from scorecube.errors import BadInput, BadStudy, CorruptStudy
from scorecube.storage import Collection, Study, find_rest, merge, open_study, verify_study
from scorecube.storage.study import open_place
from scorecube.testing import simulate_cube
from tests.conftest import Cli
from tests.storage.states import FAULTS, SOAK, Killed, cube, is_whole, new_result, state


def with_collection(place: str, seed: int = 0) -> tuple[Study, Collection]:
    study = open_study(place, mode="a")
    study.add("a", cube=cube(seed))
    return study, study["a"]


def test_cubes_come_back_with_the_same_bits(place: str) -> None:
    study, collection = with_collection(place)
    simulated = simulate_cube(n_runs=5)
    study.add("Über/b 1", cube=simulated)
    again = open_study(place)
    assert list(again) == ["a", "Über/b 1"]
    xr.testing.assert_identical(again["Über/b 1"].cube, simulated)
    assert collection.cube.score.values.tobytes() == cube().score.values.tobytes()
    assert "über/b 1" not in again
    with pytest.raises(BadStudy, match="no collection 'c'"):
        again["c"]
    assert list(pickle.loads(pickle.dumps(study))) == list(study)
    assert verify_study(study) == (4, [])
    assert find_rest(study) == []


def test_metrics_are_added_and_results_stay_current(place: str) -> None:
    study, collection = with_collection(place)
    collection.write_result(new_result(collection))
    study.add("a", cube=cube(1, "n"), facts={"x": 1})
    assert collection.cube.metric.values.tolist() == ["m", "n"]
    assert collection.contents()["results"] == {"swap": 1}
    version = collection.head.cube
    study.add("a", cube=cube(1, "n"), facts={"y": 2})
    assert collection.head.cube == version
    assert collection.head.notes == {"x": 1, "y": 2}
    for other in (cube(2), cube(2, n_topics=25)):
        with pytest.raises(BadStudy):
            study.add("a", cube=other)


def test_results_are_outdated_by_other_scores_and_superseded_by_new_ones(place: str) -> None:
    study, collection = with_collection(place)
    collection.write_result(new_result(collection))
    collection.write_result(new_result(collection, 20))
    study.add("a", cube=cube(), replace=True)
    assert collection.contents()["results"] == {"swap": 2}
    study.add("a", cube=cube(7), replace=True)
    assert collection.contents()["outdated"] == {"swap": 2}
    with pytest.raises(BadStudy, match="scores"):
        collection.result("swap")
    collection.write_result(new_result(collection))
    assert collection.contents() == {"rankings": False, "results": {"swap": 1}, "outdated": {}}


def test_the_latest_result_is_the_one_that_was_stored_last(place: str) -> None:
    _, collection = with_collection(place)
    many, few = new_result(collection, 20), new_result(collection, 10)
    for result in (few, many, few):
        collection.write_result(result)
    assert collection.result("swap").attrs["trials"] == 10
    xr.testing.assert_identical(collection.results("swap")[0], many)
    xr.testing.assert_identical(collection.result("swap", many.attrs["digest"]), many)
    with pytest.raises(BadStudy, match="swap"):
        collection.result("swap", "0" * 16)
    assert [each["trials"] for each in collection.result_attributes("swap")] == [20, 10]
    assert collection.forget("swap") == 2
    assert collection.contents()["results"] == {}


def test_rankings_come_with_their_levels(place: str) -> None:
    runs = {name: {"1": {"d1": 2.0, "d2": 1.0}, "2": {"d1": 1.0}} for name in "xyz"}
    rankings = sc.read_rankings(runs, {"1": {"d1": 2, "d2": 0}, "2": {"d1": 1}})
    study = open_study(place, mode="a")
    study.add("a", cube=sc.evaluate(rankings, ["AP"]), rankings=rankings)
    assert study["a"].head.facts["rankings"]["levels"] == [0, 1, 2]
    study.add("a", cube=sc.evaluate(rankings, ["RR"]))
    xr.testing.assert_identical(study["a"].rankings, rankings)
    study.add("a", cube=cube(), replace=True)
    with pytest.raises(BadStudy, match="imported as scores"):
        _ = study["a"].rankings


def test_blocks_are_recorded_once_and_read_in_any_order(place: str) -> None:
    _, collection = with_collection(place)
    blocks = collection.blocks("swap", "0" * 16)
    counts: NDArray[np.int64] = np.arange(6).reshape(2, 3)
    other = pickle.loads(pickle.dumps(blocks))  # of a worker
    other.record(10, 20, {"count": counts, "total": np.array(5)})
    blocks.record(0, 10, {"count": counts + 1, "total": np.array(6)})
    assert blocks.intervals() == [(0, 10), (10, 20)]
    arrays = blocks.read(10, 20)
    assert arrays["count"].tobytes() == counts.tobytes()
    assert arrays["total"].shape == ()
    for interval in ((0, 20), (15, 25)):
        blocks.record(*interval, {})
    other.forget_inside(25, 20)
    assert blocks.intervals() == [(0, 20), (15, 25)]  # over an edge


def test_a_place_creates_once_and_lists_what_is_there(place: str) -> None:
    opened = open_place(place)
    opened.is_new = True
    assert opened.create("a/x", b"1")
    assert opened.create("a/x", b"1")  # as a request that is repeated
    assert not opened.create("a/x", b"2")
    opened.write("a/b/y", b"12345")
    opened.write("a/b/y", b"1234")
    assert [opened.read(key) for key in ("a/x", "a/b/y", "a/z")] == [b"1", b"1234", None]
    assert opened.children("a") == ["b", "x"]
    assert opened.children("none") == []
    assert list(opened.files("a")) == ["b/y", "x"]
    assert set(opened.files("")) >= {"a/b/y", "a/x"}
    opened.delete("a/b")
    opened.delete("none")
    assert list(opened.files("a")) == ["x"]


def test_what_is_no_study_is_refused(place: str, tmp_path: Path) -> None:
    with pytest.raises(BadStudy, match="no study there"):
        open_study(place)
    opened = open_place(place)
    opened.is_new = True
    opened.write("notes/mine.txt", b"")
    with pytest.raises(BadStudy, match="another path"):
        open_study(place, mode="a")
    study, _ = with_collection(f"{place}2")
    with pytest.raises(BadStudy, match="opened for reading"):
        open_study(f"{place}2").add("b", cube=cube())
    with pytest.raises(BadInput):
        study.add("b", cube=xr.Dataset())


def test_a_large_cube_is_written_in_parts_and_read_on_use(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scorecube.storage.codec.MAX_CHUNK_BYTES", 200)
    monkeypatch.setattr("scorecube.collection.schema.MAX_LOADED_BYTES", 1000)
    study = open_study(place, mode="a")
    study.add("a", cube=cube())
    opened = study["a"].cube_among(2)
    assert not opened.score.variable._in_memory
    xr.testing.assert_identical(opened.load(), cube())
    opened_place = open_place(place)
    group = study["a"].head.group("cube")
    opened_place.delete(f"{group}/score/c.0.0.0.0")
    with pytest.raises(CorruptStudy, match="missing"):
        study["a"].cube_among(2)


def study_of(path: Path | str, names: str, shift: int = 0) -> Study:
    """Make a study of collections whose scores depend on their names, with a result each."""
    study = open_study(path, mode="a")
    for name in names:
        study.add(name, cube=cube(ord(name) + shift))
        study[name].write_result(new_result(study[name]))
    return study


@pytest.fixture
def parts(tmp_path: Path) -> tuple[str, str]:
    study_of(tmp_path / "p1", "ab")
    study_of(tmp_path / "p2", "cd")
    return str(tmp_path / "p1"), str(tmp_path / "p2")


def test_merging_copies_what_is_lacking_once(place: str, parts: tuple[str, str]) -> None:
    calls = list[tuple[int, int]]()
    merged = merge(place, parts, progress=lambda *numbers: calls.append(numbers))
    assert merged == {"new": 4, "results": 4}
    assert calls == [(k, 4) for k in range(1, 5)]
    assert state(place) == state(parts[0]) | state(parts[1])
    study = open_study(parts[0], mode="a")
    study["a"].write_result(new_result(study["a"], 20))
    study.add("b", cube=cube(1, "n"), facts={"source": "x"})
    assert merge(place, parts) == {"extended": 2, "unchanged": 2, "results": 1}
    assert merge(place, parts) == {"unchanged": 4, "results": 0}
    assert state(place) == state(parts[0]) | state(parts[1])
    assert open_study(place)["b"].head.notes == {"source": "x"}
    assert merge(parts[0], [place]) == {"new": 2, "unchanged": 2, "results": 2}
    assert state(place) == state(parts[0])
    for part in parts:
        shutil.rmtree(part)
    assert is_whole(place)


def test_merging_refuses_other_scores_and_damage(
    parts: tuple[str, str], tmp_path: Path, scorecube: Cli
) -> None:
    study_of(tmp_path / "other", "a", shift=1)
    out = str(tmp_path / "out")
    with pytest.raises(BadStudy, match="a: scores differ"):
        merge(out, [*parts, str(tmp_path / "other")])
    for seed, part in enumerate(parts):  # each adds other scores of one metric to the same ones
        open_study(part, mode="a").add("e", cube=cube())
        open_study(part, mode="a").add("e", cube=cube(seed, "n"))
    with pytest.raises(BadStudy, match="e: scores differ"):
        merge(out, parts)
    for part in parts:
        open_study(part, mode="a").add("e", cube=cube(), replace=True)
    assert merge(parts[0], parts) == {"new": 2, "unchanged": 4, "results": 2}
    (chunk,) = Path(parts[1], "c").glob("cube-*.zarr/score/c.0.0.0.0")
    chunk.write_bytes(chunk.read_bytes()[:-1])
    assert scorecube("merge", out, *parts).status == 1
    assert not Path(out).exists()


def test_a_killed_merge_is_continued(parts: tuple[str, str], tmp_path: Path) -> None:
    with FAULTS.below(tmp_path / "whole"):
        merge(str(tmp_path / "whole"), parts)
        calls = FAULTS.calls
    for moment in range(1, calls, 1 if SOAK else calls // 8):
        out = tmp_path / f"out{moment}"
        with FAULTS.below(out, moment, kill=True), pytest.raises(Killed):
            merge(str(out), parts)
        merge(str(out), parts)
        assert state(out) == state(tmp_path / "whole")
        assert is_whole(out)

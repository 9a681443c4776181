"""What a study promises, in a directory and in an object store alike."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.typing import NDArray

import scorecube as sc
from scorecube.errors import BadInput, BadStudy
from scorecube.storage import Collection, Study, find_rest, open_study, verify_study
from scorecube.storage.study import open_place
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores

SWAP = sc.Swap(size=10)


def cube(seed: int = 0, metric: str = "m", n_topics: int = 24) -> xr.Dataset:
    values = np.random.default_rng(seed).random((3, n_topics))
    topics = [f"{topic:02d}" for topic in range(n_topics)]
    return cube_from_scores({metric: pd.DataFrame(values, index=list("xyz"), columns=topics)})


def with_collection(place: str, seed: int = 0) -> tuple[Study, Collection]:
    study = open_study(place, mode="a")
    study.add("a", cube=cube(seed))
    return study, study["a"]


def new_result(of: Collection, trials: int = 10) -> xr.Dataset:
    return analyse(of.cube.sel(metric=["m"]), SWAP, trials=trials, seed=1, workers=1)


def test_cubes_come_back_with_the_same_bits(place: str) -> None:
    study, collection = with_collection(place)
    simulated = simulate_cube(n_runs=5)
    study.add("Über/b 1", cube=simulated)
    again = open_study(place)
    assert list(again) == ["a", "Über/b 1"]
    xr.testing.assert_identical(again["Über/b 1"].cube, simulated)
    assert collection.cube.score.values.tobytes() == cube().score.values.tobytes()
    assert "b" not in again
    assert "über/b 1" not in again
    with pytest.raises(BadStudy, match="no collection 'c'"):
        again["c"]
    assert list(pickle.loads(pickle.dumps(study))) == list(study)


def test_metrics_are_added_and_results_stay_current(place: str) -> None:
    study, collection = with_collection(place)
    collection.write_result(new_result(collection))
    study.add("a", cube=cube(1, "n"))
    assert collection.cube.metric.values.tolist() == ["m", "n"]
    assert collection.contents()["results"] == {"swap": 1}
    version = collection.head.cube
    study.add("a", cube=cube(1, "n"))
    assert collection.head.cube == version
    with pytest.raises(BadStudy, match="other scores"):
        study.add("a", cube=cube(2))
    with pytest.raises(BadStudy, match="other topics"):
        study.add("a", cube=cube(2, n_topics=25))


def test_results_are_outdated_by_other_scores_and_superseded_by_new_ones(place: str) -> None:
    study, collection = with_collection(place)
    collection.write_result(new_result(collection))
    collection.write_result(new_result(collection, 20))
    study.add("a", cube=cube(), replace=True)
    assert collection.contents()["results"] == {"swap": 2}
    study.add("a", cube=cube(7), replace=True)
    assert collection.contents()["outdated"] == {"swap": 2}
    with pytest.raises(BadStudy, match="of the scores that are there now"):
        collection.result("swap")
    collection.write_result(new_result(collection))
    assert collection.contents() == {"rankings": False, "results": {"swap": 1}, "outdated": {}}


def test_the_latest_result_is_the_one_that_was_stored_last(place: str) -> None:
    study, collection = with_collection(place)
    many, few = new_result(collection, 20), new_result(collection, 10)
    collection.write_result(many)
    collection.write_result(few)
    assert collection.result("swap").attrs["trials"] == 10
    assert [each.attrs["trials"] for each in collection.results("swap")] == [20, 10]
    xr.testing.assert_identical(collection.results("swap")[0], many)
    found = collection.find_result("swap", few.attrs["digest"])
    assert found is not None
    xr.testing.assert_identical(found, few)
    assert collection.find_result("swap", "0" * 16) is None
    attributes = study.rows()["a"].current["swap"]
    assert [each["trials"] for each in attributes] == [20, 10]
    assert collection.forget("swap") == 2
    assert collection.contents()["results"] == {}


def test_facts_are_noted(place: str) -> None:
    study, collection = with_collection(place)
    collection.note({"source": "x"})
    collection.note({"other": 1})
    study.add("a", cube=cube(1, "n"), facts={"other": 2})
    assert collection.head.notes == {"source": "x", "other": 2}
    study.add("a", cube=cube(3), replace=True)
    assert collection.head.notes == {}


def test_rankings_come_with_their_levels(place: str) -> None:
    runs = {name: {"1": {"d1": 2.0, "d2": 1.0}, "2": {"d1": 1.0}} for name in "xyz"}
    rankings = sc.read_rankings(runs, {"1": {"d1": 2, "d2": 0}, "2": {"d1": 1}})
    study = open_study(place, mode="a")
    study.add("a", cube=sc.evaluate(rankings, ["AP"]), rankings=rankings)
    xr.testing.assert_identical(study["a"].rankings, rankings)
    assert study.rows()["a"].head.facts["rankings"]["levels"] == [0, 1, 2]
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
    assert arrays is not None
    assert arrays["count"].tobytes() == counts.tobytes()
    assert arrays["total"].shape == ()
    assert [blocks.length(10), other.length(7), blocks.intervals()] == [10, 10, [(0, 10), (10, 20)]]


def test_a_place_creates_once_and_lists_what_is_there(place: str) -> None:
    opened = open_place(place)
    opened.make()
    assert opened.create("a/x", b"1")
    assert opened.create("a/x", b"1")  # as a request that is repeated
    assert not opened.create("a/x", b"2")
    opened.write("a/b/y", b"12345")
    opened.write("a/b/y", b"1234")
    assert opened.read("a/x") == b"1"
    assert opened.read("a/b/y") == b"1234"
    assert opened.read("a/z") is None
    assert opened.children("a") == ["b", "x"]
    assert opened.children("none") == []
    assert opened.keys("a") == ["b/y", "x"]
    assert set(opened.ages()) >= {"a/b/y", "a/x"}
    assert max(opened.ages().values()) < 60
    opened.delete("a/b")
    opened.delete("none")
    assert opened.keys("a") == ["x"]


def test_what_is_no_study_is_refused(place: str, tmp_path: Path) -> None:
    with pytest.raises(BadStudy, match="no study there"):
        open_study(place)
    opened = open_place(place)
    opened.make()
    opened.write("notes/mine.txt", b"")
    with pytest.raises(BadStudy, match="is not a study"):
        open_study(place, mode="a")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="exists"):
        open_study(tmp_path / "file", mode="a").add("a", cube=cube())
    with pytest.raises(BadStudy, match="'w'"):
        open_study(place, mode="w")


def test_a_study_for_reading_and_other_values_are_refused(place: str) -> None:
    study, _ = with_collection(place)
    with pytest.raises(BadStudy, match="opened for reading"):
        open_study(place).add("b", cube=cube())
    with pytest.raises(BadInput):
        study.add("b", cube=xr.Dataset())
    assert verify_study(study) == (2, [])
    assert find_rest(study) == []


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

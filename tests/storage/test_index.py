"""The index of a study: equal to one made anew, small to write, stale or damaged rows noticed, made once for studies without."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube.analyses import Bootstrap, Reliability, Swap, Tukey
from scorecube.errors import CorruptStudy
from scorecube.storage import index, open_catalogue, open_study, small_groups
from scorecube.storage.datasets import _objects_of_zarr, read_dataset, write_dataset
from scorecube.storage.encoding import pairs_as_positions
from scorecube.storage.index import INDEX, Row, read_segments, write_rows
from scorecube.storage.location import LocalDirectory, open_location
from scorecube.storage.manifest import read_checked
from scorecube.storage.small_groups import encode_dataset
from scorecube.storage.verify import check_index, repair_index, verify_study
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, plan_in_study
from scorecube.workflow.sweep import sweep
from scorecube.workflow.sweep_file import Entry
from tests.conftest import Cli
from tests.storage.states import made_anew, without_stamps

CUBE_FACTS = {
    "runs": 1,
    "teams": 1,
    "topics": 1,
    "missing_scores": 0,
    "metrics": ["AP"],
    "gains": ["auto"],
}
FACTS: dict[str, Any] = {"cube": CUBE_FACTS, "rankings": None}
"""Of a row."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A study of three collections, one of them with a result."""
    path = tmp_path / "study.zarr"
    study = open_study(path, mode="a")
    for seed, name in enumerate("abc"):
        study.add(name, cube=simulate_cube(n_runs=4, seed=seed))
    plan_in_study(study, Swap(size=10), collections=["b"], trials=20, seed=1)[0].run()
    return path


def read_manifests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the keys of all objects that are read."""
    keys: list[str] = []
    read = LocalDirectory.read

    def noted(self: LocalDirectory, key: str) -> bytes | None:
        keys.append(key)
        return read(self, key)

    monkeypatch.setattr(LocalDirectory, "read", noted)
    return keys


def test_it_is_read_instead_of_the_manifests(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = read_manifests(monkeypatch)
    rows = open_catalogue(path).rows()
    assert list(rows) == ["a", "b", "c"]
    assert rows["b"].contents() == {"rankings": False, "results": {"swap": 1}, "outdated": {}}
    assert {key.split("/")[0] for key in keys} == {"zarr.json", INDEX}
    monkeypatch.undo()
    assert without_stamps(rows) == made_anew(open_study(path))
    assert check_index(open_study(path)) == []


def test_a_commit_without_a_row_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a writer that was killed between the two."""
    study = open_study(path, mode="a")
    with monkeypatch.context() as killed:
        killed.setattr("scorecube.storage.study.write_rows", lambda *_: None)
        study.add("a", cube=simulate_cube(n_runs=5, seed=9), replace=True)
        study.add("d", cube=simulate_cube(n_runs=3, seed=9))
    keys = read_manifests(monkeypatch)
    rows = open_catalogue(path).rows()
    assert (rows["a"].facts["cube"]["runs"], rows["d"].facts["cube"]["runs"]) == (5, 3)
    assert {key.split("/")[0] for key in keys} == {"zarr.json", INDEX, "a", "d"}
    keys.clear()
    assert open_catalogue(path).rows() == rows
    assert {key.split("/")[0] for key in keys} == {"zarr.json", INDEX}  # it was stored


def test_a_row_of_a_changed_file_is_compared_with_its_digest(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = open_catalogue(path).rows()
    for name in "abc":  # as in a copy of the study
        file = path / name / "zarr.json"
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content)
    monkeypatch.setattr("scorecube.storage.catalogue.row_of", None)  # none is made anew
    assert without_stamps(open_catalogue(path).rows()) == without_stamps(rows)


@pytest.mark.parametrize("damage", ["flipped", "cut off", "empty", "other rows"])
def test_damage_is_ignored_found_and_repaired(path: Path, damage: str, scorecube: Cli) -> None:
    expected = without_stamps(open_catalogue(path).rows())
    for segment in (path / INDEX).glob("*/zarr.json"):
        content = segment.read_bytes()
        segment.write_bytes({
            "flipped": content.replace(b"runs", b"rums", 1),
            "cut off": content[: len(content) // 2],
            "empty": b"",
            "other rows": content.replace(b'\\"runs\\":4', b'\\"runs\\":7'),
        }[damage])  # fmt: skip
    told = scorecube("verify", path)
    assert told.status == 1
    assert f"{INDEX}/" in told.stderr
    repaired = scorecube("verify", path, "--repair").succeeded().stderr
    assert "made the index of 3 collections anew" in repaired
    assert without_stamps(open_catalogue(path).rows()) == expected
    segment = next((path / INDEX).glob("*/zarr.json"))
    segment.write_bytes(segment.read_bytes()[:-9])
    assert without_stamps(open_catalogue(path).rows()) == expected
    assert verify_study(open_study(path))[1] == []


def test_a_row_that_says_something_else_is_found(path: Path) -> None:
    study = open_study(path)
    row = read_segments(study.location).rows["b"]
    facts = {**row.facts, "cube": {**row.facts["cube"], "runs": 99}}
    wrong = Row(row.collection, row.commit, row.digest, row.stamp, facts, row.texts)
    write_rows(study.location, {"b": wrong})
    assert check_index(study) == [f"{INDEX}: the row of b differs from its manifest"]
    assert repair_index(study) == 3
    assert check_index(study) == []


def test_writes_are_few_and_segments_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location, written = open_location(tmp_path), list[int]()
    encode_rows = index._encode

    def counting(rows: Any) -> bytes:
        written.append(len(list(rows)))
        return encode_rows(rows)

    monkeypatch.setattr(index, "_encode", counting)
    count = 300
    for number in range(count):
        name = f"c{number:03d}"
        write_rows(location, {name: Row(name, 1, "0", "", FACTS, {})})
    found = read_segments(location)
    assert sorted(found.rows) == [f"c{number:03d}" for number in range(count)]
    assert len(found.names) <= math.log2(count) + 1
    assert sum(written) <= count * (math.log2(count) + 1)


def test_of_two_rows_the_later_commit_counts(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    for commit in (1, 3, 2):
        write_rows(location, {"a": Row("a", commit, "0", "", FACTS, {})})
    assert read_segments(location).rows["a"].commit == 3


def test_rows_that_another_process_wrote_meanwhile_are_kept(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    write_rows(location, {"a": Row("a", 6, "0", "", FACTS, {})})
    older = {name: Row(name, 5, "0", "", FACTS, {}) for name in "ab"}
    write_rows(location, older, merge_all=True)
    found = read_segments(location)
    assert (len(found.names), found.rows["a"].commit, found.rows["b"].commit) == (1, 6, 5)


def test_segments_that_another_process_merges_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, names = open_location(tmp_path), index.segment_names
    write_rows(location, {"a": Row("a", 1, "0", "", FACTS, {})})

    def merged_meanwhile(where: Any) -> list[str]:
        found = names(where)
        monkeypatch.setattr(index, "segment_names", names)
        write_rows(location, {"b": Row("b", 1, "0", "", FACTS, {})})
        return found

    monkeypatch.setattr(index, "segment_names", merged_meanwhile)
    found = read_segments(location)
    assert sorted(found.rows) == ["a", "b"]
    assert found.damaged == ()


def test_the_directory_that_an_interrupted_process_left_is_no_segment(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    write_rows(location, {name: Row(name, 1, "0", "", FACTS, {}) for name in "abc"})
    rest = tmp_path / INDEX / "00000000000000000001-1-0123abcd"
    rest.mkdir()
    found = read_segments(location)
    assert (sorted(found.rows), len(found.names), found.damaged) == (["a", "b", "c"], 1, ())
    write_rows(location, {"d": Row("d", 1, "0", "", FACTS, {})})
    assert not rest.exists()


@pytest.mark.s3
def test_an_object_store_is_asked_little(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are one object each, and a listing reads the index in a handful of requests."""
    serving = pytest.importorskip("werkzeug.serving")
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(
        serving.WSGIRequestHandler,
        "log_request",
        lambda self, *_: asked.append((self.command, self.path)),
    )
    study = open_study(s3, mode="a")
    for number in range(4):
        study.add(f"c{number}", cube=simulate_cube(n_runs=5, seed=number))
    analyses = (Swap(size=10), Tukey(), Bootstrap(), Reliability())
    entries = [Entry(each, trials=20, seed=1) for each in analyses]
    asked.clear()
    sweep(entries, study, workers=1)
    stored = 16
    written = [path for method, path in asked if method == "PUT" and "/results/" in path]
    parents = [path for path in written if len(path.partition("/results/")[2].split("/")) < 3]
    assert len(written) - len(parents) == stored
    assert len(asked) <= 30 * stored
    asked.clear()
    assert open_catalogue(s3).rows()["c3"].contents()["results"] == dict.fromkeys(
        ("bootstrap", "reliability", "swap", "tukey"), 1
    )
    assert len(asked) <= 8
    for name in study:
        expected = analyse(study[name].cube, Swap(size=10), trials=20, seed=1, workers=1)
        found = study[name].result("swap")
        xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
    assert verify_study(open_study(s3))[1] == []
    with xr.open_datatree(study.location.store, engine="zarr", consolidated=False) as tree:
        assert tree["c0/results/swap"].children


@pytest.mark.s3
def test_a_collection_with_a_lock_file_is_not_taken_from_the_index(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed writer leaves its lock file, which says that the row may be old; the next writer writes the row."""
    study = open_study(s3, mode="a")
    study.add("a", cube=simulate_cube(n_runs=4))
    with monkeypatch.context() as killed:
        killed.setattr("scorecube.storage.study.write_rows", fail)
        with pytest.raises(RuntimeError):
            study.add("a", cube=simulate_cube(n_runs=5), replace=True)
    assert read_segments(study.location).rows["a"].facts["cube"]["runs"] == 4
    assert open_catalogue(s3).rows()["a"].facts["cube"]["runs"] == 5
    with open_study(s3, mode="a").lock("a"):
        pass
    assert read_segments(study.location).rows["a"].facts["cube"]["runs"] == 5


def fail(*_: object, **__: object) -> None:
    raise RuntimeError


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0, ["packed/zarr.json", "zarr.json"]), (small_groups.MOST_INLINE, ["zarr.json"])],
    ids=["array", "attribute"],
)
def test_a_packed_group_comes_back_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, most: int, expected: list[str]
) -> None:
    monkeypatch.setattr(small_groups, "MOST_INLINE", most)
    result = open_study(path)["b"].result("swap")
    location = open_location(path)
    files = write_dataset(result, location, "packed", "packed")
    assert sorted(files) == expected
    for found in (read_dataset(location, "packed", files), read_dataset(location, "packed")):
        xr.testing.assert_identical(found, result)
    chunk = path / "packed/packed/c/0"
    flip(chunk if chunk.exists() else path / "packed/zarr.json")
    with pytest.raises(CorruptStudy):
        read_dataset(location, "packed", files)


def test_a_small_group_is_read_from_one_metadata_file(path: Path) -> None:
    """Arrays keep metadata of their own, for other readers, and `verify` notices that it differs."""
    location, cube = open_location(path), open_study(path)["a"].cube
    files = write_dataset(cube, location, "small", "consolidated")
    for file in (path / "small").glob("*/zarr.json"):
        file.rename(file.with_suffix(".away"))
    xr.testing.assert_identical(read_dataset(location, "small", files), cube)
    assert len(read_checked(location, "small", files)[1]) == len(files) - 1
    for file in (path / "small").glob("*/zarr.away"):
        file.rename(file.with_suffix(".json"))
    for consolidated in (False, True):
        found = xr.open_zarr(path / "small", chunks=None, consolidated=consolidated)
        np.testing.assert_array_equal(found["score"].values, cube["score"].values)


def test_groups_are_encoded_as_zarr_and_xarray_do(path: Path) -> None:
    result = open_study(path)["b"].result("swap")
    for dataset in (result, open_study(path)["a"].cube):
        plain = pairs_as_positions(dataset.drop_encoding())
        ours, theirs = encode_dataset(plain), _objects_of_zarr(plain)
        assert ours is not None
        assert ours.keys() == theirs.keys()
        for key, content in theirs.items():
            if key.endswith("zarr.json"):
                assert json.loads(ours[key]) == json.loads(content), key
            else:
                assert ours[key] == content, key

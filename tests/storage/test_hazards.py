"""What a study of immutable files could lose or misread, one hazard after the other, with what was decided about it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube.errors import BadStudy, CorruptStudy, StoreFailed
from scorecube.report.contents import overview
from scorecube.storage import Collection, clean, find_rest, find_unclaimed, open_study, verify_study
from scorecube.storage.archives import decode_record
from scorecube.storage.heads import check_collection_name, folder_of
from scorecube.storage.place import Place
from scorecube.storage.upkeep import DAY
from tests.conftest import Cli
from tests.storage.states import cube, is_whole, new_result, note

EARLIER = time.time() - 2 * DAY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    open_study(tmp_path / "study", mode="a").add("a", cube=cube())
    return tmp_path / "study"


@pytest.fixture
def collection(path: Path) -> Collection:
    return open_study(path, mode="a")["a"]


def heads(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "a").glob("head.*"))


def age(path: Path) -> None:
    for file in path.rglob("*"):
        os.utime(file, (EARLIER, EARLIER))


def at_once(function: Callable[[int], Any]) -> list[Any]:
    """Call a function with 0 to 7 on a thread each."""
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(function, range(8)))


def test_1_heads_are_never_deleted(path: Path, collection: Collection) -> None:
    for number in range(3):
        note(collection, n=number)
    age(path)
    clean(open_study(path, mode="a"))
    assert heads(path) == [f"head.0000{number}.json" for number in range(1, 5)]


def test_1_a_stale_listing_loses_nothing(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a cache of NFS: the first listing lacks the heads that others made since."""
    listed, first = Place.children, True
    stale = collection.place.children("a")
    note(collection, x=1)

    def late(self: Place, folder: str) -> list[str]:
        nonlocal first
        if first and folder == "a":
            first = False
            return stale
        return listed(self, folder)

    monkeypatch.setattr(Place, "children", late)
    note(collection, y=1)
    assert collection.head.notes == {"x": 1, "y": 1}


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (errno.ENOSPC, "no space"),
        (errno.EIO, "file system fails"),
        (errno.EPERM, "hard links"),
        (errno.EACCES, "permission"),
        (errno.ENOENT, "another command"),
    ],
)
def test_2_a_head_appears_whole_or_not_at_all(
    path: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch, code: int, cause: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        patch.setattr("scorecube.storage.place.PAUSE", 0.0)
        with pytest.raises(StoreFailed, match=cause):
            note(collection, x=1)
    assert heads(path) == ["head.00001.json"]
    note(collection, x=1)
    assert len(heads(path)) == 2


@pytest.mark.parametrize("damage", ["emptied", "cut", "changed"])
def test_3_a_damaged_head_is_not_replaced_by_the_one_before(
    path: Path, collection: Collection, damage: str
) -> None:
    note(collection, x=1)
    head = path / "a" / heads(path)[-1]
    content = head.read_bytes()
    changed = {"emptied": b"", "cut": content[:-5], "changed": content.replace(b'"x"', b'"y"')}
    head.write_bytes(changed[damage])
    for use in (
        lambda: collection.cube,
        lambda: note(collection, z=1),
        open_study(path).collections,
    ):
        with pytest.raises(CorruptStudy, match=head.name):
            use()
    assert verify_study(open_study(path))[1]


def test_3_a_deleted_head_has_witnesses(path: Path, collection: Collection) -> None:
    note(collection, x=1)
    collection.write_result(new_result(collection))
    (path / "a" / heads(path)[-1]).unlink()
    (path / "a/committed.00002").unlink()
    with pytest.raises(CorruptStudy, match="is missing"):
        collection.result("swap")
    assert any("head.00002" in line for line in verify_study(open_study(path))[1])


@pytest.mark.parametrize("words", [["info"], ["show", "scores"], ["show", "swap"], ["verify"]])
def test_3_a_deleted_newest_head_is_named(
    path: Path, collection: Collection, scorecube: Cli, words: list[str]
) -> None:
    collection.write_result(new_result(collection))
    collection.study.add("a", cube=cube(5), replace=True)
    (path / "a" / heads(path)[-1]).unlink()
    command, *rest = words
    refused = scorecube(command, path, *rest)
    assert refused.status == 1
    assert "head.00002.json: is missing" in refused.stderr
    assert scorecube("verify", path, "--clean").status == 1


def test_3_the_only_copy_of_scores_is_never_cleaned(
    path: Path, collection: Collection, scorecube: Cli
) -> None:
    """Without a witness a deleted head cannot be told from a command that was killed before it."""
    collection.study.add("a", cube=cube(5), replace=True)
    only = collection.head.group("cube")
    collection.study.add("b", cube=cube(6))
    for name in ("head.00002.json", "committed.00002"):
        (path / "a" / name).unlink()
    (path / "b/head.00001.json").unlink()
    (path / "b/committed.00001").unlink()
    part = Path(shutil.copytree(path / only, path / "a" / f"cube-{'0' * 16}.zarr"))
    age(path)
    study = open_study(path, mode="a")
    (other,) = {*find_unclaimed(study)} - {only, f"a/{part.name}"}
    assert find_rest(study) == [f"a/{part.name}"]
    said = scorecube("verify", path, "--clean").succeeded().stderr
    assert "1 path deleted" in said
    assert only in said
    assert other in said
    assert (path / only).is_dir()
    assert find_unclaimed(study) == [only, other]
    assert overview(study)["headless"] == [only, other]


@pytest.mark.parametrize("others", [True, False])
def test_3_results_are_witnesses_of_a_deleted_only_head(
    path: Path, collection: Collection, others: bool
) -> None:
    if others:
        collection.study.add("b", cube=cube())
    collection.write_result(new_result(collection))
    (path / "a/head.00001.json").unlink()
    (path / "a/committed.00001").unlink()
    study = open_study(path)
    for use in (lambda: list(study), lambda: study["a"], lambda: note(collection, x=1)):
        with pytest.raises(CorruptStudy, match=r"head\.00001\.json: is missing"):
            use()
    assert ["is missing" in line for line in verify_study(study)[1]] == [True]


def test_3_a_cube_without_a_head_is_named(path: Path, collection: Collection) -> None:
    """Begun by a killed process, or its head was deleted: none can tell."""
    collection.study.add("b", cube=cube())
    (path / "a/head.00001.json").unlink()
    (path / "a/committed.00001").unlink()
    study = open_study(path)
    assert list(study) == ["b"]
    (group,) = find_unclaimed(study)
    assert find_rest(study) == []
    assert group.startswith("a/cube-")
    assert overview(study)["headless"] == [group]


def test_4_a_read_of_a_cube_that_was_replaced_and_cleaned_is_repeated(
    path: Path, collection: Collection
) -> None:
    stale = collection.head
    collection.study.add("a", cube=cube(5), replace=True)
    age(path)
    assert clean(open_study(path, mode="a")) == 1
    answers = iter([stale, collection.head, collection.head])

    class Late(Collection):
        head = property(lambda _: next(answers))

    xr.testing.assert_identical(Late(collection.study, "a").cube, cube(5))


def test_4_a_read_of_a_result_that_was_superseded_is_repeated(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = new_result(collection)
    collection.write_result(result)
    stale = collection.stored("swap")
    collection.write_result(result)  # deletes the archive that is the same plan's
    listings = cycle([stale, collection.stored("swap")])
    monkeypatch.setattr(Collection, "stored", lambda *_: next(listings))
    for read in (collection.result_attributes, collection.results, collection.result):
        assert read("swap")


def test_5_metrics_that_are_added_at_once_are_all_there(path: Path) -> None:
    at_once(lambda k: open_study(path, mode="a").add("a", cube=cube(k, f"n{k}")))
    metrics = open_study(path)["a"].cube.metric.values.tolist()
    assert sorted(metrics) == ["m", *(f"n{number}" for number in range(8))]


def test_5_a_result_of_replaced_scores_is_said_not_to_be_current(
    path: Path, collection: Collection
) -> None:
    result, version = new_result(collection), collection.head.cube
    collection.study.add("a", cube=cube(5), replace=True)
    with pytest.raises(BadStudy, match="scores were replaced"):
        collection.write_result(result, version)
    assert collection.contents()["results"] == {}
    assert collection.contents()["outdated"] == {"swap": 1}


def test_5_a_process_that_sees_an_older_head_deletes_no_result_of_newer_scores(
    collection: Collection,
) -> None:
    """As of a cache of NFS, which lists results that are new and no heads that are."""
    stale = Collection(collection.study, "a", collection.head)
    collection.study.add("a", cube=cube(1, "n"))
    newer = new_result(collection, 20)
    collection.write_result(newer)
    assert stale.contents()["results"] == {}
    stale.write_result(new_result(collection))
    assert collection.contents()["results"] == {"swap": 2}
    xr.testing.assert_identical(collection.result("swap", newer.attrs["digest"]), newer)


def test_6_half_a_cube_of_the_right_name_is_completed(path: Path, tmp_path: Path) -> None:
    version = open_study(path)["a"].head.cube
    half = tmp_path / "other" / "a" / f"cube-{version}.zarr"
    shutil.copytree(path / "a" / f"cube-{version}.zarr", half)
    (half / "zarr.json").write_text("")
    (half / "score/c.0.0.0.0").unlink()
    study = open_study(tmp_path / "other", mode="a")
    assert list(study) == []
    study.add("a", cube=cube())
    assert study["a"].head.cube == version
    assert is_whole(tmp_path / "other")


def test_7_a_result_of_another_plan_is_not_shown(path: Path, collection: Collection) -> None:
    for trials in (10, 20):
        collection.write_result(new_result(collection, trials))
    first, second = sorted((path / "a/results/swap").iterdir())
    shutil.copy(first, second)
    for use in (collection.results, collection.result_attributes):
        with pytest.raises(CorruptStudy, match=second.name):
            use("swap")
    assert len(verify_study(open_study(path))[1]) == 1


def test_8_blocks_of_other_edges_are_neither_counted_twice_nor_skipped(
    collection: Collection,
) -> None:
    blocks = collection.blocks("swap", "0" * 16)
    for start, stop in ((0, 10), (5, 15), (10, 20), (0, 4), (30, 40)):
        blocks.record(start, stop, {"x": np.array([start, stop])})
    chosen = [interval for interval, _ in blocks.valid_blocks(["x"], 35)]
    assert chosen == [(0, 10), (10, 20)]


def test_8_a_block_binds_its_work_and_units(path: Path, collection: Collection) -> None:
    blocks = collection.blocks("swap", "0" * 16)
    blocks.record(0, 10, {"x": np.array([1])})
    (file,) = (path / "a/blocks/swap").rglob("*.npz")
    shutil.copy(file, file.with_name("000000010-000000020.npz"))
    shutil.copytree(file.parent, path / "a/blocks/swap" / ("1" * 16))
    other = collection.blocks("swap", "1" * 16)
    assert [interval for interval, _ in blocks.valid_blocks(["x"], 20)] == [(0, 10)]
    assert not list(other.valid_blocks(["x"], 20))
    assert len(verify_study(open_study(path))[1]) == 3


def test_10_what_is_young_is_not_cleaned(path: Path, collection: Collection) -> None:
    collection.study.add("a", cube=cube(5), replace=True)
    study = open_study(path, mode="a")
    (path / "a" / ".0.partial").write_text("")
    assert clean(study) == 0
    age(path)
    assert clean(study) == 2
    assert find_rest(study) == []
    assert is_whole(path)


def test_10_a_cube_that_is_cleaned_before_its_head_is_written_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Place.create

    def cleaned_before(self: Place, key: str, content: bytes) -> bool:
        version = decode_record(content)["cube"]
        shutil.rmtree(path / "a" / f"cube-{version}.zarr")
        return create(self, key, content)

    monkeypatch.setattr(Place, "create", cleaned_before)
    open_study(path, mode="a").add("a", cube=cube(5), replace=True)
    xr.testing.assert_identical(open_study(path)["a"].cube, cube(5))


def test_10_a_cube_that_is_committed_while_another_process_cleans_stays(
    path: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(path)

    def listed_behind_the_head(_: object) -> list[str]:
        collection.study.add("a", cube=cube(5), replace=True)
        return [collection.head.group("cube")]

    monkeypatch.setattr("scorecube.storage.upkeep.find_rest", listed_behind_the_head)
    assert clean(open_study(path, mode="a")) == 0
    xr.testing.assert_identical(collection.cube, cube(5))


@pytest.mark.s3
def test_11_a_request_whose_answer_was_lost_succeeds(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    obstore = pytest.importorskip("obstore")
    open_study(s3, mode="a").add("a", cube=cube())
    put, collection = obstore.put, open_study(s3, mode="a")["a"]

    def twice(store: Any, key: str, content: bytes, **how: Any) -> Any:
        if "head" in key:
            put(store, key, content, **how)
        return put(store, key, content, **how)

    monkeypatch.setattr(obstore, "put", twice)
    note(collection, x=1)
    assert collection.head.number == 2


@pytest.mark.s3
def test_11_a_store_that_ignores_conditions_is_refused(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    obstore = pytest.importorskip("obstore")
    put = obstore.put

    def ignoring(store: Any, key: str, content: bytes, **how: Any) -> Any:
        return put(store, key, content, **{**how, "mode": "overwrite"})

    monkeypatch.setattr(obstore, "put", ignoring)
    with pytest.raises(StoreFailed, match="ignores If-None-Match"):
        open_study(s3, mode="a").add("a", cube=cube())

    def in_two_steps(store: Any, key: str, content: bytes, **how: Any) -> Any:
        if how.get("mode") == "create" and list(obstore.list(store, key).collect()):
            raise obstore.exceptions.AlreadyExistsError(key)
        time.sleep(0.2)
        return put(store, key, content)

    monkeypatch.setattr(obstore, "put", in_two_steps)
    with pytest.raises(StoreFailed, match="in one step"):
        open_study(s3, mode="a").add("a", cube=cube())


@pytest.mark.parametrize(
    ("name", "other"), [("Alpha", "alpha"), ("caf\u00e9", "cafe\u0301"), ("Stra\u00dfe", "STRASSE")]
)
def test_12_names_that_some_file_system_takes_for_one_are_refused(
    tmp_path: Path, name: str, other: str
) -> None:
    study = open_study(tmp_path / "study", mode="a")
    study.add(name, cube=cube())
    with pytest.raises(BadStudy, match=re.escape(repr(other))):
        study.add(other, cube=cube())
    assert list(study) == [name]
    assert other not in study


def test_12_odd_names_are_folders_everywhere(tmp_path: Path) -> None:
    study = open_study(tmp_path / "study", mode="a")
    names = ["CON", "c:d", "..", ".", "a/b", "a\\b", "lpt1.x", "x.", " x", "%"]
    for name in names:
        study.add(name, cube=cube())
    folders = {folder.name for folder in (tmp_path / "study").iterdir()}
    assert folders == set(map(folder_of, names))
    assert set("".join(folders)) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.-~%ABCDEF")
    assert not any(folder.startswith((".", "con", "lpt1")) for folder in folders)
    assert list(open_study(tmp_path / "study")) == sorted(names)
    for name in ["", " ", "a\nb", "\x7f", "x" * 201, "\udcff", "\u65e5" * 30]:
        with pytest.raises(BadStudy, match="200 bytes"):
            check_collection_name(name)


def test_14_a_study_that_is_moved_is_not_made_anew(path: Path, tmp_path: Path) -> None:
    study = open_study(path, mode="a")
    collection = study["a"]
    result, blocks = new_result(collection), collection.blocks("swap", "0" * 16)
    path.rename(tmp_path / "moved")
    for use in (
        lambda: collection.cube,
        lambda: collection.write_result(result),
        lambda: blocks.record(0, 1, {"x": np.array(1)}),
        lambda: study.add("b", cube=cube()),
        lambda: note(collection, x=1),
    ):
        with pytest.raises(BadStudy, match="moved or removed"):
            use()
    assert not path.exists()


def test_15_reading_makes_nothing(path: Path) -> None:
    open_study(path, mode="a")["a"].write_result(new_result(open_study(path)["a"]))
    before = {file: file.lstat().st_mtime_ns for file in [path, *path.rglob("*")]}
    study = open_study(path)
    _ = study["a"].cube, study["a"].result("swap"), study.collections()
    assert verify_study(study)[1] == find_rest(study) == []
    assert {file: file.lstat().st_mtime_ns for file in [path, *path.rglob("*")]} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_15_a_folder_that_may_not_be_written_is_named(path: Path) -> None:
    folder = path / "a"
    folder.chmod(0o500)
    try:
        with pytest.raises(StoreFailed, match=f"{folder}.*ermission"):
            note(open_study(path, mode="a")["a"], x=1)
    finally:
        folder.chmod(0o700)

"""Merging studies: what is taken, shared, refused, and continued after a kill at any point."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage import NewResult, Study
from scorecube.storage.location import Location, open_location
from scorecube.storage.nodes import open_group
from scorecube.storage.verify import verify_study
from scorecube.testing import simulate_cube
from tests.conftest import Cli, Tree

ReadTree = Callable[[Path], Tree]
SWAP = sc.Entry(sc.Swap(size=10), trials=30, seed=1)
KILLS = 12
TUKEY = sc.Entry(sc.Tukey(), trials=30, seed=1)


def cube(seed: int, n_runs: int = 5) -> xr.Dataset:
    return simulate_cube(metrics=("AP",), n_runs=n_runs, seed=seed)


def contents(study: Study | Path) -> dict[str, str]:
    """Return the digest of the content of every cube and result of a study, by collection and name."""
    opened = sc.open_study(study) if isinstance(study, Path) else study
    found = {}
    for name in opened:
        collection = opened[name]
        for key, entry in collection.manifest.entries.items():
            if not key.startswith("blocks/"):
                group = open_group(collection.location, f"{collection.group_path}/{entry.path}")
                found[f"{name}/{key}"] = str(group.attrs["content_sha256"])
    return found


def study_of(path: Path | str, names: str, *entries: sc.Entry, shift: int = 0) -> Study:
    """Make a study of collections whose scores depend on their names."""
    study = sc.open_study(path, mode="a")
    for name in names:
        study.add(name, cube=cube(ord(name) + shift))
    if entries:
        sc.sweep(entries, study, workers=1)
    return study


def is_whole(path: Path | str) -> bool:
    return verify_study(sc.open_study(path))[1] == []


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path]:
    study_of(tmp_path / "p1.zarr", "ab", SWAP, TUKEY)
    study_of(tmp_path / "p2.zarr", "cd", SWAP)
    return tmp_path / "p1.zarr", tmp_path / "p2.zarr"


def test_everything_is_taken_and_nothing_is_copied(
    parts: tuple[Path, Path], tmp_path: Path, tree: ReadTree
) -> None:
    before = [tree(part) for part in parts]
    out = tmp_path / "out.zarr"
    calls: list[tuple[int, int]] = []
    merged = sc.merge(out, parts, progress=lambda *each: calls.append(each))
    assert (merged.new, merged.extended, merged.unchanged, merged.results) == (4, 0, 0, 6)
    assert calls == [(k, 8) for k in range(1, 9)]
    assert contents(out) == contents(parts[0]) | contents(parts[1])
    assert is_whole(out)
    assert [tree(part) for part in parts] == before
    for part, name in ((parts[0], "a"), (parts[1], "d")):
        chunk = Path(name, "cube/score/c/0/0/0/0")
        assert (part / chunk).samefile(out / chunk)
    shutil.rmtree(parts[0])
    shutil.rmtree(parts[1])
    assert is_whole(out)
    assert not list(tmp_path.glob("**/.*lock*"))


def test_results_can_be_added_to_what_was_merged(parts: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.zarr"
    sc.merge(out, parts)
    before = contents(parts[0])
    sc.sweep([sc.Entry(sc.Bootstrap(), trials=20, seed=1)], out, workers=1)
    assert len(contents(out)) == len(before) + len(contents(parts[1])) + 4
    assert contents(parts[0]) == before
    assert is_whole(parts[0])


def test_it_is_found_without_links_and_on_another_file_system(
    parts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "copy_file_range", refuse)
    out = tmp_path / "out.zarr"
    sc.merge(out, parts)
    assert contents(out) == contents(parts[0]) | contents(parts[1])
    assert is_whole(out)
    assert not (out / "a/zarr.json").samefile(parts[0] / "a/zarr.json")


def test_what_is_there_is_accepted_once(
    parts: tuple[Path, Path], tmp_path: Path, tree: ReadTree
) -> None:
    out = tmp_path / "out.zarr"
    twin = shutil.copytree(parts[0], tmp_path / "twin.zarr")
    merged = sc.merge(out, [*parts, twin, parts[0]])
    assert (merged.new, merged.unchanged, merged.results) == (4, 2, 6)
    before = tree(out)
    again = sc.merge(out, parts)
    assert (again.new, again.extended, again.unchanged, again.results) == (0, 0, 4, 0)
    assert tree(out) == before


def test_the_same_work_done_twice_is_accepted_once(
    parts: tuple[Path, Path], tmp_path: Path
) -> None:
    twice = study_of(tmp_path / "twice.zarr", "ab", SWAP)  # at another time: other metadata
    out = tmp_path / "out.zarr"
    merged = sc.merge(out, [twice.path, parts[0]])
    assert (merged.new, merged.extended, merged.results) == (2, 2, 4)
    assert contents(out) == contents(parts[0])
    assert is_whole(out)


def test_collections_and_results_are_added_later(tmp_path: Path) -> None:
    out = study_of(tmp_path / "out.zarr", "ab", SWAP)
    later = study_of(tmp_path / "later.zarr", "bc", TUKEY)
    merged = sc.merge(out.path, [later.path])
    assert (merged.new, merged.extended, merged.unchanged, merged.results) == (1, 1, 0, 2)
    assert list(out) == ["a", "b", "c"]
    assert out["b"].contents()["results"] == {"swap": 1, "tukey": 1}
    assert is_whole(out.path)


def test_recorded_blocks_are_merged_and_the_longer_ones_win(tmp_path: Path) -> None:
    from scorecube.workflow.tasks import plan_in_study

    studies = [study_of(tmp_path / f"{k}.zarr", "a") for k in (1, 2)]
    for study, trials in zip(studies, (40, 60), strict=True):
        (task,) = plan_in_study(study, sc.Swap(size=10), trials=trials, seed=1)
        task.run(block_units=20)
    out = tmp_path / "out.zarr"

    def recorded(path: Path | str) -> int:
        (task,) = plan_in_study(sc.open_study(path), sc.Swap(size=10), trials=100, seed=1)
        return task.recorded()

    sc.merge(out, [studies[0].path])
    assert recorded(out) == 40
    sc.merge(out, [studies[1].path])
    assert recorded(out) == 60
    sc.merge(out, [studies[0].path])
    assert recorded(out) == 60
    (task,) = plan_in_study(sc.open_study(out, mode="a"), sc.Swap(size=10), trials=100, seed=1)
    result = task.run(block_units=20)
    alone = sc.analyse(cube(ord("a")), sc.Swap(size=10), trials=100, seed=1)
    xr.testing.assert_identical(result.drop_attrs(), alone.drop_attrs())
    assert [recorded(study.path) for study in studies] == [
        40,
        60,
    ]  # not shared with the merged ones
    assert is_whole(out)
    assert all(is_whole(study.path) for study in studies)


def test_outdated_results_stay_outdated(tmp_path: Path) -> None:
    part = study_of(tmp_path / "part.zarr", "a", SWAP)
    part.add("a", cube=cube(1), replace=True)
    out = tmp_path / "out.zarr"
    sc.merge(out, [part.path])
    merged = sc.open_study(out, mode="a")["a"]
    assert merged.contents()["outdated"] == {"swap": 1}
    assert merged.contents()["results"] == {}
    newer = sc.open_study(tmp_path / "newer.zarr", mode="a")
    newer.add("a", cube=cube(1))
    sc.sweep([SWAP], newer, workers=1)
    sc.merge(out, [newer.path])  # the outdated result goes, as when the new one is computed here
    assert merged.contents()["outdated"] == {}
    assert merged.contents()["results"] == {"swap": 1}
    again = sc.merge(out, [part.path, newer.path])
    assert (again.extended, again.unchanged) == (0, 2)
    assert is_whole(out)


def test_a_result_that_is_current_in_a_part_is_current(tmp_path: Path) -> None:
    out = study_of(tmp_path / "out.zarr", "a", SWAP)
    part = shutil.copytree(out.path, tmp_path / "part.zarr")
    out.add("a", cube=cube(1), replace=True)
    out.add("a", cube=cube(ord("a")), replace=True)  # the first scores again
    assert out["a"].contents()["outdated"] == {"swap": 1}
    sc.merge(out.path, [part])
    assert out["a"].contents() == {"rankings": False, "results": {"swap": 1}, "outdated": {}}


# Refusals


def refused(out: Path, parts: list[Path | str], kind: type[Exception], *texts: str) -> str:
    """Refuse a merge, without a trace; return the message."""
    existed = out.exists()
    with pytest.raises(kind) as caught:
        sc.merge(out, parts)
    for text in texts:
        assert text in str(caught.value)
    assert out.exists() == existed
    return str(caught.value)


def test_other_scores_are_refused_by_name(
    parts: tuple[Path, Path], tmp_path: Path, tree: ReadTree
) -> None:
    other = study_of(tmp_path / "other.zarr", "bd", shift=1)
    message = refused(tmp_path / "out.zarr", [*parts, other.path], BadStudy)
    assert message == (
        "2 conflicts between studies, nothing was merged:\n"
        f"  b: scores in {other.path} differ from those in {parts[0]}\n"
        f"  d: scores in {other.path} differ from those in {parts[1]}\n"
        "leave out one of the studies, or store the collection under another name"
    )
    out = study_of(tmp_path / "there.zarr", "b", shift=1)
    before = tree(Path(out.path))
    refused(
        Path(out.path),
        [*parts],
        BadStudy,
        f"b: scores in {parts[0]} differ from those in {out.path}",
    )
    assert tree(Path(out.path)) == before


def test_another_content_of_the_same_result_is_refused(
    parts: tuple[Path, Path], tmp_path: Path
) -> None:
    twin = shutil.copytree(parts[0], tmp_path / "twin.zarr")
    collection = sc.open_study(twin, mode="a")["a"]
    result = collection.result("tukey")
    digest = str(result.attrs["digest"])
    changed = result.copy(deep=True)
    changed["p_value"] = changed["p_value"] * 0.5
    with sc.open_study(twin, mode="a").lock("a") as writer:
        writer.write_results([NewResult("tukey", digest, changed)])
    refused(
        tmp_path / "out.zarr",
        [*parts, twin],
        BadStudy,
        f"1 conflict between studies, nothing was merged:\n  a: results/tukey/{digest} in {twin} differ from those in {parts[0]}",
    )


@pytest.mark.parametrize(
    "kind", ["metadata", "chunk", "missing chunk", "manifest", "list", "missing group"]
)
def test_damaged_parts_are_refused(parts: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    damaged = parts[1]
    if kind == "missing group":
        shutil.rmtree(damaged / "c/results")
    else:
        file = {
            "metadata": "c/cube/score/zarr.json",
            "manifest": "c/zarr.json",
            "list": "zarr.json",
        }.get(kind, "c/cube/score/c/0/0/0/0")
        if kind == "missing chunk":
            (damaged / file).unlink()
        else:
            content = bytearray((damaged / file).read_bytes())
            content[len(content) // 2] ^= 1
            (damaged / file).write_bytes(content)
    message = refused(tmp_path / "out.zarr", [*parts], CorruptStudy)
    if kind != "list":
        assert "in the parts, nothing was merged:" in message
        assert f"{damaged}" in message
        assert "c" in message


def test_impossible_merges_are_refused(parts: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.zarr"
    refused(
        parts[0], [*parts], BadStudy, "named as the study to merge into and as one of the parts"
    )
    refused(out, [tmp_path / "none.zarr"], BadStudy, "none.zarr: no study there")
    refused(out, [str(tmp_path / "q*.zarr")], BadStudy, "q*.zarr: no study matches this pattern")
    refused(out, [], BadStudy, "no studies to merge into")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").touch()
    refused(tmp_path / "folder", [*parts], BadStudy, "exists and is not a study")
    refused(out, [tmp_path / "folder"], BadStudy, "no study there")


@pytest.mark.process
@pytest.mark.slow
def test_a_part_that_is_replaced_all_the_time_is_not_called_damaged(tmp_path: Path) -> None:
    part, stop = study_of(tmp_path / "part.zarr", "ab"), threading.Event()

    def replace() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            part.add("a", cube=cube(count), replace=True)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for attempt in range(20):
            assert is_whole(part.path)
            out = tmp_path / f"{attempt}.zarr"
            try:
                sc.merge(out, [part.path])
            except BadStudy as error:
                assert "a was changed while it was merged" in str(error)  # noqa: PT017
            assert is_whole(out)
    finally:
        stop.set()
        writer.join()


def test_the_command_says_what_it_did(
    parts: tuple[Path, Path], tmp_path: Path, scorecube: Cli
) -> None:
    out = tmp_path / "s.zarr"
    said = scorecube("merge", out, parts[0]).succeeded().stderr
    assert said.startswith(
        f"{out}: 1 merged: 2 collections added, 0 extended, 0 already there; 4 results taken; "
    )
    outcome = scorecube("merge", out, out)
    assert outcome.status == 1
    assert outcome.stderr.startswith(f"error: {out} is named as the study to merge into")
    assert scorecube("merge", out).status == 2


# Kills

# Imports once, then forks a process for each line "calls folder", which ends at that call of the file system; says how it ended.
KILLED = """
import os, sys
import scorecube as sc
import scorecube.storage.merge, scorecube.workflow.api
left = 0
CALLS = ("os.link", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "open")
def count(event, arguments):
    global left
    if event in CALLS and (event != "open" or isinstance(arguments[1], str)):
        left -= 1
        if left == 0:
            os._exit(9)
sys.addaudithook(count)
print("ready", flush=True)
while line := sys.stdin.readline():
    calls, folder = line.split()
    child = os.fork()
    if child == 0:
        left = int(calls)
        sc.merge(folder + "/out.zarr", [folder + "/p1.zarr", folder + "/p2.zarr"])
        with open(folder + "/left", "w") as file:
            file.write(str(left))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.process
@pytest.mark.slow
def test_a_merge_killed_at_any_point_is_continued(parts: tuple[Path, Path], tmp_path: Path) -> None:
    expected = contents(parts[0]) | contents(parts[1])

    def copy(name: str) -> Path:
        for part in parts:
            shutil.copytree(part, tmp_path / name / part.name)
        return tmp_path / name

    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KILLED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        def merge(calls: int, folder: Path) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{calls} {folder}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        whole = copy("whole")
        assert merge(10**6, whole) == 0
        n_calls = 10**6 - int((whole / "left").read_text())
        for k in range(KILLS):
            folder = copy(str(k))
            out = folder / "out.zarr"
            # Reading comes first, writing is the last part of all calls.
            assert merge(1 + int((n_calls - 1) * (0.3 + 0.7 * k / KILLS)), folder) == 9
            there = contents(out) if (out / "zarr.json").exists() else {}
            assert not there or is_whole(out), "a reader must see whole collections"
            assert merge(10**6, folder) == 0
            assert contents(out) == expected
            assert is_whole(out)
            assert {path.name for path in out.iterdir()} == {"zarr.json", "a", "b", "c", "d"}
            assert not list(folder.glob("**/.*lock*"))
        process.stdin.close()


# Object stores


@pytest.mark.s3
def test_parts_of_an_object_store_are_merged(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scorecube: Cli
) -> None:
    from scorecube.storage import merge

    study_of(s3.replace("study", "p1"), "ab", SWAP)
    study_of(s3.replace("study", "p2"), "c", SWAP)
    expected = contents(sc.open_study(s3.replace("study", "p1"))) | contents(
        sc.open_study(s3.replace("study", "p2"))
    )
    streamed: list[str] = []
    stream = merge._stream

    def watched(source: Location, path: str, target: Location, new: str) -> None:
        streamed.append(path)
        stream(source, path, target, new)

    monkeypatch.setattr(merge, "_stream", watched)
    scorecube("merge", s3, s3.replace("study", "p*")).succeeded()
    assert contents(sc.open_study(s3)) == expected
    assert streamed == []  # the store copied
    assert is_whole(s3)
    local = tmp_path / "local.zarr"
    sc.merge(local, [s3])
    assert contents(local) == expected
    assert streamed
    assert is_whole(local)
    study_of(local, "abc", TUKEY)
    merged = sc.merge(s3, [local])
    assert (merged.extended, merged.results) == (3, 3)
    assert is_whole(s3)
    with pytest.raises(BadStudy, match="no study matches"):
        sc.merge(s3, [s3.replace("study", "none*")])
    assert open_location(s3).parent()[1] == "study.zarr"

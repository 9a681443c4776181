"""Packs on a directory and on the stand-in for S3: what xarray alone reads, kills, two at once, upkeep, results from them."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.joined import part_of
from scorecube.collection import schema
from scorecube.errors import BadStudy, CorruptStudy, StoreFailed
from scorecube.execute.executor import CALLING_THREAD
from scorecube.storage import Study, clean, find_rest, open_study, pack, pack_writer, verify_study
from scorecube.storage.pack_writer import write_pack
from scorecube.storage.place import Place
from scorecube.storage.study import open_place
from scorecube.testing import simulate_cube
from scorecube.workflow import packs
from scorecube.workflow.packs import pack_study
from tests.conftest import REPO, Cli

CUBES = {name: simulate_cube(n_runs=n, seed=n) for name, n in {"a": 3, "b/c": 5, "con": 4}.items()}
ENTRIES: list[Any] = [
    sc.Reliability(),
    sc.Entry(sc.Tukey(), trials=20),
    sc.Entry(sc.Tukey(alphas=(0.1,)), trials=20),
    sc.Entry(sc.Board(), trials=20),
]


def filled(place: str) -> Study:
    study = open_study(place, mode="a")
    sc.sweep(ENTRIES, CUBES, study=study)
    return study


def tree_of(study: Study, path: str) -> xr.DataTree:
    store = study.place.array_store(path)
    tree: xr.DataTree = xr.open_datatree(store, engine="zarr")
    return tree


def content(place: Place, path: str) -> dict[str, bytes | None]:
    return {key: place.read(f"{path}/{key}") for key in place.files(path)}


def test_a_pack_has_what_the_study_has(place: str) -> None:
    study = filled(place)
    path = pack_study(study, None, CALLING_THREAD)
    tree = tree_of(study, path)
    assert set(tree.children) == {"scores", "reliability", "tukey", "tukey-2", "board"}
    for name, folder in {"a": "a", "b/c": "b%2Fc", "con": "%63on"}.items():
        xr.testing.assert_equal(tree[f"scores/{folder}"].to_dataset().score, CUBES[name].score)
    for analysis in ("reliability", "tukey"):
        found = sc.results(study, analysis)
        for name in CUBES:
            stored = study[name].results(analysis)[0]
            xr.testing.assert_identical(part_of(found, name), stored)
        assert tree[analysis].sizes["collection"] == len(CUBES)
    assert sc.results(study, "tukey-2").alpha.values.tolist() == [0.1]
    board = study["a"].result("board")
    xr.testing.assert_equal(sc.results(study, "board"), board)
    parts, damage = verify_study(study)
    assert damage == []
    assert find_rest(study) == []
    assert len(pack.packs(study.place)) == 1  # results found it
    before = content(study.place, path)
    assert pack_study(study, None, CALLING_THREAD) == path
    (chunk,) = (key for key in before if key.startswith("tukey/mean/c."))
    study.place.write(f"{path}/{chunk}", b"x")
    assert verify_study(study) == (parts, [damage for damage in verify_study(study)[1] if path in damage])  # fmt: skip
    assert len(verify_study(study)[1]) == 1


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What is left of the writes to a pack until the process is killed; none if negative."""
    left = {"n": -1}
    kinds: set[Any] = {Place}
    if "AWS_REGION" in os.environ:
        kinds.add(type(open_place("s3://bucket/x")))
    for kind in kinds:
        write = kind.write

        def counted(self: Any, key: str, *arguments: Any, write: Any = write, **more: Any) -> None:
            if key.startswith("packed-"):
                left["n"] -= 1
                if left["n"] == 0:
                    raise KeyboardInterrupt
            write(self, key, *arguments, **more)

        monkeypatch.setattr(kind, "write", counted)
    return left


@pytest.mark.slow
def test_a_killed_pack_is_whole_or_none(place: str, writes: dict[str, int]) -> None:
    study = filled(place)
    whole = pack_study(study, ["tukey", "scores"], CALLING_THREAD)
    expected = content(study.place, whole)
    study.place.delete(whole)
    n_files = len(expected)
    for moment in sorted({1 + k * (n_files - 1) // 19 for k in range(20)}):
        writes["n"] = moment
        with pytest.raises(KeyboardInterrupt):
            pack_study(study, ["tukey", "scores"], CALLING_THREAD)
        writes["n"] = -1
        assert not pack.is_there(study.place, whole)
        with pytest.raises(Exception, match=r".+"):
            tree_of(study, whole)
        assert find_rest(study) in ([], [whole])  # nothing was written yet
        assert verify_study(study)[1] == []
    assert pack_study(study, ["tukey", "scores"], CALLING_THREAD) == whole
    assert content(study.place, whole) == expected


def test_two_at_once_write_one_pack(place: str) -> None:
    study = filled(place)
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(pack_study(study, None, CALLING_THREAD)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    pack.check_pack(study.place, found[0])


def test_superseded_packs_are_named_and_cleaned(
    tmp_path: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "study"
    study = filled(str(path))
    outcome = scorecube("pack", path, "reliability").succeeded()
    (old,) = pack.packs(study.place)
    assert old in outcome.stderr
    assert scorecube("pack", path, "swap").status == 1
    assert find_rest(study) == []
    study.add("new", cube=simulate_cube(n_runs=3, seed=9))
    scorecube("reliability", path, "--quiet").succeeded()
    assert find_rest(study) == [old]
    assert old in scorecube("verify", path).succeeded().stderr
    assert clean(study) == 0
    day = time.time() - 2 * 86_400
    for file in (path / old).rglob("*"):
        os.utime(file, (day, day))
    assert clean(study) == 1
    assert pack.packs(study.place) == []
    with pytest.raises(BadStudy, match="swap"):
        sc.results(study, "swap")


def test_a_collection_may_have_the_name_of_a_pack(tmp_path: Path) -> None:
    name = f"packed-{'0' * 16}.zarr"
    study = open_study(tmp_path / "study", mode="a")
    study.add(name, cube=CUBES["a"])
    sc.sweep(ENTRIES[:1], study)
    path = pack_study(study, None, CALLING_THREAD)
    assert list(study) == [name]
    assert pack.packs(study.place) == [path]
    assert sc.results(study, "reliability").collection.values.tolist() == [name]


def test_a_study_for_reading_has_results_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = filled(str(tmp_path / "study"))
    read = open_study(tmp_path / "study")
    expected = sc.results(read, "reliability")
    assert "temporary folder" in caplog.text
    assert pack.packs(read.place) == []

    def refused(*arguments: Any, **options: Any) -> str:
        if arguments[1].name == written.path:
            raise StoreFailed("read-only")
        return write_pack(*arguments, **options)

    monkeypatch.setattr(packs, "write_pack", refused)
    xr.testing.assert_identical(sc.results(tmp_path / "study", "reliability"), expected)


def test_large_results_are_read_on_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the study, or from a temporary folder that lives as long as they do."""
    small = sc.sweep(ENTRIES[:2], CUBES)
    for module in (packs, schema):
        monkeypatch.setattr(module, "MAX_LOADED_BYTES", 1)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    large = sc.sweep(ENTRIES[:2], CUBES)
    assert isinstance(small, xr.DataTree)
    assert isinstance(large, xr.DataTree)
    for name in ("reliability", "tukey"):
        values = large[name].to_dataset()
        assert values.chunks
        xr.testing.assert_equal(values.drop_vars("attributes").compute(), small[name].to_dataset().drop_vars("attributes"))  # fmt: skip
    mean = large["tukey"]["mean"].mean("collection")
    del large, values
    gc.collect()
    assert list(tmp_path.glob("scorecube-*"))
    xr.testing.assert_equal(mean.compute(), small["tukey"]["mean"].mean("collection"))
    del mean
    gc.collect()
    assert not list(tmp_path.glob("scorecube-*"))
    kept = sc.sweep(ENTRIES[1:2], CUBES, study=tmp_path / "kept")
    assert isinstance(kept, xr.Dataset)
    assert kept.chunks
    assert len(pack.packs(open_study(tmp_path / "kept").place)) == 1


def test_tasks_share_no_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of more bytes are written by tasks of fewer rows than small variables have in a chunk."""
    cubes = {f"c{number}": simulate_cube(n_runs=4, seed=number) for number in range(7)}
    study = open_study(tmp_path / "study", mode="a")
    expected = sc.sweep([sc.Reliability()], cubes, study=study)
    monkeypatch.setattr(pack_writer, "MOST_BYTES", 2 * expected.nbytes // 7)
    xr.testing.assert_identical(sc.results(study, "reliability"), expected)
    (path,) = pack.packs(study.place)
    assert len([key for key in study.place.files(path) if "/attributes/c." in key]) > 1


@pytest.mark.process
def test_the_lines_of_the_page_open_a_study_without_this_package(tmp_path: Path) -> None:
    """And without a warning, six lines each."""
    study = open_study(tmp_path / "study", mode="a")
    entries: list[Any] = [sc.Entry(sc.Swap(size=10), trials=20)]
    swept = sc.sweep(entries, {"demo": CUBES["a"]}, study=study)
    pack_study(study, None, CALLING_THREAD)
    page = (REPO / "docs/reference/study.md").read_text()
    parts = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert [part.partition("\n\n")[2].count("\n") for part in parts] == [5, 5]
    shown = "print(*(float(of.compute()) for of in (cube.score.sum(), result.share.mean(), mean.mean())), scores.sizes == cube.sizes)"  # fmt: skip
    program = "\n".join(["import sys", "sys.modules['scorecube'] = None", *parts, shown])
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    total, share, mean, same = done.stdout.split()
    assert float(total) == pytest.approx(float(CUBES["a"].score.sum()))
    assert float(share) == float(mean) == pytest.approx(float(swept["share"].mean()))
    assert same == "True"


def test_damage_of_what_is_packed_is_told(tmp_path: Path) -> None:
    study = filled(str(tmp_path / "study"))
    (archive, *_) = (tmp_path / "study/a/results/reliability").glob("*.zip")
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    with pytest.raises(CorruptStudy):
        pack_study(study, ["reliability"], CALLING_THREAD)

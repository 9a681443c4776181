"""Sweeps: bits of single analyses, resumption, parts into one study, sources that change, failures, workers."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.joined import ATTRIBUTES, part_of
from scorecube.collection.arguments import as_cube
from scorecube.collection.growth import OtherCollection
from scorecube.collection.selection import select
from scorecube.errors import BadPlan, ClusterFailed, StoreFailed, option
from scorecube.storage import Collection, Study, codec, heads
from scorecube.storage.archives import decode_record
from scorecube.testing import simulate_cube
from scorecube.workflow import sweep_run as module
from scorecube.workflow import tasks
from scorecube.workflow.sweep import share
from tests.attributes import without_attrs
from tests.conftest import Cli, Outcome

ANALYSES = '[[analysis]]\nname = "swap"\nsize = 10\n[[analysis]]\nname = "tukey"\n'
ENTRIES = (
    sc.Entry(sc.Swap(size=10), trials=60, seed=1),
    sc.Entry(sc.Bootstrap(), trials=80, seed=2),
    sc.Entry(sc.Tukey(), trials=50, selection={"metrics": ["AP"]}),
)
Cubes = dict[str, xr.Dataset]


@pytest.fixture
def cubes() -> Cubes:
    runs = {"a": 6, "b1": 9, "b2": 12}
    return {name: simulate_cube(n_runs=n, seed=k) for k, (name, n) in enumerate(runs.items())}


def study_of(path: Path, cubes: Cubes) -> Study:
    study = sc.open_study(path, mode="a")
    for name, cube in cubes.items():
        study.add(name, cube=cube)
    return study


def write_matrices(folder: Path, n: int, *, n_topics: int = 24) -> Path:
    """Write score matrices of different sizes and a sweep of them; return the sweep file."""
    (folder / "m").mkdir(parents=True)
    chance = random.Random(3)
    for k in range(n):
        runs = range(3 + chance.randrange(9))
        lines = ["topic," + ",".join(f"r{run}" for run in runs)]
        lines += [
            f"{topic}," + ",".join(f"{chance.random():.4f}" for _ in runs)
            for topic in range(n_topics)
        ]
        (folder / f"m/c{k:02d}.csv").write_text("\n".join(lines) + "\n")
    file = folder / "sweep.toml"
    file.write_text(
        'study = "study.zarr"\nseed = 1\ntrials = 40\n[[collection]]\neach = "m/*.csv"\n'
        f'name = "{{stem}}"\nscores = "{{path}}"\nmetric = "AP"\n{ANALYSES}'
    )
    return file


def results(path: Path) -> dict[tuple[str, str], xr.Dataset]:
    """Return the results of a study of matrices."""
    study = sc.open_study(path)
    return {
        (name, analysis): result
        for name in study
        for analysis in ("swap", "tukey")
        for result in study[name].results(analysis)
    }


def assert_same(found: dict[Any, xr.Dataset], expected: dict[Any, xr.Dataset]) -> None:
    assert set(found) == set(expected)
    for key, result in expected.items():
        xr.testing.assert_identical(without_attrs(found[key]), without_attrs(result))
        assert found[key].attrs["digest"] == result.attrs["digest"]


def new_and_old(swept: Outcome) -> tuple[int, int]:
    """Return the numbers of new results and of those stored before."""
    (counts,) = re.findall(r"(\d+) new results?, (\d+)", swept.succeeded().stderr)
    return int(counts[0]), int(counts[1])


# In Python


def test_results_equal_those_of_single_analyses(cubes: Cubes) -> None:
    tree = sc.sweep(ENTRIES, cubes, workers=2)
    assert isinstance(tree, xr.DataTree)
    assert [node.path for node in tree.leaves] == ["/swap", "/bootstrap", "/tukey"]
    for entry in ENTRIES:
        name = entry.analysis.name
        cube = select(cubes["b1"], metrics=["AP"] if entry.selection else None)
        alone = sc.analyse(cube, entry.analysis, trials=entry.trials, seed=entry.seed)
        for variable in map(str, alone.data_vars):
            found = part_of(tree[name].to_dataset(), "b1")[variable]
            np.testing.assert_array_equal(found, alone[variable])


def test_all_forms_of_collections_are_taken(cubes: Cubes, tmp_path: Path) -> None:
    entry = [sc.Entry(sc.Tukey(), trials=20), sc.Entry(sc.Tukey(alphas=(0.1,)), trials=20)]
    expected = sc.sweep(entry, cubes)
    assert isinstance(expected, xr.DataTree)
    assert list(expected.children) == ["tukey", "tukey-2"]
    study = study_of(tmp_path / "s.zarr", cubes)
    joined = xr.concat(list(cubes.values()), xr.Variable("collection", list(cubes)), join="outer")
    for form in (xr.DataTree.from_dict(cubes), joined, study, tmp_path / "s.zarr"):
        tree = sc.sweep(entry, form)
        for node in expected.leaves:
            left = tree[node.path].to_dataset().drop_vars(ATTRIBUTES)
            xr.testing.assert_equal(left, node.to_dataset().drop_vars(ATTRIBUTES))
    assert sc.sweep(entry, cubes["a"])["tukey"].collection.values.tolist() == ["cube"]
    kept = sc.sweep(entry, cubes, study=tmp_path / "kept.zarr")
    digests = [part_of(tree["tukey"].ds, "a").attrs["digest"] for tree in (kept, expected)]
    assert digests[0] == digests[1]
    assert list(sc.open_study(tmp_path / "kept.zarr")) == list(cubes)


def test_results_of_several_collections_are_one_table(cubes: Cubes) -> None:
    same = {name: simulate_cube(n_runs=5, seed=k) for k, name in enumerate("abc")}
    analysis = sc.Tukey()
    results = sc.analyse(same, analysis, trials=20)
    assert results.sizes["collection"] == 3
    for name, cube in same.items():
        alone = sc.analyse(cube, analysis, trials=20)
        xr.testing.assert_equal(results.sel(collection=name, drop=True), alone)
    other = sc.analyse(cubes, analysis, trials=20)  # of other runs each
    alone = sc.analyse(cubes["b1"], analysis, trials=20)
    xr.testing.assert_identical(without_attrs(part_of(other, "b1")), without_attrs(alone))
    tree = sc.sweep([sc.Entry(analysis, trials=20), sc.Entry(sc.Swap(), trials=20)], same)
    expected = sc.table(results, "power")
    assert list(expected["collection"].unique()) == list("abc")
    swept = sc.table(tree["tukey"].to_dataset(), "power")
    pd.testing.assert_frame_equal(swept, expected, check_dtype=False)
    parts = {name: part_of(tree["tukey"].to_dataset(), name) for name in "ab"}
    nested = xr.DataTree.from_dict({"a": parts["a"], "a/b": parts["b"]})
    assert list(sc.table(nested, "power")["collection"].unique()) == ["a", "a/b"]


def test_collections_that_are_compared_are_one_task(cubes: Cubes) -> None:
    swept = sc.sweep([sc.Entry(sc.Board(), trials=50)], cubes)
    assert swept.attrs["analysis"] == "board"


@pytest.mark.parametrize(("entries", "message"), [([], "at least one"), ([sc.Swap(size=26)], "26")])
def test_impossible_sweeps_are_refused(cubes: Cubes, entries: Any, message: str) -> None:
    with pytest.raises(BadPlan, match=message):
        sc.sweep(entries, cubes)


# Sweep files


def test_a_repeated_sweep_reads_no_scores(
    scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_matrices(tmp_path, 3)
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert said.endswith("0 of 3 collections read, 0 of 6 results stored\n")
    assert not (tmp_path / "study.zarr").exists()
    assert new_and_old(scorecube("sweep", file)) == (6, 0)
    first = results(tmp_path / "study.zarr")
    with monkeypatch.context() as context:
        context.setattr(Collection, "cube_among", None)
        assert new_and_old(scorecube("sweep", file)) == (0, 6)
    file.write_text(file.read_text().replace("size = 10", "size = 9"))
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert said.endswith("3 of 3 collections read, 3 of 6 results stored\n")
    assert new_and_old(scorecube("sweep", file)) == (3, 3)
    again = results(tmp_path / "study.zarr")
    xr.testing.assert_identical(again["c00", "tukey"], first["c00", "tukey"])


def test_a_sweep_of_many_failures(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 4)
    broken, small = tmp_path / "m/c01.csv", tmp_path / "m/c02.csv"
    small.write_text("topic,x,y\n1,0.5,0.25\n2,0.25,0.5\n")
    whole = broken.read_text()
    broken.write_text("topic,x\n1,abc\n")
    outcome = scorecube("sweep", file)
    assert outcome.status == 1
    assert "swap of c02: " in outcome.stderr
    assert "5 new results" in outcome.stderr
    assert f"  reading of c01: {broken}:1: " in outcome.stderr.splitlines()[-1]
    assert list(sc.open_study(tmp_path / "study.zarr")) == ["c00", "c02", "c03"]
    broken.write_text(whole)
    assert new_and_old(scorecube("sweep", file)) == (2, 5)


@pytest.mark.parametrize("error", [StoreFailed("the disk is full"), ClusterFailed("no scheduler")])
def test_what_would_meet_all_ends_the_sweep(
    scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(tasks.Task, "run", fail)
    outcome = scorecube("sweep", write_matrices(tmp_path, 2))
    assert (outcome.status, outcome.stderr) == (1, f"error: {error}\n")


def test_changed_scores_are_refused_or_replaced(scorecube: Cli, tmp_path: Path) -> None:
    sweep = write_matrices(tmp_path, 1)
    scorecube("sweep", sweep).succeeded()
    file = tmp_path / "m/c00.csv"
    status, text = file.stat(), file.read_text()
    file.write_text(text[:-2] + ("1" if text[-2] == "0" else "0") + "\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # of the same size and time
    refused = scorecube("sweep", sweep)
    assert refused.status == 1
    assert "replace" in refused.stderr
    scorecube("sweep", sweep, "--replace").succeeded()
    cube = sc.open_study(tmp_path / "study.zarr")["c00"].cube
    assert float(file.read_text()[-7:-1]) in cube.score.sel(topic="23").values
    os.utime(file)  # touched, and the same
    assert new_and_old(scorecube("sweep", sweep)) == (0, 2)


# Parts


def test_what_failed_names_arguments_in_python_and_flags_on_the_command_line() -> None:
    def refuse() -> None:
        raise OtherCollection(f"a: {option('replace', True)}")

    outcome = module.Outcome()
    with outcome.noting("a", module.READING):
        refuse()
    error = outcome.failure(1)
    assert str(error).endswith("replace=True")
    assert error.message().endswith("--replace")


@pytest.mark.parametrize("text", ["0/3", "4/3", "a/b", "3", " 1/3", "²/3", ""])
def test_bad_parts_are_refused(text: str) -> None:
    with pytest.raises(BadPlan, match="3/100"):
        share(["a"], text)


def test_parts_of_one_study_have_the_results_of_one_sweep(scorecube: Cli, tmp_path: Path) -> None:
    whole, parts = write_matrices(tmp_path / "whole", 7), write_matrices(tmp_path / "parts", 7)
    board = '[[analysis]]\nname = "board"\n'
    for file in (whole, parts):
        file.write_text(file.read_text() + board)
    scorecube("sweep", whole).succeeded()
    for number, count in ((3, 4), (1, 6), (2, 4)):
        said = scorecube("sweep", parts, "--part", f"{number}/3").succeeded().stderr
        assert f"{count} new results" in said
    assert_same(results(tmp_path / "parts/study.zarr"), results(tmp_path / "whole/study.zarr"))
    assert new_and_old(scorecube("sweep", parts)) == (1, 14)
    assert "0 new results" in scorecube("sweep", parts, "--part", "9/9").succeeded().stderr


# Workers


@pytest.mark.process
def test_processes_give_the_same_results(
    scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = write_matrices(tmp_path / "here", 8), write_matrices(tmp_path / "there", 8)
    (tmp_path / "here/m/c05.csv").write_text("topic,x\n1,abc\n")
    (tmp_path / "there/m/c05.csv").write_text("topic,x\n1,abc\n")
    assert scorecube("sweep", here, "--workers", 1).status == 1
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    outcome = scorecube("sweep", there, "--workers", 2)
    assert outcome.status == 1
    assert "reading of c05: " in outcome.stderr
    assert_same(results(tmp_path / "there/study.zarr"), results(tmp_path / "here/study.zarr"))


@pytest.mark.process
@pytest.mark.slow
def test_a_killed_sweep_is_resumed(scorecube: Cli, tmp_path: Path) -> None:
    whole, killed = write_matrices(tmp_path / "whole", 30), write_matrices(tmp_path / "killed", 30)
    program = "from scorecube.cli.program import main; main()"
    command = [sys.executable, "-c", program, "sweep", str(killed), "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        waited = time.monotonic()
        while not list((tmp_path / "killed/study.zarr").glob("c03*")):
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() - waited < 120
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    scorecube("sweep", whole).succeeded()
    assert "0 stored before" not in scorecube("sweep", killed).succeeded().stderr
    assert_same(results(tmp_path / "killed/study.zarr"), results(tmp_path / "whole/study.zarr"))


def test_what_a_tiny_collection_needs_is_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are encoded, and a head is decoded, once; a cube that knows its ranges stays as it is."""
    cube = as_cube(simulate_cube(n_runs=4, seed=1))
    assert as_cube(cube) is cube
    assert select(cube) is not cube
    encode = Mock(wraps=codec.encode)
    decode = Mock(wraps=decode_record)
    monkeypatch.setattr(codec, "encode", encode)
    monkeypatch.setattr(heads, "decode_record", decode)
    study = sc.open_study(tmp_path / "study", mode="a")
    study.add("a", cube=cube)
    assert encode.call_count == 1
    decode.reset_mock()
    sc.sweep([sc.Entry(sc.Swap(), trials=20), sc.Entry(sc.Bootstrap(), trials=20)], study)
    assert decode.call_count <= 1

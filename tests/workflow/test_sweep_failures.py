"""Sweeps that go on after failures, the status that others read, and the line of progress."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scorecube as sc
from scorecube.cli.sweep_status import failure_lines
from scorecube.errors import ClusterFailed, StoreFailed
from scorecube.storage.location import open_location
from scorecube.storage.lock import machine_name
from scorecube.storage.status import read_status, write_status
from scorecube.workflow.sweep_journal import Journal, published
from tests.conftest import Cli
from tests.workflow.test_sweep_parts import COMMAND, contents, write_matrices

FACTS = (
    "command study part since machine process started beat state message collections results work "
    "failures n_failures"
)


def status_of(path: Path) -> dict[str, Any]:
    status = read_status(open_location(path))
    assert status is not None
    return status


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A sweep of four collections, of which one cannot be read."""
    file = write_matrices(tmp_path, 4)
    (tmp_path / "m/c01.csv").write_text("topic,x\n1,abc\n")
    return file


def test_the_others_go_on_after_a_failure(scorecube: Cli, broken: Path) -> None:
    folder = broken.parent
    outcome = scorecube("sweep", broken)
    assert outcome.status == 1
    assert "6 results in" in outcome.stderr
    message = f"{folder}/m/c01.csv:2: score 'abc' is not a finite number"
    assert outcome.stderr.endswith(
        "error: 1 of 4 collections failed; the others are done\n"
        f"  c01: reading: {message}\n"
        f"    repeat with: scorecube sweep {broken} --collection c01\n"
    )
    assert list(sc.open_study(folder / "study.zarr")) == ["c00", "c02", "c03"]
    status = status_of(folder / "study.zarr")
    assert status["state"] == "failed"
    assert status["failures"] == [["c01", "reading", message]]
    said = scorecube("sweep", broken, "--status").succeeded().stdout
    assert "study.zarr: done, except what failed, " in said
    assert "collections: 3 of 4 done, 1 failed, 0 under way, 0 to do" in said
    assert "results: 6 of 6 stored, 0 of them before; 0 failed" in said
    assert (
        f"  c01: reading: {message}\n    repeat with: scorecube sweep {broken} --collection c01"
        in said
    )
    assert "stored: 3 collections, 6 results" in said
    (folder / "m/c01.csv").write_text((folder / "m/c02.csv").read_text())
    repeated = scorecube("sweep", broken, "--collection", "c01").succeeded().stderr
    assert "2 plans, 0 done already" in repeated
    assert status_of(folder / "study.zarr")["state"] == "done"
    assert "8 plans, 8 done already" in scorecube("sweep", broken).succeeded().stderr


def test_failures_name_settings_as_the_file_has_them(scorecube: Cli, broken: Path) -> None:
    (broken.parent / "m/c01.csv").write_text("run,1\nx,0.5\n")
    said = "if rows are runs and columns are topics, use transpose = true"
    assert said in scorecube("sweep", broken).stderr
    gapped = "topic,x,y,z\n" + "".join(f"{k},0.{k % 9},0.{k % 7},\n" for k in range(30))
    (broken.parent / "m/c01.csv").write_text(gapped)
    assert 'missing = "drop"' in scorecube("sweep", broken).stderr


def test_a_failing_analysis_does_not_end_the_sweep(
    scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_matrices(tmp_path, 3)
    block = sc.Tukey.block
    seen: list[Any] = []

    def fails_for_one(self: Any, table: Any, start: int, stop: int) -> Any:
        if stop > start:
            seen.append(table.scores)
            if np.array_equal(table.scores, seen[0]):
                raise ZeroDivisionError("broken on purpose")
        return block(self, table, start, stop)

    monkeypatch.setattr(sc.Tukey, "block", fails_for_one)
    outcome = scorecube("sweep", file, "--workers", 1)
    assert outcome.status == 1
    assert "5 results in" in outcome.stderr
    assert "error: 1 of 3 collections failed; the others are done" in outcome.stderr
    assert ": tukey: ZeroDivisionError: broken on purpose\n    repeat with: " in outcome.stderr
    assert f"scorecube sweep {file} --workers 1 --collection c0" in outcome.stderr
    monkeypatch.undo()
    assert "6 plans, 5 done already" in scorecube("sweep", file).succeeded().stderr
    assert "6 done already" in scorecube("sweep", file).succeeded().stderr


def test_damaged_scores_of_one_collection_are_a_failure_of_it(
    scorecube: Cli, tmp_path: Path
) -> None:
    file = write_matrices(tmp_path, 3)
    scorecube("sweep", file).succeeded()
    (tmp_path / "study.zarr/c01/cube/score/c/0/0/0/0").write_bytes(b"damaged")
    file.write_text(file.read_text() + '[[analysis]]\nname = "bootstrap"\n')
    outcome = scorecube("sweep", file)
    assert outcome.status == 1
    assert outcome.stderr.count("  c01: reading: ") == 1
    assert "2 results in" in outcome.stderr
    assert sc.open_study(tmp_path / "study.zarr")["c02"].contents()["results"]["bootstrap"] == 1


def test_a_sweep_without_any_readable_collection_fails(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 1)
    (tmp_path / "m/c00.csv").write_text("")
    other = sc.open_study(tmp_path / "study.zarr", mode="a")
    from scorecube.testing import simulate_cube

    other.add("not of this sweep", cube=simulate_cube(n_runs=3))
    outcome = scorecube("sweep", file)
    assert outcome.status == 1
    assert "error: 1 of 1 collection failed" in outcome.stderr
    assert other["not of this sweep"].contents()["results"] == {}


@pytest.mark.parametrize("error", [StoreFailed("the disk is full"), ClusterFailed("no scheduler")])
def test_what_would_meet_all_ends_the_sweep(
    scorecube: Cli, broken: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(sc.Swap, "finalize", fail)
    outcome = scorecube("sweep", broken)
    assert outcome.status == 1
    assert outcome.stderr.endswith(f"error: {error}\n")
    assert "c01: reading: " in outcome.stderr  # failures before are told, too
    assert "results in" not in outcome.stderr
    status = status_of(broken.parent / "study.zarr")
    assert (status["state"], status["message"]) == ("stopped", str(error))
    said = scorecube("sweep", broken, "--status").succeeded().stdout
    assert f"study.zarr: stopped ({error}), " in said


def test_mistakes_in_the_file_are_refused_before_anything(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 2)
    file.write_text(file.read_text() + '[[analysis]]\nname = "swop"\n')
    outcome = scorecube("sweep", file)
    assert outcome.status == 1
    assert "unknown analysis 'swop'" in outcome.stderr
    assert not list(tmp_path.glob("*.zarr*"))


def test_many_failures_are_cut_and_names_are_quoted() -> None:
    failures = [("a b", "swap", "a b: wrong"), ("c", "tukey", "bad"), ("a b", "tukey", "worse")]
    assert failure_lines(failures, "scorecube sweep s.toml", 1) == [
        "  a b: swap: wrong",
        "  a b: tukey: worse",
        "    repeat with: scorecube sweep s.toml --collection 'a b'",
        "  and 1 more, which this lists: scorecube sweep s.toml --status",
    ]


# Status


def test_there_is_no_status_before_the_first_sweep(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 2)
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert said == f"{tmp_path}/study.zarr: no sweep has written its status there\n"
    scorecube("sweep", file, "--dry-run").succeeded()
    assert "no sweep has written" in scorecube("sweep", file, "--status").succeeded().stdout


def test_a_driver_that_ended_without_a_word_is_told(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 2)
    location = open_location(tmp_path / "study.zarr")
    journal = Journal(f"scorecube sweep {file}", str(tmp_path / "study.zarr"))
    gone = {"process": 2**22 + 1, "machine": machine_name(), "started": "1"}
    write_status(location, {**journal.record(), **gone})
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert "NOT RUNNING: process 4194305 on " in said
    assert f"resume with: scorecube sweep {file}\n" in said
    away = {"process": 1, "machine": "another-host 1 2", "started": "1"}
    write_status(location, {**journal.record(), **away})
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert "study.zarr: reading: process 1 on another-host since " in said
    write_status(location, {**journal.record(), **away, "beat": time.time() - 1000})
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert "NOT RUNNING: process 1 on another-host ended without finishing, last sign of life 16:40 min ago" in said  # fmt: skip


def test_the_status_shows_what_is_under_way(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 2)
    away = {"process": 1, "machine": "another-host 1 2", "started": "1"}
    journal = Journal("", str(tmp_path / "study.zarr"))
    status = journal.record() | away | {"state": "computing"}
    status["collections"] |= {"total": 5, "done": 2, "under_way": 1, "names": ["c03"]}
    status["work"] = {"done": 500, "total": 2000, "first": 0, "seconds": 60.0}
    write_status(open_location(tmp_path / "study.zarr"), status)
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert "collections: 2 of 5 done, 0 failed, 1 under way (c03), 2 to do" in said
    assert "work: 25% in 1:00 min, about 3:00 min left" in said
    status["work"]["done"] = 0  # nothing computed: nothing to expect from
    write_status(open_location(tmp_path / "study.zarr"), status)
    assert "left" not in scorecube("sweep", file, "--status").stdout.split("plans left out")[1]


def test_a_damaged_status_is_none(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 2)
    (tmp_path / "study.zarr.status").write_text("{")
    assert "no sweep has written" in scorecube("sweep", file, "--status").succeeded().stdout


def test_each_part_has_a_status(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 5)
    for number in (1, 3):
        scorecube("sweep", file, "--part", f"{number}/3").succeeded()
    said = scorecube("sweep", file, "--part", "1/3", "--status").succeeded().stdout
    assert "study.part-1-of-3.zarr: done, " in said
    whole = scorecube("sweep", file, "--status").succeeded().stdout.splitlines()
    assert whole[0].startswith("part 1/3: ")
    assert whole[1].startswith("part 3/3: ")
    n_collections = sum(
        len(list(sc.open_study(tmp_path / f"study.part-{number}-of-3.zarr"))) for number in (1, 3)
    )
    assert whole[2] == (
        f"2 parts started: {n_collections} of {n_collections} collections done, 0 failed"
    )


def test_a_status_that_cannot_be_written_hinders_nothing(
    scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    file = write_matrices(tmp_path, 1)
    monkeypatch.setattr("scorecube.storage.files.write_file", refuse)
    journal = Journal("", "")
    with published(journal, open_location(tmp_path / "study.zarr")):
        pass
    monkeypatch.undo()
    scorecube("sweep", file).succeeded()


@pytest.mark.process
@pytest.mark.slow
def test_the_status_of_a_killed_sweep_and_its_resumption(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 30)
    command = [*COMMAND, "sweep", str(file), "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        waited = time.monotonic()
        seen: dict[str, Any] = {}
        while seen.get("state") != "computing" or not seen["results"]["done"]:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() - waited < 120
            time.sleep(0.1)
            seen = read_status(open_location(tmp_path / "study.zarr")) or {}
        said = scorecube("sweep", file, "--status").succeeded().stdout
        assert f"study.zarr: computing: process {process.pid} on " in said
        assert os.getpid() != process.pid
        process.send_signal(signal.SIGKILL)
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert f"NOT RUNNING: process {process.pid} on " in said
    before = len(contents(tmp_path / "study.zarr"))
    assert before > 30
    scorecube("sweep", file).succeeded()
    assert len(contents(tmp_path / "study.zarr")) == 90
    assert "study.zarr: done, " in scorecube("sweep", file, "--status").succeeded().stdout


def test_the_status_is_json_with_a_few_facts(scorecube: Cli, tmp_path: Path) -> None:
    scorecube("sweep", write_matrices(tmp_path, 1)).succeeded()
    text = (tmp_path / "study.zarr.status").read_text()
    assert len(text) < 2000
    assert set(json.loads(text)) == set(FACTS.split())
    assert [path.name for path in tmp_path.glob("*.status.*")] == []


def test_progress_names_collections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from scorecube.cli import terminal

    monkeypatch.setattr(terminal, "PLAIN_SECONDS", 0.0)
    with terminal.track_progress("sweep", None, lambda: "2 of 5 collections done") as progress:
        progress(0, 100)
        progress(20, 100)
        progress(40, 100)
    begun, going = capsys.readouterr().err.splitlines()
    assert begun == "sweep: 20%, 2 of 5 collections done"
    assert going.startswith("sweep: 40%, 2 of 5 collections done, about ")
    assert sys.stderr is not None

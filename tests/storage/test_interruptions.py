"""Studies whose writing was cut off between two steps, and studies opened only for reading."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube.analyses import Swap
from scorecube.errors import BadPlan, BadStudy, CorruptStudy
from scorecube.storage.catalogue import in_order
from scorecube.storage.lock import machine_name
from scorecube.storage.writer import NewResult, Writer
from scorecube.workflow.api import analyse, cube_from_scores, open_study
from tests.conftest import Cli, Files


def make_cube(shift: float = 0.0, n_topics: int = 4) -> xr.Dataset:
    random = np.random.default_rng(1)
    topics = [str(k) for k in range(n_topics)]
    return cube_from_scores(
        {"m": pd.DataFrame(random.random((3, n_topics)) + shift, index=list("abc"), columns=topics)}
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    open_study(tmp_path / "s", mode="a").add("demo", cube=make_cube())
    return tmp_path / "s"


def test_a_study_opened_for_reading_is_not_added_to(path: Path) -> None:
    with pytest.raises(BadStudy, match="opened for reading; open it with mode='a'"):
        open_study(path).add("other", cube=make_cube())


def test_a_damaged_cube_says_what_to_do(path: Path) -> None:
    chunk = path / "demo/cube/score/c/0/0/0/0"
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(CorruptStudy, match="scorecube verify"):
        _ = open_study(path)["demo"].cube


def test_whole_numbers_of_any_kind_are_taken() -> None:
    plain = analyse(make_cube(), Swap(size=1), trials=10, seed=1, workers=1)
    one: Any = np.int64(1)
    arrays = analyse(make_cube(), Swap(size=one), trials=10 * one, seed=one, workers=1)
    assert plain.attrs["digest"] == arrays.attrs["digest"]


def test_what_is_noted_is_logged_also_in_programs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="scorecube"):
        result = analyse(make_cube(), Swap(bin_width=9.0), trials=10, seed=1, workers=1)
    assert ["may be in one bin" in message for message in caplog.messages] == [True]
    assert result.attrs["warnings"] == caplog.messages


def test_advice_for_infinite_scores_does_not_drop_missing_ones() -> None:
    cube = make_cube()
    cube["score"][0, 0, 0, 0] = np.inf
    with pytest.raises(
        BadPlan, match="1 scores are infinite, the first is m of run a on topic 0; choose other"
    ):
        analyse(cube, Swap(), trials=1, seed=1, workers=1)


@pytest.mark.parametrize("left", ["small/cube.2", "small/cube.2.0123.staged", "other"])
def test_what_a_killed_writer_left_is_removed_by_the_next(
    study: Path, files: Files, scorecube: Cli, left: str
) -> None:
    shutil.copytree(study / "small/cube", study / left)
    for lock in ("", ".small"):  # of a process that has ended
        text = json.dumps({"machine": machine_name(), "process": 2**22 + 1, "since": ""})
        (study / f"{lock}.lock").write_text(text)
    how = ["--name", "small", *files.options(), "--metrics", "RR", "--gains", "auto", "--replace"]
    scorecube("evaluate", study, *how).succeeded()
    assert sorted(path.name for path in study.iterdir()) == [".index", "small", "zarr.json"]
    inside = {path.name for path in (study / "small").iterdir()}
    listed = {path.partition("/")[0] for path in open_study(study)["small"].manifest.paths()}
    assert inside - {"blocks", "cube", "rankings"} == listed | {"zarr.json"}
    assert (study / "small/cube").resolve().name in listed
    assert open_study(study)["small"].cube["metric"].values.tolist() == ["RR"]
    scorecube("verify", study).succeeded()


@pytest.mark.process
def test_what_does_not_fit_on_the_disk_is_not_taken_for_written(tmp_path: Path) -> None:
    code = """
import resource, sys
from scorecube.storage.location import LocalDirectory

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
location = LocalDirectory(sys.argv[1])
with location.failures():
    location.write_new("group", {"c/0": b"x" * 2000})
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "group/c/0: File too large; nothing that was stored is lost: raise" in done.stderr


@pytest.mark.parametrize("step", ["write_results", "commit", "blocks"])
def test_a_study_that_is_moved_during_a_run_is_not_made_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch, scorecube: Cli, step: str
) -> None:
    made = getattr(Writer, step)

    def moved(*args: Any, **options: Any) -> Any:
        if path.exists():
            path.rename(path.parent / "moved")
        return made(*args, **options)

    with monkeypatch.context() as changed:
        changed.setattr(Writer, step, moved)
        told = scorecube("swap", path, "--trials", 20, "--seed", 1)
    assert told.status == 1
    assert "error: " in told.stderr
    assert "the study was moved or removed while it was in use" in told.stderr
    assert not path.exists()
    kept = list(path.parent.glob("s-swap-*.zarr"))
    assert bool(kept) == (f"kept in {kept[0] if kept else ''}" in told.stderr)
    if step == "write_results":
        swap = analyse(make_cube(), Swap(), trials=20, seed=1, workers=1)
        xr.testing.assert_equal(xr.open_zarr(kept[0], consolidated=False).load(), swap)
    scorecube("swap", path.parent / "moved", "--trials", 20, "--seed", 1).succeeded()
    scorecube("verify", path.parent / "moved").succeeded()


def test_the_latest_result_is_the_last_that_was_stored(path: Path) -> None:
    """Clocks of machines differ, and are set back."""
    study = open_study(path, mode="a")
    for seed, finished in ((1, "2030-01-01T00:00:00.000+00:00"), (2, "2020"), (3, "")):
        result = analyse(make_cube(), Swap(), trials=20, seed=seed, workers=1)
        result = result.assign_attrs(finished=finished)
        with study.lock("demo") as writer:
            writer.write_results([NewResult("swap", result.attrs["digest"], result)])
        assert study["demo"].result("swap").attrs["seed"] == str(seed)
    assert [each.attrs["seed"] for each in study["demo"].results("swap")] == ["1", "2", "3"]
    latest = in_order(study.rows()["demo"].results("swap"))[-1]
    assert latest["digest"] == result.attrs["digest"]

"""Studies whose writing was cut off between two steps, and studies opened only for reading."""

from __future__ import annotations

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


def cut_off(monkeypatch: pytest.MonkeyPatch, rename_number: int) -> None:
    """Let the process die at its n-th renaming."""
    rename, calls = Path.rename, []

    def dying(self: Path, target: Path) -> Path:
        calls.append(self)
        if len(calls) == rename_number:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", dying)


@pytest.mark.parametrize("rename_number", [1, 2])
def test_a_replacement_is_either_old_or_new(
    path: Path, monkeypatch: pytest.MonkeyPatch, rename_number: int
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        cut_off(patch, rename_number)
        open_study(path, mode="a").add("demo", cube=make_cube(1.0), replace=True)
    again = open_study(path, mode="a")
    assert list(again) == ["demo"]
    xr.testing.assert_identical(again["demo"].cube, make_cube(1.0 if rename_number == 2 else 0.0))
    again.add("demo", cube=make_cube(2.0), replace=True)
    assert sorted(entry.name for entry in path.iterdir()) == ["demo", "zarr.json"]


@pytest.mark.parametrize("rename_number", [1, 2])
def test_an_added_metric_is_there_or_not(
    path: Path, monkeypatch: pytest.MonkeyPatch, rename_number: int
) -> None:
    more = make_cube().assign_coords(metric=np.array(["n"], object))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        cut_off(patch, rename_number)
        open_study(path, mode="a").add("demo", cube=more)
    found = open_study(path)["demo"].cube["metric"].values.tolist()
    assert found == (["m", "n"] if rename_number == 2 else ["m"])


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


def test_halving_is_warned_of_also_in_programs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="scorecube"):
        result = analyse(make_cube(), Swap(size=2), trials=10, seed=1, workers=1)
    assert ["halve the topic set" in message for message in caplog.messages] == [True]
    assert result.attrs["warnings"] == caplog.messages


def test_advice_for_infinite_scores_does_not_drop_missing_ones() -> None:
    cube = make_cube()
    cube["score"][0, 0, 0, 0] = np.inf
    with pytest.raises(
        BadPlan, match="1 scores are infinite, the first is m of run a on topic 0; choose other"
    ):
        analyse(cube, Swap(), trials=1, seed=1, workers=1)


@pytest.mark.parametrize("left", ["small.old", "small.new"])
def test_a_replacement_killed_while_it_removed_a_copy_is_recovered(
    study: Path, files: Files, scorecube: Cli, left: str
) -> None:
    shutil.copytree(study / "small", study / left)
    (study / left / "zarr.json").unlink()  # what a killed deletion leaves is no group
    how = ["--name", "small", *files.options(), "--metrics", "RR", "--gains", "auto", "--replace"]
    for _ in range(2):
        scorecube("evaluate", study, *how).succeeded()
        assert sorted(path.name for path in study.iterdir()) == ["small", "zarr.json"]
    assert open_study(study)["small"].cube["metric"].values.tolist() == ["RR"]
    scorecube("verify", study).succeeded()


@pytest.mark.process
def test_what_does_not_fit_on_the_disk_is_not_taken_for_written(tmp_path: Path) -> None:
    code = """
import resource, sys
from scorecube.storage.location import LocalDirectory

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
LocalDirectory(sys.argv[1]).replace("group", {"c/0": b"x" * 2000}, b"{}", b"done")
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "File too large" in done.stderr
    assert (tmp_path / "group" / "zarr.json").read_bytes() == b"{}"

"""What a sweep reads: changes of files and of studies are noticed, and nothing is lost or mixed in silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import xarray as xr

from scorecube.storage import open_study
from scorecube.testing import simulate_cube
from tests.conftest import Cli, Outcome

ANALYSIS = '[[analysis]]\nname = "tukey"\n'
FIRST = "topic,a,b,c\n1,0.5,0.25,0.1\n2,0.75,0.5,0.3\n3,0.1,0.2,0.9\n"


class Sweep:
    """A sweep file in a folder, and the command that runs it."""

    def __init__(self, folder: Path, scorecube: Cli) -> None:
        self.folder, self._scorecube = folder, scorecube
        self.study = folder / "out.zarr"

    def __call__(self, sources: str, *options: str) -> Outcome:
        text = f'study = "out.zarr"\ntrials = 20\nseed = 1\n{sources}\n{ANALYSIS}'
        (self.folder / "sweep.toml").write_text(text)
        return self._scorecube("sweep", self.folder / "sweep.toml", "--workers", 1, *options)

    def cube(self, name: str) -> xr.Dataset:
        return open_study(self.study)[name].cube


@pytest.fixture
def sweep(tmp_path: Path, scorecube: Cli) -> Sweep:
    return Sweep(tmp_path, scorecube)


def test_scores_that_change_in_another_study_are_noticed(sweep: Sweep) -> None:
    other, source = (
        open_study(sweep.folder / "in.zarr", mode="a"),
        '[[collection]]\nstudy = "in.zarr"',
    )
    first, second = (simulate_cube(metrics=("AP",), n_runs=4, seed=seed) for seed in (1, 2))
    other.add("c", cube=first)
    sweep(source).succeeded()
    assert "1 done already" in sweep(source).succeeded().stderr
    other.add("c", cube=second, replace=True)
    refused = sweep(source)
    assert refused.status == 1
    assert "holds other scores" in refused.stderr
    assert "use --replace to start over" in refused.stderr
    told = sweep(source, "--replace").succeeded().stderr
    assert "c: copied again from" in told
    assert sweep.cube("c").score.equals(second.score)
    assert open_study(sweep.study)["c"].result("tukey").attrs["seed"]
    assert "1 done already" in sweep(source).succeeded().stderr


@pytest.mark.parametrize("parts", [[], ["--part", "1/1"]])
def test_two_sources_of_one_collection_are_refused(sweep: Sweep, parts: list[str]) -> None:
    open_study(sweep.folder / "in.zarr", mode="a").add("c", cube=simulate_cube(n_runs=4))
    (sweep.folder / "c.csv").write_text(FIRST)
    both = '[[collection]]\nstudy = "in.zarr"\n[[collection]]\nname = "c"\nscores = "c.csv"'
    told = sweep(both, *parts)
    assert told.status == 1
    assert "sweep.toml:6: another source before this has a collection 'c', too" in told.stderr


def test_another_content_of_the_same_size_and_time_is_noticed(sweep: Sweep) -> None:
    path, source = sweep.folder / "c.csv", '[[collection]]\nname = "c"\nscores = "c.csv"'
    path.write_text(FIRST)
    sweep(source).succeeded()
    status = path.stat()
    path.write_text(FIRST.replace("0.75", "0.85"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert sweep(source).status == 1
    sweep(source, "--replace").succeeded()
    assert sweep.cube("c").score.sel(run="a", topic="2").item() == 0.85
    os.utime(path)  # touched, and the same
    assert "c: read" not in sweep(source).succeeded().stderr


def test_files_that_are_taken_out_are_named(sweep: Sweep) -> None:
    source = '[[collection]]\nname = "c"\nscores = "scores"'
    scores = sweep.folder / "scores"
    scores.mkdir()
    for name in ("AP.csv", "RR.csv"):
        (scores / name).write_text(FIRST)
    sweep(source).succeeded()
    (scores / "RR.csv").unlink()
    told = sweep(source).succeeded().stderr
    assert "c: note: metric RR no longer in its source, but still in" in told
    assert sweep.cube("c").metric.values.tolist() == ["AP", "RR"]
    assert "no longer in its source" in sweep(source).succeeded().stderr
    sweep(source, "--replace").succeeded()
    assert sweep.cube("c").metric.values.tolist() == ["AP"]


def test_parts_of_different_sweeps_are_named_and_not_merged(sweep: Sweep, scorecube: Cli) -> None:
    source = '[[collection]]\nstudy = "in.zarr"'
    other = open_study(sweep.folder / "in.zarr", mode="a")
    for name in "abcdef":
        other.add(name, cube=simulate_cube(n_runs=3, seed=ord(name)))
    for part in ("1/2", "2/3"):
        sweep(source, "--part", part).succeeded()
    several = "parts of sweeps in 2 and in 3 parts"
    assert several in sweep(source, "--status").succeeded().stdout
    merged = scorecube("merge", sweep.folder / "all.zarr", sweep.folder / "out.part-*.zarr")
    assert merged.status == 1
    for part in ("1-of-2", "2-of-3"):
        assert f"out.part-{part}.zarr" in merged.stderr
    assert several in merged.stderr
    assert not (sweep.folder / "all.zarr").exists()
    scorecube("merge", sweep.folder / "all.zarr", sweep.folder / "out.part-1-of-2.zarr").succeeded()
    later = scorecube("merge", sweep.folder / "all.zarr", sweep.folder / "out.part-2-of-3.zarr")
    assert later.status == 1
    assert several in later.stderr
    assert "all.zarr, into which some were merged" in later.stderr
    sweep(source, "--part", "2/2").succeeded()
    scorecube("merge", sweep.folder / "all.zarr", sweep.folder / "out.part-2-of-2.zarr").succeeded()
    assert list(open_study(sweep.folder / "all.zarr")) == list("abcdef")

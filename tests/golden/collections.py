"""The collections of the golden corpus: simulated, changed to be odd, evaluated from files, of an earlier version."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.testing import simulate_rankings
from tests.conftest import in_process, write_files
from tests.report.hostile import ANALYSES, hostile_study
from tests.report.hostile import GAINS as HOSTILE_GAINS
from tests.storage.test_previous_version import ARCHIVE

Make = Callable[[Path], None]
"""Writes a study; the current folder is empty."""
Change = Callable[[xr.Dataset], xr.Dataset]
METRICS = ("AP", "nDCG@10")
GAINS = ("3:2:1",)
TWO_GAINS = ("3:2:1", "1:1:1")


@cache
def rankings(n_topics: int = 12, n_runs: int = 7) -> xr.Dataset:
    """Return simulated rankings of runs of four teams."""
    judged = [(12 + 3 * k % 17, 8 + 5 * k % 11, k % 5) for k in range(n_topics)]
    return simulate_rankings(judged, n_runs=n_runs, n_teams=4, depth=30, seed=3)


def simulated(
    *names: str, metrics: Sequence[str] = METRICS, gains: Sequence[str] = GAINS, n_topics: int = 12
) -> Make:
    """Return what writes a study of simulated collections, each with a topic more and other runs than the one before."""

    def make(path: Path) -> None:
        study = sc.open_study(path, mode="a")
        for k, name in enumerate(names):
            ranked = rankings(n_topics + k, 7 - k % 3)
            study.add(name, cube=sc.evaluate(ranked, metrics, gains), rankings=ranked)

    return make


def changed(change: Change, gains: Sequence[str] = GAINS) -> Make:
    """Return what writes a study of one collection, whose scores are changed, without rankings."""

    def make(path: Path) -> None:
        cube = sc.evaluate(rankings(), METRICS, gains)
        sc.open_study(path, mode="a").add("odd", cube=change(cube))

    return make


def scores(make: Callable[[xr.DataArray], xr.DataArray]) -> Change:
    """Return a change of the scores alone."""
    return lambda cube: cube.assign(score=make(cube["score"]).transpose(*cube["score"].dims))


def tied(score: xr.DataArray) -> xr.DataArray:
    """Return scores under which the first three runs are equal, and others are often."""
    rounded = (score * 4).round() / 4
    return rounded.where(~rounded["run"].isin(rounded["run"][:3]), rounded.isel(run=0, drop=True))


def holed(score: xr.DataArray) -> xr.DataArray:
    """Return scores of which one run lacks three topics, and another the second metric."""
    metric, run, topic = (score[dim] for dim in ("metric", "run", "topic"))
    lost = ((run == run[0]) & topic.isin(topic[:3])) | ((run == run[1]) & (metric == metric[1]))
    return score.where(~lost)


def without_teams(cube: xr.Dataset) -> xr.Dataset:
    """Return scores of runs that belong to no team."""
    return cube.assign_coords(team=("run", np.full(cube.sizes["run"], "", object)))


def repeated(cube: xr.Dataset) -> xr.Dataset:
    """Return scores of runs that repeat three systems."""
    return cube.assign_coords(
        system=("run", np.array([f"system{k % 3}" for k in range(cube.sizes["run"])], object))
    )


def judged(path: Path) -> None:
    """Write a study of one set of runs under three sets of judgements."""
    files = write_files(Path())
    for name, levels in (("truth", None), ("lenient", "3:3,2:3,1:2"), ("strict", "1:0,2:1,3:1")):
        how = ["--metrics", "AP,nDCG@10", *(["--levels", levels] if levels else [])]
        in_process("evaluate", path, "--name", name, *files.options(), *how).succeeded()


def imported(path: Path) -> None:
    """Write a study of imported scores: a matrix of a metric whose smaller values are better, and one out of 0 .. 1."""
    topics = range(301, 316)
    for metric, scale in (("last_rel", 40), ("utility", -3)):
        lines = [
            f"{topic},{(7 * topic) % 11 * scale / 8},{(5 * topic) % 13 * scale / 8},{topic % 7 * scale}"
            for topic in topics
        ]
        Path(f"{metric}.csv").write_text("\n".join(["topic,a,b,c", *lines]) + "\n")
    files = ["last_rel.csv", "utility.csv"]
    in_process(
        "import", path, "--name", "imported", *files, "--lower-is-better", "last_rel"
    ).succeeded()


def hostile(path: Path) -> None:
    """Write a study in which everything has a hostile name."""
    hostile_study(path, ANALYSES[:1], gains=HOSTILE_GAINS[:1])


def previous(path: Path) -> None:
    """Write the study of version 0.1.0."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(path.parent, filter="data")


def many(path: Path) -> None:
    """Write a study of more collections than a page shows one by one."""
    study = sc.open_study(path, mode="a")
    cube = sc.evaluate(rankings(), METRICS, GAINS)
    for k in range(51):
        part = cube.isel(metric=[0], run=slice(k % 3, 5), topic=slice(k % 4, None))
        study.add(f"c{k:02d}", cube=part)

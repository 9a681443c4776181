"""Large cubes: read metric by metric from dask and zarr, chunked in any dim, with the digest of one in memory."""

from __future__ import annotations

import itertools
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import reading
from scorecube.analyses.plan import cube_digest, make_plan
from scorecube.analyses.preparation import make_table
from scorecube.collection import schema
from scorecube.collection.arguments import as_cube
from scorecube.execute import run
from scorecube.execute.executor import CALLING_THREAD
from scorecube.storage import open_study
from tests.attributes import without_attrs
from tests.conftest import Cli

CHUNKS: tuple[dict[str, int], ...] = (
    {},
    {"metric": 1},
    {"metric": 2, "topic": 7},
    {"run": 3, "gain": 1},
    {"metric": 1, "gain": 1, "run": 2, "topic": 11},
)


def cube_of(seed: int = 1, *, whole: bool = True) -> xr.Dataset:
    """Return scores of unsorted runs, with seeds, one metric of 0 and 1 and one of unknown range."""
    rng = np.random.default_rng(seed)
    scores = rng.random((3, 2, 6, 40)).round(3)
    scores[1] = scores[1] > 0.5
    scores[2] = scores[2] * 7 - 3
    scores[0, 1] = scores[0, 0]
    if not whole:
        scores[1, 0, 2, 5] = scores[2, 1, 4, 9] = np.nan
    runs = [f"s{k // 2}-{k % 2}" for k in (3, 0, 5, 2, 1, 4)]
    coords: dict[str, Any] = {
        "metric": ["AP", "solved", "reward"],
        "gain": ["3:2:1", "1:1:1"],
        "run": runs,
        "topic": [f"{k:03d}" for k in range(40)],
        "system": ("run", [run[:2] for run in runs]),
        "uses_gains": ("metric", [False, True, True]),
    }
    return xr.Dataset({"score": (("metric", "gain", "run", "topic"), scores)}, coords)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("form", ["dask", "zarr"])
@pytest.mark.parametrize("whole", [True, False])
def test_lazy_cubes_give_the_same_table_and_digest(
    tmp_path: Path, form: str, chunks: dict[str, int], whole: bool
) -> None:
    cube = cube_of(whole=whole)
    lazy = cube.chunk(chunks)
    if form == "zarr":
        lazy.to_zarr(tmp_path / "x.zarr", zarr_format=2, consolidated=False)
        lazy = xr.open_zarr(tmp_path / "x.zarr", chunks=None, consolidated=False)
    analysis = sc.Swap(size=10)
    if not whole:
        tables = [make_table(one, missing="drop") for one in (cube, lazy)]
        np.testing.assert_array_equal(tables[0].scores, tables[1].scores)
        assert tables[0].notes == tables[1].notes
        for one in (cube, lazy):
            with pytest.raises(sc.ScorecubeError, match=r"2 of 40 .* solved, reward;"):
                make_plan(one, analysis)
        return
    plans = [make_plan(one, analysis, trials=20) for one in (cube, lazy)]
    assert (
        plans[0].digest == plans[1].digest == make_plan(as_cube(cube), analysis, trials=20).digest
    )
    np.testing.assert_array_equal(plans[0].table.scores, plans[1].table.scores)
    assert plans[0].table.ranges == plans[1].table.ranges
    results = [run.run(plan) for plan in plans]
    xr.testing.assert_identical(*(without_attrs(result) for result in results))


def test_scores_are_read_once_and_digested_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    plain = reading.read

    def counted(scores: xr.Variable, metric: int, *place: Any) -> Any:
        read.append(metric)
        return plain(scores, metric, *place)

    monkeypatch.setattr(reading, "read", counted)
    lazy = cube_of().drop_vars("system").chunk({"topic": 9})
    lazy = sc.select(lazy, metrics=["AP"]).pipe(lambda one: xr.concat([one, one.assign_coords(metric=["RR"])], "metric"))  # fmt: skip
    plan = make_plan(lazy, sc.Leaderboard(), trials=20)
    assert read == [0, 0, 1, 1]  # under each gain
    assert plan.cube_digest == cube_digest(as_cube(lazy.compute()))


def test_no_more_than_a_metric_is_read_at_a_time() -> None:
    largest = [0]

    def noted(block: Any) -> Any:
        largest[0] = max(largest[0], block.nbytes)
        return block

    cube = cube_of().chunk({"metric": 1, "topic": 10})
    cube["score"] = cube["score"].copy(data=cube["score"].data.map_blocks(noted, meta=np.empty((0,) * 4)))  # fmt: skip
    with dask.config.set(scheduler="synchronous"):
        make_plan(cube, sc.Correlation())
    assert largest[0] == cube["score"].nbytes / 3 / 4  # a chunk of a metric


def test_what_does_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scorecube: Cli
) -> None:
    def never(block: Any) -> Any:
        raise AssertionError(block)

    cube = cube_of().chunk({"metric": 1})
    lazy = cube.assign(score=cube["score"].copy(data=cube["score"].data.map_blocks(never, meta=np.empty((0,) * 4))))  # fmt: skip
    of_metric = cube["score"].nbytes / 3
    assert of_metric < run.bytes_read(lazy) < 2 * of_metric + 2_000
    assert run.bytes_read(cube.compute()) == cube.nbytes
    monkeypatch.setattr(run, "memory_limits", lambda: iter([int(of_metric)]))
    run.check_reading(lazy, CALLING_THREAD)  # a small one is refused where it is analysed
    for module in (schema, run, import_module("scorecube.workflow.api")):
        monkeypatch.setattr(module, "MAX_LOADED_BYTES", 1)
    with pytest.raises(MemoryError, match="to read"):
        run.check_reading(lazy, CALLING_THREAD)
    with pytest.raises(MemoryError, match="to read"):
        sc.analyse(lazy, sc.Swap(size=5))


def test_dry_runs_say_how_much_memory_is_needed(tmp_path: Path, scorecube: Cli) -> None:
    open_study(tmp_path / "study", mode="a").add("a", cube=cube_of())
    said = scorecube("swap", tmp_path / "study", "--size", 5, "--dry-run").succeeded().stderr
    assert "GB of memory" in said


PEAK = """
import sys
import xarray as xr
import scorecube as sc
from scorecube.testing import simulate_cube
# ru_maxrss begins with the size of the process that started this one.
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
opened = xr.open_zarr(sys.argv[1], consolidated=False, chunks=None)
sc.analyse(simulate_cube(metrics=("AP", "RR")), sc.Swap(), trials=20)
before = peak()
sc.analyse(opened, sc.Swap(), trials=20, workers=1)
print((peak() - before) * 1024 / (opened.score.nbytes / 8))
"""


@pytest.mark.process
def test_little_more_than_a_metric_is_in_memory(tmp_path: Path) -> None:
    """Threads that decode chunks keep nothing, and tables without some topics are made one by one."""
    labels = {"metric": [f"P@{k}" for k in range(1, 9)], "gain": ["-"], "run": [f"{k:03}" for k in range(200)]}  # fmt: skip
    scores = np.tile(np.random.default_rng(1).random((8, 1, 200, 100)).round(2), 500)
    cube = xr.Dataset({"score": (("metric", "gain", "run", "topic"), scores)}, labels)
    chunks = {"score": {"chunks": (1, 1, 20, 50_000)}}
    cube.to_zarr(tmp_path / "x.zarr", encoding=chunks, zarr_format=2, consolidated=False)
    command = [sys.executable, "-c", PEAK, str(tmp_path / "x.zarr")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert float(done.stdout) < 1.6


def test_chunks_cover_a_metric() -> None:
    for chunks in itertools.islice(CHUNKS, 1, None):
        scores = cube_of()["score"].chunk(chunks).variable
        for metric, gain in np.ndindex(3, 2):
            read = [reading.read(scores, metric, gain, rows) for rows in reading.blocks(scores)]
            np.testing.assert_array_equal(np.concatenate(read), scores[metric, gain].values)

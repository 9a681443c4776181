"""The loop: what is recorded stays, the rest is computed and recorded as it finishes, then the result is made."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import xarray as xr

from scorecube.analyses.base import Accumulator, Arrays
from scorecube.analyses.plan import Plan
from scorecube.collection import schema
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.execute.block_writer import Recorder
from scorecube.execute.estimate import INLINE_SECONDS, estimate
from scorecube.storage.blocks import BlockStore, gaps

if TYPE_CHECKING:
    from concurrent.futures import Executor, ThreadPoolExecutor

    from distributed import Client

Progress = Callable[[int, int], None]


def run(
    cube: xr.Dataset,
    plan: Plan,
    *,
    samples: xr.Dataset | None = None,
    blocks: BlockStore | None = None,
    client: Client | None = None,
    workers: int = 1,
    pool: ThreadPoolExecutor | None = None,
    block_units: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
    finishing: Callable[[], None] | None = None,
) -> xr.Dataset:
    """Compute a plan and return its result; identical for every choice of the last seven arguments.

    Parameters
    ----------
    cube
        The plan's cube.
    samples
        Given resamples instead of drawn ones.
    blocks
        Where blocks are recorded and found again; None keeps them in memory.
    client
        Cluster to run on; None runs on local threads, or inline if the work is small.
    workers
        Local threads.
    pool
        Local threads that other runs use, too (see `stream.py`); None starts its own.
    block_units
        Units (trials, or pairs of runs) per block; None lets `estimate` choose.
    memory
        Bytes that results and workers may take, see `estimate`.
    progress
        Called with (units done, units in all).
    finishing
        Called when all blocks are there and the result is about to be made, which may take more memory than they do.
    """
    analysis, started = plan.analysis, time.time()
    outputs = analysis.outputs(cube)
    planned = estimate(plan, cube, workers, block_units, memory)
    totals, done = Accumulator(outputs, planned.units, analysis.places(cube)), 0
    kept: list[tuple[int, int]] = []
    for segment in blocks.valid_segments(outputs, planned.units) if blocks is not None else ():
        totals.add(segment.start, segment.stop, segment.arrays)
        kept.append((segment.start, segment.stop))
        done += segment.stop - segment.start
    if progress is not None:
        progress(done, planned.units)
    pending = _cut(gaps(kept, planned.units), planned.block_units)
    # What is done at once is done again sooner than it is recorded and found.
    dear = block_units is not None or planned.seconds > INLINE_SECONDS
    recording = None
    if blocks is not None and pending and (dear or blocks.records()):
        recording = Recorder(blocks, outputs, pending, {"work": plan.work_digest})

    def on_block(interval: tuple[int, int], arrays: Arrays) -> None:
        nonlocal done
        totals.add(*interval, arrays)
        if recording is not None:
            recording.put(interval, arrays)
        done += interval[1] - interval[0]
        if progress is not None:
            progress(done, planned.units)

    if pending:
        with one_blas_thread(), recording or nullcontext():
            _compute(plan, cube, samples, pending, client, workers, pool, on_block)
    totals.places = None  # free for the result, as what blocks needed is by now
    if finishing is not None:
        finishing()
    result: xr.Dataset = on_pool(pool, analysis.finalize, cube, totals.arrays, plan.trials)
    result.attrs |= provenance(plan, cube, started)
    return result


def _compute(
    plan: Plan, cube: xr.Dataset, samples: xr.Dataset | None, pending: list[tuple[int, int]], client: Client | None, workers: int,
    pool: ThreadPoolExecutor | None, on_block: Any,
) -> None:  # fmt: skip
    inputs = plan.analysis.inputs(cube, plan.trials, plan.seed, samples)
    if client is not None:
        from scorecube.execute.clients import compute_on_client

        compute_on_client(client, plan.analysis, inputs, pending, on_block)
    elif pool is None and (workers == 1 or len(pending) == 1):
        for interval in pending:
            on_block(interval, plan.analysis.block(inputs, *interval))
    else:
        from scorecube.execute.graph import compute_on_threads

        compute_on_threads(plan.analysis, inputs, pending, workers, on_block, pool)


def on_pool(pool: Executor | None, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function on a worker, if there is a pool of them: what takes a core waits its turn."""
    return function(*given) if pool is None else pool.submit(function, *given).result()


def _cut(intervals: list[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    return [(low, min(low + length, stop)) for start, stop in intervals for low in range(start, stop, length)]


def for_each(
    function: Callable[[Any], Any],
    items: list[Any],
    workers: int,
    progress: Progress | None,
    client: Client | None = None,
) -> list[Any]:
    """Return the function of every item, in order; several at a time on a cluster or on local threads."""
    done = 0

    def finished(_: Any) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(items))

    if client is not None:
        from scorecube.execute.clients import map_on_client

        return map_on_client(client, function, items, finished)
    if workers == 1 or len(items) == 1:
        results = []
        for item in items:
            results.append(function(item))
            finished(item)
        return results
    from scorecube.execute.graph import map_on_threads

    return map_on_threads(function, items, workers, finished)


def provenance(plan: Plan, cube: xr.Dataset, started: float) -> dict[str, Any]:
    """Return what a result says about its making: plan, digests, versions, machine, times (UTC)."""
    return {
        "analysis": plan.analysis.name,
        "plan": json.dumps(plan.record(), sort_keys=True),
        "digest": plan.digest,
        "seed": str(plan.seed) if not plan.samples_digest else "replayed",
        "cube_digest": plan.cube_digest,
        "samples_digest": plan.samples_digest,
        "runs": len(schema.labels_of(cube, "run")),
        "versions": versions(),
        "warnings": plan.analysis.check(cube),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


@cache
def versions() -> str:
    """Return the versions of what results depend on, as JSON."""
    return json.dumps({name: version(name) for name in ("scorecube", "numpy", "numba", "xarray", "dask", "zarr")})

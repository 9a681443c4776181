"""The run loop: read recorded blocks, compute and record the others, make the result."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import xarray as xr

from scorecube import names
from scorecube.analyses.plan import PreparedPlan
from scorecube.analyses.protocol import totals_of
from scorecube.execute.blocks import Block, Combined, Compute, Interval, arrays_of, combine
from scorecube.execute.executor import (
    CALLING_THREAD,
    Executor,
    Progress,
    on_cluster,
    reduce_items,
    run_items,
    unreported,
)
from scorecube.execute.memory import refuse_too_large
from scorecube.storage import BlockStore

if TYPE_CHECKING:
    from distributed import Client

LOGGER = logging.getLogger("scorecube")
BLOCK_SECONDS = 0.5
"""Long compared with scheduling and recording a block, short compared with a run."""
INLINE_SECONDS = 0.4
"""Shorter work is one block, without a scheduler, whose import takes as long, and records."""
TIMED_SECONDS = 0.05
"""A block that takes so long is timed well enough."""
LONG_SECONDS = 0.25
"""Of a unit that takes longer, two are timed at most."""
GROWTH = 8
"""Times that a timed block is longer than the one before."""
FIXED_SHARE = 20
"""Smallest duration of a block, as a multiple of what does not depend on its length."""
MIN_BLOCKS_PER_WORKER = 4
MOST_BLOCKS = 1000
"""Each block is recorded separately, so more blocks only cost time."""


def run(
    prepared: PreparedPlan,
    executor: Executor = CALLING_THREAD,
    *,
    blocks: BlockStore | None = None,
    block_units: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Compute a plan and return its result; bit-identical for all choices of other arguments.

    prepared: Of `make_plan`.
    executor: Where blocks are computed.
    blocks: Where blocks are recorded, and read if they are recorded already; None for nowhere.
    block_units: Units (trials, or pairs of runs) per block; None to choose by timing the first.
    progress: Called with (units done, units in total), before the first block and after each.
    Raises MemoryError: The plan cannot fit in the memory of this machine.
    """
    plan, table = prepared.plan, prepared.table
    # Workers of a cluster have limits of their own.
    refuse_too_large(prepared, 0 if executor.client else executor.workers, executor.processes)
    compute = Compute(plan.analysis, table)
    combined = Combined(prepared.declared, prepared.n_units, progress or unreported)
    if blocks is not None:
        for interval, arrays in blocks.valid_blocks(prepared.declared, prepared.n_units):
            parts = {name: type(prepared.declared[name])(array) for name, array in arrays.items()}
            combined.add(Block((interval,), parts))
            combined.done.append(interval)
    combined.note()
    if combined.done and block_units is None:  # as long as those that are recorded
        block_units = max(stop - start for start, stop in combined.done)
    if block_units is None and combined.n_left:
        fixed, unit = time_first_blocks(compute, combined)
        if fixed + unit * combined.n_left <= INLINE_SECONDS:
            for interval in combined.gaps():  # short work is faster to repeat than to record
                combined.add(compute(interval))
                combined.note(interval)
        block_units = length_of_blocks(fixed, unit, combined.n_left, executor.workers)
        block_units = blocks.length(block_units) if blocks and combined.n_left else block_units
    if pending := combined.gaps(block_units):
        _compute(compute, combined, pending, executor, blocks)
    totals = totals_of(plan.analysis, table, combined.arrays)
    result = plan.analysis.result(table, totals)
    result.attrs |= provenance(prepared)
    return result


def length_of_blocks(fixed: float, unit: float, n_units: int, workers: int) -> int:
    """Return the units of a block, of so many that are left for so many workers."""
    target = max(BLOCK_SECONDS, FIXED_SHARE * fixed, unit * n_units / MOST_BLOCKS)
    shared = math.ceil(n_units / (MIN_BLOCKS_PER_WORKER * workers))
    least = min(max(fixed, TIMED_SECONDS) / unit, math.ceil(n_units / workers))
    return max(1, int(least), min(int(target / unit), shared))


def time_first_blocks(compute: Compute, combined: Combined) -> tuple[float, float]:
    """Compute the first units of the first gap; return seconds of a block, and of each unit."""
    timings: list[tuple[int, float]] = []
    (start, stop), length = combined.gaps()[0], 1
    while start < stop:
        begin, length = time.perf_counter(), min(length, stop - start)
        combined.add(compute((start, start + length)))
        timings.append((length, time.perf_counter() - begin))
        combined.note((start, start + length))
        start += length
        timed = timings[1:]  # the first block loads or compiles kernels
        if len(timed) > 1 and timed[-1][1] >= TIMED_SECONDS:
            break
        if timed:
            length = 2 if timed[-1][1] > LONG_SECONDS else length * GROWTH
    (short, less), (long, more) = [timings[0], *timings][-2:]
    if long <= short:
        return 0.0, max(more / long, 1e-9)
    unit = max((more - less) / (long - short), more / long / GROWTH, 1e-9)
    return max(less - unit * short, 0.0), unit


def _compute(
    compute: Compute,
    combined: Combined,
    pending: Sequence[Interval],
    executor: Executor,
    blocks: BlockStore | None,
) -> None:
    """Compute blocks; they are recorded where they are computed, if that process sees the study."""
    client, name = executor.client, compute.analysis.name
    recording = replace(compute, blocks=blocks)
    if client is not None and (blocks is None or _is_visible(client, blocks)):
        # Workers combine the blocks: the totals alone come here.
        def on_done(position: int) -> None:
            combined.note(pending[position])

        combined.add(reduce_items(client, recording, pending, combine, on_done, name=name))
        return

    def on_block(position: int, block: Block) -> None:
        combined.add(block)
        if client is not None and blocks is not None:
            blocks.record(*pending[position], arrays_of(block))
        combined.note(pending[position])

    there = recording if client is None else compute
    run_items(client, there, pending, on_block, workers=executor.workers, name=name)


def _is_visible(client: Client, blocks: BlockStore) -> bool:
    """Return whether a worker sees the study; if not, say that blocks come here to be recorded."""
    with on_cluster(client):
        is_visible = bool(client.submit(blocks.is_seen, blocks.sight(), pure=False).result())
    if not is_visible:
        LOGGER.warning("workers do not see the study: this process records their blocks")
    return is_visible


def provenance(prepared: PreparedPlan) -> dict[str, Any]:
    """Return the attributes of a result: plan, digest, seed, versions, warnings, time."""
    plan, attrs = prepared.plan, prepared.cube.attrs
    return {
        "analysis": plan.analysis.name,
        "plan": json.dumps(plan.record(), sort_keys=True),
        "digest": plan.digest,
        "seed": str(plan.seed),
        "versions": versions(),
        "warnings": list(prepared.warnings),
        **{key: attrs[key] for key in names.ABOUT_TOPICS if key in attrs},
        "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


@cache
def versions() -> str:
    """Return the versions of the packages that results depend on, as JSON."""
    return json.dumps(
        {name: version(name) for name in ("scorecube", "numpy", "numba", "xarray", "dask", "zarr")}
    )

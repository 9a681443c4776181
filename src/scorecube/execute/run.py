"""The run loop: read recorded blocks, compute and record the others, make the result."""

from __future__ import annotations

import json
import logging
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import xarray as xr

from scorecube import names
from scorecube.analyses.options import doubts_of
from scorecube.analyses.plan import PreparedPlan
from scorecube.analyses.protocol import totals_of
from scorecube.execute.blocks import Block, Combined, Compute, Interval, combine
from scorecube.execute.executor import CALLING_THREAD, Executor, Progress, unreported
from scorecube.execute.items import on_cluster, reduce_items, run_items
from scorecube.execute.lengths import INLINE_SECONDS, time_first_blocks
from scorecube.execute.memory import needs_of
from scorecube.storage import BlockStore

if TYPE_CHECKING:
    from distributed import Client

LOGGER = logging.getLogger("scorecube")


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

    Raises
    ------
    BadPlan
        The plan needs more memory than is allowed; the message has both numbers.
    """
    started, plan, table = time.time(), prepared.plan, prepared.table
    # Workers of a cluster have limits of their own.
    needs_of(prepared, 0 if executor.client else executor.workers).check(executor.memory)
    compute = Compute(plan.analysis, table, prepared.declared)
    combined = Combined(compute, prepared.n_units, progress or unreported)
    if blocks is not None:
        _add_recorded(combined, blocks)
    combined.note()
    if combined.done and block_units is None:  # as long as those that are recorded
        block_units = max(stop - start for start, stop in combined.done)
    if block_units is None and combined.n_left:
        timing = time_first_blocks(combined)
        if timing.seconds(combined.n_left) <= INLINE_SECONDS:
            for interval in combined.gaps():  # short work is faster to repeat than to record
                combined.take(compute(interval))
        block_units = timing.length(combined.n_left, executor.workers)
    if pending := combined.gaps(block_units):
        _compute(combined, pending, executor, blocks)
    totals = totals_of(plan.analysis, table, combined.arrays)
    result = plan.analysis.result(table, totals)
    result.attrs |= provenance(prepared, started)
    return result


def _add_recorded(combined: Combined, blocks: BlockStore) -> None:
    declared = combined.compute.declared
    for segment in blocks.valid_segments(declared, combined.n_units):
        arrays = segment.arrays
        parts = {name: declared[name]._replace(array=array) for name, array in arrays.items()}
        combined.add(Block(((segment.start, segment.stop),), parts), "recorded")
        combined.done.append((segment.start, segment.stop))


def _compute(
    combined: Combined, pending: Sequence[Interval], executor: Executor, blocks: BlockStore | None
) -> None:
    """Compute blocks; they are recorded where they are computed, if that process sees the study."""
    client, name = executor.client, combined.compute.analysis.name
    function = replace(combined.compute, blocks=blocks)
    if client is not None and (blocks is None or _is_visible(client, blocks)):
        # Workers combine the blocks: the totals alone come here.
        def on_done(position: int) -> None:
            combined.note(pending[position])

        combined.add(reduce_items(client, function, pending, combine, on_done, name=name))
        return

    def on_block(position: int, block: Block) -> None:
        combined.add(block)
        if client is not None and blocks is not None:
            blocks.record(*pending[position], block.arrays)
        combined.note(pending[position])

    there = function if client is None else combined.compute
    run_items(client, there, pending, on_block, workers=executor.workers, name=name)


def _is_visible(client: Client, blocks: BlockStore) -> bool:
    """Return whether a worker sees the study; if not, say that blocks come here to be recorded."""
    with on_cluster(client):
        is_visible = bool(client.submit(blocks.is_seen, blocks.sight(), pure=False).result())
    if not is_visible:
        LOGGER.warning("workers do not see the study: this process records their blocks")
    return is_visible


def provenance(prepared: PreparedPlan, started: float) -> dict[str, Any]:
    """Return the attributes of a result: plan, digests, versions, machine, warnings, times."""
    plan, cube = prepared.plan, prepared.cube
    doubts = doubts_of(plan.analysis)
    return {
        "analysis": plan.analysis.name,
        "plan": json.dumps(plan.record(), sort_keys=True),
        "digest": plan.digest,
        "seed": str(plan.seed),
        "cube_digest": plan.cube_digest,
        "runs": cube.sizes[names.RUN],
        "versions": versions(),
        "warnings": list(prepared.warnings),
        **({names.DOUBTS: doubts} if doubts else {}),
        **{key: cube.attrs[key] for key in names.ABOUT_TOPICS if key in cube.attrs},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


@cache
def versions() -> str:
    """Return the versions of the packages that results depend on, as JSON."""
    return json.dumps(
        {name: version(name) for name in ("scorecube", "numpy", "numba", "xarray", "dask", "zarr")}
    )

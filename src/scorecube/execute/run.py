"""The run loop: read recorded blocks, compute and record the others, finalise."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.analyses.base import Accumulator, Arrays, Output
from scorecube.analyses.plan import PreparedPlan
from scorecube.errors import ClusterFailed
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.execute.block_writer import recording
from scorecube.execute.dispatch import call_each
from scorecube.execute.estimate import INLINE_SECONDS, Estimate, estimate
from scorecube.execute.executor import CALLING_THREAD, Blocks, Executor, Interval, Progress
from scorecube.execute.kernel_state import rehearse
from scorecube.execute.memory import release_memory
from scorecube.storage import BlockStore, gaps

RELEASE_BYTES = 2**24
"""Smallest outputs whose blocks leave enough freed memory to return it to the system."""


def run(
    prepared: PreparedPlan,
    executor: Executor = CALLING_THREAD,
    *,
    blocks: BlockStore | None = None,
    block_units: int | None = None,
    progress: Progress | None = None,
    before_finalize: Callable[[], None] | None = None,
) -> xr.Dataset:
    """Compute a plan and return its result; bit-identical for every choice of the other arguments.

    prepared: Of `make_plan`.
    executor: Where blocks are computed.
    blocks: Where blocks are recorded, and read if they are recorded already; None keeps them in memory.
    block_units: Units (trials, or pairs of runs) per block; None lets `estimate` choose.
    progress: Called with (units done, units in total): before the first block, when kernels are compiled, and after
        each. Making the result counts as `Estimate.result_units`.
    before_finalize: Called after the last block and before the result is made, which may need more memory than the
        blocks.
    """
    started = time.time()
    planned = estimate(prepared, executor.workers, block_units, executor.memory, executor.program)

    def report(done: int) -> None:
        if progress is not None:
            progress(done, planned.units + planned.result_units)

    arrays = _compute_blocks(prepared, executor, blocks, planned, block_units is not None, report)
    if sum(array.nbytes for array in arrays.values()) > RELEASE_BYTES:
        release_memory()  # of the inputs and blocks, before the result needs more
    if before_finalize is not None:
        before_finalize()
    plan = prepared.plan
    reporting = replace(
        prepared.prepared,
        report=lambda share: report(planned.units + int(planned.result_units * share)),
    )
    result: xr.Dataset = executor.call(plan.analysis.finalize, reporting, arrays, plan.trials)
    if planned.result_units:
        report(planned.units + planned.result_units)
    result.attrs |= provenance(prepared, started)
    return result


def _compute_blocks(
    prepared: PreparedPlan,
    executor: Executor,
    blocks: BlockStore | None,
    planned: Estimate,
    always_record: bool,
    report: Callable[[int], None],
) -> Arrays:
    """Return the accumulated outputs of all blocks: the recorded ones are read, the others computed and recorded.

    What only the accumulation needs is free when it returns, before the result is made.
    """
    analysis = prepared.plan.analysis
    outputs: tuple[Output, ...] = analysis.outputs(prepared.prepared)
    totals = Accumulator(outputs, planned.units, analysis.output_positions(prepared.prepared))
    recorded: list[Interval] = []
    for segment in blocks.valid_segments(outputs, planned.units) if blocks is not None else ():
        recorded.append((segment.start, segment.stop))
        _add(totals, prepared, recorded[-1], segment.arrays, "recorded")
    done = sum(stop - start for start, stop in recorded)
    pending = gaps(recorded, planned.units, planned.block_units)
    if not pending:
        return totals.arrays
    # Short work is faster to repeat than to record and read.
    worth_recording = always_record or planned.seconds > INLINE_SECONDS
    recorder: AbstractContextManager[Any] = nullcontext()
    if blocks is not None and (worth_recording or blocks.records()):
        recorder = recording(blocks, outputs, pending, {"work": prepared.plan.work_digest})
    with one_blas_thread(), recorder as record:

        def on_block(position: int, arrays: Arrays) -> None:
            nonlocal done
            start, stop = pending[position]
            _add(totals, prepared, (start, stop), arrays, "computed")
            if record is not None:
                record(position, arrays)
            done += stop - start
            report(done)

        plan = prepared.plan
        inputs = analysis.inputs(prepared.prepared, plan.trials, plan.seed)
        if executor.client is None:
            executor.call(rehearse, analysis, inputs, pending[0][0])
        report(done)
        call_each(executor, Blocks(analysis, inputs), pending, on_block)
    return totals.arrays


def _add(
    totals: Accumulator, prepared: PreparedPlan, interval: Interval, arrays: Arrays, made: str
) -> None:
    """Add a block; ScorecubeError for what no computation returns: another process sent it, or a record was changed."""
    plan, n_units, wrong = prepared.plan, interval[1] - interval[0], ""
    try:
        totals.add(*interval, arrays)
        impossible = [
            each.name for each in totals.outputs if not each.is_possible(arrays[each.name], n_units)
        ]
        if impossible:
            wrong = f"values of {', '.join(impossible)} that cannot be"
        elif not plan.analysis.sums_hold(prepared.prepared, arrays, n_units, plan.trials):
            wrong = "counts that do not add up"
    except (TypeError, KeyError) as error:
        wrong = f"other arrays than it should ({error})"
    if wrong:
        raise ClusterFailed(
            f"{plan.analysis.name}: the block of the {plan.analysis.unit} {interval[0]} to {interval[1]} that was {made} has {wrong}; "
            "nothing of it is stored. Find the machine that computes wrongly, and compute in another study to use no recorded block"
        )


def provenance(prepared: PreparedPlan, started: float) -> dict[str, Any]:
    """Return the provenance attributes of a result: plan, digests, versions, machine, warnings, times (UTC)."""
    plan, cube = prepared.plan, prepared.prepared.cube
    doubts = plan.analysis.doubts(cube)
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

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
from scorecube.analyses.plan import PreparedPlan
from scorecube.analyses.protocol import totals_of
from scorecube.execute.blocks import Block, Combined, Compute, Interval, combine
from scorecube.execute.executor import CALLING_THREAD, Executor, Progress, unreported
from scorecube.execute.items import reduce_items, run_items, translate_errors
from scorecube.execute.lengths import INLINE_SECONDS, time_first_blocks
from scorecube.execute.memory import needs_of
from scorecube.storage import BlockStore, gaps

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
    started = time.time()
    # Workers of a cluster have limits of their own.
    needs_of(prepared, 0 if executor.client else executor.workers).check(executor.memory)
    work = _Work(prepared, executor, progress or unreported)
    if blocks is not None:
        work.read(blocks)
    work.compute(blocks, block_units)
    plan = prepared.plan
    totals = totals_of(plan.analysis, prepared.table, work.combined.arrays)
    result = plan.analysis.result(prepared.table, totals)
    result.attrs |= provenance(prepared, started)
    return result


class _Work:
    """The blocks of a plan, of which some are done.

    prepared, executor: As of `run`.
    progress: Takes the units that are done, and all.
    """

    def __init__(self, prepared: PreparedPlan, executor: Executor, progress: Progress) -> None:
        self.prepared, self.executor, self.progress = prepared, executor, progress
        self.function = Compute(prepared.plan.analysis, prepared.table, prepared.declared)
        self.combined = Combined(self.function, prepared.n_units)
        self.done: list[Interval] = []

    @property
    def n_done(self) -> int:
        """Number of units that are done."""
        return sum(stop - start for start, stop in self.done)

    def read(self, blocks: BlockStore) -> None:
        """Add recorded blocks."""
        for segment in blocks.valid_segments(self.prepared.declared, self.prepared.n_units):
            interval = segment.start, segment.stop
            self.combined.add_recorded(interval, segment.arrays)
            self.done.append(interval)

    def compute(self, blocks: BlockStore | None, block_units: int | None) -> None:
        """Compute the blocks that are not done, and record all but short ones."""
        self.report()
        if self.done and block_units is None:  # as long as those that are recorded
            block_units = max(stop - start for start, stop in self.done)
        pending = self.gaps(block_units)
        if block_units is None and pending:
            timing = time_first_blocks(pending[0], self.function, self.take)
            n_left = self.prepared.n_units - self.n_done
            if timing.seconds(n_left) <= INLINE_SECONDS:
                for interval in self.gaps():  # short work is faster to repeat than to record
                    self.take(self.function(interval))
            pending = self.gaps(timing.length(n_left, self.executor.workers))
        if pending:
            self.run(blocks, pending)

    def gaps(self, longest: int | None = None) -> list[Interval]:
        """Return intervals of at most so many units that cover what is not done."""
        n_units = self.prepared.n_units
        return gaps(sorted(self.done), n_units, longest or max(n_units, 1))

    def run(self, blocks: BlockStore | None, pending: Sequence[Interval]) -> None:
        """Compute blocks; they are recorded where they are computed."""
        name, client = self.prepared.plan.analysis.name, self.executor.client
        if client is None or (blocks is not None and not _is_visible(client, blocks)):
            here = blocks if client is not None else None
            function = replace(self.function, blocks=None if here else blocks)

            def on_block(position: int, block: Block) -> None:
                self.combined.add(block)
                if here is not None:
                    here.record(*pending[position], block.arrays)
                self.note(*block.intervals)

            count = self.executor.workers
            run_items(client, function, pending, on_block, workers=count, name=name)
            return

        def on_done(position: int) -> None:
            self.note(pending[position])

        function = replace(self.function, blocks=blocks)
        # Workers combine the blocks: the totals alone come here.
        self.combined.add(reduce_items(client, function, pending, combine, on_done, name=name))

    def take(self, block: Block) -> None:
        """Add a computed block."""
        self.combined.add(block)
        self.note(*block.intervals)

    def note(self, *intervals: Interval) -> None:
        """Note that intervals are done."""
        self.done += intervals
        self.report()

    def report(self) -> None:
        """Report progress."""
        self.progress(self.n_done, self.prepared.n_units)


def _is_visible(client: Client, blocks: BlockStore) -> bool:
    """Return whether a worker sees the study; if not, say that blocks come here to be recorded."""
    with translate_errors(client):
        visible = bool(client.submit(blocks.is_seen, blocks.sight(), pure=False).result())
    if not visible:
        LOGGER.warning("workers do not see the study: this process records their blocks")
    return visible


def provenance(prepared: PreparedPlan, started: float) -> dict[str, Any]:
    """Return the attributes of a result: plan, digests, versions, machine, warnings, times."""
    plan, cube = prepared.plan, prepared.cube
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

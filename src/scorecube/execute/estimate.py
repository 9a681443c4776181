"""Estimates of the time and memory of a plan, and the choice of its blocks."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np

from scorecube import names
from scorecube.analyses.base import Combine, Cost, Output
from scorecube.analyses.plan import PreparedPlan
from scorecube.collection.selection import n_cells
from scorecube.errors import BadPlan, option
from scorecube.execute.memory import default_memory

BLOCK_SECONDS = 0.5
"""Target duration of a block: long compared with scheduling and recording it, short compared with a run."""
MIN_BLOCKS_PER_WORKER = 4
RECORD_SECONDS = 0.017
"""Time of the driver per block, sequential; measured by `tests/benchmarks/scaling.py`."""
INLINE_SECONDS = 0.05
"""Shorter work runs as one block, without a scheduler."""
FIXED_SHARE = 20
"""Smallest duration of a block, as a multiple of its fixed cost."""
MENTIONED_BYTES = 2**26
"""Smallest results whose size is reported."""
MOST_BLOCKS = 1000
"""Each block is recorded separately, so more blocks only cost time."""


@dataclass(frozen=True)
class Estimate:
    """Expected work of a plan, approximately."""

    trials: int
    comparisons: int
    seconds: float
    units: int
    unit: str
    blocks: int
    block_units: int
    bytes_per_worker: float
    result_bytes: float
    accumulated_bytes: float
    """Of the concatenated outputs, which grow while blocks are computed."""

    def computing_bytes(self, workers: int) -> float:
        """Return the memory in bytes that is needed until the result is made."""
        return self.accumulated_bytes + workers * self.bytes_per_worker

    def text(self, workers: int) -> str:
        """Return one line for the terminal."""
        trials = f"{self.trials:,} trials x " if self.trials > 1 else ""
        blocks = f"{self.blocks} block{'s' if self.blocks > 1 else ''}"
        results = (
            f" and {self.result_bytes / 2**20:,.0f} MiB for the results"
            if self.result_bytes > MENTIONED_BYTES
            else ""
        )
        return (
            f"{trials}{self.comparisons:,} comparisons in {blocks}; "
            f"about {max(self.seconds / workers, 0.001):.2g} s on {workers} workers, {self.bytes_per_worker / 2**20:,.0f} MiB each{results}"
        )


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def max_block_units(cost: Cost, workers: int, memory: int) -> int:
    """Return the largest number of units of a block that fits into memory."""
    each = (memory - cost.result_bytes) / workers - cost.fixed_bytes
    if each < cost.bytes:
        needed = cost.result_bytes + workers * (cost.fixed_bytes + cost.bytes)
        raise BadPlan(
            f"this needs about {needed / 1e9:.2g} GB ({cost.result_bytes / 1e9:.2g} for the results, the rest for {workers} workers), "
            f"and {memory / 1e9:.2g} GB are allowed; use fewer {option('metrics')}, {option('trials')} or {option('workers')}, or raise {option('memory')}"
        )
    return max(1, int(each / max(cost.bytes, 1.0)))


def estimate(
    prepared: PreparedPlan, workers: int, block_units: int | None = None, memory: int | None = None
) -> Estimate:
    """Estimate blocks, memory and time of a plan.

    Parameters
    ----------
    prepared
        Of `make_plan`.
    workers
        Blocks that are computed at the same time.
    block_units
        Units (trials, or pairs of runs) per block; None to choose. The results do not depend on it.
    memory
        Bytes that results and all workers together may use; `default_memory` for None.

    Raises
    ------
    BadPlan
        The plan needs more memory than is allowed; the message has both numbers.
    """
    plan, analysis, cube = prepared.plan, prepared.plan.analysis, prepared.prepared.cube
    if block_units is not None and block_units < 1:
        raise BadPlan(
            f"a block needs at least 1 of the {analysis.unit}, not {block_units}",
            option="block_units",
        )
    cost, units = analysis.cost(prepared.prepared, plan.trials), prepared.n_units
    seconds = cost.seconds * units
    if block_units is None:
        length = max(BLOCK_SECONDS, FIXED_SHARE * cost.fixed_seconds, seconds / MOST_BLOCKS)
        by_time = max(1, int(length / cost.seconds))
        # With many workers a run waits for its last block and for the driver, which takes a fixed time per block; this duration minimises the sum.
        shortest = math.sqrt(seconds * RECORD_SECONDS)
        by_workers = max(
            math.ceil(units / (MIN_BLOCKS_PER_WORKER * workers)), int(shortest / cost.seconds)
        )
        block_units = units if seconds <= INLINE_SECONDS else max(1, min(by_time, by_workers))
        block_units = min(
            block_units, cost.max_units, max_block_units(cost, workers, memory or default_memory())
        )
    n_runs = cube.sizes[names.RUN]
    return Estimate(
        trials=plan.trials,
        comparisons=n_cells(cube) * n_runs * (n_runs - 1) // 2,
        seconds=seconds,
        units=units,
        unit=analysis.unit,
        blocks=math.ceil(units / block_units),
        block_units=block_units,
        bytes_per_worker=cost.fixed_bytes + cost.bytes * block_units,
        result_bytes=cost.result_bytes,
        accumulated_bytes=float(
            sum(_accumulated_bytes(output, units) for output in analysis.outputs(prepared.prepared))
        ),
    )


def _accumulated_bytes(output: Output, units: int) -> int:
    if output.combine is not Combine.CONCAT:
        return 0
    return math.prod(output.shape_of(units)) * np.dtype(output.dtype).itemsize

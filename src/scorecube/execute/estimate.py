"""Estimates of the time and memory of a plan, and the choice of its blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scorecube.analyses.base import Combine, Cost
from scorecube.analyses.plan import PreparedPlan
from scorecube.collection.rows import is_loaded
from scorecube.collection.selection import n_cells
from scorecube.errors import BadPlan, counted, option
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.execute.block_writer import MAX_WAITING
from scorecube.execute.memory import default_memory, program_bytes, release_memory
from scorecube.names import SCORE

BLOCK_SECONDS = 0.5
"""Target duration of a block: long compared with scheduling and recording it, short compared with a run."""
MIN_BLOCKS_PER_WORKER = 4
RECORD_SECONDS = 0.017
"""Time of the driver per block, sequential; measured by `tests/benchmarks/scaling.py`."""
INLINE_SECONDS = 0.4
"""Shorter work runs as one block, without a scheduler and without records: importing dask and zarr takes as long."""
FIXED_SHARE = 20
"""Smallest duration of a block, as a multiple of its fixed cost."""
MENTIONED_BYTES = 2**26
"""Smallest results whose size is reported."""
STORING_BYTES = 2**26
"""Largest memory for the chunks of a result that are compressed at a time, or for a small result before it is written."""
BLOCKS_IN_FLIGHT = MAX_WAITING + 2
"""Blocks that wait to be written, one that is written, and its compressed form."""
MOST_BLOCKS = 1000
"""Each block is recorded separately, so more blocks only cost time."""


@dataclass(frozen=True)
class Estimate:
    """Expected work of a plan, approximately: seconds of all blocks, of what precedes them, and of making the result."""

    trials: int
    comparisons: int
    seconds: float
    units: int
    unit: str
    blocks: int
    block_units: int
    memory: Memory
    input_seconds: float = 0.0
    result_seconds: float = 0.0

    @property
    def result_units(self) -> int:
        """Units that take as long as making the result; 0 if that is short."""
        short = self.result_seconds < BLOCK_SECONDS
        return 0 if short else round(self.units * self.result_seconds / self.seconds)

    def duration(self, workers: int) -> float:
        """Return the seconds until the result is made: only blocks are computed side by side."""
        rounds = math.ceil(self.blocks / workers)
        share = min(rounds * self.block_units / self.units, 1.0) if self.units else 0.0
        return self.seconds * share + self.input_seconds + self.result_seconds

    @property
    def work(self) -> float:
        """Return the seconds of all work on one core."""
        return self.duration(1)

    def text(self, workers: int) -> str:
        """Return one line for the terminal."""
        trials = f"{self.trials:,} trials x " if self.trials > 1 else ""
        blocks = f"{self.blocks} block{'s' if self.blocks > 1 else ''}"
        memory = self.memory
        work = f"{self.comparisons:,} comparisons"
        if self.unit == "cells":
            work = f"{counted(self.units, 'metric')} (by gain setting)"
        results = (
            f" and {memory.result / 2**20:,.0f} MiB for the results"
            if memory.result > MENTIONED_BYTES
            else ""
        )
        return (
            f"{trials}{work} in {blocks}; "
            f"about {max(self.duration(workers), 0.001):.2g} s on {workers} workers, "
            f"{memory.block(self.block_units) / 2**20:,.0f} MiB each{results}, {memory.peak(self.block_units) / 2**20:,.0f} MiB in all"
        )


@dataclass(frozen=True)
class Memory:
    """Expected memory of a plan in bytes.

    program: The process without work, see `program_bytes`.
    accumulated: Concatenated outputs, which grow while blocks are computed, and their positions.
    cost: Memory of inputs, blocks and the result.
    output_unit, output_fixed: Outputs of a block: for each unit, and in addition.
    workers: Blocks that are computed at a time.
    """

    program: float
    accumulated: float
    cost: Cost
    output_unit: float
    output_fixed: float
    workers: int

    @property
    def result(self) -> float:
        """Memory of the combined outputs and the result."""
        return self.cost.result_bytes

    def block(self, units: int) -> float:
        """Return the memory of one worker."""
        return self.cost.fixed_bytes + self.cost.bytes * units

    def computing(self, units: int) -> float:
        """Return the memory until the result is made, beside that of the program."""
        return self._before_blocks + self._per_unit * units

    def working(self, units: int) -> float:
        """Return the memory of the work, beside that of the program."""
        return max(self.computing(units), self.storing)

    @property
    def storing(self) -> float:
        """Return the memory while the result is stored, beside that of the program."""
        return self.result + min(self.result / 2, STORING_BYTES)

    def peak(self, units: int) -> float:
        """Return the largest resident size of the process."""
        return self.program + self.working(units)

    def max_units(self, allowed: float) -> int:
        """Return the largest number of units of a block within a limit."""
        return int((allowed - self.program - self._before_blocks) / max(self._per_unit, 1.0))

    @property
    def _before_blocks(self) -> float:
        return (
            self.cost.input_bytes
            + self.accumulated
            + self.workers * self.cost.fixed_bytes
            + BLOCKS_IN_FLIGHT * self.output_fixed
        )

    @property
    def _per_unit(self) -> float:
        return self.workers * self.cost.bytes + BLOCKS_IN_FLIGHT * self.output_unit


def check_memory(memory: Memory, units: int, allowed: float) -> None:
    """Raise BadPlan if blocks of a length need more memory than is allowed."""
    needed = memory.peak(units)
    if needed <= allowed:
        return
    if memory.program > allowed:
        raise BadPlan(
            f"the program and the loaded scores need about {_size(memory.program)} without any work, and {_size(allowed)} are allowed; "
            f"raise {option('memory')} to more than {_size(needed)}",
            option="memory",
        )
    blocks = f"computing with {counted(memory.workers, 'worker')} {_size(memory.computing(units))}"
    parts = f"the program and the loaded scores {_size(memory.program)}, {blocks}, the results {_size(memory.storing)}"
    raise BadPlan(
        f"this needs about {_size(needed)} ({parts}), and {_size(allowed)} are allowed; "
        f"use fewer {option('metrics')}, {option('trials')} or {option('workers')}, or raise {option('memory')}",
        option="memory",
    )


def _size(n_bytes: float) -> str:
    """Return a size in decimal units, as limits are stated; a need is not rounded down to its limit."""
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e10 else f"{n_bytes / 1e9:,.1f} GB"


def estimate(
    prepared: PreparedPlan,
    workers: int,
    block_units: int | None = None,
    memory: int | None = None,
    program: float | None = None,
) -> Estimate:
    """Estimate blocks, memory and time of a plan.

    prepared: Of `make_plan`.
    workers: Blocks that are computed at the same time.
    block_units: Units (trials, or pairs of runs) per block; None to choose. The results do not depend on it.
    memory: Limit of the resident size in bytes; `default_memory` for None.
    program: Part of it that is in use before the work, in bytes; `program_bytes` for None.
    Raises BadPlan: The plan needs more memory than is allowed; the message has both numbers.
    """
    plan, analysis, cube = prepared.plan, prepared.plan.analysis, prepared.prepared.cube
    if block_units is not None and block_units < 1:
        raise BadPlan(
            f"a block needs at least 1 of the {analysis.unit}, not {block_units}",
            option="block_units",
        )
    units = prepared.n_units
    with one_blas_thread():  # as blocks are computed
        cost = analysis.cost(prepared.prepared, plan.trials)
    allowed = memory or default_memory()
    if program is None:
        program = program_bytes(type(analysis))
        if program > allowed / 2:  # freed memory counts where the limit may bind
            release_memory()
            program = program_bytes(type(analysis))
    if not is_loaded(cube):
        program += cube[SCORE].nbytes
    needs = _memory(prepared, cost, workers, program)
    check_memory(needs, block_units or 1, allowed)
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
        # What each block repeats takes no longer than its units, as long as all workers have one.
        by_fixed = min(cost.fixed_seconds / cost.seconds, math.ceil(units / workers))
        block_units = max(block_units, int(by_fixed))
        most = min(cost.max_units, needs.max_units(allowed))
        whole = -(-block_units // cost.together) * cost.together
        block_units = max(1, min(whole if whole <= most else block_units, most))
    blocks = math.ceil(units / block_units)
    return Estimate(
        trials=plan.trials,
        comparisons=n_cells(cube) * analysis.n_compared(cube),
        seconds=seconds + cost.fixed_seconds * blocks,
        units=units,
        unit=analysis.unit,
        blocks=blocks,
        block_units=block_units,
        memory=needs,
        input_seconds=cost.input_seconds,
        result_seconds=cost.result_seconds,
    )


def _memory(prepared: PreparedPlan, cost: Cost, workers: int, program: float) -> Memory:
    outputs = prepared.plan.analysis.outputs(prepared.prepared)
    concatenated = sum(output.nbytes(1) for output in outputs if output.combine is Combine.CONCAT)
    added = sum(output.nbytes(1) for output in outputs if output.combine is not Combine.CONCAT)
    return Memory(
        program=program,
        accumulated=float(concatenated * prepared.n_units + added),
        cost=cost,
        output_unit=float(concatenated),
        output_fixed=float(added),
        workers=workers,
    )

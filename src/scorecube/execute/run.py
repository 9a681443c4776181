"""The run loop: read recorded blocks, compute and record the others, make the result.

Blocks are combined exactly, in any order and grouping. What cannot fit in memory is refused.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.plan import Plan
from scorecube.analyses.protocol import (
    Analysis,
    Arrays,
    Concat,
    Max,
    Part,
    Sum,
    block_parts,
    totals_of,
)
from scorecube.analyses.table import bytes_of
from scorecube.collection.schema import MAX_LOADED_BYTES
from scorecube.errors import counted, in_python
from scorecube.execute.executor import (
    CALLING_THREAD,
    Executor,
    Progress,
    TooLong,
    blas_controller,
    on_cluster,
    own_versions,
    reduce_items,
    run_items,
)
from scorecube.storage import BlockStore, gaps
from scorecube.storage.archives import Interval
from scorecube.storage.bounds import memory_limits

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
MOST_FOLDED = 2**28
"""Bytes of a file that takes the place of recorded blocks."""


class Block(NamedTuple):
    """The combined parts of intervals of units; `Concat` has their units in this order."""

    intervals: tuple[Interval, ...]
    parts: Mapping[str, Part]


@dataclass(frozen=True, eq=False)
class Compute:
    """The function that computes, and may record, blocks of a plan on any thread or worker."""

    analysis: Analysis
    table: Any
    blocks: BlockStore | None = None

    def __call__(self, interval: Interval) -> Block:
        """Return the block of an interval of units."""
        block = Block((interval,), block_parts(self.analysis, self.table, *interval))
        if self.blocks is not None:
            self.blocks.record(*interval, arrays_of(block))
        return block


class Combined:
    """The combined parts of the blocks of a plan, and the intervals of units that are done.

    declared: The parts of an empty block.
    """

    def __init__(
        self, declared: Mapping[str, Part], n_units: int, progress: Progress | None = None
    ) -> None:
        self.n_units = n_units
        self.progress = progress
        self.done: list[Interval] = []
        self.arrays: Arrays = {}
        self.of_units = {name for name, of in declared.items() if isinstance(of, Concat)}
        for name, part in declared.items():
            shape = part.array.shape
            if isinstance(part, Concat):
                shape = (*shape[:-1], n_units)
            elif part.array.dtype.kind not in "iu":
                raise TypeError(f"{name} is {part.array.dtype}: only integers are summed exactly")
            self.arrays[name] = np.zeros(shape, part.array.dtype)

    @property
    def n_left(self) -> int:
        """Number of units that are not done."""
        return self.n_units - sum(stop - start for start, stop in self.done)

    def gaps(self, longest: int | None = None) -> list[Interval]:
        """Return intervals of at most so many units that cover what is not done."""
        return gaps(sorted(self.done), self.n_units, longest or max(self.n_units, 1))

    def note(self, *intervals: Interval) -> None:
        """Note that intervals are done."""
        self.done += intervals
        if self.progress is not None:
            self.progress(self.n_units - self.n_left, self.n_units)

    def add(self, block: Block) -> None:
        """Add the parts of a block."""
        for name, part in block.parts.items():
            total = self.arrays[name]
            if isinstance(part, Concat):
                place = np.concatenate([np.arange(*interval) for interval in block.intervals])
                total[..., place] = part.array
            else:
                _ufunc_of(part)(total, part.array, out=total)


def _ufunc_of(part: Sum | Max) -> np.ufunc:
    """Return what combines the parts of blocks."""
    return np.add if isinstance(part, Sum) else np.maximum


def arrays_of(block: Block) -> Arrays:
    """Return the arrays of the parts of a block."""
    return {name: part.array for name, part in block.parts.items()}


def combine(blocks: Sequence[Block]) -> Block:
    """Return several blocks as one."""
    joined: dict[str, Part] = {}
    for name, part in blocks[0].parts.items():
        arrays = [block.parts[name].array for block in blocks]
        if isinstance(part, Concat):
            array = np.concatenate(arrays, axis=-1)
        else:
            array = np.asarray(reduce(_ufunc_of(part), arrays))
        joined[name] = type(part)(array)
    intervals = chain.from_iterable(block.intervals for block in blocks)
    return Block(tuple(intervals), joined)


def run(
    plan: Plan,
    executor: Executor = CALLING_THREAD,
    *,
    blocks: BlockStore | None = None,
    block_units: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Compute a plan and return its result; bit-identical for all choices of other arguments.

    blocks: Where blocks are recorded, and read if they are recorded already; None for nowhere.
    block_units: Units (trials, or pairs of runs) per block; None to choose by timing the first.
    progress: Called with (units done, units in total), before the first block and after each.
    """
    compute = Compute(plan.analysis, plan.table)
    check_memory(plan, executor)
    combined = Combined(plan.declared, plan.n_units, progress)
    check_memory(plan, executor, bytes_of(list(combined.arrays.values())))
    if blocks is not None:
        for interval, arrays in blocks.valid_blocks(plan.declared, plan.n_units):
            parts = {name: type(plan.declared[name])(array) for name, array in arrays.items()}
            combined.add(Block((interval,), parts))
            combined.done.append(interval)
    combined.note()
    recording = blocks
    # Blocks that run in parallel already use all cores.
    with blas_controller().limit(limits=1, user_api="blas"):
        if block_units is None and combined.n_left:
            fixed, unit = time_first_blocks(compute, combined)
            if fixed + unit * combined.n_left > executor.patience:
                raise TooLong
            block_units = length_of_blocks(fixed, unit, combined.n_left, executor.workers)
            if fixed + unit * combined.n_left <= INLINE_SECONDS:
                # Short work is faster to repeat than to record.
                executor = CALLING_THREAD
                recording = None
                block_units = None
        if pending := combined.gaps(block_units):
            _compute(compute, combined, pending, executor, recording)
    if blocks is not None:
        _fold(blocks, combined)
    totals = totals_of(plan.analysis, plan.table, combined.arrays)
    result = plan.analysis.result(plan.table, totals)
    # What it is comes first, as it is printed.
    result.attrs = {"analysis": plan.analysis.name} | result.attrs | provenance(plan)
    return result


def check_memory(plan: Plan, executor: Executor, of_parts: int = 0) -> None:
    """Refuse a plan that needs more memory than there is, with both figures (MemoryError).

    of_parts: Bytes of the parts of a block, which every thread has beside the sum of all.
    """
    for room in _rooms(executor):
        needed = bytes_needed(plan, room.threads, of_parts)
        if needed > room.there:
            raise MemoryError(
                f"{plan.analysis.name} needs about {needed / 1e9:,.3g} GB in {room.name} with "
                f"{counted(room.threads, 'thread')}, where {room.there / 1e9:,.3g} GB are "
                "available; select fewer runs or metrics"
            )


def bytes_needed(plan: Plan, threads: int, of_parts: int = 0) -> int:
    """Return the bytes that a process needs for a plan, see `check_memory`."""
    of_analysis = plan.analysis.bytes_needed(plan.table, threads)
    return bytes_read(plan.cube) + of_analysis + (1 + threads) * of_parts


def bytes_read(cube: xr.Dataset) -> int:
    """Return the bytes of a cube in memory, or those of a lazy one that are there at a time.

    These are a metric, and half as much for a chunk and what is worked on.
    """
    scores = cube.variables[names.SCORE]
    of_scores = scores.nbytes
    if not scores._in_memory:
        of_scores = 3 * scores.nbytes // (2 * len(scores))
    return cube.nbytes - scores.nbytes + of_scores


def check_reading(cube: xr.Dataset, executor: Executor) -> None:
    """Refuse a large cube that cannot be read in this memory, before it is (MemoryError).

    What cannot be made of a small one is refused where it is analysed.
    """
    if cube.nbytes <= MAX_LOADED_BYTES:
        return
    there = min(*memory_limits(), executor.memory)
    if (needed := bytes_read(cube)) > there:
        raise MemoryError(
            f"a metric of the scores takes about {needed / 1e9:,.3g} GB to read, where "
            f"{there / 1e9:,.3g} GB are available; select fewer runs or topics"
        )


class _Room(NamedTuple):
    """A process that computes blocks, how many at a time, and the memory that it may use."""

    name: str
    threads: int
    there: float


def _rooms(executor: Executor) -> Iterator[_Room]:
    """Yield this process, and the workers of a client that have a limit."""
    client = executor.client
    threads = executor.workers if client is None else 1
    yield _Room("this process", threads, min(*memory_limits(), executor.memory))
    if client is not None:
        with on_cluster(client):
            workers = client.scheduler_info(n_workers=-1)["workers"]
        for address, facts in workers.items():
            if facts["memory_limit"]:
                yield _Room(f"the worker at {address}", facts["nthreads"], facts["memory_limit"])


def length_of_blocks(fixed: float, unit: float, n_units: int, workers: int) -> int:
    """Return the units of a block, a power of two, of so many that are left for so many workers.

    fixed, unit: Seconds of a block, and of each unit. Other times of the same plan, as of another
        machine, give neighbouring powers, and blocks of one length are cut at edges of the other.
    """
    n_units = max(n_units, 1)
    timed = max(BLOCK_SECONDS, FIXED_SHARE * fixed) / unit
    least = min(max(fixed, TIMED_SECONDS) / unit, n_units / workers)
    shared = n_units / (MIN_BLOCKS_PER_WORKER * workers)
    most_blocks = max(MOST_BLOCKS, MIN_BLOCKS_PER_WORKER * workers)
    power = math.floor(math.log2(max(least, shared)))
    if timed <= shared:
        power = round(math.log2(timed))
    return 1 << max(0, power, math.ceil(math.log2(n_units / most_blocks)))


def _fold(blocks: BlockStore, combined: Combined) -> None:
    """Replace the recorded blocks of all units by one, from which longer plans go on.

    Longer arrays make several; those that cannot be cut, as they hold sums, too, stay as they are.
    """
    of_units = {name: combined.arrays[name] for name in combined.of_units}
    n_pieces = max(1, math.ceil(bytes_of([*of_units.values()]) / MOST_FOLDED))
    n_recorded = sum(stop <= combined.n_units for _, stop in blocks.intervals())
    is_cut = n_pieces > 1
    if n_recorded <= n_pieces or (is_cut and len(of_units) < len(combined.arrays)):
        return
    length = math.ceil(combined.n_units / n_pieces)
    for start, stop in gaps([], combined.n_units, length):
        pieces = {name: array[..., start:stop] for name, array in of_units.items()}
        blocks.record(start, stop, {**combined.arrays, **pieces})
    blocks.forget_inside(combined.n_units, length)


def time_first_blocks(compute: Compute, combined: Combined) -> tuple[float, float]:
    """Compute the first units of the first gap; return seconds of a block, and of each unit.

    Seconds of this thread alone, which do not grow where others use the machine.
    """
    timings: list[tuple[int, float]] = []
    length = 1
    start, stop = combined.gaps()[0]
    while start < stop:
        begin = time.thread_time()
        length = min(length, stop - start)
        combined.add(compute((start, start + length)))
        timings.append((length, time.thread_time() - begin))
        combined.note((start, start + length))
        start += length
        if timings[-1][1] / length * (stop - start) <= INLINE_SECONDS:
            break  # all that is left is one short block
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
    client = executor.client
    collection = blocks.collection if blocks is not None else ""
    name = f"{compute.analysis.name} {collection}".strip()
    label = "{0[0]}-{0[1]}".format
    is_visible = True
    if client is not None and blocks is not None:
        with on_cluster(client), blocks.place.marked() as marker:
            is_visible = client.submit(blocks.place.read, marker).result() is not None
        if not is_visible:
            LOGGER.warning("workers do not see the study: this process records their blocks")
    there = replace(compute, blocks=blocks if is_visible else None)
    if client is not None and is_visible:
        # Workers combine the blocks: the totals alone come here.
        named: dict[str, Any] = {"name": name, "label": label}
        combined.add(reduce_items(client, there, pending, combine, combined.note, **named))
        return

    def on_block(position: int, block: Block) -> None:
        combined.add(block)
        if blocks is not None and not is_visible:
            blocks.record(*pending[position], arrays_of(block))
        combined.note(pending[position])

    workers = executor.workers
    run_items(client, there, pending, on_block, workers=workers, name=name, label=label)


def provenance(plan: Plan) -> dict[str, Any]:
    """Return the attributes of a result: plan, digest, seed, versions, warnings, time."""
    attrs = plan.cube.attrs
    return {
        "analysis": plan.analysis.name,
        "plan": json.dumps(plan.record(), sort_keys=True),
        "digest": plan.digest,
        "seed": str(plan.seed),
        "versions": json.dumps(own_versions()),
        "warnings": [in_python(line) for line in plan.warnings],
        **{key: attrs[key] for key in (names.LEFT_OUT, names.WORDS) if key in attrs},
        "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }

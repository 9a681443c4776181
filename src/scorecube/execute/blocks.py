"""Blocks: computing one, and combining several, exactly, in any order and grouping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from scorecube.analyses.protocol import Analysis, Arrays, Concat, Part, Sum, block_parts
from scorecube.execute.executor import Progress, unreported
from scorecube.storage import gaps

if TYPE_CHECKING:
    from scorecube.storage import BlockStore

Interval = tuple[int, int]


class Block(NamedTuple):
    """The combined parts of intervals of units; `Concat` has their units in this order."""

    intervals: tuple[Interval, ...]
    parts: Mapping[str, Part]


@dataclass(frozen=True, eq=False)
class Compute:
    """The function that computes the blocks of a plan, on any thread or worker.

    analysis, table: Of the plan.
    blocks: Where blocks are recorded; None for nowhere.
    """

    analysis: Analysis
    table: Any
    blocks: BlockStore | None = None

    def __call__(self, interval: Interval) -> Block:
        """Return the block of an interval of units."""
        with one_blas_thread():
            block = Block((interval,), block_parts(self.analysis, self.table, *interval))
        if self.blocks is not None:
            self.blocks.record(*interval, arrays_of(block))
        return block


class Combined:
    """The combined parts of the blocks of a plan, and the intervals of units that are done.

    declared: The parts of an empty block.
    n_units: Of the plan.
    progress: Takes the number of units that are done, and of all.
    """

    def __init__(
        self, declared: Mapping[str, Part], n_units: int, progress: Progress = unreported
    ) -> None:
        self.n_units, self.progress = n_units, progress
        self.done: list[Interval] = []
        self.arrays: Arrays = {}
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
        self.progress(self.n_units - self.n_left, self.n_units)

    def add(self, block: Block) -> None:
        """Add the parts of a block."""
        for name, part in block.parts.items():
            total = self.arrays[name]
            if isinstance(part, Concat):
                place = np.concatenate([np.arange(*interval) for interval in block.intervals])
                total[..., place] = part.array
            elif isinstance(part, Sum):
                total += part.array
            else:
                np.maximum(total, part.array, out=total)


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
            array = np.asarray(reduce(np.add if isinstance(part, Sum) else np.maximum, arrays))
        joined[name] = type(part)(array)
    return Block(tuple(interval for block in blocks for interval in block.intervals), joined)


_LOCK, _LIMITS = Lock(), list[Any]()


@cache
def _controller() -> ThreadpoolController:
    """Return the controller of the loaded libraries, whose search takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS libraries to one thread: blocks that run in parallel already use all cores.

    The limit holds for the whole process, so the first block sets it, and the last restores it.
    """
    with _LOCK:
        limit = None if _LIMITS else _controller().limit(limits=1, user_api="blas")
        _LIMITS.append(limit or _LIMITS[0])
    try:
        yield
    finally:
        with _LOCK:
            limit = _LIMITS.pop()
            if not _LIMITS:
                limit.restore_original_limits()

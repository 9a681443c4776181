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
from scorecube.errors import ClusterFailed
from scorecube.execute.executor import Progress, unreported
from scorecube.storage import gaps

if TYPE_CHECKING:
    from scorecube.storage import BlockStore

Interval = tuple[int, int]


class Block(NamedTuple):
    """The combined parts of intervals of units; `Concat` has their units in this order."""

    intervals: tuple[Interval, ...]
    parts: Mapping[str, Part]

    @property
    def arrays(self) -> Arrays:
        """The arrays of the parts."""
        return {name: part.array for name, part in self.parts.items()}

    @property
    def n_units(self) -> int:
        """Number of units."""
        return sum(stop - start for start, stop in self.intervals)


@dataclass(frozen=True, eq=False)
class Compute:
    """The function that computes the blocks of a plan, on any thread or worker.

    analysis, table: Of the plan.
    declared: The parts of an empty block: shapes, dtypes and limits.
    blocks: Where blocks are recorded; None for nowhere.
    """

    analysis: Analysis
    table: Any
    declared: Mapping[str, Part]
    blocks: BlockStore | None = None

    def __call__(self, interval: Interval) -> Block:
        """Return the block of an interval of units."""
        with one_blas_thread():
            block = Block((interval,), block_parts(self.analysis, self.table, *interval))
        if self.blocks is not None:
            self.check(block)
            self.blocks.record(*interval, block.arrays)
        return block

    def check(self, block: Block, made: str = "computed") -> None:
        """Refuse what no computation returns: another process sent it, or a record was changed.

        Raises
        ------
        ClusterFailed
            Other arrays than declared, values out of their limits, counts that do not add up.
        """
        if problem := self._problem(block):
            start, stop = block.intervals[0][0], block.intervals[-1][-1]
            raise ClusterFailed(
                f"{self.analysis.name}: the block of the {self.analysis.unit} {start} to {stop} "
                f"that was {made} has {problem}; nothing of it is stored. Find the machine that "
                "computes wrongly, and compute in another study to use no recorded block"
            )

    def _problem(self, block: Block) -> str:
        arrays, impossible = block.arrays, []
        for name, part in self.declared.items():
            shape = _shape(part, block.n_units)
            array = arrays.get(name)
            if array is None or (array.shape, array.dtype) != (shape, part.array.dtype):
                return f"other arrays than it should ({name})"
            times = block.n_units if isinstance(part, Sum) else 1
            if ((array < part.least * times) | (array > part.most * times)).any():
                impossible.append(name)
        if impossible:
            return f"values of {', '.join(impossible)} that cannot be"
        adds_up = self.analysis.adds_up(self.table, arrays, block.n_units)
        return "" if adds_up else "counts that do not add up"


class Combined:
    """The combined parts of the blocks of a plan, and the intervals of units that are done.

    compute: Computes blocks.
    n_units: Of the plan.
    progress: Takes the number of units that are done, and of all.
    """

    def __init__(self, compute: Compute, n_units: int, progress: Progress = unreported) -> None:
        self.compute, self.n_units, self.progress = compute, n_units, progress
        self.done: list[Interval] = []
        self.arrays: Arrays = {}
        for name, part in compute.declared.items():
            if not isinstance(part, Concat) and part.array.dtype.kind not in "iu":
                raise TypeError(f"{name} is {part.array.dtype}: only integers are summed exactly")
            self.arrays[name] = np.zeros(_shape(part, n_units), part.array.dtype)

    @property
    def n_left(self) -> int:
        """Number of units that are not done."""
        return self.n_units - sum(stop - start for start, stop in self.done)

    def gaps(self, longest: int | None = None) -> list[Interval]:
        """Return intervals of at most so many units that cover what is not done."""
        return gaps(sorted(self.done), self.n_units, longest or max(self.n_units, 1))

    def take(self, block: Block, made: str = "computed") -> None:
        """Add a block, and note its units."""
        self.add(block, made)
        self.note(*block.intervals)

    def note(self, *intervals: Interval) -> None:
        """Note that intervals are done."""
        self.done += intervals
        self.progress(self.n_units - self.n_left, self.n_units)

    def add(self, block: Block, made: str = "computed") -> None:
        """Add a block that `Compute.check` does not refuse."""
        self.compute.check(block, made)
        for name, total in self.arrays.items():
            part, array = self.compute.declared[name], block.parts[name].array
            if isinstance(part, Concat):
                place = np.concatenate([np.arange(*interval) for interval in block.intervals])
                total[..., place] = array
            elif isinstance(part, Sum):
                total += array
            else:
                np.maximum(total, array, out=total)


def combine(blocks: Sequence[Block]) -> Block:
    """Return several blocks as one."""
    joined: dict[str, Part] = {}
    for name, part in blocks[0].parts.items():
        arrays = [block.parts[name].array for block in blocks]
        if isinstance(part, Concat):
            array = np.concatenate(arrays, axis=-1)
        else:
            array = np.asarray(reduce(np.add if isinstance(part, Sum) else np.maximum, arrays))
        joined[name] = part._replace(array=array)
    return Block(tuple(interval for block in blocks for interval in block.intervals), joined)


def _shape(part: Part, n_units: int) -> tuple[int, ...]:
    shape = part.array.shape
    return (*shape[:-1], n_units) if isinstance(part, Concat) else shape


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

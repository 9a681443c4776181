"""Blocks: computing one, and combining several, exactly, in any order and grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scorecube.analyses.protocol import Analysis, Array, Arrays, Concat, Part, Sum, block_parts
from scorecube.errors import ClusterFailed
from scorecube.execute.blas_threads import one_blas_thread

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
        if wrong := self._wrong(block):
            start, stop = block.intervals[0][0], block.intervals[-1][-1]
            raise ClusterFailed(
                f"{self.analysis.name}: the block of the {self.analysis.unit} {start} to {stop} "
                f"that was {made} has {wrong}; nothing of it is stored. Find the machine that "
                "computes wrongly, and compute in another study to use no recorded block"
            )

    def _wrong(self, block: Block) -> str:
        arrays, impossible = block.arrays, []
        for name, part in self.declared.items():
            shape = part.array.shape
            if isinstance(part, Concat):
                shape = (*shape[:-1], block.n_units)
            found = arrays.get(name)
            if found is None or found.shape != shape or found.dtype != part.array.dtype:
                return f"other arrays than it should ({name})"
            times = block.n_units if isinstance(part, Sum) else 1
            if ((found < part.least * times) | (found > part.most * times)).any():
                impossible.append(name)
        if impossible:
            return f"values of {', '.join(impossible)} that cannot be"
        adds_up = self.analysis.adds_up(self.table, arrays, block.n_units)
        return "" if adds_up else "counts that do not add up"


def combine(blocks: Sequence[Block]) -> Block:
    """Return several blocks as one."""
    joined: dict[str, Part] = {}
    for name, part in blocks[0].parts.items():
        arrays = [block.parts[name].array for block in blocks]
        joined[name] = part._replace(array=_join(part, arrays))
    return Block(tuple(each for block in blocks for each in block.intervals), joined)


def _join(part: Part, arrays: list[Array]) -> Array:
    if isinstance(part, Concat):
        return np.concatenate(arrays, axis=-1)
    return np.asarray(reduce(np.add if isinstance(part, Sum) else np.maximum, arrays))


class Combined:
    """The combined parts of the blocks of a plan.

    compute: Computes them.
    n_units: Of the plan.
    """

    def __init__(self, compute: Compute, n_units: int) -> None:
        self.compute, self.declared = compute, compute.declared
        self.arrays: Arrays = {}
        for name, part in self.declared.items():
            shape = part.array.shape
            if isinstance(part, Concat):
                shape = (*shape[:-1], n_units)
            elif part.array.dtype.kind not in "iu":
                raise TypeError(f"{name} is {part.array.dtype}: only integers are summed exactly")
            self.arrays[name] = np.zeros(shape, part.array.dtype)
        self.is_empty = True

    def add_recorded(self, interval: Interval, arrays: Arrays) -> None:
        """Add the recorded arrays of an interval."""
        there = arrays.keys() & self.declared.keys()
        parts = {name: self.declared[name]._replace(array=arrays[name]) for name in there}
        self.add(Block((interval,), parts), "recorded")

    def add(self, block: Block, made: str = "computed") -> None:
        """Add a block that `Compute.check` does not refuse."""
        self.compute.check(block, made)
        for name, total in self.arrays.items():
            part, array = self.declared[name], block.parts[name].array
            if isinstance(part, Concat):
                place = np.concatenate([np.arange(*interval) for interval in block.intervals])
                total[..., place] = array
            elif isinstance(part, Sum):
                total += array
            else:
                np.copyto(total, array if self.is_empty else np.maximum(total, array))
        self.is_empty = False

"""Blocks: computing one, and combining several, exactly, in any order and grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from scorecube.analyses.plan import PreparedPlan
from scorecube.analyses.protocol import Analysis, Array, Arrays, Concat, Max, Part, Sum, block_parts
from scorecube.errors import ClusterFailed
from scorecube.execute.blas_threads import one_blas_thread

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
    """The function that computes a block of an analysis, on any thread or worker."""

    analysis: Analysis
    table: Any

    def __call__(self, interval: Interval) -> Block:
        """Return the block of an interval of units."""
        with one_blas_thread():
            return Block((interval,), block_parts(self.analysis, self.table, *interval))


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

    prepared: Of `make_plan`; its empty block has the shapes, dtypes and limits of all blocks.
    """

    def __init__(self, prepared: PreparedPlan) -> None:
        self.prepared, self.declared = prepared, prepared.declared
        self.arrays: Arrays = {}
        for name, part in self.declared.items():
            shape = part.array.shape
            if isinstance(part, Concat):
                shape = (*shape[:-1], prepared.n_units)
            elif part.array.dtype.kind not in "iu":
                raise TypeError(f"{name} is {part.array.dtype}: only integers are summed exactly")
            self.arrays[name] = np.zeros(shape, part.array.dtype)
        self.n_units = 0

    def add_recorded(self, interval: Interval, arrays: Arrays) -> None:
        """Add the recorded arrays of an interval."""
        known = arrays.keys() & self.declared.keys()
        parts = {name: self.declared[name]._replace(array=arrays[name]) for name in known}
        self.add(Block((interval,), parts), "recorded")

    def add(self, block: Block, made: str = "computed") -> None:
        """Add a block.

        Raises
        ------
        ClusterFailed
            What no computation returns: another process sent it, or a record was changed.
        """
        if wrong := self._wrong(block):
            plan = self.prepared.plan
            start, stop = block.intervals[0][0], block.intervals[-1][-1]
            raise ClusterFailed(
                f"{plan.analysis.name}: the block of the {plan.analysis.unit} {start} to {stop} "
                f"that was {made} has {wrong}; nothing of it is stored. Find the machine that "
                "computes wrongly, and compute in another study to use no recorded block"
            )
        for name, total in self.arrays.items():
            part, array = self.declared[name], block.parts[name].array
            if isinstance(part, Concat):
                place = np.concatenate([np.arange(*interval) for interval in block.intervals])
                total[..., place] = array
            elif isinstance(part, Max) and self.n_units == 0:
                total[...] = array
            else:
                (np.add if isinstance(part, Sum) else np.maximum)(total, array, out=total)
        self.n_units += block.n_units

    def _wrong(self, block: Block) -> str:
        """Return what is impossible in a block; empty for nothing."""
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
        plan = self.prepared.plan
        if not plan.analysis.adds_up(self.prepared.table, arrays, block.n_units):
            return "counts that do not add up"
        return ""

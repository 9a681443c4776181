"""Scores that are read a few runs at a time, so that a stored cube need not fit into memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from scorecube import names
from scorecube.collection.selection import distinct_cells, uses_gains
from scorecube.kernels.threads import on_threads

AT_ONCE = 2**20
"""Scores that are read at a time: those of a stored chunk."""
AHEAD = 2
"""Parts that are read before they are needed."""
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Rows:
    """The scores of one cell, read on use.

    scores: (run, topic), an array, or a variable of xarray that is read on use.
    chosen: int64 (run,): rows of `scores`; None for all.
    """

    scores: Any
    chosen: Any = None

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.scores) if self.chosen is None else len(self.chosen)

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.scores.shape[1])

    def __getitem__(self, runs: Any) -> Any:
        """Return the scores of some runs: float64 (run, topic)."""
        return self.on(slice(None), runs)

    def on(self, topics: slice, runs: Any) -> Any:
        """Return the scores of some runs on some topics: float64 (run, topic)."""
        rows = runs if self.chosen is None else self.chosen[runs]
        return np.ascontiguousarray(self.scores[rows, topics], np.float64)

    def of(self, runs: Any) -> Rows:
        """Return some runs, still to be read."""
        every = np.arange(len(self.scores)) if self.chosen is None else self.chosen
        return Rows(self.scores, every[runs])

    def parts(self) -> list[slice]:
        """Return the runs that are read at a time."""
        return row_parts(len(self), self.n_topics)

    def each(self, function: Callable[[slice], Found]) -> list[Found]:
        """Return the function's result for each of `parts`, by several threads."""
        return on_threads(function, self.parts(), len(self) * self.n_topics)


def row_parts(n_rows: int, n_values: int) -> list[slice]:
    """Return slices of rows of so many values that hold about `AT_ONCE` of them.

    Examples
    --------
    >>> row_parts(5, 2**19)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, AT_ONCE // max(n_values, 1))
    return [slice(low, min(low + step, n_rows)) for low in range(0, n_rows, step)]


class JoinedScores(BackendArray):
    """Scores of several cubes along topic, of which parts are read on use.

    parts: Variables (..., topic).
    """

    def __init__(self, parts: Sequence[xr.Variable]) -> None:
        self.parts = parts
        self.ends = np.cumsum([part.shape[-1] for part in parts]).tolist()
        self.shape = (*parts[0].shape[:-1], self.ends[-1])
        self.dtype = np.result_type(*(part.dtype for part in parts))

    def __getitem__(self, key: Any) -> Any:
        """Return what `key`, an indexer of xarray, says."""
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        """Return scores of some topics; positions, not slices, of topics choose from all that are read."""
        *others, topics = key
        one_by_one = isinstance(topics, slice) and topics.step in (None, 1)
        low, high, _ = (topics if one_by_one else slice(None)).indices(self.shape[-1])
        found: list[Any] = []
        for part, end in zip(self.parts, self.ends, strict=True):
            start = end - part.shape[-1]
            here = slice(max(low - start, 0), max(min(high, end) - start, 0))
            if here.start < here.stop or (end == self.ends[-1] and not found):
                found.append(part[(*others, here)].values)
        joined = found[0] if len(found) == 1 else np.concatenate(found, axis=-1)
        return joined if one_by_one else joined[..., topics]


def joined_along_topic(parts: Sequence[xr.Variable]) -> xr.Variable:
    """Return the scores of several cubes (..., topic) as one variable, read on use."""
    keep: Any = indexing.MemoryCachedArray
    joined = indexing.LazilyIndexedArray(JoinedScores(parts))
    return xr.Variable(parts[0].dims, keep(joined))


def is_loaded(cube: xr.Dataset) -> bool:
    """Whether the scores of a cube are in memory."""
    return bool(cube.variables[names.SCORE]._in_memory)


def rows_of_cells(cube: xr.Dataset) -> list[Rows]:
    """Return the scores of each cell of `selection.cells`, read on use."""
    distinct, _ = distinct_cells(uses_gains(cube), cube.sizes[names.GAIN])
    scores = cube.variables[names.SCORE]
    values: Any = scores.values if is_loaded(cube) else scores
    return [Rows(values[metric, gain]) for metric, gain in np.argwhere(distinct).tolist()]


def score_blocks(cube: xr.Dataset) -> Iterator[Any]:
    """Yield the scores of a cube in its order: all of them if they are in memory, else a few runs at a time, of which the next are read meanwhile."""
    scores = cube.variables[names.SCORE]
    if is_loaded(cube):
        yield scores.values
        return
    n_metrics, n_gains, n_runs, n_topics = scores.shape
    keys = [
        (*cell, part)
        for cell in np.ndindex(n_metrics, n_gains)
        for part in row_parts(n_runs, n_topics)
    ]
    with ThreadPoolExecutor(AHEAD, thread_name_prefix="read") as threads:
        waiting = deque[Any]()
        for key in keys:
            waiting.append(threads.submit(lambda key: scores[key].values, key))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

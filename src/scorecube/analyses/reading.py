"""Large cubes, of dask or zarr: read in blocks of runs, and digested while they are read."""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise, product
from typing import Any, Final

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core.indexing import (
    ExplicitIndexer,
    IndexingSupport,
    LazilyIndexedArray,
    explicit_indexing_adapter,
)

from scorecube import names
from scorecube.collection.ranges import ranged, undecided
from scorecube.collection.schema import MAX_LOADED_BYTES, labels_of

Array = np.ndarray[Any, Any]
AT_ONCE: Final = 2**20
"""Scores that are worked on at a time, and the least that are read at a time where there are."""


class CubeDigest:
    """The SHA-256 of all that results depend on: variables of a cube, and its number of bags.

    Scores are taken block by block, as they are read; `hex` reads the others.
    """

    def __init__(self, cube: xr.Dataset) -> None:
        self._hasher = hashlib.sha256(json.dumps(cube.attrs.get("bags")).encode())
        self._cube = cube
        self._rows = 0
        self._order = sorted(map(str, cube.variables))
        for name in self._order[: self._place]:
            self._add(name)
        self._add_head(names.SCORE)

    @property
    def _place(self) -> int:
        return self._order.index(names.SCORE)

    def _add_head(self, name: str) -> None:
        variable = self._cube.variables[name]
        content: Any = variable.dtype.str
        if variable.dtype.kind in "OUT":
            content = variable.values.tolist()
        self._hasher.update(json.dumps([name, *variable.dims, *variable.shape, content]).encode())

    def _add_values(self, values: Array) -> None:
        if values.size:
            self._hasher.update(np.ascontiguousarray(values).data.cast("B"))

    def _add(self, name: str) -> None:
        self._add_head(name)
        values = self._cube.variables[name].values
        if values.dtype.kind not in "OUT":
            self._add_values(values)

    def take(self, place: tuple[int, int, slice], values: Array) -> None:
        """Take the scores (run, topic) of a metric, gain and runs, if they are the next ones."""
        _, n_gains, n_runs, _ = self._cube.variables[names.SCORE].shape
        metric, gain, rows = place
        if (metric * n_gains + gain) * n_runs + rows.start == self._rows:
            self._add_values(values)
            self._rows += len(values)

    def hex(self) -> str:
        """Return the digest; to be called once."""
        scores = self._cube.variables[names.SCORE]
        _, n_gains, n_runs, _ = scores.shape
        for metric, gain in np.ndindex(scores.shape[:2]):
            for rows in blocks(scores):
                if (metric * n_gains + gain) * n_runs + rows.start >= self._rows:
                    self.take((metric, gain, rows), read(scores, metric, gain, rows))
        for name in self._order[self._place + 1 :]:
            self._add(name)
        return self._hasher.hexdigest()


class _Digested(BackendArray):
    """Scores that are digested where blocks of runs, or whole metrics, are read."""

    def __init__(self, scores: xr.Variable, digest: CubeDigest) -> None:
        self.shape = scores.shape
        self.dtype = scores.dtype
        self.scores = scores
        self._digest = digest

    def __getitem__(self, key: ExplicitIndexer) -> Any:
        return explicit_indexing_adapter(key, self.shape, IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> Array:
        metric, gain, rows, topics = key
        is_whole = [_is_whole(of, n) for of, n in zip(key[1:], self.shape[1:], strict=True)]
        if all(is_whole) and isinstance(metric, int | np.integer):
            return read_metric(self.scores, int(metric), self._digest.take)
        of_block = [isinstance(metric, int | np.integer), isinstance(gain, int | np.integer)]
        if all(of_block) and isinstance(rows, slice) and _is_whole(topics, self.shape[3]):
            start, stop, step = rows.indices(self.shape[2])
            if step == 1:
                return self._block(int(metric), int(gain), slice(start, stop))
        return np.asarray(self.scores[key].values)

    def _block(self, metric: int, gain: int, rows: slice) -> Array:
        values = read(self.scores, metric, gain, rows)
        self._digest.take((metric, gain, rows), values)
        return values


def _is_whole(key: object, size: int) -> bool:
    return isinstance(key, slice) and range(*key.indices(size)) == range(size)


def with_digest(cube: xr.Dataset) -> tuple[xr.Dataset, CubeDigest]:
    """Return a cube whose scores are digested while they are read, and their digest.

    A lazy one knows the ranges of its metrics, as one in memory does.
    """
    if cube[names.SCORE].variable._in_memory:
        return cube, CubeDigest(cube)
    scores = cube.variables[names.SCORE]
    if undecided(cube):
        places = {metric: place for place, metric in enumerate(labels_of(cube, names.METRIC))}
        cube = ranged(cube, scores_of=lambda metric: read_metric(scores, places[metric]))
    digest = CubeDigest(cube)
    lazy = LazilyIndexedArray(_Digested(scores, digest))
    encoding = {"preferred_chunks": dict(zip(scores.dims, _lengths(scores), strict=True))}
    variable = xr.Variable(scores.dims, lazy, scores.attrs, encoding)
    return cube.assign({names.SCORE: variable}), digest


def read(scores: xr.Variable, metric: int, gain: int, rows: slice) -> Array:
    """Return the scores of some runs, (run, topic); of a lazy cube read chunk by chunk.

    So there are no more than the block and a chunk in memory.
    """
    block = scores[metric, gain, rows]
    if scores._in_memory:
        return np.asarray(block.values)
    values = np.empty(block.shape, scores.dtype)
    lengths = _lengths(scores)[2:]
    for place in product(*map(_slices, block.shape, lengths)):
        values[place] = block[place].values
    return values


def read_metric(
    scores: xr.Variable, metric: int, take: Callable[..., object] = lambda *_: None
) -> Array:
    """Return the scores of a metric, (gain, run, topic), read in blocks; `take` takes each."""
    values = np.empty(scores.shape[1:], scores.dtype)
    for gain, of_gain in enumerate(values):
        for rows in blocks(scores):
            of_gain[rows] = read(scores, metric, gain, rows)
            take((metric, gain, rows), of_gain[rows])
    return values


def blocks(scores: xr.Variable) -> Iterator[slice]:
    """Yield slices of runs that are read at a time: of lazy scores some chunks of them."""
    n_runs, n_topics = scores.shape[2:]
    length = max(1, n_runs)
    if not scores._in_memory:
        of_chunk = _lengths(scores)[2]
        length = of_chunk * max(1, AT_ONCE // max(1, of_chunk * n_topics))
    yield from _slices(n_runs, length)


@contextmanager
def given_back(cube: xr.Dataset) -> Iterator[None]:
    """While a large lazy cube is read, have arrays given back to the system once they are gone.

    Each thread that decodes chunks keeps what it has taken, up to two metrics together. Afterwards
    threads keep a little more, as blocks take the same again and again.
    """
    try:
        _keep(cube, 2**20)
        yield
    finally:
        _keep(cube, 2**22)


def _keep(cube: xr.Dataset, n_bytes: int) -> None:
    """Have the C library, if it is glibc, keep no larger arrays that are gone: see mallopt(3)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt and cube.nbytes > MAX_LOADED_BYTES and not cube[names.SCORE].variable._in_memory:
        mallopt(-1, 2 * n_bytes)  # M_TRIM_THRESHOLD
        mallopt(-3, n_bytes)  # M_MMAP_THRESHOLD


def rows_at_once(scores: Array) -> Iterator[slice]:
    """Yield slices of the runs of scores, (run, topic), that are worked on at a time."""
    yield from _slices(len(scores), max(1, AT_ONCE // max(1, scores.shape[1])))


def _lengths(scores: xr.Variable) -> tuple[int, ...]:
    """Return the lengths of chunks, the longest of unequal ones; the shape where nobody knows."""
    preferred = scores.encoding.get("preferred_chunks", {})
    lengths = [preferred.get(dim, size) for dim, size in scores.sizes.items()]
    if scores.chunks is not None:
        lengths = list(scores.chunks)
    return tuple(of if isinstance(of, int) else max(of) for of in lengths)


def _slices(size: int, length: int) -> list[slice]:
    stops = accumulate([length] * -(-size // length))
    edges = np.minimum([0, *stops], size).tolist()
    return [slice(low, high) for low, high in pairwise(edges)]

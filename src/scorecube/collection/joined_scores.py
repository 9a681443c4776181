"""Scores of several cubes as one variable that is read on use; imported where it is needed, as xarray's backends take long to import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from scorecube.collection.rows import CHUNKS


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
    return xr.Variable(
        parts[0].dims, keep(joined), encoding={CHUNKS: parts[0].encoding.get(CHUNKS)}
    )

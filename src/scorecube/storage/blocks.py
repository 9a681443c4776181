"""Recorded blocks of a resampling run: what is recorded stays, the rest is computed.

Each output of an analysis is one array [segment, ...] with one chunk per segment; an output that has a place for each unit is as long as
the longest segment. `record` [segment] holds a JSON text per segment
with its units and the SHA-256 of its outputs, and is written last. A missing chunk reads as zeros, never as
an error, so only the record says that a segment is there; one whose content does not match its record is
computed again. Only the driver writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from zarr.storage import MemoryStore

from scorecube import names
from scorecube.analyses.base import Arrays, Combine, Output
from scorecube.storage.datasets import send
from scorecube.storage.encoding import EVERY_CHUNK, ZARR_FORMAT, compressor, plain_bytes
from scorecube.storage.location import Place
from scorecube.storage.nodes import child_array, child_group

RECORD = "record"
BY_UNIT = "by_unit"
"""Attribute of an output: its last axis is as long as the segment has units, or longer."""


@dataclass(frozen=True)
class Segment:
    """A recorded block: its place in the arrays, its units, its outputs."""

    place: int
    start: int
    stop: int
    arrays: Arrays


@dataclass(frozen=True)
class Record:
    """What is said of a segment: its place, its units, the SHA-256 of its outputs."""

    place: int
    start: int
    stop: int
    sha256: str


def content_hash(arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """Return the SHA-256 of a block's outputs."""
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype.str} {array.shape};".encode())
        hasher.update(plain_bytes(array))
    return hasher.hexdigest()


class BlockStore:
    """Blocks of one piece of work (see `Plan.work_digest`) inside a collection's group.

    Parameters
    ----------
    store
        Where the study is.
    collection
        Group of the collection.
    place
        Path of the blocks inside it.
    """

    def __init__(self, store: Place, collection: zarr.Group, place: str) -> None:
        self._store = store
        self._collection = collection
        self._place = place
        self._arrays: dict[str, zarr.Array[Any]] = {}
        """Where there is room to write, opened once: on an object store each opening is a request."""

    def records(self) -> list[Record]:
        """Return what is said to be recorded; the contents are not read."""
        group = child_group(self._collection, self._place)
        if group is None or RECORD not in group:
            return []
        parsed = [_parse(place, text) for place, text in enumerate(_texts(group[RECORD]))]
        return [record for record in parsed if record is not None]

    def usable(self, outputs: Sequence[Output], n_units: int) -> Iterator[Segment]:
        """Iterate over segments within the first `n_units` units that do not overlap and whose content matches their record."""
        group = child_group(self._collection, self._place)
        for record in choose(self.records(), n_units):
            segment = _read(group, record, [output.name for output in outputs])
            if segment is not None:
                yield segment

    def damaged(self) -> list[str]:
        """Return what is wrong with recorded segments whose content does not match."""
        group = child_group(self._collection, self._place)
        if group is None or RECORD not in group:
            return []
        return [
            f"{self._place} segment {place}: content does not match its record" for place in self._damaged_places(group)
        ]

    def _damaged_places(self, group: zarr.Group) -> list[int]:
        outputs = [name for name, _ in group.arrays() if name != RECORD]
        found = [(place, text, _parse(place, text)) for place, text in enumerate(_texts(group[RECORD])) if text]
        return [place for place, _, record in found if record is None or _read(group, record, outputs) is None]

    def reserve(self, outputs: Sequence[Output], intervals: Sequence[tuple[int, int]]) -> int:
        """Make room for more segments; return the place of the first."""
        longest, count = max(stop - start for start, stop in intervals), len(intervals)
        group = child_group(self._collection, self._place)
        if group is None or RECORD not in group:  # none, or made by a run that was killed before the records were there
            made = MemoryStore()
            _make_room(zarr.create_group(made, zarr_format=ZARR_FORMAT), outputs, longest, count)
            send(made, self._store, f"{self._collection.path}/{self._place}")
            group = self._collection.require_group(self._place)
            self._arrays = {name: child_array(group, name) for name in (RECORD, *(output.name for output in outputs))}
            return 0
        record = self._arrays[RECORD] = child_array(group, RECORD)
        for place in self._damaged_places(group):
            record[place] = ""  # computed again in another segment
        start = int(record.shape[0])
        for output in outputs:
            array = self._arrays[output.name] = child_array(group, output.name)
            shape = output.shape_of(max(longest, array.shape[-1]))
            array.resize((start + count, *shape))
        record.resize((start + count,))
        return start

    def write(self, segment: Segment, facts: Mapping[str, Any]) -> None:
        """Write a segment's outputs, then its record, where `reserve` made room; `facts` go into the record."""
        for name, array in segment.arrays.items():
            target = self._arrays[name]
            if target.attrs[BY_UNIT]:
                target[segment.place, ..., : array.shape[-1]] = array
            else:
                target[segment.place] = array
        record = {"start": segment.start, "stop": segment.stop, "sha256": content_hash(segment.arrays), **facts}
        self._arrays[RECORD][segment.place] = json.dumps(record)


def _make_room(group: zarr.Group, outputs: Sequence[Output], longest: int, count: int) -> None:
    how: Any = {"fill_value": 0, "compressors": compressor(), "config": EVERY_CHUNK}
    for output in outputs:
        shape = output.shape_of(longest)
        dims = (names.SEGMENT, *(f"{output.name}_{axis}" for axis in range(len(shape))))
        group.create_array(
            output.name, shape=(count, *shape), chunks=(1, *(max(1, n) for n in shape)), dtype=output.dtype, dimension_names=dims,
            attributes={BY_UNIT: output.combine is Combine.CONCAT}, **how,
        )  # fmt: skip
    how |= {"fill_value": "", "config": None}
    group.create_array(RECORD, shape=(count,), chunks=(1,), dtype="str", dimension_names=(names.SEGMENT,), **how)


def choose(records: Sequence[Record], n_units: int) -> list[Record]:
    """Return records that do not overlap and lie within the first `n_units` units, preferring long ones."""
    chosen, position = [], 0
    for record in sorted(records, key=lambda each: (each.start, -each.stop)):
        if record.start >= position and record.stop <= n_units:
            chosen.append(record)
            position = record.stop
    return chosen


def gaps(done: Sequence[tuple[int, int]], n_units: int) -> list[tuple[int, int]]:
    """Return the intervals of 0 .. n_units-1 that sorted, disjoint intervals leave open.

    Examples
    --------
    >>> gaps([(0, 10), (20, 30)], 35)
    [(10, 20), (30, 35)]
    """
    edges = [0, *(edge for interval in done for edge in interval), n_units]
    return [(low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if low < high]


def _texts(array: Any) -> list[str]:
    try:
        return [str(text) for text in array[...]]
    except (ValueError, RuntimeError, OSError):
        texts = []
    for place in range(array.shape[0]):
        # One at a time: a damaged chunk must not hide the others.
        try:
            texts.append(str(array[place]))
        except (ValueError, RuntimeError, OSError):
            texts.append("?")
    return texts


def _parse(place: int, text: str) -> Record | None:
    try:
        facts = json.loads(text)
        return Record(place, int(facts["start"]), int(facts["stop"]), str(facts["sha256"]))
    except (ValueError, KeyError, TypeError):
        return None


def _read(group: Any, record: Record, output_names: Sequence[str]) -> Segment | None:
    arrays: Arrays = {}
    try:
        for name in output_names:
            array = child_array(group, name)
            content = np.asarray(array[record.place])
            arrays[name] = content[..., : record.stop - record.start] if array.attrs[BY_UNIT] else content
    except (ValueError, KeyError, RuntimeError, OSError):
        return None
    if record.sha256 != content_hash(arrays):
        return None
    return Segment(record.place, record.start, record.stop, arrays)

"""Recorded blocks of a run: recorded blocks are kept, the others are computed.

Each output of an analysis is one array [segment, ...] with one chunk per segment; an output with one value per unit has the length of
the longest segment. `record` [segment] holds a JSON text per segment with its units and the SHA-256 of its outputs, and is written last.
A missing chunk reads as zeros without an error, so only the record shows that a segment exists; a segment whose content does not match its
record is computed again. Only the driver writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from zarr.abc.buffer import Buffer
from zarr.storage import MemoryStore

from scorecube import names
from scorecube.analyses.base import Arrays, Combine, Output
from scorecube.storage.datasets import write_objects
from scorecube.storage.encoding import ZARR_FORMAT, compressor, plain_bytes
from scorecube.storage.location import Location
from scorecube.storage.nodes import child_array, child_group

RECORD = "record"
BY_UNIT = "by_unit"
"""Attribute of an output: whether its last axis is units; it may be longer than the segment."""


@dataclass(frozen=True)
class Segment:
    """A recorded block: its index in the arrays, its units, its outputs."""

    index: int
    start: int
    stop: int
    arrays: Arrays


@dataclass(frozen=True)
class Record:
    """A segment's record: its index, its units, the SHA-256 of its outputs."""

    index: int
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
    location
        Of the study.
    collection
        Group of the collection.
    path
        Of the blocks in this group.
    """

    def __init__(self, location: Location, collection: zarr.Group, path: str) -> None:
        self._location = location
        self._collection = collection
        self._path = path
        self._arrays: dict[str, zarr.Array[Any]] = {}
        """Opened once by `reserve`: on an object store each opening is a request."""

    def _group(self) -> zarr.Group | None:
        """Return the group of the blocks; None if no segment has been reserved."""
        group = child_group(self._collection, self._path)
        return group if group is not None and RECORD in group else None

    def records(self) -> list[Record]:
        """Return the records of all segments; their contents are not read."""
        group = self._group()
        if group is None:
            return []
        parsed = [_parse(index, text) for index, text in enumerate(_texts(group[RECORD]))]
        return [record for record in parsed if record is not None]

    def valid_segments(self, outputs: Sequence[Output], n_units: int) -> Iterator[Segment]:
        """Iterate over disjoint, undamaged segments within the first `n_units` units."""
        group = self._group()
        for record in select_disjoint(self.records(), n_units):
            segment = _read(group, record, [output.name for output in outputs])
            if segment is not None:
                yield segment

    def find_damage(self) -> list[str]:
        """Return one line for each segment that does not match its record."""
        group = self._group()
        if group is None:
            return []
        return [
            f"{self._path} segment {index}: content does not match its record"
            for index in self._damaged_indices(group)
        ]

    def _damaged_indices(self, group: zarr.Group) -> list[int]:
        outputs = [name for name, _ in group.arrays() if name != RECORD]
        found = [
            (index, text, _parse(index, text))
            for index, text in enumerate(_texts(group[RECORD]))
            if text
        ]
        return [
            index
            for index, _, record in found
            if record is None or _read(group, record, outputs) is None
        ]

    def reserve(self, outputs: Sequence[Output], intervals: Sequence[tuple[int, int]]) -> int:
        """Extend the arrays for more segments; return the index of the first."""
        longest, count = max(stop - start for start, stop in intervals), len(intervals)
        group = self._group()
        if group is None:  # also if a process was killed before it created the records
            objects: dict[str, Buffer] = {}
            new_group = zarr.create_group(MemoryStore(objects), zarr_format=ZARR_FORMAT)
            _create_arrays(new_group, outputs, longest, count)
            write_objects(objects, self._location, f"{self._collection.path}/{self._path}")
            group = self._collection.require_group(self._path)
            self._arrays = {
                name: child_array(group, name)
                for name in (RECORD, *(output.name for output in outputs))
            }
            return 0
        record = self._arrays[RECORD] = child_array(group, RECORD)
        for index in self._damaged_indices(group):
            record[index] = ""  # computed again as another segment
        start = int(record.shape[0])
        for output in outputs:
            array = self._arrays[output.name] = child_array(group, output.name)
            shape = output.shape_of(max(longest, array.shape[-1]))
            array.resize((start + count, *shape))
        record.resize((start + count,))
        return start

    def write(self, segment: Segment, facts: Mapping[str, Any]) -> None:
        """Write the outputs of a reserved segment, then its record with `facts`."""
        for name, array in segment.arrays.items():
            target = self._arrays[name]
            if target.attrs[BY_UNIT]:
                target[segment.index, ..., : array.shape[-1]] = array
            else:
                target[segment.index] = array
        record = {
            "start": segment.start,
            "stop": segment.stop,
            "sha256": content_hash(segment.arrays),
            **facts,
        }
        self._arrays[RECORD][segment.index] = json.dumps(record)


def _create_arrays(group: zarr.Group, outputs: Sequence[Output], longest: int, count: int) -> None:
    for output in outputs:
        shape = output.shape_of(longest)
        group.create_array(
            output.name,
            shape=(count, *shape),
            chunks=(1, *(max(1, n) for n in shape)),
            dtype=output.dtype,
            fill_value=0,
            compressors=compressor(),
            dimension_names=(
                names.SEGMENT,
                *(f"{output.name}_{axis}" for axis in range(len(shape))),
            ),
            attributes={BY_UNIT: output.combine is Combine.CONCAT},
            # Chunks of zeros are written, too, so that a missing chunk is always damage.
            config={"write_empty_chunks": True},
        )
    group.create_array(
        RECORD,
        shape=(count,),
        chunks=(1,),
        dtype="str",
        fill_value="",
        compressors=compressor(),
        dimension_names=(names.SEGMENT,),
    )


def select_disjoint(records: Sequence[Record], n_units: int) -> list[Record]:
    """Return disjoint records within the first `n_units` units, preferring long ones."""
    chosen, position = [], 0
    for record in sorted(records, key=lambda each: (each.start, -each.stop)):
        if record.start >= position and record.stop <= n_units:
            chosen.append(record)
            position = record.stop
    return chosen


def gaps(intervals: Sequence[tuple[int, int]], n_units: int) -> list[tuple[int, int]]:
    """Return the intervals of 0 .. n_units-1 that sorted, disjoint ones leave uncovered.

    Examples
    --------
    >>> gaps([(0, 10), (20, 30)], 35)
    [(10, 20), (30, 35)]
    """
    edges = [0, *(edge for interval in intervals for edge in interval), n_units]
    return [(low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if low < high]


def _texts(array: Any) -> list[str]:
    try:
        return [str(text) for text in array[...]]
    except (ValueError, RuntimeError, OSError):
        texts = []
    for index in range(array.shape[0]):
        # One at a time: a damaged chunk must not hide the others.
        try:
            texts.append(str(array[index]))
        except (ValueError, RuntimeError, OSError):
            texts.append("?")
    return texts


def _parse(index: int, text: str) -> Record | None:
    try:
        content = json.loads(text)
        return Record(index, int(content["start"]), int(content["stop"]), str(content["sha256"]))
    except (ValueError, KeyError, TypeError):
        return None


def _read(group: Any, record: Record, output_names: Sequence[str]) -> Segment | None:
    arrays: Arrays = {}
    try:
        for name in output_names:
            array = child_array(group, name)
            content = np.asarray(array[record.index])
            arrays[name] = (
                content[..., : record.stop - record.start] if array.attrs[BY_UNIT] else content
            )
    except (ValueError, KeyError, RuntimeError, OSError):
        return None
    if record.sha256 != content_hash(arrays):
        return None
    return Segment(record.index, record.start, record.stop, arrays)

"""Recorded blocks of a run: recorded blocks are kept, the others are computed.

Each output of an analysis is one array [segment, ...] with one chunk per segment; an output with one value per unit has the length of
the longest segment. `record` [segment] holds a JSON text per segment with its units and the SHA-256 of its outputs, and is written last.
A missing chunk reads as zeros without an error, so only the record shows that a segment exists; a segment whose content does not match its
record is computed again. Only the driver writes.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scorecube import names
from scorecube.analyses.protocol import Arrays, Concat, Part
from scorecube.errors import BadStudy
from scorecube.storage.encoding import ZARR_FORMAT, compressor, plain_bytes
from scorecube.storage.location import Location
from scorecube.storage.manifest import Entry, digests_of
from scorecube.storage.nodes import child_array, open_group

if TYPE_CHECKING:
    import zarr
    from zarr.abc.buffer import Buffer

RECORD = "record"
SYNC_SECONDS = 1.0
"""A power failure loses at most the blocks that were recorded in so many seconds."""
SEGMENTS, WHOLE = "segments", "records"
"""Facts in the manifest: number of reserved segments, and of records when the last run ended."""
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


def _for_reading(*_: object) -> None:
    raise BadStudy(
        "these blocks are open for reading; write them under the lock of their collection"
    )


class BlockStore:
    """Blocks of one piece of work (see `Plan.work_digest`).

    location: Of the study.
    path: Of the group of the blocks.
    work: Digest of the work.
    entry: Returns their entry in the manifest; None if there is none.
    commit: Writes the entry.
    check_lock: Refuses to go on if the lock of the collection was lost.
    """

    def __init__(
        self,
        location: Location,
        path: str,
        work: str,
        entry: Callable[[], Entry | None],
        commit: Callable[[Entry], None] = _for_reading,
        check_lock: Callable[[], None] = _for_reading,
    ) -> None:
        self._location, self._path, self._work = location, path, work
        self._entry, self._commit, self._check_lock = entry, commit, check_lock
        self._arrays: dict[str, zarr.Array[Any]] = {}
        """Opened once by `reserve`: on an object store each opening is a request."""
        self._synced = time.monotonic()

    def _group(self, mode: Literal["r", "a"] = "r") -> zarr.Group | None:
        """Return the group of the blocks; None if no segment has been reserved, or if it is damaged."""
        if self._entry() is None:
            return None
        try:
            with self._location.failures():
                group = open_group(self._location, self._path, mode)
                return group if RECORD in group else None
        except (ValueError, KeyError, TypeError, FileNotFoundError):
            return None

    def records(self) -> list[Record]:
        """Return the records of all segments; their contents are not read."""
        group = self._group()
        if group is None:
            return []
        parsed = [self._parse(index, text) for index, text in enumerate(_texts(group))]
        return [record for record in parsed if record is not None]

    def valid_segments(self, outputs: Mapping[str, Part], n_units: int) -> Iterator[Segment]:
        """Iterate over disjoint, undamaged segments within the first `n_units` units."""
        group = self._group()
        for record in select_disjoint(self.records(), n_units):
            segment = _read(group, record, list(outputs))
            if segment is not None:
                yield segment

    def find_damage(self) -> list[str]:
        """Return one line for each segment that does not match its record, and for missing or changed metadata."""
        entry = self._entry()
        if entry is None:
            return []
        found = _digests(self._location.metadata(self._path))
        changed = sorted(
            key for key in {*entry.files, *found} if found.get(key) != entry.files.get(key)
        )
        if changed:
            return [f"{self._path}: {key} is missing or changed" for key in changed]
        group = self._group()
        if group is None:
            return [f"{self._path}: cannot be read"]
        texts = _texts(group)
        problems = [
            f"{self._path} segment {index}: content does not match its record"
            for index in self._damaged_indices(group, texts)
        ]
        missing = int(entry.facts.get(WHOLE, 0)) - sum(map(bool, texts))
        if missing > 0 or len(texts) < int(entry.facts.get(SEGMENTS, 0)):
            problems.append(f"{self._path}: {max(missing, 1)} records are missing")
        return problems

    def _damaged_indices(self, group: zarr.Group, texts: Sequence[str]) -> list[int]:
        outputs = [name for name, _ in group.arrays() if name != RECORD]
        found = [(index, self._parse(index, text)) for index, text in enumerate(texts) if text]
        return [
            index
            for index, record in found
            if record is None or _read(group, record, outputs) is None
        ]

    def _parse(self, index: int, text: str) -> Record | None:
        try:
            content = json.loads(text)
            if content.get("work", self._work) != self._work:
                return None  # of other blocks
            return Record(
                index, int(content["start"]), int(content["stop"]), str(content["sha256"])
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def reserve(self, outputs: Mapping[str, Part], intervals: Sequence[tuple[int, int]]) -> int:
        """Extend the arrays for more segments; return the index of the first."""
        self._check_lock()
        longest, count = max(stop - start for start, stop in intervals), len(intervals)
        with self._location.failures():
            first = self._extend(outputs, longest, count)
            if first is None:  # there are no blocks, or their metadata is damaged
                self._create(outputs, longest, count)
                first = 0
            group = self._group("a")
            assert group is not None
            self._arrays = {name: child_array(group, name) for name in (RECORD, *outputs)}
        return first

    def _create(self, outputs: Mapping[str, Part], longest: int, count: int) -> None:
        import zarr  # imported here, as it takes long to import, and short work has no blocks
        from zarr.storage import MemoryStore

        objects: dict[str, Buffer] = {}
        _create_arrays(
            zarr.create_group(MemoryStore(objects), zarr_format=ZARR_FORMAT),
            outputs,
            longest,
            count,
        )
        contents = {key: value.to_bytes() for key, value in objects.items()}
        self._location.remove(self._path)
        self._location.write_new(self._path, contents)
        self._location.sync(self._path)
        self._commit(Entry(self._path, _digests(contents), {SEGMENTS: count}))

    def _extend(self, outputs: Mapping[str, Part], longest: int, count: int) -> int | None:
        """Extend arrays that are there; None if there are none that can be."""
        group, entry = self._group("a"), self._entry()
        if group is None or entry is None:
            return None
        files = _digests(self._location.metadata(self._path))
        if files != entry.files:
            return None
        try:
            record = child_array(group, RECORD)
            for index in self._damaged_indices(group, _texts(group)):
                record[index] = ""  # computed again as another segment
            first = int(record.shape[0])
            for name, part in outputs.items():
                array = child_array(group, name)
                shape = _shape_of(part, max(longest, array.shape[-1]))
                array.resize((first + count, *shape))
            record.resize((first + count,))
        except (ValueError, KeyError, TypeError, FileNotFoundError):
            return None
        self._commit(Entry(self._path, files, {SEGMENTS: first + count}))
        return first

    def write(self, segment: Segment, facts: Mapping[str, Any]) -> None:
        """Write the outputs of a reserved segment, then its record with `facts`.

        They are synced together, at most every `SYNC_SECONDS`: after a power failure, a block whose data does not match its record is
        computed again.
        """
        self._check_lock()
        with self._location.failures():
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
                "work": self._work,
            }
            self._arrays[RECORD][segment.index] = json.dumps(record)
            if time.monotonic() > self._synced + SYNC_SECONDS:
                self._location.sync(self._path)
                self._synced = time.monotonic()

    def finish(self) -> None:
        """Note in the manifest how many records there are, so that a missing one is noticed."""
        entry = self._entry()
        if entry is not None and WHOLE not in entry.facts:
            records = {WHOLE: len(self.records())}
            self._commit(Entry(entry.path, entry.files, {**entry.facts, **records}))


def _digests(objects: Mapping[str, bytes]) -> dict[str, str]:
    """Return the digests of metadata files without the number of segments and the length of the longest, which grow."""
    return digests_of({key: _without_shape(content) for key, content in objects.items()})


def _without_shape(content: bytes) -> bytes:
    try:
        metadata = json.loads(content)
        metadata.pop("shape", None)
        return json.dumps(metadata, sort_keys=True).encode()
    except (ValueError, AttributeError, RecursionError):
        return content


def _shape_of(part: Part, n_units: int) -> tuple[int, ...]:
    """Return the shape of a part of so many units, whose empty one is declared."""
    shape = part.array.shape
    return (*shape[:-1], n_units) if isinstance(part, Concat) else shape


def _create_arrays(
    group: zarr.Group, outputs: Mapping[str, Part], longest: int, count: int
) -> None:
    for name, part in outputs.items():
        shape = _shape_of(part, longest)
        group.create_array(
            name,
            shape=(count, *shape),
            chunks=(1, *(max(1, n) for n in shape)),
            dtype=part.array.dtype.str,
            fill_value=0,
            compressors=compressor(),
            dimension_names=(names.SEGMENT, *(f"{name}_{axis}" for axis in range(len(shape)))),
            attributes={BY_UNIT: isinstance(part, Concat)},
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


def gaps(intervals: Sequence[tuple[int, int]], n_units: int, longest: int) -> list[tuple[int, int]]:
    """Return intervals of a longest length that cover what sorted, disjoint ones leave of 0 .. n_units-1.

    Examples
    --------
    >>> gaps([(0, 10), (20, 30)], 35, 8)
    [(10, 18), (18, 20), (30, 35)]
    """
    edges = [0, *(edge for interval in intervals for edge in interval), n_units]
    return [
        (low, min(low + longest, stop))
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
        for low in range(start, stop, longest)
    ]


def _texts(group: zarr.Group) -> list[str]:
    """Return the records as JSON; "?" for one that cannot be read."""
    array: Any = group[RECORD]
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

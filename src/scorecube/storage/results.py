"""Recorded blocks of a resampling run: what is recorded stays, the rest is computed.

Each output of an analysis is one array [segment, ...] with one chunk per segment; `record` [segment] holds a JSON text per segment
with its trials and the SHA-256 of its outputs, and is written last. A missing chunk reads as zeros, never as
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

from scorecube import names
from scorecube.analyses.analysis import Arrays, Output
from scorecube.storage.encoding import EVERY_CHUNK, compressor
from scorecube.storage.nodes import child_array, child_group

RECORD = "record"


@dataclass(frozen=True)
class Segment:
    """A recorded block: its place in the arrays, its trials, its outputs."""

    place: int
    start: int
    stop: int
    arrays: Arrays


def content_hash(arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """Return the SHA-256 of a block's outputs."""
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype.str} {array.shape};".encode())
        hasher.update(array.tobytes())
    return hasher.hexdigest()


class BlockStore:
    """Blocks of one piece of work (see `Plan.work_digest`) inside a collection's group."""

    def __init__(self, collection: zarr.Group, place: str) -> None:
        self._collection = collection
        self._place = place

    def segments(self, outputs: Sequence[Output]) -> Iterator[Segment]:
        """Iterate over the segments whose content matches their record."""
        group = child_group(self._collection, self._place)
        if group is None or RECORD not in group:
            return
        for place, text in enumerate(_texts(group[RECORD])):
            segment = _read(group, place, text, [output.name for output in outputs])
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
        texts = enumerate(_texts(group[RECORD]))
        return [place for place, text in texts if text and _read(group, place, text, outputs) is None]

    def reserve(self, outputs: Sequence[Output], count: int) -> int:
        """Make room for `count` more segments; return the place of the first."""
        group = self._collection.require_group(self._place)
        if RECORD not in group:
            for output in outputs:
                if output.name in group:  # made by a run that was killed before the records were there
                    del group[output.name]
                dims = (names.SEGMENT, *(f"{output.name}_{axis}" for axis in range(len(output.shape))))
                group.create_array(
                    output.name, shape=(0, *output.shape), chunks=(1, *(max(1, n) for n in output.shape)), dtype=output.dtype,
                    fill_value=0, compressors=compressor(), dimension_names=dims, config=EVERY_CHUNK,
                )  # fmt: skip
            group.create_array(
                RECORD,
                shape=(0,),
                chunks=(1,),
                dtype="str",
                fill_value="",
                compressors=compressor(),
                dimension_names=(names.SEGMENT,),
            )
        for place in self._damaged_places(group):
            child_array(group, RECORD)[place] = ""  # computed again in another segment
        start = int(child_array(group, RECORD).shape[0])
        for output in outputs:
            child_array(group, output.name).resize((start + count, *output.shape))
        child_array(group, RECORD).resize((start + count,))
        return start

    def write(self, segment: Segment, facts: Mapping[str, Any]) -> None:
        """Write a segment's outputs, then its record; `facts` go into the record."""
        group = self._collection.require_group(self._place)
        for name, array in segment.arrays.items():
            child_array(group, name)[segment.place] = array
        record = {"start": segment.start, "stop": segment.stop, "sha256": content_hash(segment.arrays), **facts}
        child_array(group, RECORD)[segment.place] = json.dumps(record)


def choose(segments: Sequence[Segment], trials: int) -> list[Segment]:
    """Return segments that do not overlap and lie within the first `trials` trials, preferring long ones."""
    chosen, position = [], 0
    for segment in sorted(segments, key=lambda each: (each.start, -each.stop)):
        if segment.start >= position and segment.stop <= trials:
            chosen.append(segment)
            position = segment.stop
    return chosen


def gaps(done: Sequence[tuple[int, int]], trials: int) -> list[tuple[int, int]]:
    """Return the intervals of 0 .. trials-1 that sorted, disjoint intervals leave open.

    Examples
    --------
    >>> gaps([(0, 10), (20, 30)], 35)
    [(10, 20), (30, 35)]
    """
    edges = [0, *(edge for interval in done for edge in interval), trials]
    return [(low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if low < high]


def _texts(array: Any) -> list[str]:
    texts = []
    for place in range(array.shape[0]):
        # One at a time: a damaged chunk must not hide the others.
        try:
            texts.append(str(array[place]))
        except (ValueError, RuntimeError, OSError):
            texts.append("?")
    return texts


def _read(group: zarr.Group, place: int, text: str, output_names: Sequence[str]) -> Segment | None:
    try:
        record = json.loads(text)
        arrays: Arrays = {name: np.asarray(child_array(group, name)[place]) for name in output_names}
    except (ValueError, KeyError, RuntimeError, OSError):
        return None
    if record.get("sha256") != content_hash(arrays):
        return None
    return Segment(place, int(record["start"]), int(record["stop"]), arrays)

"""Recorded blocks of a run, one archive of NumPy arrays each.

Blocks are named by the units that they hold, and never changed, so several processes and workers
may record at once. The length of blocks comes
of timing, and another process may have chosen another: what is read is a choice of disjoint blocks
    among the files that are there.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scorecube.storage.place import Place
from scorecube.storage.sealed import pack, unpack

if TYPE_CHECKING:
    from scorecube.analyses.protocol import Arrays

ABOUT: Final = "about.json"
"""Member of a block with its work and units."""
BLOCK: Final = re.compile(r"(\d{9,})-(\d{9,})\.npz", re.ASCII)


@dataclass(frozen=True)
class Record:
    """The units of a recorded block: start .. stop-1."""

    start: int
    stop: int


@dataclass(frozen=True)
class Segment:
    """A recorded block: its units, its outputs."""

    start: int
    stop: int
    arrays: Arrays


class BlockStore:
    """Blocks of one piece of work (see `Plan.work_digest`); workers may have copies.

    place: Of the study.
    path: Of the folder of the blocks.
    work: Digest of the work.
    """

    def __init__(self, place: Place, path: str, work: str) -> None:
        self._place, self._path, self._work = place, path, work

    def records(self) -> list[Record]:
        """Return what is recorded; contents are not read."""
        matches = map(BLOCK.fullmatch, self._place.children(self._path))
        return [Record(int(match[1]), int(match[2])) for match in matches if match is not None]

    def record(self, start: int, stop: int, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Record the outputs of the units start .. stop-1, durably."""
        about = {"work": self._work, "start": start, "stop": stop}
        members = {f"{name}.npy": _encode(array) for name, array in arrays.items()}
        content = pack([(ABOUT, json.dumps(about).encode()), *members.items()])
        self._place.write(self._key(Record(start, stop)), content)

    def sight(self) -> list[str]:
        """Return what every process that sees the study sees: the heads of the collection."""
        children = self._place.children(self._path.partition("/")[0])
        return sorted(name for name in children if name.startswith("head."))

    def is_seen(self, sight: list[str]) -> bool:
        """Return whether this process sees the study that has such a `sight`."""
        return self.sight() == sight

    def _key(self, record: Record) -> str:
        return f"{self._path}/{record.start:09d}-{record.stop:09d}.npz"

    def read(self, record: Record) -> Segment | None:
        """Return a recorded block; None for one that is damaged, or of other work."""
        try:
            members = unpack(self._place.read(self._key(record)) or b"")
            about = {"work": self._work, "start": record.start, "stop": record.stop}
            if json.loads(members.pop(ABOUT)) != about:
                return None
            arrays = {name.removesuffix(".npy"): _decode(each) for name, each in members.items()}
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return Segment(record.start, record.stop, arrays)

    def valid_segments(self, outputs: Iterable[str], n_units: int) -> Iterator[Segment]:
        """Iterate over disjoint, undamaged blocks with these outputs among the first units."""
        expected = set(outputs)
        for record in select_disjoint(self.records(), n_units):
            segment = self.read(record)
            if segment is not None and expected == set(segment.arrays):
                yield segment

    def find_damage(self) -> list[str]:
        """Return one line for each block that is damaged."""
        return [
            f"{self._key(record)}: does not match its digest"
            for record in self.records()
            if self.read(record) is None
        ]


def _encode(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)
    return file.getvalue()


def _decode(content: bytes) -> np.ndarray[Any, Any]:
    """Return an array of `_encode`; nothing is made that is larger than the content."""
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
    if by_column or dtype.hasobject:
        raise ValueError("an array that no scorecube records")
    return np.frombuffer(content, dtype, offset=file.tell()).reshape(shape)


def select_disjoint(records: Sequence[Record], n_units: int) -> list[Record]:
    """Return disjoint records within the first `n_units` units, preferring long ones."""
    chosen, position = [], 0
    for record in sorted(records, key=lambda record: (record.start, -record.stop)):
        if record.start >= position and record.start < record.stop <= n_units:
            chosen.append(record)
            position = record.stop
    return chosen


def gaps(intervals: Sequence[tuple[int, int]], n_units: int, longest: int) -> list[tuple[int, int]]:
    """Return intervals of a longest length that cover what sorted, disjoint ones leave.

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

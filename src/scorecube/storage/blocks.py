"""Recorded blocks of a run, one archive of NumPy arrays each.

Blocks are named by the units that they hold, and never changed, so several processes and workers
may record at once. Their length comes of timing, and the first process fixes it for the others.
Where edges differ all the same, what is read is a choice of disjoint blocks.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scorecube.storage.place import Place
from scorecube.storage.sealed import decode_record, encode_record, pack, unpack

if TYPE_CHECKING:
    from scorecube.analyses.protocol import Arrays

ABOUT: Final = "about.json"
"""Member of a block with its work and units."""
BLOCK: Final = re.compile(r"(\d{9,})-(\d{9,})\.npz", re.ASCII)
Interval = tuple[int, int]
"""First unit, and the one behind the last."""


class BlockStore:
    """Blocks of one piece of work (see `Plan.work_digest`); workers may have copies.

    place: Of the study.
    path: Of the folder of the blocks.
    work: Digest of the work.
    """

    def __init__(self, place: Place, path: str, work: str) -> None:
        self._place, self._path, self._work = place, path, work

    def intervals(self) -> list[Interval]:
        """Return the units of all recorded blocks; contents are not read."""
        matches = map(BLOCK.fullmatch, self._place.children(self._path))
        return [(int(match[1]), int(match[2])) for match in matches if match is not None]

    def record(self, start: int, stop: int, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Record the outputs of the units start .. stop-1."""
        members = [(f"{name}.npy", _encode(array)) for name, array in arrays.items()]
        content = pack([(ABOUT, self._about(start, stop)), *members])
        self._place.write(self._key(start, stop), content)

    def _about(self, start: int, stop: int) -> bytes:
        return json.dumps({"work": self._work, "start": start, "stop": stop}).encode()

    def _key(self, start: int, stop: int) -> str:
        return f"{self._path}/{start:09d}-{stop:09d}.npz"

    def length(self, proposed: int) -> int:
        """Return the length of blocks that was fixed; the proposed one is, if none was before."""
        path = f"{self._path}/length.json"
        if self._place.create(path, encode_record({"length": proposed})):
            return proposed
        try:
            return max(1, int(decode_record(self._place.read(path) or b"")["length"]))
        except (ValueError, KeyError, TypeError):
            return proposed

    def sight(self) -> list[str]:
        """Return what every process that sees the study sees: the heads of the collection."""
        children = self._place.children(self._path.partition("/")[0])
        return [name for name in children if name.startswith("head.")]

    def is_seen(self, sight: list[str]) -> bool:
        """Return whether this process sees the study that has such a `sight`."""
        return self.sight() == sight

    def read(self, start: int, stop: int) -> Arrays | None:
        """Return the outputs of a block; None if it is damaged, or of other work."""
        try:
            members = unpack(self._place.read(self._key(start, stop)) or b"")
            if members.pop(ABOUT) != self._about(start, stop):
                return None
            return {name.removesuffix(".npy"): _decode(file) for name, file in members.items()}
        except (ValueError, KeyError, TypeError, MemoryError):
            return None

    def valid_blocks(
        self, outputs: Iterable[str], n_units: int
    ) -> Iterator[tuple[Interval, Arrays]]:
        """Yield disjoint, undamaged blocks with these outputs among the first units."""
        expected = set(outputs)
        for interval in select_disjoint(self.intervals(), n_units):
            arrays = self.read(*interval)
            if arrays is not None and expected == set(arrays):
                yield interval, arrays

    def find_damage(self) -> list[str]:
        """Return one line for each block that is damaged."""
        damaged = (interval for interval in self.intervals() if self.read(*interval) is None)
        return [f"{self._key(*interval)}: does not match its digest" for interval in damaged]


def _encode(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)
    return file.getvalue()


def _decode(content: bytes) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


def select_disjoint(intervals: Sequence[Interval], n_units: int) -> list[Interval]:
    """Return disjoint intervals within the first `n_units` units, preferring long ones."""
    chosen, position = list[Interval](), 0
    for start, stop in sorted(intervals, key=lambda interval: (interval[0], -interval[1])):
        if start >= position and start < stop <= n_units:
            chosen.append((start, stop))
            position = stop
    return chosen


def gaps(intervals: Sequence[Interval], n_units: int, length: int) -> list[Interval]:
    """Return intervals that cover what sorted, disjoint ones leave, cut at multiples of a length.

    Examples
    --------
    >>> gaps([(0, 10), (20, 30)], 35, 8)
    [(10, 16), (16, 20), (30, 32), (32, 35)]
    """
    edges = [0, *(edge for interval in intervals for edge in interval), n_units]
    return [
        (max(start, cut), min(stop, cut + length))
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
        for cut in range(start // length * length, stop, length)
        if start < stop
    ]

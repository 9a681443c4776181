"""Files that carry their own digest: records, results, and recorded blocks.

    NAME/results/<analysis>/00003-00007-<plan>-<version>.zarr.zip     a zarr group
        /blocks/<analysis>/<work>/<start>-<stop>.npz                  NumPy arrays

The comment of an archive is the SHA-256 of what it is about and of all bytes before it: under the
name of another one it is damage. Members are stored, not compressed, so that none is larger
inside than outside; their arrays are compressed, and have at most `HIGHEST_RATIO` times the bytes
of the archive where they are large. The first number of a result is its turn, by which the latest
is known; the second is that of the newest head when it was stored, of which it is a witness.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from scorecube.errors import CorruptStudy
from scorecube.storage.forms import OF_RESULT, OF_SOME_RESULTS, check, take_format
from scorecube.storage.place import Place

if TYPE_CHECKING:
    import xarray as xr

    from scorecube.analyses.protocol import Arrays

METADATA: Final = "zarr.json"
RESULT: Final = re.compile(r"(\d{5,9})-(\d{5,9})-([0-9a-f]{8,64})-([0-9a-f]*)\.zarr\.zip", re.ASCII)
BLOCK: Final = re.compile(r"(\d{9,})-(\d{9,})\.npz", re.ASCII)
Interval = tuple[int, int]
"""First unit, and the one behind the last."""
SEAL_BYTES: Final = 64
UNCHECKED: Final = 2**26
HIGHEST_RATIO: Final = 100
"""Bytes of arrays that any result may have; above, the most for each byte of its archive."""
PADDING: Final = ".padding"
"""Member that makes an archive so large that its arrays, such as equal numbers, are read."""


def digest_of(*parts: bytes | memoryview) -> str:
    """Return the SHA-256 of bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return JSON values as text with their digest."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    body = text.encode(errors="surrogatepass")
    return b'{"sha256":"%s","record":%s}\n' % (digest_of(body).encode(), body)


def decode_record(content: bytes | None) -> dict[str, Any]:
    """Return the values of `encode_record`; an error for bytes that it does not return."""
    if content is None:
        raise ValueError("is missing")
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        record = dict(json.loads(content.decode(errors="surrogatepass"))["record"])
        if encode_record(record) == content:
            return record
    raise ValueError("does not match its digest")


def seal(about: str, archive: bytes) -> bytes:
    """Return a zip archive with its digest as its comment, which has none yet."""
    body = archive[:-2] + SEAL_BYTES.to_bytes(2, "little")
    return body + digest_of(about.encode(), body).encode()


def unseal(about: str, content: bytes | None) -> bytes:
    """Return the archive of `seal`; ValueError for another digest, or for none."""
    if content is None:
        raise ValueError("is missing")
    body = memoryview(content)[:-SEAL_BYTES]
    digest = content[-SEAL_BYTES:]
    if digest_of(about.encode(), body).encode() != digest:
        raise ValueError("does not match its digest")
    return content


def open_zip(content: bytes) -> zipfile.ZipFile:
    """Open an archive; ValueError for one that is larger inside than outside."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    if sum(member.file_size for member in archive.infolist()) > len(content):
        raise ValueError("is larger inside than outside, which no scorecube writes")
    return archive


class StoredResult(NamedTuple):
    """A result, by its archive: numbers of its turn and head, digest of its plan, scores."""

    number: int
    head: int
    digest: str
    version: str
    folder: str

    @property
    def analysis(self) -> str:
        """Name of its analysis."""
        return self.folder.rpartition("/")[2]

    @property
    def path(self) -> str:
        """Path of its archive."""
        name = f"{self.number:05d}-{self.head:05d}-{self.digest}-{self.version}.zarr.zip"
        return f"{self.folder}/{name}"

    @property
    def about(self) -> str:
        """What its archive is about; where it was merged from another study, the numbers differ."""
        return f"{self.folder}/{self.digest}-{self.version}"


def archives_in(place: Place, folder: str) -> list[StoredResult]:
    """Return the results of an analysis, latest last; one that was stored twice is there twice."""
    matches = filter(None, map(RESULT.fullmatch, place.children(folder)))
    return sorted(
        StoredResult(int(match[1]), int(match[2]), match[3], match[4], folder) for match in matches
    )


def most_inside(n_bytes: int) -> int:
    """Return the bytes that the arrays in an archive of so many bytes may have."""
    return max(UNCHECKED, HIGHEST_RATIO * n_bytes)


def write_result(place: Place, stored: StoredResult, values: xr.Dataset) -> None:
    """Write the archive of a result."""
    from scorecube.storage.codec import encode

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in encode(values):
            archive.writestr(zipfile.ZipInfo(name), content)
        if values.nbytes > most_inside(file.tell()):
            padding = bytes(values.nbytes // HIGHEST_RATIO)
            archive.writestr(zipfile.ZipInfo(PADDING), padding)
    place.write(stored.path, seal(stored.about, file.getvalue()))


def read_result(place: Place, stored: StoredResult) -> xr.Dataset:
    """Return a result (CorruptStudy if it is damaged)."""
    from scorecube.storage.codec import decode

    with place.reading(stored.path):
        content = unseal(stored.about, place.read(stored.path))
        archive = open_zip(content)
        files = {name: archive.read(name) for name in archive.namelist()}
        result = decode(files, most_inside(len(content)), f"{place.name}: {stored.path}")
        _check_attributes(stored, result.attrs)
        return result


def read_attributes(place: Place, stored: StoredResult) -> dict[str, Any]:
    """Return the attributes of a result (CorruptStudy if they are damaged).

    They have a checksum of their own, and name their plan: all to digest takes twenty times longer.
    """
    with place.reading(stored.path):
        archive = open_zip(place.read(stored.path) or b"")
        attributes: dict[str, Any] = json.loads(archive.read(METADATA))["attributes"]
        take_format(attributes, f"{place.name}: {stored.path}")
        _check_attributes(stored, attributes)
        return attributes


def _check_attributes(stored: StoredResult, attributes: Mapping[Any, Any]) -> None:
    """Refuse attributes of another form, or of another plan (ValueError)."""
    check(attributes, OF_RESULT, OF_SOME_RESULTS)
    if attributes["digest"] != stored.digest:
        raise ValueError("is the result of another plan")


def _check_block(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse an array of a block whose header claims other bytes than are there (ValueError)."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            raise ValueError(f"{member.filename} has a header as scorecube does not write it")
        shape, _, dtype = read(file)
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise ValueError(f"{member.filename} has other bytes than its header says")


class BlockStore:
    """Blocks of one piece of work (see `Plan.work_digest`); workers may have copies."""

    def __init__(self, place: Place, path: str, work: str) -> None:
        self.place = place
        self._path = path
        self._work = work

    @property
    def collection(self) -> str:
        """The folder of the collection."""
        return self._path.partition("/")[0]

    def intervals(self) -> list[Interval]:
        """Return the units of all recorded blocks; contents are not read."""
        matches = filter(None, map(BLOCK.fullmatch, self.place.children(self._path)))
        return [(int(match[1]), int(match[2])) for match in matches]

    def _names(self, start: int, stop: int) -> tuple[str, str]:
        """Return the key of a block, and what it is about."""
        return f"{self._path}/{start:09d}-{stop:09d}.npz", f"{self._work}/{start}-{stop}"

    def record(self, start: int, stop: int, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Record the outputs of the units start .. stop-1."""
        file = io.BytesIO()
        named = dict[str, Any](arrays)
        np.savez(file, **named)
        key, about = self._names(start, stop)
        self.place.write(key, seal(about, file.getvalue()))

    def read(self, start: int, stop: int) -> Arrays:
        """Return the outputs of a block (CorruptStudy if it is damaged, or of other work)."""
        key, about = self._names(start, stop)
        with self.place.reading(key):
            content = unseal(about, self.place.read(key))
            with open_zip(content) as archive:
                for member in archive.infolist():
                    _check_block(archive, member)
            return dict(np.load(io.BytesIO(content)))

    def forget_inside(self, n_units: int, length: int) -> None:
        """Delete blocks that longer ones of a length, cut at its multiples, hold as well."""
        held = set(gaps([], n_units, length))
        inside = [
            (start, stop)
            for start, stop in self.intervals()
            if stop <= n_units and start // length == (stop - 1) // length
        ]
        keys = [self._names(*interval)[0] for interval in inside if interval not in held]
        for _ in self.place.map(self.place.delete, keys):
            pass

    def valid_blocks(
        self, outputs: Iterable[str], n_units: int
    ) -> Iterator[tuple[Interval, Arrays]]:
        """Yield disjoint, undamaged blocks with these outputs among the first units."""
        expected = set(outputs)
        for interval in select_disjoint(self.intervals(), n_units):
            with suppress(CorruptStudy, MemoryError):
                arrays = self.read(*interval)
                if expected == set(arrays):
                    yield interval, arrays


def select_disjoint(intervals: Sequence[Interval], n_units: int) -> list[Interval]:
    """Return disjoint intervals within the first `n_units` units, preferring long ones."""
    chosen = list[Interval]()
    position = 0
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
    edges = [0, *chain.from_iterable(intervals), n_units]
    return [
        (max(start, cut), min(stop, cut + length))
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
        for cut in range(start // length * length, stop, length)
        if start < stop
    ]

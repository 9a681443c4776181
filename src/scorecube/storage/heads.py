"""What a collection is: the newest of numbered heads says so, and names its cube and rankings.

    study/NAME/head.00007.json            digests and facts of cube and rankings
              /cube-<digest>.zarr/        score[metric, gain, run, topic]; plain zarr, never changed
              /rankings-<digest>.zarr/    levels in rank order
              /results/<analysis>/        an archive and a record for each result
              /blocks/<analysis>/<work>/<start>-<stop>.npz

A commit creates the head with the next number, which fails if another process was faster: then it
is tried again on top of that one. Heads are never deleted, so a number is never used twice, and
nothing that was committed is lost: there is no lock.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage.place import Place, at_once
from scorecube.storage.sealed import decode_record, digest_of, encode_record

if TYPE_CHECKING:
    import xarray as xr

MAX_FOLDER_BYTES: Final = 200
"""Of the folder of a collection; file systems allow 255 bytes."""
RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.ASCII)
"""Names that Windows keeps for devices."""
HEAD: Final = re.compile(r"head\.(\d{5,9})\.json", re.ASCII)
CUBE, RANKINGS, RESULTS, BLOCKS = "cube", "rankings", "results", "blocks"
"""First parts of the names of what a folder holds."""
GROUPS: Final = (CUBE, RANKINGS)
MAX_BUFFERED_BYTES: Final = 2**26
"""Larger cubes are encoded twice, for their digest and to be written, instead of kept in memory."""


@dataclass(frozen=True)
class Head:
    """What a collection is.

    number: Of the head, from 1.
    name: Of the collection.
    cube, rankings: Digests in the names of their groups; empty for no rankings.
    contains: Versions of the cube whose scores are in it: results of these are current.
    files: Digest of each file of `cube` and `rankings`, by its key below the group.
    facts: JSON values that listings show of `cube` and `rankings`.
    notes: JSON values of others.
    id: Random: two heads of the same content differ.
    """

    name: str
    number: int = 0
    cube: str = ""
    rankings: str = ""
    contains: tuple[str, ...] = ()
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""

    def group(self, kind: str) -> str:
        """Return the path of the group of the cube or of the rankings, below that of the study."""
        return f"{folder_of(self.name)}/{kind}-{getattr(self, kind)}.zarr"

    def with_group(
        self, kind: str, version: str, files: Mapping[str, str], facts: Mapping[str, Any]
    ) -> Head:
        """Return a head with another cube, or other rankings."""
        named: dict[str, Any] = {kind: version}
        if kind == CUBE:
            named["contains"] = tuple(dict.fromkeys([version, *self.contains]))
        named["facts"], named["files"] = {**self.facts, kind: facts}, {**self.files, kind: files}
        return replace(self, **named)


def folder_of(name: str) -> str:
    """Return the folder of a collection: the same for names that some file system takes for one.

    Examples
    --------
    >>> folder_of("Week/Benchmark 1"), folder_of("con"), folder_of("..")
    ('week%2Fbenchmark%201', '%63on', '%2E%2E')
    """
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    folder = re.sub(r"^\.|\.$", "%2E", quote(plain, safe=""))
    return f"%{ord(folder[0]):X}{folder[1:]}" if RESERVED.fullmatch(folder) else folder


def check_collection_name(name: str) -> None:
    """Refuse names that cannot be those of collections (BadStudy)."""
    try:
        fits = 0 < len(folder_of(name)) <= MAX_FOLDER_BYTES
    except UnicodeEncodeError:  # of bytes of the command line that are not UTF-8
        fits = False
    if not fits or not name.strip() or any(unicodedata.category(sign) == "Cc" for sign in name):
        raise BadStudy(
            f"{name!r} cannot name a collection: it must not be blank, hold control characters or "
            f"bytes that are not UTF-8, or be longer than {MAX_FOLDER_BYTES} bytes as the name of "
            "a folder, where other letters than a to z take several"
        )


def latest_head(place: Place, folder: str) -> Head | None:
    """Return the newest head in a folder; None if there is none.

    Raises CorruptStudy: It is damaged; the one before it is not taken, as what was committed since
        would be lost.
    """
    numbers = head_numbers(place, folder)
    return read_head(place, folder, max(numbers)) if numbers else None


def head_numbers(place: Place, folder: str) -> list[int]:
    """Return the numbers of all heads in a folder."""
    return [int(match[1]) for match in map(HEAD.fullmatch, place.children(folder)) if match]


def read_head(place: Place, folder: str, number: int) -> Head:
    """Return a head that was listed (CorruptStudy if it is damaged, or of another folder)."""
    key = f"{folder}/head.{number:05d}.json"
    content = place.read(key)
    try:
        if content is None:
            raise ValueError("is missing")
        record = decode_record(content)
        head = Head(**{**record, "contains": tuple(record["contains"])})
        if not re.fullmatch("[0-9a-f]*", "".join([head.cube, head.rankings, *head.contains])):
            raise ValueError("names what is no digest")
        if head.number != number or folder_of(head.name) != folder:
            raise ValueError("is that of another collection, or of another number")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise corrupt(place, key, error) from None
    return head


def corrupt(place: Place, path: str, error: Exception) -> CorruptStudy:
    """Return the error for a part of a study that is damaged."""
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return CorruptStudy(
        f"{place.name}: {path}: {reason}; run scorecube verify to list all damage, and restore it "
        "from a copy, or compute it again"
    )


def commit(place: Place, name: str, change: Callable[[Head], Head]) -> Head:
    """Change what a collection is, and return its new head.

    change: Returns the next head for the newest, or the same one for no change; called again where
        another process was faster. What it names is written before it returns.
    """
    folder = folder_of(name)
    while True:
        head = latest_head(place, folder) or Head(name)
        if head.name != name:
            raise BadStudy(
                f"{place.name}: {name!r} cannot be told from the collection {head.name!r} on every "
                "file system; choose another name"
            )
        after = change(head)
        if after == head:
            return head
        after = replace(after, number=head.number + 1, id=secrets.token_hex(8))
        if place.create(f"{folder}/head.{after.number:05d}.json", encode_record(asdict(after))):
            return after


def write_group(
    place: Place, folder: str, kind: str, dataset: xr.Dataset
) -> tuple[str, dict[str, str]]:
    """Write the cube or the rankings of a collection; return version and digests of files.

    What a killed process left of the same group is written over with the same bytes.
    """
    from scorecube.storage.codec import encode

    kept = dict(encode(dataset)).items() if dataset.nbytes <= MAX_BUFFERED_BYTES else None
    files = {key: digest_of(content) for key, content in kept or encode(dataset)}
    version = digest_of(str(sorted(files.items())).encode(), 16)

    def write(file: tuple[str, bytes]) -> None:
        place.write(f"{folder}/{kind}-{version}.zarr/{file[0]}", file[1], synced="later")

    list(at_once(place.requests, write, kept or encode(dataset)))
    place.sync()
    return version, files


def read_group(place: Place, head: Head, kind: str, n_groups: int = 0) -> xr.Dataset:
    """Return the cube or the rankings of a head.

    n_groups: How many are in use together: values of one that takes more than its share of
        `MAX_LOADED_BYTES` are read on use; 0 to read all.
    Raises CorruptStudy: A file that is missing or does not match its digest.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES
    from scorecube.storage.codec import METADATA, decode, nbytes_of, open_lazily

    path, files = head.group(kind), head.files[kind]

    def read(keys: Iterable[str]) -> dict[str, bytes]:
        chosen = list(keys)
        contents = at_once(
            place.requests, lambda key: read_file(place, f"{path}/{key}", files[key]), chosen
        )
        return dict(zip(chosen, contents, strict=True))

    metadata = read(key for key in files if key.rpartition("/")[2] == METADATA)
    try:
        if nbytes_of(metadata) * n_groups <= MAX_LOADED_BYTES:
            return decode(metadata | read(files.keys() - metadata))
        if missing := sorted(files.keys() - set(place.keys(path))):
            raise ValueError(f"{missing[0]} is missing")
        return open_lazily(place.array_store(path))
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise corrupt(place, path, error) from None


def read_file(place: Place, path: str, digest: str) -> bytes:
    """Return a file of a group (CorruptStudy if it is missing or changed)."""
    content = place.read(path)
    if content is None or digest_of(content) != digest:
        reason = "is missing" if content is None else "does not match its digest"
        raise corrupt(place, path, ValueError(reason))
    return content

"""What a collection is: the newest of numbered heads says so, and names its cube and rankings.

    study/NAME/head.00007.json            digests and facts of cube and rankings
              /cube-<digest>.zarr/        score[metric, gain, run, topic]; plain zarr, never changed
              /rankings-<digest>.zarr/    levels in rank order
              /results/<analysis>/        an archive for each result
              /blocks/<analysis>/<work>/<start>-<stop>.npz

A commit creates the head with the next number, which fails if another process was faster: then it
is tried again on top of that one. Heads are never deleted, so a number is never used twice, and
nothing that was committed is lost: there is no lock.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from scorecube.errors import BadStudy
from scorecube.names import LEVEL
from scorecube.storage.archives import decode_record, digest_of, encode_record
from scorecube.storage.place import Place

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


@dataclass(frozen=True)
class Head:
    """What a collection is.

    cube, rankings: Digests in the names of their groups; empty for no rankings.
    contains: Versions of the cube whose scores are in it: results of these are current.
    facts: JSON values that listings show of `cube` and `rankings`, with bytes and files.
    id: Random: two heads of the same content differ.
    """

    name: str
    number: int = 0
    cube: str = ""
    rankings: str = ""
    contains: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""

    def group(self, kind: str) -> str:
        """Return the path of the group of the cube or of the rankings, below that of the study."""
        return f"{folder_of(self.name)}/{kind}-{getattr(self, kind)}.zarr"


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
            f"{name!r} cannot name a collection: blank, with control characters or bytes that are "
            f"not UTF-8, or of more than {MAX_FOLDER_BYTES} bytes as a folder"
        )


def head_numbers(place: Place, folder: str) -> list[int]:
    """Return the numbers of all heads in a folder; 1 where results show that they were deleted."""
    names = place.children(folder)
    numbers = [int(match[1]) for match in map(HEAD.fullmatch, names) if match]
    return numbers or [1] * (RESULTS in names)


def latest_head(place: Place, folder: str) -> Head | None:
    """Return the newest head in a folder; None if there is none.

    Raises CorruptStudy: It is damaged; the one before it would lose what was committed since.
    """
    numbers = head_numbers(place, folder)
    return read_head(place, folder, max(numbers)) if numbers else None


def read_head(place: Place, folder: str, number: int) -> Head:
    """Return a head (CorruptStudy if it is missing, damaged, or of another folder)."""
    key = f"{folder}/head.{number:05d}.json"
    with place.reading(key):
        record = decode_record(place.read(key))
        head = Head(**{**record, "contains": tuple(record["contains"])})
        if not re.fullmatch("[0-9a-f]*", "".join([head.cube, head.rankings, *head.contains])):
            raise ValueError("names what is no digest")
        if head.number != number or folder_of(head.name) != folder:
            raise ValueError("is that of another collection, or of another number")
        return head


def commit(place: Place, name: str, change: Callable[[Head], Head]) -> Head:
    """Change what a collection is, and return its new head.

    change: Returns the next head for the newest, or the same one for no change; called again where
        another process was faster. What it names is written before it returns.
    """
    folder = folder_of(name)
    head = latest_head(place, folder) or Head(name)
    while True:
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
        while place.read(f"{folder}/head.{head.number + 1:05d}.json") is not None:
            head = read_head(place, folder, head.number + 1)


def version_of(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the digest of the files of a group."""
    digests = sorted((key, digest_of(content)[:32]) for key, content in files)
    return digest_of(str(digests).encode())[:16]


def write_group(place: Place, head: Head, kind: str, dataset: xr.Dataset) -> Head:
    """Write the cube or the rankings of a collection; return the head that names it.

    Encoded twice, for the version and to be written, it may be larger than memory.
    """
    from scorecube.storage.codec import encode
    from scorecube.storage.cubes import facts_of_cube

    named: dict[str, Any] = {kind: version_of(encode(dataset))}
    after = replace(head, **named)

    def write(file: tuple[str, bytes]) -> None:
        place.write(f"{after.group(kind)}/{file[0]}", file[1], synced=False)

    facts: dict[str, Any] = {"bytes": dataset.nbytes}
    facts["files"] = sum(1 for _ in place.map(write, encode(dataset)))
    place.sync()
    if kind == RANKINGS:
        facts["levels"] = dataset[LEVEL].values.tolist()
    else:
        facts |= facts_of_cube(dataset)
        after = replace(after, contains=tuple(dict.fromkeys([after.cube, *head.contains])))
    return replace(after, facts={**head.facts, kind: facts})


def keys_of(place: Place, path: str) -> list[str]:
    """Return the files of a group; hidden ones are not of it, such as what is being written."""
    return [key for key in place.files(path) if not key.rpartition("/")[2].startswith(".")]


def files_of(place: Place, path: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a group, and what they hold."""
    keys = keys_of(place, path)
    contents = place.map(lambda key: place.read(f"{path}/{key}") or b"", keys)
    yield from zip(keys, contents, strict=True)


def check_group(place: Place, head: Head, kind: str) -> None:
    """Read a group (CorruptStudy if a file is missing, changed, or not of it)."""
    with place.reading(head.group(kind)):
        if version_of(files_of(place, head.group(kind))) != getattr(head, kind):
            raise ValueError("does not match its digest")


def read_group(place: Place, head: Head, kind: str, n_groups: int = 0) -> xr.Dataset:
    """Return the cube or the rankings of a head.

    n_groups: How many are in use together: values of one that takes more than its share of
        `MAX_LOADED_BYTES` are read on use; 0 to read all.
    Raises CorruptStudy: A file that is missing, or, where all are read, changed.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES
    from scorecube.storage.codec import decode, open_lazily

    path = head.group(kind)
    with place.reading(path):
        if head.facts[kind]["bytes"] * n_groups <= MAX_LOADED_BYTES:
            files = dict(files_of(place, path))
            if version_of(files.items()) != getattr(head, kind):
                raise ValueError("does not match its digest")
            return decode(files)
        if len(keys_of(place, path)) != head.facts[kind]["files"]:
            raise ValueError("a file is missing")
        return open_lazily(place.array_store(path))

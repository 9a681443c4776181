"""What a collection is: the newest of numbered heads says so, and names its cube and rankings.

    study/NAME/head.00007.json            digests and facts of cube and rankings
              /committed.00007            empty: a witness of that head, should it be deleted
              /cube-<digest>.zarr/        score[metric, gain, run, topic]; plain zarr, never changed
              /rankings-<digest>.zarr/    levels in rank order
              /results/<analysis>/        an archive for each result
              /blocks/<analysis>/<work>/<start>-<stop>.npz

A commit creates the head with the next number, which fails if another process was faster: then it
is tried again on top of that one. Heads are never deleted, so a number is never used twice, and
nothing that was committed is lost: there is no lock.
"""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from scorecube.errors import BadInput, BadStudy
from scorecube.names import LEVEL, RUN, SCORE, SYSTEM, TEAM, TOPIC, TOPIC_GROUP
from scorecube.storage.archives import METADATA, decode_record, digest_of, encode_record
from scorecube.storage.bounds import refuse_too_large
from scorecube.storage.forms import (
    FORMAT,
    OF_SOME_CUBES,
    check,
    check_head,
    is_text,
    refuse_newer,
    take_format,
)
from scorecube.storage.place import PARTIAL, Place

if TYPE_CHECKING:
    import xarray as xr

    from scorecube.storage.codec import Array

MAX_FOLDER_BYTES: Final = 200
"""Of the folder of a collection; file systems allow 255 bytes."""
RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|packed-[0-9a-f]+)(\..*)?", re.ASCII)
"""Names that Windows keeps for devices, and those of packs."""
MOST_HEAD_BYTES: Final = 2**26
HEAD: Final = re.compile(r"head\.(\d{5,9})\.json", re.ASCII)
WITNESS: Final = re.compile(r"committed\.(\d{5,9})", re.ASCII)
CUBE = "cube"
RANKINGS = "rankings"
RESULTS = "results"
BLOCKS = "blocks"
"""First parts of the names of what a folder holds."""
GROUPS: Final = (CUBE, RANKINGS)
FACTS_OF: Final = {TEAM: RUN, SYSTEM: RUN, TOPIC_GROUP: TOPIC}
"""Dim of coordinates that a group may have."""


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
    >>> folder_of("Week/Benchmark 1"), folder_of("con"), folder_of(".."), folder_of("w.partial")
    ('week%2Fbenchmark%201', '%63on', '%2E%2E', 'w%2Epartial')
    """
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    folder = re.sub(rf"^\.|\.(?={PARTIAL[1:]}$)|\.$", "%2E", quote(plain, safe=""))
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
    """Return the numbers of all heads in a folder, and of those that were seen to be there."""
    names = place.children(folder)
    numbers = {int(match[1]) for match in map(HEAD.fullmatch, names) if match}
    numbers |= {int(match[1]) for match in map(WITNESS.fullmatch, names) if match}
    return sorted(numbers) or [1] * (RESULTS in names)


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
        head = _head_of(place.read(key, MOST_HEAD_BYTES), f"{place.name}: {key}")
        if head.number != number or folder_of(head.name) != folder:
            raise ValueError("is that of another collection, or of another number")
        return head


@lru_cache(maxsize=64)
def _head_of(content: bytes | None, where: str) -> Head:
    """Return the head of a file, which many steps of a command ask for."""
    record = decode_record(content)
    refuse_newer(record, where)
    record.pop("format", None)
    check_head(record)
    return Head(**{**record, "contains": tuple(record["contains"])})


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
        record = encode_record({"format": FORMAT, **asdict(after)})
        if place.create(f"{folder}/head.{after.number:05d}.json", record):
            place.write(f"{folder}/committed.{after.number:05d}", b"", synced=False)
            return after
        while place.read(f"{folder}/head.{head.number + 1:05d}.json") is not None:
            head = read_head(place, folder, head.number + 1)


def version_of(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the digest of the files of a group."""
    return version_of_digests({key: digest_of(content)[:32] for key, content in files})


def version_of_digests(digests: Mapping[str, str]) -> str:
    """Return the digest of files, from the beginning of that of each, by key."""
    return digest_of(str(sorted(digests.items())).encode())[:16]


def write_group(place: Place, head: Head, kind: str, dataset: xr.Dataset) -> Head:
    """Write the cube or the rankings of a collection; return the head that names it.

    A large one is encoded twice, for the version and to be written: it may not fit into memory.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES
    from scorecube.storage.codec import encode
    from scorecube.storage.cubes import facts_of_cube

    files = list(encode(dataset)) if dataset.nbytes <= MAX_LOADED_BYTES else None
    named: dict[str, Any] = {kind: version_of(files or encode(dataset))}
    after = replace(head, **named)

    def write(file: tuple[str, bytes]) -> str:
        key = f"{after.group(kind)}/{file[0]}"
        place.write(key, file[1], synced=False)
        return key

    facts: dict[str, Any] = {"bytes": dataset.nbytes}
    keys = list(place.map(write, files or encode(dataset)))
    facts["files"] = len(keys)
    place.sync(keys)
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


def is_whole(place: Place, path: str) -> bool:
    """Whether the files of a group have the digest in its name."""
    digest = path.rpartition("-")[2].removesuffix(".zarr")
    return version_of(files_of(place, path)) == digest


def check_group(place: Place, head: Head, kind: str) -> None:
    """Read a group (CorruptStudy if a file is missing, changed, or not of it)."""
    path = head.group(kind)
    with place.reading(path):
        if version_of(files_of(place, path)) != getattr(head, kind):
            raise ValueError("does not match its digest")
        _arrays(place, head, kind)


def _arrays(place: Place, head: Head, kind: str) -> dict[str, Array]:
    """Return what a group has by its metadata; ValueError for more than its head says."""
    from scorecube.storage.codec import arrays_of

    path = head.group(kind)
    metadata = [key for key in keys_of(place, path) if key.endswith(METADATA)]
    contents = place.map(lambda key: place.read(f"{path}/{key}") or b"", metadata)
    found = dict(zip(metadata, contents, strict=True))
    take_format(json.loads(found[METADATA])["attributes"], f"{place.name}: {path}")
    return arrays_of(found, head.facts[kind]["bytes"])


def read_group(place: Place, head: Head, kind: str, n_groups: int = 0) -> xr.Dataset:
    """Return the cube or the rankings of a head.

    n_groups: How many are in use together: values of one that takes more than its share of
        `MAX_LOADED_BYTES` are read on use; 0 to read all.
    Raises CorruptStudy: A file that is missing, or, where all are read, changed.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES

    is_small = head.facts[kind]["bytes"] * n_groups <= MAX_LOADED_BYTES
    with place.reading(head.group(kind)):
        found = _in_memory(place, head, kind) if is_small else _on_use(place, head, kind)
        return _checked(found, kind)


def _in_memory(place: Place, head: Head, kind: str) -> xr.Dataset:
    """Return a group whose files are all read; ValueError for a change of any."""
    from scorecube.storage.codec import decode

    path = head.group(kind)
    where = f"{place.name}: {path}"
    most = head.facts[kind]["bytes"]
    refuse_too_large(most, where)
    files = dict[str, bytes]()
    n_bytes = 0
    for key, content in files_of(place, path):
        n_bytes += len(content)
        refuse_too_large(n_bytes, where)
        files[key] = content
    if version_of(files.items()) != getattr(head, kind):
        raise ValueError("does not match its digest")
    return decode(files, most, where)


def _on_use(place: Place, head: Head, kind: str) -> xr.Dataset:
    """Return a group of which labels are read, and values on use; ValueError for a missing file."""
    from scorecube.storage.codec import open_lazily

    path = head.group(kind)
    if len(keys_of(place, path)) != head.facts[kind]["files"]:
        raise ValueError("a file is missing")
    arrays = _arrays(place, head, kind)
    labels = [array for name, array in arrays.items() if name != SCORE]
    where = f"{place.name}: {path}"
    refuse_too_large(sum(array.n_bytes for array in labels), where)
    return open_lazily(place.array_store(path), what=where)


def _checked(dataset: xr.Dataset, kind: str) -> xr.Dataset:
    """Return a cube or rankings; ValueError for what lacks their variables or labels."""
    from scorecube.collection import schema
    from scorecube.collection.arguments import DIMS

    is_cube = kind == CUBE
    try:
        schema.check(dataset, schema.CUBE if is_cube else schema.RANKINGS, kind)
    except BadInput as error:
        raise ValueError(str(error)) from None
    dim_of = {dim: dim for dim in (DIMS if is_cube else (RUN, TOPIC))}
    dim_of |= {k: dim for k, dim in FACTS_OF.items() if k in dataset}
    for name, dim in dim_of.items():
        array = dataset.coords.get(name)
        if array is None or array.size == 0 or array.dims != (dim,):
            raise ValueError(f"has no labels of {name}")
        if not all(map(is_text, array.values)):
            raise ValueError(f"has labels of {name} that are no texts")
    check(dataset.attrs, {}, OF_SOME_CUBES)
    return dataset

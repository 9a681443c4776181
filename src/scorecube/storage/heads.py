"""Heads: numbered files, of which the newest says what a collection is.

    study/NAME/head.00007.json            cube, its versions whose scores are in it, rankings, the
    digest of each of their files, facts
              /cube-<digest>.zarr/        score[metric, gain, run, topic]; plain zarr, never changed
              /rankings-<digest>.zarr/    levels in rank order
              /results/<analysis>/<plan>.zarr.zip, and .json with facts for listings
              /blocks/<analysis>/<work>/<start>-<stop>.npz

A commit creates the head with the next number, which fails if another process was faster: then it
    is tried again on top of that one. Heads are
never deleted, so a number is never used twice, and nothing that was committed is lost: there is no
    lock.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage.place import Place
from scorecube.storage.sealed import decode_record, encode_record

MAX_FOLDER_BYTES: Final = 200
"""Of the folder of a collection; file systems allow 255 bytes."""
RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.ASCII)
"""Names that Windows keeps for devices."""
HEAD: Final = re.compile(r"head\.(\d{5,9})\.json", re.ASCII)
CUBE, RANKINGS, RESULTS, BLOCKS = "cube", "rankings", "results", "blocks"
"""First parts of the names of what a folder holds."""


@dataclass(frozen=True)
class Head:
    """What a collection is.

    number: Of the head, from 1.
    name: Of the collection.
    cube, rankings: Digests in the names of their groups; empty for no rankings.
    contains: Versions of the cube whose scores are in it, itself included: results of these are
        current.
    files: Digest of each file of `cube` and `rankings`, by its key below the group.
    facts: JSON values that listings show of `cube` and `rankings`, and ``facts`` that others noted.
    id: Random: two heads of the same content differ.
    """

    name: str
    number: int = 0
    cube: str = ""
    rankings: str = ""
    contains: tuple[str, ...] = ()
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
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
    folder = quote(plain, safe="")
    if not folder.strip("."):
        return folder.replace(".", "%2E")
    if folder.startswith("."):
        folder = "%2E" + folder[1:]
    if folder.endswith("."):
        folder = folder[:-1] + "%2E"
    return f"%{ord(folder[0]):X}{folder[1:]}" if RESERVED.fullmatch(folder) else folder


def check_collection_name(name: str) -> None:
    """Refuse names that cannot be those of collections (BadStudy)."""
    try:
        fits = 0 < len(folder_of(name)) <= MAX_FOLDER_BYTES
    except UnicodeEncodeError:  # of bytes of the command line that are not UTF-8
        fits = False
    control = any(unicodedata.category(character) == "Cc" for character in name)
    if not fits or control or not name.strip():
        raise BadStudy(
            f"{name!r} cannot name a collection: it must not be blank, hold control characters or "
            f"bytes that are not UTF-8, or be "
            f"longer than {MAX_FOLDER_BYTES} bytes as the name of a folder, where other letters "
            f"than a to z take several"
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
    matches = map(HEAD.fullmatch, place.children(folder))
    return [int(match[1]) for match in matches if match is not None]


def read_head(place: Place, folder: str, number: int) -> Head:
    """Return a head that was listed (CorruptStudy if it is damaged, or of another folder)."""
    key = head_key(folder, number)
    content = place.read(key)
    try:
        if content is None:
            raise ValueError("is missing")
        record = decode_record(content)
        head = Head(**{**record, "contains": tuple(record["contains"])})
        versions = (head.cube, head.rankings, *head.contains)
        if not all(re.fullmatch("[0-9a-f]*", version) for version in versions):
            raise ValueError("names what is no digest")
        if head.number != number or folder_of(head.name) != folder:
            raise ValueError("is that of another collection, or of another number")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptStudy(
            f"{place.name}: {key}: {error}; run scorecube verify to list all damage, and restore "
            f"the file from a copy, or write the "
            "collection again under another name"
        ) from None
    return head


def head_key(folder: str, number: int) -> str:
    """Return the key of a head."""
    return f"{folder}/head.{number:05d}.json"


def commit(place: Place, name: str, change: Callable[[Head], Head]) -> Head:
    """Change what a collection is, and return its new head.

    change: Returns the next head for the newest, or the same one for no change; called again where
        another process was faster. What it
        names is written before it returns.
    """
    folder = folder_of(name)
    while True:
        head = latest_head(place, folder) or Head(name)
        if head.name != name:
            raise BadStudy(
                f"{place.name}: {name!r} cannot be told from the collection {head.name!r} on every "
                f"file system; choose another name"
            )
        after = change(head)
        if after == head:
            return head
        after = replace(after, number=head.number + 1, id=secrets.token_hex(8))
        if place.create(head_key(folder, after.number), encode_record(asdict(after))):
            return after

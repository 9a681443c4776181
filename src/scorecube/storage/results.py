"""Results: an archive of a zarr group each, and a record for listings.

    NAME/results/<analysis>/00003-<plan>-<version>.zarr.zip
                           /00003-<plan>-<version>.json      attributes, and the archive's digest

The archive is written first; without its record it is a result all the same, and a record without
its archive is damage. Names say which results there are, of which scores, and which is the latest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scorecube.errors import CorruptStudy
from scorecube.storage.heads import Head, corrupt, head_numbers
from scorecube.storage.place import Place
from scorecube.storage.sealed import decode_record, encode_record, pack, seal_of, unpack

if TYPE_CHECKING:
    import xarray as xr

ARCHIVE, RECORD = ".zarr.zip", ".json"
"""Ends of names."""
METADATA: Final = "zarr.json"
NAME: Final = re.compile(r"(\d{5,9})-([0-9a-f]{8,64})-([0-9a-f]*)(\.json|\.zarr\.zip)", re.ASCII)


class Stored(NamedTuple):
    """A result, by the names of its files.

    number: One more than those of the results of its analysis that were there before.
    digest: Of its plan.
    version: Of the scores that it is of.
    folder: Of its files.
    """

    number: int
    digest: str
    version: str
    folder: str

    @property
    def archive(self) -> str:
        """Path of its archive."""
        return f"{self.folder}/{self.number:05d}-{self.digest}-{self.version}{ARCHIVE}"

    @property
    def record(self) -> str:
        """Path of its record."""
        return self.archive.removesuffix(ARCHIVE) + RECORD


class Facts(NamedTuple):
    """The record of a result.

    path: Of the record.
    head: Number of the newest head when it was stored.
    seal: Of its archive.
    attributes: JSON values, with the plan and its digest.
    """

    path: str
    head: int
    seal: str
    attributes: dict[str, Any]


def records_in(place: Place, folder: str) -> list[Stored]:
    """Return the results of an analysis, latest last; one that was stored twice is there twice."""
    matches = filter(None, map(NAME.fullmatch, place.children(folder)))
    return sorted({Stored(int(match[1]), match[2], match[3], folder) for match in matches})


def results_in(place: Place, folder: str) -> list[Stored]:
    """Return the results of an analysis, latest last."""
    return sorted({stored.digest: stored for stored in records_in(place, folder)}.values())


def write_result(place: Place, folder: str, values: xr.Dataset, version: str, head: Head) -> None:
    """Write the archive of a result, unless it is there, and its record."""
    from scorecube.storage.codec import encode

    before, digest = records_in(place, folder), values.attrs["digest"]
    number = 1 + before[-1].number if before else 1
    stored, archive = Stored(number, digest, version, folder), pack(encode(values))
    if not place.create(stored.archive, archive):
        there = place.read(stored.archive) or b""
        try:
            _attributes(folder, digest, there)
            archive = there
        except (ValueError, KeyError, TypeError):
            place.write(stored.archive, archive)
    write_record(place, stored, archive, head.number)
    for other in before:
        if other.digest == digest:
            place.delete(other.record)
            place.delete(other.archive)


def write_record(place: Place, stored: Stored, archive: bytes, head: int = 0) -> None:
    """Write what an archive says beside it; 0 for a head that is not known."""
    place.write(stored.record, encode_record(_facts_in(stored, archive, head)._asdict()))


def _facts_in(stored: Stored, archive: bytes, head: int = 0) -> Facts:
    attributes = _attributes(stored.folder, stored.digest, archive)
    return Facts(stored.record, head, seal_of(archive), attributes)


def _attributes(folder: str, digest: str, archive: bytes) -> dict[str, Any]:
    """Return the attributes of the result in an archive (ValueError for one of another plan)."""
    attributes: dict[str, Any] = json.loads(unpack(archive, METADATA)[METADATA])["attributes"]
    attributes.pop("coordinates", None)
    if [attributes["analysis"], attributes["digest"]] != [folder.rpartition("/")[2], digest]:
        raise ValueError("is the result of another plan")
    return attributes


def read_result(place: Place, stored: Stored) -> xr.Dataset:
    """Return a result (CorruptStudy if it is missing or damaged)."""
    from scorecube.storage.codec import decode

    facts, archive = read_facts(place, stored), place.read(stored.archive)
    try:
        if archive is None:
            raise ValueError("is missing")
        if seal_of(archive) != facts.seal:
            raise ValueError("does not match its digest")
        return decode(unpack(archive))
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise corrupt(place, stored.archive, error) from None


def read_facts(place: Place, stored: Stored, newest: int = 0) -> Facts:
    """Return the record of a result, or what its archive says where there is none.

    newest: Number of the newest head that is known; other processes may have made newer ones.
    Raises CorruptStudy: It is damaged, that of another result, or of a head that is missing.
    """
    try:
        content = place.read(stored.record)
        if content is None:
            return _facts_in(stored, place.read(stored.archive) or b"")
        facts = Facts(**decode_record(content))
        if facts.path != stored.record or facts.attributes["digest"] != stored.digest:
            raise ValueError("is the record of another result")
        if facts.head > newest:
            newest = max(head_numbers(place, stored.folder.partition("/")[0]))
        if facts.head > newest:
            raise ValueError(f"names head {facts.head}, which is missing")
    except (ValueError, KeyError, TypeError) as error:
        raise corrupt(place, stored.record, error) from None
    return facts


def plan_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a result, with its options, from its attributes (CorruptStudy for none).

    Examples
    --------
    >>> plan_of({"plan": '{"options": {"size": 5}, "trials": 9}'})["options"]
    {'size': 5}
    """
    try:
        plan: dict[str, Any] = json.loads(attributes["plan"])
        dict(plan["options"])
    except (ValueError, KeyError, TypeError) as error:
        name = attributes.get("analysis", "a result")
        raise CorruptStudy(
            f"the plan of {name} cannot be read: {error!r}; run scorecube verify"
        ) from None
    return plan


def plan_options(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what distinguishes a result's plan from others, whatever its scores."""
    left_out = ("cube", "teams", "systems", "seed", "trials")
    return {key: value for key, value in plan_of(attributes).items() if key not in left_out}

"""Results: an archive of a zarr group each, whose name says of which plan and scores it is.

    NAME/results/<analysis>/00003-00007-<plan>-<version>.zarr.zip

The first number is its turn, by which the latest is known; the second is that of the newest head
when it was stored, so that a result is a witness of its head.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scorecube.storage.heads import corrupt
from scorecube.storage.place import Place
from scorecube.storage.sealed import pack, unpack

if TYPE_CHECKING:
    import xarray as xr

METADATA: Final = "zarr.json"
NAME: Final = re.compile(r"(\d{5,9})-(\d{5,9})-([0-9a-f]{8,64})-([0-9a-f]*)\.zarr\.zip", re.ASCII)


class Stored(NamedTuple):
    """A result, by the name of its archive.

    number: One more than those of the results of its analysis that were there before.
    head: Number of the newest head when it was stored.
    digest: Of its plan.
    version: Of the scores that it is of.
    folder: Of its archive.
    """

    number: int
    head: int
    digest: str
    version: str
    folder: str

    @property
    def path(self) -> str:
        """Path of its archive."""
        name = f"{self.number:05d}-{self.head:05d}-{self.digest}-{self.version}.zarr.zip"
        return f"{self.folder}/{name}"


def archives_in(place: Place, folder: str) -> list[Stored]:
    """Return the results of an analysis, latest last; one that was stored twice is there twice."""
    matches = filter(None, map(NAME.fullmatch, place.children(folder)))
    return sorted(
        Stored(int(match[1]), int(match[2]), match[3], match[4], folder) for match in matches
    )


def results_in(place: Place, folder: str) -> list[Stored]:
    """Return the results of an analysis, latest last."""
    return sorted({stored.digest: stored for stored in archives_in(place, folder)}.values())


def write_result(place: Place, folder: str, values: xr.Dataset, version: str, head: int) -> None:
    """Write the archive of a result; one of the same plan that was there before goes."""
    from scorecube.storage.codec import encode

    before, digest = archives_in(place, folder), values.attrs["digest"]
    number = 1 + before[-1].number if before else 1
    place.write(Stored(number, head, digest, version, folder).path, pack(encode(values)))
    for other in before:
        if other.digest == digest:
            place.delete(other.path)


def read_result(place: Place, stored: Stored) -> xr.Dataset:
    """Return a result (CorruptStudy if it is damaged)."""
    from scorecube.storage.codec import decode

    try:
        files = unpack(place.read(stored.path) or b"")
        _check(stored, files)
        return decode(files)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise corrupt(place, stored.path, error) from None


def read_attributes(place: Place, stored: Stored) -> dict[str, Any]:
    """Return the attributes of a result, without its arrays (CorruptStudy if it is damaged)."""
    try:
        return _check(stored, unpack(place.read(stored.path) or b"", METADATA))
    except (ValueError, KeyError, TypeError) as error:
        raise corrupt(place, stored.path, error) from None


def _check(stored: Stored, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the attributes of a result; ValueError for one of another plan, or without one."""
    attributes: dict[str, Any] = json.loads(files[METADATA])["attributes"]
    attributes.pop("coordinates", None)
    if [attributes["analysis"], attributes["digest"]] != [
        stored.folder.rpartition("/")[2],
        stored.digest,
    ]:
        raise ValueError("is the result of another plan")
    dict(plan_of(attributes)["options"])
    return attributes


def plan_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a result, with its options, from its attributes.

    Examples
    --------
    >>> plan_of({"plan": '{"options": {"size": 5}, "trials": 9}'})["options"]
    {'size': 5}
    """
    plan: dict[str, Any] = json.loads(attributes["plan"])
    return plan

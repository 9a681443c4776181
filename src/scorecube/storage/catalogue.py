"""The list of a study's collections, with what the index says of each; imports neither xarray nor zarr."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from scorecube.errors import BadStudy, CorruptStudy, ScorecubeError
from scorecube.storage.index import Row, read_segments, restamped, row_of, write_rows
from scorecube.storage.layout import FORMAT_VERSION, METADATA, UNSETTLED, VERSION, inside
from scorecube.storage.location import STAGED, Location, open_location
from scorecube.storage.manifest import (
    COMMIT,
    DIGEST,
    MANIFEST,
    Manifest,
    decode,
    digest_of,
    unsealed,
)

ATTRIBUTES = "attributes"
"""Fact of a result: its attributes."""
MAX_NAME_BYTES: Final = 150
"""Of a collection: its lock file has a longer name, and file systems allow 255 bytes."""


class Catalogue:
    """The collections of a study.

    location: Of the study.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.path = location.name
        self.paths: dict[str, str] = {}
        """Paths of the collections' groups by name."""
        self.parts: dict[str, int] = {}
        """Numbers of parts of the sweeps whose parts were merged into the study, see `merge`."""

    def refresh(self) -> bytes | None:
        """Read the list of collections again and return the metadata file that holds it."""
        with self.location.failures():
            content = self.location.read(METADATA)
        if content is None:
            self.paths = {}
            return None
        try:
            attributes = json.loads(content).get("attributes", {})
            version = attributes.get(VERSION)
        except (ValueError, AttributeError, RecursionError):
            raise CorruptStudy(
                f"{self.path}: no study can be read there: its {METADATA} is damaged; restore it from a copy"
            ) from None
        if MANIFEST in attributes or DIGEST in attributes:
            manifest = unsealed(content, self.path)[MANIFEST]
            listed, parts = manifest.get("collections"), manifest.get("parts")
            self.paths = {
                inside(name, self.path, parts=1): inside(path, self.path)
                for name, path in (listed if isinstance(listed, dict) else {"": None}).items()
            }
            self.parts = parts if isinstance(parts, dict) else {}
        if version != FORMAT_VERSION:
            raise BadStudy(
                f"{self.path}: a zarr store, but not a study of format {FORMAT_VERSION} (found {version})"
            )
        if MANIFEST not in attributes:
            raise CorruptStudy(f"{self.path}: its {METADATA} lacks the list of collections")
        return content

    def path_of(self, name: str) -> str:
        """Return the path of a collection's group, for one that is new the path that it will have."""
        return self.paths.get(name, name)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or is_reserved(name):
            return False
        if name not in self.paths:
            self.refresh()
        return name in self.paths

    def rows(self) -> dict[str, Row]:
        """Return the rows of all collections, sorted by name; those that are not current are made of the manifests and stored.

        Raises CorruptStudy: A manifest that is damaged.
        """
        self.refresh()
        with self.location.failures():
            keys = {name: f"{path}/{METADATA}" for name, path in self.paths.items()}
            found = read_segments(self.location)
            stamps = self.location.stamps(keys)
            current = {
                name: row
                for name, row in found.rows.items()
                if name in keys and not found.damaged and row.stamp == stamps[name] != UNSETTLED
            }
            needed = [name for name in keys if name not in current]
            if not needed:
                return dict(sorted(current.items()))
            contents = self.location.read_many([keys[name] for name in needed])
            made = {
                name: self._row(name, contents[keys[name]], stamps[name], found.rows.get(name))
                for name in needed
            }
            self.keep_rows(made, merge_all=not current)
        return dict(sorted((current | made).items()))

    def keep_rows(self, rows: Mapping[str, Row], *, merge_all: bool = False) -> None:
        """Write rows to the index, if it may be written to."""
        with suppress(OSError, ScorecubeError), self.location.failures():
            write_rows(self.location, rows, merge_all=merge_all)

    def _row(self, name: str, content: bytes | None, stamp: str, stored: Row | None) -> Row:
        """Return the row of a manifest: the stored one if it is of the same content."""
        row = None if stored is None else restamped(stored, content, stamp)
        if row is not None:
            return row
        return row_of(self.manifest_of(name, content), digest_of(content or b""), stamp)

    def manifest_of(self, name: str, content: bytes | None) -> Manifest:
        """Return the manifest of a collection from its metadata file."""
        return decode(content, name, f"{self.path}: {name}")


def is_reserved(name: str) -> bool:
    """Whether a name cannot be that of a collection."""
    try:
        length = len(name.encode())
    except UnicodeEncodeError:  # of bytes of the command line that are not UTF-8
        return True
    return (
        not name
        or length > MAX_NAME_BYTES
        or name.startswith(".")
        or name.endswith((STAGED, METADATA))
        or any(
            character in "/\\" or ord(character) < 32 or ord(character) == 127 for character in name
        )
    )


def check_collection_name(name: str) -> None:
    """Refuse names that cannot be groups of a store."""
    if is_reserved(name):
        raise BadStudy(
            f"{name!r} cannot name a collection: it must not be empty, start with a dot, contain a slash, end in "
            f"{STAGED} or {METADATA}, be longer than {MAX_NAME_BYTES} bytes, or hold control "
            "characters or bytes that are not UTF-8"
        )


def in_order(results: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return facts of results, by digest, with their digest, in the order in which they were stored, latest last."""
    return sorted(
        ({**facts, "digest": digest} for digest, facts in results.items()),
        key=lambda each: (int(each.get(COMMIT, 0)), str(each.get("finished", "")), each["digest"]),
    )


def open_catalogue(path: str | os.PathLike[str]) -> Catalogue:
    """Return the catalogue of a study for reading.

    Parameters
    ----------
    path
        Directory or URL of the study, as of `scorecube.open_study`.

    Returns
    -------
    catalogue
        Its collections, with what the index says of them.

    Raises
    ------
    BadStudy
        No study there, or other content.
    """
    location = open_location(path)
    with location.failures():
        if not location.holds_zarr():
            raise BadStudy(no_study(location))
        catalogue = Catalogue(location)
        catalogue.refresh()
    return catalogue


def no_study(location: Location) -> str:
    """Return the message of the error for a location without a study."""
    lacks = "" if "://" in location.name or os.path.lexists(location.name) else ", no such folder"
    return f"{location.name}: no study there{lacks}; make one with: scorecube evaluate {location.name} --name NAME --runs ... --qrels ..."

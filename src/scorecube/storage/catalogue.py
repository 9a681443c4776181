"""The list of a study's collections, with what the index says of each; imports neither xarray nor zarr unless the study is old."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage.index import (
    Row,
    is_current,
    read_segments,
    restamped,
    row_of,
    with_facts,
    write_rows,
)
from scorecube.storage.layout import FORMAT_VERSION, METADATA, VERSION, inside
from scorecube.storage.location import Location, open_location
from scorecube.storage.manifest import (
    COMMIT,
    CUBE,
    DIGEST,
    MANIFEST,
    OUTDATED,
    RANKINGS,
    RESULTS,
    Manifest,
    decode,
    digest_of,
    unsealed,
)

FIRST_FORMAT = 1
"""Format of version 0.1.0, without manifests."""
ATTRIBUTES, MADE_BY = "attributes", "made_by"
"""Facts of a result: its attributes, and the version that made the facts which are shown."""


@dataclass(frozen=True)
class Describe:
    """How facts of a result that are shown are made, for results that were stored without them.

    Parameters
    ----------
    analysis
        Whose results are to have the facts; None for those of all.
    version
        Facts of other versions are made anew.
    facts
        Makes them of a result, an `xarray.Dataset`.
    """

    analysis: str | None
    version: str
    facts: Callable[[Any], dict[str, Any]]

    def lacks(self, analysis: str, facts: Mapping[str, Any]) -> bool:
        """Whether a result of an analysis, of the stored scores, lacks the facts."""
        return (
            self.analysis in (None, analysis)
            and not facts.get(OUTDATED)
            and facts.get(MADE_BY) != self.version
        )


class Catalogue:
    """The collections of a study.

    Parameters
    ----------
    location
        Of the study.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.path = location.name
        self.version = FORMAT_VERSION
        """Format of the store."""
        self.paths: dict[str, str] = {}
        """Paths of the collections' groups by name."""
        self.parts: dict[str, int] = {}
        """Numbers of parts of the sweeps whose parts were merged into the study, see `merge`."""
        self.made = 0
        """Rows that the last call of `rows` made of a study without an index."""

    @property
    def catalogue(self) -> Catalogue:
        """Itself, as of a `Study`."""
        return self

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
        elif version == FIRST_FORMAT:
            from scorecube.storage import version_1

            with self.location.failures():
                self.paths = version_1.collection_paths(self.location)
        if version not in (FIRST_FORMAT, FORMAT_VERSION):
            raise BadStudy(
                f"{self.path}: a zarr store, but not a study of format {FORMAT_VERSION} (found {version})"
            )
        if version == FORMAT_VERSION and MANIFEST not in attributes:
            raise CorruptStudy(f"{self.path}: its {METADATA} lacks the list of collections")
        self.version = version
        return content

    def rows(self, describe: Describe | None = None) -> dict[str, Row]:
        """Return the rows of all collections, sorted by name; those that are not current are made of the manifests and stored.

        Parameters
        ----------
        describe
            Also make facts of results that lack them.

        Raises
        ------
        CorruptStudy
            A manifest that is damaged, or a cube that is needed for a row.
        """
        self.refresh()
        self.made = 0
        with self.location.failures():
            keys = {name: f"{path}/{METADATA}" for name, path in self.paths.items()}
            found = read_segments(self.location)
            stamps = self.location.stamps(keys)
            stored = found.rows if self.version == FORMAT_VERSION else {}
            current = {
                name: row
                for name, row in stored.items()
                if name in keys and not found.damaged and is_current(row, stamps[name])
            }
            complete = {name for name, row in current.items() if _is_complete(row, describe)}
            needed = [name for name in keys if name not in complete]
            if not needed:
                return dict(sorted(current.items()))
            made = self._make(needed, keys, stored, stamps, describe)
            self.made = 0 if found.names else len(made)
            if self.version == FORMAT_VERSION:
                with suppress(Exception):  # perhaps it may not be written to
                    write_rows(self.location, made, merge_all=not current)
        return dict(sorted((current | made).items()))

    def _make(
        self,
        names: list[str],
        keys: Mapping[str, str],
        stored: Mapping[str, Row],
        stamps: Mapping[str, str],
        describe: Describe | None,
    ) -> dict[str, Row]:
        """Return rows of the manifests of some collections."""
        contents = self.location.read_many([keys[name] for name in names])
        made = {}
        for name in names:
            content, stamp = contents[keys[name]], stamps[name]
            row = restamped(stored[name], content, stamp) if name in stored else None
            if row is None or not _is_complete(row, describe):
                manifest = self.manifest_of(name, content)
                manifest = manifest if row is None else with_facts(manifest, row)
                if _lacks_facts(manifest, describe):
                    study = import_module(f"{__package__}.study").Study(self)  # needs xarray
                    manifest = study.with_facts(name, manifest, describe)
                row = row_of(manifest, digest_of(content or b""), stamp)
            made[name] = row
        return made

    def manifest_of(self, name: str, content: bytes | None) -> Manifest:
        """Return the manifest of a collection from its metadata file."""
        if self.version == FIRST_FORMAT and not has_manifest(content):
            from scorecube.storage import version_1

            return version_1.read_manifest(self.location, self.paths.get(name, name), name)
        return decode(content, name, f"{self.path}: {name}")


def in_order(results: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return facts of results, by digest, with their digest, in the order in which they were stored, latest last.

    Those that an earlier version stored have no commit and come first, in the order of their clocks.
    """
    return sorted(
        ({**facts, "digest": digest} for digest, facts in results.items()),
        key=lambda each: (int(each.get(COMMIT, 0)), str(each.get("finished", "")), each["digest"]),
    )


def has_manifest(content: bytes | None) -> bool:
    """Whether a metadata file holds a manifest, as in every study but those of format 1."""
    try:
        attributes = json.loads(content or b"{}").get("attributes", {})
        return MANIFEST in attributes or DIGEST in attributes
    except (ValueError, AttributeError, RecursionError):
        return True  # damaged: not one of format 1


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
    return f"{location.name}: no study there; make one with: scorecube evaluate {location.name} --name NAME --runs ... --qrels ..."


def _is_complete(row: Row, describe: Describe | None) -> bool:
    rankings = row.facts[RANKINGS]
    if not row.facts[CUBE] or (rankings is not None and not rankings):
        return False
    if describe is None:
        return True
    return not any(
        describe.lacks(analysis, facts)
        for analysis in (row.texts if describe.analysis is None else [describe.analysis])
        for facts in row.results(analysis).values()
    )


def _lacks_facts(manifest: Manifest, describe: Describe | None) -> bool:
    """Whether facts of a manifest must be made from arrays, as it was stored by an earlier version."""
    return not all(
        entry.facts
        if name in (CUBE, RANKINGS)
        else describe is None
        or not name.startswith(f"{RESULTS}/")
        or not describe.lacks(name.split("/")[1], entry.facts)
        for name, entry in manifest.entries.items()
    )

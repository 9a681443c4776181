"""Studies of format 1, which version 0.1.0 wrote: read as they are, and given manifests by the first write.

A complete group has the attribute ``complete``. On object stores the attribute ``places`` of the parent records where a replaced group lies; in
directories a process that was killed between two renames left it under its name with ``.new``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorecube.storage.layout import METADATA, NEW, OLD
from scorecube.storage.location import Location
from scorecube.storage.manifest import (
    BLOCKS,
    CUBE,
    MANIFEST,
    RANKINGS,
    RESULTS,
    Entry,
    Manifest,
    digests_of,
    encode,
)
from scorecube.storage.nodes import child_group, child_groups, open_group

if TYPE_CHECKING:
    import zarr

FORMAT = 1
COMPLETE, PLACES = "complete", "places"
"""Attributes of a complete group, and of a parent: name of a group -> name under which it lies, if they differ."""


def collection_paths(location: Location) -> dict[str, str]:
    """Return the complete collections: name -> path."""
    root = open_group(location)
    complete = {
        name
        for name, group in child_groups(root).items()
        if group.attrs.get(COMPLETE) or MANIFEST in group.attrs  # an upgrade that was interrupted
    }
    paths = {name: name for name in complete if not name.endswith((NEW, OLD))}
    paths |= {
        name.removesuffix(NEW): name
        for name in complete
        if name.endswith(NEW) and name.removesuffix(NEW) not in complete
    }
    return dict(sorted((paths | _places(root, complete)).items()))


def _places(group: zarr.Group, members: set[str]) -> dict[str, str]:
    stored = group.attrs.get(PLACES)
    places = stored if isinstance(stored, dict) else {}
    return {str(name): str(path) for name, path in places.items() if path in members}


def read_manifest(location: Location, path: str, name: str) -> Manifest:
    """Return the manifest that describes a collection, without digests.

    location: Of the study.
    path: Of the collection's group.
    name: Of the collection.
    """
    group = open_group(location, path)
    members = child_groups(group)
    cube = _places(group, set(members)).get(CUBE, CUBE)
    entries = {CUBE: Entry(cube if cube in members else CUBE + NEW, None)}
    if RANKINGS in members:
        entries[RANKINGS] = Entry(RANKINGS, None)
    for kind in (RESULTS, BLOCKS):
        parent = child_group(group, kind)
        for analysis, below in child_groups(parent).items() if parent is not None else ():
            for digest, found in child_groups(below).items():
                if kind == BLOCKS or found.attrs.get(COMPLETE):
                    key = f"{kind}/{analysis}/{digest}"
                    facts = {"finished": str(found.attrs.get("finished", ""))}
                    entries[key] = Entry(key, None, facts if kind == RESULTS else {})
    noted = {key: value for key, value in group.attrs.items() if key not in (COMPLETE, PLACES)}
    return Manifest(name, 0, entries, noted)


def upgrade(location: Location, path: str, name: str) -> None:
    """Give a collection a manifest with the digests of the metadata that it has now."""
    key = f"{path}/{METADATA}"
    content = location.read(key)
    manifest = read_manifest(location, path, name)
    entries = {
        name: Entry(entry.path, digests_of(location.metadata(f"{path}/{entry.path}")), entry.facts)
        if not name.startswith(BLOCKS)  # whose metadata changes; their records are digests
        else entry
        for name, entry in manifest.entries.items()
    }
    location.exchange(key, content, encode(manifest.with_entries(entries)))

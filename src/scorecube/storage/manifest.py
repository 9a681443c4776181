"""Manifests: what a study and each of its collections must hold, with digests of all metadata.

zarr's metadata has no checksums, and a group that is gone reads like one that never was. The attributes of a collection's group therefore
list its entries (cube, rankings, results, recorded blocks): where each lies, and the digest of each of its metadata files, which in turn hold
the digest of the values. The attributes of the study's group list the collections. Both carry a digest of themselves.

Writing a manifest is what commits a change: a group is written beside the others under a path of its own, then the manifest that names it
replaces the old one in one step, and only then is the old group removed. A reader sees the state before or after. The step fails if the
manifest has changed since it was read, or if the lock was lost, so a writer that was stopped and overtaken changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from scorecube.errors import CorruptStudy
from scorecube.storage.fact_types import checked_facts
from scorecube.storage.layout import METADATA, all_inside, inside
from scorecube.storage.location import Location

MANIFEST, DIGEST = "manifest", "manifest_sha256"
"""Attributes of the group of a collection, and of a study: the manifest, and its digest."""
DIGEST_LENGTH: Final = 32
"""Hexadecimal digits of a digest of metadata, 128 bits."""
CUBE, RANKINGS, RESULTS, BLOCKS = "cube", "rankings", "results", "blocks"
"""Entries, and the first parts of the names of entries such as ``results/swap/0123456789abcdef``."""
OUTDATED = "outdated"
"""Fact of a result: the scores were replaced since it was computed."""
COMMIT = "commit"
"""Fact of a result: number of the commit that it came by."""
PLAIN: Final = {"zarr_format": 3, "node_type": "group"}
"""Metadata of a zarr group without its attributes."""
EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True)
class Entry:
    """One group of a collection.

    path: Of the group, below that of the collection.
    files: Digest of each metadata file, by its key below the group.
    facts: Further facts as JSON values.
    """

    path: str
    files: Mapping[str, str]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What a collection holds.

    commit: Number of changes so far; 0 before the first.
    entries: Groups by name.
    facts: Further facts of the collection as JSON values.
    """

    collection: str
    commit: int = 0
    entries: Mapping[str, Entry] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def with_entries(self, entries: Mapping[str, Entry]) -> Manifest:
        """Return a copy with further entries, which replace those of the same name."""
        return replace(self, entries={**self.entries, **entries})

    def with_new(self, entries: Mapping[str, Entry]) -> Manifest:
        """Return a copy with further entries, whose results say by which commit they came: clocks of machines differ.

        A result that is written in another form keeps its number.
        """
        number = {COMMIT: self.commit + 1}
        return self.with_entries(
            {
                name: replace(entry, facts={**entry.facts, **number})
                if name.startswith(f"{RESULTS}/")
                and (name not in self.entries or entry.facts != self.entries[name].facts)
                else entry
                for name, entry in entries.items()
            }
        )

    def without(self, names: set[str]) -> Manifest:
        """Return a copy without some entries."""
        kept = {name: entry for name, entry in self.entries.items() if name not in names}
        return replace(self, entries=kept)

    def paths(self) -> set[str]:
        """Return the paths of all groups."""
        return {entry.path for entry in self.entries.values()}

    def free_path(self, name: str) -> str:
        """Return a path for a new group of an entry: its name, or for one that may have been replaced before a numbered one.

        No path is used twice: a process that was stopped may still write to the old one, or remove it.
        """
        if name in self.paths() or (name in (CUBE, RANKINGS) and self.commit):
            return f"{name}.{self.commit + 1}"
        return name


def digest_of(content: bytes) -> str:
    """Return the digest of a metadata file."""
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def digests_of(metadata: Mapping[str, bytes]) -> dict[str, str]:
    """Return the digests of the metadata files among some objects."""
    return {
        key: digest_of(content)
        for key, content in sorted(metadata.items())
        if key.rpartition("/")[2] == METADATA
    }


def group_metadata(attributes: Mapping[str, Any] = EMPTY) -> bytes:
    """Return the metadata file of a zarr group."""
    content = {"attributes": dict(attributes), **PLAIN}
    return json.dumps(content, ensure_ascii=False).encode()


def sealed(manifest: Mapping[str, Any], attributes: Mapping[str, Any] = EMPTY) -> bytes:
    """Return the metadata file of a group whose attributes are a manifest with its digest, and others.

    The digest is over all attributes.
    """
    content = {**attributes, MANIFEST: manifest}
    return group_metadata({**content, DIGEST: _seal(content)})


def _seal(attributes: Mapping[str, Any]) -> str:
    text = json.dumps(attributes, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def unsealed(content: bytes | None, where: str) -> dict[str, Any]:
    """Return the attributes of a metadata file with a manifest.

    content: Of the file; None if there is none.
    where: Study and collection, for the message.
    Raises CorruptStudy: The file is missing, or does not match the digest that it holds.
    """
    if content is None:
        raise _damaged(where, f"its {METADATA} is missing")
    try:
        group = json.loads(content)
        attributes = group.pop("attributes")
        digest = attributes.pop(DIGEST)
        if not isinstance(attributes[MANIFEST], dict):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _damaged(where, f"its {METADATA} cannot be read or lacks the manifest") from None
    if digest != _seal(attributes) or group != PLAIN:
        raise _damaged(where, f"its {METADATA} does not match its digest")
    return dict(attributes)


def _damaged(where: str, problem: str) -> CorruptStudy:
    return CorruptStudy(
        f"{where}: {problem}; run scorecube verify to list all damage, and restore the file from a copy, or write the "
        "collection again under another name"
    )


def encode(manifest: Manifest) -> bytes:
    """Return the metadata file of a collection's group."""
    entries = {
        name: {
            key: value
            for key, value in (("path", entry.path), ("files", entry.files), ("facts", entry.facts))
            if value
        }
        for name, entry in sorted(manifest.entries.items())
    }
    return sealed(
        {
            "collection": manifest.collection,
            "commit": manifest.commit,
            "entries": json.loads(json.dumps(entries, default=dict)),
            "facts": dict(manifest.facts),
        }
    )


@lru_cache(maxsize=2)  # a command reads the same one several times
def decode(content: bytes | None, collection: str, where: str) -> Manifest:
    """Return the manifest of a collection; CorruptStudy if it is missing, damaged, or of another collection."""
    stored = unsealed(content, where)[MANIFEST]
    try:
        if stored["collection"] != collection:
            raise _damaged(where, f"its {METADATA} is that of collection {stored['collection']!r}")
        entries = {
            name if name in (CUBE, RANKINGS) else inside(name, where, parts=3): Entry(
                inside(entry["path"], where),
                dict(zip(all_inside(entry["files"], where), entry["files"].values(), strict=True)),
                checked_facts(name, entry.get("facts", {})),
            )
            for name, entry in stored["entries"].items()
        }
        return Manifest(collection, int(stored["commit"]), entries, dict(stored["facts"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(where, f"its {METADATA} does not hold a manifest: {error}") from None


def read_checked(
    location: Location, path: str, files: Mapping[str, str]
) -> tuple[dict[str, bytes], list[str]]:
    """Return the metadata files of a group by key, and a text for each that is missing or changed."""
    location.check_inside(path)
    found = location.read_many([f"{path}/{key}" for key in files])
    problems = []
    for key, digest in files.items():
        content = found[f"{path}/{key}"]
        if content is None:
            problems.append(f"{key} is missing")
        elif digest_of(content) != digest:
            problems.append(f"{key} does not match its digest")
    return {key: found[f"{path}/{key}"] or b"" for key in files}, problems

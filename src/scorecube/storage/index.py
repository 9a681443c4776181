"""Index of a study: one row per collection with what its manifest says, so that listings read a few objects instead of thousands.

A row is made from the manifest of a collection and carries its commit number and digest, so rows can be made anew at any time and of two
rows the one with the higher commit counts. Rows lie in segments, the attributes of zarr groups below ``.index``, each with a digest of its
own. A writer adds a segment of its rows; a segment that is not larger than the rows to write is merged into it, so there are about
log2(collections) segments, and n writes copy n log2(n) rows. Two writers that merge at the same time both keep all rows.

The index is a cache and never trusted over manifests. A row counts only while the manifest is settled:

- in a directory, while the file of the manifest has the inode, size and time of modification that it had when the row was made (one
  ``stat`` per collection). A manifest is always written as a new file, so a commit without a row, as of a killed writer, is noticed.
- in an object store, while no lock file of the collection exists (one listing). A writer creates the lock file before its first commit and
  removes it after it has written the row; the lock file of a killed writer stays, and whoever takes it over writes the row.

Any other row is compared with the digest of the manifest and replaced if it differs. Damaged segments are ignored, and all rows are compared.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from scorecube.errors import CorruptStudy
from scorecube.storage.fact_types import checked_facts, unreadable
from scorecube.storage.layout import METADATA, UNSETTLED
from scorecube.storage.location import Location
from scorecube.storage.manifest import (
    CUBE,
    OUTDATED,
    PLAIN,
    RANKINGS,
    RESULTS,
    Manifest,
    digest_of,
    group_metadata,
)

INDEX: Final = ".index"
"""Path of the group of the segments; names of collections do not begin with a dot."""
ROWS, DIGEST = "rows", "rows_sha256"
"""Attributes of a segment."""
VERSIONS = "versions"
"""Fact of a row: digests that change whenever cube and rankings are written; empty where there are none."""
ATTEMPTS: Final = 5
"""To read the segments while others merge them."""


@dataclass(frozen=True)
class Row:
    """What the manifest of a collection says.

    commit, digest: Of the manifest.
    stamp: Of the file of the manifest, see `Location.stamps`.
    facts: JSON values: `facts` of the collection, `cube` and `rankings` (facts of these entries; None without
        rankings), `versions` of both, numbers of `results` and of `outdated` results by analysis.
    texts: Facts of the results by analysis, as JSON.
    """

    collection: str
    commit: int
    digest: str
    stamp: str
    facts: Mapping[str, Any]
    texts: Mapping[str, str] = field(default_factory=dict)

    def results(self, analysis: str) -> dict[str, dict[str, Any]]:
        """Return the facts of an analysis' results of the stored scores by digest."""
        try:
            found = json.loads(self.texts.get(analysis, "{}"))
            return {
                digest: checked_facts(RESULTS, facts)
                for digest, facts in found.items()
                if not facts.get(OUTDATED)
            }
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise CorruptStudy(
                unreadable(f"{self.collection}: {analysis} in {INDEX}", error)
            ) from None

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        return {
            "rankings": self.facts[RANKINGS] is not None,
            "results": dict(self.facts[RESULTS]),
            "outdated": dict(self.facts[OUTDATED]),
        }


def row_of(manifest: Manifest, digest: str, stamp: str) -> Row:
    """Return the row of a manifest whose metadata file has a digest and a stamp."""
    results: dict[str, dict[str, Mapping[str, Any]]] = {}
    counts: dict[bool, dict[str, int]] = {False: {}, True: {}}
    for name, entry in sorted(manifest.entries.items()):
        if name.startswith(f"{RESULTS}/"):
            _, analysis, plan = name.split("/", 2)
            results.setdefault(analysis, {})[plan] = dict(entry.facts)
            count = counts[bool(entry.facts.get(OUTDATED))]
            count[analysis] = count.get(analysis, 0) + 1
    cube, rankings = manifest.entries.get(CUBE), manifest.entries.get(RANKINGS)
    facts = {
        "facts": dict(manifest.facts),
        CUBE: dict(cube.facts) if cube is not None else {},
        VERSIONS: [
            "" if entry is None else entry.files.get(METADATA, "") for entry in (cube, rankings)
        ],
        RANKINGS: None if rankings is None else dict(rankings.facts),
        RESULTS: counts[False],
        OUTDATED: counts[True],
    }
    texts = {analysis: _json(found) for analysis, found in results.items()}
    return Row(manifest.collection, manifest.commit, digest, stamp, facts, texts)


@dataclass(frozen=True)
class Segments:
    """All rows that are stored.

    rows: By collection.
    names: Of the segments.
    damaged: Those of them that cannot be read: a row in them may be newer.
    """

    rows: dict[str, Row]
    names: tuple[str, ...]
    damaged: tuple[str, ...]


def read_segments(location: Location, chosen: Iterable[str] | None = None) -> Segments:
    """Read all segments of the index, or those of some names.

    One that is listed again without its object is no segment: an interrupted process left its directory.
    """
    empty: list[str] = []
    for _ in range(ATTEMPTS):
        names = segment_names(location) if chosen is None else list(chosen)
        contents = location.read_many([_key(name) for name in names])
        missing = [name for name in names if contents[_key(name)] is None]
        if not missing or chosen is not None:
            break
        if missing == empty:
            names = [name for name in names if name not in empty]
            break
        empty = missing  # or another process has merged them meanwhile
    rows: dict[str, Row] = {}
    damaged = []
    for name in names:
        content = contents[_key(name)]
        decoded = None if content is None else _decode(content)
        if decoded is None:
            damaged.append(name)
        for row in decoded or ():
            known = rows.get(row.collection)
            if known is None or known.commit <= row.commit:
                rows[row.collection] = row
    return Segments(rows, tuple(names), tuple(damaged))


def segment_names(location: Location) -> list[str]:
    """Return the names of the segments, oldest first."""
    return [name for name in location.children(INDEX) if _size(name) >= 0]


def write_rows(location: Location, rows: Mapping[str, Row], *, merge_all: bool = False) -> None:
    """Add rows, and merge segments that are not larger, or all; damaged ones that are merged are gone."""
    rows = {name: row for name, row in rows.items() if row.stamp != UNSETTLED}
    if not rows and not merge_all:
        return
    names = segment_names(location)
    if not names:
        location.write_cached(f"{INDEX}/{METADATA}", group_metadata())
    merged, total = list[str](), len(rows)
    for name in sorted(names, key=_size):
        if merge_all or _size(name) <= total:
            merged.append(name)
            total += _size(name)
    kept = read_segments(location, merged).rows if merged else {}  # perhaps newer ones of others
    for name, row in rows.items():
        known = kept.get(name)
        if known is None or known.commit <= row.commit:
            kept[name] = row
    name = f"{time.time_ns():020d}-{len(kept)}-{secrets.token_hex(4)}"
    location.write_cached(_key(name), _encode(kept.values()))
    for old in merged:
        location.remove_object(_key(old))


def _key(name: str) -> str:
    return f"{INDEX}/{name}/{METADATA}"


def _size(name: str) -> int:
    """Return the number of rows of a segment by its name; -1 for what is none."""
    parts = name.split("-")
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else -1


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _encode(rows: Iterable[Row]) -> bytes:
    lines = [
        [_json([row.collection, row.commit, row.digest, row.stamp, row.facts]), dict(row.texts)]
        for row in sorted(rows, key=lambda each: each.collection)
    ]
    attributes = {ROWS: lines, DIGEST: _seal(lines)}
    text = json.dumps({"attributes": attributes, **PLAIN}, ensure_ascii=False)
    return text.encode(errors="surrogatepass")


def _decode(content: bytes) -> list[Row] | None:
    """Return the rows of a segment; None if it is damaged."""
    try:
        attributes = json.loads(content.decode(errors="surrogatepass"))["attributes"]
        lines = attributes[ROWS]
        if attributes[DIGEST] != _seal(lines):
            return None
        return [_row(json.loads(head), texts) for head, texts in lines]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _row(head: list[Any], texts: dict[str, str]) -> Row:
    collection, commit, digest, stamp, facts = head
    facts[CUBE] = checked_facts(CUBE, facts[CUBE])
    if facts[RANKINGS] is not None:
        checked_facts(RANKINGS, facts[RANKINGS])
    return Row(collection, commit, digest, stamp, facts, texts)


def _seal(lines: Iterable[Any]) -> str:
    hasher = hashlib.sha256()
    for head, texts in lines:
        parts = [head, *(part for pair in sorted(texts.items()) for part in pair)]
        hasher.update("\x1f".join(parts).encode(errors="surrogatepass") + b"\x1e")
    return hasher.hexdigest()


def restamped(row: Row, content: bytes | None, stamp: str) -> Row | None:
    """Return a row with another stamp if it is that of a metadata file; None otherwise."""
    if content is None or digest_of(content) != row.digest:
        return None
    return replace(row, stamp=stamp)

"""What a merge takes of a collection that several studies hold: conflicts, differences, and what is superseded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scorecube.storage.blocks import select_disjoint
from scorecube.storage.collection import Collection
from scorecube.storage.datasets import CONTENT
from scorecube.storage.fact_types import plan_options
from scorecube.storage.layout import METADATA
from scorecube.storage.manifest import BLOCKS, CUBE, OUTDATED, RESULTS, Entry, Manifest


def is_blocks(key: str) -> bool:
    """Whether an entry is recorded blocks, which are modified in place."""
    return key.startswith(f"{BLOCKS}/")


def is_same(key: str, entry: Entry, others: Mapping[str, Entry]) -> bool:
    """Whether others have an entry with the same metadata, which holds the digest of the values, but for blocks."""
    other = others.get(key)
    return other is not None and not is_blocks(key) and other.files == entry.files


def _attributes(collection: Collection, entry: Entry) -> dict[str, Any]:
    """Return the attributes of an entry's group."""
    content = collection.location.read(f"{collection.group_path}/{entry.path}/{METADATA}")
    return dict(json.loads(content or b"{}").get("attributes", {}))


def conflicts_of(name: str, collections: Sequence[Collection]) -> list[str]:
    """Return one line for each entry of collections of the same name that differs in content."""
    first: dict[str, tuple[Collection, Entry]] = {}
    lines = []
    for collection in collections:
        for key, entry in collection.manifest.entries.items():
            if is_blocks(key):
                continue
            other = first.setdefault(key, (collection, entry))
            if other[0] is collection or is_same(key, entry, {key: other[1]}):
                continue
            if _attributes(*other)[CONTENT] == _attributes(collection, entry)[CONTENT]:
                continue
            what = {CUBE: "scores"}.get(key, key)
            lines.append(
                f"{name}: {what} in {collection.study.path} differ from those in {other[0].study.path}"
            )
            if key == CUBE:
                break  # other scores have other results
    return lines


def difference(
    own: Collection, before: Manifest, other: Collection, manifest: Manifest
) -> tuple[dict[str, Entry], dict[str, dict[str, Any]]]:
    """Return the entries to take, and the facts of own results that are current in the other study and outdated here."""
    wanted, current = dict[str, Entry](), dict[str, dict[str, Any]]()
    for key, entry in manifest.entries.items():
        held = before.entries.get(key)
        if is_blocks(key):
            if held is None or _n_units(own, key) < _n_units(other, key):
                wanted[key] = entry
        elif held is None:
            wanted[key] = entry
        elif held.facts.get(OUTDATED) and not entry.facts.get(OUTDATED):
            current[key] = {name: each for name, each in held.facts.items() if name != OUTDATED}
    for key in superseded(other, wanted, own, before.entries):
        del wanted[key]
    return wanted, current


def superseded(
    collection: Collection,
    entries: Mapping[str, Entry],
    newer: Collection,
    newer_entries: Mapping[str, Entry],
) -> set[str]:
    """Return the outdated results among entries with the options of a current one among others."""
    found = set[str]()
    for key, entry in entries.items():
        if not key.startswith(f"{RESULTS}/") or not entry.facts.get(OUTDATED):
            continue
        options = plan_options(_attributes(collection, entry))
        kind = key.rpartition("/")[0]
        if any(
            plan_options(_attributes(newer, other)) == options
            for name, other in newer_entries.items()
            if name.rpartition("/")[0] == kind and not other.facts.get(OUTDATED)
        ):
            found.add(key)
    return found


def _n_units(collection: Collection, key: str) -> int:
    """Return the number of units in recorded blocks."""
    _, analysis, work = key.split("/")
    records = collection.blocks(analysis, work).records()
    chosen = select_disjoint(records, max((record.stop for record in records), default=0))
    return sum(record.stop - record.start for record in chosen)

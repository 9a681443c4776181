"""Verification: read everything that a study holds and list all damage."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from scorecube.errors import ScorecubeError
from scorecube.storage.collection import Collection
from scorecube.storage.datasets import CONTENT, read_dataset, stored_digest
from scorecube.storage.index import INDEX, Row, read_segments, row_of
from scorecube.storage.layout import METADATA, above
from scorecube.storage.location import Location
from scorecube.storage.manifest import BLOCKS, PLAIN, Entry, Manifest, digest_of, read_checked
from scorecube.storage.nodes import open_group
from scorecube.storage.small_groups import check_texts, chunk_keys
from scorecube.storage.study import Study

if TYPE_CHECKING:
    import zarr


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Compare all metadata with the manifests, read every array, and compare values and recorded blocks with their digests.

    Returns checked: Number of manifests, arrays and block stores read.
    Returns problems: One line for each missing, changed or unreadable part.
    """
    checked, problems = 1, list[str]()
    for name in study:
        count, found = verify_collection(study[name])
        checked += count
        problems += found
    return checked, problems + check_index(study)


def verify_collection(
    collection: Collection, chosen: Container[str] | None = None
) -> tuple[int, list[str]]:
    """Verify one collection, or some of its entries; see `verify_study`."""
    try:
        manifest = collection.manifest
        while True:
            checked, problems = _verify_entries(collection, manifest, chosen)
            before, manifest = manifest, collection.manifest
            # What was replaced while it was read is no damage.
            if not problems or manifest.commit == before.commit:
                return checked, problems
    except ScorecubeError as error:
        return 1, [f"{collection.name}: {error}"]


def _verify_entries(
    collection: Collection, manifest: Manifest, chosen: Container[str] | None
) -> tuple[int, list[str]]:
    checked, problems = 1, _missing_parents(collection, manifest)
    for key, entry in manifest.entries.items():
        if chosen is not None and key not in chosen:
            continue
        if key.startswith(f"{BLOCKS}/"):
            _, analysis, work = key.split("/")
            count, found = 1, collection.blocks(analysis, work).find_damage()
        else:
            path = f"{collection.group_path}/{entry.path}"
            count, found = _check_group(collection.location, path, entry)
        checked += count
        problems += found
    return checked, problems


def check_index(study: Study) -> list[str]:
    """Return one line for each part of the index that is damaged, or says something else than the manifests that it is current for.

    Rows of an earlier commit are no damage: they are noticed and made anew when the index is read.
    """
    location, found = study.location, read_segments(study.location)
    problems = [f"{INDEX}/{name}: cannot be read" for name in found.damaged]
    if found.names and not _is_plain_group(location.read(f"{INDEX}/{METADATA}")):
        problems.append(f"{INDEX}/{METADATA}: missing or changed")
    for name, path in sorted(study.paths.items()):
        row, key = found.rows.get(name), f"{path}/{METADATA}"
        content = location.read(key)
        if row is None or content is None or location.stamps({name: key})[name] != row.stamp:
            continue
        try:
            expected = row_of(study.manifest_of(name, content), digest_of(content), "")
        except ScorecubeError:
            continue  # listed as damage of the collection
        if row.digest != expected.digest or not _agree(row, expected):
            problems.append(f"{INDEX}: the row of {name} differs from its manifest")
    return problems


def _agree(row: Row, expected: Row) -> bool:
    """Whether a row has the results and all facts of a manifest."""
    if {analysis: set(json.loads(text)) for analysis, text in row.texts.items()} != {
        analysis: set(json.loads(text)) for analysis, text in expected.texts.items()
    }:
        return False
    return _within(expected.facts, row.facts) and all(
        _within(json.loads(text), json.loads(row.texts[analysis]))
        for analysis, text in expected.texts.items()
    )


def _within(expected: Any, found: Any) -> bool:
    """Whether a JSON value equals another, or is part of it."""
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return bool(expected == found)
    return all(key in found and _within(value, found[key]) for key, value in expected.items())


def repair_index(study: Study) -> int:
    """Make the index anew of the manifests; return its number of rows."""
    location = study.location
    with location.failures():
        location.remove(INDEX)
    return len(study.rows())


def _missing_parents(collection: Collection, manifest: Manifest) -> list[str]:
    """Return a line for each group between the collection and an entry that is no group."""
    location, path = collection.location, collection.group_path
    return [
        f"{path}/{parent}/{METADATA}: missing or changed"
        for parent in above(manifest.paths())
        if not _is_plain_group(location.read(f"{path}/{parent}/{METADATA}"))
    ]


def _is_plain_group(content: bytes | None) -> bool:
    """Whether a metadata file is that of a group without attributes."""
    try:
        metadata = json.loads(content or b"")
        metadata.pop("consolidated_metadata", None)
        return bool(metadata == {**PLAIN, "attributes": {}})
    except (ValueError, AttributeError, RecursionError):
        return False


def _check_group(location: Location, path: str, entry: Entry) -> tuple[int, list[str]]:
    """Return the number of arrays of a group, and what is wrong with it."""
    if _is_whole(location, path, entry.files):
        return max(1, len(entry.files) - 1), []  # without the group's own
    metadata, changed = read_checked(location, path, entry.files)
    problems = [f"{path}/{text}" for text in changed]
    if problems:
        return max(1, len(entry.files)), problems
    checked = 0
    try:
        check_texts(metadata, lambda key: location.read(f"{path}/{key}"))
        group = open_group(location, path)
        for name, array in sorted(group.arrays()):
            checked += 1
            problem = _problem(array)
            if problem:
                problems.append(f"{path}/{name}: {problem}")
        if not problems:
            read_dataset(location, path, entry.files)
    except ScorecubeError as error:
        problems.append(str(error))
    except Exception as error:  # damaged metadata raises errors of many types
        problems.append(f"{path}: cannot be read: {_first_line(error)}")
    return checked, problems


def _is_whole(location: Location, path: str, files: Mapping[str, str]) -> bool:
    """Whether a group has all its files and matches all its digests, that of its content included."""
    try:
        metadata, problems = read_checked(location, path, files)
        # A missing chunk reads as its array's fill value, which may be what was in it.
        chunks = None if problems else chunk_keys(metadata, sys.maxsize)
        if chunks is None or not set(chunks) <= set(location.keys(path)):
            return False
        check_texts(metadata, lambda key: location.read(f"{path}/{key}"))
        recorded = json.loads(metadata[METADATA])["attributes"][CONTENT]
        return bool(recorded == stored_digest(location, path))
    except Exception:  # looked at in detail by the caller
        return False


def _problem(array: zarr.Array[Any]) -> str:
    """Return what is wrong with an array; empty if it can be decoded."""
    if array.nchunks_initialized < array.nchunks:
        return f"{array.nchunks - array.nchunks_initialized} of {array.nchunks} chunks are missing"
    try:
        array[...]
    except Exception as error:  # codecs raise errors of many types
        return _first_line(error)
    return ""


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]

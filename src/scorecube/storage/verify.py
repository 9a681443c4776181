"""Verification: read everything that a study holds and list all damage."""

from __future__ import annotations

import json
from typing import Any

import zarr
import zarr.errors

from scorecube.errors import ScorecubeError
from scorecube.storage.collection import Collection
from scorecube.storage.datasets import read_dataset
from scorecube.storage.encoding import METADATA, ZARR_FORMAT
from scorecube.storage.manifest import BLOCKS, PLAIN, Entry, check_files
from scorecube.storage.study import Study


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Compare all metadata with the manifests, read every array, and compare values and recorded blocks with their digests.

    Returns
    -------
    checked
        Number of manifests, arrays and block stores read.
    problems
        One line for each missing, changed or unreadable part.
    """
    checked, problems = 1, list[str]()
    for name in study:
        checked += 1
        collection = study[name]
        try:
            manifest = collection.manifest
        except ScorecubeError as error:
            problems.append(f"{name}: {error}")
            continue
        problems += _missing_parents(collection)
        for key, entry in manifest.entries.items():
            if key.startswith(f"{BLOCKS}/"):
                _, analysis, work = key.split("/")
                count, found = 1, collection.blocks(analysis, work).find_damage()
            else:
                count, found = _check_group(study, f"{collection.group_path}/{entry.path}", entry)
            checked += count
            problems += found
    return checked, problems


def _missing_parents(collection: Collection) -> list[str]:
    """Return a line for each group between the collection and an entry that is no group."""
    location, path = collection.location, collection.group_path
    parents = set[str]()
    for below in collection.manifest.paths():
        parts = below.split("/")[:-1]
        parents |= {"/".join(parts[: count + 1]) for count in range(len(parts))}
    return [
        f"{path}/{parent}/{METADATA}: missing or changed"
        for parent in sorted(parents)
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


def _check_group(study: Study, path: str, entry: Entry) -> tuple[int, list[str]]:
    """Return the number of arrays of a group, and what is wrong with it."""
    problems = [f"{path}/{text}" for text in check_files(study.location, path, entry.files)]
    if problems:
        return max(1, len(entry.files or ())), problems
    checked = 0
    try:
        group = zarr.open_group(study.location.store, path=path, mode="r", zarr_format=ZARR_FORMAT)
        for name, array in sorted(group.arrays()):
            checked += 1
            problem = _problem(array)
            if problem:
                problems.append(f"{path}/{name}: {problem}")
        if not problems:
            read_dataset(study.location, path, entry.files)
    except ScorecubeError as error:
        problems.append(str(error))
    except Exception as error:  # damaged metadata raises errors of many types
        problems.append(f"{path}: cannot be read: {_first_line(error)}")
    return checked, problems


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

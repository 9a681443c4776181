"""Reading everything a study holds, so that damage is found before it is used."""

from __future__ import annotations

from typing import Any

import zarr

from scorecube.analyses import registry
from scorecube.errors import CorruptStudy
from scorecube.storage.datasets import CONTENT, read_dataset
from scorecube.storage.nodes import child_group, keys
from scorecube.storage.staging import OLD, STAGING
from scorecube.storage.study import Study


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Read every chunk of every array and compare recorded blocks with their hashes.

    Returns
    -------
    checked
        Number of arrays and block stores read.
    problems
        One line for each that is damaged.
    """
    checked, problems = 0, []
    damaged_groups = set()
    digests = {}
    replaced = _replaced(study)
    for path, member in study.root.members(max_depth=None):
        if "/blocks/" in f"/{path}/" or f"{path}/".startswith(replaced):
            continue
        if isinstance(member, zarr.Group):
            digests[path] = member.attrs.get(CONTENT)
            continue
        checked += 1
        problem = _problem(member)
        if problem:
            problems.append(f"{path}: {problem}")
            damaged_groups.add(path.rpartition("/")[0])
    for path in sorted(path for path, digest in digests.items() if digest and path not in damaged_groups):
        try:
            read_dataset(study.place, path)
        except CorruptStudy:
            problems.append(f"{path}: content does not match its digest")
    for name in study:
        collection = study[name]
        for analysis in registry.names():
            group = child_group(collection.group, f"blocks/{analysis}")
            for work in keys(group):
                checked += 1
                problems += [f"{name}/{problem}" for problem in collection.blocks(analysis, work).damaged()]
    return checked, problems


def _replaced(study: Study) -> tuple[str, ...]:
    """Return the paths of what a killed process left beside what counts: it may be half written or half removed."""
    current = {study[name].place: study[name].cube_place for name in study}
    beside = [name for name, _ in study.root.groups() if name not in current]
    for place, cube in current.items():
        beside += [f"{place}/{each}" for each in ("cube", "cube" + STAGING, "cube" + OLD) if each != cube]
    return tuple(f"{path}/" for path in beside)


def _problem(array: zarr.Array[Any]) -> str:
    """Return what is wrong with an array, nothing if all its chunks are there and decode."""
    if array.nchunks_initialized < array.nchunks:
        return f"{array.nchunks - array.nchunks_initialized} of {array.nchunks} chunks are missing"
    try:
        array[...]
    except Exception as error:  # any failure to decode is what is looked for here
        return str(error)
    return ""

"""Verification: read everything that a study holds and report damage."""

from __future__ import annotations

from typing import Any

import zarr

from scorecube.analyses import registry
from scorecube.errors import CorruptStudy
from scorecube.storage.datasets import CONTENT, read_dataset
from scorecube.storage.nodes import child_group, child_groups, member_names
from scorecube.storage.staging import OLD, STAGING
from scorecube.storage.study import Study


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Read every chunk of every array and compare recorded blocks with their hashes.

    Returns
    -------
    checked
        Number of arrays and block stores read.
    problems
        One line for each damaged array or block.
    """
    checked, problems = 0, []
    damaged_groups = set()
    digests = {}
    obsolete = _obsolete_paths(study)
    for path, member in study.root.members(max_depth=None):
        if "/blocks/" in f"/{path}/" or f"{path}/".startswith(obsolete):
            continue
        if isinstance(member, zarr.Group):
            digests[path] = member.attrs.get(CONTENT)
            continue
        checked += 1
        problem = _problem(member)
        if problem:
            problems.append(f"{path}: {problem}")
            damaged_groups.add(path.rpartition("/")[0])
    for path in sorted(
        path for path, digest in digests.items() if digest and path not in damaged_groups
    ):
        try:
            read_dataset(study.location, path)
        except CorruptStudy:
            problems.append(f"{path}: content does not match its digest")
    for name in study:
        collection = study[name]
        for analysis in registry.names():
            group = child_group(collection.group, f"blocks/{analysis}")
            for work in member_names(group):
                checked += 1
                problems += [
                    f"{name}/{problem}"
                    for problem in collection.blocks(analysis, work).find_damage()
                ]
    return checked, problems


def _obsolete_paths(study: Study) -> tuple[str, ...]:
    """Return the paths of possibly incomplete groups left by a killed process."""
    current = {study[name].group_path: study[name].cube_name for name in study}
    obsolete = [name for name in child_groups(study.root) if name not in current]
    for path, cube in current.items():
        obsolete += [
            f"{path}/{each}" for each in ("cube", "cube" + STAGING, "cube" + OLD) if each != cube
        ]
    return tuple(f"{path}/" for path in obsolete)


def _problem(array: zarr.Array[Any]) -> str:
    """Return what is wrong with an array; empty if it can be decoded."""
    if array.nchunks_initialized < array.nchunks:
        return f"{array.nchunks - array.nchunks_initialized} of {array.nchunks} chunks are missing"
    try:
        array[...]
    except Exception as error:  # codecs raise errors of many types
        return str(error)
    return ""

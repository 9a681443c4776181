"""Reading everything a study holds, so that damage is found before it is used."""

from __future__ import annotations

from typing import Any

import zarr

from scorecube.analyses import ANALYSES
from scorecube.errors import CorruptStudy
from scorecube.storage.nodes import child_group, keys
from scorecube.storage.study import CONTENT, Study, read_dataset


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
    for path, member in study.root.members(max_depth=None):
        if "/blocks/" in f"/{path}/":
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
            read_dataset(study.path, path)
        except CorruptStudy:
            problems.append(f"{path}: content does not match its digest")
    for name in study:
        collection = study[name]
        for analysis in ANALYSES:
            group = child_group(collection.group, f"blocks/{analysis}")
            for work in keys(group):
                checked += 1
                problems += [f"{name}/{problem}" for problem in collection.blocks(analysis, work).damaged()]
    return checked, problems


def _problem(array: zarr.Array[Any]) -> str:
    """Return what is wrong with an array, nothing if all its chunks are there and decode."""
    if array.nchunks_initialized < array.nchunks:
        return f"{array.nchunks - array.nchunks_initialized} of {array.nchunks} chunks are missing"
    try:
        array[...]
    except Exception as error:  # any failure to decode is what is looked for here
        return str(error)
    return ""

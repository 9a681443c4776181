"""Reading all of a study, to find what is damaged; deleting what killed commands left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scorecube.errors import CorruptStudy
from scorecube.storage.collection import Collection
from scorecube.storage.heads import (
    BLOCKS,
    GROUPS,
    RESULTS,
    Head,
    check_group,
    head_numbers,
    read_head,
)
from scorecube.storage.place import PARTIAL
from scorecube.storage.results import archives_in, read_result
from scorecube.storage.study import Study

DAY = 86_400.0
"""Seconds for which what no head names is kept: another command may be about to commit it."""


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Read everything; return the number of parts, and a line with the path of each damage."""
    checked, problems = 0, list[str]()
    for head in study.folders().values():
        parts = iter([[str(head)]]) if isinstance(head, CorruptStudy) else _parts(study, head)
        for part in parts:
            checked += 1
            problems += part
    return checked, problems


def _parts(study: Study, head: Head) -> Iterator[list[str]]:
    """Yield what is wrong with each part of a collection."""
    collection, place = Collection(study, head.name), study.place
    folder = collection.folder
    for number in range(1, max(head_numbers(place, folder)) + 1):
        yield _refusal(read_head, place, folder, number)
    for kind in GROUPS:
        if getattr(head, kind):
            yield _refusal(check_group, place, head, kind)
    for analysis in place.children(f"{folder}/{RESULTS}"):
        yield _refusal(collection.stored, analysis)
        for stored in archives_in(place, f"{folder}/{RESULTS}/{analysis}"):
            yield _refusal(read_result, place, stored)
    for analysis in place.children(f"{folder}/{BLOCKS}"):
        for work in place.children(f"{folder}/{BLOCKS}/{analysis}"):
            yield collection.blocks(analysis, work).find_damage()


def _refusal(read: Callable[..., object], *arguments: object) -> list[str]:
    try:
        read(*arguments)
    except CorruptStudy as error:
        return [str(error)]
    return []


def find_rest(study: Study) -> list[str]:
    """Return the paths of groups that no newest head names.

    Killed commands leave them, cubes that were replaced stay, and so does one whose head was
    deleted by hand.
    """
    place, rest, heads = study.place, set[str](), study.folders()
    for folder in place.children(""):
        head = heads.get(folder)
        if not isinstance(head, CorruptStudy):  # what that names is not known
            names = (name for name in place.children(folder) if name.endswith(".zarr"))
            rest |= {f"{folder}/{name}" for name in names}
            rest -= {head.group(kind) for kind in GROUPS if head}
    return sorted(rest)


def clean(study: Study) -> int:
    """Delete such groups and unfinished files of a day ago; return their number."""
    ages = study.place.ages()
    young = [path for path, age in ages.items() if age < DAY]
    paths = {*find_rest(study), *(path for path in ages if path.endswith(PARTIAL))}
    old = {path for path in paths if not any(f"{key}/".startswith(f"{path}/") for key in young)}
    for path in old:
        study.place.delete(path)
    return len(old)

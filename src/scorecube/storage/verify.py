"""Reading all of a study, to find what is damaged; deleting what killed commands left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scorecube.errors import CorruptStudy, ScorecubeError
from scorecube.storage.collection import Collection
from scorecube.storage.heads import (
    BLOCKS,
    GROUPS,
    RESULTS,
    Head,
    head_numbers,
    read_file,
    read_head,
)
from scorecube.storage.place import PARTIAL, Place
from scorecube.storage.results import Stored, read_result, records_in, results_in, write_record
from scorecube.storage.study import Study

DAY = 86_400.0
"""Seconds for which what no head names is kept: another command may be about to commit it."""


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Read everything; return the number of parts, and a line with the path of each damage."""
    checked, problems = 0, list[str]()
    for head in study.folders().values():
        checked += 1
        if isinstance(head, CorruptStudy):
            problems.append(str(head))
            continue
        for part in _parts(Collection(study, head.name), head):
            checked += 1
            problems += part
    return checked, problems


def _parts(collection: Collection, head: Head) -> Iterator[list[str]]:
    """Yield what is wrong with each part of a collection."""
    place, folder = collection.place, collection.folder
    for number in range(1, max(head_numbers(place, folder)) + 1):
        yield _refusal(read_head, place, folder, number)
    for kind in GROUPS:
        if getattr(head, kind):
            yield _group_problems(collection, head, kind)
    for analysis in place.children(f"{folder}/{RESULTS}"):
        for stored in records_in(place, f"{folder}/{RESULTS}/{analysis}"):
            yield _refusal(read_result, place, stored)
    for analysis in place.children(f"{folder}/{BLOCKS}"):
        for work in place.children(f"{folder}/{BLOCKS}/{analysis}"):
            yield collection.blocks(analysis, work).find_damage()


def _refusal(read: Callable[..., object], *arguments: object) -> list[str]:
    try:
        read(*arguments)
    except ScorecubeError as error:
        return [str(error)]
    return []


def _group_problems(collection: Collection, head: Head, kind: str) -> list[str]:
    place, path, files, problems = collection.place, head.group(kind), head.files[kind], []
    for key, digest in files.items():
        problems += _refusal(read_file, place, f"{path}/{key}", digest)
    strange = [key for key in place.keys(path) if key not in files and not key.endswith(PARTIAL)]
    return problems + [f"{path}/{key}: was written by no scorecube" for key in strange]


def find_rest(study: Study) -> list[str]:
    """Return the paths of groups that no newest head names, and of records that results lack.

    Killed commands leave them, cubes that were replaced stay, and so does one whose head was
    deleted by hand.
    """
    place, rest, heads = study.place, list[str](), study.folders()
    for folder in place.children(""):
        head = heads.get(folder)
        if isinstance(head, CorruptStudy):
            continue  # what it names is not known
        groups = {f"{folder}/{name}" for name in place.children(folder) if name.endswith(".zarr")}
        rest += groups - {head.group(kind) for kind in GROUPS if head}
    return sorted([*rest, *(stored.record for stored in _unrecorded(place))])


def _unrecorded(place: Place) -> list[Stored]:
    """Return the results without a record: a killed command wrote them."""
    results = (f"{folder}/{RESULTS}" for folder in place.children(""))
    folders = [f"{folder}/{analysis}" for folder in results for analysis in place.children(folder)]
    stored = (result for folder in folders for result in results_in(place, folder))
    return [result for result in stored if place.read(result.record) is None]


def clean(study: Study) -> int:
    """Delete such groups and unfinished files of a day ago; write records; return their number."""
    unrecorded = _unrecorded(study.place)
    for stored in unrecorded:
        write_record(study.place, stored, study.place.read(stored.archive) or b"")
    ages = study.place.ages()
    young = [path for path, age in ages.items() if age < DAY]
    paths = {*find_rest(study), *(path for path in ages if path.endswith(PARTIAL))}
    old = {path for path in paths if not any(f"{key}/".startswith(f"{path}/") for key in young)}
    for path in old:
        study.place.delete(path)
    return len(old) + len(unrecorded)

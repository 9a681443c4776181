"""Reading all of a study, to find what is damaged; deleting what killed commands left."""

from __future__ import annotations

from collections.abc import Iterator

from scorecube.errors import CorruptStudy, ScorecubeError
from scorecube.storage.collection import Collection
from scorecube.storage.groups import (
    ARCHIVE,
    FACTS,
    checked_reader,
    facts_beside,
    read_facts,
    read_result,
)
from scorecube.storage.heads import BLOCKS, CUBE, RANKINGS, RESULTS, Head, head_numbers, read_head
from scorecube.storage.place import PARTIAL
from scorecube.storage.sealed import decode_record, encode_record
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
        collection = Collection(study, head.name)
        for part in _parts(collection, head):
            checked += 1
            problems += part
    return checked, problems


def verify_collection(collection: Collection) -> list[str]:
    """Return one line for each damaged part of a collection."""
    return [line for part in _parts(collection, collection.head) for line in part]


def _parts(collection: Collection, head: Head) -> Iterator[list[str]]:
    """Yield what is wrong with each part of a collection."""
    place, folder = collection.place, collection.folder
    numbers = sorted(head_numbers(place, folder))
    for number in range(1, numbers[-1] + 1):
        try:
            read_head(place, folder, number)
            yield []
        except CorruptStudy as error:
            yield [str(error)]
    for kind in (CUBE, RANKINGS):
        if getattr(head, kind):
            yield _group_problems(collection, head, kind)
    for analysis in place.children(f"{folder}/{RESULTS}"):
        for name in place.children(f"{folder}/{RESULTS}/{analysis}"):
            path = f"{folder}/{RESULTS}/{analysis}/{name}"
            if name.endswith(ARCHIVE):
                yield _result_problems(collection, head, path.removesuffix(ARCHIVE))
            elif place.read(path.removesuffix(FACTS) + ARCHIVE, 1) is None:
                yield [f"{path}: its result is missing"]
    for analysis in place.children(f"{folder}/{BLOCKS}"):
        for work in place.children(f"{folder}/{BLOCKS}/{analysis}"):
            yield collection.blocks(analysis, work).find_damage()


def _group_problems(collection: Collection, head: Head, kind: str) -> list[str]:
    path, files = head.group(kind), head.files[kind]
    read, problems = checked_reader(collection.place, path, files), list[str]()
    for key in files:
        try:
            read(key)
        except ValueError as error:
            problems.append(f"{path}: {error}")
    others = set(collection.place.keys(path)) - set(files)
    return problems + [f"{path}/{key}: was written by no scorecube" for key in sorted(others)]


def _result_problems(collection: Collection, head: Head, path: str) -> list[str]:
    try:
        read_result(collection.place, path)
        content = collection.place.read(path + FACTS)
        facts = {} if content is None else decode_record(content)
        if facts.get("head", 0) > head.number:
            return [f"{path}: names head {facts['head']}, which is missing"]
    except ScorecubeError as error:
        return [str(error)]
    except ValueError as error:
        return [f"{path}{FACTS}: {error}"]
    return []


def _without_facts(collection: Collection) -> list[str]:
    """Return the paths of sound results without their facts: a killed command wrote them."""
    place, root, found = collection.place, f"{collection.folder}/{RESULTS}", list[str]()
    for analysis in place.children(root):
        for name in place.children(f"{root}/{analysis}"):
            path = f"{root}/{analysis}/{name.removesuffix(ARCHIVE)}"
            try:
                if name.endswith(ARCHIVE) and facts_beside(place, path) is None:
                    read_facts(place, path)
                    found.append(path + FACTS)
            except ScorecubeError:
                continue  # damaged
    return found


def find_rest(study: Study) -> list[str]:
    """Return the paths of groups that no newest head names, and of facts that results lack.

    Killed commands leave them, cubes that were replaced stay, and so does one whose head was
    deleted by hand.
    """
    rest, heads = list[str](), study.folders()
    for folder in study.place.children(""):
        head = heads.get(folder)
        if isinstance(head, CorruptStudy):
            continue  # what it names is not known
        named = {head.group(kind) for kind in (CUBE, RANKINGS)} if head is not None else set()
        for name in study.place.children(folder):
            if name.startswith((f"{CUBE}-", f"{RANKINGS}-")) and f"{folder}/{name}" not in named:
                rest.append(f"{folder}/{name}")
        if head is not None:
            rest += _without_facts(Collection(study, head.name))
    return rest


def clean(study: Study) -> int:
    """Delete such groups and unfinished files of a day ago; write facts; return their number."""
    place, ages = study.place, study.place.ages("")
    rest = find_rest(study)
    for path in rest:
        if path.endswith(FACTS):
            place.write(path, encode_record(read_facts(place, path.removesuffix(FACTS))))
    old = {path for path in [*ages, *rest] if path.endswith((PARTIAL, ".zarr"))}
    young = [path for path, age in ages.items() if age < DAY]
    old = {path for path in old if not any(f"{key}/".startswith(f"{path}/") for key in young)}
    for path in old:
        place.delete(path)
    return len(old) + sum(path.endswith(FACTS) for path in rest)

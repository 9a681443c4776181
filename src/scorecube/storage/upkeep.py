"""Reading all of a study, to find what is damaged; deleting what killed commands left; merging."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage.archives import Stored, archives_in, read_result
from scorecube.storage.collection import Collection
from scorecube.storage.heads import (
    BLOCKS,
    GROUPS,
    RESULTS,
    Head,
    check_group,
    commit,
    head_numbers,
    keys_of,
    read_head,
)
from scorecube.storage.place import PARTIAL
from scorecube.storage.study import Study, open_study

DAY = 86_400.0
"""Seconds for which what no head names is kept: another command may be about to commit it."""


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Read everything; return the number of parts, and a line with the path of each damage."""
    parts: list[list[str]] = []
    for head in study.folders().values():
        if head is not None:
            parts += [[str(head)]] if isinstance(head, CorruptStudy) else _parts(study, head)
    return len(parts), [line for lines in parts for line in lines]


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
    """Return the paths of groups that no newest head names, as killed and replaced ones."""
    rest = set[str]()
    for folder, head in study.folders().items():
        if not isinstance(head, CorruptStudy):  # what that names is not known
            names = study.place.children(folder)
            rest |= {f"{folder}/{name}" for name in names if name.endswith(".zarr")}
            rest -= {head.group(kind) for kind in GROUPS if head}
    return sorted(rest)


def clean(study: Study) -> int:
    """Delete such groups and unfinished files of a day ago; return their number."""
    place, probe = study.place, f".clean{PARTIAL}"
    place.write(probe, b"")
    times = place.times()
    young = [path for path, time in times.items() if times[probe] - time < DAY]
    paths = {*find_rest(study), *(path for path in times if path.endswith(PARTIAL))}
    old = {path for path in paths if not any(f"{key}/".startswith(f"{path}/") for key in young)}
    for path in old | {probe}:
        place.delete(path)
    return len(old)


def merge(
    out: str, parts: Sequence[str], *, progress: Callable[[int, int], None] = lambda *_: None
) -> Counter[str]:
    """Copy what one study lacks of others; a merge that was killed is continued by the same call.

    progress: Called with (collections that were copied, number of all), after all were verified.
    Returns numbers of collections that are new, extended, unchanged, and of results copied.
    Raises BadStudy, CorruptStudy: Other scores of the same name, or damage. Nothing was written.
    """
    target, opened = open_study(out, mode="a"), [open_study(part) for part in parts]
    if _real(target) in map(_real, opened):
        raise BadStudy(f"{out} is named as the study to merge into and as one of the parts")
    for part in opened:
        if damage := verify_study(part)[1]:
            head = f"{part.path} is damaged, nothing was merged:"
            raise CorruptStudy("\n  ".join([head, *damage]))
    collections = [study[name] for study in opened for name in study]
    _refuse_conflicts(target, collections)
    target.prepare()
    counts = Counter[str]()
    for done, collection in enumerate(collections, 1):
        counts.update(_copy(Collection(target, collection.name), collection))
        progress(done, len(collections))
    return counts


def _real(study: Study) -> str:
    return study.path if "://" in study.path else os.path.realpath(study.path)


def _refuse_conflicts(target: Study, collections: Sequence[Collection]) -> None:
    """Refuse collections whose scores differ from those of another with the same name."""
    first = {name: target[name] for name in target}
    for collection in collections:
        other = first.setdefault(collection.name, collection)
        mine, theirs = other.head, collection.head
        related = mine.cube in theirs.contains or theirs.cube in mine.contains
        if not related and not other.cube.equals(collection.cube):
            raise BadStudy(
                f"{collection.name}: scores in {collection.study.path} differ from those in "
                f"{other.study.path}; nothing was merged: leave out one of the studies, or store "
                "the collection under another name"
            )


def _results(collection: Collection) -> dict[str, Stored]:
    """Return the results of the scores that are stored now, by analysis and digest of the plan."""
    analyses = collection.place.children(f"{collection.folder}/{RESULTS}")
    current = (stored for name in analyses for stored in collection.stored(name)[0])
    return {f"{stored.folder}/{stored.digest}": stored for stored in current}


def _copy(own: Collection, source: Collection) -> dict[str, int]:
    """Copy what a collection lacks of another; return numbers by what they count."""
    theirs, number = source.head, 0

    def copy(paths: Iterable[tuple[str, str]]) -> None:
        def write(path: tuple[str, str]) -> None:
            own.place.write(path[1], source.place.read(path[0]) or b"", synced=False)

        list(own.place.map(write, paths))
        own.place.sync()

    def change(head: Head) -> Head:
        nonlocal number
        number = head.number
        newer = not number or (theirs.cube != head.cube and head.cube in theirs.contains)
        for kind in GROUPS:
            version, group = getattr(theirs, kind), theirs.group(kind)
            if version and (newer or not getattr(head, kind)):
                copy((f"{group}/{key}",) * 2 for key in keys_of(source.place, group))
                head = head.with_group(kind, version, theirs.facts[kind])
        contains = dict.fromkeys([head.cube, *head.contains, *theirs.contains])
        notes = {**theirs.notes, **head.notes}
        return replace(head, contains=tuple(contains), notes=notes)

    after = commit(own.place, source.name, change)
    mine, others = _results(own), _results(source)
    missing = [stored for path, stored in others.items() if path not in mine]
    # The witness of a head of theirs is one of ours.
    copy((stored.path, stored._replace(head=after.number).path) for stored in missing)
    blocks = [set(part.place.keys(f"{part.folder}/{BLOCKS}")) for part in (source, own)]
    copy((f"{source.folder}/{BLOCKS}/{key}",) * 2 for key in blocks[0] - blocks[1])
    changed = after.number != number or missing
    kind = "new" if not number else "extended" if changed else "unchanged"
    return {kind: 1, "results": len(missing)}

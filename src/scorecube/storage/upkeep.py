"""Reading all of a study, to find what is damaged; deleting what killed commands left; merging."""

from __future__ import annotations

import dataclasses
import secrets
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import chain

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage import heads
from scorecube.storage.archives import archives_in, read_result
from scorecube.storage.collection import Collection
from scorecube.storage.heads import BLOCKS, GROUPS, RESULTS, Head
from scorecube.storage.pack import PACK, check_pack, is_there, superseded
from scorecube.storage.place import PARTIAL
from scorecube.storage.study import Study, open_study

DAY = 86_400.0
"""Seconds for which what no head names is kept: another command may be about to commit it."""


def verify_study(study: Study) -> tuple[int, list[str]]:
    """Read everything; return the number of parts, and a line with the path of each damage."""
    n_parts = 0
    damage = list[str]()
    for folder in study.place.children(""):
        for check in _checks(study, folder):
            n_parts += 1
            try:
                check()
            except (CorruptStudy, MemoryError) as error:
                damage.append(str(error))
    return n_parts, damage


def _checks(study: Study, folder: str) -> Iterator[Callable[[], object]]:
    """Yield what reads each part of a collection."""
    place = study.place
    if PACK.fullmatch(folder):
        if is_there(place, folder):
            yield partial(check_pack, place, folder)
        return
    head = None
    for number in range(1, max(heads.head_numbers(place, folder), default=0) + 1):
        yield partial(heads.read_head, place, folder, number)
    with suppress(CorruptStudy, MemoryError):
        head = heads.latest_head(place, folder)
    if head is None:
        return
    collection = Collection(study, head.name, head)
    for kind in GROUPS:
        if getattr(head, kind):
            yield partial(heads.check_group, place, head, kind)
    for analysis in place.children(f"{folder}/{RESULTS}"):
        yield partial(collection.stored, analysis)
        for stored in archives_in(place, f"{folder}/{RESULTS}/{analysis}"):
            yield partial(read_result, place, stored)
    for analysis in place.children(f"{folder}/{BLOCKS}"):
        for work in place.children(f"{folder}/{BLOCKS}/{analysis}"):
            blocks = collection.blocks(analysis, work)
            yield from (partial(blocks.read, *interval) for interval in blocks.intervals())


def find_unclaimed(study: Study) -> list[str]:
    """Return the paths of groups that no head names: it was deleted, or a command was killed."""
    return _by_folder(study, _unclaimed)


def find_rest(study: Study) -> list[str]:
    """Return the paths of groups and packs that may be deleted: replaced ones, and parts of one.

    A whole group that no head names may be the only copy of scores, and is none of them.
    """
    return sorted([*_by_folder(study, _rest), *superseded(study)])


def _by_folder(study: Study, find: Callable[[Study, str], set[str]]) -> list[str]:
    folders = [name for name in study.place.children("") if not PACK.fullmatch(name)]
    found = study.place.map(partial(find, study), folders)
    return sorted(set[str]().union(*found))


def _groups(study: Study, folder: str) -> set[str]:
    """Return the paths of the groups in a folder that its newest head does not name."""
    head = heads.latest_head(study.place, folder)
    names = study.place.children(folder)
    groups = {f"{folder}/{name}" for name in names if name.startswith(GROUPS)}
    return groups - {head.group(kind) for kind in GROUPS if head}


def _unclaimed(study: Study, folder: str) -> set[str]:
    groups = _groups(study, folder)
    for number in heads.head_numbers(study.place, folder) if groups else []:
        with suppress(CorruptStudy):  # what one that cannot be read names is unclaimed, and kept
            head = heads.read_head(study.place, folder, number)
            groups -= {head.group(kind) for kind in GROUPS}
    return groups


def _rest(study: Study, folder: str) -> set[str]:
    unclaimed = _unclaimed(study, folder)
    return _groups(study, folder) - {
        path for path in unclaimed if heads.is_whole(study.place, path)
    }


def clean(study: Study) -> int:
    """Delete such groups and unfinished files of a day ago; return their number."""
    place = study.place
    probe = f".{secrets.token_hex(8)}{PARTIAL}"
    place.write(probe, b"")
    times = place.files("")
    latest = times[probe] - DAY
    old = [path for path, time in times.items() if path.endswith(PARTIAL) and time <= latest]
    # Their times are read behind the heads: what was committed since was written since.
    old += [at for at in find_rest(study) if max(place.files(at).values(), default=0) <= latest]
    n_deleted = sum(place.delete(path) > 0 for path in old)
    place.delete(probe)
    return n_deleted


def merge(
    out: str, parts: Sequence[str], *, progress: Callable[[int, int], None] = lambda *_: None
) -> Counter[str]:
    """Add to a study what it lacks of others; one that was killed is continued by the same call.

    progress: Called with (collections that were copied, number of all).
    Returns numbers of collections that are new, extended, unchanged, and of results copied.
    Raises BadStudy: Other scores of the same name; nothing was written.
    """
    target = open_study(out, mode="a")
    opened = [open_study(part) for part in parts]
    collections = list(chain.from_iterable(study.collections() for study in opened))
    _refuse_conflicts(target, collections)
    counts = Counter[str]()
    for done, collection in enumerate(collections, 1):
        counts.update(_add(target, collection))
        progress(done, len(collections))
    return counts


def take_files(target: Study, files: Mapping[str, bytes]) -> None:
    """Merge into a study what another process computed of a collection (`Collection.files`)."""
    with tempfile.TemporaryDirectory(prefix="scorecube-") as folder:
        open_study(folder, mode="a").write_files(files)
        merge(target.path, [folder])


def _refuse_conflicts(target: Study, collections: Sequence[Collection]) -> None:
    """Refuse collections whose scores differ from those of others with the same name."""
    from scorecube.collection.growth import merge_cubes

    by_name = defaultdict[str, list[Collection]](list)
    for collection in collections:
        by_name[collection.name].append(collection)
    for name, several in by_name.items():
        several += [target[name]] if name in target else []
        try:
            reduce(partial(merge_cubes, what=""), [collection.cube for collection in several])
        except BadStudy:
            where = ", ".join(collection.study.path for collection in several)
            raise BadStudy(
                f"{name}: scores differ between {where}; nothing was merged: leave out one of the "
                "studies, or store the collection under another name"
            ) from None


def _add(target: Study, source: Collection) -> dict[str, int]:
    """Add what a collection lacks of another; return numbers by what they count."""
    theirs = source.head
    before = heads.latest_head(target.place, source.folder)

    def change(head: Head) -> Head:
        contains = dict.fromkeys([*head.contains, *theirs.contains])
        notes = {**theirs.notes, **head.notes}
        return dataclasses.replace(head, contains=tuple(contains), notes=notes)

    rankings = source.rankings if theirs.rankings else None
    target.add(source.name, cube=source.cube, rankings=rankings, grow=False)
    after = heads.commit(target.place, source.name, change)
    own = target[source.name]
    results = 0
    for analysis in source.contents()["results"]:
        for stored in source.stored(analysis)[0]:
            if not own.has_result(analysis, stored.digest):
                own.write_result(read_result(source.place, stored), stored.version)
                results += 1
    is_same = before is not None and before.number == after.number and not results
    kind = "unchanged" if is_same else "extended"
    if before is None:
        kind = "new"
    return {kind: 1, "results": results}

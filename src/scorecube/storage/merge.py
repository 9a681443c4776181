"""Merging studies: what one lacks of the others is copied.

Three passes: verify all that the others hold; compare what is held under the same names; copy.
Files never change, so a merge that was killed is continued by the same call.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from scorecube.errors import BadStudy, CorruptStudy, counted
from scorecube.storage.collection import Collection
from scorecube.storage.heads import BLOCKS, GROUPS, RESULTS, Head, commit
from scorecube.storage.place import at_once
from scorecube.storage.results import Stored, read_result
from scorecube.storage.study import Study, open_study
from scorecube.storage.verify import verify_study

MOST = 20
"""Most lines of a message on conflicts or damage."""


@dataclass(frozen=True)
class Merged:
    """What a merge did.

    parts: Paths or URLs of the studies that were merged.
    new, extended, unchanged: Numbers of collections that were added, that existed and got more, and
        that held everything already.
    results: Number of results that were copied.
    """

    parts: tuple[str, ...]
    new: int = 0
    extended: int = 0
    unchanged: int = 0
    results: int = 0


def merge(
    out: str | os.PathLike[str],
    parts: Sequence[str | os.PathLike[str]],
    *,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Merged:
    """Merge studies into one: cubes, rankings, results and recorded blocks.

    Parameters
    ----------
    out
        Path or URL of the study to merge into; created if it does not exist.
    parts
        Paths or URLs of studies.
    progress
        Called with (collections that were copied, number of all), after all were verified.

    Returns
    -------
    merged
        Numbers of collections and results.

    Raises
    ------
    BadStudy
        No study at a path, `out` among the parts, or conflicts: other scores of a collection with
        the same name, other values of the same plan. Nothing was written.
    CorruptStudy
        Damage in a part; nothing was written.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for place, name in enumerate("ab"):
    ...         part = open_study(f"{folder}/{name}", mode="a")
    ...         part.add(name, cube=simulate_cube(n_runs=4, seed=place))
    ...     merged = merge(folder + "/all", [folder + "/a", folder + "/b"])
    ...     merged.new, list(open_study(folder + "/all"))
    (2, ['a', 'b'])
    """
    given = [parts] if isinstance(parts, str | os.PathLike) else list(parts)
    target, opened = open_study(out, mode="a"), [open_study(part) for part in given]
    if not opened:
        raise BadStudy(f"no studies to merge into {out}; name at least one", option="parts")
    if _real(target) in map(_real, opened):
        raise BadStudy(f"{out} is named as the study to merge into and as one of the parts")
    damage = [f"{part.path}: {line}" for part in opened for line in verify_study(part)[1]]
    if damage:
        raise CorruptStudy(_listed("damaged place", "in the parts", damage))
    collections = [study[name] for study in opened for name in study]
    if conflicts := _conflicts(target, collections):
        raise BadStudy(
            f"{_listed('conflict', 'between studies', conflicts)}\n"
            "leave out one of the studies, or store the collection under another name"
        )
    target.prepare()
    counts = Counter[str]()
    for done, collection in enumerate(collections, 1):
        counts.update(_copy(Collection(target, collection.name), collection))
        progress(done, len(collections))
    return Merged(tuple(study.path for study in opened), **counts)


def _real(study: Study) -> str:
    return study.path if "://" in study.path else os.path.realpath(study.path)


def _listed(noun: str, where: str, lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    below = "".join(f"\n  {line}" for line in [*lines[:MOST], *more])
    return f"{counted(len(lines), noun)} {where}, nothing was merged:{below}"


def _conflicts(target: Study, collections: Sequence[Collection]) -> list[str]:
    """Return a line for each thing that two studies hold under one name, and that differs."""
    first, lines = {name: target[name] for name in target}, list[str]()
    for collection in collections:
        other = first.setdefault(collection.name, collection)
        where = f"in {collection.study.path} differ from those in {other.study.path}"
        mine, theirs = other.head, collection.head
        related = mine.cube in theirs.contains or theirs.cube in mine.contains
        if not related and not other.cube.equals(collection.cube):
            lines.append(f"{collection.name}: scores {where}")
            continue
        results, others = _results(other), _results(collection)
        for path in sorted(results.keys() & others.keys()):
            mine_is, theirs_is = results[path], others[path]
            if other.place.read(mine_is.archive) == collection.place.read(theirs_is.archive):
                continue
            one = read_result(other.place, mine_is)
            if not one.equals(read_result(collection.place, theirs_is)):
                lines.append(f"{collection.name}: values of {path} {where}")
    return lines


def _results(collection: Collection) -> dict[str, Stored]:
    """Return the results of the scores that are stored now, by analysis and digest of the plan."""
    head, folder = collection.head, f"{collection.folder}/{RESULTS}"
    analyses = collection.place.children(folder)
    current = (stored for name in analyses for stored in collection.current(name, head))
    return {f"{stored.folder}/{stored.digest}": stored for stored in current}


def _copy(own: Collection, source: Collection) -> dict[str, int]:
    """Copy what a collection lacks of another; return numbers by the fields of `Merged`."""
    theirs, number = source.head, 0

    def write(path: str) -> None:
        own.place.write(path, source.place.read(path) or b"", synced="later")

    def copy(paths: Iterable[str]) -> None:
        list(at_once(own.place.requests, write, paths))
        own.place.sync()

    def change(head: Head) -> Head:
        nonlocal number
        number = head.number
        newer = not number or (theirs.cube != head.cube and head.cube in theirs.contains)
        for kind in GROUPS:
            version = getattr(theirs, kind)
            if version and (newer or not getattr(head, kind)):
                copy(f"{theirs.group(kind)}/{key}" for key in theirs.files[kind])
                head = head.with_group(kind, version, theirs.files[kind], theirs.facts[kind])
        contains = dict.fromkeys([head.cube, *head.contains, *theirs.contains])
        notes = {**theirs.notes, **head.notes}
        return replace(head, contains=tuple(contains), notes=notes)

    after = commit(own.place, source.name, change)
    mine, others = _results(own), _results(source)
    missing = [stored for path, stored in others.items() if path not in mine]
    copy(stored.archive for stored in missing)
    copy(stored.record for stored in missing)
    keys = [set(part.place.keys(f"{part.folder}/{BLOCKS}")) for part in (source, own)]
    copy(f"{source.folder}/{BLOCKS}/{key}" for key in keys[0] - keys[1])
    changed = after.number != number or missing
    kind = "new" if not number else "extended" if changed else "unchanged"
    return {kind: 1, "results": len(missing)}

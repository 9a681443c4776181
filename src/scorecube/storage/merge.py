"""Merging studies: what one lacks of the others is copied.

Three passes: verify all that the others hold; compare the scores that are held under the same
names; copy. Files never change, so a merge that was killed is continued by the same call.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage.collection import Collection
from scorecube.storage.heads import BLOCKS, GROUPS, RESULTS, Head, commit, keys_of
from scorecube.storage.results import Stored
from scorecube.storage.study import Study, open_study
from scorecube.storage.verify import verify_study


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
        No study at a path, `out` among the parts, or other scores of a collection with the same
        name. Nothing was written.
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
    return Merged(tuple(study.path for study in opened), **counts)


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
    """Copy what a collection lacks of another; return numbers by the fields of `Merged`."""
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

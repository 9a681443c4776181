"""Merging studies: what one lacks of the others is copied.

Three passes: verify all that the others hold; compare what is held under the same names; copy.
    Files
never change, so a merge that was killed is continued by the same call.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scorecube.errors import BadStudy, CorruptStudy, counted
from scorecube.storage.collection import Collection, with_notes
from scorecube.storage.groups import ARCHIVE, FACTS, read_result
from scorecube.storage.heads import BLOCKS, CUBE, RANKINGS, RESULTS, Head, commit
from scorecube.storage.place import is_url
from scorecube.storage.study import Study, open_study
from scorecube.storage.verify import verify_collection

Progress = Callable[[int, int], None]
MAX_LINES = 20
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
    progress: Progress | None = None,
) -> Merged:
    """Merge studies into one: cubes, rankings, results and recorded blocks.

    Parameters
    ----------
    out
        Path or URL of the study to merge into; created if it does not exist.
    parts
        Paths or URLs of studies.
    progress
        Called with (collections, twice the number of collections): each is verified, then copied.

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
    collections = [study[name] for study in opened for name in study]
    counts, done = Counter[str](), 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, 2 * len(collections))

    damage = list[str]()
    for collection in collections:
        damage += [f"{collection.study.path}: {line}" for line in verify_collection(collection)]
        step()
    if damage:
        raise CorruptStudy(
            f"{counted(len(damage), 'damaged place')} in the parts, nothing was merged:"
            f"{_listed(damage)}"
        )
    if conflicts := _conflicts(target, collections):
        raise BadStudy(
            f"{counted(len(conflicts), 'conflict')} between studies, nothing was merged:"
            f"{_listed(conflicts)}\n"
            "leave out one of the studies, or store the collection under another name"
        )
    target.prepare()
    for collection in collections:
        kind, n_results = _copy(target, collection)
        counts.update({kind: 1, "results": n_results})
        step()
    return Merged(tuple(study.path for study in opened), **counts)


def _real(study: Study) -> str:
    return study.path if is_url(study.path) else os.path.realpath(study.path)


def _listed(lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - MAX_LINES} more"] if len(lines) > MAX_LINES else []
    return "".join(f"\n  {line}" for line in [*lines[:MAX_LINES], *more])


def _conflicts(target: Study, collections: Sequence[Collection]) -> list[str]:
    """Return a line for each thing that two studies hold under one name, and that differs."""
    first, lines = {name: target[name] for name in target}, list[str]()
    for collection in collections:
        other = first.setdefault(collection.name, collection)
        where = f"in {collection.study.path} differ from those in {other.study.path}"
        if not _same_scores(other, collection):
            lines.append(f"{collection.name}: scores {where}")
            continue
        others, root = _results(other), f"{collection.folder}/{RESULTS}"
        for path, seal in _results(collection).items():
            if others.get(path, seal) != seal:
                mine = read_result(other.place, f"{root}/{path}")
                theirs = read_result(collection.place, f"{root}/{path}")
                if mine is None or theirs is None or not mine.equals(theirs):
                    lines.append(f"{collection.name}: values of {path} {where}")
    return lines


def _same_scores(one: Collection, other: Collection) -> bool:
    """Whether the scores of one of two collections are in the other."""
    mine, theirs = one.head, other.head
    if mine.cube in theirs.contains or theirs.cube in mine.contains:
        return True
    return bool(one.cube.equals(other.cube))


def _results(collection: Collection) -> dict[str, str]:
    """Return the digest of each current result's archive, by analysis and digest of the plan."""
    current = collection.row().current
    return {
        f"{analysis}/{digest}": str(facts["zip"])
        for analysis, results in current.items()
        for digest, facts in results.items()
    }


def _copy(target: Study, source: Collection) -> tuple[str, int]:
    """Copy what the target lacks; return the field of `Merged` that counts it, and results."""
    own, theirs, number = Collection(target, source.name), source.head, 0

    def copy(path: str) -> None:
        own.place.write(path, source.place.read(path) or b"", durable=False)

    def change(head: Head) -> Head:
        nonlocal number
        number = head.number
        newer = not head.number or (theirs.cube != head.cube and head.cube in theirs.contains)
        for kind in (CUBE, RANKINGS):
            if getattr(theirs, kind) and (newer or not getattr(head, kind)):
                for key in theirs.files[kind]:
                    copy(f"{theirs.group(kind)}/{key}")
                facts = {**head.facts, kind: theirs.facts[kind]}
                files = {**head.files, kind: theirs.files[kind]}
                head = replace(head, files=files, facts=facts, **{kind: getattr(theirs, kind)})
        own.place.sync()
        contains = dict.fromkeys([head.cube, *head.contains, *theirs.contains])
        noted = {**theirs.facts.get("facts", {}), **head.facts.get("facts", {})}
        return with_notes(replace(head, contains=tuple(contains)), noted)

    after = commit(own.place, source.name, change)
    missing = [path for path in _results(source) if path not in _results(own)]
    for path in missing:
        for end in (ARCHIVE, FACTS):
            copy(f"{source.folder}/{RESULTS}/{path}{end}")
    blocks = f"{source.folder}/{BLOCKS}"
    for key in set(source.place.keys(blocks)) - set(own.place.keys(blocks)):
        copy(f"{blocks}/{key}")
    own.place.sync()
    changed = after.number != number or bool(missing)
    return "new" if not number else "extended" if changed else "unchanged", len(missing)

"""Merging studies: what one lacks of the others is copied.

Three passes: verify all that the others hold; compare what is held under the same names; copy. Files never change, so a merge that was killed is continued by
the same call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scorecube.errors import BadStudy, CorruptStudy, counted
from scorecube.storage.collection import Collection
from scorecube.storage.facts import is_current
from scorecube.storage.groups import ARCHIVE, FACTS, read_group, read_result, results_of
from scorecube.storage.heads import BLOCKS, CUBE, RANKINGS, RESULTS, Head, commit
from scorecube.storage.study import Study, open_study
from scorecube.storage.verify import verify_collection

Progress = Callable[[int, int], None]
MAX_LINES = 20
"""Most lines of a message on conflicts or damage."""


@dataclass(frozen=True)
class Merged:
    """What a merge did.

    parts: Paths or URLs of the studies that were merged.
    new, extended, unchanged: Numbers of collections of the parts that were added, that existed and got more, and that
        held everything already.
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
    """Merge studies into one: cubes, rankings, results and recorded blocks of all their collections.

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
        No study at a path, `out` among the parts, or conflicts: other scores of a collection with the same name, another content of the
        result of the same plan. Nothing was written.
    CorruptStudy
        Damage in a part; nothing was written.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for place, name in enumerate("ab"):
    ...         open_study(f"{folder}/{name}", mode="a").add(name, cube=simulate_cube(n_runs=4, seed=place))
    ...     merged = merge(folder + "/all", [folder + "/a", folder + "/b"])
    ...     merged.new, list(open_study(folder + "/all"))
    (2, ['a', 'b'])
    """
    given = [parts] if isinstance(parts, str | os.PathLike) else list(parts)
    target, opened = open_study(out, mode="a"), [open_study(part) for part in given]
    if not opened:
        raise BadStudy(f"no studies to merge into {out}; name at least one", option="parts")
    if any(_is_same_place(study, target) for study in opened):
        raise BadStudy(f"{out} is named as the study to merge into and as one of the parts")
    collections = [study[name] for study in opened for name in study]
    done, merged = 0, Merged(tuple(study.path for study in opened))

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, 2 * len(collections))

    problems = list[str]()
    for collection in collections:
        problems += [f"{collection.study.path}: {line}" for line in verify_collection(collection)]
        step()
    if problems:
        raise CorruptStudy(
            f"{counted(len(problems), 'damaged place')} in the parts, nothing was merged:{_listed(problems)}"
        )
    _refuse_conflicts(target, collections)
    for collection in collections:
        merged = _copy(target, collection, merged)
        step()
    return merged


def _is_same_place(study: Study, other: Study) -> bool:
    return study.path == other.path or (
        "://" not in study.path and os.path.realpath(study.path) == os.path.realpath(other.path)
    )


def _listed(lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - MAX_LINES} more"] if len(lines) > MAX_LINES else []
    return "".join(f"\n  {line}" for line in [*lines[:MAX_LINES], *more])


def _refuse_conflicts(target: Study, collections: Sequence[Collection]) -> None:
    """Compare what several studies hold under one name (BadStudy)."""
    first = {name: target[name] for name in target}
    conflicts = list[str]()
    for collection in collections:
        other = first.setdefault(collection.name, collection)
        if other is collection:
            continue
        if not _same_scores(other, collection):
            conflicts.append(
                f"{collection.name}: scores in {collection.study.path} differ from those in {other.study.path}"
            )
            continue
        others = _results(other)
        for path, seal in _results(collection).items():
            if others.get(path, seal) == seal:
                continue
            mine, theirs = (
                read_result(each.place, f"{each.folder}/{RESULTS}/{path}")
                for each in (other, collection)
            )
            if mine is None or theirs is None or not mine.equals(theirs):
                conflicts.append(
                    f"{collection.name}: {path} in {collection.study.path} differs from that in {other.study.path}"
                )
    if conflicts:
        raise BadStudy(
            f"{counted(len(conflicts), 'conflict')} between studies, nothing was merged:{_listed(conflicts)}\n"
            "leave out one of the studies, or store the collection under another name"
        )


def _same_scores(one: Collection, other: Collection) -> bool:
    """Whether the scores of one of two collections are in the other."""
    mine, theirs = one.head, other.head
    if mine.cube in theirs.contains or theirs.cube in mine.contains:
        return True
    cubes = [read_group(each.place, each.head, CUBE) for each in (one, other)]
    return bool(cubes[0].equals(cubes[1]))


def _results(collection: Collection) -> dict[str, str]:
    """Return the digest of the archive of each current result, by analysis and digest of the plan."""
    head, place, folder = collection.head, collection.place, collection.folder
    return {
        f"{analysis}/{digest}": str(facts["zip"])
        for analysis in place.children(f"{folder}/{RESULTS}")
        for digest, facts in results_of(place, folder, analysis, head).items()
        if is_current(facts, head)
    }


def _copy(target: Study, source: Collection, merged: Merged) -> Merged:
    """Copy what the target lacks of a collection, and return the numbers of what was done so far."""
    target.prepare()
    own, theirs = Collection(target, source.name), source.head
    is_new = source.name not in target
    before = 0 if is_new else own.head.number

    def copy(path: str) -> bool:
        content = source.place.read(path)
        if content is not None:
            own.place.write(path, content, durable=False)
        return content is not None

    def change(head: Head) -> Head:
        newer = not head.number or (theirs.cube != head.cube and head.cube in theirs.contains)
        kinds = [kind for kind in (CUBE, RANKINGS) if getattr(theirs, kind)]
        for kind in kinds:
            if newer or not getattr(head, kind):
                for key in theirs.files[kind]:
                    copy(f"{theirs.group(kind)}/{key}")
                facts = {**head.facts, kind: theirs.facts[kind]}
                files = {**head.files, kind: theirs.files[kind]}
                head = replace(head, files=files, facts=facts, **{kind: getattr(theirs, kind)})
        own.place.sync()
        contains = dict.fromkeys([head.cube, *head.contains, *theirs.contains])
        noted = {**theirs.facts.get("facts", {}), **head.facts.get("facts", {})}
        facts = {**head.facts, **({"facts": noted} if noted else {})}
        return replace(head, contains=tuple(contains), facts=facts)

    head = commit(own.place, source.name, change)
    there, wanted = _results(own), _results(source)
    missing = [path for path in wanted if path not in there]
    for path in missing:
        for end in (ARCHIVE, FACTS):
            copy(f"{source.folder}/{RESULTS}/{path}{end}")
    blocks = f"{source.folder}/{BLOCKS}"
    for key in set(source.place.keys(blocks)) - set(own.place.keys(blocks)):
        copy(f"{blocks}/{key}")
    own.place.sync()
    changed = head.number != before or bool(missing)
    return replace(
        merged,
        new=merged.new + is_new,
        extended=merged.extended + (changed and not is_new),
        unchanged=merged.unchanged + (not changed),
        results=merged.results + len(missing),
    )

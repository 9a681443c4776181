"""Parts of a sweep: each sweeps a share of the collections into a study of its own (array jobs); `scorecube.merge` joins them.

Every part computes all shares by one rule, from the sweep file and the sizes of its files alone. Collections are dealt in the order of their
size in bytes, largest first and by name among equals, each to the part with the fewest bytes so far (the lowest number among equals).
Collections that come from another study count as equally large, and so do all others beside them: their names in sorted order are dealt in turn.
Collections that one analysis compares (judges, boards) stay together, under the first of their names.
"""

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import PurePosixPath
from typing import Any

from scorecube.errors import BadInput, BadPlan, nearest, option
from scorecube.storage import open_study
from scorecube.storage.layout import PART_OF
from scorecube.workflow.sweep_file import STUDY, Entry, Source, SweepFile
from scorecube.workflow.sweep_sources import claim, files_of, matching, taken_from

COLLECTIONS = "collections"


@dataclass(frozen=True)
class Part:
    """One of several parts of a sweep.

    number: Of this part, from 1.
    """

    number: int
    parts: int

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"

    def path(self, study: str) -> str:
        """Return the path or URL of the part's study.

        Examples
        --------
        >>> Part(3, 100).path("s3://bucket/study.zarr"), Part(3, 8).path("results/study")
        ('s3://bucket/study.part-003-of-100.zarr', 'results/study.part-3-of-8')
        """
        suffix = PurePosixPath(study).suffix
        number = f"{self.number:0{len(str(self.parts))}d}"
        return f"{study.removesuffix(suffix)}.part-{number}-of-{self.parts}{suffix}"


def parse_part(text: str) -> Part:
    """Return the part of a text such as ``3/100``.

    Raises BadPlan: Another text, or a number that is not within 1 and the number of parts.

    Examples
    --------
    >>> parse_part("3/100")
    Part(number=3, parts=100)
    """
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text, re.ASCII)
    part = Part(int(found[1]), int(found[2])) if found else Part(0, 0)
    if not 1 <= part.number <= part.parts:
        raise BadPlan(
            f"{option('part', text)}; expected NUMBER/PARTS such as 3/100, with a number from 1 to that of the parts",
            option="part",
        )
    return part


def missing_parts(paths: Iterable[str]) -> tuple[list[int], int]:
    """Return the numbers of parts that are not among paths of one sweep's parts, and the number of parts.

    Both are empty where a path is not named by `Part.path`, or the numbers of parts differ.

    Examples
    --------
    >>> missing_parts(["s.part-1-of-4.zarr", "s.part-4-of-4.zarr"]), missing_parts(["a.zarr"])
    (([2, 3], 4), ([], 0))
    """
    found = [PART_OF.search(path) for path in paths]
    named = [each for each in found if each is not None]
    totals = {int(each[2]) for each in named}
    if len(named) < len(found) or len(totals) != 1:
        return [], 0
    (total,) = totals
    present = {int(each[1]) for each in named}
    return [number for number in range(1, total + 1) if number not in present], total


def parts_of(study: str, names: Iterable[str]) -> list[tuple[Part, str]]:
    """Return the parts of a sweep, with their studies, whose names are among those beside the sweep's study.

    Examples
    --------
    >>> parts_of("all/s.zarr", ["s.part-2-of-2.zarr", "t.part-1-of-2.zarr", "s.zarr"])
    [(Part(number=2, parts=2), 'all/s.part-2-of-2.zarr')]
    """
    folder, slash, name = study.rstrip("/").rpartition("/")
    found = []
    for each in names:
        match = PART_OF.search(each)
        if match is not None and match[2] != "0":
            part = Part(int(match[1]), int(match[2]))
            if part.path(name) == each:
                found.append((part, folder + slash + each))
    return sorted(found, key=lambda pair: (pair[0].parts, pair[0].number))


@dataclass(frozen=True)
class _Candidate:
    """A collection of a sweep: its name, its source, and the size of its files; None for one of another study."""

    name: str
    source: Source
    size: int | None


def narrowed(
    sweep: SweepFile,
    *,
    part: Part | None = None,
    study: str | None = None,
    collections: Sequence[str] | None = None,
) -> SweepFile:
    """Return a sweep with some of its collections, and the analyses of these.

    sweep: As from `read_sweep`.
    part: Keeps the share of one part, whose study is `Part.path` of the sweep's.
    study: Path or URL of the study instead.
    collections: Keeps the collections of these names among them.
    Returns sweep: Without sources if the part has no collections. A sweep without sources has those of its study:
        another study gets copies.
    Raises BadPlan: A name that the sweep, or the part, does not have.
    Raises BadStudy: No study where collections come from.
    """
    target = study or (sweep.study if part is None else part.path(sweep.study))
    if target == sweep.study and part is None and collections is None:
        return sweep
    candidates = _candidates(sweep)
    known = sorted(candidates)
    share = (
        known if part is None else shares(candidates, sweep.entries, part.parts)[part.number - 1]
    )
    where = f"{sweep.path}, part {part}," if part else sweep.path
    for name in collections or ():
        if name not in share:
            raise BadPlan(
                f"{option('collection', name)}: {where} has no such collection; nearest: {nearest(name, share) or 'none'}",
                option="collection",
            )
    chosen = set(share if collections is None else collections)
    return replace(
        sweep,
        study=target,
        sources=tuple(_restricted(candidates, chosen)),
        entries=tuple(entry for entry in sweep.entries if _is_within(entry, known, chosen)),
    )


def _candidates(sweep: SweepFile) -> dict[str, _Candidate]:
    """Return all collections of a sweep by name, in its order."""
    found: dict[str, _Candidate] = {}
    whole = Source("", STUDY, {STUDY: sweep.study}, (sweep.path, 1))
    for source in sweep.sources or (whole,):
        if source.kind == STUDY:
            names = taken_from(source, open_study(source.settings[STUDY]))
            new = [_Candidate(name, source, None) for name in names]
        else:
            new = [_Candidate(source.name, source, _size(source))]
        for each in new:
            claim(each.name, source, found)
            found[each.name] = each
    return found


def _size(source: Source) -> int:
    """Return the size of a source's files in bytes; 0 if they are missing, which is reported when they are read."""
    try:
        return sum(
            path.stat().st_size for key in ("runs", "scores") for path in files_of(source, key)
        )
    except (BadInput, OSError):
        return 0


def shares(candidates: Mapping[str, Any], entries: Sequence[Entry], parts: int) -> list[list[str]]:
    """Return the names of the collections of each part, sorted; see the module for the rule.

    candidates: Collections by name, with the attribute `size` in bytes, None if it is unknown.
    entries: Analyses, for those that compare collections.
    """
    known = sorted(candidates)
    first = {name: name for name in known}
    for entry in entries:
        if entry.analysis.n_collections == 1:
            continue
        compared = matching(known, entry.collections)
        joined = {first[name] for name in compared}
        if len(joined) > 1:
            least = min(joined)
            first = {name: least if of in joined else of for name, of in first.items()}
    together: dict[str, list[str]] = {}
    for name in known:
        together.setdefault(first[name], []).append(name)
    sizes = {name: candidates[name].size for name in known}
    if None in sizes.values():
        sizes = dict.fromkeys(known, 1)
    weights = {name: sum(sizes[each] for each in group) for name, group in together.items()}
    result: list[list[str]] = [[] for _ in range(parts)]
    loads = [(0, number) for number in range(parts)]
    for name in sorted(together, key=lambda name: (-weights[name], name)):
        load, number = heapq.heappop(loads)
        result[number] += together[name]
        heapq.heappush(loads, (load + weights[name], number))
    return [sorted(share) for share in result]


def _restricted(candidates: Mapping[str, _Candidate], chosen: set[str]) -> Iterable[Source]:
    """Yield the sources of the chosen collections; those of another study name them."""
    by_source: dict[int, tuple[Source, list[str]]] = {}
    for each in candidates.values():
        if each.name in chosen:
            by_source.setdefault(id(each.source), (each.source, []))[1].append(each.name)
    for source, names in by_source.values():
        if source.kind == STUDY:
            exact = [escape(name) for name in names]  # names may hold what is special in patterns
            yield replace(source, settings={**source.settings, COLLECTIONS: exact})
        else:
            yield source


def _is_within(entry: Entry, known: Sequence[str], chosen: set[str]) -> bool:
    """Whether the chosen collections have some that an entry analyses, and all that it compares.

    An entry that matches no collection at all stays, so that it is refused.
    """
    matches = matching(known, entry.collections)
    if entry.analysis.n_collections != 1:
        return chosen.issuperset(matches)
    return not matches or not chosen.isdisjoint(matches)

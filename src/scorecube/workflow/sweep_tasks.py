"""Tasks of a sweep: reading one collection, and computing what it lacks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from scorecube.analyses.plan import digest_of
from scorecube.errors import (
    BadName,
    BadPlan,
    ClusterFailed,
    ScorecubeError,
    StoreFailed,
    SweepFailed,
    counted,
)
from scorecube.execute.executor import Executor
from scorecube.ingest.files import expand
from scorecube.ingest.options import IMPORT
from scorecube.storage import Study, exists, open_study
from scorecube.workflow.inputs import arguments_of, evaluate_into, import_scores, read_rankings
from scorecube.workflow.sweep_file import PATHS, RUNS, SCORES, Entry, Source
from scorecube.workflow.tasks import REQUEST, Cubes, plan_in_study

READING = "reading"
"""Subject of a problem that is no analysis."""
SOURCE = "sweep_source"
"""Fact of a collection: digest of the settings and files that it was read from."""


class Problem(NamedTuple):
    """Why an analysis of a collection, or `READING` it, has no result."""

    collection: str
    subject: str
    message: str


class Stored(NamedTuple):
    """A result in the study: position of its entry in the sweep, and what identifies it."""

    place: int
    collection: str
    digest: str
    is_new: bool


@dataclass(frozen=True)
class SweepTask:
    """Entries, by their positions, of one collection, or of several that are compared.

    replace: Whether scores whose source has changed replace those that are stored.
    """

    collections: tuple[str, ...]
    entries: Mapping[int, Entry]
    source: Source | None = None
    replace: bool = False


@dataclass
class Outcome:
    """What came of a task, or of a sweep.

    stored: Results that are in the study.
    failed, left_out: Analyses that failed, and those that are impossible for a collection.
    lines: Notes on what was read.
    elsewhere: Whether the memory, or the study, was lacking: another process may have it.
    """

    stored: list[Stored] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    elsewhere: bool = False

    @contextmanager
    def noting(self, collection: str, subject: str) -> Iterator[None]:
        """Note an error in place of raising it, unless it would meet all other collections."""
        try:
            yield
        except (StoreFailed, ClusterFailed, CancelledError):
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            if isinstance(error, ScorecubeError):
                text = str(error).removeprefix(f"{collection}: ")
            self.elsewhere |= isinstance(error, MemoryError)
            is_impossible = isinstance(error, BadPlan | BadName) and subject != READING
            problems = self.left_out if is_impossible else self.failed
            problems.append(Problem(collection, subject, text))

    def refuse_failures(self, total: int) -> None:
        """Raise SweepFailed with what failed, if anything did, of a number of collections."""
        if count := len({problem.collection for problem in self.failed}):
            head = (
                f"{count:,} of {counted(total, 'collection')} failed; the others are done. "
                "Run the same command again when this is mended:"
            )
            lines = [f"  {name}: {subject}: {text}" for name, subject, text in self.failed]
            raise SweepFailed("\n".join([head, *lines]))


def compute(study: Study, task: SweepTask, executor: Executor) -> Outcome:
    """Read the collection of a task, and compute and store what its entries ask for."""
    outcome, first = Outcome(), task.collections[0]
    cubes, requests = Cubes(), dict[int, str]()
    with outcome.noting(first, READING):
        if task.source is not None:
            add_source(study, first, task, executor.workers, outcome.lines.append)
        for place, entry in task.entries.items():
            request, digest = stored_for(study, task.collections, entry)
            if digest:
                outcome.stored.append(Stored(place, first, digest, is_new=False))
            else:
                requests[place] = request
    for place, request in {} if outcome.failed else requests.items():
        entry = task.entries[place]
        with outcome.noting(first, entry.analysis.name):
            planned = plan_in_study(
                study,
                entry.analysis,
                collections=task.collections,
                trials=entry.trials,
                seed=entry.seed,
                cubes=cubes,
                **entry.selection,
            )
            for plan in planned:
                if is_new := not plan.is_stored():
                    replace(plan, request=request).run(executor)
                outcome.stored.append(Stored(place, first, plan.plan.digest, is_new))
    return outcome


def add_source(
    study: Study, name: str, task: SweepTask, workers: int, notify: Callable[[str], None]
) -> None:
    """Add a collection to a study, unless what it is read from is what it was read from before.

    Raises BadInput, BadStudy: Files that cannot be read, or that contradict the stored collection.
    """
    kind, settings = task.source  # type: ignore[misc]
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    files = {key: expand(settings[key], key) for key in settings.keys() & set(PATHS)}
    for path in (path for key in sorted(files) for path in files[key]):
        digest.update(f"{path}\n".encode() + Path(path).read_bytes())
    facts = {SOURCE: digest.hexdigest()}
    if name in study and study[name].head.notes.get(SOURCE) == facts[SOURCE]:
        return

    def note(line: str) -> None:
        notify(f"{name}: note: {line}")

    if kind == SCORES:
        options = {key: value for key, value in settings.items() if key in IMPORT}
        cube = import_scores(files[SCORES], notify=note, **options)
        study.add(name, cube=cube, replace=task.replace, facts=facts)
        return
    reading, scoring = arguments_of({**settings, "replace": task.replace})
    reading |= {"workers": workers, "notify": note}
    rankings = read_rankings(files[RUNS], settings["qrels"], **reading)
    evaluate_into(study, name, rankings, facts=facts, **scoring)


def stored_for(study: Study, collections: Sequence[str], entry: Entry) -> tuple[str, str]:
    """Return digests of what an entry asks for of the scores that are there now, and of its result.

    A result with that request needs no reading of scores; the second is "" if none is stored.
    """
    analysis, heads = entry.analysis, [study[name].head for name in collections]
    record = {
        "analysis": analysis.name,
        "options": analysis.options(),
        "trials": entry.trials,
        "seed": entry.seed,
        "selection": {key: str(value) for key, value in entry.selection.items()},
        "scores": [[h.name, h.cube, h.rankings if analysis.uses_rankings else ""] for h in heads],
    }
    request = digest_of(record)
    stored = study[collections[0]].result_attributes(analysis.name)
    return request, next((str(s["digest"]) for s in stored if s.get(REQUEST) == request), "")


def status_of(path: str, tasks: Sequence[SweepTask]) -> str:
    """Return how many collections and results of tasks are in the study at a path."""
    swept = {name for task in tasks for name in task.collections}
    wanted = sum(len(task.entries) for task in tasks)
    there, results = set[str](), 0
    if exists(path):
        study = open_study(path)
        there = swept.intersection(study)
        for task in tasks:
            if there.issuperset(task.collections):
                found = (stored_for(study, task.collections, one) for one in task.entries.values())
                results += sum(bool(digest) for _, digest in found)
    collections = counted(len(swept), "collection")
    stored = f"{results:,} of {counted(wanted, 'result')} stored"
    return f"{len(there):,} of {collections} read, {stored}"

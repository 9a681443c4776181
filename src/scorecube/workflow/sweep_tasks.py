"""Tasks of a sweep: reading one collection, and computing what it lacks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import xarray as xr

from scorecube import names
from scorecube.analyses.plan import request_digest
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.errors import (
    BadInput,
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
from scorecube.storage import Study
from scorecube.workflow.inputs import arguments_of, evaluate_into, import_scores, read_rankings
from scorecube.workflow.sweep_file import PATHS, RUNS, SCORES, Entry, Source
from scorecube.workflow.tasks import REQUEST, Cubes, plan_in_study

READING = "reading"
"""Subject of a problem that is no analysis."""
SOURCE = "sweep_source"
"""Fact of a collection: digest of the settings and files that it was read from."""
DIMS = {"metrics": names.METRIC, "gains": names.GAIN, "runs": names.RUN, "topics": names.TOPIC}
"""Dim of each selection by labels."""


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
                text = error.in_file().removeprefix(f"{collection}: ")
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


@dataclass(frozen=True)
class SweepTask:
    """Entries, by their positions, of one collection, or of several that are compared."""

    collections: tuple[str, ...]
    entries: Mapping[int, Entry]
    source: Source | None = None


def compute(study: Study, task: SweepTask, executor: Executor) -> Outcome:
    """Read the collection of a task, and compute and store what its entries ask for."""
    outcome, first = Outcome(), task.collections[0]
    cubes, requests = Cubes(study, len(task.collections)), dict[int, str]()
    with outcome.noting(first, READING):
        if task.source is not None:
            add_source(study, task.source, executor, outcome.lines.append)
        for place, entry in task.entries.items():
            request, digest = stored_for(study, task.collections, entry)
            if digest:
                outcome.stored.append(Stored(place, first, digest, is_new=False))
            else:
                requests[place] = request
        for name in task.collections if requests else ():
            cubes.whole(name)
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
                **restricted(entry.selection, cubes.whole(first)),
            )
            for plan in planned:
                is_new = not plan.is_stored()
                if is_new:
                    replace(plan, request=request).run(executor)
                outcome.stored.append(Stored(place, first, plan.plan.digest, is_new))
    return outcome


def add_source(
    study: Study, source: Source, executor: Executor, notify: Callable[[str], None]
) -> None:
    """Add a collection to a study, unless what it is read from is what it was read from before.

    executor: Where run files are read.
    notify: Takes lines of text: notes on what is read.
    Raises BadInput, BadStudy: Files that cannot be read, or that contradict the stored collection.
    """
    settings = dict(source.settings)
    replace = settings.pop("replace", False)
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    files = {}
    for key in PATHS:
        if key in settings:
            try:
                files[key] = expand(settings[key], {RUNS: "run files"}.get(key, key))
            except BadInput as error:
                problem = f"{key} of {source.name}: {error.in_file()}"
                raise BadInput(problem, source.where) from None
            for path in files[key]:
                digest.update(f"{path}\n".encode() + _digest_of(path))
    facts = {SOURCE: digest.hexdigest()}
    if source.name in study and study[source.name].head.notes.get(SOURCE) == facts[SOURCE]:
        return

    def note(line: str) -> None:
        notify(f"{source.name}: note: {line}")

    if source.kind == SCORES:
        options = {key: value for key, value in settings.items() if key in IMPORT}
        cube = import_scores(files[SCORES], notify=note, **options)
        study.add(source.name, cube=cube, replace=replace, facts=facts)
        return
    reading, scoring = arguments_of({**settings, "replace": replace})
    reading |= {"workers": executor.workers, "client": executor.client, "notify": note}
    rankings = read_rankings(files[RUNS], settings["qrels"], **reading)
    evaluate_into(study, source.name, rankings, facts=facts, **scoring)


def _digest_of(path: os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", path) from None


def stored_for(study: Study, collections: Sequence[str], entry: Entry) -> tuple[str, str]:
    """Return digests of what an entry asks for of the scores that are there now, and of its result.

    A result with that request needs no reading of scores. Of rankings there is no version, so that
    requests of them are "", as is the digest of a result that is not stored.
    """
    analysis = entry.analysis
    if analysis.uses_rankings:
        return "", ""
    record = {
        "analysis": analysis.name,
        "options": analysis.options(),
        "trials": entry.trials,
        "seed": entry.seed,
        "selection": {key: str(value) for key, value in entry.selection.items()},
        "scores": [[name, study[name].head.cube] for name in collections],
    }
    request = request_digest(record)
    stored = study[collections[0]].result_attributes(analysis.name)
    return request, next((str(s["digest"]) for s in stored if s.get(REQUEST) == request), "")


def n_stored(study: Study, task: SweepTask) -> int:
    """Return how many results of a task are stored; of rankings, those of any options count."""
    count, first = 0, study[task.collections[0]]
    for entry in task.entries.values():
        request, digest = stored_for(study, task.collections, entry)
        count += bool(digest or (not request and first.result_attributes(entry.analysis.name)))
    return count


def restricted(selection: Mapping[str, Any], cube: xr.Dataset) -> dict[str, Any]:
    """Return a selection without the metrics, gain settings, runs and topics that a cube lacks.

    Raises BadName: The cube has none of the selected ones.
    """
    result = dict(selection)
    for key in DIMS.keys() & selection.keys():
        there, wanted = set(labels_of(cube, DIMS[key])), list(selection[key])
        if key == "metrics":
            wanted = [str(parse_known(str(label))) for label in wanted]
        result[key] = [label for label in wanted if label in there]
        if not result[key]:
            raise BadName(f"the collection has none of the {key} {', '.join(map(str, wanted))}")
    return result

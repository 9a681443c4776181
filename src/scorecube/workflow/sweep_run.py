"""The run of a sweep: each task is one collection, or several that are compared.

On a client, tasks run on its workers, the largest first; what a worker lacks the memory for, or
what takes it long, is computed in blocks on all of them. Without one, the first tasks run in this
process, each with all cores; when they predict that the rest takes longer than `PATIENCE` seconds,
whole tasks run side by side in processes of one thread. Each task stores its own results; workers
that do not see the study send them here.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from scorecube.analyses.plan import digest_of
from scorecube.collection.teams import listed
from scorecube.errors import (
    BadName,
    BadPlan,
    BadStudy,
    ClusterFailed,
    ScorecubeError,
    StoreFailed,
    SweepFailed,
    counted,
)
from scorecube.execute.clusters import open_executor
from scorecube.execute.executor import Executor, Progress, TooLong, on_worker, run_items
from scorecube.storage import Study, open_study, take_files
from scorecube.workflow.sweep_file import Entry, Source, bytes_of_source, store_source
from scorecube.workflow.tasks import REQUEST, Cubes, plan_in_study

LOGGER = logging.getLogger("scorecube")
PATIENCE = 20.0
"""Predicted seconds of the remaining tasks from which on processes are worth their start."""
MOST_TOGETHER = 16
"""Collections of a task of dask, which costs the driver and the scheduler some milliseconds."""
TASKS_OF_WORKER = 8
"""Tasks that each worker has at least, where there are as many collections."""
READING = "reading"
"""Subject of a problem that is no analysis."""
Keep = Callable[["Outcome"], None]
Files = Mapping[str, bytes]


class Problem(NamedTuple):
    """Why an analysis of a collection, or `READING` it, has no result.

    message: With its arguments still marked.
    """

    collection: str
    subject: str
    message: str


def grouped(problems: Iterable[Problem]) -> list[str]:
    """Return a line for each analysis and reason, with the collections that it is about.

    Examples
    --------
    >>> grouped([Problem("a", "swap", "one run"), Problem("b", "swap", "one run")])
    ['swap of a, b: one run']
    """
    collections: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        collections.setdefault(problem[1:], []).append(problem.collection)
    return [f"{what} of {listed(of)}: {why}" for (what, why), of in collections.items()]


class EntryResult(NamedTuple):
    """A result in the study: position of its entry in the sweep, and what identifies it."""

    place: int
    collection: str
    digest: str
    is_new: bool


@dataclass(frozen=True)
class SweepTask:
    """Entries, by their positions, of one collection, or of several that are compared.

    source: What the collection comes from; `version` of one that a function makes.
    """

    collections: tuple[str, ...]
    entries: Mapping[int, Entry]
    source: Source = None
    replace: bool = False
    version: str = ""


@dataclass
class Outcome:
    """What came of a task, or of a sweep; what is impossible for a collection is left out.

    lines: Notes on what was read.
    elsewhere: Whether memory was lacking, or it takes long: it is for all workers.
    files: Those of the collection, from a worker that does not see the study.
    """

    stored: list[EntryResult] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    elsewhere: bool = False
    files: Files = field(default_factory=dict)

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
                text = error.marked.removeprefix(f"{collection}: ")
            self.elsewhere |= isinstance(error, MemoryError | TooLong)
            is_impossible = isinstance(error, BadPlan | BadName) and subject != READING
            problems = self.left_out if is_impossible else self.failed
            problems.append(Problem(collection, subject, text))

    def failure(self, total: int) -> SweepFailed:
        """Return what failed, of a number of collections, as an error."""
        count = len({problem.collection for problem in self.failed})
        lines = [
            f"{count:,} of {counted(total, 'collection')} failed; the others are done. "
            "Run the same command again when this is mended:",
            *(f"  {line}" for line in grouped(self.failed)),
        ]
        return SweepFailed("\n".join(lines))


def run_sweep(
    study: Study,
    tasks: Sequence[SweepTask],
    executor: Executor,
    *,
    notify: Callable[[str], None] = LOGGER.info,
    progress: Progress | None = None,
) -> Outcome:
    """Run tasks from `tasks_of`; return what is stored, and what failed while others went on.

    executor: Where blocks, or whole tasks, are computed.
    progress: Called with numbers of tasks: (done, total).
    Raises StoreFailed, ClusterFailed: What would meet every other task, too.
    """
    total = Outcome()
    said: set[str] = set()
    done = 0

    def keep(outcome: Outcome) -> None:
        nonlocal done
        total.stored += outcome.stored
        total.failed += outcome.failed
        total.left_out += outcome.left_out
        for line in outcome.lines:
            if line not in said:
                notify(line)
        said.update(outcome.lines)
        done += 1
        if progress is not None:
            progress(done, len(tasks))

    single = [task for task in tasks if len(task.collections) == 1]
    rest = single
    started = time.monotonic()
    while rest and not _is_long(len(single) - len(rest), len(rest), started, executor):
        keep(compute(study, rest[0], executor))
        if rest is single:  # the first one compiled kernels
            started = time.monotonic()
        rest = rest[1:]
    if rest:
        rest = _side_by_side(study, rest, executor, keep)
        if rest:
            notify(f"{counted(len(rest), 'collection')} too long or too large for one worker each")
    for task in [*rest, *tasks[len(single) :]]:
        keep(compute(study, task, executor))
    return total


def _is_long(done: int, left: int, started: float, executor: Executor) -> bool:
    """Whether the tasks that are left are better run side by side."""
    if executor.client is not None:
        return left > 1
    if done == 0 or executor.workers == 1 or left < 2 * executor.workers:
        return False
    return (time.monotonic() - started) * left / max(done - 1, 1) > PATIENCE


class Parcel(NamedTuple):
    """A task as it is sent to a worker, without the entries, which all share.

    files: Of its collection, for workers that do not see the study; None: these cannot do it.
    """

    task: SweepTask
    files: Files | None


@dataclass(frozen=True)
class There:
    """Runs tasks in a worker process, with one thread.

    marker: File of the study while it is swept, by which a worker knows that it sees it.
    """

    path: str
    marker: str
    entries: Mapping[int, Entry]

    def __call__(self, parcels: Sequence[Parcel]) -> list[Outcome]:
        return [self.outcome(parcel) for parcel in parcels]

    def outcome(self, parcel: Parcel) -> Outcome:
        """Return what came of one task."""
        task = replace(parcel.task, entries=self.entries)
        if (study := self.study()) is not None:
            return compute(study, task, on_worker())
        if parcel.files is None:
            return Outcome(elsewhere=True)
        with tempfile.TemporaryDirectory(prefix="scorecube-") as folder:
            study = open_study(folder, mode="a")
            study.write_files(parcel.files)
            outcome = compute(study, task, on_worker())
            if (name := task.collections[0]) in study:
                outcome.files = study[name].files()
        return outcome

    def study(self) -> Study | None:
        """Return the study, if this process sees it; its folder may be another one here."""
        with suppress(OSError, BadStudy, StoreFailed):
            study = open_study(self.path, mode="a")
            if study.place.read(self.marker) is not None:
                return study
        return None

    def blind(self, _: object) -> str:
        """Return the address of this worker if it does not see the study, else nothing."""
        return "" if self.study() is not None else on_worker().name


def _side_by_side(
    study: Study, tasks: Sequence[SweepTask], executor: Executor, keep: Keep
) -> list[SweepTask]:
    """Run whole tasks on workers, the largest first; return those that all workers share."""
    blind: list[str] = []
    sent: list[SweepTask] = []
    left: list[SweepTask] = []

    def parcels() -> Iterator[Parcel]:
        for task in _largest_first(study, tasks):
            outcome = Outcome()
            parcel = Parcel(task, None)
            if any(blind):
                with outcome.noting(task.collections[0], READING):
                    parcel = _whole_parcel(study, task, outcome, executor.workers)
            if outcome.failed:
                keep(outcome)
            else:
                sent.append(task)
                yield parcel._replace(task=replace(parcel.task, entries={}))

    def take(position: int, outcomes: list[Outcome]) -> None:
        first = position * together
        for task, outcome in zip(sent[first : first + together], outcomes, strict=True):
            if outcome.files:
                stored = outcome.stored
                outcome.stored = []
                with outcome.noting(task.collections[0], READING):
                    take_files(study, outcome.files)
                    outcome.stored = stored
            if outcome.elsewhere:
                left.append(task)
            else:
                keep(outcome)

    with ExitStack() as stack:
        client = executor.client
        if client is None:
            options = {"n_workers": executor.workers, "threads_per_worker": 1}
            local = {"class": "distributed.LocalCluster", "options": options}
            client = stack.enter_context(open_executor(local)).client
        path = study.path if "://" in study.path else str(Path(study.path).absolute())
        there = There(path, stack.enter_context(study.place.marked()), tasks[0].entries)
        run_items(client, there.blind, [path], lambda _, address: blind.append(address))
        how: dict[str, Any] = {"name": "sweep", "label": _label}
        together = min(MOST_TOGETHER, len(tasks) // (TASKS_OF_WORKER * executor.workers)) or 1
        if any(blind):
            together = 1
            how["ahead"] = 2 * executor.workers  # whole collections, which are in memory here
            LOGGER.warning(
                "workers, such as %s, do not see %s: they send results, and this process stores "
                "them", blind[0], path,
            )  # fmt: skip
        run_items(client, there, _batched(parcels(), together), take, **how)
    return left


def _batched(parcels: Iterator[Parcel], n: int) -> Iterator[list[Parcel]]:
    """Yield n at a time, and what is left."""
    while batch := list(islice(parcels, n)):
        yield batch


def _label(parcels: Sequence[Parcel]) -> str:
    """Return the name of the first collection, and how many others there are."""
    more = f" and {len(parcels) - 1} more" if len(parcels) > 1 else ""
    return f"{parcels[0].task.collections[0]}{more}"


def _largest_first(study: Study, tasks: Sequence[SweepTask]) -> list[SweepTask]:
    sizes = sizes_of(study, tasks)
    return sorted(tasks, key=lambda task: -sizes[task.collections[0]])


def sizes_of(study: Study | None, tasks: Sequence[SweepTask]) -> dict[str, int]:
    """Return the bytes of what the collections of tasks come from; 0 for what is not known."""
    sizes = {task.collections[0]: bytes_of_source(task.source) for task in tasks}
    if study is not None and all(task.source is None for task in tasks):
        stored = {one.name: one.head.facts["cube"]["bytes"] for one in study.collections()}
        sizes = {name: stored[name] for name in sizes}
    return sizes


def _whole_parcel(study: Study, task: SweepTask, outcome: Outcome, workers: int) -> Parcel:
    """Return a task with the files of its collection; a new one can be made anywhere."""
    name = task.collections[0]
    is_portable = isinstance(task.source, xr.Dataset) or callable(task.source)
    if is_portable and name not in study:
        return Parcel(task, {})
    read_source(study, task, outcome, workers)
    return Parcel(replace(task, source=None), study[name].files())


def compute(study: Study, task: SweepTask, executor: Executor) -> Outcome:
    """Read the collection of a task, and compute and store what its entries ask for."""
    outcome = Outcome()
    first = task.collections[0]
    cubes = Cubes()
    with outcome.noting(first, READING):
        read_source(study, task, outcome, executor.workers)
        asked = {k: stored_for(study, task.collections, of) for k, of in task.entries.items()}
    if outcome.failed:
        return outcome
    for place, (request, digest) in asked.items():
        entry = task.entries[place]
        if digest:
            outcome.stored.append(EntryResult(place, first, digest, is_new=False))
            continue
        with outcome.noting(first, entry.analysis.name):
            settings = {"trials": entry.trials, "seed": entry.seed, **entry.selection}
            planned = plan_in_study(
                study, entry.analysis, collections=task.collections, cubes=cubes, **settings
            )
            for work in planned:
                if is_new := not work.is_stored():
                    replace(work, asked={REQUEST: request}).run(executor)
                outcome.stored.append(EntryResult(place, first, work.plan.digest, is_new))
    return outcome


def read_source(study: Study, task: SweepTask, outcome: Outcome, workers: int) -> None:
    """Store the collection of a task from its source, and note what is said of it."""
    how: dict[str, Any] = {"version": task.version, "replace": task.replace, "workers": workers}
    store_source(study, task.collections[0], task.source, outcome.lines.append, **how)


def stored_for(study: Study, collections: Sequence[str], entry: Entry) -> tuple[str, str]:
    """Return digests of what an entry asks for of the scores there now, and of its result or ""."""
    analysis = entry.analysis
    scores = []
    for name in collections:
        head = study[name].head
        scores.append([head.name, head.cube, head.rankings if analysis.uses_rankings else ""])
    record = {
        "analysis": analysis.name,
        "options": analysis.options(),
        "trials": entry.trials,
        "seed": entry.seed,
        "selection": {key: str(value) for key, value in entry.selection.items()},
        "scores": scores,
    }
    request = digest_of(record)
    stored = study[collections[0]].result_attributes(analysis.name)
    digests = [str(attrs["digest"]) for attrs in stored if attrs.get(REQUEST) == request]
    return request, digests[0] if digests else ""

"""Sweeps: many analyses of many collections of a study.

A task reads one collection, if it has a source, and computes what its entries ask for and the study
lacks. The first tasks run one after another in this process, each with all cores. When they predict
that the rest takes longer than `PATIENCE` seconds, whole tasks run side by side in processes of one
thread, or on the workers of a client. Each task stores its own results, so that a sweep is resumed
by running it again, and its parts may run at once on several machines.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import xarray as xr

from scorecube import names
from scorecube.analyses.plan import request_digest
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.errors import (
    BadName,
    BadPlan,
    ClusterFailed,
    ScorecubeError,
    StoreFailed,
    SweepFailed,
    counted,
    option,
)
from scorecube.execute.clusters import make_spec, open_executor
from scorecube.execute.executor import Executor, Progress
from scorecube.execute.items import run_items
from scorecube.execute.memory import default_memory
from scorecube.storage import Collection, Study, exists, open_study
from scorecube.workflow.sweep_file import Entry, Source
from scorecube.workflow.sweep_sources import add_source
from scorecube.workflow.tasks import REQUEST, Cubes, plan_in_study

if TYPE_CHECKING:
    pass

PATIENCE = 20.0
"""Predicted seconds of the remaining tasks from which on processes are worth their start."""
READING = "reading"
"""Subject of a problem that is no analysis."""
MEMORY = "memory"
"""Option that an error names where a plan needs more memory than there is."""
LOGGER = logging.getLogger("scorecube")


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
            self.elsewhere |= getattr(error, "option", None) == MEMORY
            impossible = isinstance(error, BadPlan | BadName) and error.option != MEMORY
            problems = self.left_out if impossible and subject != READING else self.failed
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


def tasks_of(
    entries: Sequence[Entry], sources: Mapping[str, Source | None], part: str | None = None
) -> list[SweepTask]:
    """Return the tasks of single collections, and behind them those that compare several.

    entries: Of the sweep.
    sources: Of all its collections, by name; None for those that are in the study.
    part: Share of the collections, such as ``3/100``, which leaves out what compares several.
    Raises BadPlan: A pattern that matches no collection, or a text that is no part.
    """
    single: dict[str, dict[int, Entry]] = {name: {} for name in sources}
    several = []
    for place, entry in enumerate(entries):
        patterns = entry.collections
        chosen = [
            name for name in sources if any(fnmatchcase(name, pattern) for pattern in patterns)
        ]
        if not chosen:
            raise BadPlan(
                f"{entry.analysis.name}: no collection matches {', '.join(patterns)}; "
                f"there are {', '.join(sources) or 'none'}"
            )
        if entry.analysis.n_collections != 1 and len(chosen) > 1:
            several.append(SweepTask(tuple(chosen), {place: entry}))
        else:
            for name in chosen:
                single[name][place] = entry
    shared = list(sources) if part is None else share(sources, part)
    tasks = [SweepTask((name,), single[name], sources[name]) for name in shared]
    return tasks if part else tasks + several


def share(collections: Iterable[str], part: str) -> list[str]:
    """Return every N-th of sorted names from the K-th on, for a part ``K/N``.

    Raises BadPlan: Another text, or a K that is not within 1 and N.

    Examples
    --------
    >>> share(["c", "a", "b"], "1/2")
    ['a', 'c']
    """
    numbers = re.fullmatch(r"([1-9][0-9]*)/([1-9][0-9]*)", part, re.ASCII)
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise BadPlan(
            f"{option('part', part)}: expected K/N such as 3/100, with K from 1 to N", option="part"
        )
    return sorted(collections)[int(numbers[1]) - 1 :: int(numbers[2])]


def run_sweep(
    study: Study,
    tasks: Sequence[SweepTask],
    executor: Executor,
    *,
    notify: Callable[[str], None] = LOGGER.info,
    progress: Progress | None = None,
) -> Outcome:
    """Run the tasks of a sweep.

    study: Opened for writing.
    tasks: As from `tasks_of`.
    executor: Where blocks, or whole tasks, are computed.
    notify: Takes notes on what is read.
    progress: Called with numbers of tasks: (done, total).
    Returns outcome: What is stored, and what failed while the others went on.
    Raises StoreFailed, ClusterFailed: What would meet every other task, too.
    """
    total, done = Outcome(), 0

    def keep(outcome: Outcome) -> None:
        nonlocal done
        total.stored += outcome.stored
        total.failed += outcome.failed
        total.left_out += outcome.left_out
        for line in outcome.lines:
            notify(line)
        done += 1
        if progress is not None:
            progress(done, len(tasks))

    single = [task for task in tasks if len(task.collections) == 1]
    rest, started = single, time.monotonic()
    while rest and not _is_long(len(single) - len(rest), len(rest), started, executor):
        keep(compute(study, rest[0], executor))
        if rest is single:  # the first one compiled kernels
            started = time.monotonic()
        rest = rest[1:]
    if rest:
        rest = _side_by_side(study.path, rest, executor, keep)
        if rest:
            notify(f"{counted(len(rest), 'collection')} left by workers: too large, or not visible")
    for task in [*rest, *tasks[len(single) :]]:
        keep(compute(study, task, executor))
    return total


def _is_long(done: int, left: int, started: float, executor: Executor) -> bool:
    """Whether the tasks that are left are better run side by side."""
    if done == 0 or executor.workers == 1 or left < 2 * executor.workers:
        return False
    seconds = (time.monotonic() - started) * left / max(done - 1, 1)
    return executor.client is not None or seconds > PATIENCE


def _side_by_side(
    path: str, tasks: Sequence[SweepTask], executor: Executor, keep: Callable[[Outcome], None]
) -> list[SweepTask]:
    """Run whole tasks on workers, and return those for which they lack the memory or the study."""
    count, returned, memory = executor.workers, list[SweepTask](), None

    def take(position: int, outcome: Outcome) -> None:
        if outcome.elsewhere:
            returned.append(tasks[position])
        else:
            keep(outcome)

    with ExitStack() as stack:
        client = executor.client
        if client is None:
            memory = (executor.memory or default_memory()) // count
            options = {"n_workers": count, "threads_per_worker": 1}
            spec = {"class": "distributed.LocalCluster", "options": options}
            client = stack.enter_context(open_executor(make_spec(spec))).client
        run_items(client, partial(compute_there, path, memory=memory), tasks, take)
    return returned


def compute_there(path: str, task: SweepTask, *, memory: int | None) -> Outcome:
    """Run a task in a worker process, with one thread and its share of the memory."""
    if not exists(path):
        return Outcome(elsewhere=True)
    return compute(open_study(path, mode="a"), task, Executor(memory=memory))


def compute(study: Study, task: SweepTask, executor: Executor) -> Outcome:
    """Read the collection of a task, and compute and store what its entries ask for."""
    outcome, first = Outcome(), task.collections[0]
    cubes, requests = Cubes(study, len(task.collections)), dict[int, str]()
    with outcome.noting(first, READING):
        if task.source is not None:
            add_source(study, task.source, executor, outcome.lines.append)
        for place, entry in task.entries.items():
            request = request_of(study, task.collections, entry)
            digest = stored_digest(study[first], entry, request)
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


def request_of(study: Study, collections: Sequence[str], entry: Entry) -> str:
    """Return the digest of what an entry asks for of the scores that are there now.

    A result with this digest needs no reading of scores. Of rankings there is no version: "".
    """
    if entry.analysis.uses_rankings:
        return ""
    record = {
        "analysis": entry.analysis.name,
        "options": entry.analysis.options(),
        "trials": entry.trials,
        "seed": entry.seed,
        "selection": {key: str(value) for key, value in entry.selection.items()},
        "scores": [[name, study[name].cube_version] for name in collections],
    }
    return request_digest(record)


def stored_digest(collection: Collection, entry: Entry, request: str) -> str:
    """Return the plan digest of the result that was stored for a request; "" if there is none."""
    for attributes in collection.result_attributes(entry.analysis.name) if request else ():
        if attributes.get(REQUEST) == request:
            return str(attributes["digest"])
    return ""


def status_of(path: str, tasks: Sequence[SweepTask]) -> str:
    """Return how many collections and results of tasks are in the study at a path."""
    swept = {name for task in tasks for name in task.collections}
    wanted = sum(len(task.entries) for task in tasks)
    there, results = set[str](), 0
    if exists(path):
        study = open_study(path)
        there = swept.intersection(study)
        for task in tasks:
            for entry in task.entries.values() if there.issuperset(task.collections) else ():
                first = study[task.collections[0]]
                request = request_of(study, task.collections, entry)
                some = first.result_attributes(entry.analysis.name)
                results += bool(stored_digest(first, entry, request) if request else some)
    collections = counted(len(swept), "collection")
    stored = f"{results:,} of {counted(wanted, 'result')} stored"
    return f"{len(there):,} of {collections} read, {stored}"


def restricted(selection: Mapping[str, Any], cube: xr.Dataset) -> dict[str, Any]:
    """Return a selection without the metrics, gain settings, runs and topics that a cube lacks.

    Raises BadName: The cube has none of the selected ones.
    """
    result = dict(selection)
    dims = {"metrics": names.METRIC, "gains": names.GAIN, "runs": names.RUN, "topics": names.TOPIC}
    for key in dims.keys() & selection.keys():
        there = set(labels_of(cube, dims[key]))
        wanted = list(selection[key])
        if key == "metrics":
            wanted = [str(parse_known(str(label))) for label in wanted]
        result[key] = [label for label in wanted if label in there]
        if not result[key]:
            raise BadName(f"the collection has none of the {key} {', '.join(map(str, wanted))}")
    return result

"""Sweeps: many analyses of many collections of a study.

A task reads one collection, if it has a source, and computes what its entries ask for and the study
lacks. The first tasks run one after another in this process, each with all cores. When they predict
that the rest takes longer than `PATIENCE` seconds, whole tasks run side by side in processes of one
thread, or on the workers of a client. Each task stores its own results, so that a sweep is resumed by
running it again, and its parts may run at once on several machines.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
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
from scorecube.analyses.base import Analysis
from scorecube.analyses.entry import cubes_of
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
    kind_of,
    option,
)
from scorecube.execute.clusters import open_client
from scorecube.execute.executor import Executor, Progress, default_workers
from scorecube.execute.items import run_items
from scorecube.storage import Collection, Study, exists, open_study
from scorecube.workflow.sweep_file import Entry, Source
from scorecube.workflow.sweep_sources import add_source
from scorecube.workflow.tasks import REQUEST, Cubes, Task, plan_in_study

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 20.0
"""Predicted seconds of the remaining tasks from which on processes are worth their start."""
READING = "reading"
"""Subject of a problem that is no analysis."""
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
    lines: Text on what was read.
    elsewhere: Whether a worker lacks the memory or the study, so that another process does the task.
    """

    stored: list[Stored] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    elsewhere: bool = False

    def add(self, other: Outcome) -> None:
        """Add what came of another task."""
        self.stored += other.stored
        self.failed += other.failed
        self.left_out += other.left_out

    @contextmanager
    def noting(self, collection: str, subject: str) -> Iterator[None]:
        """Note an error in place of raising it, unless it would meet every other collection, too."""
        try:
            yield
        except (StoreFailed, ClusterFailed, CancelledError):
            raise
        except Exception as error:
            self.failed.append(problem_of(error, collection, subject))

    def refuse_failures(self, total: int) -> None:
        """Raise SweepFailed with what failed, if anything did; `total` is a number of collections."""
        count = len({problem.collection for problem in self.failed})
        if count:
            lines = [
                f"{count:,} of {counted(total, 'collection')} failed; the others are done. "
                "Run the same command again when this is mended:",
                *(f"  {name}: {subject}: {text}" for name, subject, text in self.failed),
            ]
            raise SweepFailed("\n".join(lines))


@dataclass(frozen=True)
class SweepTask:
    """Entries, by their positions in the sweep, of one collection, or of several that are compared."""

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
        chosen = [name for name in sources if any(fnmatchcase(name, each) for each in patterns)]
        if not chosen:
            raise BadPlan(
                f"{entry.analysis.name}: no collection matches {', '.join(patterns)}; "
                f"there are {', '.join(sources) or 'none'}"
            )
        if entry.analysis.n_collections != 1 and len(chosen) > 1:
            several.append(SweepTask(tuple(chosen), {place: entry}))
            continue
        for name in chosen:
            single[name][place] = entry
    names_of_part = sources if part is None else share(sources, part)
    tasks = [SweepTask((name,), single[name], sources[name]) for name in names_of_part]
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
    notify: Takes lines of text on what is read.
    progress: Called with numbers of collections: (done, total).
    Returns outcome: What is stored, and what failed while the others went on.
    Raises StoreFailed, ClusterFailed: What would meet every other task, too.
    """
    outcome, done = Outcome(), 0

    def keep(part: Outcome) -> None:
        nonlocal done
        outcome.add(part)
        for line in part.lines:
            notify(line)
        done += 1
        if progress is not None:
            progress(done, len(tasks))

    single = [task for task in tasks if len(task.collections) == 1]
    rest = _one_by_one(study, single, executor, keep)
    if rest:
        _side_by_side(study, rest, executor, keep, notify)
    for task in tasks[len(single) :]:
        keep(compute(study, task, executor))
    return outcome


def _one_by_one(
    study: Study, tasks: Sequence[SweepTask], executor: Executor, keep: Callable[[Outcome], None]
) -> Sequence[SweepTask]:
    """Run tasks in this process, and return those that are better run side by side."""
    started = 0.0
    for position, task in enumerate(tasks):
        rest = len(tasks) - position
        if position == 1:  # the first one compiled kernels
            started = time.monotonic()
        if position and rest >= 2 * executor.workers > 2:
            seconds = (time.monotonic() - started) / max(position - 1, 1) * rest
            if executor.client is not None or (position > 1 and seconds > PATIENCE):
                return tasks[position:]
        keep(compute(study, task, executor))
    return []


def _side_by_side(
    study: Study,
    tasks: Sequence[SweepTask],
    executor: Executor,
    keep: Callable[[Outcome], None],
    notify: Callable[[str], None],
) -> None:
    """Run whole tasks on workers, and afterwards here what did not fit into the memory of one."""
    count, returned = executor.workers, list[SweepTask]()
    each = None if executor.memory is None else executor.memory // count

    def take(position: int, outcome: Outcome) -> None:
        if outcome.elsewhere:
            returned.append(tasks[position])
        else:
            keep(outcome)

    with ExitStack() as stack:
        client = executor.client
        if executor.client is None:
            options = {"n_workers": count, "threads_per_worker": 1}
            spec = {"class": "distributed.LocalCluster", "options": options}
            client = stack.enter_context(open_client(spec))
        run_items(client, partial(compute_there, study.path, memory=each), tasks, take)
    if returned:
        number = counted(len(returned), "collection")
        notify(f"{number} computed here: too large for a worker, or the study is not visible there")
    for task in returned:
        keep(compute(study, task, executor))


def compute_there(path: str, task: SweepTask, *, memory: int | None) -> Outcome:
    """Run a task in a worker process, with one thread and its share of the memory."""
    if not exists(path):
        return Outcome(elsewhere=True)
    return compute(open_study(path, mode="a"), task, Executor(memory=memory), alone=False)


def compute(study: Study, task: SweepTask, executor: Executor, *, alone: bool = True) -> Outcome:
    """Read the collection of a task, and compute and store what its entries ask for.

    alone: Whether the task has all memory, so that what needs more fails.
    """
    outcome, first = Outcome(), task.collections[0]
    cubes = Cubes(study, len(task.collections))
    with outcome.noting(first, READING):
        if task.source is not None:
            add_source(study, task.source, executor, outcome.lines.append)
        requests = {}
        for place, entry in task.entries.items():
            request = request_of(study, task.collections, entry)
            digest = stored_digest(study[first], entry, request)
            if digest is None:
                requests[place] = request
            else:
                outcome.stored.append(Stored(place, first, digest, is_new=False))
        for name in task.collections if requests else ():
            cubes.whole(name)
        for place, request in requests.items():
            entry = task.entries[place]
            with outcome.noting(first, entry.analysis.name):
                for plan in _planned(task, entry, cubes, outcome):
                    is_new = not plan.is_stored()
                    if is_new and not _is_run(replace(plan, request=request), executor, alone):
                        outcome.elsewhere = True
                        return outcome
                    outcome.stored.append(Stored(place, first, plan.plan.digest, is_new))
    return outcome


def _planned(task: SweepTask, entry: Entry, cubes: Cubes, outcome: Outcome) -> list[Task]:
    """Return the plans of an entry; none if it is impossible for the collections, which is noted."""
    try:
        return plan_in_study(
            cubes.study,
            entry.analysis,
            collections=task.collections,
            trials=entry.trials,
            seed=entry.seed,
            cubes=cubes,
            **restricted(entry.selection, cubes.whole(task.collections[0])),
        )
    except (BadPlan, BadName) as error:
        outcome.left_out.append(problem_of(error, task.collections[0], entry.analysis.name))
        return []


def _is_run(plan: Task, executor: Executor, alone: bool) -> bool:
    """Run a plan; False if it needs more than its share of the memory."""
    try:
        plan.run(executor)
    except BadPlan as error:
        if alone or error.option != "memory":
            raise
        return False
    return True


def problem_of(error: Exception, collection: str, subject: str) -> Problem:
    """Return an error as a problem of a collection; the type of one that nobody foresaw is named."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, ScorecubeError):
        text = error.in_file()
    return Problem(collection, subject, text.removeprefix(f"{collection}: "))


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


def stored_digest(collection: Collection, entry: Entry, request: str) -> str | None:
    """Return the plan digest of the result that was stored for a request; None if there is none."""
    for attributes in collection.result_attributes(entry.analysis.name) if request else ():
        if attributes.get(REQUEST) == request:
            return str(attributes["digest"])
    return None


def status_of(path: str, tasks: Sequence[SweepTask]) -> str:
    """Return how many collections and results of the tasks of a sweep are in the study at a path."""
    study = open_study(path) if exists(path) else None
    collections, results, wanted = set[str](), 0, 0
    for task in tasks:
        wanted += len(task.entries)
        if study is not None and all(name in study for name in task.collections):
            collections.update(task.collections)
            for entry in task.entries.values():
                request = request_of(study, task.collections, entry)
                first = study[task.collections[0]]
                results += (
                    stored_digest(first, entry, request) is not None
                    if request
                    else bool(first.result_attributes(entry.analysis.name))
                )
    return (
        f"{len(collections):,} of {counted(len({name for task in tasks for name in task.collections}), 'collection')} read, "
        f"{results:,} of {counted(wanted, 'result')} stored"
    )


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


def sweep(
    entries: Iterable[Entry | Analysis],
    collections: Any,
    *,
    client: Client | None = None,
    study: Study | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> xr.DataTree:
    """Run many analyses of many collections.

    Parameters
    ----------
    entries
        Analyses, to run on all collections with their usual trials, or entries with settings, e.g.
        ``sc.Entry(sc.Swap(size=25), trials=10_000, collections=("trec*",), selection={"top_runs": 30})``.
    collections
        Cubes by name, an `xarray.DataTree` of them, a cube with a dim ``collection``; or a study
        opened for writing, or its path, which keeps the results.
    client
        A `distributed.Client`; None uses local threads, and processes where these take long: then
        a script needs ``if __name__ == "__main__":``.
    study
        Study, or its path, that cubes and results are stored in; by default nothing is kept.
    workers
        Local threads or processes, by default one per core.
    memory
        Limit in bytes of the memory of all work; by default four fifths of the machine's memory.
    progress
        Called with numbers of collections: (done, total).

    Returns
    -------
    results
        ``results["collection/analysis"]``; of several entries with one analysis, the second is
        ``analysis-2``. What is impossible for a collection is left out with a logged warning.

    Raises
    ------
    BadPlan
        No entries, or entries that are impossible for all collections.
    SweepFailed
        Analyses that failed; the results of others are in the study.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> cubes = {"one": simulate_cube(n_runs=5, seed=1), "two": simulate_cube(n_runs=4, seed=2)}
    >>> tree = sc.sweep([sc.Entry(sc.Swap(), trials=50), sc.Entry(sc.Tukey(), trials=50)], cubes)
    >>> tree["two/swap"].attrs["trials"]
    50
    """
    if isinstance(entries, Entry | Analysis | str):
        raise BadPlan(f"{option('entries')}: expected a list; found {kind_of(entries)}")
    chosen = [entry if isinstance(entry, Entry) else Entry(entry) for entry in entries]
    if not chosen:
        raise BadPlan("a sweep needs at least one entry: found none")
    executor = Executor(client, workers or default_workers(), memory)
    with ExitStack() as stack:
        if isinstance(collections, Study | str | os.PathLike):
            study, cubes = collections, {}
        else:
            cubes = {name or "cube": cube for name, cube in cubes_of(collections).items()}
        keep = study is not None
        if study is None:
            study = stack.enter_context(tempfile.TemporaryDirectory(prefix="scorecube-"))
        opened = study if isinstance(study, Study) else open_study(study, mode="a")
        for name, cube in cubes.items():
            opened.add(name, cube=cube)
        sources = dict.fromkeys(cubes or opened)
        outcome = run_sweep(opened, tasks_of(chosen, sources), executor, progress=progress)
        for name, subject, text in outcome.left_out:
            LOGGER.warning("%s: %s left out: %s", name, subject, text)
        outcome.refuse_failures(len(sources))
        if not outcome.stored:
            raise BadPlan(
                "; ".join(f"{name}: {subject}: {text}" for name, subject, text in outcome.left_out)
            )
        tree = results_tree(opened, chosen, outcome.stored)
        return tree if keep else tree.load()


def results_tree(study: Study, entries: Sequence[Entry], stored: Iterable[Stored]) -> xr.DataTree:
    """Return results as a tree ``collection/analysis``; their values are loaded when they are used."""
    labels = list[str]()
    for entry in entries:
        name = entry.analysis.name
        count = sum(label == name or label.startswith(f"{name}-") for label in labels)
        labels.append(f"{name}-{count + 1}" if count else name)
    results = {
        f"/{collection}/{labels[place]}": study[collection].open_result(
            entries[place].analysis.name, digest
        )
        for place, collection, digest, _ in sorted(stored)
    }
    return xr.DataTree.from_dict(results)

"""Sweeps: many analyses of many collections of a study.

The first tasks run one after another in this process, each with all cores. When they predict that
the rest takes longer than `PATIENCE` seconds, whole tasks run side by side in processes of one
thread, or on the workers of a client. Each task stores its own results, so that a sweep is resumed
by running it again, and its parts may run at once on several machines.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import xarray as xr

from scorecube.analyses.plan import digest_of
from scorecube.analyses.protocol import Analysis
from scorecube.collection.arguments import CubesLike, cubes_of
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
from scorecube.execute.clusters import open_executor
from scorecube.execute.executor import Executor, Progress, default_workers, run_items
from scorecube.storage import Study, exists, open_study
from scorecube.workflow.packs import Asked, Folder, gathered
from scorecube.workflow.sweep_file import Entry, Table, add_source
from scorecube.workflow.tasks import REQUEST, Cubes, plan_in_study

if TYPE_CHECKING:
    from distributed import Client

LOGGER = logging.getLogger("scorecube")
PATIENCE = 20.0
"""Predicted seconds of the remaining tasks from which on processes are worth their start."""
READING = "reading"
"""Subject of a problem that is no analysis."""


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
    """Entries, by their positions, of one collection, or of several that are compared."""

    collections: tuple[str, ...]
    entries: Mapping[int, Entry]
    source: Table | None = None
    replace: bool = False


@dataclass
class Outcome:
    """What came of a task, or of a sweep; what is impossible for a collection is left out.

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
            lines = ["  " + ": ".join(problem) for problem in self.failed]
            raise SweepFailed("\n".join([head, *lines]))


def sweep(
    entries: Iterable[Entry | Analysis],
    collections: CubesLike | Study | str | os.PathLike[str],
    *,
    client: Client | None = None,
    study: Study | str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> xr.Dataset | xr.DataTree:
    """Run many analyses of many collections.

    Parameters
    ----------
    entries
        Analyses, to run with their usual trials, or entries with settings, e.g.
        ``sc.Entry(sc.Swap(size=25), trials=10_000)``.
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

    Returns
    -------
    results
        Along a dim ``collection``, as of `analyse`; of several entries an `xarray.DataTree` of such
        datasets, ``results["swap"]``: of several with one analysis, the second is ``swap-2``. What
        is impossible for a collection is left out with a logged warning.

    Raises
    ------
    BadPlan
        No entries, or entries that are impossible for all collections.
    SweepFailed
        Analyses that failed; the results of others are in the study.

    See Also
    --------
    analyse : One analysis, in memory.
    table : Rows of several collections: ``table(tree.match("*/swap"))``.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> cubes = {"one": simulate_cube(n_runs=5, seed=1), "two": simulate_cube(n_runs=4, seed=2)}
    >>> tree = sc.sweep([sc.Entry(sc.Swap(), trials=50), sc.Entry(sc.Tukey(), trials=50)], cubes)
    >>> tree["tukey"].sizes["collection"], tree["swap"].attrs["trials"]
    (2, 50)
    """
    chosen = [entry if isinstance(entry, Entry) else Entry(entry) for entry in entries]
    folder = None
    if isinstance(collections, Study | str | os.PathLike):
        study = collections
        cubes = {}
    else:
        cubes = {name or "cube": cube for name, cube in cubes_of(collections).items()}
    if study is None:
        folder = Folder()
        study = folder.path
    opened = study if isinstance(study, Study) else open_study(study, mode="a")
    for name, cube in cubes.items():
        opened.add(name, cube=cube)
    sources = dict.fromkeys(cubes or opened)
    executor = Executor(client, workers or default_workers())
    outcome = run_sweep(opened, tasks_of(chosen, sources), executor)
    impossible = [": ".join(problem) for problem in outcome.left_out]
    for line in impossible:
        LOGGER.warning("left out: %s", line)
    outcome.refuse_failures(len(sources))
    if not outcome.stored:
        raise BadPlan("; ".join(impossible) or "expected at least one entry, of a collection")
    found = gathered(opened, *_asked(chosen, outcome.stored), executor, folder)
    return next(iter(found.values())) if len(chosen) == 1 else xr.DataTree.from_dict(found)


def _asked(
    entries: Sequence[Entry], stored: Iterable[Stored]
) -> tuple[dict[str, list[Asked]], dict[str, str]]:
    """Return what is stored of each entry by its label, and the analyses of labels."""
    kinds = [entry.analysis.name for entry in entries]
    asked = dict[str, list[Asked]]()
    of_label = dict[str, str]()
    for place, collection, digest, _ in sorted(stored):
        count = kinds[: place + 1].count(kinds[place])
        label = kinds[place] if count == 1 else f"{kinds[place]}-{count}"
        of_label[label] = kinds[place]
        asked.setdefault(label, []).append(Asked(collection, digest))
    return asked, of_label


def tasks_of(
    entries: Sequence[Entry],
    sources: Mapping[str, Table | None],
    part: str | None = None,
    *,
    replace: bool = False,
) -> list[SweepTask]:
    """Return the tasks of single collections, and behind them those that compare several.

    sources: Settings of all collections by name; None for those that are in the study.
    part: Share of the collections, such as ``3/100``, which leaves out what compares several.
    replace: Whether scores whose source has changed replace those that are stored.
    """
    single = dict[int, Entry]()
    several = list[SweepTask]()
    for place, entry in enumerate(entries):
        if entry.analysis.joins and len(sources) > 1:
            several.append(SweepTask(tuple(sources), {place: entry}))
        else:
            single[place] = entry
    shared = list(sources) if part is None else share(sources, part)
    tasks = [SweepTask((name,), single, sources[name], replace) for name in shared]
    return tasks if part else tasks + several


def share(collections: Iterable[str], part: str) -> list[str]:
    """Return every N-th of sorted names from the K-th on, for a part ``K/N``."""
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
    """Run tasks from `tasks_of`; return what is stored, and what failed while others went on.

    executor: Where blocks, or whole tasks, are computed.
    progress: Called with numbers of tasks: (done, total).
    Raises StoreFailed, ClusterFailed: What would meet every other task, too.
    """
    total = Outcome()
    done = 0

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
    rest = single
    started = time.monotonic()
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
    client = executor.client
    returned = list[SweepTask]()
    processes = 1

    def take(position: int, outcome: Outcome) -> None:
        if outcome.elsewhere:
            returned.append(tasks[position])
        else:
            keep(outcome)

    with ExitStack() as stack:
        if client is None:
            processes = executor.workers
            options = {"n_workers": processes, "threads_per_worker": 1}
            local = {"class": "distributed.LocalCluster", "options": options}
            client = stack.enter_context(open_executor(local)).client
        run_items(client, partial(compute_there, path, processes=processes), tasks, take)
    return returned


def compute_there(path: str, task: SweepTask, *, processes: int) -> Outcome:
    """Run a task with one thread in a worker process, one of so many that share the memory."""
    if not exists(path):
        return Outcome(elsewhere=True)
    return compute(open_study(path, mode="a"), task, Executor(processes=processes))


def compute(study: Study, task: SweepTask, executor: Executor) -> Outcome:
    """Read the collection of a task, and compute and store what its entries ask for."""
    outcome = Outcome()
    first = task.collections[0]
    cubes = Cubes()
    with outcome.noting(first, READING):
        if task.source is not None:
            say = outcome.lines.append
            workers = executor.workers
            add_source(study, first, task.source, say, replace=task.replace, workers=workers)
        asked = {k: stored_for(study, task.collections, of) for k, of in task.entries.items()}
    for place, (request, digest) in {} if outcome.failed else asked.items():
        entry = task.entries[place]
        if digest:
            outcome.stored.append(Stored(place, first, digest, is_new=False))
            continue
        with outcome.noting(first, entry.analysis.name):
            settings = {"trials": entry.trials, "seed": entry.seed, **entry.selection}
            planned = plan_in_study(
                study, entry.analysis, collections=task.collections, cubes=cubes, **settings
            )
            for work in planned:
                if is_new := not work.is_stored():
                    replace(work, asked={REQUEST: request}).run(executor)
                outcome.stored.append(Stored(place, first, work.plan.digest, is_new))
    return outcome


def stored_for(study: Study, collections: Sequence[str], entry: Entry) -> tuple[str, str]:
    """Return digests of what an entry asks for of the scores there now, and of its result or ""."""
    analysis = entry.analysis
    heads = [study[name].head for name in collections]
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
    swept = {*chain.from_iterable(task.collections for task in tasks)}
    wanted = sum(len(task.entries) for task in tasks)
    there = set[str]()
    results = 0
    if exists(path):
        study = open_study(path)
        there = swept.intersection(study)
        for task in tasks:
            if there.issuperset(task.collections):
                found = (stored_for(study, task.collections, one) for one in task.entries.values())
                results += sum(bool(digest) for _, digest in found)
    read = f"{len(there):,} of {counted(len(swept), 'collection')} read"
    return f"{read}, {results:,} of {counted(wanted, 'result')} stored"

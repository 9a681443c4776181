"""Sweeps over many small collections, in worker processes that each import, plan, compute and store whole collections.

Of a small result Python does more work than the kernels, and Python runs on one core of a process. Each process writes collections of its
own, so the store needs no more coordination than for several commands at a time; results have the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from scorecube.execute.memory import WORKER_BYTES
from scorecube.execute.processes import is_stopped, run_portions
from scorecube.storage import Study, open_study
from scorecube.storage.index import Row
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_journal import Journal, ends_sweep, message_of
from scorecube.workflow.sweep_plan import digest_of_request, plan_sweep, record_of, stored_for
from scorecube.workflow.sweep_sources import matching
from scorecube.workflow.tasks import Computed, ReadCubes, store_computed

Progress = Callable[[int, int], None]
FEWEST = 100
"""Plans from which on processes are worth their start."""
MOST_CELLS = 100_000
"""Scores of a collection (metric x gain x run x topic) that counts as small."""
MOST_RUNS = 200
"""Of such a collection; tests of pairs need memory for all pairs."""
AT_ONCE = 8
"""Collections that a worker gets at a time."""


@dataclass
class Outcome:
    """What workers did.

    Parameters
    ----------
    stored
        Number of new results.
    skipped
        Collection, analysis and reason of each impossible plan.
    failures
        Collection, analysis and message of each failure.
    seconds
        Time that workers were busy, and that they had a core.
    """

    stored: int = 0
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    failures: list[tuple[str, str, str]] = field(default_factory=list)
    seconds: tuple[float, float] = (0.0, 0.0)

    def add(self, other: Outcome) -> None:
        """Add what another portion did."""
        self.stored += other.stored
        self.skipped += other.skipped
        self.failures += other.failures
        self.seconds = self.seconds[0] + other.seconds[0], self.seconds[1] + other.seconds[1]


Wanted = dict[str, list[int]]
"""Positions of the entries that are not stored, by collection."""


def wanted_entries(
    rows: Mapping[str, Row], entries: Sequence[Entry], names: Sequence[str]
) -> tuple[Wanted, list[str]]:
    """Return the entries of each collection without a stored result, and the collection of each stored one."""
    wanted: Wanted = {}
    stored: list[str] = []
    for position, entry in enumerate(entries):
        record = record_of(entry)
        for name in matching(names, entry.collections):
            row = rows[name]
            if stored_for(digest_of_request(record, [row]), entry, row) is None:
                wanted.setdefault(name, []).append(position)
            else:
                stored.append(name)
    return dict(sorted(wanted.items())), stored


def is_small(row: Row) -> bool:
    """Whether a collection is so small that a worker computes whole results of it."""
    cube = row.facts["cube"]
    cells = cube["runs"] * cube["topics"] * len(cube["metrics"]) * len(cube["gains"])
    return bool(cells <= MOST_CELLS and cube["runs"] <= MOST_RUNS)


def use_processes(
    rows: Mapping[str, Row], entries: Sequence[Entry], wanted: Wanted, workers: int, memory: int
) -> bool:
    """Whether a sweep is of many small results of one collection each, and memory suffices for the processes."""
    return (
        workers > 1
        and sum(map(len, wanted.values())) >= FEWEST
        and all(entry.analysis.n_collections == 1 and entry.until is None for entry in entries)
        and all(matching(list(rows), entry.collections) for entry in entries)
        and all(is_small(rows[name]) for name in wanted)
        and memory >= (workers + 1) * WORKER_BYTES
    )


def sweep_in_processes(
    path: str,
    entries: Sequence[Entry],
    wanted: Wanted,
    *,
    workers: int,
    impossible: str,
    journal: Journal,
    progress: Progress,
) -> Outcome:
    """Compute and store what is wanted of each collection, and return what was done.

    Parameters
    ----------
    path
        Of the study.
    entries, wanted
        As of `wanted_entries`.
    workers
        Number of processes.
    impossible
        As of `plan_sweep`.
    journal
        Takes what ends and fails.
    progress
        Called with plans done and in total.
    """
    first, *rest = _portions(wanted)
    total, done = sum(map(len, wanted.values())), 0
    outcome = Outcome()

    def add(portion: Wanted, found: Outcome) -> None:
        nonlocal done
        outcome.add(found)
        failed = {(name, analysis): message for name, analysis, message in found.failures}
        for name, positions in portion.items():
            for position in positions:
                analysis = entries[position].analysis.name
                journal.start(name)
                journal.end(name, analysis, failed.get((name, analysis)))
                done += 1
        progress(done, total)

    add(first, _run(path, entries, first, impossible))  # compiles kernels
    portions = [(path, entries, part, impossible) for part in rest]
    for portion, found in run_portions(_run, portions, workers):
        add(portion[2], found)
    return outcome


def _portions(wanted: Wanted) -> Iterator[Wanted]:
    names = list(wanted)
    for start in range(0, len(names), AT_ONCE):
        yield {name: wanted[name] for name in names[start : start + AT_ONCE]}


def _run(path: str, entries: Sequence[Entry], wanted: Wanted, impossible: str) -> Outcome:
    """Compute and store what is wanted of some collections, in a worker process."""
    busy, on_core = time.perf_counter(), time.process_time()
    outcome, study = Outcome(), open_study(path, mode="a")
    with study.batch():
        for name, positions in wanted.items():
            if is_stopped():
                break
            with study.lock(name):
                _run_collection(study, name, [entries[k] for k in positions], impossible, outcome)
    outcome.seconds = time.perf_counter() - busy, time.process_time() - on_core
    return outcome


def _run_collection(
    study: Study, name: str, entries: Sequence[Entry], impossible: str, outcome: Outcome
) -> None:
    """Compute and store what is wanted of a collection; note failures, after which the others go on."""
    rows, cubes = {name: study[name].row()}, ReadCubes()
    computed: dict[tuple[str, str], Computed] = {}
    for entry in entries:
        with _noting(outcome, name, [entry.analysis.name]):
            plan = plan_sweep(
                study, [entry], collections=[name], impossible=impossible, rows=rows, cubes=cubes
            )
            outcome.skipped += plan.skipped
            for task in plan.tasks:
                key = task.plan.analysis.name, task.plan.digest
                if key not in computed and not task.is_stored():
                    computed[key] = task.compute()
    if computed:
        with _noting(outcome, name, [analysis for analysis, _ in computed]):
            store_computed(list(computed.values()), packed=True)
            outcome.stored += len(computed)


@contextmanager
def _noting(outcome: Outcome, name: str, analyses: Sequence[str]) -> Iterator[None]:
    """Note a failure of analyses of a collection, unless it ends the sweep."""
    try:
        yield
    except Exception as error:
        if ends_sweep(error):
            raise
        outcome.failures += [(name, analysis, message_of(error)) for analysis in analyses]

"""Sweeps over many small collections, in worker processes that each import, plan, compute and store whole collections.

Of a small result Python does more work than the kernels, and Python runs on one core of a process. Each process writes collections of its
own, so the store needs no more coordination than for several commands at a time; results have the same bits.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from scorecube.execute.executor import Executor, Progress
from scorecube.execute.memory import WORKER_BYTES
from scorecube.execute.processes import is_stopped, run_portions
from scorecube.storage import Row, Study, Writer, open_study
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_journal import LEFT_OUT, THERE, Ending, Journal, failures_noted
from scorecube.workflow.sweep_plan import Request, plan_requests, requests_of
from scorecube.workflow.sweep_run import Utilisation
from scorecube.workflow.tasks import Computed, ReadCubes, store_computed

FEWEST = 100
"""Plans from which on processes are worth their start."""
MOST_CELLS = 100_000
"""Scores of a collection (metric x gain x run x topic) that counts as small."""
MOST_RUNS = 200
"""Of such a collection; tests of pairs need memory for all pairs."""
AT_ONCE = 8
"""Collections that a worker gets at a time."""
Wanted = dict[str, list[Entry]]
"""Entries whose results are not stored, by collection."""
Done = tuple[list[Ending], tuple[float, float]]
"""What a worker did, and the seconds that it was busy, and that it had a core."""


def wanted_entries(requests: Sequence[Request]) -> Wanted:
    """Return the entries of each collection without a stored result, of requests for one collection each."""
    wanted: Wanted = {}
    for request in requests:
        if request.stored is None:
            wanted.setdefault(request.collections[0], []).append(request.entry)
    return dict(sorted(wanted.items()))


def is_small(row: Row) -> bool:
    """Whether a collection is so small that a worker computes whole results of it."""
    cube = row.facts["cube"]
    cells = cube["runs"] * cube["topics"] * len(cube["metrics"]) * len(cube["gains"])
    return bool(cells <= MOST_CELLS and cube["runs"] <= MOST_RUNS)


def use_processes(rows: Mapping[str, Row], requests: Sequence[Request], executor: Executor) -> bool:
    """Whether a sweep is of many small results of one collection each, and memory suffices for the processes."""
    entries, wanted = (each.entry for each in requests), wanted_entries(requests)
    return (
        executor.client is None
        and executor.workers > 1
        and sum(map(len, wanted.values())) >= FEWEST
        and all(entry.analysis.n_collections == 1 for entry in entries)
        and all(name in rows and is_small(rows[name]) for name in wanted)
        and (executor.memory or 0) >= (executor.workers + 1) * WORKER_BYTES
    )


def sweep_in_processes(
    path: str,
    wanted: Wanted,
    *,
    workers: int,
    impossible: str,
    journal: Journal,
    progress: Progress,
) -> Utilisation:
    """Compute and store what is wanted of each collection of the study at a path; `impossible` as of `plan_requests`."""
    start, total, done = time.monotonic(), sum(map(len, wanted.values())), 0
    seconds = [0.0, 0.0]
    first, *rest = ((path, part, impossible) for part in _portions(wanted))
    compiled = _run(*first)  # kernels, before processes start
    for endings, spent in chain([compiled], run_portions(_run, rest, workers)):
        for ending in endings:
            journal.start(ending.collection)
            journal.end(ending)
        done += len(endings)
        seconds = [sum(pair) for pair in zip(seconds, spent, strict=True)]
        progress(done, total)
    available = (time.monotonic() - start) * workers
    return Utilisation(*(min(each / available, 1.0) for each in seconds))


def _portions(wanted: Wanted) -> Iterator[Wanted]:
    names = list(wanted)
    for start in range(0, len(names), AT_ONCE):
        yield {name: wanted[name] for name in names[start : start + AT_ONCE]}


def _run(path: str, wanted: Wanted, impossible: str) -> Done:
    """Compute and store what is wanted of some collections, in a worker process."""
    busy, on_core = time.perf_counter(), time.process_time()
    study, endings = open_study(path, mode="a"), list[Ending]()
    with study.batch():
        for name, entries in wanted.items():
            if is_stopped():
                break
            with study.lock(name) as writer:
                _run_collection(study, writer, entries, impossible, endings.append)
    return endings, (time.perf_counter() - busy, time.process_time() - on_core)


def _run_collection(
    study: Study,
    writer: Writer,
    entries: Sequence[Entry],
    impossible: str,
    note: Callable[[Ending], None],
) -> None:
    """Compute and store what is wanted of a collection; failures are noted, and the others go on."""
    name, cubes = writer.name, ReadCubes(1)
    rows = {name: writer.row()}
    computed: dict[str, Computed] = {}
    for request in requests_of(entries, [name], rows):
        analysis = request.entry.analysis.name
        with failures_noted(name, [analysis], note):
            plan = plan_requests(study, [request], impossible=impossible, cubes=cubes)
            new = [task for task in plan.tasks if task.plan.digest not in computed]
            computed |= {task.plan.digest: task.compute(writer) for task in new}
            for *_, reason in plan.skipped:
                note(Ending(name, analysis, reason, LEFT_OUT))
            if not new and not plan.skipped:
                note(Ending(name, analysis, how=THERE))
    if computed:
        analyses = [each.task.plan.analysis.name for each in computed.values()]
        with failures_noted(name, analyses, note):
            store_computed(writer, list(computed.values()), packed=True)
            for analysis in analyses:
                note(Ending(name, analysis))

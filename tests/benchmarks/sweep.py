"""A sweep as one stream of blocks against a loop over its collections, and what imports cost.

Two idle shares of the workers' time: without any work, from the start and stop of every piece of work (a block, the making of a result, its
storing); and not on a core, from the clock of the process. They differ where threads wait for the disk or for Python's lock.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import scorecube as sc
from scorecube.collection.evaluation import cube_dataset
from scorecube.execute.concurrent_runs import TimedThreadPool
from scorecube.execute.executor import Executor
from scorecube.metrics import parse_metric
from scorecube.storage import Study
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_plan import plan_sweep
from scorecube.workflow.sweep_run import Utilisation, run_sweep
from scorecube.workflow.tasks import Task

WORKERS = 2
METRICS = ("AP", "P@10", "nDCG@10", "Q", "RR", "P+")
SIZES = ((30, 50), (60, 50), (120, 50), (40, 150), (250, 50), (90, 40))
"""Runs and topics of the collections; several of each."""
COPIES, TURNS, STARTS = 2, 3, 9
ENTRIES = (
    Entry(sc.Swap(), trials=4000, seed=1), Entry(sc.Bootstrap(), trials=4000, seed=1), Entry(sc.Tukey(), trials=2000, seed=1),
    Entry(sc.Correlation(), trials=2000, seed=1),
)  # fmt: skip
MEMORY = 4 * 10**9
STATEMENTS = {
    "scorecube": "import scorecube",
    "scorecube --help": "import sys; sys.argv = ['scorecube', '--help']; from scorecube.cli.program import main; main()",
}


def study_at(path: Path) -> Study:
    """Return a new study of simulated collections of several sizes."""
    study = sc.open_study(path, mode="a")
    random = np.random.default_rng(1)
    metrics = [parse_metric(text) for text in METRICS]
    for number, (n_runs, n_topics) in enumerate(SIZES * COPIES):
        scores = random.beta(1.2, 2.0, (len(METRICS), n_runs, n_topics)) * random.beta(
            4, 3, (1, n_runs, 1)
        )
        runs, topics = (
            [f"{letter}{k:04d}" for k in range(n)] for letter, n in (("r", n_runs), ("t", n_topics))
        )
        study.add(
            f"c{number:02d}",
            cube=cube_dataset(scores[:, np.newaxis], metrics, ["auto"], runs, topics),
        )
    return study


def as_a_stream(tasks: tuple[Task, ...]) -> tuple[float, Utilisation]:
    """Return seconds, and the shares of the workers' time."""
    start = time.perf_counter()
    busy = run_sweep(tasks, Executor(workers=WORKERS, memory=MEMORY))
    return time.perf_counter() - start, busy


def in_a_loop(tasks: tuple[Task, ...]) -> tuple[float, Utilisation]:
    """Do the same, one after the other: each has all workers, and the next begins when its result is stored."""
    start, computing = time.perf_counter(), time.process_time()
    with TimedThreadPool(WORKERS) as pool:
        for task in tasks:
            task.run(Executor(None, WORKERS, MEMORY, pool))
    seconds = time.perf_counter() - start
    return seconds, Utilisation(
        pool.busy_share(), (time.process_time() - computing) / (seconds * WORKERS)
    )


def starts() -> None:
    """Print what a user waits for before anything happens, as ratios to importing NumPy in the same turn."""
    seconds: dict[str, list[float]] = {name: [] for name in ("numpy", *STATEMENTS)}
    for _ in range(STARTS):
        for name, statement in {"numpy": "import numpy", **STATEMENTS}.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - start)
    for name in STATEMENTS:
        ratios = [ours / numpy for ours, numpy in zip(seconds[name], seconds["numpy"], strict=True)]
        print(
            f"  {name:<18}{statistics.median(seconds[name]):6.2f} s, {statistics.median(ratios):.2f} times import numpy ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def main() -> None:
    """Print medians over turns; stream and loop take turns, each in a study of its own."""
    print(
        f"sweep: {len(ENTRIES)} analyses of {len(SIZES) * COPIES} collections on {WORKERS} workers, results stored"
    )
    found: dict[str, list[tuple[float, Utilisation]]] = {"one stream": [], "loop": []}
    for turn in range(TURNS + 1):
        for name, do in {"one stream": as_a_stream, "loop": in_a_loop}.items():
            with tempfile.TemporaryDirectory() as folder:
                measured = do(plan_sweep(study_at(Path(folder) / "study.zarr"), ENTRIES).tasks)
            if turn:  # the first compiles or loads kernels
                found[name].append(measured)
    for name, turns in found.items():
        idle = [1 - busy.with_work for _, busy in turns]
        off = [1 - busy.on_cores for _, busy in turns]
        print(
            f"  {name:<12}{statistics.median(seconds for seconds, _ in turns):6.1f} s, workers without work {statistics.median(idle):.1%} "
            f"({min(idle):.1%} to {max(idle):.1%}), cores idle {statistics.median(off):.1%} ({min(off):.1%} to {max(off):.1%})"
        )
    starts()

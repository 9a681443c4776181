"""How far a sweep scales: what a task costs is measured, schedules for more cores than are here are simulated from that.

Measured on this machine: the same analysis on one and on two worker processes, in turn; blocks of a single trial, without and with
recording; bytes of a task and of its result; seconds of a trial. The simulation keeps three queues: cores, a scheduler that hands out
tasks one by one, a driver that records results one by one; a driver takes its collections one after the other.
"""

from __future__ import annotations

import heapq
import math
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from scorecube.analyses import Swap
from scorecube.execute.clients import open_client
from scorecube.execute.estimate import (
    BLOCK_SECONDS,
    MIN_BLOCKS_PER_WORKER,
    MOST_BLOCKS,
    RECORD_SECONDS,
)
from scorecube.execute.executor import Executor
from scorecube.execute.worker_versions import stated
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, open_study, plan_in_study

METRICS = ("AP", "Q", "P+", "O", "P-measure", "RR", "NWRR", "nDCG@10", "nERR@10", "P@10")
COLLECTIONS, RUNS, TRIALS = 1000, 1000, 100_000
CORES = (10, 100, 1_000, 10_000)
BLOCKS = (0.1, 2.0, 10.0)
"""Seconds of a block."""
TASKS, TURNS = 800, 5
SWAP = Swap(sampling="disjoint", size=25)


@dataclass(frozen=True)
class Costs:
    """Seconds: of a trial on one core; that the scheduler and driver together spend on a task; that recording adds; of a collection beside its blocks."""

    trial: float
    task: float
    record: float
    collection: float


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time one call."""
    start = clock()
    work()
    return clock() - start


cpu_seconds = partial(seconds, clock=time.process_time)
"""Of this process, which holds driver and scheduler but no worker: free of what else the machine does."""


def efficiency(cube: xr.Dataset, trials: int) -> list[float]:
    """Return the time on one process over twice the time on two, several turns, each within seconds."""

    def run(client: Any) -> float:
        return seconds(lambda: analyse(cube, SWAP, trials=trials, seed=1, client=client, workers=2))

    with (
        open_client({"kind": "processes", "workers": 1}) as one,
        open_client({"kind": "processes", "workers": 2}) as two,
    ):
        run(one), run(two)  # imports, kernels
        return [run(one) / (2 * run(two)) for _ in range(TURNS)]


def overhead(cube: xr.Dataset) -> tuple[list[float], list[float], list[float]]:
    """Return seconds a task in memory, seconds a task with recording, and seconds of a run of one task; several turns."""
    bare, recorded, single = [], [], []
    with (
        open_client({"kind": "processes", "workers": 2}) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        study = open_study(Path(folder, "study.zarr"), mode="a")
        study.add("demo", cube=cube)

        def record(trials: int, seed: int) -> None:
            (task,) = plan_in_study(study, SWAP, trials=trials, seed=seed)
            task.run(Executor(client, workers=2), block_units=1)

        def in_memory() -> None:
            analyse(cube, SWAP, trials=TASKS, seed=1, client=client, block_units=1)

        record(10, 99)
        for turn in range(TURNS):
            bare.append(cpu_seconds(in_memory) / TASKS)
            recorded.append(cpu_seconds(partial(record, TASKS, turn)) / TASKS)
            single.append(cpu_seconds(partial(record, 1, 100 + turn)))
    return bare, recorded, single


def sizes(cube: xr.Dataset) -> tuple[int, int, int]:
    """Return the bytes of the arrays that every worker gets once, of a task, and of its result."""
    inputs = SWAP.inputs(SWAP.prepare(cube), TRIALS, 1)
    own = len(pickle.dumps((stated, (0, 1))))
    result = SWAP.compute(inputs, 0, 1)
    return len(pickle.dumps(inputs)), own, len(pickle.dumps(result))


def makespan(cores: int, blocks: int, block: float, task: float, record: float) -> float:
    """Return the seconds that the blocks of one collection take.

    A core takes its next block when the scheduler, which serves one core at a time, hands it out; the driver records one result at a
    time. Scheduler and driver share a process here, so their times add up.
    """
    free = [0.0] * min(cores, blocks)
    handed, recorded = 0.0, 0.0
    for _ in range(blocks):
        core = heapq.heappop(free)
        handed = max(handed + task, core)
        heapq.heappush(free, handed + block)
    ends = sorted(free)
    recorded = max(ends[-1], blocks * (task + record))
    return recorded + record


def sweep_seconds(costs: Costs, cores: int, drivers: int, block: float | None) -> tuple[float, int]:
    """Return the seconds of the sweep and the blocks of a collection; None for the block size that `estimate` chooses."""
    each = max(1, cores // drivers)
    total = costs.trial * TRIALS
    if block is None:
        by_workers = max(total / (MIN_BLOCKS_PER_WORKER * each), math.sqrt(total * RECORD_SECONDS))
        block = min(max(BLOCK_SECONDS, total / MOST_BLOCKS), by_workers)
    blocks = min(TRIALS, max(1, math.ceil(total / block)))
    one = makespan(each, blocks, total / blocks, costs.task, costs.record) + costs.collection
    return one * math.ceil(COLLECTIONS / drivers), blocks


def limit_of(costs: Costs, cores: int, drivers: int, blocks: int) -> str:
    """Return what takes longest for one collection."""
    each = max(1, cores // drivers)
    parts = {
        "cores": costs.trial * TRIALS / each,
        "scheduler": blocks * costs.task,
        "store": blocks * costs.record,
        "start of a collection": costs.collection,
        "last blocks": costs.trial * TRIALS / blocks,
    }
    return max(parts, key=lambda name: parts[name])


def simulate(costs: Costs) -> None:
    """Print the schedules."""
    work = COLLECTIONS * TRIALS * costs.trial
    print(
        f"\nsimulated: {COLLECTIONS:,} collections x {RUNS:,} runs x {len(METRICS)} metrics x {TRIALS:,} trials: {work / 3600:,.0f} core hours"
    )
    print(
        "| cores | drivers | block, s | blocks a collection | minutes | efficiency | limit |\n|---|---|---|---|---|---|---|"
    )
    for cores in CORES:
        for drivers in (1, 10, 100, 1000):
            if drivers > cores // 10:
                continue
            for block in (None, *BLOCKS):
                took, blocks = sweep_seconds(costs, cores, drivers, block)
                told = "as chosen" if block is None else f"{block:g}"
                share = work / (took * cores)
                limit = limit_of(costs, cores, drivers, blocks)
                print(
                    f"| {cores:,} | {drivers} | {told} | {blocks:,} | {took / 60:,.1f} | {share:.0%} | {limit} |"
                )


def main() -> None:
    """Measure, print, simulate."""
    print("scaling: measured here")
    medium = simulate_cube(metrics=METRICS[:6], n_runs=130, seed=1)
    large = simulate_cube(metrics=METRICS, n_runs=RUNS, seed=1)
    analyse(large, SWAP, trials=20, seed=1, workers=1)
    trial = min(
        cpu_seconds(lambda: analyse(large, SWAP, trials=300, seed=1, workers=1)) / 300
        for _ in range(3)
    )
    print(f"a trial of {RUNS:,} runs x {len(METRICS)} metrics: {1e3 * trial:.2f} ms on one core")
    shared, own, result = sizes(large)
    print(
        f"each worker gets {shared / 1e6:.1f} MB once; a task is {own:,} bytes, its result {result:,} bytes"
    )
    found = efficiency(medium, 60_000)
    print(
        f"efficiency from 1 to 2 processes: {statistics.median(found):.2f} (median of {TURNS} turns, {min(found):.2f} to {max(found):.2f})"
    )
    bare, recorded, single = (statistics.median(each) for each in overhead(large))
    print(
        f"a task costs the driver's process, which holds the scheduler, {1e3 * bare:.2f} ms ({1 / bare:,.0f} tasks/s), {1e3 * recorded:.2f} ms with its recording ({1 / recorded:,.0f} a second)"
    )
    print(f"a collection costs {single:.2f} s beside its blocks")
    simulate(Costs(trial, bare, max(recorded - bare, 0.0), single))

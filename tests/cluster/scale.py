"""What a cluster costs beside the work, with kernels that sleep, on this machine:

    python -m tests.cluster.scale blocks PROCESSES THREADS BLOCKS [SECONDS]
    python -m tests.cluster.scale sweep COLLECTIONS [STUDY]

Scheduler, workers and driver are processes of their own. `blocks` reduces blocks that sleep, and have the arrays of a
swap of 100 runs, by a tree of tasks; `sweep` analyses collections that functions make, on two workers. A thread that
sleeps takes no core, so one machine shows the overheads of a thousand; not a network, nor a shared disk. Workers do
without what they watch of themselves many times a second: 64 of them would take two cores for it.
"""

from __future__ import annotations

import resource
import sys
import time
from contextlib import ExitStack
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
import xarray as xr

import scorecube as sc
from scorecube.analyses.protocol import Sum
from scorecube.execute.executor import reduce_items
from scorecube.execute.run import Block, combine
from tests.cluster.lab import ENVIRONMENT, bare_scheduler, open_client, started, wait_until

UNWATCHED = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
}
SHAPE = (4, 2, 2770)
"""Of the counts in a block: 177 kB."""


def asleep(interval: tuple[int, int], seconds: float) -> Block:
    """Return the block of an interval, after some seconds."""
    time.sleep(seconds)
    return Block((interval,), {"counts": Sum(np.ones(SHAPE, np.int64))})


def made(seed: int) -> Any:
    """Return a small cube of random scores, which takes less than what is done with it."""
    scores = np.random.default_rng(seed).random((8, 50))
    labels = {"run": [f"r{k}" for k in range(8)], "topic": [f"t{k:02d}" for k in range(50)]}
    return sc.cube_from_scores(
        xr.DataArray(scores, labels, ("run", "topic")), ranges={"score": (0, 1)}
    )


def seconds_of(process: psutil.Process) -> float:
    """Return the processor time of a process."""
    times = process.cpu_times()
    return times.user + times.system


def cluster(stack: ExitStack, processes: int, threads: int) -> tuple[Any, psutil.Process]:
    """Start a scheduler and workers; return a client, and the process of the scheduler."""
    scheduler, address = stack.enter_context(bare_scheduler())
    client = stack.enter_context(open_client(None, address))
    words = ["--host", "127.0.0.1", "--nthreads", str(threads), "--no-nanny"]
    ENVIRONMENT.update(UNWATCHED)
    for _ in range(processes):
        stack.enter_context(started("worker", address, *words))
    wait_until("workers", lambda: len(client.scheduler_info(-1)["workers"]) == processes, 300)
    return client, psutil.Process(scheduler.pid)


def blocks(processes: int, threads: int, count: int, seconds: float = 0.5) -> None:
    """Print busy threads, and the processor time of driver and scheduler, of sleeping blocks."""
    with ExitStack() as stack:
        client, scheduler = cluster(stack, processes, threads)
        driver = psutil.Process()
        for n_blocks in (processes * threads, count):  # the first one imports on every worker
            items = [(k, k + 1) for k in range(n_blocks)]
            before = [seconds_of(driver), seconds_of(scheduler), time.monotonic()]
            work = partial(asleep, seconds=seconds)
            total = reduce_items(client, work, items, combine, lambda _: None, name="asleep")
            after = [seconds_of(driver), seconds_of(scheduler), time.monotonic()]
        assert int(total.parts["counts"].array.min()) == count
        of_driver, of_scheduler, wall = np.subtract(after, before)
    busy = count * seconds / (processes * threads * wall)
    print(
        f"{processes} x {threads} threads, {count:,} blocks of {seconds} s: {busy:.0%} busy; "
        f"a block takes {1000 * of_driver / count:.2f} ms of the driver, "
        f"{1000 * of_scheduler / count:.2f} ms of the scheduler"
    )


def sweep(count: int, path: str | None = None) -> None:
    """Print processor time and memory of the driver of a sweep of collections made by functions."""
    with ExitStack() as stack:
        client, _ = cluster(stack, 2, 1)
        study = path or stack.enter_context(TemporaryDirectory())
        driver = psutil.Process()
        entry = sc.Entry(sc.Tukey(), trials=50)
        one = {"warm": partial(made, 0), "too": partial(made, 1)}
        sc.sweep([entry], one, client=client)
        sources = {f"c{k:05d}": partial(made, k) for k in range(count)}
        from scorecube.execute.executor import executor_for
        from scorecube.workflow.sweep import tasks_of
        from scorecube.workflow.sweep_run import run_sweep

        opened = sc.open_study(study, mode="a")
        begun: list[float] = []
        before = seconds_of(driver)
        memory = driver.memory_info().rss
        start = time.monotonic()
        outcome = run_sweep(
            opened, tasks_of([entry], sources), executor_for(client, None),
            progress=lambda *_: begun.append(time.monotonic() - start),
        )  # fmt: skip
        used = seconds_of(driver) - before
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    new = sum(stored.is_new for stored in outcome.stored)
    print(
        f"{count:,} collections, {new:,} of them new, in {begun[-1]:.0f} s: the driver takes "
        f"{1000 * used / count:.2f} ms a collection and {(peak - memory) / 1e6:.0f} MB more at most; "
        f"the first is done after {begun[0]:.1f} s"
    )


if __name__ == "__main__":
    _, kind, *words = sys.argv
    if kind == "blocks":
        blocks(*map(int, words[:3]), *map(float, words[3:]))
    else:
        sweep(int(words[0]), *words[1:])

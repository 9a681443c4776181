"""Building the dask graph of a run, and computing it on local threads.

The graph has one task per block and one shared node with the arrays of the analysis. Blocks do not depend on each other, so they finish
in any order and are recorded as they finish.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from dask.base import compute
from dask.delayed import Delayed, delayed
from dask.threaded import get as threaded_get

from scorecube.analyses.base import Analysis, Arrays
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.execute.worker_versions import Stated, stated

Interval = tuple[int, int]
OnBlock = Callable[[Interval, Arrays], None]


def compute_block(analysis: Analysis, inputs: Arrays, start: int, stop: int) -> Arrays:
    """Compute one block, on a worker."""
    with one_blas_thread():
        return analysis.block(inputs, start, stop)


def compute_stated_block(analysis: Analysis, inputs: Arrays, start: int, stop: int) -> Stated:
    """Compute one block on a worker of a cluster, which states its versions with it."""
    return stated(compute_block, analysis, inputs, start, stop)


def build_graph(
    analysis: Analysis,
    inputs: Any,
    intervals: list[Interval],
    compute_one: Callable[..., Any] = compute_block,
) -> dict[Interval, Delayed]:
    """Return the graph: one task for each interval of units.

    Parameters
    ----------
    inputs
        The arrays of `Analysis.inputs`, or a distributed future of them.
    compute_one
        Function of a task.
    """
    shared = delayed(inputs, pure=False, traverse=False) if isinstance(inputs, dict) else inputs
    task = delayed(compute_one, pure=False)
    # Unique keys: one process or cluster may compute several runs at a time.
    token = uuid.uuid4().hex
    return {
        interval: task(
            analysis,
            shared,
            *interval,
            dask_key_name=f"{analysis.name}-{interval[0]}-{interval[1]}-{token}",
        )
        for interval in intervals
    }


def compute_on_threads(
    analysis: Analysis,
    inputs: Arrays,
    intervals: list[Interval],
    workers: int,
    on_block: OnBlock,
    pool: Executor | None = None,
) -> None:
    """Run blocks on local threads, or on those of a pool.

    `on_block` is called in the calling thread as they finish.
    """
    finished: dict[Interval, Arrays] = {}

    def keep_result(analysis: Analysis, inputs: Arrays, start: int, stop: int) -> None:
        # Not returned: the scheduler keeps all return values until the end.
        finished[start, stop] = compute_block(analysis, inputs, start, stop)

    graph = build_graph(analysis, inputs, intervals, keep_result)
    interval_of = {task.key: interval for interval, task in graph.items()}
    _compute(
        list(graph.values()),
        workers,
        lambda key, _: on_block(interval_of[key], finished.pop(interval_of[key])),
        pool,
    )


def map_on_threads(
    function: Callable[[Any], Any], items: list[Any], workers: int, on_item: Callable[[Any], None]
) -> list[Any]:
    """Return the function of every item, in order, computed on local threads."""
    task = delayed(function, pure=False)
    return _compute([task(item) for item in items], workers, lambda _, result: on_item(result))


def _compute(
    tasks: list[Delayed],
    workers: int,
    on_task: Callable[[str, Any], None],
    pool: Executor | None = None,
) -> list[Any]:
    known = {task.key for task in tasks}

    def finished(key: str, result: Any, *_: Any) -> None:
        if key in known:
            on_task(key, result)

    # Passed to this call: callbacks that are registered globally would be shared by all threads of the process.
    callbacks = [(None, None, None, finished, None)]
    threads: dict[str, Any] = {"num_workers": workers} if pool is None else {"pool": pool}
    return list(
        compute(
            *tasks, scheduler=threaded_get, callbacks=callbacks, optimize_graph=False, **threads
        )
    )

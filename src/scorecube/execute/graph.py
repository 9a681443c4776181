"""The one place where work becomes a dask graph.

A graph is one task per block over one shared node with the analysis' arrays: no task depends on another, so blocks finish
in any order and are recorded as they do.
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

Interval = tuple[int, int]
OnBlock = Callable[[Interval, Arrays], None]


def compute_block(analysis: Analysis, inputs: Arrays, start: int, stop: int) -> Arrays:
    """Compute one block; what a worker runs."""
    with one_blas_thread():
        return analysis.block(inputs, start, stop)


def lower(
    analysis: Analysis, inputs: Any, intervals: list[Interval], compute_one: Callable[..., Any] = compute_block
) -> dict[Interval, Delayed]:
    """Return the graph: one task for each interval of units.

    Parameters
    ----------
    inputs
        The arrays of `Analysis.inputs`, or a distributed future of them.
    compute_one
        What a task calls.
    """
    shared = delayed(inputs, pure=False, traverse=False) if isinstance(inputs, dict) else inputs
    task = delayed(compute_one, pure=False)
    # Keys are unlike those of any other run: several may be under way in one process or on one cluster.
    token = uuid.uuid4().hex
    return {
        interval: task(
            analysis, shared, *interval, dask_key_name=f"{analysis.name}-{interval[0]}-{interval[1]}-{token}"
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
    """Run blocks on local threads; `on_block` is called in the calling thread as they finish, and nothing is kept.

    With a `pool`, on its threads.
    """
    finished: dict[Interval, Arrays] = {}

    def put_aside(analysis: Analysis, inputs: Arrays, start: int, stop: int) -> None:
        # Not returned: the scheduler would hold all it is given until the end.
        finished[start, stop] = compute_block(analysis, inputs, start, stop)

    graph = lower(analysis, inputs, intervals, put_aside)
    interval_of = {task.key: interval for interval, task in graph.items()}
    _compute(
        list(graph.values()), workers, lambda key, _: on_block(interval_of[key], finished.pop(interval_of[key])), pool
    )


def map_on_threads(
    function: Callable[[Any], Any], items: list[Any], workers: int, on_item: Callable[[Any], None]
) -> list[Any]:
    """Return the function of every item, in order, on local threads; `on_item` is called as each finishes."""
    task = delayed(function, pure=False)
    return _compute([task(item) for item in items], workers, lambda _, result: on_item(result))


def _compute(
    tasks: list[Delayed], workers: int, on_task: Callable[[str, Any], None], pool: Executor | None = None
) -> list[Any]:
    known = {task.key for task in tasks}

    def finished(key: str, result: Any, *_: Any) -> None:
        if key in known:
            on_task(key, result)

    # Given to this call alone: dask's usual way to set callbacks is shared by all threads of the process.
    callbacks = [(None, None, None, finished, None)]
    how = {"num_workers": workers} if pool is None else {"pool": pool}
    return list(compute(*tasks, scheduler=threaded_get, callbacks=callbacks, optimize_graph=False, **how))

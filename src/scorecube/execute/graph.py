"""Computing on local threads, which dask schedules. Calls do not depend on each other, so they finish in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from dask.threaded import get

if TYPE_CHECKING:
    from scorecube.execute.executor import Executor, OnResult


def call_on_threads(
    executor: Executor, function: Callable[[Any], Any], items: Sequence[Any], on_result: OnResult
) -> None:
    """Call a function with every item on local threads, or on those of the executor's pool; see `scorecube.execute.dispatch.call_each`."""
    lock, over = Lock(), False

    def call(position: int) -> None:  # returns nothing, as dask keeps results until the end
        nonlocal over
        result = function(items[position])
        with lock:
            if not over:
                over = True  # after a failure, no other result is taken
                on_result(position, result)
                over = False

    positions = range(len(items))
    calls = {position: (partial(call, position),) for position in positions}
    try:
        get(calls, list(positions), num_workers=executor.workers, pool=executor.pool)
    finally:
        with lock:  # after an error, calls that have begun end on their own
            over = True

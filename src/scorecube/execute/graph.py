"""Computing on local threads, which dask schedules.

Calls do not depend on each other, so they finish in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from dask.threaded import get

from scorecube.execute.executor import OnResult


def call_on_threads(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    on_result: OnResult,
    workers: int,
    pool: Executor | None,
) -> None:
    """Call a function with every item on local threads, or on those of a pool; see `call_each`."""

    def finished(position: int, result: Any, _: Any, state: Any, __: Any) -> None:
        state["cache"][position] = None  # dask keeps results until the end
        on_result(position, result)

    # Passed to this call: callbacks that are registered globally would be shared by all threads of the process.
    get(
        {position: (partial(function, item),) for position, item in enumerate(items)},
        list(range(len(items))),
        num_workers=workers,
        pool=pool,
        callbacks=[(None, None, None, finished, None)],
    )

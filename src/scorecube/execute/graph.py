"""Computing on local threads, which dask schedules.

Calls do not depend on each other, so they finish in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from dask.threaded import get as threaded_get

from scorecube.execute.executor import OnResult


def call_on_threads(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    on_result: OnResult,
    workers: int,
    pool: Executor | None,
) -> None:
    """Call a function with every item on local threads, or on those of a pool; see `call_each`."""

    def boxed(item: Any) -> list[Any]:
        return [function(item)]

    def finished(position: int, box: list[Any], *_: Any) -> None:
        on_result(position, box.pop())  # dask keeps what calls return until the end: empty boxes

    # Passed to this call: callbacks that are registered globally would be shared by all threads of the process.
    threaded_get(
        {position: (partial(boxed, item),) for position, item in enumerate(items)},
        list(range(len(items))),
        num_workers=workers,
        pool=pool,
        callbacks=[(None, None, None, finished, None)],
    )

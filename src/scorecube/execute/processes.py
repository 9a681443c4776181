"""Processes beside this one for work that Python's lock would serialise, such as drawing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
CONTEXT: SpawnContext = multiprocessing.get_context("spawn")
WAITING = 2
"""Results that may wait for each process until they are taken, so that memory stays flat."""
PORTIONS = 3
"""Portions for each process that are begun or wait, so that none is without work."""


@contextmanager
def processes(
    workers: int, initialise: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of new processes that end with this one, however it ends.

    Signals of the terminal end this process only, which then ends the others.

    workers: Number of processes.
    initialise, arguments: Called with these arguments in each process when it starts; importable by its name.
    """
    pool = ProcessPoolExecutor(workers, CONTEXT, _start, (initialise, *arguments))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _start(initialise: Callable[..., None] | None, *arguments: Any) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    if initialise is not None:
        initialise(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def ordered_map(
    pool: ProcessPoolExecutor, workers: int, function: Callable[[T], R], items: Iterable[T]
) -> Iterator[R]:
    """Yield the result of each item, in their order, while the next items are computed in the processes.

    pool: Of `processes`.
    workers: Its number of processes.
    function: Importable by its name, or a partial of such a function.
    items: Arguments; only a few are taken in advance.
    """
    under_way: deque[Future[R]] = deque()
    for item in items:
        under_way.append(pool.submit(function, item))
        if len(under_way) > WAITING * workers:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def run_portions(
    function: Callable[..., R], portions: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[R]:
    """Call a function with each portion in new processes, and yield what was returned, in any order.

    After a failure or an interruption no further portion starts, and running ones end when `is_stopped` returns True.

    function: Importable by its name.
    portions: Arguments of each call.
    workers: Number of processes.
    """
    stop, waiting = CONTEXT.Event(), iter(portions)
    pending: set[Future[R]] = set()
    with processes(workers, _keep, stop) as pool:
        try:
            while True:
                for portion in waiting:
                    pending.add(pool.submit(function, *portion))
                    if len(pending) >= workers * PORTIONS:
                        break
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BaseException:
            stop.set()
            raise


_STOP: Any = None


def _keep(stop: Any) -> None:
    global _STOP
    _STOP = stop


def is_stopped() -> bool:
    """Whether a process of `run_portions` is to begin nothing more."""
    return _STOP is not None and bool(_STOP.is_set())

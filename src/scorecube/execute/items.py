"""Calls of a function with many items: on threads that dask schedules, or on a client.

Every task is a pure function of one item, so dask computes it again where a worker is lost. The
function is sent once to each worker; the tasks are small.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scorecube.errors import ClusterFailed
from scorecube.execute.executor import unreported
from scorecube.execute.versions import check_versions, own_versions

if TYPE_CHECKING:
    from distributed import Client, Future

OnResult = Callable[[int, Any], None]
"""Takes the position of an item, and what the function returned for it."""
RETRIES = 2
"""Further attempts for an item whose call raised an error, such as one of a file system."""
GROUP = 8
"""Results that a task combines."""
RESUME_HINT = "Recorded blocks are kept; rerun the same command to resume"


def run_items(
    client: Client | None,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    on_result: OnResult,
    *,
    workers: int = 1,
    name: str = "item",
) -> None:
    """Call a function with every item; take the results as they come, one at a time, in any order.

    client: None for threads of this process.
    workers: Threads; one call at a time needs no scheduler, whose import takes 0.1 s.
    name: Of the tasks, on dask's pages.
    """
    if client is not None:
        with translate_errors(client):
            tasks = _submit(client, function, items, name)
            place = {future.key: position for position, future in enumerate(tasks)}
            _take_all(client, tasks, lambda future, value: on_result(place[future.key], value))
    elif 1 in (workers, len(items)):
        for position, item in enumerate(items):
            on_result(position, function(item))
    else:
        _on_threads(function, items, on_result, workers)


def reduce_items(
    client: Client,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    combine: Callable[[Sequence[Any]], Any],
    on_done: Callable[[int], None],
    *,
    name: str = "item",
) -> Any:
    """Return the combined results of a function for all items, reduced by a tree of tasks.

    combine: Returns several results as one; importable by its name.
    on_done: Called with the position of each item that is computed; its result stays there.
    """
    with translate_errors(client):
        tasks = level = _submit(client, function, items, name)
        place = {future.key: position for position, future in enumerate(tasks)}
        while len(level) > 1:
            groups = [level[low : low + GROUP] for low in range(0, len(level), GROUP)]
            level = [client.submit(combine, group, pure=False) for group in groups]
        _take_all(
            client,
            tasks,
            lambda future, _: on_done(place[future.key]),
            with_results=False,
            release=level is not tasks,
        )
        total: list[Any] = []
        _take_all(client, level, lambda _, value: total.append(value))
        return total[0]


def call_all(
    client: Client | None,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    progress: Callable[[int, int], None] | None = None,
    workers: int = 1,
) -> list[Any]:
    """Return what a function returns for every item, in their order."""
    results: dict[int, Any] = {}
    report = progress or unreported

    def keep(position: int, result: Any) -> None:
        results[position] = result
        report(len(results), len(items))

    report(0, len(items))
    run_items(client, function, items, keep, workers=workers)
    return [results[position] for position in range(len(items))]


def _on_threads(
    function: Callable[[Any], Any], items: Sequence[Any], on_result: OnResult, workers: int
) -> None:
    from dask.threaded import get

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
        get(calls, list(positions), num_workers=workers)
    finally:
        with lock:  # after an error, calls that have begun end on their own
            over = True


def _submit(
    client: Client, function: Callable[[Any], Any], items: Sequence[Any], name: str
) -> list[Future[Any]]:
    """Submit a task for each item.

    Workers fetch the function once, as the result of a task, from each other: unlike scattered
    data it is computed again where its last holder is lost, and needs no worker to begin with.
    """
    import dask

    run = uuid4().hex[:8]
    keys = [(f"{name}-{run}", str(position)) for position in range(len(items))]
    if items and isinstance(items[0], tuple):
        keys = [(f"{name}-{run}", "-".join(map(str, item))) for item in items]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        shared = client.submit(_identity, function, pure=False, retries=RETRIES)
        versions = own_versions()
        return client.map(
            checked, items, key=keys, function=shared, versions=versions, retries=RETRIES
        )


def checked(item: Any, function: Callable[[Any], Any], versions: dict[str, str]) -> Any:
    """Return what this worker computes, if its programs are those of the driver.

    Raises
    ------
    ClusterFailed
        Other versions; or in place of an error of the function.
    """
    from distributed import get_worker

    check_versions(get_worker().address, own_versions(), versions)
    return function(item)


def _take_all(
    client: Client,
    futures: Sequence[Future[Any]],
    take: Callable[[Future[Any], Any], None],
    *,
    with_results: bool = True,
    release: bool = True,
) -> None:
    """Take futures with their values as they finish; cancel the others after a failure."""
    from distributed import as_completed

    options = {"loop": client.loop, "with_results": with_results, "raise_errors": False}
    try:
        for finished in as_completed(futures, **options):
            future, value = finished if with_results else (finished, None)
            if future.status != "finished":  # all are cancelled when the scheduler is lost
                raise _readable(future.exception() or CancelledError())
            take(future, value)
            if release:
                future.release()
    except BaseException:
        with suppress(Exception):  # a lost scheduler has nothing to cancel
            client.cancel(list(futures))
        raise


def _readable(error: BaseException) -> BaseException:
    """Return the error of a task; of a worker that cannot load what it was sent, a message."""
    unknown = isinstance(error, ImportError) and (error.name or "").startswith("scorecube")
    unknown |= isinstance(error, AttributeError) and "Can't get attribute" in str(error)
    if not unknown:
        return error
    return ClusterFailed(
        f"a worker cannot load what it was sent ({_last_line(error)}): start workers in the "
        f"environment of this program. {RESUME_HINT}"
    )


@contextmanager
def translate_errors(client: Client) -> Iterator[None]:
    """Raise errors of a lost cluster as `ClusterFailed`, with the cause."""
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    where = client.scheduler.address if client.scheduler is not None else "an unknown address"
    try:
        yield
    except (CancelledError, asyncio.CancelledError, CommClosedError) as error:
        message = f"the dask scheduler at {where} was lost ({_last_line(error)})"
    except KilledWorker as error:
        message = (
            f"{error.allowed_failures + 1} workers ended while they computed the same block, the "
            f"last at {error.last_worker.address}: perhaps they lack memory (memory in the "
            "cluster file), their log says more"
        )
    except (NoWorkerError, NoValidWorkerError) as error:
        message = f"the dask scheduler at {where} had no worker for {error.timeout:,.0f} s"
    else:
        return
    raise ClusterFailed(f"{message}. {RESUME_HINT}") from None


def _last_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[-1].strip()


def _identity(data: Any) -> Any:
    return data

"""Executors: calls of a function with many items, on threads that dask schedules or on a client.

Every task is a pure function of one item, so dask computes it again where a worker is lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import os
import platform
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import chain, count, islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from threadpoolctl import ThreadpoolController

from scorecube.errors import ClusterFailed

if TYPE_CHECKING:
    from distributed import Client, Future

Progress = Callable[[int, int], None]
"""Takes what is done, and all."""
Label = Callable[[Any], str]
OnResult = Callable[[int, Any], None]
"""Takes the position of an item, and its result."""
LOGGER = logging.getLogger("scorecube")
RETRIES = 2
"""Further attempts for an item whose call raised an error, such as one of a file system."""
LONG = 60.0
"""Predicted seconds of an analysis from which on all workers share its blocks."""
AHEAD = 4096
"""Items that are sent before others are done: enough for thousands of workers, and no memory."""
GROUP = 8
"""Results that a task combines."""
PACKAGES = ("scorecube", "numpy", "numba", "scipy")
ROOMS = ("statistics", "kernels", "metrics", "declare", "collection", "analyses", "methods")
"""Folders of the package whose code computes results."""
RESUME = "Recorded blocks are kept; rerun the same command to resume"


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Executor:
    """Where blocks are computed; results are bit-identical on every executor."""

    client: Client | None = None  # None for threads of this process
    workers: int = 1  # blocks at a time
    memory: float = math.inf  # bytes of this process, where others share the machine
    patience: float = math.inf  # seconds: a plan that is predicted to take longer is TooLong
    name: str = ""  # address of a worker


class TooLong(Exception):
    """A plan that is better computed in blocks on all workers than by one of them."""


CALLING_THREAD = Executor()


def executor_for(client: Client | Literal[False] | None, workers: int | None) -> Executor:
    """Return where a call of a program computes.

    client: False for the cores of this machine. None takes the client that a program works with,
        and says so once; none in a task of it, whose worker would wait for itself.
    workers: Blocks at a time; by default as many as the client, or this machine, computes.
    """
    if client is None:
        client = _current_client()
    if not client:
        return Executor(workers=workers or default_workers())
    return Executor(client, workers or threads_of(client) or default_workers())


def threads_of(client: Client) -> int:
    """Return the threads of the workers of a client, or all that its cluster may start."""
    with on_cluster(client):
        running = client.scheduler_info(n_workers=-1)["workers"].values()
    threads: list[int] = [worker["nthreads"] for worker in running]
    cluster: Any = client.cluster
    most = getattr(getattr(cluster, "_adaptive", None), "maximum", 0)  # has no public name
    if not math.isfinite(most):
        return sum(threads)
    options = (getattr(cluster, "new_spec", None) or {}).get("options", {})
    of_job = (options.get("cores") or 1) // (options.get("processes") or 1)
    each = max(threads, default=options.get("nthreads") or of_job)
    return max(sum(threads), int(most * each))


def on_worker() -> Executor:
    """Return what computes a whole task on a worker of dask: one thread, with its share of memory.

    What takes longer than `LONG` there is `TooLong`.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    share = (worker.memory_manager.memory_limit or math.inf) / worker.state.nthreads
    return Executor(memory=share, patience=LONG, name=worker.address)


def _current_client() -> Client | None:
    """Return the client that a program works with, if dask is loaded and this is no task of it."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client, get_worker

    with suppress(ValueError):
        get_worker()
        return None
    with suppress(ValueError):
        client: Client = Client.current()
        if not client.asynchronous and client.status == "running":
            _say_where(client.id, str(client.scheduler_info()["address"]))
            return client
    return None


@cache
def _say_where(_: str, address: str) -> None:
    """Say once that a client is used which was not given."""
    LOGGER.warning(
        "computing on dask's current client, at %s; client=False for this machine", address
    )


def run_items(
    client: Client | None,
    function: Callable[[Any], Any],
    items: Iterable[Any],
    on_result: OnResult,
    *,
    workers: int = 1,
    name: str = "item",
    label: Label | None = None,
    ahead: int = AHEAD,
) -> None:
    """Call a function with every item; take the results as they come, one at a time, in any order.

    client: None for threads of this process; one needs no scheduler, whose import takes 0.1 s.
    name, label: Of the tasks and of each item, on dask's pages; a label is of one item.
    ahead: Items that are made and sent before others are done.
    """
    if client is not None:
        with on_cluster(client) as futures:
            submit = _submitter(client, function, name, label)
            _on_client(client, submit, items, on_result, futures, ahead)
        return
    listed = list(items)
    if 1 in (workers, len(listed)):
        for position, item in enumerate(listed):
            on_result(position, function(item))
    else:
        _on_threads(function, listed, on_result, workers)


def map_items(
    executor: Executor,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    *,
    progress: Progress | None = None,
    name: str = "item",
) -> list[Any]:
    """Return the results of a function for all items, in their order; see `run_items`."""
    results: list[Any] = [None] * len(items)
    done = count(1)

    def take(position: int, result: object) -> None:
        results[position] = result
        if progress is not None:
            progress(next(done), len(items))

    run_items(executor.client, function, items, take, workers=executor.workers, name=name)
    return results


def _on_client(
    client: Client,
    submit: Callable[[Sequence[Any]], dict[Any, Future[Any]]],
    items: Iterable[Any],
    on_result: OnResult,
    futures: dict[Any, Future[Any]],
    ahead: int,
) -> None:
    """Submit items while others are done; `futures` has those that are not."""
    from distributed import as_completed

    left = iter(items)
    positions: dict[Any, int] = {}
    numbers = count()
    completed = as_completed(loop=client.loop, with_results=True)
    while True:
        room = ahead - len(futures)
        if room >= ahead // 2 and (batch := list(islice(left, room))):
            sent = submit(batch)
            futures |= sent
            positions |= zip(sent, numbers, strict=False)
            completed.update(sent.values())
        if not futures:
            return
        future, value = next(completed)
        _refuse_lost(future)
        futures.pop(future.key).release()
        on_result(positions.pop(future.key), value)


def reduce_items(
    client: Client,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    combine: Callable[[Sequence[Any]], Any],
    on_done: Callable[[Any], None],
    *,
    name: str = "item",
    label: Label | None = None,
) -> Any:
    """Return the combined results of a function for all items, reduced by a tree of tasks.

    on_done: Called with each item that is computed; its result stays there.
    """
    from distributed import as_completed

    with on_cluster(client) as futures:
        submitted = _submitter(client, function, name, label)(items)
        futures |= submitted
        item_of = dict(zip(submitted, items, strict=True))
        leaves = list(submitted.values())
        level = leaves
        token = secrets.token_hex(4)
        while len(level) > 1:
            groups = [level[low : low + GROUP] for low in range(0, len(level), GROUP)]
            keys = [(f"combine {name}-{token}", len(groups), k) for k in range(len(groups))]
            level = [
                client.submit(combine, group, key=key, pure=False, retries=RETRIES)
                for group, key in zip(groups, keys, strict=True)
            ]
        for future in as_completed(leaves, loop=client.loop):
            _refuse_lost(future)
            on_done(item_of[future.key])
            if level is not leaves:
                future.release()
        return level[0].result()


def _on_threads(
    function: Callable[[Any], Any], items: Sequence[Any], on_result: OnResult, workers: int
) -> None:
    from dask.threaded import get

    lock = Lock()
    is_over = False

    def call(position: int) -> None:  # returns nothing, as dask keeps results until the end
        nonlocal is_over
        result = function(items[position])
        with lock:
            if not is_over:
                is_over = True  # after a failure, no other result is taken
                on_result(position, result)
                is_over = False

    calls = {str(position): (call, position) for position in range(len(items))}
    try:
        get(calls, list(calls), num_workers=workers)
    finally:
        with lock:  # after an error, calls that have begun end on their own
            is_over = True


def _submitter(
    client: Client, function: Callable[[Any], Any], name: str, label: Label | None
) -> Callable[[Sequence[Any]], dict[Any, Future[Any]]]:
    """Return what submits a task for each item; workers fetch the function once, as a result."""
    import dask

    quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    group = f"{name}-{secrets.token_hex(4)}"  # dask's pages show it without the token
    numbers = map(str, count())
    with dask.config.set(quiet):
        shared = client.submit(lambda: function, key=f"function of {group}", retries=RETRIES)
    facts: dict[str, Any] = {"function": shared, "versions": own_versions(), "retries": RETRIES}

    def submit(items: Sequence[Any]) -> dict[Any, Future[Any]]:
        labels = map(label, items) if label is not None else numbers
        keys = [(group, one) for _, one in zip(items, labels, strict=False)]
        with dask.config.set(quiet):
            futures = client.map(checked, items, key=keys, pure=False, **facts)
        return {future.key: future for future in futures}

    return submit


blas_controller = cache(ThreadpoolController)
"""The controller of the loaded libraries, whose search takes milliseconds."""


@cache
def take_one_blas_thread() -> None:
    """Leave this worker one thread for linear algebra, as dask's nannies do; theirs would spin."""
    blas_controller().limit(limits=1, user_api="blas")


def checked(item: Any, function: Callable[[Any], Any], versions: Mapping[str, str]) -> Any:
    """Return what this worker computes; ClusterFailed if its programs may compute other bits."""
    from distributed import get_worker

    here = own_versions()
    different = [
        f"{name} {here[name]} (here {version})"
        for name, version in versions.items()
        if here[name] != version
    ]
    if different:
        raise ClusterFailed(
            f"the worker at {get_worker().address} has other versions than this program: "
            f"{', '.join(different)}. Start it in the same environment. {RESUME}"
        )
    take_one_blas_thread()
    return function(item)


def _refuse_lost(future: Future[Any]) -> None:
    """Raise the error of a task that failed; all are cancelled when the scheduler is lost."""
    if future.status != "finished":
        raise future.exception() or CancelledError()


@contextmanager
def on_cluster(client: Client) -> Iterator[dict[Any, Future[Any]]]:
    """Yield a list of futures that are cancelled after a failure; a lost one is ClusterFailed."""
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    where = client.scheduler.address if client.scheduler is not None else "an unknown address"
    futures: dict[Any, Future[Any]] = {}
    try:
        try:
            yield futures
        except BaseException:
            with suppress(Exception):  # a lost scheduler has nothing to cancel
                client.cancel(list(futures.values()))
            raise
    except (CancelledError, asyncio.CancelledError, CommClosedError) as error:
        message = f"the dask scheduler at {where} was lost ({error!r})"
    except KilledWorker as error:
        message = (
            f"{error.allowed_failures + 1} workers ended while they computed the same block, the "
            f"last at {error.last_worker.address}: perhaps they lack memory"
        )
    except (NoWorkerError, NoValidWorkerError) as error:
        message = f"the dask scheduler at {where} had no worker for {error.timeout:,.0f} s"
    except (ImportError, AttributeError) as error:
        if isinstance(error, AttributeError) and "Can't get attribute" not in str(error):
            raise
        message = (
            f"a worker cannot load what it was sent ({error!r}): start workers in the environment "
            "of this program"
        )
    else:
        return
    raise ClusterFailed(f"{message}. {RESUME}") from None


@cache
def own_versions() -> dict[str, str]:
    """Return the versions of this process: of packages, and a digest of the code of results."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    found = chain.from_iterable((package / room).rglob("*.py") for room in ROOMS)
    for path in sorted(found):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes() + b"\0")
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in PACKAGES},
        "source": digest.hexdigest()[:12],
    }

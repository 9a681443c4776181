"""Computing blocks on a cluster.

Every task is a pure function of one interval and of shared arrays, which are sent once per worker. dask computes a block again that was
lost with its worker; the result is bit-identical.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scorecube.errors import ClusterFailed
from scorecube.execute.cluster_files import ClusterSpec, choose_cluster
from scorecube.execute.clusters import open_executor
from scorecube.execute.executor import Blocks, OnResult
from scorecube.execute.worker_versions import (
    check_versions,
    stated,
    stating_plugin,
    versions_function,
)

if TYPE_CHECKING:
    import concurrent.futures

    from distributed import Client, Future

RETRIES = 2
"""Further attempts for a block that raised an error; safe, as a block is a pure function."""
MAX_PLUGIN_BYTES = 2**20
"""Larger inputs are not sent to workers for compiling kernels before their first block."""
_OPEN: list[tuple[Any, list[Any]]] = []
"""Clients and the futures that are waited for."""
_ASKED: dict[concurrent.futures.Future[Any], Any] = {}
"""Requests that are waited for, and their clients."""
SILENT_SECONDS = 30.0
"""Silence of a scheduler or worker after which it is said what the run waits for."""
CLEANUP_SECONDS = 1.0
"""Longest wait for each request of a run that has ended: a frozen process answers none."""
LOGGER = logging.getLogger("scorecube")
RESUME_HINT = "Recorded blocks are kept; rerun the same command to resume"


@contextmanager
def open_client(
    cluster: ClusterSpec | Mapping[str, Any] | str | os.PathLike[str] | None,
    address: str | None = None,
    workers: int | None = None,
) -> Iterator[Client | None]:
    """Yield a client for a cluster or a scheduler's address; None for local threads.

    cluster: A specification, the content of a file, e.g. ``{"class": "distributed.LocalCluster"}``, or its path.
    address: Of a running scheduler, e.g. ``tcp://127.0.0.1:8786``.
    workers: Number of blocks at a time; in place of what the cluster says.
    """
    with open_executor(choose_cluster(cluster, address, workers)) as executor:
        yield executor.client


def call_on_client(
    client: Client, function: Callable[[Any], Any], items: Sequence[Any], on_result: OnResult
) -> None:
    """Call a function with every item on a cluster, which gets it once per worker; see `call_each`."""
    name: str | None = None
    compiled: AbstractContextManager[None] = nullcontext()
    if isinstance(function, Blocks):
        name, compiled = function.analysis.name, _kernels_compiled(client, function, items[0])
    with _checked_workers(client), compiled:
        shared = _share(client, function)
        futures = client.map(stated, items, key=name, function=shared, pure=False, retries=RETRIES)
        position_of = {future.key: position for position, future in enumerate(futures)}
        for key, result in _as_completed(client, futures):
            on_result(position_of[key], result)


@contextmanager
def _checked_workers(client: Client) -> Iterator[None]:
    """Refuse workers with other versions: those that are there, and those that join.

    A worker that joins states its versions before its first task, which it may not even be able to read.
    """
    refusals: list[ClusterFailed] = []
    ended: list[bool] = []

    async def check(event: tuple[float, Any]) -> None:
        try:
            check_versions(event[1]["address"], event[1]["versions"])
        except ClusterFailed as refusal:
            refusals.append(refusal)
            while not ended:  # the run may have no tasks yet
                for other, futures in list(_OPEN):
                    if other is client:
                        await client.cancel(futures, asynchronous=True)
                await asyncio.sleep(0.2)

    plugin = stating_plugin(f"scorecube-versions-{uuid.uuid4().hex}")
    with translate_errors(client), _watched(client):
        check_workers(client)
        client.subscribe_topic(plugin.name, check)
        try:
            _register(client, plugin)
            yield
        except Exception:
            if refusals:
                raise refusals[0] from None
            raise
        finally:
            ended.append(True)
            with suppress(Exception):  # a lost scheduler has neither
                client.unsubscribe_topic(plugin.name)
                _ask(client, client.unregister_worker_plugin, plugin.name, seconds=CLEANUP_SECONDS)


@contextmanager
def _watched(client: Client) -> Iterator[None]:
    """Say it, once for each, when the scheduler does not answer or it hears nothing of a worker: both may be frozen."""
    watch = _begin(client, _watch(client))
    try:
        yield
    finally:
        watch.cancel()


async def _watch(client: Client) -> None:
    heard: dict[str, tuple[float, float]] = {}  # what the scheduler's clock said, and since when
    silent: set[str] = set()
    while client.scheduler is not None:
        names = {f"scheduler at {client.scheduler.address}"}
        try:
            answer = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), SILENT_SECONDS)
        except TimeoutError:
            pass
        except OSError:  # lost: the run fails
            return
        else:
            now, workers = time.monotonic(), answer["workers"]
            heard = {
                name: heard[name]
                if name in heard and heard[name][0] == each["last_seen"]
                else (each["last_seen"], now)
                for name, each in workers.items()
            }
            names = {
                f"worker at {name}"
                for name, (_, since) in heard.items()
                if now - since >= SILENT_SECONDS
            }
        for name in sorted(names - silent):
            LOGGER.warning(
                "the dask %s has been silent for %.0f s and is waited for: is it stopped, or its machine? Ctrl-C ends the run. %s",
                name,
                SILENT_SECONDS,
                RESUME_HINT,
            )
        silent = names
        await asyncio.sleep(SILENT_SECONDS / 10)


def _ask(
    client: Client,
    request: Callable[..., Any],
    *arguments: Any,
    seconds: float | None = None,
    **options: Any,
) -> Any:
    """Call a method of a client that waits for other processes; `cancel_open` ends the wait, and so does a limit in seconds."""

    async def answer() -> Any:
        return await request(*arguments, **options)  # on the client's loop, where it is a coroutine

    asked = _begin(client, answer())
    _ASKED[asked] = client
    try:
        return asked.result(seconds)
    finally:
        del _ASKED[asked]
        asked.cancel()


def _begin(client: Client, work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
    """Run a coroutine on a client's loop."""
    loop: Any = client.loop
    return asyncio.run_coroutine_threadsafe(work, loop.asyncio_loop)


def _register(client: Client, plugin: Any) -> None:
    """Register a plugin on all workers, and those that join."""
    from distributed.comm.core import CommClosedError

    try:
        _ask(client, client.register_plugin, plugin, name=plugin.name)
    except OSError as error:
        if not _is_reachable(
            client
        ):  # the scheduler was lost, which the client has not noticed yet
            raise CommClosedError(str(error)) from None
        # A worker was lost meanwhile; the others, and those that come, have the plugin.


def check_workers(client: Client) -> None:
    """Ask all workers for their versions.

    Raises ClusterFailed: A worker has other versions than this process.
    """
    from distributed.comm.core import CommClosedError

    try:
        answers = _ask(client, client.run, versions_function(), on_error="return")
    except OSError as error:  # the scheduler was lost, and answered none of the client's attempts
        raise CommClosedError(str(error)) from None
    for worker, versions in sorted(answers.items()):
        if isinstance(versions, dict):  # others are errors of workers that are lost meanwhile
            check_versions(worker, versions)


def _share(client: Client, data: Any) -> Future[Any]:
    """Send data to the scheduler as the result of a task without dependencies.

    Each worker fetches it once, from the scheduler or another worker. Unlike scattered data, it can be recomputed when the last worker that
    holds it is lost, and it can be sent before any worker has connected.
    """
    return client.submit(_identity, data, pure=False, retries=RETRIES)


def _as_completed(client: Client, futures: list[Future[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of futures as they finish; values of workers with other versions are refused."""
    from distributed import as_completed

    _OPEN.append((client, futures))
    try:
        for future, result in as_completed(futures, loop=client.loop, with_results=True):
            if isinstance(
                result, BaseException
            ):  # e.g. a cancelled future, as all are when the scheduler is lost
                raise result
            check_versions(result.worker, result.versions)
            yield str(future.key), result.value
            future.release()
    finally:
        _OPEN.remove((client, futures))
        with suppress(Exception):  # a lost scheduler has nothing to cancel
            client.cancel(futures)


def cancel_open(client: Client) -> None:
    """Cancel the tasks and requests of all runs on a cluster, so that whatever waits for them fails."""
    for asked in [asked for asked, other in list(_ASKED.items()) if other is client]:
        asked.cancel()
    for other, futures in list(_OPEN):
        if other is client:
            with suppress(Exception):
                client.cancel(futures)


@contextmanager
def translate_errors(client: Client) -> Iterator[None]:
    """Raise errors of a lost cluster as `ClusterFailed`, with the cause."""
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    where = client.scheduler.address if client.scheduler is not None else "an unknown address"
    try:
        yield
    except (CancelledError, asyncio.CancelledError, CommClosedError) as error:
        raise ClusterFailed(
            f"the dask scheduler at {where} was lost ({_first_line(error)}). {RESUME_HINT}"
        ) from None
    except KilledWorker as error:
        raise ClusterFailed(
            f"{error.allowed_failures + 1} workers ended while they computed the same block, the last at {error.last_worker.address}: "
            f"perhaps they lack memory (memory in the cluster file), their log says more. {RESUME_HINT}"
        ) from None
    except (NoWorkerError, NoValidWorkerError) as error:
        seconds = error.timeout
        raise ClusterFailed(
            f"the dask scheduler at {where} had no worker for {seconds:,.0f} s. {RESUME_HINT}"
        ) from None


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[-1].strip()


@contextmanager
def _kernels_compiled(client: Client, blocks: Blocks, first: Any) -> Iterator[None]:
    """Have workers compile or load the kernels before their first task."""
    from scorecube.execute.worker_plugin import CompileKernels

    size = sum(array.nbytes for array in blocks.inputs.values())
    sent = blocks if size <= MAX_PLUGIN_BYTES else replace(blocks, inputs={})
    plugin = CompileKernels(sent, (first[0], first[0] + 1))
    _register(client, plugin)
    try:
        yield
    finally:
        with suppress(Exception):  # a lost scheduler has no plugins
            _ask(client, client.unregister_worker_plugin, plugin.name, seconds=CLEANUP_SECONDS)


def _is_reachable(client: Client) -> bool:
    """Return whether the scheduler answers."""
    if client.scheduler is None:
        return False
    try:
        _ask(client, client.scheduler.identity)
    except OSError:
        return False
    return True


def _identity(data: Any) -> Any:
    return data

"""Computing blocks on a cluster.

Every task is a pure function of one interval and of shared arrays, which are sent once per worker. dask computes a block again that was
lost with its worker; the result is bit-identical.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from scorecube.errors import ClusterFailed
from scorecube.execute.cluster_files import ClusterSpec, choose_cluster
from scorecube.execute.clusters import open_executor
from scorecube.execute.executor import Blocks, OnResult
from scorecube.execute.worker_versions import check_versions, stated

if TYPE_CHECKING:
    import concurrent.futures

    from distributed import Client, Future

RETRIES = 2
"""Further attempts for a block that raised an error; safe, as a block is a pure function."""
_OPEN: list[tuple[Any, list[Any]]] = []
"""Clients and the futures that are waited for."""
SILENT_SECONDS = 30.0
"""Silence of a scheduler or worker after which it is said what the run waits for."""
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
    name = function.analysis.name if isinstance(function, Blocks) else None
    with translate_errors(client), _watched(client):
        shared = _share(client, function)
        futures = client.map(stated, items, key=name, function=shared, pure=False, retries=RETRIES)
        position_of = {future.key: position for position, future in enumerate(futures)}
        for key, result in _as_completed(client, futures):
            on_result(position_of[key], result)


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


def _begin(client: Client, work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
    """Run a coroutine on a client's loop."""
    loop: Any = client.loop
    return asyncio.run_coroutine_threadsafe(work, loop.asyncio_loop)


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
                raise _readable(result)
            check_versions(result.worker, result.versions)
            yield str(future.key), result.value
            future.release()
    finally:
        _OPEN.remove((client, futures))
        with suppress(Exception):  # a lost scheduler has nothing to cancel
            client.cancel(futures)


def _readable(error: BaseException) -> BaseException:
    """Return the error of a task; of a worker that cannot load what it was sent, a message."""
    unknown = isinstance(error, ImportError) and (error.name or "").startswith("scorecube")
    unknown |= isinstance(error, AttributeError) and "Can't get attribute" in str(error)
    if not unknown:
        return error
    return ClusterFailed(
        f"a worker cannot load what it was sent ({_first_line(error)}): start workers in the "
        f"environment of this program. {RESUME_HINT}"
    )


def cancel_open(client: Client) -> None:
    """Cancel the tasks of all runs on a cluster, so that whatever waits for them fails."""
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


def _identity(data: Any) -> Any:
    return data

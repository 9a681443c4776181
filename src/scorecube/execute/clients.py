"""Blocks to a cluster and back: every task is a pure function of one interval, the arrays of all of them are sent once per worker.

dask runs a task at least once: a block that was lost with its worker is computed again elsewhere, and gives the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from scorecube.analyses.base import Analysis, Arrays
from scorecube.errors import ClusterFailed, option
from scorecube.execute.clusters import Executor, choose_profile, open_executor
from scorecube.execute.profiles import Profile, make_profile, read_profile

if TYPE_CHECKING:
    from distributed import Client, Future

    from scorecube.execute.graph import Interval, OnBlock

RETRIES = 2
"""Attempts after the first for a block that failed with an error; a block is a pure function, so repeating it is safe."""
WARM_BYTES = 2**20
"""Inputs up to this size are sent to workers as they start, to compile or load their kernels."""
GO_ON = "Blocks that were recorded are kept: give the same command again to compute the rest"


@contextmanager
def open_client(
    profile: Profile | Mapping[str, Any] | None, address: str | None = None, workers: int | None = None
) -> Iterator[Client | None]:
    """Yield a distributed client for a profile or a scheduler's address; None stands for local threads.

    Parameters
    ----------
    profile
        From `read_profile`, or the settings of one, e.g. ``{"kind": "processes", "workers": 4}``.
    address
        Of a running scheduler, e.g. ``tcp://127.0.0.1:8786``.
    workers
        Blocks at a time, instead of the profile's number.
    """
    made = make_profile(profile) if isinstance(profile, Mapping) else profile
    with open_executor(choose_profile(made, address, workers)) as executor:
        yield executor.client


def chosen_profile(cluster: str | os.PathLike[str] | None, scheduler: str | None, workers: int | None) -> Profile:
    """Return the profile that the options `cluster`, `scheduler` and `workers` describe."""
    return choose_profile(None if cluster is None else read_profile(cluster), scheduler, workers)


@contextmanager
def open_chosen(
    cluster: str | os.PathLike[str] | None, scheduler: str | None, workers: int | None
) -> Iterator[Executor]:
    """Open what `chosen_profile` says."""
    with open_executor(chosen_profile(cluster, scheduler, workers)) as executor:
        yield executor


def compute_on_client(
    client: Client, analysis: Analysis, inputs: Arrays, intervals: list[Interval], on_block: OnBlock
) -> None:
    """Run blocks on a cluster; arrays are sent once per worker, `on_block` is called as blocks finish."""
    from scorecube.execute.graph import lower

    with failures_told(client), _warmed(client, analysis, inputs, intervals):
        shared = _shared(client, inputs)
        graph = lower(analysis, shared, intervals)
        futures = client.compute(list(graph.values()), retries=RETRIES, optimize_graph=False)
        interval_of = {future.key: interval for future, interval in zip(futures, graph, strict=True)}
        for key, result in _as_they_finish(client, futures):
            on_block(interval_of[key], result)


def map_on_client(
    client: Client, function: Callable[[Any], Any], items: list[Any], on_item: Callable[[Any], None]
) -> list[Any]:
    """Return the function of every item, in order; the function is sent once per worker."""
    results: list[Any] = [None] * len(items)
    with failures_told(client):
        shared = _shared(client, function)
        futures = client.map(_apply, items, function=shared, pure=False, retries=RETRIES)
        place_of = {future.key: place for place, future in enumerate(futures)}
        for key, result in _as_they_finish(client, futures):
            results[place_of[key]] = result
            on_item(result)
    return results


def _shared(client: Client, data: Any) -> Future[Any]:
    """Send data to the scheduler as the result of a task that needs nothing.

    Workers take it from there and from each other, each once. Unlike scattered data it can be made again when the last worker that
    held it is lost, and needs no worker to be there yet.
    """
    return client.submit(_itself, data, pure=False, retries=RETRIES)


def _as_they_finish(client: Client, futures: list[Future[Any]]) -> Iterator[tuple[str, Any]]:
    from distributed import as_completed

    try:
        for future, result in as_completed(futures, loop=client.loop, with_results=True):
            if isinstance(result, BaseException):  # a future that was cancelled, as all are when the scheduler is lost
                raise result
            yield str(future.key), result
            future.release()
    finally:
        with suppress(Exception):  # nothing is left to be cancelled on a scheduler that is gone
            client.cancel(futures)


@contextmanager
def failures_told(client: Client) -> Iterator[None]:
    """Say in one message how a cluster failed, and how to go on."""
    import asyncio
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    where = client.scheduler.address if client.scheduler is not None else "the scheduler"
    try:
        yield
    except (CancelledError, asyncio.CancelledError, CommClosedError) as error:
        raise ClusterFailed(f"the dask scheduler at {where} was lost ({_first_line(error)}). {GO_ON}") from None
    except KilledWorker as error:
        raise ClusterFailed(
            f"{error.allowed_failures + 1} workers ended one after the other under the same block, the last at {error.last_worker.address}: "
            f"perhaps they lack memory ({option('block_units')}, or memory in the profile), their log says more. {GO_ON}"
        ) from None
    except (NoWorkerError, NoValidWorkerError) as error:
        seconds = error.timeout
        raise ClusterFailed(f"{where} had no worker for {seconds:,.0f} s. {GO_ON}") from None


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[-1].strip()


@contextmanager
def _warmed(client: Client, analysis: Analysis, inputs: Arrays, intervals: list[Interval]) -> Iterator[None]:
    """While the block runs, have every worker import this package and compile or load its kernels before its first task."""
    from scorecube.execute.worker_plugin import WarmKernels

    size = sum(array.nbytes for array in inputs.values())
    plugin = WarmKernels(analysis, inputs if size <= WARM_BYTES else None, intervals[0][0])
    client.register_plugin(plugin, name=plugin.name)
    try:
        yield
    finally:
        with suppress(Exception):  # a scheduler that is gone has no plugins
            client.unregister_worker_plugin(plugin.name)


def _itself(data: Any) -> Any:
    return data


def _apply(item: Any, function: Callable[[Any], Any]) -> Any:
    return function(item)

"""From a profile (data in `cluster/*.yaml`) or an address to a client, and back from futures to blocks.

Everything started here listens on loopback only: code that reaches a scheduler's port can run anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from scorecube.analyses.analysis import Analysis, Arrays
from scorecube.errors import BadPlan
from scorecube.execute.estimate import default_workers

if TYPE_CHECKING:
    from distributed import Client

    from scorecube.execute.lower import Interval, OnBlock

KINDS = ("threads", "processes")
CONNECT_SECONDS = 10
RETRIES = 2
"""Attempts after the first for a block whose worker failed; a block is a pure function, so repeating it is safe."""


def read_profile(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a cluster profile.

    Raises
    ------
    BadPlan
        No such file, not YAML, an unknown kind or setting.
    """
    try:
        profile = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadPlan(f"{path}: cannot read the cluster profile: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise BadPlan(f"{path}: the cluster profile is not YAML: {error}") from None
    if not isinstance(profile, Mapping) or profile.get("kind") not in KINDS:
        raise BadPlan(f"{path}: a cluster profile needs kind: {' or '.join(KINDS)}")
    unknown = set(profile) - {"kind", "workers", "memory_limit"}
    if unknown:
        raise BadPlan(
            f"{path}: unknown settings {', '.join(sorted(map(str, unknown)))}; known: kind, workers, memory_limit"
        )
    return dict(profile)


@contextmanager
def open_client(profile: Mapping[str, Any] | None, address: str | None, workers: int) -> Iterator[Client | None]:
    """Yield a distributed client for a profile or a scheduler's address; None stands for local threads."""
    if address is None and (profile is None or profile["kind"] == "threads"):
        yield None
        return
    from distributed import Client, LocalCluster

    if address is not None:
        with _connect(address) as client:
            yield client
        return
    assert profile is not None
    # Workers start by importing the caller's main module; by default the dashboard listens on all interfaces.
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            memory_limit=profile.get("memory_limit", "auto"),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


@contextmanager
def open_chosen(
    cluster: str | os.PathLike[str] | None, scheduler: str | None, workers: int | None
) -> Iterator[tuple[Client | None, int]]:
    """Yield the client that options ask for, and the number of workers; see `open_client`."""
    profile = None if cluster is None else read_profile(cluster)
    count = workers or (profile or {}).get("workers") or default_workers()
    with open_client(profile, scheduler, count) as client:
        yield client, count


def _connect(address: str) -> Client:
    from distributed import Client

    try:
        return Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise BadPlan(
            f"no dask scheduler answers at {address!r} ({error}); give an address such as tcp://127.0.0.1:8786"
        ) from None


def compute_on_client(
    client: Client, analysis: Analysis, inputs: Arrays, intervals: list[Interval], on_block: OnBlock
) -> None:
    """Run blocks on a cluster; arrays are sent once per worker, `on_block` is called as blocks finish."""
    from distributed import as_completed

    from scorecube.execute.lower import lower

    (shared,) = client.scatter([inputs], broadcast=True, hash=False)
    graph = lower(analysis, shared, intervals)
    futures = client.compute(list(graph.values()), retries=RETRIES, optimize_graph=False)
    interval_of = {future.key: interval for future, interval in zip(futures, graph, strict=True)}
    try:
        for future, result in as_completed(futures, loop=client.loop, with_results=True):
            on_block(interval_of[future.key], result)
            future.release()
    finally:
        client.cancel(futures)


def map_on_client(
    client: Client, function: Callable[[Any], Any], items: list[Any], on_item: Callable[[Any], None]
) -> list[Any]:
    """Return the function of every item, in order; the function is sent once per worker."""
    from distributed import as_completed

    (shared,) = client.scatter([function], broadcast=True, hash=False)
    futures = client.map(_apply, items, function=shared, pure=False, retries=RETRIES)
    place_of = {future.key: place for place, future in enumerate(futures)}
    results: list[Any] = [None] * len(items)
    try:
        for future, result in as_completed(futures, loop=client.loop, with_results=True):
            results[place_of[future.key]] = result
            on_item(result)
            future.release()
    finally:
        client.cancel(futures)
    return results


def _apply(item: Any, function: Callable[[Any], Any]) -> Any:
    return function(item)

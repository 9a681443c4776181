"""Which client a call of a program computes on, and what is known of its size."""

from __future__ import annotations

import logging
import math
from types import SimpleNamespace
from typing import Any

import pytest
import xarray as xr
from distributed import Client

import scorecube as sc
from scorecube.execute.executor import default_workers, executor_for, threads_of
from scorecube.testing import simulate_cube

HERE: dict[str, Any] = {
    "processes": False,
    "threads_per_worker": 2,
    "dashboard_address": "127.0.0.1:0",
}


def analysed(seed: int) -> xr.Dataset:
    """Return a result, as a function on a worker does."""
    return sc.analyse(simulate_cube(n_runs=4, seed=seed), sc.Swap(size=20), trials=20)


def test_the_current_client_is_used_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    expected = analysed(1)
    assert executor_for(None, None).client is None
    with Client(n_workers=2, **HERE) as client:
        with caplog.at_level(logging.WARNING, "scorecube"):
            chosen = executor_for(None, None)
            executor_for(None, None)
        assert (chosen.client, chosen.workers) == (client, 4)
        assert sum("current client" in line for line in caplog.messages) == 1
        assert executor_for(None, 3).workers == 3
        assert executor_for(False, None).client is None
        inside = client.submit(analysed, 1).result(timeout=60)  # on a worker, whose own it is not
        xr.testing.assert_identical(inside.drop_attrs(), expected.drop_attrs())
    assert executor_for(None, None).client is None


@pytest.mark.parametrize(
    ("running", "adaptive", "options", "expected"),
    [
        ([2, 2], None, {}, 4),
        ([], None, {"cores": 4}, 0),
        ([2], 10, {}, 20),
        ([], 10, {"nthreads": 3}, 30),
        ([], 10, {"nthreads": None}, 10),
        ([], 100, {"cores": 8, "processes": 2}, 400),
        ([4], math.inf, {}, 4),
    ],
)
def test_the_size_of_a_client_is_asked(
    running: list[int], adaptive: float | None, options: dict[str, int], expected: int
) -> None:
    """Queues and adaptive clusters start empty."""
    workers = {str(k): {"nthreads": threads} for k, threads in enumerate(running)}
    cluster = SimpleNamespace(new_spec={"options": options})
    if adaptive is not None:
        cluster._adaptive = SimpleNamespace(maximum=adaptive)
    client: Any = SimpleNamespace(
        cluster=cluster,
        scheduler=SimpleNamespace(address="tcp://here"),
        scheduler_info=lambda n_workers: {"workers": workers},
    )
    assert threads_of(client) == expected
    assert executor_for(client, None).workers == (expected or default_workers())


@pytest.mark.process
def test_an_adaptive_cluster_tells_its_maximum() -> None:
    with Client(n_workers=0, **HERE) as client:
        client.cluster.adapt(minimum=0, maximum=7)
        assert threads_of(client) == 14

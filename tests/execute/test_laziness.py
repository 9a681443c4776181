"""What is not imported, not started and not reachable from outside."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from scorecube import Swap
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse
from tests.cluster.lab import LOCAL, open_client

if TYPE_CHECKING:
    from distributed import Client

SMALL_WORK = """
import scorecube as sc
from scorecube.testing import simulate_cube
sc.analyse(simulate_cube(n_runs=4), sc.Swap(), trials=100, seed=1, workers={workers})
"""


def modules_after(code: str) -> set[str]:
    """Run code in a process of its own; return the names of all modules it has imported."""
    report = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code + report],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return set(json.loads(done.stdout))


def top_level(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


@pytest.mark.process
def test_the_package_alone_imports_nothing_heavy() -> None:
    heavy = {
        "numpy",
        "pandas",
        "xarray",
        "numba",
        "zarr",
        "dask",
        "distributed",
        "typer",
        "matplotlib",
        "jinja2",
    }
    modules = modules_after("import scorecube")
    assert "scorecube" in modules
    assert not top_level(modules) & heavy


@pytest.mark.process
def test_a_name_of_the_package_is_imported_when_used() -> None:
    modules = modules_after("import scorecube\nassert 'analyse' in dir(scorecube)\nscorecube.Swap")
    assert "scorecube.analyses.swap" in modules
    assert not modules & {"scorecube.workflow.api", "zarr", "distributed", "dask.delayed"}


@pytest.mark.process
@pytest.mark.parametrize("workers", [1, 2])
def test_small_work_builds_no_graph_and_starts_no_cluster(workers: int) -> None:
    modules = modules_after(SMALL_WORK.format(workers=workers))
    # xarray itself imports dask.array, but nothing of ours may go further.
    assert not top_level(modules) & {"distributed", "matplotlib", "typer"}


@pytest.mark.process
def test_work_in_many_blocks_on_threads_needs_no_cluster() -> None:
    code = SMALL_WORK.format(workers="2, block_units=10")
    modules = modules_after(code)
    assert "distributed" not in modules


def test_threads_need_no_client() -> None:
    with open_client(None, None, 2) as from_nothing:
        assert from_nothing is None


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with open_client(LOCAL, None, 2) as opened:
        assert opened is not None
        yield opened


def listeners() -> dict[int, list[str]]:
    """Return the addresses on which this process and those it started listen, by process."""
    found = {}
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        # Helpers of a closing cluster may end while they are looked at.
        with suppress(psutil.NoSuchProcess):
            sockets = process.net_connections(kind="tcp")
            found[process.pid] = [
                each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN
            ]
    return found


@pytest.mark.process
def test_everything_a_cluster_opens_is_on_loopback(client: Client) -> None:
    analyse(simulate_cube(n_runs=4), Swap(), trials=20, seed=1, client=client, block_units=5)
    found = listeners()
    workers = set(client.run(os.getpid).values())
    assert len(workers) == 2
    # The scheduler lives in this process: without its socket and the workers' this test would see nothing.
    assert all(found[pid] for pid in (psutil.Process().pid, *workers))
    open_addresses = {address for addresses in found.values() for address in addresses}
    assert all(ipaddress.ip_address(address).is_loopback for address in open_addresses), (
        open_addresses
    )


@pytest.mark.process
def test_a_cluster_is_gone_after_use() -> None:
    before = listeners()
    with open_client(LOCAL, None, 1) as opened:
        assert opened is not None
        assert listeners() != before
    after = listeners()
    assert sum(map(len, after.values())) == sum(map(len, before.values()))

"""What is not imported, not started and not reachable from outside."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from scorecube import Swap
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse
from tests.cluster.lab import LOCAL, open_client

pytestmark = pytest.mark.process
WORK = """
import scorecube as sc
from scorecube.testing import simulate_cube
sc.analyse(simulate_cube(n_runs=4), sc.Swap(), trials=100, seed=1, workers={})
"""
METHODS = """
import scorecube
from scorecube.methods import index
for name in index.all_names(): index.find(name)
"""
HEAVY = {
    *("numpy", "pandas", "xarray", "numba", "zarr", "dask"),
    *("distributed", "typer", "matplotlib", "jinja2"),
}
COMPUTING = {"distributed", "matplotlib", "typer"}  # xarray itself imports dask.array
COMMAND = {"dask", "distributed", "matplotlib", "scipy.optimize", "scipy.stats", "zarr"}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import scorecube", HEAVY),
        (
            "import scorecube\nassert 'analyse' in dir(scorecube)\nscorecube.Swap",
            {"scorecube.workflow.api", "zarr", "distributed", "dask.delayed"},
        ),
        (WORK.format(1), COMPUTING),
        (WORK.format(2), COMPUTING),
        (WORK.format("2, block_units=10"), {"distributed"}),
        (METHODS, {"scipy.special", "scipy.stats", "scipy.sparse", "distributed"}),
    ],
    ids=["package", "name", "small", "threads", "blocks", "methods"],
)
def test_nothing_heavy_is_imported_before_it_is_used(code: str, absent: set[str]) -> None:
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    modules = json.loads(done.stdout)
    assert "scorecube" in modules
    assert not absent.intersection(modules)


def test_commands_import_what_they_compute_with(
    study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = (
        "from scorecube.cli import main\ntry: main()\nfinally: import sys; print(*sys.modules)"
    )
    unused = (COMMAND, {"numba", "scipy", *COMMAND}, {"pandas", "xarray", "numba", *COMMAND})
    words = ["swap", str(study), "--seed", "7"]
    for absent, words_of in zip(unused, (words, words, ["info", str(study)]), strict=True):
        subprocess.run([sys.executable, "-c", program, *words_of], timeout=120, check=True)
        modules = set(capfd.readouterr().out.split())
        assert "scorecube.cli" in modules
        assert not absent & modules


def listeners() -> dict[int, list[str]]:
    """Return the addresses on which this process and those it started listen, by process."""
    addresses = {}
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        # Helpers of a closing cluster may end while they are looked at.
        with suppress(psutil.NoSuchProcess):
            sockets = process.net_connections(kind="tcp")
            listening = [one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN]
            addresses[process.pid] = listening
    return addresses


def test_everything_a_cluster_opens_is_on_loopback_and_gone_after_use() -> None:
    before = listeners()
    with open_client(LOCAL, None, 2) as client:
        assert client is not None
        analyse(simulate_cube(n_runs=4), Swap(), trials=20, seed=1, client=client, block_units=5)
        found = listeners()
        workers = set(client.run(os.getpid).values())
    assert len(workers) == 2
    # The scheduler lives in this process: without its socket and the workers' this test would see nothing.
    assert all(found[pid] for pid in (psutil.Process().pid, *workers))
    addresses = {address for of_process in found.values() for address in of_process}
    assert all(ipaddress.ip_address(address).is_loopback for address in addresses), addresses
    after = listeners()
    assert sum(map(len, after.values())) == sum(map(len, before.values()))

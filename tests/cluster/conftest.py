"""A study whose swap analysis lasts long enough for faults to fall into it, its result on one core, and why tests are skipped."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
import xarray as xr

from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, open_study
from tests.cluster.lab import BLOCK, SEED, SWAP, TRIALS, Study


@pytest.fixture(scope="session")
def cube() -> xr.Dataset:
    return simulate_cube(metrics=("AP", "RR", "nDCG@10", "Q", "nERR@10", "P+"), n_runs=90, seed=5)


@pytest.fixture(scope="session")
def expected(cube: xr.Dataset) -> xr.Dataset:
    """The result on one core."""
    return analyse(cube, SWAP, trials=TRIALS, seed=SEED, workers=1, block_units=BLOCK)


@pytest.fixture
def study(cube: xr.Dataset, tmp_path: Path) -> Study:
    """A study with the cube and no result."""
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add("demo", cube=cube)
    return Study(path)


def needs(*programs: str) -> None:
    """Skip where something that the real thing needs is missing, and say what."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can start daemons and make namespaces")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if missing := [program for program in programs if shutil.which(program, path=path) is None]:
        pytest.skip(
            f"no {', '.join(missing)} on this machine (see .ci/run for the Debian packages)"
        )


@pytest.fixture(scope="session")
def slurm_tools() -> None:
    needs("slurmctld", "slurmd", "munged", "sbatch", "scancel", "squeue")
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        pytest.skip("this machine's name has no address, which slurmd needs")

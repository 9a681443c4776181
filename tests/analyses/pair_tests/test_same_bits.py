"""Counts, p-values and limits of tests of pairs and leaderboards: the same bits on any cut into blocks, and with any kernels of OpenBLAS."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc

TESTS = (sc.Bootstrap(), sc.Randomisation(), sc.Tukey(), sc.MaxT(), sc.Unpaired(), sc.Leaderboard())
SCRIPT = "from tests.analyses.pair_tests.test_same_bits import print_digests; print_digests()"


def odd_cube() -> xr.Dataset:
    """Return scores that have to be rounded, of enough topics and runs for several tiles."""
    scores = np.random.default_rng(3).beta(1, 2, (2, 14, 61))
    runs, topics = [f"r{k:02d}" for k in range(14)], [f"t{k:02d}" for k in range(61)]
    frames = {name: pd.DataFrame(table, runs, topics) for name, table in zip(("AP", "Q"), scores, strict=True)}  # fmt: skip
    return sc.cube_from_scores(frames)


def digest(result: xr.Dataset) -> str:
    """Return the digest of all that is counted or follows from sums of integers."""
    found = hashlib.sha256()
    for name in ("reached", "p_value", "estimated_difference", "critical_difference", "rank_low", "rank_high", "p_baseline"):  # fmt: skip
        if name in result:
            found.update(name.encode() + result[name].values.tobytes())
    return found.hexdigest()


def print_digests() -> None:
    """Print the digest of each analysis; for a process of its own."""
    for test in TESTS:
        print(test.name, digest(sc.analyse(odd_cube(), test, trials=700, seed=2, workers=1)))


@pytest.mark.parametrize("block_units", [1, 7, 64])
@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_blocks_are_free_choices(test: Any, block_units: int) -> None:
    cube = odd_cube()
    expected = sc.analyse(cube, test, trials=90, seed=2, workers=1)
    found = sc.analyse(cube, test, trials=90, seed=2, workers=2, block_units=block_units)
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())


def core_types() -> list[str]:
    """Return kernels of OpenBLAS that this processor can run."""
    info = Path("/proc/cpuinfo")
    flags = info.read_text() if info.exists() else ""
    needed = {"Nehalem": "sse4_2", "Sandybridge": "avx", "Haswell": "avx2", "SkylakeX": "avx512f"}
    return [name for name, flag in needed.items() if flag in flags]


@pytest.mark.process
def test_kernels_of_openblas_are_free_choices() -> None:
    found = set()
    for name in core_types():
        environment = {**os.environ, "OPENBLAS_CORETYPE": name}
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) <= 1

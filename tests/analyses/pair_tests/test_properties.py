"""Tests of pairs of runs and leaderboards: one result, to the bit, whatever the blocks, tiles, executors, company and kernels of OpenBLAS."""

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

from scorecube import Bootstrap, Leaderboard, MaxT, Paired, Randomisation, Tukey
from scorecube.methods.pairs import bootstrap
from scorecube.methods.pairs import tests as single_tests
from scorecube.workflow.api import analyse, cube_from_scores
from tests.attributes import without_attrs

TESTS: tuple[Any, ...] = (
    *(Bootstrap(alphas=(0.3, 0.01)), Randomisation(), Tukey(), MaxT(), Leaderboard()),
    Paired(tests=("t", "sign", "unpaired")),
)

SCRIPT = "from tests.analyses.pair_tests.test_properties import print_digests; print_digests()"


def assert_same(result: xr.Dataset, expected: xr.Dataset) -> None:
    """Compare everything but the provenance, bit for bit."""
    xr.testing.assert_identical(without_attrs(result), without_attrs(expected))
    for name, array in expected.drop_vars("groups", errors="ignore").data_vars.items():
        assert result[name].values.tobytes() == array.values.tobytes(), name


@pytest.mark.parametrize("tile", [1, 8, 9, 31])
@pytest.mark.parametrize("test", [Bootstrap(alphas=(0.05, 0.4)), Randomisation()])
def test_tiles_of_pairs_are_free_choices(monkeypatch: Any, test: Any, tile: int) -> None:
    expected = analyse(odd_cube(), test, trials=200, seed=1, workers=1)
    for module in (bootstrap, single_tests):
        monkeypatch.setattr(module, "TILE", tile)
    assert_same(analyse(odd_cube(), test, trials=200, seed=1, workers=1), expected)


def odd_cube() -> xr.Dataset:
    """Return scores that have to be rounded, of enough topics and runs for several tiles."""
    scores = np.random.default_rng(3).beta(1, 2, (2, 14, 61))
    scores[:, 3] = scores[:, 4]
    runs, topics = [f"r{k:02d}" for k in range(14)], [f"t{k:02d}" for k in range(61)]
    frames = {name: pd.DataFrame(table, runs, topics) for name, table in zip(("AP", "Q"), scores, strict=True)}  # fmt: skip
    return cube_from_scores(frames)


def digest(result: xr.Dataset) -> str:
    """Return the digest of all that is counted or follows from sums of integers."""
    found = hashlib.sha256()
    for name in ("reached", "p_value", "estimated_difference", "difference_low", "rank_low", "rank_high", "p_baseline"):  # fmt: skip
        if name in result:
            found.update(name.encode() + result[name].values.tobytes())
    return found.hexdigest()


def print_digests() -> None:
    """Print the digest of each analysis; for a process of its own."""
    for test in TESTS[:6]:
        print(test.name, digest(analyse(odd_cube(), test, trials=700, seed=2, workers=1)))


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

"""Tests of pairs of runs and leaderboards: one result, to the bit, whatever the blocks, tiles, executors, company and kernels of OpenBLAS."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube import Bootstrap, Leaderboard, MaxT, Paired, Randomisation, Tukey
from scorecube.analyses import resampling
from scorecube.analyses.plan import make_plan
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores, select
from tests.cluster.lab import LOCAL, open_client
from tests.oracles.agreement import FAMILIES
from tests.oracles.paired_tests import run_positions

if TYPE_CHECKING:
    from distributed import Client

TRIALS = 120
TESTS: tuple[Any, ...] = (
    *(Bootstrap(alphas=(0.3, 0.01)), Randomisation(), Tukey(), MaxT(), Leaderboard()),
    Paired(tests=("t", "sign", "unpaired")),
)
EVERY_TEST = pytest.mark.parametrize(
    "test", TESTS, ids=lambda test: f"{test.name}{TESTS.index(test)}"
)
SCRIPT = "from tests.analyses.pair_tests.test_properties import print_digests; print_digests()"
BY_PAIR = ("reached", "p_value", "t")


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    made = simulate_cube(
        metrics=("AP", "RR", "nDCG@10"), gains=("3:2:1", "1:1:1", "10:5:1"), n_runs=7, seed=5
    )
    made["score"][:, :, 1] = made["score"][:, :, 0]
    return made


@pytest.fixture(scope="module")
def many_runs() -> xr.Dataset:
    """More pairs than are tested together."""
    return random_cube(np.random.default_rng(1), 70, 9, "tenths")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with open_client(LOCAL, None, 2) as opened:
        assert opened is not None
        yield opened


def random_cube(chance: np.random.Generator, n_runs: int, n_topics: int, kind: str) -> xr.Dataset:
    """Return scores of a kind; labels sort in the order of the rows."""
    shape = (n_runs, n_topics)
    if kind in FAMILIES:
        scores = chance.choice([float(value) for value in FAMILIES[kind]], shape)
    elif kind == "doubles":
        scores = chance.normal(size=shape)
    elif kind == "sizes":
        scores = chance.uniform(size=shape) * 10.0 ** chance.integers(-6, 7, shape)
    elif kind == "nearly equal":
        # Differences of single units.
        scores = 0.5 + chance.integers(0, 3, shape) / 10**6
    elif kind == "mostly zero":
        scores = np.where(chance.random(shape) < 0.97, 0.0, chance.integers(1, 10, shape) / 10)
    elif kind == "equal runs":
        scores = chance.choice(chance.uniform(size=(3, n_topics)).round(4), n_runs)
    else:
        assert kind == "one odd topic"
        scores = np.full(shape, 1 / 3)
        scores[:, 0] = chance.integers(0, 4, n_runs) / 3
    labels = [f"r{k:03d}" for k in range(n_runs)], [f"t{k:04d}" for k in range(n_topics)]
    return cube_from_scores({"m": pd.DataFrame(scores, *labels)})


KINDS = (
    *sorted(FAMILIES),
    "doubles",
    "sizes",
    "nearly equal",
    "mostly zero",
    "equal runs",
    "one odd topic",
)


def assert_same(result: xr.Dataset, expected: xr.Dataset) -> None:
    """Compare everything but the provenance, bit for bit."""
    xr.testing.assert_identical(result.drop_attrs(), expected.drop_attrs())
    for name, array in expected.drop_vars("groups", errors="ignore").data_vars.items():
        assert result[name].values.tobytes() == array.values.tobytes(), name


@EVERY_TEST
@settings(max_examples=8)
@given(block_units=st.integers(1, 130), workers=st.integers(1, 3))
def test_blocks_and_threads_are_free_choices(
    cube: xr.Dataset, test: Any, block_units: int, workers: int
) -> None:
    expected = analyse(cube, test, trials=TRIALS, seed=9, workers=1, block_units=10_000)
    result = analyse(cube, test, trials=TRIALS, seed=9, workers=workers, block_units=block_units)
    assert_same(result, expected)
    assert result.attrs["digest"] == expected.attrs["digest"]


@pytest.mark.process
@EVERY_TEST
def test_a_cluster_gives_the_same(client: Client, cube: xr.Dataset, test: Any) -> None:
    expected = analyse(cube, test, trials=TRIALS, seed=9, workers=1)
    assert_same(analyse(cube, test, trials=TRIALS, seed=9, client=client, block_units=8), expected)


@pytest.mark.parametrize("block_units", [1, 63, 1000, 2414, 2415])
@pytest.mark.parametrize("test", [Bootstrap(), Randomisation()], ids=lambda test: test.name)
def test_pairs_do_not_depend_on_other_runs(
    many_runs: xr.Dataset, test: Any, block_units: int
) -> None:
    trials = 3 if block_units == 1 else 40
    result = analyse(many_runs, test, trials=trials, seed=2, workers=2, block_units=block_units)
    assert_same(result, analyse(many_runs, test, trials=trials, seed=2, workers=1))
    few = select(many_runs, runs=["r003", "r064", "r069"])
    alone = analyse(few, test, trials=trials, seed=2, workers=1)
    first, second = run_positions(result)
    for place, pair in enumerate([(3, 64), (3, 69), (64, 69)]):
        (where,) = np.flatnonzero((first == pair[0]) & (second == pair[1]))
        for name in BY_PAIR:
            np.testing.assert_array_equal(
                alone[name].values[..., place], result[name].values[..., where]
            )


@settings(max_examples=40)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32), tile=st.sampled_from([8, 9, 31]))
def test_tiles_of_pairs_are_free_choices(kind: str, seed: int, tile: int) -> None:
    cube = random_cube(np.random.default_rng(seed), 11, 13, kind)
    test = Bootstrap(alphas=(0.05, 0.4))
    expected = analyse(cube, test, trials=200, seed=seed, workers=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "TILE", tile)
        assert_same(analyse(cube, test, trials=200, seed=seed, workers=1), expected)


@pytest.mark.parametrize("test", [Bootstrap(), Randomisation(), Tukey()])
def test_a_shorter_run_is_the_beginning_of_a_longer_one(cube: xr.Dataset, test: Any) -> None:
    longer = test.samples(cube, 3, 10_000)
    for trials in (1, 999, 1000):
        xr.testing.assert_identical(test.samples(cube, 3, trials), longer.isel(trial=slice(trials)))


def test_ranges_of_a_shorter_tukey_run_begin_those_of_a_longer_one(cube: xr.Dataset) -> None:
    table = make_plan(cube, Tukey(), trials=10_000, seed=3).table
    longer = Tukey().block(table, 0, 10_000)["range"].array
    for start in (0, 777):
        part = Tukey().block(table, start, 1000)["range"].array
        np.testing.assert_array_equal(longer[:, start:1000], part)
    assert len(np.unique(longer[0])) > 5000


def odd_cube() -> xr.Dataset:
    """Return scores that have to be rounded, of enough topics and runs for several tiles."""
    scores = np.random.default_rng(3).beta(1, 2, (2, 14, 61))
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

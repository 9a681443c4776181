"""One result, whatever the executor, the blocks, the order of input and the other metrics in the cube."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube import Bootstrap, Randomisation, Swap, Tukey
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores, samples
from tests.attributes import without_attrs
from tests.cluster.lab import LOCAL, open_client

if TYPE_CHECKING:
    from distributed import Client

TRIALS = 60
BLOCK_UNITS = (1, 7, 20, 59)
SWAPS = (
    Swap(),
    Swap(sampling="replacement", rule="s1", confidence=(0.7,)),
    Swap(sampling="independent", size=40),
)
Analyse = Callable[..., xr.Dataset]


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(
        metrics=("AP", "RR", "nDCG@10"), gains=("3:2:1", "1:1:1", "10:5:1"), n_runs=7, seed=5
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with open_client(LOCAL, None, 2) as opened:
        assert opened is not None
        yield opened


@pytest.fixture(params=["inline", "threads", pytest.param("cluster", marks=pytest.mark.process)])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Analyse:
    """Return `analyse` on one executor, with a proof that the blocks are computed where they should."""
    block = Swap.block
    here = threading.get_ident()

    def watched(self: Swap, table: Any, start: int, stop: int) -> Any:
        if start == stop:  # a declaration
            return block(self, table, start, stop)
        assert request.param != "cluster", (
            "a block was computed in this process instead of on the cluster"
        )
        assert (threading.get_ident() == here) == (request.param == "inline"), (
            "a block was computed on another thread"
        )
        return block(self, table, start, stop)

    client = request.getfixturevalue("client") if request.param == "cluster" else None
    workers = 1 if request.param == "inline" else 2

    def run(cube: xr.Dataset, swap: Swap, **how: Any) -> xr.Dataset:
        with monkeypatch.context() as patch:
            patch.setattr(Swap, "block", watched)
            return analyse(cube, swap, client=client, workers=workers, **how)

    return run


def assert_same(result: xr.Dataset, expected: xr.Dataset) -> None:
    """Compare everything but the provenance."""
    xr.testing.assert_identical(without_attrs(result), without_attrs(expected))


def of_themselves(result: xr.Dataset) -> xr.Dataset:
    """Return what is known of metrics without others: no comparison with them, and bins up to their largest difference."""
    behind = ["share_behind", "share_behind_low", "share_behind_high"]
    filled = (result["count"] > 0).any(["metric", "gain", "size"]).values
    return result.drop_vars(behind).isel(bin=slice(int(np.flatnonzero(filled).max()) + 1))


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: str(swap.sampling))
def test_executors_and_blocks_are_free_choices(
    executor: Analyse, cube: xr.Dataset, swap: Swap
) -> None:
    whole: list[int] = []
    expected = analyse(
        cube,
        swap,
        trials=TRIALS,
        seed=9,
        workers=1,
        block_units=TRIALS,
        progress=lambda done, _: whole.append(done),
    )
    cuts = {tuple(whole)}
    for block_units in BLOCK_UNITS:
        done: list[int] = []
        result = executor(
            cube, swap, trials=TRIALS, seed=9, block_units=block_units, progress=lambda now, _, done=done: done.append(now)
        )  # fmt: skip
        lengths = sorted(np.diff(done).tolist(), reverse=True)
        assert lengths == [block_units] * (TRIALS // block_units) + [TRIALS % block_units] * (
            TRIALS % block_units > 0
        )
        cuts.add(tuple(lengths))
        assert_same(result, expected)
        assert result.attrs["digest"] == expected.attrs["digest"]
        assert result.attrs["plan"] == expected.attrs["plan"]
    assert len(cuts) == len(BLOCK_UNITS) + 1


def test_two_runs_at_once_on_threads_do_not_mix(cube: xr.Dataset) -> None:
    def run(seed: int) -> xr.Dataset:
        return analyse(cube, Swap(), trials=200, seed=seed, workers=2, block_units=10)

    expected = {seed: analyse(cube, Swap(), trials=200, seed=seed, workers=1) for seed in (1, 2)}
    seeds = [1, 2] * 10
    with ThreadPoolExecutor(2) as pool:
        for seed, result in zip(seeds, pool.map(run, seeds), strict=True):
            assert_same(result, expected[seed])


@pytest.mark.process
def test_two_runs_at_once_on_one_cluster_do_not_mix(client: Client, cube: xr.Dataset) -> None:
    expected = {seed: analyse(cube, Swap(), trials=TRIALS, seed=seed, workers=1) for seed in (1, 2)}
    inner: list[xr.Dataset] = []

    def start_another(done: int, _: int) -> None:
        if done and not inner:
            inner.append(analyse(cube, Swap(), trials=TRIALS, seed=2, client=client, block_units=7))

    outer = analyse(
        cube, Swap(), trials=TRIALS, seed=1, client=client, block_units=7, progress=start_another
    )
    assert_same(outer, expected[1])
    assert_same(inner[0], expected[2])


@pytest.mark.parametrize("analysis", [*SWAPS, Bootstrap(), Randomisation(), Tukey()], ids=str)
def test_a_shorter_run_is_the_beginning_of_a_longer_one(cube: xr.Dataset, analysis: Any) -> None:
    longer = samples(cube, analysis, trials=300)
    for trials in (1, 99, 300):
        shorter = samples(cube, analysis, trials=trials)
        xr.testing.assert_identical(shorter, longer.isel(trial=slice(trials)))


def test_a_metric_on_another_scale_does_not_touch_the_others() -> None:
    random = np.random.default_rng(3)
    scales = {"share": 1.0, "documents": 1e6, "cost": -250.0}
    frames = {
        metric: pd.DataFrame(scale * random.uniform(size=(5, 9)))
        for metric, scale in scales.items()
    }
    every = analyse(cube_from_scores(frames), Swap(), trials=TRIALS, seed=4, workers=1)
    for metric, frame in frames.items():
        alone = analyse(cube_from_scores({metric: frame}), Swap(), trials=TRIALS, seed=4, workers=1)
        assert_same(of_themselves(alone), of_themselves(every.sel(metric=[metric])))

"""Tables, pictures and chapters of the tests of pairs of runs."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.testing import simulate_cube
from tests.oracles.paired_tests import run_positions

RESAMPLING = ["bootstrap", "randomisation", "tukey"]
EVERY = [*RESAMPLING, "paired"]
METRICS = ("AP", "RR", "nDCG@10")


def made(name: str, n_metrics: int = 3, n_runs: int = 7) -> xr.Dataset:
    labels = [*METRICS, *(f"P@{k}" for k in range(1, 30))][:n_metrics]
    cube = simulate_cube(n_runs=n_runs, seed=2, metrics=tuple(labels), gains=("3:2:1",))
    tests = {"tests": ("t", "wilcoxon", "sign")} if name == "paired" else {}
    found = sc.analyse(cube, registry.load(name)(**tests), trials=90, seed=1)
    return found.assign_attrs(collection="c")


@pytest.fixture(scope="module")
def results() -> dict[str, xr.Dataset]:
    return {name: made(name) for name in EVERY}


@pytest.mark.parametrize("name", RESAMPLING)
def test_power_is_that_of_the_arrays_best_first(results: dict[str, xr.Dataset], name: str) -> None:
    result, table = results[name], sc.table(results[name], "power")
    assert len(table) == 6
    for row in table.to_dict("records"):
        cell = result.sel(metric=row["metric"], gain=row["gain"], alpha=row["alpha"])
        p = cell["p_value"].values
        assert (row["significant"], row["pairs"], row["share"]) == (
            (p < row["alpha"]).sum(),
            21,
            (p < row["alpha"]).mean(),
        )
        assert (row["trials"], row["collection"]) == (90, "c")
        assert ("estimated_difference" in row) == (name == "bootstrap")
        if name == "bootstrap":
            assert row["estimated_difference"] == float(cell["estimated_difference"])
    assert table["alpha"].is_monotonic_decreasing
    assert all(part["share"].is_monotonic_decreasing for _, part in table.groupby("alpha"))


@pytest.mark.parametrize("name", EVERY)
def test_pairs_are_those_of_the_arrays(results: dict[str, xr.Dataset], name: str) -> None:
    result, table = results[name], sc.table(results[name], "pairs")
    runs = result["run"].values
    for (metric, test), part in table.groupby(["metric", "test"]):
        cell = result.sel(metric=metric).isel(gain=0)
        cell = cell.sel(test=test) if name == "paired" else cell
        first, second = run_positions(cell)
        assert part["run_a"].tolist() == runs[first].tolist()
        assert part["run_b"].tolist() == runs[second].tolist()
        mean = cell["mean"].values
        np.testing.assert_allclose(
            part["mean_difference"], mean[first] - mean[second], rtol=0, atol=1e-15
        )
        np.testing.assert_array_equal(part["p_value"], cell["p_value"])

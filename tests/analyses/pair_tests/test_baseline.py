"""One run against all others: the same tests, of p - 1 pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores

KINDS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "bootstrap": (sc.Bootstrap, {}),
    "bootstrap, count / B": (sc.Bootstrap, {"plus_one": False}),
    "randomisation": (sc.Randomisation, {}),
    "paired": (sc.Paired, {"margin": 0.05}),
}
BY_PAIR = ("p_value", "reached", "t", "equivalence_p_value", "difference_low")


def named(cube: xr.Dataset, position: int) -> tuple[xr.Dataset, str]:
    """Return a cube whose last run stands at a position in the order of labels, and that run's name."""
    runs = [f"run{k}" for k in range(cube.sizes["run"])]
    order = [*range(position), cube.sizes["run"] - 1, *range(position, cube.sizes["run"] - 1)]
    frames = {
        str(metric): pd.DataFrame(
            cube["score"].sel(metric=metric).isel(gain=0).values[order],
            index=runs,
            columns=cube["topic"].values,
        )
        for metric in cube["metric"].values
    }
    return cube_from_scores(frames), runs[position]


@pytest.mark.parametrize("position", [0, 3, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_baseline_tests_the_pairs_of_the_last_run(kind: str, position: int) -> None:
    """The pairs with the last label are (other, last) without a baseline, so signs agree, too."""
    make, options = KINDS[kind]
    cube = simulate_cube(n_runs=7, seed=8)
    last, _ = named(cube, 6)
    expected = analyse(last, make(**options), trials=60, seed=3)
    expected = expected.isel(pair=expected["run_b"].values == "run6")
    moved, baseline = named(cube, position)
    found = analyse(moved, make(baseline=baseline, **options), trials=60, seed=3)
    assert found.sizes["pair"] == 6
    assert set(found["run_b"].values) == {baseline}
    assert found["run_a"].values.tolist() == [f"run{k}" for k in range(7) if k != position]
    compared = [name for name in BY_PAIR if name in expected]
    assert compared
    for name in compared:
        np.testing.assert_array_equal(found[name].values, expected[name].values, name)
    assert found["significant"].values.tolist() == (
        (expected["p_value"].values[..., np.newaxis, :] < found["alpha"].values[:, np.newaxis])
        .sum(axis=-1)
        .tolist()
    )
    np.testing.assert_allclose(found["share"].values, found["significant"].values / 6)


@pytest.mark.parametrize("kind", ["bootstrap", "randomisation", "paired", "maxt"])
def test_an_unknown_baseline_is_refused_with_the_nearest_names(kind: str) -> None:
    from scorecube.analyses.registry import load

    cube = simulate_cube(n_runs=4, seed=1)
    cube = cube.assign_coords(run=["alpha", "beta", "gamma", "delta"]).sortby("run")
    with pytest.raises(sc.ScorecubeError, match=r"no run 'gama' in the scores; nearest: gamma"):
        make_plan(cube, load(kind)(baseline="gama"), trials=10, seed=1)  # type: ignore[call-arg]


def test_two_runs_make_one_pair_in_either_order() -> None:
    cube = simulate_cube(n_runs=2, seed=1)
    first, second = cube["run"].values.tolist()
    for baseline, other in ((first, second), (second, first)):
        table = sc.table(analyse(cube, sc.Paired(baseline=baseline)), "pairs")
        assert set(table["run_a"]) == {other}
        means = cube["score"].mean("topic").isel(gain=0)
        expected = float((means.sel(run=other) - means.sel(run=baseline))[0])
        assert table["mean_difference"].iloc[0] == pytest.approx(expected, abs=1e-12)

"""The accessor of datasets: analyses as methods, results by labels, and that importing scorecube stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest
import xarray as xr
from matplotlib.figure import Figure

import scorecube as sc
from scorecube.analyses import registry
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube

STARTS = """
import sys
import scorecube as sc
assert not {"xarray", "numpy", "pandas", "scorecube.workflow"} & set(sys.modules)
import xarray as xr
assert not hasattr(xr.Dataset(), "scorecube")
sc.select
assert callable(xr.Dataset().scorecube.swap)
"""
AFTER = """
import xarray as xr
import scorecube
assert callable(xr.Dataset().scorecube.swap)
import sys
assert "scorecube.workflow.api" not in sys.modules
"""


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    assert callable(sc.select)  # a name of scorecube is used
    return simulate_cube(n_runs=5, seed=4, metrics=("AP", "RR"))


@pytest.mark.process
@pytest.mark.parametrize("program", [STARTS, AFTER])
def test_it_is_registered_once_xarray_and_a_name_are_there(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_analysis_is_a_method(cube: xr.Dataset) -> None:
    accessor = cube.scorecube
    assert set(registry.names()) <= set(dir(accessor))
    for entry in registry.entries():
        assert getattr(accessor, entry.name).__doc__ == entry.summary


def test_a_method_is_the_analysis(cube: xr.Dataset) -> None:
    expected = sc.analyse(cube, sc.Swap(size=20), trials=30, seed=1)
    assert cube.scorecube.swap(size=20, trials=30, seed=1).equals(expected)
    assert expected.scorecube.table().equals(sc.table(expected))
    assert isinstance(expected.scorecube.figure(), Figure)


def test_unknown_words_are_refused_with_similar_ones(cube: xr.Dataset) -> None:
    with pytest.raises(BadPlan, match=r"swap has no argument 'siz'\. Did you mean 'size'"):
        cube.scorecube.swap(siz=20)
    with pytest.raises(AttributeError, match=r"the accessor has no 'swop'\. Did you mean 'swap'"):
        _ = cube.scorecube.swop
    with pytest.raises(BadPlan, match="no pairs of runs"):
        cube.scorecube.by_pair()


def test_pairs_are_selected_by_labels(cube: xr.Dataset) -> None:
    result = cube.scorecube.bootstrap(trials=30, seed=1)
    first, second = (str(result[name][3].item()) for name in ("run_a", "run_b"))
    found = result.scorecube.by_pair().sel(run_a=first, run_b=second, metric="AP")
    assert found["p_value"].item() == result["p_value"].sel(metric="AP").isel(pair=3).item()
    compared = cube.scorecube.correlate().scorecube.by_pair()
    assert float(compared["tau"].sel(metric_a="AP", metric_b="RR").item()) <= 1

"""The accessor of datasets: analyses as methods, and that importing scorecube stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import scorecube as sc
from scorecube.methods import index
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


@pytest.mark.process
@pytest.mark.parametrize("program", [STARTS, AFTER])
def test_it_is_registered_once_xarray_and_a_name_are_there(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_method_is_the_analysis() -> None:
    cube = simulate_cube(n_runs=5, seed=4, metrics=("AP", "RR"))
    assert dir(cube.scorecube) == sorted(index.names())
    expected = sc.analyse(cube, sc.Swap(size=20), trials=30, seed=1)
    assert cube.scorecube.swap(size=20, trials=30, seed=1).equals(expected)
    with pytest.raises(TypeError, match="siz"):
        cube.scorecube.swap(siz=20)
    with pytest.raises(sc.ScorecubeError, match="size"):
        cube.scorecube.swap(siz=20)
    assert "swap" in str(cube.scorecube)
    with pytest.raises(AttributeError, match="swop"):
        _ = cube.scorecube.swop


def test_what_is_printed_says_what_it_is(tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "study", mode="a")
    study.add("one", cube=simulate_cube(n_runs=3))
    assert repr(study["one"]) == f"{study.path}: one"
    result = sc.analyse(study["one"].cube, sc.Stability(), trials=10, seed=1)
    assert next(iter(result.attrs)) == "analysis"
    assert "stability" in str(result.scorecube)

"""What commands import, and what they say while kernels are compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scorecube.analyses import registry
from tests.conftest import Cli

HEAVY = {
    "numpy.f2py.crackfortran", "numpy.testing._private.utils", "dask", "distributed", "matplotlib", "numba", "numba.np.linalg", "numba.cpython.cmathimpl", "numpy", "pandas", "rich", "scipy",
    "scipy.linalg", "scipy.optimize", "scipy.special", "scipy.stats", "scorecube.execute.graph", "scorecube.workflow.inputs", "xarray",
    "yaml", "zarr",
}  # fmt: skip
"""Two libraries of numba stand for all that only its compiler needs, and `inputs` for all readers of files."""
READING = {"numpy", "pandas", "xarray"}
COMPUTING = READING | {"numba", "rich", "scipy", "scipy.special", "yaml"}
"""numba reads its settings with yaml, and asks for the version of scipy."""
COMPILING = COMPUTING | {"numba.np.linalg", "numba.cpython.cmathimpl", "scipy.linalg"}
LISTED = """
import sys
from scorecube.cli.program import main
try:
    main()
finally:
    print("LOADED", *sys.modules, file=sys.stderr)
"""


def loaded(*words: object) -> set[str]:
    command = [sys.executable, "-c", LISTED, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return HEAVY & set(done.stderr.rpartition("LOADED ")[2].split())


@pytest.mark.process
@pytest.mark.parametrize("name", registry.names())
def test_the_help_of_an_analysis_needs_numpy_only(name: str) -> None:
    # A stand-in for xarray, as pandas is not there; scipy without its parts.
    assert loaded(name, "--help") <= {"numpy", "xarray", "scipy"}


def test_postponed_xarray_is_the_real_one_once_it_is_used() -> None:
    program = """
import sys
from scorecube.cli.light_imports import import_xarray, postpone_xarray
postpone_xarray()
import xarray as xr
assert "pandas" not in sys.modules
import_xarray()
import xarray
assert xr.Dataset is xarray.Dataset and xr is not xarray
assert "pandas" in sys.modules and "dask" not in sys.modules
postpone_xarray()
assert sys.modules["xarray"] is xarray
from xarray.core.variable import Variable
assert Variable is xr.Variable
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_postponed_parts_of_numpy_are_the_real_ones_once_they_are_used() -> None:
    program = """
import sys
from scorecube.cli.light_imports import import_xarray
import_xarray()
import numpy as np
from numpy import *
import scipy.special
assert "numpy.f2py.crackfortran" not in sys.modules and "numpy.testing._private.utils" not in sys.modules
import numpy.f2py
from numpy.testing import assert_equal
assert numpy.f2py.run_main.__module__ == "numpy.f2py.f2py2e" and np.testing.assert_equal is assert_equal
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.process
def test_reading_needs_neither_compiler_nor_dask(study: Path, scorecube: Cli) -> None:
    scorecube("swap", study, "--size", 3, "--trials", 20, "--seed", 1).succeeded()
    assert loaded("info", study) == set()
    assert loaded("show", study, "swap") <= READING


@pytest.mark.process
@pytest.mark.parametrize("name", ["swap", "bootstrap", "correlate", "tukey"])
def test_a_short_analysis_needs_no_compiler_and_no_scheduler(
    study: Path, scorecube: Cli, name: str
) -> None:
    options = ["--size", 3] if name == "swap" else []
    scorecube(name, study, *options, "--trials", 20, "--seed", 1).succeeded()
    assert loaded(name, study, *options, "--trials", 20, "--seed", 2) <= COMPUTING


@pytest.mark.process
def test_compilation_is_announced_once_and_then_the_result_is_repeated(
    study: Path, scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    command = [sys.executable, "-c", LISTED, "swap", str(study), "--size", "3", "--trials", "20"]

    def run(*options: str) -> tuple[str, set[str]]:
        done = subprocess.run(
            [*command, "--verbose", *options], capture_output=True, text=True, check=True
        )
        shown, _, names = done.stderr.rpartition("LOADED ")
        return shown, HEAVY & set(names.split())

    (first, compiling), (second, computing), (again, _) = (
        run("--seed", seed) for seed in ("8", "9", "9")
    )
    # Otherwise the names would stand for nothing that the compiler needs.
    assert COMPILING - COMPUTING <= compiling <= COMPILING
    assert computing <= COMPUTING
    assert first.count("compiling swap kernels for this processor (first use, about") == 1
    assert "after compiling for about" in first
    assert first.index("after compiling") < first.index("compiling swap kernels for")
    assert "compiling" not in second
    headline = second.strip().splitlines()[-1]
    assert "nothing to do" in again
    assert again.strip().splitlines()[-1] == headline

"""What commands import, and what they say while kernels are compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scorecube.analyses import registry
from tests.conftest import Cli

HEAVY = {
    "dask", "distributed", "matplotlib", "numba", "numpy", "pandas", "rich", "scipy", "scipy.special", "scipy.stats", "xarray", "yaml",
    "zarr",
}  # fmt: skip
READING = {"numpy", "pandas", "xarray", "yaml", "zarr"}
"""zarr reads its settings with yaml."""
COMPUTING = READING | {"numba", "scipy", "scipy.special", "rich"}
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
from scorecube.cli.light_xarray import import_xarray, postpone_xarray
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


@pytest.mark.process
def test_reading_needs_neither_compiler_nor_dask(study: Path, scorecube: Cli) -> None:
    scorecube("swap", study, "--size", 3, "--trials", 20, "--seed", 1).succeeded()
    assert loaded("info", study) == set()
    assert loaded("show", study, "swap") <= READING


@pytest.mark.process
def test_a_short_analysis_needs_no_statistics_and_no_pictures(study: Path, scorecube: Cli) -> None:
    scorecube("swap", study, "--size", 3, "--trials", 20, "--seed", 1).succeeded()
    assert loaded("swap", study, "--size", 3, "--trials", 20, "--seed", 2) <= COMPUTING


@pytest.mark.process
def test_compilation_is_announced_once_and_then_the_result_is_repeated(
    study: Path, scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    command = [
        sys.executable,
        "-m",
        "scorecube",
        "swap",
        str(study),
        "--size",
        "3",
        "--trials",
        "20",
    ]

    def run(*options: str) -> str:
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
        return done.stderr

    first, second, again = (run("--seed", seed) for seed in ("1", "2", "2"))
    assert first.count("compiling swap kernels for this processor (first use, about") == 1
    assert "after compiling for about" in first
    assert first.index("after compiling") < first.index("compiling swap kernels for")
    assert "compiling" not in second
    headline = second.strip().splitlines()[-1]
    assert "nothing to do" in again
    assert again.strip().splitlines()[-1] == headline

"""Notebooks run from top to bottom; they are kept as plain Python in percent form."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_and_ends_with_a_result(path: Path) -> None:
    names = runpy.run_path(str(path))
    assert names["figure"].axes

"""Notebooks run from top to bottom and print what their stored outputs show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import notebooks

FILES = {path.stem: path for path in notebooks.SOURCES}
PROCESSES = ("sweep_on_a_cluster",)
"""What starts processes."""


def stored(path: Path) -> dict[str, Any]:
    """Return the notebook of a text."""
    made: dict[str, Any] = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    return made


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.process] * (name in PROCESSES), id=name)
        for name in FILES
    ],
)
def test_prints_what_is_stored(data: Path, tmp_path: Path, name: str) -> None:
    pytest.importorskip("IPython")
    cells, _ = notebooks.execute(FILES[name], tmp_path)
    kept = notebooks.shown(stored(FILES[name])["cells"])
    for found, shown in zip(notebooks.shown(cells), kept, strict=True):
        assert found == shown


@pytest.mark.parametrize("name", FILES)
def test_text_and_notebook_are_in_step(name: str) -> None:
    path = FILES[name]
    assert path.read_text(encoding="utf-8").startswith("# ---\n# jupyter:\n")
    cells, kept = notebooks.read_source(path), stored(path)
    for cell, made in zip(cells, kept["cells"], strict=True):
        assert {key: made[key] for key in ("id", "cell_type", "source")} == {
            key: cell[key] for key in ("id", "cell_type", "source")
        }, "python -m tests.notebooks renews it"
    code = [each for each in kept["cells"] if each["cell_type"] == "code"]
    assert [each["execution_count"] for each in code] == list(range(1, len(code) + 1))
    assert kept["cells"][0]["source"][0].startswith("# ")

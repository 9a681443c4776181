"""Notebooks run from top to bottom and find what their text says; they are kept as plain Python in percent form."""

from __future__ import annotations

import re
import runpy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.py"))
ONE, ALL = ["O", "RR"], ["AP", "Q"]
"""Metrics that look for one relevant document, and for all."""
Names = dict[str, Any]


def cube_from_runs(names: Names) -> None:
    assert (names["stored"]["score"] == names["cube"]["score"]).all()
    assert names["means"]["AP"].idxmax() == "run0"
    names["stored"].close()


def swap_method(names: Names) -> None:
    rates, table = names["rates"].loc[0.05:0.15], names["sensitivity"](names["disjoint"])
    assert rates[ALL].max(axis=1).lt(rates[ONE].min(axis=1)).all()
    assert table["(iv)"].notna().to_dict() == {"AP": True, "Q": True, "O": False, "RR": False}
    other = names["sensitivity"](names["replacement"])
    assert (other.loc[ALL, "(i)"] - table.loc[ALL, "(i)"]).abs().max() <= 0.025
    overlap = names["sc"].table(names["replacement"], "overlap").iloc[0]
    assert (overlap["unique"], overlap["common"]) == (
        pytest.approx(16.1, abs=0.1),
        pytest.approx(6.2, abs=0.15),
    )


def discriminative_power(names: Names) -> None:
    both = names["both"]
    assert (both["Tukey"] < both["bootstrap"]).all()
    assert (
        both.loc[[*ALL, "nDCG@10"], "bootstrap"].min() > both.loc[[*ONE, "P+"], "bootstrap"].max()
    )


def correlation_and_gains(names: Names) -> None:
    matrix = names["matrix"]
    across = matrix.loc[["RR", "NWRR", "O", "P+"], ALL].max().max()
    assert matrix.loc[["RR", "NWRR", "O"], ["NWRR", "O", "P+"]].min().min() > across
    assert matrix.loc["Q", "AP"] > across


def teams_and_topic_set_size(names: Names) -> None:
    sizes = names["sizes"]
    assert (sizes.idxmax() == "nDCG@1").all()
    assert (sizes[30] / sizes[60] - 1).abs().max() < 0.1
    assert (sizes[15] / sizes[60] - 1).abs().nlargest(2).index.sort_values().tolist() == [
        "Q@10",
        "nDCG@10",
    ]


def sweep_on_a_cluster(names: Names) -> None:
    required = names["required"]
    assert required.shape == (4, 4)
    # Were the plans of the second sweep others than those of the first, there would be more results.
    stored = names["sc"].open_study(names["folder"] / "results.zarr")
    assert [stored[name].contents()["results"] for name in stored] == [
        {"bootstrap": 1, "swap": 2}
    ] * 4
    assert required.loc[ALL].notna().all().all()
    assert required.loc[["P+", "RR"]].min().min() > required.loc[ALL].max().max()


FOUND: dict[str, Callable[[Names], None]] = {
    "01_cube_from_runs": cube_from_runs,
    "02_swap_method": swap_method,
    "03_discriminative_power": discriminative_power,
    "04_correlation_and_gains": correlation_and_gains,
    "05_teams_and_topic_set_size": teams_and_topic_set_size,
    "06_sweep_on_a_cluster": sweep_on_a_cluster,
}
"""Notebook -> checks of what its text says."""


PROCESSES = ("06_sweep_on_a_cluster",)
"""What starts processes."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.process] * (path.stem in PROCESSES), id=path.stem)
        for path in NOTEBOOKS
    ],
)
def test_runs_and_finds_what_it_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = runpy.run_path(str(path))
    FOUND[path.stem](names)
    assert names["figure"].axes


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_a_notebook_with_a_title(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ---\n# jupyter:\n")
    first, *cells = re.split(r"^# %%", text, flags=re.MULTILINE)[1:]
    assert first.startswith(" [markdown]\n# # ")
    assert sum(not cell.startswith(" [markdown]") for cell in cells) >= 4

"""Notebooks run from top to bottom, print what their stored outputs show, and find what their text says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import notebooks

Names = dict[str, Any]
FILES = {path.stem: path for path in notebooks.SOURCES}


def better(names: Names) -> None:
    model, single = names["model"], names["single"].set_index("test")
    assert set(single["run_a"]) == {model}
    assert set(single["run_b"]) == {names["baseline"]}
    assert single.loc["t", "p_value"] < 0.05 < names["better"].loc[model, "p_value"]
    assert names["scores"].mean(axis="columns").idxmax() == model
    assert names["difference"].std() > names["difference"].mean()


def pyterrier(names: Names) -> None:
    assert names["cube"]["metric"].values.tolist() == ["AP", "nDCG@20", "P@10"]
    caption, rows = names["latex"].split(r"\midrule")
    assert (rows.count(r"\textbf{"), rows.count(r"\dag")) == (3, 4)
    assert caption.count(r"\dag") == 1
    others = names["table"].drop(names["baseline"])
    assert (others["p_baseline"] > 0.05).all()
    assert (others["difference_high"] > 0.06).sum() > len(others) / 2


def sweep(names: Names) -> None:
    assert len(list(names["study"])) == 20
    assert all(each == {"tukey": 1, "swap": 1} for each in names["results"].values())
    assert names["again"].startswith("0 new results, 40 stored before")
    gain = names["gain"]
    assert (gain.min() < 0).all()
    assert (gain.max() > 0).all()
    assert gain.mean().abs().max() < 0.05


def board(names: Names) -> None:
    table, by_rank = names["table"], names["by_rank"]
    assert names["by_mean"] == int(names["ranked"]["separated_neighbours"].sum()) == 0
    assert 0.6 < names["may_lead"] / len(table) < 0.7
    assert (table["rank_low"] > 1).any()
    assert table.index[0] != by_rank["rank"].idxmin()
    assert set(names["verdict"]["verdict"].values.ravel().tolist()) == {"fail", "no verdict"}


def judge(names: Names) -> None:
    agreement, labels = names["agreement"], names["labels"]
    assert agreement["tau"].idxmax() == "careful"
    assert labels["kappa"].idxmax() == "fond"
    bias = names["runs"].query("judge == 'fond'").groupby("team")["bias"].mean()
    assert bias.idxmax() == "team04"
    assert names["corrected"]["mean"].notna().all()
    assert len(names["real"]["nist"]["run"]) == 36


def which_metric(names: Names) -> None:
    assert names["sensitivity"]["share"].idxmax() == "AP"
    topics = names["topics"]
    assert (topics[0.05] / topics[0.1]).between(3.8, 4.1).all()
    assert names["needed"]["n_topics"].idxmin() == "AP"


FOUND: dict[str, Callable[[Names], None]] = {
    "better_than_the_baseline": better,
    "from_pyterrier_to_the_table": pyterrier,
    "how_sure_is_a_board": board,
    "sweep_on_a_cluster": sweep,
    "trust_an_llm_judge": judge,
    "which_metric_how_many_topics": which_metric,
}
"""Notebook -> checks of what its text says."""
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
        for name in FOUND
    ],
)
def test_prints_what_is_stored_and_finds_what_it_says(
    data: Path, tmp_path: Path, name: str
) -> None:
    pytest.importorskip("IPython")
    cells, names = notebooks.execute(FILES[name], tmp_path)
    FOUND[name](names)
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

"""The small tables that terminals show of results: of every analysis, at every width."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.report.results import view_of_result
from scorecube.report.text_formats import cell_texts, with_labels
from scorecube.report.text_summary import Shown, sentence, summaries

if TYPE_CHECKING:
    from tests.conftest import Cli

WIDTHS = (60, 80, 100, 120)
MOST_LINES = 20


@pytest.fixture(scope="module")
def results(analysed_study: Path) -> dict[str, list[xr.Dataset]]:
    """Results by analysis, one of each collection that has one."""
    study = sc.open_study(analysed_study)
    found: dict[str, list[xr.Dataset]] = {}
    for name in registry.names():
        for collection in (study[key] for key in study):
            if collection.result_attributes(name):
                found.setdefault(name, []).append(collection.result(name))
    return found


def lines_of(tables: list[Shown]) -> list[str]:
    """Return all lines as they are printed, with the empty ones between them."""
    lines: list[str] = []
    for shown in tables:
        lines += [*shown.head, "", *shown.table, *shown.below, ""]
    return lines[:-1]


@pytest.mark.parametrize("name", [entry.name for entry in registry.BUILT_IN])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_analysis_has_a_small_table(
    results: dict[str, list[xr.Dataset]], name: str, width: int
) -> None:
    for result in results[name]:
        tables = summaries([result], width, bars=True)
        lines = lines_of(tables)
        assert tables
        assert len(lines) <= MOST_LINES
        assert [line for line in lines if len(line) > width] == []
        declared = {text for each in view_of_result(result).summary for text in each.by_heading}
        for shown in tables:
            headings = re.split(r"  +", shown.table[0].strip())
            assert set(headings) <= declared  # none is broken
        assert sentence([result]).endswith((".", "?"))


@pytest.mark.parametrize("name", [entry.name for entry in registry.BUILT_IN])
def test_numbers_are_those_of_the_table(results: dict[str, list[xr.Dataset]], name: str) -> None:
    result = results[name][0]
    view = view_of_result(result)
    summary, shown = view.summary[0], summaries([result], 250)[0]
    frame = view.frame(view.find_table(summary.table or None)[1], result)
    labelled = with_labels(frame) if {"metric", "collection"} <= set(frame) else frame
    first = next(iter(summary.by_heading.values())).split()[0]
    columns = [text.split() for text in summary.by_heading.values()]
    part = labelled[
        [
            name
            for name in dict.fromkeys(name for found in columns for name in found)
            if name in labelled
        ]
    ]
    limits = {name: found[0] for found in columns if len(found) == 3 for name in found[1:]}
    part.attrs = {**frame.attrs, "of": frame.attrs.get("of", {}) | limits}
    known = {cell.removesuffix("%") for cells in cell_texts(part).values() for cell in cells}
    assert first in labelled
    body = [line for line in shown.table[1:] if line.strip()]
    numbers = {word for line in body for word in re.findall(r"(?<=[ (])-?\d+\.\d+(?=[ %)])", line)}
    assert numbers <= known


def test_quiet_prints_nothing(scorecube: Cli, study: Path) -> None:
    words = ("leaderboard", study, "--trials", 50, "--seed", 1)
    done = scorecube(*words).succeeded()
    assert "could be rank" in done.stdout
    assert f"scorecube show {study} leaderboard" in done.stdout
    assert "blocks" not in done.stderr
    assert "\x1b" not in done.stdout
    quiet = scorecube(*words, "--quiet").succeeded()
    assert (quiet.stdout, quiet.stderr) == ("", "")

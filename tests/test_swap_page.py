"""`docs/believe/swap.md` marks every coverage below .90, and its measured designs are those of the simulation."""

from __future__ import annotations

import re
from pathlib import Path

from tests.simulations.margins import METRICS
from tests.simulations.swap import COLUMNS, MARKED, POPULATIONS

PAGE = (Path(__file__).parents[1] / "docs/believe/swap.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    """Return the cells of the table of coverage."""
    lines = [line for line in PAGE.splitlines() if re.match(r"\| (AP|P@10|RR) \|", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_design_is_printed() -> None:
    designs = {(row[1], row[2]) for row in rows()}
    teams = {1: "independent", 3: "teams of 3"}
    assert designs == {(str(each.n_runs), teams[each.team]) for each in POPULATIONS}
    assert len(rows()) == len(designs) * len(METRICS)


def test_low_coverage_is_bold() -> None:
    for row in rows():
        for cell in row[5 : 5 + len(COLUMNS)]:
            assert cell.startswith("**") == (float(cell.strip("*")) < MARKED)

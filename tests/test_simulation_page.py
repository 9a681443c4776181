"""`docs/believe/simulation.md` has every table of the simulation, and marks every rate beyond its tolerance."""

from __future__ import annotations

import re
from pathlib import Path

from scorecube.analyses.simulation.decisions import TESTS
from tests.simulations.errors import MEASURES, POWER_TOLERANCE, SIZES, TOLERANCES, TYPE_3_TOLERANCE

PAGE = (Path(__file__).parents[1] / "docs/believe/simulation.md").read_text(encoding="utf-8")
LIMITS = {
    "Type I error rates": TOLERANCES,
    "The same for P@10": TOLERANCES,
    "Power at": dict.fromkeys(TESTS, POWER_TOLERANCE),
    "Type III": dict.fromkeys(TESTS, TYPE_3_TOLERANCE),
}
CELL = re.compile(r"(\*\*)?(0\.\d+) \((0\.\d+)\)(\*\*)?")
ROUNDING = 1e-4
"""Of the difference of two rates with four decimals."""


def tables() -> dict[str, list[list[str]]]:
    """Return the rows of each table of rates by its title."""
    found: dict[str, list[list[str]]] = {}
    for part in PAGE.split("\n### ")[1:]:
        title, _, text = part.partition("\n")
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in text.splitlines()
            if CELL.search(line)
        ]
        if rows:
            found[title] = rows
    return found


def test_every_table_is_printed() -> None:
    assert len(tables()) == len(LIMITS)
    names = {name for name, _ in MEASURES.values()}
    for title, rows in tables().items():
        assert {int(row[1]) for row in rows} == set(SIZES), title
        if not title.startswith("The same"):
            assert {row[0] for row in rows} == names, title


def test_rates_beyond_tolerances_are_bold() -> None:
    bold = 0
    for title, rows in tables().items():
        (limits,) = [limit for start, limit in LIMITS.items() if title.startswith(start)]
        for row in rows:
            for test, cell in zip(TESTS, row[2 : 2 + len(TESTS)], strict=True):
                match = CELL.fullmatch(cell)
                assert match, cell
                apart = abs(float(match[2]) - float(match[3]))
                if abs(apart - limits[test]) > ROUNDING:  # type: ignore[index]
                    assert bool(match[1]) == (apart > limits[test]), (title, row[0], test)  # type: ignore[index]
                bold += bool(match[1])
    assert bold > 0

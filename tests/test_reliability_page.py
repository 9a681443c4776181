"""`docs/believe/reliability.md` marks every coverage below .90, has all simulated designs, and states the ranges of its table."""

from __future__ import annotations

import re
from pathlib import Path

from tests.simulations.reliability import DESIGNS, MARKED, REAL_DESIGNS

PAGE = (Path(__file__).parents[1] / "docs/believe/reliability.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    """Return the cells of the table of coverage."""
    lines = [line for line in PAGE.splitlines() if re.match(r"\| (E rho\^2|Phi)[^|]* \|", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_design_is_printed() -> None:
    expected = {
        (
            f"{design.kind}, worst quarter dropped" if design.drop else design.kind,
            "independent" if design.team == 1 else f"teams of {design.team}",
            str(design.n_topics),
        )
        for design in (*DESIGNS, *REAL_DESIGNS)
    }
    assert {(row[2], row[3], row[4]) for row in rows()} == expected
    # Nested runs have intervals by the jackknife; with skewed scores nothing is known of one team.
    nested = {"normal": 2, "skewed": 1}
    more = sum(nested[design.kind] for design in DESIGNS if design.team > 1)
    assert len(rows()) == 4 * len(expected) + more


def test_low_coverage_is_bold() -> None:
    for row in rows():
        assert row[7].startswith("**") == (float(row[7].strip("*")) < MARKED)


def test_ranges_in_words_are_those_of_the_table() -> None:
    def span(chosen: list[list[str]]) -> str:
        found = [float(row[7].strip("*")) for row in chosen]
        return f".{round(1000 * min(found)):03d} to .{round(1000 * max(found)):03d}"

    independent = [row for row in rows() if row[1:4] == ["F", "normal", "independent"]]
    assert f"independent normal effects only** ({span(independent)})" in PAGE
    assert f"The jackknife covers {span([row for row in rows() if row[1] == 'jackknife'])}" in PAGE

"""`docs/believe/judges.md` has all simulated judges, marks every coverage below .93, and states the ranges of its tables."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from tests.simulations.judges import JUDGES, LABELLED, MARKED, METRICS

PAGE = (Path(__file__).parents[1] / "docs/believe/judges.md").read_text(encoding="utf-8")


def rows(n_columns: int) -> list[list[str]]:
    """Return the cells of one of the tables of coverage."""
    lines = [line for line in PAGE.splitlines() if line.startswith(tuple(f"| {name} |" for name in JUDGES))]  # fmt: skip
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if len(row) == n_columns]


def number(cell: str) -> float:
    return float(cell.strip("*"))


def span(values: list[float]) -> str:
    return f".{round(1000 * min(values)):03d} to .{round(1000 * max(values)):03d}"


def test_every_judge_is_printed() -> None:
    sizes = map(str, LABELLED)
    expected = product(JUDGES, METRICS, ("mean", "difference"), sizes)
    assert [tuple(row[:4]) for row in rows(9)] == list(expected)


def test_low_coverage_is_bold() -> None:
    cells = [cell for row in rows(9) for cell in row[4:6]]
    for cell in cells:
        assert cell.startswith("**") == (number(cell) < MARKED), cell


def test_ranges_in_words_are_those_of_the_tables() -> None:
    means = rows(9)
    with_more = span([number(row[4]) for row in means if row[3] != "10"])
    assert f"cover {span([number(row[4]) for row in means])} (with 20 or 30 labelled topics {with_more})" in PAGE  # fmt: skip
    assert f"labels alone {span([number(row[5]) for row in means])}" in PAGE


def test_what_the_page_says_of_single_judges() -> None:
    below = [row for row in rows(9) if number(row[4]) < MARKED]
    assert {row[3] for row in below} <= {"10"}
    idle = [row for row in rows(9) if row[:2] == ["nothing", "nDCG@10"]]
    assert all(abs(number(row[8])) < 0.25 for row in idle)
    assert all(number(row[6]) > number(row[7]) for row in idle)

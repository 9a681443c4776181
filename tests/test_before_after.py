"""The table of before and after in `docs/believe/index.md` has the rows of its generator, with the rates of the other pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.simulations.__main__ import BEFORE_AFTER, ROWS, lines

FOLDER = Path(__file__).parents[1] / "docs/believe"
ELSEWHERE = {
    "groups": "groups",
    "ablations": "ranks",
    "bounded": "ranks",
    "equivalence": "ranks",
    "winners": "ranks",
    "tau": "intervals",
    "corrected": "judges",
}
"""Page with all methods of a name."""
SHOWN_AS = {
    ("bounded", "bootstrap-t"): "bootstrap-t (before 0.3.0)",
    ("bounded", "within bounds"): "default",
    ("equivalence", "two one-sided t"): "two one-sided t tests (before 0.3.0)",
    ("equivalence", "within bounds"): "default",
    ("winners", "winner's interval"): "winner's limits",
    ("tau", "one kind"): "`--one-kind` (before 0.3.0)",
    ("tau", "two kinds"): "default",
}
"""Headings of methods on these pages, where they have others."""
QUICK = {
    "equivalence": "RR at the margin, 50 topics",
    "tau": "two generations, correlation 0.0, 30 runs, 50 topics",
}
"""Rows that are measured again."""
SAMPLES = 20


def cells(line: str) -> list[str]:
    return [each.strip() for each in line.strip("|").split("|")]


def rows() -> list[list[str]]:
    page = (FOLDER / "index.md").read_text(encoding="utf-8")
    table = page.partition("| name | truth | goal |")[2].partition("\n\n")[0]
    return [cells(line) for line in table.splitlines()[2:]]


def rate_of(cell: str) -> float:
    return float(cell.strip("*").partition("*")[0].partition(" ")[0])


@pytest.mark.data
def test_rows_are_those_of_the_command(data: Path) -> None:
    """Their truths, goals, methods and samples; rates that miss the goal are bold."""
    assert (data / "README.md").is_file()
    expected = [
        [name, label, f"{row.goal[0]:.2f} to {row.goal[1]:.2f}", before, after, str(row.samples)]
        for name, (pattern, before, after) in BEFORE_AFTER.items()
        for label, row in ROWS[name]()
        if re.fullmatch(pattern, label)
    ]
    assert [[*row[:4], row[5], row[7]] for row in rows()] == expected
    for row in rows():
        low, high = map(float, row[2].split(" to "))
        for cell in (row[4], row[6]):
            assert cell.startswith("**") == (not low <= rate_of(cell) <= high), row


def test_rates_are_those_of_the_other_pages() -> None:
    """Of the same samples, in tables with all methods."""
    for name, label, _, *methods, _ in rows():
        text = (FOLDER / f"{ELSEWHERE[name]}.md").read_text(encoding="utf-8")
        truth = label.removesuffix(": family-wise error")
        wanted = [SHOWN_AS.get((name, each), each) for each in methods[::2]]
        tables = [each.splitlines() for each in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
        (found,) = [
            dict(zip(heading, row, strict=True))
            for table in tables
            for row in map(cells, table[2:])
            if row[0] == truth and set(wanted) <= set(heading := cells(table[0]))
        ]
        assert [found[each] for each in wanted] == methods[1::2], (name, label)


@pytest.mark.parametrize("name", QUICK)
def test_a_few_samples_agree_with_the_table(name: str) -> None:
    """Within four standard errors of their number."""
    (row,) = [each for each in rows() if each[:2] == [name, QUICK[name]]]
    found = {}
    for line in lines(name, SAMPLES, re.escape(QUICK[name])):
        _, _, method, _, rate, *_ = cells(line)
        found[method] = rate_of(rate)
    for method, cell in ((row[3], row[4]), (row[5], row[6])):
        printed = rate_of(cell)
        error = (max(printed * (1 - printed), 0.02) / SAMPLES) ** 0.5
        assert found[method] == pytest.approx(printed, abs=4 * error), (method, printed)

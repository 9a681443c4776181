"""Pages of `docs/believe` open with what can be trusted, in figures of their tables; tables of rates name samples and standard errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs/believe"
HEADING = "What can be trusted"
MEASURED = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "sentences")
"""All pages but that of sentences, which has no rates."""
WITHOUT_RATES = ("number", "numbers", "question", "collection | metric | runs | largest error")
"""How headings of tables without rates of their own begin."""
LEVELS = frozenset({0.05, 0.07, 0.8, 0.9, 0.93, 0.95})
"""Nominal levels and goals, which stand in no cell."""
SAMPLES = re.compile(r"[\d,]+ (further |other )?(samples|collections|replicates|experiments|draws|pilots)|\| (samples|collections|experiments) \|")  # fmt: skip
FIGURE = re.compile(r"(?<![\w.,])(\d*\.\d+)\b(?! seconds)")
PERCENT = re.compile(r"(\d+(?:\.\d+)?) %")


def sections(page: str) -> list[tuple[str, str]]:
    """Return headings of the second level with their text."""
    parts = re.split(r"\n## ", page)
    return [(title, text) for title, _, text in (part.partition("\n") for part in parts[1:])]


def tables(text: str) -> list[tuple[str, list[str]]]:
    """Return for each table the text of its section before it, with its own headings, and its rows."""
    found: list[tuple[str, list[str]]] = []
    words: list[str] = []
    rows: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append(line)
            continue
        if len(rows) > 2:
            found.append(("\n".join([*words, rows[0]]), rows))
        rows = []
        words.append(line)
    return found


def numbers(text: str) -> set[float]:
    return {float(each) for each in FIGURE.findall(text)} | {float(each) / 100 for each in PERCENT.findall(text)}  # fmt: skip


def cells(name: str) -> set[float]:
    """Return the numbers in the tables of a page; of all pages for the first."""
    pages = MEASURED if name == "index" else [name]
    rows = (
        row
        for page in pages
        for _, own in tables((FOLDER / f"{page}.md").read_text(encoding="utf-8"))
        for row in own
    )
    return {value for row in rows for value in numbers(row.replace("*", ""))}


@pytest.mark.parametrize("name", MEASURED)
def test_a_page_opens_with_what_can_be_trusted(name: str) -> None:
    """In four to eight lines, whose figures are rounded ones of the tables."""
    (title, text), *_ = sections((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    assert title == HEADING
    points = [line for line in text.splitlines() if line.startswith("- ")]
    assert 4 <= len(points) <= 8
    known = cells(name) | LEVELS
    for figure in FIGURE.findall(text):
        half = 0.5001 * 10 ** -len(figure.partition(".")[2])
        assert any(abs(float(figure) - each) <= half for each in known), figure
    assert sum(bool(FIGURE.search(point)) for point in points) >= len(points) / 2


@pytest.mark.parametrize("name", MEASURED)
def test_tables_of_rates_name_samples_and_standard_errors(name: str) -> None:
    """In their headings, or in the words of their section before them."""
    for title, text in sections((FOLDER / f"{name}.md").read_text(encoding="utf-8")):
        for context, rows in tables(text):
            if not rows[0].removeprefix("| ").startswith(WITHOUT_RATES):
                assert SAMPLES.search(context), (title, rows[0])
                assert "standard error" in context, (title, rows[0])

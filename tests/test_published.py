"""Published numbers are met: those of the package, and those of public data on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scorecube.published import SECTIONS, Number, numbers, topics_needed
from tests import published
from tests.oracles.design import rule_a

PAGE = Path(__file__).parents[1] / "docs/reference/published.md"
DISAGREEING = ("values that 30 runs can have",)
"""Numbers of a paper that cannot be met, and why is on the page."""


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_numbers_of_papers_are_met(section: Callable[[], Iterator[float]]) -> None:
    rows = numbers(section)
    assert rows
    assert [row for row in rows if not row.agrees] == []


def test_sizes_of_sakai_and_shang_by_counting() -> None:
    """Table 3 in plain Python: 25 sizes of the variances that it prints."""
    rows = numbers(topics_needed)
    variances = [float(row.item.rpartition(" ")[2].rstrip(")")) for row in rows]
    found = [rule_a(variance, 0.15, systems=10, alpha=0.05, beta=0.2) for variance in variances]
    assert found == [int(row.printed) for row in rows]
    assert len(found) == 25


def test_the_page_counts_them() -> None:
    assert "\n".join(published.summary()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.skipif(
    not published.ANSWERS.exists(), reason="published.ANSWERS says where the file comes from"
)
@pytest.mark.parametrize("rows", published.FETCHED, ids=lambda rows: rows.__name__)
def test_numbers_of_fetched_data_are_met(rows: Callable[[], Iterator[Number]]) -> None:
    assert published.section(rows) in PAGE.read_text(encoding="utf-8")
    assert all(row.agrees for row in rows())


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("rows", published.ON_DATA, ids=lambda rows: rows.__name__)
def test_numbers_of_public_data_are_met(data: Path, rows: Callable[[], Iterator[Number]]) -> None:
    assert published.section(rows) in PAGE.read_text(encoding="utf-8")
    assert [row.item for row in rows() if not row.agrees and row.item not in DISAGREEING] == []

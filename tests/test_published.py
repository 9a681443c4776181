"""docs/reference/published.md prints published numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import published

PAGE = Path(__file__).parents[1] / "docs/reference/published.md"
DISAGREEING = ("values of Tables 2 and 5 that 30 runs can have",)
"""Numbers of a paper that cannot be met, and why is on the page."""


@pytest.mark.slow
@pytest.mark.parametrize("rows", published.PLAIN, ids=lambda rows: rows.__name__)
def test_numbers_of_papers_are_met(rows: Callable[[], Iterator[published.Row]]) -> None:
    if rows is published.thresholds and not published.PAPERS.exists():
        pytest.skip("the papers (../shared/papers) are not beside this repository")
    assert published.section(rows) in PAGE.read_text(encoding="utf-8")
    assert [row.item for row in rows() if not row.agrees and row.item not in DISAGREEING] == []


@pytest.mark.skipif(
    not published.ANSWERS.exists(), reason="published.ANSWERS says where the file comes from"
)
@pytest.mark.parametrize("rows", published.FETCHED, ids=lambda rows: rows.__name__)
def test_numbers_of_fetched_data_are_met(rows: Callable[[], Iterator[published.Row]]) -> None:
    assert published.section(rows) in PAGE.read_text(encoding="utf-8")
    assert all(row.agrees for row in rows())


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("rows", published.ON_DATA, ids=lambda rows: rows.__name__)
def test_numbers_of_public_data_are_met(
    data: Path, rows: Callable[[], Iterator[published.Row]]
) -> None:
    assert published.section(rows) in PAGE.read_text(encoding="utf-8")
    assert all(row.agrees for row in rows())

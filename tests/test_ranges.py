"""docs/reference/ranges.md prints the range in which each analysis is exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorecube.analyses import registry
from tests import ranges

PAGE = Path(__file__).parents[1] / "docs/reference/ranges.md"


def test_every_analysis_has_a_row() -> None:
    assert list(ranges.COMPUTES_ON) == list(registry.names())


@pytest.mark.parametrize("name", ["bootstrap", "splits"])
def test_rows_are_measured(name: str) -> None:
    assert ranges.row(name) in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    assert ranges.page() == PAGE.read_text(encoding="utf-8")

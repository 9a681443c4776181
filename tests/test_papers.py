"""docs/reference/papers.md: every command runs, in the order of the page, and shows what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.papers import ITEMS, Item, found, page, results

PAGE = Path(__file__).parents[1] / "docs/reference/papers.md"


def test_the_page_is_what_is_printed() -> None:
    assert PAGE.read_text(encoding="utf-8") == "\n".join(page()).rstrip() + "\n"


@pytest.mark.slow
def test_every_command_of_the_page_shows_what_it_says(tmp_path: Path) -> None:
    shown = list(results(tmp_path))
    assert len(shown) == sum(map(len, ITEMS.values()))
    assert [(at, text) for at, _, text in shown if text.startswith("MISSING")] == []


@pytest.mark.parametrize(
    "item",
    [
        Item("other number", "x", "", ("97 replacement 76.5~0.68 30.0~0.68",)),
        Item("other row", "x", "", (), 2),
        Item("other metric", "scorecube show STUDY swap --metrics Q", ""),
    ],
)
def test_what_is_not_shown_is_missing(item: Item) -> None:
    assert found(item, "size\n----\n97 replacement 75.9 31.2").startswith("MISSING")

"""The swap method as the papers have it: 21 bins of which the last is open, and the rule that looks at all higher bins."""

from __future__ import annotations

from typing import Any

from scorecube import Swap


def paper_swap(**options: Any) -> Swap:
    """Return the record with the papers' bins and rule, and other options as stated."""
    settings: dict[str, Any] = {"bins": 21, "required": "suffix"}
    return Swap(**(settings | options))


def stated_bins(swap: Swap) -> int:
    """Return the number of bins of a record that states it."""
    assert swap.bins != "auto"
    return swap.bins

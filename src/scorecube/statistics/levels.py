"""Significance and confidence levels: which are usual, and what is meant by others."""

from __future__ import annotations

import math
from collections.abc import Iterable

from scorecube import names

USUAL = {names.ALPHA: (0.0, 0.5), names.CONFIDENCE: (0.5, 1.0)}
"""Kind of level -> the range outside of which a level is possible, and more often 1 - the level that is meant."""


def doubts_of_levels(kind: str, levels: Iterable[float]) -> list[str]:
    """Return a sentence about each level that is outside of the usual range of its kind.

    Examples
    --------
    >>> doubts_of_levels("confidence", [0.95, 0.05])
    ['confidence 0.05 is below 0.5, as no usual level is; did you mean 0.95?']
    """
    low, high = USUAL[kind]
    return [
        f"{kind} {level:g} is {f'below {low:g}' if level < low else f'above {high:g}'}, as no usual level is{meant(level, kind)}"
        for level in levels
        if not low <= level <= high
    ]


def meant(value: float, kind: str = "") -> str:
    """Return a question after the share that is probably meant by a percentage, or by 1 - a level; empty for none.

    Examples
    --------
    >>> meant(95, "confidence"), meant(5, "confidence"), meant(5, "alpha"), meant(0.05, "alpha")
    ('; did you mean 0.95?', '; did you mean 0.95?', '; did you mean 0.05?', '')
    """
    low, high = USUAL.get(kind, (0.0, 1.0))
    share = value / 100 if 1 < value < 100 else value
    if 0 < share < 1 and not low <= share <= high:
        share = 1 - share
    likely = 0 < share < 1 and not math.isclose(share, value)
    return f"; did you mean {share:g}?" if likely else ""

"""Gain settings: colon-separated gains, highest level first, e.g. ``3:2:1``; ``auto`` is gain = level."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from scorecube.errors import BadName
from scorecube.names import AUTO


def gain_values(text: str, n_levels: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the gain of each level 0 .. n_levels.

    Parameters
    ----------
    text
        ``auto``, or one number for each relevant level, highest level first.
    n_levels
        Number of relevant levels in the collection.

    Returns
    -------
    gains
        float64 (n_levels + 1,); level 0 gains 0.

    Raises
    ------
    BadName
        If a value is no number >= 0, gains rise towards the lowest level, or there are more or fewer values than levels.

    Examples
    --------
    >>> gain_values("10:5:1", 3).tolist()
    [0.0, 1.0, 5.0, 10.0]
    """
    if text == AUTO:
        return np.arange(n_levels + 1, dtype=np.float64)
    try:
        values = [float(part) for part in text.split(":")]
    except ValueError:
        raise BadName(f"gain setting {text!r} is not 'auto' or numbers joined by colons, like 3:2:1") from None
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise BadName(f"gain setting {text!r}: gains must be finite and not negative")
    if len(values) != n_levels:
        raise BadName(
            f"gain setting {text!r} has {len(values)} values, but the collection has {n_levels} relevant levels; "
            "give one value for each level, highest level first"
        )
    if any(higher < lower for higher, lower in pairwise(values)):
        raise BadName(f"gain setting {text!r} gives a lower level a larger gain; gains stand highest level first")
    return np.array([0.0, *reversed(values)])

"""Numbers as people read them, with the digits that their limits allow."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike


NONE = "-"
"""Stands for a number that is missing."""
UNKNOWN = -1
LEAST_P = 0.0001
"""Below it a p-value is written as smaller; in csv and json it is exact."""
MOST_DECIMALS = 6


class Marked(str):
    """A number with marks, aligned as numbers are."""

    __slots__ = ()


def decimals_of(half_widths: ArrayLike) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return with how many decimals numbers are written, given half-widths of their limits.

    The rule of the Particle Data Group (2024, section 5.3) for standard errors: two digits of the
    half-width if they are at most 35, else one. `UNKNOWN` for a half-width that is not above 0.

    Examples
    --------
    >>> decimals_of([0.075, 0.021, 14.0, 0.0043]).tolist()
    [2, 3, 0, 3]
    """
    import numpy as np  # the help of commands does without

    widths = np.asarray(half_widths, float)
    known = np.isfinite(widths) & (widths > 0)
    exponent = np.floor(np.log10(widths, where=known, out=np.zeros_like(widths)))
    first_three = np.rint(np.where(known, widths, 1.0) * 10.0 ** (2 - exponent))
    rounds_up = first_three >= 950  # .0096 is written as .010
    has_two = (first_three < 355) | rounds_up
    places: Any = has_two - exponent - rounds_up
    return np.where(known, np.clip(places, 0, MOST_DECIMALS), UNKNOWN).astype(np.int64)


def decimals_between(
    low: ArrayLike, high: ArrayLike, *, scale: float = 1.0, level: bool = False
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return with how many decimals estimates between limits are written, of each row.

    As many as `decimals_of` allows; more where a limit that is not 0 would be written as 0, as its
    sign decides: of percentages, whose limits may have any number of zeros, one more.

    low, high: Limits, NaN where unknown.
    scale: What numbers are multiplied with: 100 of percentages.
    level: Whether rows have equal decimals, the median, where theirs differ from it by one.

    Examples
    --------
    >>> decimals_between([0.61, -0.0049], [0.76, 0.13]).tolist()
    [2, 3]
    >>> decimals_between([0.61, 0.604], [0.76, 0.66], level=True).tolist()
    [3, 3]
    >>> decimals_between([2e-8], [0.995], scale=100).tolist()
    [1]
    """
    import numpy as np  # the help of commands does without

    ends = scale * np.array([low, high], float)
    places = decimals_of((ends[1] - ends[0]) / 2)
    known = places != UNKNOWN
    if level and known.any():
        median = np.sort(places[known])[known.sum() // 2]
        places[known & (np.abs(places - median) < 2)] = median
    for _ in range(MOST_DECIMALS if scale == 1 else 1):
        written = np.rint(ends * 10.0 ** np.where(known, places, 0))
        is_lost = ((written == 0) & (ends != 0)).any(axis=0) & known
        places[is_lost & (places < MOST_DECIMALS)] += 1
    return places


def limited(
    value: float, low: float | None, high: float | None, form: str = ".3f", places: int = UNKNOWN
) -> tuple[str, str]:
    """Return a number and its limits with the digits that these allow; in a form without them.

    places: Decimals, of a row among others; by default those of `decimals_between`.

    Examples
    --------
    >>> limited(0.6912, 0.6149, 0.7631), limited(0.031, 0.021, 0.0472, "+.1%")
    (('0.69', '0.61 to 0.76'), ('+3.1%', '+2.1% to +4.7%'))
    >>> limited(0.05, 0.04, None, ".2f"), limited(0.5, None, None)
    (('0.05', '0.04 to no limit'), ('0.500', ''))
    """
    if not is_known(value):
        return NONE, ""
    if not is_known(low):
        return format(value, form), ""
    if is_known(high) and high > low and not form.endswith(("d", ".0f")):
        if places == UNKNOWN:
            scale = 100 if form.endswith("%") else 1
            places = int(decimals_between([low], [high], scale=scale)[0])
        sign = "+" if form.startswith("+") else ""
        separator = "," if "," in form else ""
        form = f"{sign}z{separator}.{places}{form[-1]}"  # z: no minus before 0
    upper = format(high, form) if is_known(high) else "no limit"
    return format(value, form), f"{low:{form}} to {upper}"


def with_limits(value: float, low: float | None, high: float | None, form: str = ".3f") -> str:
    """Return a number with its limits in brackets: ``0.69 (0.61 to 0.76)``."""
    number, limits = limited(value, low, high, form)
    return f"{number} ({limits})" if limits else number


def is_known(value: float | None) -> TypeGuard[float]:
    """Return whether a value is a finite number."""
    return value is not None and math.isfinite(value)


def p_text(p: float) -> str:
    """Return a p-value as a sentence has it.

    Examples
    --------
    >>> p_text(0.00763), p_text(3.6e-25)
    ('p = 0.0076', 'p < 0.0001')
    """
    return f"p < {LEAST_P:g}" if p < LEAST_P else f"p = {p:.2g}"


def number_range(numbers: Collection[float], form: str = ",d") -> str:
    """Return the smallest and the largest number, or the one that all are: ``3 to 5``."""
    low = format(min(numbers), form)
    high = format(max(numbers), form)
    return low if low == high else f"{low} to {high}"

"""What the columns of a table are, from the quantities that they show: how numbers are written, headings, which are averaged.

It travels with a table in ``DataFrame.attrs``, as texts, which pandas keeps through selections and writes into files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from scorecube.collection.schema import Variable

FACTS = ("role", "of", "form", "heading")
"""Of a variable, that its columns have."""


def describe_columns(
    frame: pd.DataFrame, quantities: Mapping[str, Variable], sources: Mapping[str, str]
) -> pd.DataFrame:
    """Note what the columns of a table are.

    Parameters
    ----------
    frame
        The table; it is changed in place.
    quantities
        What is known of quantities, by name.
    sources
        Quantities that columns of other names show; a name with a dim in braces is that of all columns that begin like it.
    """
    plain = {column: sources.get(column, column) for column in map(str, frame.columns)}
    shown = {
        column: source if source in quantities else _spread_source(column, sources)
        for column, source in plain.items()
    }
    column_of = {quantity: column for column, quantity in shown.items()}
    for fact in FACTS:
        found = {
            column: str(getattr(quantities[source], fact))
            for column, source in shown.items()
            if source in quantities
        }
        if fact == "of":
            found = {column: column_of.get(name, "") for column, name in found.items()}
        frame.attrs[fact] = {column: text for column, text in found.items() if text}
    return frame


def _spread_source(column: str, sources: Mapping[str, str]) -> str:
    """Return the quantity of a column for one label of a dim, which stands in braces in the name of all of them, beside other letters."""
    for name, source in sources.items():
        before, brace, rest = name.partition("{")
        after = rest.partition("}")[2]
        if brace and before + after and column.startswith(before) and column.endswith(after):
            return source
    return column


def fact_of_columns(frame: pd.DataFrame, fact: str) -> Mapping[str, str]:
    """Return one of `FACTS` of the columns that have it."""
    found: Mapping[str, str] = frame.attrs.get(fact, {})
    return found


def with_role(frame: pd.DataFrame, roles: Sequence[str]) -> list[str]:
    """Return the columns of some roles."""
    found = fact_of_columns(frame, "role")
    return [str(column) for column in frame.columns if found.get(str(column)) in roles]


MOST_DECIMALS = 6


def decimals_of(half_width: float) -> int:
    """Return with how many decimals an estimate and its limits are written, given half of their distance.

    The rule of the Particle Data Group (2024, section 5.3), for the half-width in place of the standard error: two of its digits if they
    are at most 35, else one.

    Examples
    --------
    >>> [decimals_of(half) for half in (0.075, 0.021, 14.0, 0.0043)]
    [2, 3, 0, 3]
    """
    exponent = math.floor(math.log10(half_width))
    three = round(half_width * 10.0 ** (2 - exponent))
    digits = 2 if three < ONE_DIGIT else 1
    if three >= NEXT_POWER:  # .0096 is written as .010
        digits, exponent = 2, exponent + 1
    return min(max(digits - 1 - exponent, 0), MOST_DECIMALS)


ONE_DIGIT, NEXT_POWER = 355, 950
"""First three digits from which on one digit is written, and from which on it is the first of the next power of ten."""


def with_uncertainty(frame: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return the columns of estimates with those of their limits, lower and upper; a standard error stands in both places."""
    roles, of = fact_of_columns(frame, "role"), fact_of_columns(frame, "of")
    found = []
    for estimate in dict.fromkeys(of.values()):
        own = {
            role: [
                str(name)
                for name in frame.columns
                if of.get(str(name)) == estimate and roles.get(str(name)) == role
            ]
            for role in ("low", "high", "standard_error")
        }
        pairs = [*zip(own["low"], own["high"], strict=False)]
        pairs += [(name, name) for name in own["standard_error"]]
        found += [(estimate, low, high) for low, high in pairs if estimate in frame.columns]
    return found

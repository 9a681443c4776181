"""What the columns of a table are, from the quantities that they show: how numbers are written, headings, which are averaged.

It travels with a table in ``DataFrame.attrs``, as texts, which pandas keeps through selections and writes into files.
"""

from __future__ import annotations

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

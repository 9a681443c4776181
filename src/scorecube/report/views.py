"""The views of all that can be shown: of methods, and of scores."""

from __future__ import annotations

from dataclasses import replace

from scorecube.analyses.frames import values
from scorecube.declare import Table, View
from scorecube.methods import index
from scorecube.report import scores

ALL_VALUES = {"values": Table((), make=values)}
"""Tables of a method that declares none."""


def view_names() -> list[str]:
    """Return the names of all that can be shown, in the order of the report."""
    return [scores.VIEW.name, *index.all_names()]


def view_of(name: str) -> View:
    """Return the view of a method, or of ``scores``, whose tables know what the results hold."""
    if name == scores.VIEW.name:
        return scores.VIEW
    method = index.find(name)
    view = None if method is None else method.view
    if view is None or method is None:
        return View(name, name, ALL_VALUES)
    tables = {
        key: replace(table, variables=(*method.variables, *table.variables))
        for key, table in (view.tables or ALL_VALUES).items()
    }
    return replace(view, tables=tables)


def joins_collections(name: str) -> bool:
    """Return whether a result of a method is about several collections together."""
    method = index.find(name)
    return method is not None and method.joins

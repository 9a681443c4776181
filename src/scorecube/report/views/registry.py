"""Which module has the view of which analysis; a view is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scorecube.report.views.view import View

MODULES = {
    "scores": "scorecube.report.views.scores",
    "swap": "scorecube.report.views.swap",
    "stability": "scorecube.report.views.stability",
    "bootstrap": "scorecube.report.views.bootstrap",
    "randomisation": "scorecube.report.views.randomisation",
    "tukey": "scorecube.report.views.tukey",
    "unpaired": "scorecube.report.views.unpaired",
    "paired": "scorecube.report.views.paired",
    "correlate": "scorecube.report.views.correlate",
    "splits": "scorecube.report.views.splits",
    "agreement": "scorecube.report.views.agreement",
    "teams": "scorecube.report.views.teams",
    "design": "scorecube.report.views.design",
    "wcw": "scorecube.report.views.wcw",
}
"""Analysis -> module with its ``VIEW``, in the order of the report."""
_added: dict[str, View] = {}


def register_view(view: View) -> None:
    """Add the view of an analysis, or replace the one that it has.

    Parameters
    ----------
    view
        Its name is that of the analysis.
    """
    _added[view.name] = view


def view_names() -> list[str]:
    """Return the names of all analyses that have a view, in the order of the report."""
    return list(dict.fromkeys([*MODULES, *_added]))


def view_of(analysis: str) -> View:
    """Return the view of an analysis; one that shows all values for an analysis without.

    Parameters
    ----------
    analysis
        Name of an analysis, or ``scores``, ``design`` or ``wcw``.

    Returns
    -------
    view
        The record that tables, figures and the report are made from.
    """
    if analysis in _added:
        return _added[analysis]
    if analysis in MODULES:
        view: View = import_module(MODULES[analysis]).VIEW
        return view
    from scorecube.report.views.view import View

    return View(analysis, analysis)

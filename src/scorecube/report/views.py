"""Which view shows which analysis: ``VIEW`` of `report/<analysis>.py`, or ``VIEWS[analysis]`` of one that shows several, imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scorecube.analyses import registry

if TYPE_CHECKING:
    from scorecube.report.view import View

MODULES = {
    "scores": "scores",
    **{entry.name: entry.name for entry in registry.BUILT_IN},
    **dict.fromkeys(("bootstrap", "randomisation", "tukey", "maxt", "unpaired"), "pair_tests"),
    "design": "design",
    "wcw": "design",
}
"""Modules of views by name: of what is computed from scores and not stored, too."""


def view_names() -> list[str]:
    """Return the names of all that can be shown, in the order of the report."""
    first, *others = MODULES
    return list(dict.fromkeys([first, *registry.names(), *others]))


def unstored_names() -> list[str]:
    """Return the names of what is computed from scores whenever it is shown."""
    return [name for name in view_names() if name not in registry.names()]


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
    if analysis in MODULES:
        module = import_module(f"scorecube.report.{MODULES[analysis]}")
        view: View = getattr(module, "VIEWS", {}).get(analysis) or module.VIEW
        return view
    from scorecube.report.view import View

    # A plugin may declare one beside its class.
    known = analysis in registry.names()
    home = import_module(registry.load(analysis).__module__) if known else None
    return getattr(home, "VIEW", None) or View(analysis, analysis)

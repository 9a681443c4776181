"""Tables, figure and headline of one result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from scorecube.errors import BadName
from scorecube.report.views.registry import view_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scorecube.report.views.view import View


def view_of_result(result: xr.Dataset) -> View:
    """Return the view of the analysis that a result is of; that of scores for a cube or rankings."""
    return view_of(str(result.attrs.get("analysis", "scores")))


def table(result: xr.Dataset, name: str | None = None) -> pd.DataFrame:
    """Return a table of a result.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings.
    name
        E.g. ``sensitivity``; None is the first table of the analysis.

    Returns
    -------
    frame
        Tidy: one row an observation, labels in columns.

    Raises
    ------
    BadName
        A table that does not exist.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> table(simulate_cube(n_runs=4), "means").columns.tolist()
    ['collection', 'metric', 'gain', 'run', 'team', 'mean', 'n_topics']
    """
    return view_of_result(result).find_table(name)[1].make(result)


def figure(result: xr.Dataset, gain: str | None = None) -> Figure:
    """Return the figure of a result.

    Parameters
    ----------
    result
        A result of an analysis.
    gain
        Gain setting that is drawn; the first by default.

    Returns
    -------
    figure
        A matplotlib figure.

    Raises
    ------
    BadName
        A result of an analysis that has no figure.
    """
    view = view_of_result(result)
    if view.figure is None:
        raise BadName(no_figure(view))
    return view.draw(result, gain)


def headline(result: xr.Dataset) -> list[str]:
    """Return the main findings of a result, the most important first."""
    return view_of_result(result).headline(result)


def no_figure(view: View) -> str:
    """Return the text of the error for a figure that does not exist."""
    return f"{view.name} has no figure; its tables: {', '.join(view.tables)}"

"""Tables for papers, in LaTeX or Markdown, with a caption, or printed as in papers; references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import COLLECTION, KEYS, frame_of, merge_gains, place_of, trait
from scorecube.collection.arguments import MetricLike, as_cube, labels
from scorecube.declare import Table, View
from scorecube.errors import BadPlan, counted
from scorecube.methods import index
from scorecube.report.markup import Fit, marked
from scorecube.report.result_parts import conditions, of_metrics, select_rows, view_of_result
from scorecube.report.text_tables import render
from scorecube.report.views import joins_collections

CAPTIONED = ("latex", "markdown")
ENTRY = re.compile(r"^@\w+\{(\w+),.*$", re.MULTILINE)


def latex(
    result: xr.Dataset,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    top: int | None = None,
    *,
    metrics: Sequence[MetricLike] | None = None,
    digits: int | None = None,
    width: Fit | None = None,
) -> str:
    r"""Return a table of a result in LaTeX (booktabs), with a caption, for a paper.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings.
    table
        E.g. ``matrix``; None is the first table of the analysis.
    columns
        Names of columns, or of limits such as ``mean_limits`` and ``rank_set``; the first six by
        default. Limits stand beside their estimate.
    top
        The first rows of each metric.
    metrics
        Metrics to show, in this order; all by default.
    digits
        Decimals of numbers; by default those that limits allow.
    width
        ``column`` or ``page`` of an article of two columns, into which it is made to fit.

    Returns
    -------
    text
        A ``table`` environment; ``table*`` for a page.

    Raises
    ------
    UnknownName
        A table, a column or a metric that does not exist.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=2, metrics=("AP",))
    >>> print(latex(cube, columns=["run", "mean"]).splitlines()[3])
    \begin{tabular}{lr} % \usepackage{booktabs}
    """
    return _text("latex", result, table, columns, top, metrics, digits, width)


def markdown(
    result: xr.Dataset,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    top: int | None = None,
    *,
    metrics: Sequence[MetricLike] | None = None,
    digits: int | None = None,
) -> str:
    """Return a table of a result in Markdown, with a caption.

    Parameters
    ----------
    result, table, columns, top, metrics, digits
        As of `latex`; all columns by default.

    Returns
    -------
    text
        The caption and the table.

    Raises
    ------
    UnknownName
        A table, a column or a metric that does not exist.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=2, metrics=("AP",))
    >>> print(markdown(cube, columns=["run", "mean"], top=1).splitlines()[2])
    | run         |   mean |
    """
    return _text("markdown", result, table, columns, top, metrics, digits)


def _text(
    form: str,
    result: xr.Dataset,
    name: str | None,
    columns: Sequence[str] | None,
    top: int | None,
    metrics: Sequence[MetricLike] | None,
    digits: int | None,
    fit: Fit | None = None,
) -> str:
    if COLLECTION in result.dims and not joins_collections(str(result.attrs.get("analysis"))):
        raise BadPlan(
            f"{form} has a caption, which is about one result; found results of several "
            "collections: give study[name].result(analysis), or use table(...)"
        )
    view = view_of_result(result)
    result = as_cube(result)
    table = view.find_table(name, [result])
    columns = None if columns is None else labels("columns", columns)
    frame = merge_gains(frame_of(table, of_metrics(result, metrics)))
    shown = select_rows(frame, top=top)
    above = caption(view, table, [result], shown, form)
    return render(shown, form, columns=columns, caption=above, digits=digits, fit=fit)


def caption(
    view: View, table: Table, results: Sequence[xr.Dataset], frame: pd.DataFrame, form: str
) -> str:
    """Return the caption of a table in one sentence: what was computed of what."""
    facts = [_sizes(of) | of.attrs for of in results]
    collections = filter(None, (place_of(of.attrs) for of in results))
    place = ", ".join(collections) if len(facts) <= 3 else counted(len(facts), "collection")
    roles = trait(frame, "role")
    words = [conditions(*facts)]
    for name in map(str, frame.columns):
        value = frame[name].iloc[0] if frame[name].nunique() == 1 else names.AUTO
        if (name in KEYS[1:] or roles.get(name) == "condition") and value != names.AUTO:
            words.append(f"{names.heading(name)} {value}")
    about = f"{view.heading}{f', {place}' if place else ''}: {', '.join(filter(None, words))}"
    legend = "" if table.legend is None else table.legend(facts[0])
    return marked(f"{'; '.join(filter(None, [about, legend]))}.", form)


def _sizes(result: xr.Dataset) -> dict[str, int]:
    """Return the numbers of runs and topics, of scores, as results have them in attributes."""
    dims = [dim for dim in (names.RUN, names.TOPIC) if dim in result.dims]
    return {f"n_{dim}s": result.sizes[dim] for dim in dims}


@cache
def references() -> dict[str, str]:
    """Return the BibTeX entry of each key."""
    text = files("scorecube").joinpath("data/references.bib").read_text(encoding="utf-8")
    return {found[1]: found[0] for found in ENTRY.finditer(text)}


def reference_keys(analysis: str) -> tuple[str, ...]:
    """Return the keys of the references of an analysis."""
    method = index.find(analysis)
    return () if method is None else method.references


def software() -> str:
    """Return the BibTeX entry of this version."""
    return f"@software{{scorecube, title = {{scorecube}}, version = {{{version('scorecube')}}}}}"

"""Tables for papers: in LaTeX or Markdown, with a caption that says what was compared, how, and whom to cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.arguments import as_cube, labels
from scorecube.errors import counted
from scorecube.report.columns import KEYS, printed_columns, trait_of_columns
from scorecube.report.phrases import noun
from scorecube.report.results import of_metrics, options_of_result, view_of_result
from scorecube.report.study_overview import find_view
from scorecube.report.table_rows import select_rows
from scorecube.report.tables import COLLECTION, Table
from scorecube.report.text_formats import marked, render
from scorecube.report.view import View
from scorecube.storage import Study, in_order

FORMATS = ("latex", "markdown")
EXPLAINED = ("estimate", "share", "p_value", "statistic", "standard_error")
"""Roles of columns that a caption explains."""


def latex(
    result: xr.Dataset,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    top: int | None = None,
    *,
    metrics: Sequence[Any] | None = None,
) -> str:
    r"""Return a table of a result in LaTeX (booktabs), with a caption, for a paper; ``scorecube show --format latex`` prints the same.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings.
    table
        E.g. ``matrix``; None is the first table of the analysis.
    columns
        Names of columns, or of intervals such as ``mean_limits`` and ``rank_set``; all by default. Limits stand beside their estimate.
    top
        The first rows of each metric.
    metrics
        Metrics to show, in this order; all by default.

    Returns
    -------
    text
        A ``table`` environment. The caption cites by the keys of the references in the report.

    Raises
    ------
    BadName
        A table, a column or a metric that does not exist.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> print(latex(simulate_cube(n_runs=2, metrics=("AP",)), columns=["run", "mean"]).splitlines()[3])
    \begin{tabular}{lr} % \usepackage{booktabs}
    """
    return _text("latex", result, table, columns, top, metrics)


def markdown(
    result: xr.Dataset,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    top: int | None = None,
    *,
    metrics: Sequence[Any] | None = None,
) -> str:
    """Return a table of a result in Markdown, with a caption; ``scorecube show --format markdown`` prints the same.

    Parameters
    ----------
    result, table, columns, top, metrics
        As of `latex`.

    Returns
    -------
    text
        The caption, which cites by names and years, and the table.

    Raises
    ------
    BadName
        A table, a column or a metric that does not exist.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> print(markdown(simulate_cube(n_runs=2, metrics=("AP",)), columns=["run", "mean"], top=1).splitlines()[2])
    | run         |   mean |
    """
    return _text("markdown", result, table, columns, top, metrics)


def _text(
    form: str,
    result: xr.Dataset,
    name: str | None,
    columns: Sequence[str] | None,
    top: int | None,
    metrics: Sequence[Any] | None,
) -> str:
    view, result = view_of_result(result), as_cube(result)
    table = view.find_table(name, [result])[1]
    columns = None if columns is None else labels("columns", columns)
    shown = select_rows(view.frame(table, of_metrics(result, metrics)), top=top)
    above = caption(view, table, [_facts(result)], shown, form, columns)
    return render(shown, form, columns=columns, caption=above)


def _facts(source: xr.Dataset) -> dict[str, Any]:
    sizes = {
        f"n_{dim}s": source.sizes[dim] for dim in (names.RUN, names.TOPIC) if dim in source.dims
    }
    return {**sizes, **source.attrs}


def caption_in_study(
    study: Study,
    analysis: str,
    name: str | None,
    frame: pd.DataFrame,
    form: str,
    columns: Sequence[str] | None = None,
) -> str:
    """Return the caption of a table of the latest results of a study; empty for a format without one.

    study, analysis, name: Of the table.
    frame, form, columns: As of `caption`.
    """
    if form not in FORMATS or COLLECTION not in frame:
        return ""
    view, rows = find_view(study, analysis), study.rows()
    name = name or (view.if_few if names.RUN_A in frame else None) or None
    found = []
    for collection in dict.fromkeys(map(str, frame[COLLECTION])):
        if collection not in rows:
            continue  # a mean over collections
        cube, results = rows[collection].facts["cube"], in_order(rows[collection].results(analysis))
        sizes = {"n_runs": cube["runs"], "n_topics": cube["topics"]}
        found.append(
            {**sizes, **(results[-1]["attributes"] if results else {}), COLLECTION: collection}
        )
    return caption(view, view.find_table(name)[1], found, frame, form, columns) if found else ""


def caption(
    view: View,
    table: Table,
    results: Sequence[Mapping[str, Any]],
    frame: pd.DataFrame,
    form: str,
    columns: Sequence[str] | None = None,
) -> str:
    """Return the caption of a table: what was compared, by what, with how many trials, what columns mean, what to cite.

    view, table: Of an analysis, and one of its tables.
    results: Attributes of the results that the table shows, each with its collection.
    frame: The table.
    form: ``latex``, with keys to cite, or ``markdown``, with names and years.
    columns: Those that are shown; all by default.
    """
    sentences = [_what(view, results, frame), _meanings(frame, columns)]
    sentences.append("" if table.legend is None else table.legend(results[0]))
    sentences.append(f"Computed with scorecube {version('scorecube')}")
    text = marked(" ".join(f"{each}." for each in sentences if each), form)
    from scorecube.report.page.methods import reference_keys, short_reference  # imports the page

    keys = reference_keys(view.name)
    if not keys:
        return text
    cited = (
        f"\\cite{{{','.join(keys)}}}" if form == "latex" else "; ".join(map(short_reference, keys))
    )
    return f"{text} Methods: {cited}."


def _what(view: View, results: Sequence[Mapping[str, Any]], frame: pd.DataFrame) -> str:
    """Return the analysis with its options, collections, sizes and trials."""
    facts, collections = results[0], [str(each.get(COLLECTION, "")) for each in results]
    title = f" ({view.title(options_of_result(facts))})" if "plan" in facts else ""
    listed = (
        ", ".join(collections)
        if len(results) <= 3  # collections that a caption names
        else counted(len(results), "collection")
    )
    words = [
        f"{column} {frame[column].iloc[0]}"
        for column in KEYS[1:]
        if column in frame and frame[column].nunique() == 1 and frame[column].iloc[0] != names.AUTO
    ]
    for name, word in (("n_runs", noun(facts)), ("n_topics", "topic"), ("trials", "trial")):
        if facts.get(name) and len({each.get(name) for each in results}) == 1:
            words.append(counted(int(facts[name]), word))
    words += [f"seed {facts['seed']}"] if facts.get("trials") else []
    return f"{view.heading}{title}{f', {listed}' if listed else ''}: {', '.join(words)}"


def _meanings(frame: pd.DataFrame, columns: Sequence[str] | None) -> str:
    """Return what the columns with estimates, their limits and p-values are."""
    meanings, roles = trait_of_columns(frame, "long_name"), trait_of_columns(frame, "role")
    found = []
    for name, sources in printed_columns(frame, columns, joined=True, without_common=True):
        low, *high = [meanings.get(each, "") for each in sources]
        if high:
            both = low.replace("lower limit", "limits")
            low = f"{low} to {high[0]}" if both == low else both
        if low and (high or roles.get(name) in EXPLAINED):
            found.append(f"{name.replace('_', ' ')}: {low}")
    text = "; ".join(found)
    return text[:1].upper() + text[1:]

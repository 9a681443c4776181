"""Tables, figure and headline of one result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.options import describe_type, has_type, normal_value, options_of
from scorecube.collection.arguments import as_cube, check_dataset, metric_names
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan, CorruptStudy, nearest, option
from scorecube.report.figures.style import Figure
from scorecube.report.findings import Finding
from scorecube.report.tables import combine
from scorecube.report.view import Frames, ResultGroup
from scorecube.report.views import view_of
from scorecube.storage import plan_of, unreadable

if TYPE_CHECKING:
    from scorecube.report.view import View

__all__ = ["figure", "findings", "headline", "table", "view_of_result"]
MOST_ROWS = 5_000
"""Of a table on a page; `scorecube show` prints longer ones."""
MOST_KEPT = 100_000
"""Of an analysis' first table, from which answers and comparisons are made."""


def view_of_result(result: xr.Dataset) -> View:
    """Return the view of the analysis that a result is of; that of scores for a cube or rankings."""
    check_dataset(result, "the result", "analyse, evaluate or cube_from_scores")
    return view_of(str(result.attrs.get("analysis", "scores")))


def table(result: xr.Dataset, name: str | None = None) -> pd.DataFrame:
    """Return a table of a result.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings.
    name
        E.g. ``sensitivity``; None is the first table of the analysis; of paired, the pairs where they are few.

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
    view, result = view_of_result(result), as_cube(result)
    return view.frame(view.find_table(name, [result])[1], result)


def figure(
    result: xr.Dataset,
    gain: str | None = None,
    axes: Any = None,
    metrics: Sequence[Any] | None = None,
) -> Figure:
    """Return the figure of a result.

    Parameters
    ----------
    result
        A result of an analysis.
    gain
        Gain setting that is drawn; the first by default.
    axes
        Where a figure of one panel is drawn; None for a figure of its own.
    metrics
        Metrics that are drawn, in this order; by default the first of a figure that has a panel for each, else all.

    Returns
    -------
    figure
        A matplotlib figure.

    Raises
    ------
    BadName
        A result of an analysis that has no figure.
    BadPlan
        Axes, and a figure of several panels.
    """
    view, result = view_of_result(result), as_cube(result)
    if view.figure is None:
        raise BadName(no_figure(view))
    if not view.by_metric or names.METRIC not in result.dims:
        return view.draw(of_metrics(result, metrics), gain, axes)
    shown = labels_of(of_metrics(result, metrics), names.METRIC)[: 1 if metrics is None else None]
    if len(shown) == 1:
        return view.draw(of_metrics(result, shown), gain, axes)
    from scorecube.report.figures.canvas import stacked

    return stacked(view.draw, [of_metrics(result, [name]) for name in shown], gain)


def of_metrics(result: xr.Dataset, metrics: Sequence[Any] | None) -> xr.Dataset:
    """Return the part of a result, or of a cube, that is about some metrics; of comparisons of two metrics those of both.

    metrics: In the order of the part; None for all.
    Raises BadName: A metric that the result does not have.
    Raises BadPlan: A result without metrics.
    """
    if metrics is None:
        return result
    if names.METRIC not in result.coords:
        raise BadPlan(
            f"{result.attrs.get('analysis', 'this result')} has no metrics to choose from; leave {option('metrics')} out",
            option="metrics",
        )
    known = np.atleast_1d(result[names.METRIC].values).tolist()
    chosen = [
        each if each in known else str(parse_known(each))
        for each in metric_names("metrics", metrics)
    ]
    for metric in chosen:
        if metric not in known:
            raise BadName(
                f"no metric {metric!r} in the result; nearest: {nearest(metric, known)}",
                option="metrics",
            )
    for name in ("metric_a", "metric_b"):
        if name in result.coords:
            (dim,) = result[name].dims
            result = result.isel({dim: np.isin(result[name].values.astype(str), chosen)})
    return result.sel({names.METRIC: chosen})


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of a result that are not too long for a page, each made when it is first asked for; of several results one below the other.

    results: One of an analysis, or one of each of several collections.
    """

    def __init__(self, *results: xr.Dataset) -> None:
        self._results, self._view = results, view_of_result(results[0])
        self._made: dict[str, pd.DataFrame] = {}
        self.rows = {
            name: max(table.rows(each) for each in results)
            for name, table in self._view.tables.items()
        }
        """Rows of all tables, of the result with most; of some more or less, until they are made."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._made:
            if self.rows[name] > most_rows(self._view, name):
                raise KeyError(name)
            frames = [self._view.frame(self._view.tables[name], each) for each in self._results]
            self.rows[name] = max(map(len, frames))
            self._made[name] = frames[0] if len(frames) == 1 else combine(frames)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, rows in self.rows.items() if rows <= most_rows(self._view, name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def options_of_result(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a stored result by name.

    attributes: Of the result, with its plan.
    Raises CorruptStudy: An option is missing, or has another type.
    """
    options: dict[str, Any] = plan_of(attributes)["options"]
    name = attributes.get("analysis")
    known = options_of(registry.load(name)) if name in registry.names() else {}
    for each in known.values():
        value = options.get(each.name)
        if not has_type(normal_value(value), each.type):
            error = TypeError(f"{each.name} is {value!r:.60}, expected {describe_type(each.type)}")
            raise CorruptStudy(unreadable(f"the options of {name}", error))
    return options


def most_rows(view: View, name: str) -> int:
    """Return the most rows of a table that a page keeps: `MOST_KEPT` for the first one of an analysis, otherwise `MOST_ROWS`."""
    return MOST_KEPT if name == view.first_table else MOST_ROWS


def headline(result: xr.Dataset) -> list[str]:
    """Return the main findings of a result in sentences, the most important first."""
    return [each.sentence for each in findings(result)]


def findings(results: xr.Dataset | Sequence[xr.Dataset]) -> list[Finding]:
    """Return what a result says, or several results with equal options together.

    Parameters
    ----------
    results
        One result of an analysis; or results of one analysis, each with its attribute ``collection``: the answers to the questions that
        the analysis is for, over all collections, then what else each of them says.

    Returns
    -------
    findings
        Sentences with the numbers that they are made of: the estimate with its limits and their confidence, or a caution that says why
        it has none.

    Raises
    ------
    BadPlan
        No results, or results of several analyses.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> result = sc.analyse(simulate_cube(n_runs=4), sc.Swap(), trials=20, seed=1)
    >>> sc.findings(result)[0].confidence
    0.95
    """
    several = [results] if isinstance(results, xr.Dataset) else list(results)
    kinds = {str(each.attrs.get("analysis", "scores")) for each in several}
    if len(kinds) != 1:
        raise BadPlan(
            f"results of one analysis are needed; found {', '.join(sorted(kinds)) or 'none'}"
        )
    return list(findings_of(several, Tables(*several)))


def findings_of(results: Sequence[xr.Dataset], frames: Frames) -> Iterator[Finding]:
    """Yield what results of one analysis with equal options say, as of `findings`.

    results: One of each collection.
    frames: Their tables, over all collections.
    """
    view, attrs = view_of_result(results[0]), results[0].attrs
    title = view.title(options_of_result(attrs)) if "plan" in attrs else ""
    return view.found(ResultGroup(view.heading, title, frames, results))


def no_figure(view: View) -> str:
    """Return the text of the error for a figure that does not exist."""
    return f"{view.name} has no figure; its tables: {', '.join(view.tables)}"

"""Tables and figures of results in memory, as `import scorecube` offers them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.joined import BY_COLLECTION, parts_of
from scorecube.collection.arguments import MetricLike, as_cube, labels
from scorecube.errors import BadName, BadPlan, ScorecubeError, option
from scorecube.methods import index
from scorecube.report.averages import averages
from scorecube.report.result_parts import of_metrics, select_rows
from scorecube.report.result_parts import table as table_of
from scorecube.report.text_tables import data_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ResultsLike = xr.Dataset | xr.DataArray | xr.DataTree
"""A result, a cube or rankings; or those of several collections."""


class FigureOptions(TypedDict, total=False):
    """Options of `figure` beside the axes, which decide what it returns."""

    metrics: Sequence[MetricLike] | None
    by: Literal["sampling", "gain"] | None
    kind: Literal["curves", "bars"]
    top: int | None
    title: str
    size: tuple[float, float] | None


def table(
    result: ResultsLike,
    name: str | None = None,
    *,
    metrics: Sequence[MetricLike] | None = None,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] | None = None,
    top: int | None = None,
    average: bool = False,
) -> pd.DataFrame:
    """Return a table of a result, or of results of several collections.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings. Or results of one analysis: along a dim
        ``collection``, as of `sweep`, or an `xarray.DataTree` by collection.
    name
        E.g. ``sensitivity``; None is the first table of the analysis; of paired, the pairs where
        they are few.
    metrics
        Metrics to show, in this order; all by default.
    columns
        Columns to keep, in this order, intervals by names such as ``mean_limits``; all by default.
    sort
        Columns to sort by, the most important first; with ``:desc`` the largest values come first.
    top
        First rows to keep: of each metric, gain setting and collection in tables of runs or topics,
        else of each collection.
    average
        Means over the collections, of the rows that all have.

    Returns
    -------
    frame
        Tidy: one row an observation, labels in columns.

    Raises
    ------
    BadName
        A table of several collections whose labels are too many to be joined.
    UnknownName
        A table, a column or a metric that does not exist.

    See Also
    --------
    latex, markdown : The same with a caption, in digits that the limits allow.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=4)
    >>> table(cube, "means", sort=["mean:desc"], top=1).columns.tolist()
    ['collection', 'metric', 'gain', 'run', 'team', 'mean', 'n_topics']
    """
    frames = []
    for part in _by_collection(result):
        try:
            frames.append(table_of(of_metrics(part, metrics), name))
        except ScorecubeError:
            raise
        except KeyError as error:
            if BY_COLLECTION not in result.attrs:
                raise
            lacking = ", ".join(result.attrs[BY_COLLECTION])
            raise BadName(
                f"a table needs {error}; too many labels differ for {lacking} to be joined: read "
                "the collections one by one: study[name].result(analysis)"
            ) from None
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if average:
        frame = averages(frame)
    frame = select_rows(frame, sort=_listed("sort", sort), top=top)
    return data_columns(frame, _listed("columns", columns))


def _listed(argument: str, texts: Sequence[str] | None) -> list[str] | None:
    return None if texts is None else labels(argument, texts)


def _by_collection(result: ResultsLike) -> list[xr.Dataset]:
    """Return the results of each collection, which know its name, or the one result."""
    if isinstance(result, xr.DataArray):
        return [as_cube(result)]
    if isinstance(result, xr.DataTree) and result.is_leaf:
        result = result.to_dataset()
    if isinstance(result, xr.DataTree):
        kind = rf"(?<=.)/({'|'.join(index.names())})(-\d+)?$"  # of a sweep
        held = [node for node in result.subtree if node.data_vars]
        parts = {re.sub(kind, "", k.path).strip("/"): k.to_dataset() for k in held}
    elif (found := parts_of(result)) is not None:
        parts = found
    elif _is_of_several(result):
        parts = {str(k): result.sel(collection=k, drop=True) for k in result.collection.values}
    else:
        return [result]
    return [part.assign_attrs(collection=label) for label, part in parts.items()]


def _is_of_several(result: object) -> bool:
    """Whether a dim ``collection`` joins scores, or results of an analysis of one collection."""
    if not isinstance(result, xr.Dataset) or names.COLLECTION not in result.dims:
        return False
    name = result.attrs.get("analysis")
    return names.SCORE in result or (name in index.names() and not index.load(name).joins)


@overload
def figure(result: ResultsLike, *, ax: Axes, **options: Unpack[FigureOptions]) -> Axes: ...
@overload
def figure(result: ResultsLike, *, ax: None = None, **options: Unpack[FigureOptions]) -> Figure: ...
def figure(
    result: ResultsLike,
    *,
    metrics: Sequence[MetricLike] | None = None,
    by: Literal["sampling", "gain"] | None = None,
    kind: Literal["curves", "bars"] = "curves",
    top: int | None = None,
    title: str = "",
    size: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Figure | Axes:
    """Return the figure of a result at its first gain setting, drawn as in the papers.

    Parameters
    ----------
    result
        Result of an analysis, e.g. from `analyse`; or of several collections, as of `table`, which
        are drawn side by side.
    metrics
        By default the first of a figure about one, such as the leaderboard, else all.
    by
        Draw the values of ``sampling`` or ``gain`` in one result together.
    kind
        With `by`: ``curves`` in one panel, or ``bars`` of shares.
    top
        Rows with names, as of runs; by default as many as a page has room for.
    title, size
        Of a new figure: text above it instead of its own; width and height in inches.
    ax
        Axes of matplotlib to draw into, for a figure of one panel. Drawn into the same axes,
        several results have different colours and labels.

    Returns
    -------
    figure
        Save it with ``figure.savefig("swap.svg")``; with `ax`, these axes.

    Raises
    ------
    BadName, BadPlan
        An analysis without a figure, or a metric that the result does not have; `ax` for a figure
        of several panels, or together with `size` or `title`; bars without `by`.

    Examples
    --------
    >>> from scorecube import Swap, analyse
    >>> from scorecube.testing import simulate_cube
    >>> result = analyse(simulate_cube(n_runs=4, seed=3), Swap(size=20), trials=20, seed=1)
    >>> len(figure(result, size=(5, 3)).axes) > 0
    True
    """
    from scorecube.report import drawing

    if ax is not None and (size is not None or title):
        text = f"{option('size')} and {option('title')} are of a new figure"
        raise BadPlan(f"{text}; leave them out, or {option('ax')}", option="ax")
    parts = _by_collection(result)
    drawn = drawing.figure(*parts, metrics=metrics, by=by, kind=kind, top=top, axes=ax)
    if ax is not None:
        return ax
    drawing.set_title(drawn, title)
    if size is not None:
        drawn.set_size_inches(*size)
    return drawn

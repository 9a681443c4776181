"""What figures are drawn on: a figure of its own, or axes of the caller; labels, colours and axes that several figures share."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import LogFormatter

from scorecube.errors import BadPlan, option
from scorecube.report.figures.files import draw_figure
from scorecube.report.figures.style import MOST_ROWS, PAGE_HEIGHT, STYLE


class Canvas:
    """Makes the one figure, or takes the axes of the caller, or a part of a figure of several.

    place: Axes of the caller, or a part of a figure; None for a figure of its own.
    analysis: Whose figure it is, for messages.
    n_parts: Number of the parts of the figure.
    Raises BadPlan: No axes.
    """

    def __init__(
        self, place: Axes | SubFigure | None = None, analysis: str = "", n_parts: int = 1
    ) -> None:
        if place is not None and not isinstance(place, Axes | SubFigure):
            raise BadPlan(
                f"{option('ax')}: expected matplotlib Axes, found {type(place).__name__}",
                option="ax",
            )
        self._place, self._analysis = place, analysis
        self.most_rows = MOST_ROWS // n_parts
        """Rows with names that there is room for."""
        self.drawn: Figure | None = None
        """The figure, once it is made."""

    def figure(self, size: tuple[float, float]) -> Figure:
        """Return a new figure, width and height in inches, at most a page; for panels that do not fit into axes of the caller (BadPlan)."""
        if isinstance(self._place, Axes):
            raise BadPlan(
                f"the figure of {self._analysis} is made of panels, which do not fit into one {option('ax')}; leave it out, and choose "
                f"{option('size')}, or draw from the tables",
                option="ax",
            )
        width, height = size
        own: Any = self._place or Figure((width, min(height, PAGE_HEIGHT)), layout="constrained")
        self.drawn = own
        return self.drawn

    def panel(self, size: tuple[float, float]) -> Axes:
        """Return the axes of a figure of one panel: of a new figure of this size, or those of the caller."""
        if not isinstance(self._place, Axes):
            return self.figure(size).add_subplot()
        owner: Any = self._place.figure
        while isinstance(owner, SubFigure):
            owner = owner.figure
        self.drawn = owner
        return self._place

    def grid(self, number: int, columns: int, size: tuple[float, float]) -> list[Axes]:
        """Return panels of a new figure, row by row, in at most so many columns; width and height of the figure in inches. Others are left empty."""
        columns = min(columns, number)
        grid = self.figure(size).subplots(-(-number // columns), columns, squeeze=False)
        for axes in grid.flat[number:]:
            axes.set_axis_off()
        return list(grid.flat[:number])

    def name(self, title: str) -> None:
        """Write a title above all panels."""
        assert self.drawn is not None
        self.drawn.suptitle(title, x=0.01, ha="left", fontsize=9)

    def legend_outside(self, axes: Axes, place: str, columns: int = 1, **options: Any) -> None:
        """Add a legend outside of the axes of a new figure; inside of axes of the caller, whose figure may hold others.

        options: Of the legend of a new figure.
        """
        if isinstance(self._place, Axes) or self.drawn is None:
            axes.legend(ncols=columns, fontsize=8)
            return
        entries, where = axes.get_legend_handles_labels(), cast("Any", f"outside {place}")
        self.drawn.legend(*entries, loc=where, ncols=columns, **options)


def drawn(
    draw: Callable[..., None],
    *arguments: Any,
    axes: Axes | SubFigure | None = None,
    analysis: str = "",
    n_parts: int = 1,
) -> Figure:
    """Return the figure that a function draws, whose first argument is a `Canvas`; arguments as of `Canvas`."""
    canvas = Canvas(axes, analysis, n_parts)
    with rc_context(STYLE):
        draw(canvas, *arguments)
    assert canvas.drawn is not None
    return canvas.drawn


def stacked(draw: Callable[..., Figure], results: Sequence[xr.Dataset], gain: str | None) -> Figure:
    """Draw a figure for each of some results below each other, at most a page high.

    draw: Draws a result at a gain setting into one of so many parts of a figure, or a figure of its own.
    """
    n = len(results)
    width, height = draw(results[0], gain, n_parts=n).get_size_inches()
    drawn = Figure(figsize=(width, min(n * height, PAGE_HEIGHT)), layout="constrained")
    for part, result in zip(drawn.subfigures(n, 1, squeeze=False)[:, 0], results, strict=True):
        draw(result, gain, part, n_parts=n)
    return drawn


def shades(count: int) -> Sequence[Any]:
    """Return colours for an ordered quantity, from dark to light."""
    return list(colormaps["viridis"](np.linspace(0, 0.75, count)))


class LogLabels(LogFormatter):
    """Labels of a logarithmic axis as plain numbers; matplotlib's own are formulas."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick; empty for those that matplotlib leaves out."""
        return f"{x:g}" if super().__call__(x, pos) else ""


def plain_log_labels(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers."""
    axis.set_major_formatter(LogLabels())
    axis.set_minor_formatter(LogLabels(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


class ShownFigure(Figure):
    """A figure with the picture that Jupyter asks for."""

    def _repr_png_(self) -> bytes:
        return draw_figure(self, "png", dpi=110)[0]  # of a screen

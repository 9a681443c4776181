"""What a figure is drawn on: a figure of its own, or axes of the caller, which hold a figure of one panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from scorecube.errors import BadPlan, option
from scorecube.report.figures.direct_labels import direct_labels
from scorecube.report.figures.overlays import keep_apart
from scorecube.report.figures.style import MOST_ROWS, PAGE_HEIGHT, STYLE


class Canvas:
    """Makes the one figure, or takes the axes of the caller, or a part of a figure of several.

    place: Axes of the caller, or a part of a figure; None for a figure of its own.
    analysis: Whose figure it is, for messages.
    parts: Number of the parts of the figure.
    Raises BadPlan: No axes.
    """

    def __init__(
        self, place: Axes | SubFigure | None = None, analysis: str = "", parts: int = 1
    ) -> None:
        if place is not None and not isinstance(place, Axes | SubFigure):
            raise BadPlan(
                f"{option('ax')}: expected matplotlib Axes, found {type(place).__name__}",
                option="ax",
            )
        self._place, self._analysis = place, analysis
        self.most_rows = MOST_ROWS // parts
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

    def legend_outside(self, axes: Axes, place: str, columns: int = 1) -> None:
        """Add a legend outside of the axes of a new figure; inside of axes of the caller, whose figure may hold others."""
        if isinstance(self._place, Axes) or self.drawn is None:
            axes.legend(ncols=columns, fontsize=8)
            return
        handles, labels = axes.get_legend_handles_labels()
        where: Any = f"outside {place}"
        self.drawn.legend(handles, labels, loc=where, ncols=columns)

    def label_curves(self, axes: Axes) -> None:
        """Label curves beside them; by a legend in axes of the caller, where others may be drawn."""
        if isinstance(self._place, Axes):
            axes.legend(fontsize=8)
        else:
            direct_labels(axes)


def drawn(
    draw: Callable[..., None],
    *arguments: Any,
    axes: Axes | SubFigure | None = None,
    analysis: str = "",
    parts: int = 1,
    facts: Mapping[str, Any] | None = None,
) -> Figure:
    """Return the figure that a function draws, whose first argument is a `Canvas`; arguments as of `Canvas`, facts as of `keep_apart`."""
    canvas = Canvas(axes, analysis, parts)
    before = set(axes.get_children()) if isinstance(axes, Axes) else set()
    with rc_context(STYLE):
        draw(canvas, *arguments)
        if isinstance(axes, Axes):
            keep_apart(axes, before, facts or {})
    assert canvas.drawn is not None
    return canvas.drawn


def stacked(
    draw: Callable[..., Figure], parts: Mapping[str, tuple[xr.Dataset, str | None]], by: str = ""
) -> Figure:
    """Draw a figure for each of some results below each other, at most a page high.

    draw: Draws a result at a gain setting into one of so many parts of a figure, or a figure of its own.
    parts: Result and gain setting of each part, by its name.
    by: What the names are, which stand before the titles; empty for titles that name the parts.
    """
    n = len(parts)
    width, height = draw(*next(iter(parts.values())), parts=n).get_size_inches()
    drawn = Figure(figsize=(width, min(n * height, PAGE_HEIGHT)), layout="constrained")
    for part, (name, (result, setting)) in zip(
        drawn.subfigures(n, 1, squeeze=False)[:, 0], parts.items(), strict=True
    ):
        draw(result, setting, part, parts=n)
        if by:
            title = f"{by} {name}: {part.get_suptitle()}".rstrip(": ")
            part.suptitle(title, x=0.01, ha="left", fontsize=9)
    return drawn


def shades(count: int) -> Sequence[Any]:
    """Return colours for an ordered quantity, from dark to light."""
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0, 0.75, count)))

"""What a figure is drawn on: a figure of its own, or axes of the caller, which hold a figure of one panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from scorecube.errors import BadPlan, option
from scorecube.report.figures.style import STYLE


class Canvas:
    """Makes the one figure, or takes the axes of the caller.

    Parameters
    ----------
    axes
        Of the caller; None for a figure of its own.
    analysis
        Whose figure it is, for messages.

    Raises
    ------
    BadPlan
        No axes.
    """

    def __init__(self, axes: Axes | None = None, analysis: str = "") -> None:
        if axes is not None and not isinstance(axes, Axes):
            raise BadPlan(
                f"{option('ax')}: expected matplotlib Axes, found {type(axes).__name__}",
                option="ax",
            )
        self._axes, self._analysis = axes, analysis
        self.drawn: Figure | None = None
        """The figure, once it is made."""

    def figure(self, size: tuple[float, float]) -> Figure:
        """Return a new figure, width and height in inches, for panels that do not fit into axes of the caller (BadPlan)."""
        if self._axes is not None:
            raise BadPlan(
                f"the figure of {self._analysis} is made of panels, which do not fit into one {option('ax')}; leave it out, and choose "
                f"{option('size')}, or draw from the tables",
                option="ax",
            )
        self.drawn = Figure(figsize=size, layout="constrained")
        return self.drawn

    def panel(self, size: tuple[float, float]) -> Axes:
        """Return the axes of a figure of one panel: of a new figure of this size, or those of the caller."""
        if self._axes is None:
            return self.figure(size).add_subplot()
        owner: Figure | SubFigure | None = self._axes.figure
        while isinstance(owner, SubFigure):
            owner = owner.figure
        self.drawn = owner
        return self._axes

    def legend_outside(self, axes: Axes, place: str, columns: int = 1) -> None:
        """Add a legend outside of the axes of a new figure; inside of axes of the caller, whose figure may hold others."""
        if self._axes is not None or self.drawn is None:
            axes.legend(ncols=columns, fontsize=8)
            return
        handles, labels = axes.get_legend_handles_labels()
        where: Any = f"outside {place}"
        self.drawn.legend(handles, labels, loc=where, ncols=columns)


def drawn(
    draw: Callable[..., None], *arguments: Any, axes: Axes | None = None, analysis: str = ""
) -> Figure:
    """Return the figure that a function draws, whose first argument is a `Canvas`; arguments as of `Canvas`."""
    canvas = Canvas(axes, analysis)
    with rc_context(STYLE):
        draw(canvas, *arguments)
    assert canvas.drawn is not None
    return canvas.drawn


def shades(count: int) -> Sequence[Any]:
    """Return colours for an ordered quantity, from dark to light."""
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0, 0.75, count)))

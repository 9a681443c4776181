"""Figures of one panel: in a figure of their own, or in axes of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from scorecube.errors import BadPlan, option


@dataclass
class _Target:
    """Axes of the caller, and whether a figure has been drawn into them."""

    axes: Axes
    used: bool = False


_TARGET: ContextVar[_Target | None] = ContextVar("target", default=None)


@contextmanager
def drawn_into(axes: Axes, analysis: str) -> Iterator[None]:
    """Let `single_panel` return axes of the caller.

    Parameters
    ----------
    axes
        Where figures of one panel are drawn.
    analysis
        Whose figure it is, for the message.

    Raises
    ------
    BadPlan
        No axes; or the figure was drawn in panels of its own.
    """
    if not isinstance(axes, Axes):
        raise BadPlan(
            f"{option('ax')}: expected matplotlib Axes, found {type(axes).__name__}", option="ax"
        )
    target = _Target(axes)
    token = _TARGET.set(target)
    try:
        yield
    finally:
        _TARGET.reset(token)
    if not target.used:
        raise BadPlan(
            f"the figure of {analysis} is made of panels, which do not fit into one {option('ax')}; leave it out, and choose "
            f"{option('size')}, or draw from the tables",
            option="ax",
        )


def single_panel(size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return the axes in which a figure of one panel is drawn, and their figure.

    Parameters
    ----------
    size
        Width and height of a new figure in inches.

    Returns
    -------
    figure, axes
        New, or those of the caller, see `drawn_into`.
    """
    target = _TARGET.get()
    if target is None:
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.add_subplot()
    target.used = True
    owner: Figure | SubFigure | None = target.axes.figure
    while isinstance(owner, SubFigure):
        owner = owner.figure
    assert owner is not None
    return owner, target.axes


def legend_outside(figure: Figure, axes: Axes, place: str, columns: int = 1) -> None:
    """Add a legend outside of the axes of a new figure; inside of axes of the caller, whose figure may hold others."""
    if _TARGET.get() is not None:
        axes.legend(ncols=columns, fontsize=8)
        return
    handles, labels = axes.get_legend_handles_labels()
    where: Any = f"outside {place}"
    figure.legend(handles, labels, loc=where, ncols=columns)

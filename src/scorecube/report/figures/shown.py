"""Figures that notebooks show."""

from __future__ import annotations

from matplotlib.figure import Figure

from scorecube.report.figures.files import draw_figure

DPI = 110
"""Pixels of an inch on a screen."""


class ShownFigure(Figure):
    """A figure with the picture that Jupyter asks for."""

    def _repr_png_(self) -> bytes:
        """Return the figure as PNG."""
        return draw_figure(self, "png", dpi=DPI)[0]

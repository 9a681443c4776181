"""Labels of axes."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.ticker import LogFormatter, MaxNLocator


class LogLabels(LogFormatter):
    """Labels of a logarithmic axis as plain numbers; matplotlib's own are formulas."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick; empty for those that matplotlib leaves out."""
        return f"{x:g}" if super().__call__(x, pos) else ""


def plain_log_labels(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers."""
    axis.set_major_formatter(LogLabels())
    axis.set_minor_formatter(LogLabels(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def whole_number_labels(axis: Axis) -> None:
    """Label an axis with whole numbers."""
    axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter("{x:,.0f}")

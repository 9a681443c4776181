"""The style of all figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis as Axis
    from matplotlib.figure import Figure as Figure
else:
    Axes = Axis = Figure = Any  # for annotations of views: matplotlib takes long to load

STYLE: Any = {
    # Names are shown as they are: a dollar sign begins no formula, and no program reads them.
    "text.parse_math": False,
    "text.usetex": False,
    "font.size": 9,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none",
    # TrueType, which journals ask for; matplotlib's default is Type 3.
    "pdf.fonttype": 42,
    "svg.hashsalt": "scorecube",
    "legend.frameon": False,
}
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#9467bd"),
    *("#8c564b", "#17becf", "#000000", "#b8b000", "#7b0031", "#1b5e20", "#ff7f9f"),
)
"""Distinguishable with colour vision deficiency (Okabe and Ito), then further ones."""
MARKERS = "osD^vPX<>*phdH8"
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (3, 3)),
)
"""Lines of neighbours differ, so that of two that coincide both are seen."""
CURVE_DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
"""Lines of metrics that share a colour."""


def curve_style(k: int, size: float, width: float = 0.0) -> dict[str, Any]:
    """Return colour, marker, its size, and width of the curve of a metric, or of another of several things, by its number; in points."""
    style = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
    return {**style, "markersize": size, "linewidth": width}


def line_style(k: int) -> dict[str, Any]:
    """Return colour and dashes of the curve of a metric without markers, by its number."""
    dashes = CURVE_DASHES[k // len(COLOURS) % len(CURVE_DASHES)]
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": dashes}


def level_lines(axes: Axes, levels: Mapping[float, str]) -> None:
    """Draw dashed lines at some levels, with words at the right end of each."""
    for level, words in levels.items():
        axes.axhline(level, linestyle="--", linewidth=0.8, color="0.4")
        place: Any = ("axes fraction", "data")
        style: Any = {"fontsize": 8, "color": "0.4", "ha": "right", "va": "bottom"}
        axes.annotate(words, (1.0, level), xycoords=place, **style)


TICKS = 11
FIGURE_SIZE = (7.2, 4.2)
PAGE_HEIGHT, MOST_ROWS = 9.5, 60
"""Inches, and rows with names, of a printed page."""


def round_ticks(axis: Axis, most: int = 10, *, whole: bool = False, fewest: int = 2) -> None:
    """Place ticks at round numbers, at whole ones if asked for."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=whole, min_n_ticks=fewest))

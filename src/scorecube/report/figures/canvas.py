"""What figures are drawn on: a figure of its own, or axes of the caller; labels, colours and axes that several figures share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr
from matplotlib import colormaps, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from scorecube.errors import BadPlan, option
from scorecube.report.figures.files import draw_figure
from scorecube.report.figures.style import COLOURS, MOST_ROWS, PAGE_HEIGHT, STYLE


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

    def grid(
        self, number: int, columns: int, size: tuple[float, float], **shared: Any
    ) -> list[Axes]:
        """Return panels of a new figure, row by row, in at most so many columns; width and height of the figure in inches. Others are left empty."""
        columns = min(columns, number)
        grid = self.figure(size).subplots(-(-number // columns), columns, squeeze=False, **shared)
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
    n_parts: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Figure:
    """Return the figure that a function draws, whose first argument is a `Canvas`; arguments as of `Canvas`, options as of `keep_apart`."""
    canvas = Canvas(axes, analysis, n_parts)
    before = set(axes.get_children()) if isinstance(axes, Axes) else set()
    with rc_context(STYLE):
        draw(canvas, *arguments)
        if isinstance(axes, Axes):
            keep_apart(axes, before, options or {})
    assert canvas.drawn is not None
    return canvas.drawn


def stacked(
    draw: Callable[..., Figure], panels: Mapping[str, tuple[xr.Dataset, str | None]], by: str = ""
) -> Figure:
    """Draw a figure for each of some results below each other, at most a page high.

    draw: Draws a result at a gain setting into one of so many parts of a figure, or a figure of its own.
    panels: Result and gain setting of each part, by its name.
    by: What the names are, which stand before the titles; empty for titles that name the panels.
    """
    n = len(panels)
    width, height = draw(*next(iter(panels.values())), n_parts=n).get_size_inches()
    drawn = Figure(figsize=(width, min(n * height, PAGE_HEIGHT)), layout="constrained")
    for part, (name, (result, setting)) in zip(
        drawn.subfigures(n, 1, squeeze=False)[:, 0], panels.items(), strict=True
    ):
        draw(result, setting, part, n_parts=n)
        if by:
            title = f"{by} {name}: {part.get_suptitle()}".rstrip(": ")
            part.suptitle(title, x=0.01, ha="left", fontsize=9)
    return drawn


def shades(count: int) -> Sequence[Any]:
    """Return colours for an ordered quantity, from dark to light."""
    return list(colormaps["viridis"](np.linspace(0, 0.75, count)))


@dataclass(frozen=True)
class Overlay:
    """What one result has drawn into axes: its options, its labelled artists with their own labels, and its title."""

    options: Mapping[str, Any]
    labelled: Mapping[Artist, str]
    title: str


_OVERLAYS: WeakKeyDictionary[Axes, list[Overlay]] = WeakKeyDictionary()


def keep_apart(axes: Axes, before: set[Artist], options: Mapping[str, Any]) -> None:
    """Give what was drawn into axes colours and labels that earlier results there do not have.

    axes: Of the caller.
    before: What they held before the result was drawn.
    options: Options and collection of the result: labels name those that differ, or count where none does.
    """
    new = [each for each in axes.get_children() if each not in before]
    named = {each: str(each.get_label()) for each in new}
    labelled = {each: label for each, label in named.items() if label and label[0] != "_"}
    overlays = _OVERLAYS.setdefault(axes, [])
    taken = sum(len(set(each.labelled.values())) for each in overlays)
    earlier = {label: each for one in overlays for each, label in one.labelled.items()}
    overlays.append(Overlay(options, labelled, axes.get_title(loc="left")))
    if len(overlays) == 1:
        return
    for each in new:
        _shift_colours(each, taken)
    differing = [
        name for name in options if len({repr(each.options.get(name)) for each in overlays}) > 1
    ]
    for artist, label in list(labelled.items()) if differing else ():
        first = earlier.get(label)
        if (
            isinstance(artist, Line2D)
            and isinstance(first, Line2D)
            and np.array_equal(artist.get_xydata(), first.get_xydata(), equal_nan=True)
        ):
            artist.remove()
            labelled[first] = labelled.pop(artist)
    places: dict[tuple[Artist, str], list[str]] = {}
    for number, overlay in enumerate(overlays, 1):
        words = [str(overlay.options.get(name)) for name in differing] or [str(number)]
        for drawn in overlay.labelled.items():
            places.setdefault(drawn, []).append(", ".join(words))
    for (owner, label), found in places.items():
        owner.set_label(f"{label} ({'; '.join(found)})" if len(found) < len(overlays) else label)
    axes.set_title(
        "\n".join(dict.fromkeys(each.title for each in overlays)), loc="left", fontsize=8
    )
    low, high = axes.get_ylim()
    if low < high:  # room for the higher of them
        axes.relim()
        axes.autoscale(axis="y")
        axes.set_ylim(min(low, *axes.get_ylim()) if low else low)
    if axes.get_legend() is not None:
        axes.legend(fontsize=8)


def _shift_colours(artist: Any, places: int) -> None:
    """Give an artist in colours of `COLOURS` those that stand so many places behind."""
    for name in ("color", "markerfacecolor") if hasattr(artist, "get_color") else ("facecolor",):
        if not hasattr(artist, f"get_{name}"):
            continue
        shades = [to_hex(each) for each in to_rgba_array(getattr(artist, f"get_{name}")())]
        if len(shades) == 1 and shades[0] in COLOURS:
            place = (COLOURS.index(shades[0]) + places) % len(COLOURS)
            getattr(artist, f"set_{name}")(COLOURS[place])


MOST = 15
"""Curves that are labelled directly; of more there is a legend."""


def direct_labels(axes: Axes) -> None:
    """Label the curves of falling lines in a column at the right, in their order, each with a thin line to its curve.

    axes: With its lines drawn and its limits set; lines whose labels begin with an underscore have no label.
    """
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    if len(lines) > MOST:
        axes.legend(ncols=-(-len(lines) // MOST), fontsize=7)
        return
    (left, right), top = axes.get_xlim(), axes.get_ylim()[1]
    lines.sort(
        key=lambda line: -float(_values(line)[1].sum())
    )  # falling curves, from right to left
    place, gap = left + 0.72 * (right - left), 0.008 * (right - left)
    ways, colours = [], []
    for k, line in enumerate(lines):
        # Labels stand so far apart, as a share of the axis.
        level, colour = (0.92 - 0.055 * k) * top, line.get_color()
        label = axes.text(
            place,
            level,
            str(line.get_label()),
            color=colour,
            fontsize=8.5,
            fontweight="bold",
            va="center",
        )
        label.set_in_layout(False)  # it stands between the axes
        at = _crossing(line, level)
        ways.append([at, (place - gap if at[0] < place else at[0], level)])
        colours.append(colour)
    # One collection of lines takes a tenth of the time of arrows.
    axes.add_collection(
        LineCollection(ways, colors=colours, linewidths=0.6, alpha=0.6), autolim=False
    )


def _values(line: Line2D) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a line that have a value."""
    x, y = (np.asarray(each, float) for each in (line.get_xdata(), line.get_ydata()))
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]


def _crossing(line: Line2D, level: float) -> tuple[float, float]:
    """Return the last point at which a line is at a level or above; its first point if it is below everywhere."""
    x, y = _values(line)
    if not len(x):
        return 0.0, level
    above = np.flatnonzero(y >= level)
    if not len(above):
        return float(x[0]), float(y[0])
    k = int(above[-1])
    if k + 1 == len(x):
        return float(x[k]), float(y[k])
    share = (y[k] - level) / (y[k] - y[k + 1])
    return float(x[k] + share * (x[k + 1] - x[k])), level


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

"""Figures of results: one style, the canvas they are drawn on, comparisons, files."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from scorecube import names
from scorecube.analyses.frames import COLLECTION, place_of
from scorecube.collection.arguments import MetricLike, as_cube
from scorecube.collection.schema import labels_of
from scorecube.declare import View
from scorecube.errors import BadName, BadPlan, option, visible
from scorecube.files import check_target, write_file
from scorecube.report.readable import shorten
from scorecube.report.result_parts import conditions, gain_of, of_metrics, view_of_result

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
    "pdf.fonttype": 42,  # TrueType, which journals ask for
    "svg.hashsalt": "scorecube",
    "legend.frameon": False,
}
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#9467bd"),
    *("#8c564b", "#17becf", "#000000", "#b8b000", "#7b0031", "#1b5e20", "#ff7f9f"),
)
"""Distinguishable with colour vision deficiency (Okabe and Ito), then further ones."""
MARKERS = "osD^vPX<>*phdH8"
DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
FIGURE_SIZE = (7.2, 4.2)
PAGE_HEIGHT = 9.5
MOST_ROWS = 60
"""Inches, and rows with names, of a printed page."""
LONGEST = 30
LONGEST_TITLE = 98
"""Characters of a label, and of a line of a title."""
ABOVE: Any = {"x": 0.01, "ha": "left", "fontsize": 9}
"""Style of a title above all panels."""
LABELLED = tuple(map("".join, product((names.METRIC, names.GAIN, names.RUN), ("", "_a", "_b"))))
SUFFIXES = (".png", ".svg", ".pdf")


def title_of(result: xr.Dataset, *words: str) -> str:
    """Return collection, conditions and gain setting of a result in a line or two."""
    place = place_of(result.attrs)
    gain = gain_of(result)
    setting = f"gains {gain}" if gain else ""
    facts = ", ".join(filter(None, [*words, conditions(result.attrs), setting]))
    return textwrap.fill(": ".join(filter(None, [place, facts])), LONGEST_TITLE)


class Canvas:
    """Makes the one figure, or takes the axes of the caller, or a part of a figure of several.

    place: The axes or the part; None for a new figure.
    analysis: That is drawn.
    top: Rows with names; None for as many as a page has room for.
    """

    colours = COLOURS
    size = FIGURE_SIZE
    title_of = staticmethod(title_of)

    def __init__(
        self, place: Axes | SubFigure | None = None, analysis: str = "", top: int | None = None
    ) -> None:
        self._place: Any = place
        self._analysis = analysis
        self.most_rows = top or MOST_ROWS
        self.in_axes = isinstance(place, Axes)
        self.first = 0
        """Number of curves that stand there before."""
        self.drawn: Any = None
        """The figure, once it is made."""

    def figure(self, size: tuple[float, float]) -> Any:
        """Return a new figure, width and height in inches, at most a page; refuse axes."""
        if self.in_axes:
            raise BadPlan(
                f"the figure of {self._analysis} is made of panels, which do not fit into one "
                f"{option('ax')}; leave it out, or draw from the tables",
                option="ax",
            )
        width = size[0]
        height = min(size[1], PAGE_HEIGHT)
        self.drawn = self._place or ShownFigure((width, height), layout="constrained")
        return self.drawn

    def panel(self, size: tuple[float, float] = FIGURE_SIZE) -> Axes:
        """Return the axes of a figure of one panel: of a new figure, or those of the caller."""
        if not self.in_axes:
            new: Axes = self.figure(size).add_subplot()
            return new
        labels = [str(line.get_label()) for line in self._place.lines]
        self.first = sum(not label.startswith("_") for label in labels)
        self.drawn = self._place.get_figure(root=True)
        axes: Axes = self._place
        return axes

    def curve(self, k: int, size: float = 0.0, width: float = 1.2) -> dict[str, Any]:
        """Return the style of the curve of a metric by its number; with a marker of some size."""
        place = self.first + k
        dashes = DASHES[place % len(DASHES) if not size else place // len(COLOURS) % len(DASHES)]
        style = {"color": COLOURS[place % len(COLOURS)], "linewidth": width, "linestyle": dashes}
        if size:
            style |= {"marker": MARKERS[place % len(MARKERS)], "markersize": size}
        return style

    def name(self, result: xr.Dataset, *words: str) -> None:
        """Write collection and conditions above all panels, or above the axes of the caller."""
        if self.in_axes:
            self._place.set_title(title_of(result, *words))
        else:
            self.drawn.suptitle(title_of(result, *words), **ABOVE)

    def legend_outside(self, axes: Axes, place: str, columns: int = 1) -> None:
        """Add a legend outside of the axes of a new figure; inside of axes of the caller."""
        if self.in_axes:
            axes.legend(ncols=columns, fontsize=8)
            return
        entries: Any = axes.get_legend_handles_labels()
        self.drawn.legend(*entries, loc=f"outside {place}", ncols=columns, fontsize=8)

    def shares(self, frame: pd.DataFrame, results: Sequence[xr.Dataset], label: str) -> None:
        """Draw the share of each metric in each collection in percent as bars."""
        collections = list(dict.fromkeys(frame[COLLECTION]))
        labels = (labels_of(result, names.METRIC) for result in results)
        metrics = dict.fromkeys(chain.from_iterable(labels))
        axes = self.figure(FIGURE_SIZE).add_subplot()
        places = np.arange(len(collections))
        width = 0.8 / max(len(metrics), 4)
        for k, metric in enumerate(metrics):
            rows = frame[frame[names.METRIC] == metric].set_index(COLLECTION)
            shares = 100 * rows["share"].reindex(collections).fillna(0).to_numpy(float)
            left = places + (k - (len(metrics) - 1) / 2) * width
            colour = self.curve(k)["color"]
            axes.bar(left, shares, width * 0.92, label=metric, color=colour)
        turned = 90 if sum(map(len, collections)) > LONGEST_TITLE else 0
        axes.set_xticks(places, collections, rotation=turned)
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(label)
        columns = max(1, min(6, 84 // (max(map(len, metrics), default=0) + 6)))
        self.drawn.legend(ncols=columns, loc="outside lower left")


class ShownFigure(Figure):
    """A figure with the picture that Jupyter asks for."""

    def _repr_png_(self) -> bytes:
        return drawn_bytes(self, "png", dpi=110)


def drawn(
    function: Callable[..., None],
    *arguments: object,
    axes: Axes | None = None,
    analysis: str = "",
    top: int | None = None,
) -> Figure:
    """Return the figure that a function draws, whose first argument is a `Canvas`."""
    canvas = Canvas(axes, analysis, top)
    with rc_context(STYLE):
        function(canvas, *arguments)
    figure: Figure = canvas.drawn
    return figure


def set_title(figure: Figure, title: str) -> Figure:
    """Return a figure with another title, if it is not empty: of its one panel, or above all."""
    title = figure_label(title, LONGEST_TITLE)
    if title and (len(figure.axes) > 1 or figure.get_suptitle()):
        figure.suptitle(title, **ABOVE)
    elif title:
        figure.axes[0].set_title(title)
    return figure


def figure_label(text: str, most: int = LONGEST) -> str:
    """Return a short text on one line; an underscore in front would keep it out of legends."""
    return " " * text.startswith("_") + shorten(visible(text), most)


def figure_labels(labels: Iterable[str]) -> dict[str, str]:
    r"""Return for each label the text that stands for it in a figure; different ones differ."""
    texts: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        text = plain = figure_label(label)
        number = 2
        while text in texts.values():
            text = f"{plain} ({number})"
            number = number + 1
        texts[label] = text
    return texts


def with_figure_labels(results: Sequence[xr.Dataset]) -> list[xr.Dataset]:
    """Return results with the labels that figures show."""
    coords = [name for name in LABELLED if name in results[0].coords and results[0][name].ndim == 1]
    labels_of_all = (labels_of(result, name) for name, result in product(coords, results))
    texts = figure_labels(chain.from_iterable(labels_of_all))
    shown = []
    for result in results:
        labels = {
            name: (result[name].dims, [texts[label] for label in labels_of(result, name)])
            for name in coords
        }
        known = [key for key in (COLLECTION, "baseline") if key in result.attrs]
        attrs = {key: figure_label(str(result.attrs[key])) for key in known}
        shown.append(result.assign_coords(labels).assign_attrs(attrs))
    return shown


def figure(
    *results: xr.Dataset,
    metrics: Sequence[MetricLike] | None = None,
    by: str | None = None,
    kind: str = "curves",
    top: int | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Return the figure of results of one analysis, a collection each; see `scorecube.figure`.

    axes: Where a figure of one panel is drawn; None for a figure of its own.
    Raises BadName: An analysis that has no figure.
    Raises BadPlan: Axes, and a figure of several panels; several metrics of a figure about one;
        what is about one collection, of several; bars of nothing.
    """
    view = view_of_result(results[0])
    check_figure(view)
    if kind == "bars" and by is None:
        text = f"{option('kind', kind)} is about {option('by')}; state what the bars are of"
        raise BadPlan(text, option="by")
    if len(results) > 1:
        if by is not None or view.overview is None:
            known = ", ".join(str(result.attrs[COLLECTION]) for result in results)
            raise BadPlan(
                f"{view.name} is drawn for one collection at a time; name one with "
                f"{option('collections')}: {known}",
                option="collections",
            )
        shown = with_figure_labels([of_metrics(result, metrics) for result in results])
        return drawn(view.overview, shown, axes=axes, analysis=view.name, top=top)
    result = as_cube(results[0])
    if by is None:
        if view.by_metric and metrics is not None and len(metrics) > 1:
            text = f"the figure of {view.name} is about one metric; name one, one figure each"
            raise BadPlan(text, option="metrics")
        return draw(view, of_metrics(result, metrics), axes=axes, top=top)
    if axes is not None:
        text = f"{option('by', by)} makes a figure of its own; leave {option('ax')} out"
        raise BadPlan(text, option="ax")
    part = of_metrics(result, metrics)
    if kind == "curves":
        return draw_together(view, part, by, top=top)
    if view.overview is None or names.CONFIDENCE not in part.dims:
        raise BadPlan(f"{view.name} has no bars; draw curves", option="kind")
    return draw_bars(view, part, by, top=top)


def check_figure(view: View) -> None:
    """Refuse an analysis without a figure (BadName)."""
    if view.figure is None:
        raise BadName(f"{view.name} has no figure; its tables: {', '.join(view.tables)}")


def draw(
    view: View, result: xr.Dataset, axes: Axes | None = None, top: int | None = None
) -> Figure:
    """Return the figure of a result at its first gain setting; see `Canvas`."""
    first = result.isel({names.GAIN: [0]}) if names.GAIN in result.dims else result
    (shown,) = with_figure_labels([first])
    assert view.figure is not None
    return drawn(view.figure, shown, axes=axes, analysis=view.name, top=top)


def draw_together(view: View, result: xr.Dataset, by: str, top: int | None = None) -> Figure:
    """Draw the curves of each gain setting or sampling into one panel."""
    with rc_context(STYLE):
        figure = ShownFigure(figsize=FIGURE_SIZE, layout="constrained")
        axes = figure.add_subplot()
        curves = dict[str, dict[str, Line2D]]()
        for value, part in values_of(result, by).items():
            before = {*axes.lines}
            draw(view, part, axes, top)
            for line in axes.lines:
                label = str(line.get_label())
                if line not in before and label and not label.startswith("_"):
                    curves.setdefault(label, {})[value] = line
        for label, of in curves.items():
            first, *others = of.values()
            points = first.get_xydata()
            if others and all(np.array_equal(line.get_xydata(), points) for line in others):
                for line in others:  # of a metric without gains
                    line.remove()
            else:
                for value, line in of.items():
                    line.set_label(f"{label} ({value})")
        if by == names.GAIN:
            axes.set_title(title_of(result))
        low = axes.get_ylim()[0]
        axes.relim()
        axes.autoscale(axis="y")  # room for the highest of them
        axes.set_ylim(min(low, *axes.get_ylim()) if low else low)
        axes.legend_ = None
        figure.legend(fontsize=8, ncols=3, loc="outside lower left")
    return figure


def draw_bars(view: View, result: xr.Dataset, by: str, top: int | None = None) -> Figure:
    """Draw shares as bars, a group for each value and a part for each confidence."""
    levels = sorted(result[names.CONFIDENCE].values.tolist(), reverse=True)
    named = [
        part.assign_attrs({COLLECTION: value}) for value, part in values_of(result, by).items()
    ]
    with rc_context(STYLE):
        height = min(FIGURE_SIZE[1] * len(levels), PAGE_HEIGHT)
        figure = ShownFigure(figsize=(FIGURE_SIZE[0], height), layout="constrained")
        parts = figure.subfigures(len(levels), 1, squeeze=False)[:, 0]
        for part, level in zip(parts, levels, strict=True):
            assert view.overview is not None
            view.overview(Canvas(part, top=top), named, level)
        figure.suptitle(f"{result.attrs.get(COLLECTION, '')}, by {by}", **ABOVE)
    return figure


def values_of(result: xr.Dataset, by: str) -> dict[str, xr.Dataset]:
    """Return the part of each gain setting or sampling, of the largest size."""
    largest = result.isel({names.SIZE: [-1]}, missing_dims="ignore")
    several = labels_of(result, by) if by in result.dims else []
    values = {label: largest.sel({by: [label]}) for label in several}
    if len(values) < 2:
        raise BadPlan(
            f"{option('by', by)}: a figure by {by} takes at least two different values of it; "
            f"found: {', '.join(values) or 'none'}",
            option="by",
        )
    return values


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure into a file, by its suffix."""
    check_figure_path(path)
    write_file(path, drawn_bytes(figure, path.suffix.lower()[1:], dpi=150))


def drawn_bytes(figure: Figure, form: str, dpi: int = 100) -> bytes:
    """Return a figure in a file format, the same bytes for the same figure."""
    file = io.BytesIO()
    without: dict[str, Any] = {
        "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
        "pdf": {"CreationDate": None},
    }
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the font lacks some, which are shown as boxes
        if form == "svg":  # `savefig` draws twice
            canvas: Any = FigureCanvasSVG(figure)
            canvas.print_svg(file, metadata=without[form])
        else:
            figure.savefig(file, format=form, metadata=without.get(form, {}), dpi=dpi)
    return file.getvalue()


def check_figure_path(path: Path) -> None:
    """Refuse a file to which no figure can be written (BadPlan, BadOutput)."""
    if path.suffix.lower() not in SUFFIXES:
        found = path.suffix or "no ending"
        raise BadPlan(f"{path}: a figure is written as {', '.join(SUFFIXES)}; found {found}")
    check_target(path)

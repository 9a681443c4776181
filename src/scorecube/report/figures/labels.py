"""Labels of figures: names from data that are short, on one line, different, and never left out of a legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import visible
from scorecube.report.figures.style import Figure
from scorecube.report.tables import COLLECTION
from scorecube.report.text_layout import shorten

LONGEST = 30
"""Characters of a label."""
DIMS = (names.METRIC, names.GAIN, names.RUN)
ATTRIBUTES = (COLLECTION, "set_a", "set_b", "baseline")


def figure_labels(labels: Iterable[str]) -> dict[str, str]:
    r"""Return for each label the text that stands for it in a figure.

    matplotlib leaves labels that begin with an underscore out of legends, so these get a space in front.

    Examples
    --------
    >>> figure_labels(["AP", "_run", "a\nb"])
    {'AP': 'AP', '_run': ' _run', 'a\nb': 'a\\nb'}
    """
    shown: dict[str, str] = {}
    taken: set[str] = set()
    for label in dict.fromkeys(labels):
        text = plain = (" " if label.startswith("_") else "") + shorten(visible(label), LONGEST)
        number = 2
        while text in taken:
            text, number = f"{plain} ({number})", number + 1
        taken.add(text)
        shown[label] = text
    return shown


def with_figure_labels(
    results: Sequence[xr.Dataset], gain: str | None = None
) -> tuple[list[xr.Dataset], str | None]:
    """Return results, and one of their gain settings, with the labels that figures show; equal labels stay equal in all of them."""
    maps = {
        dim: figure_labels(
            label
            for result in results
            for name in _named_after(result, dim)
            for label in labels_of(result, name)
        )
        for dim in DIMS
    }
    places = figure_labels(
        str(result.attrs[name]) for result in results for name in ATTRIBUTES if name in result.attrs
    )
    shown = []
    for result in results:
        labels = {
            name: (result[name].dims, [maps[dim][label] for label in labels_of(result, name)])
            for dim in DIMS
            for name in _named_after(result, dim)
        }
        attributes = {
            name: places[str(result.attrs[name])] for name in ATTRIBUTES if name in result.attrs
        }
        shown.append(result.assign_coords(labels).assign_attrs(attributes))
    return shown, None if gain is None else maps[names.GAIN].get(gain, gain)


def name_conditions(figure: Figure, text: str, cells: xr.Dataset, shown: Sequence[str]) -> None:
    """Write conditions, gain setting and the number of metrics left out above a figure."""
    left_out = cells.sizes[names.METRIC] - len(shown)
    more = f"; {left_out} more metrics in the tables" if left_out else ""
    title = f"{text}, gains {cells[names.GAIN].item()}{more}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=9)


def _named_after(result: xr.Dataset, dim: str) -> list[str]:
    """Return the coordinates of a result that hold labels of a dim, such as ``metric``, ``metric_a`` and ``metric_b``."""
    return [
        name
        for name in (dim, f"{dim}_a", f"{dim}_b")
        if name in result.coords and result[name].ndim == 1
    ]

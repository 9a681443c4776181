"""One figure of several results, gain settings or metrics of a collection: a panel for each, as in S0 Figures 2-8 and S4 Figures 4-7."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadPlan, option
from scorecube.report.figures.canvas import stacked
from scorecube.report.figures.style import STYLE
from scorecube.report.results import options_of_result

COLUMNS = 3
PANEL = 4.4, 3.9
"""Width and height of a panel in inches."""
LINE = 62
"""Letters in a line of a panel's title."""


def draw_panels(
    draw: Callable[..., Figure], results: Sequence[xr.Dataset], by: str, gain: str | None = None
) -> Figure:
    """Draw a panel for each gain setting, sample size, or value of an option, with the same axes.

    draw: Draws a result at a gain setting into axes.
    results: All results of one analysis and collection, the latest last.
    by: ``gain``, ``size``, or an option of the analysis, such as ``sampling``.
    gain: Gain setting of the other panels; the first by default.
    Raises BadPlan: Fewer than two different panels.
    """
    name = str(results[-1].attrs["analysis"])
    panels = _panels(results, by, gain)
    if len(panels) < 2:
        found = ", ".join(panels) or "none"
        raise BadPlan(
            f"{option('by', by)}: a figure by {by} takes at least two different values of it; {name} has: {found}",
            option="by",
        )
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with rc_context(STYLE):
        drawn = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
        grid = drawn.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for axes, (value, (result, setting)) in zip(grid, panels.items(), strict=False):
            try:
                draw(result, setting, axes)
            except BadPlan:  # it has several panels
                return stacked(draw, panels, by)
            conditions = textwrap.fill(" ".join(axes.get_title(loc="left").split()), LINE)
            axes.set_title(f"{by} {value}\n{conditions}", loc="left", fontsize=8)
            axes.tick_params(labelbottom=True, labelleft=True)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
    return drawn


def _panels(
    results: Sequence[xr.Dataset], by: str, gain: str | None
) -> dict[str, tuple[xr.Dataset, str | None]]:
    """Return result and gain setting of each panel; of several results with one value the latest, of several sizes the largest."""
    if by == names.GAIN:
        latest = _largest(results[-1])
        return {setting: (latest, setting) for setting in labels_of(latest, names.GAIN)}
    panels: dict[str, tuple[xr.Dataset, str | None]] = {}
    for result in results:
        options: dict[str, Any] = options_of_result(result.attrs)
        if by not in options:
            raise BadPlan(
                f"{option('by', by)}: expected {names.GAIN}, or an option of {result.attrs['analysis']}: {', '.join(sorted(options))}",
                option="by",
            )
        if by == names.SIZE:
            for size in result[names.SIZE].values:
                panels[str(size)] = (result.sel({names.SIZE: [size]}), gain)
        else:
            panels[str(options[by])] = (_largest(result), gain)
    return dict(
        sorted(panels.items(), key=lambda each: (len(each[0]) if by == names.SIZE else 0, each[0]))
    )


def _largest(result: xr.Dataset) -> xr.Dataset:
    """Return a result at its largest sample size."""
    return result.isel({names.SIZE: [-1]}) if names.SIZE in result.dims else result

"""Figures of the stability method."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS
from scorecube.report.tables.topic_samples import conditions


def errors_and_ties(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Error rate against ties, for each metric a line through its sizes for each fuzziness: left and low is better.

    Parameters
    ----------
    result
        Of the stability method.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    axes = canvas.panel(FIGURE_SIZE)
    for k, metric in enumerate(labels_of(result, names.METRIC)):
        at = cells.isel(metric=k)
        ties, errors = 100 * at["ties"].values, 100 * at["error_rate"].values
        for level in range(result.sizes[names.FUZZINESS]):
            axes.plot(
                ties[:, level],
                errors[:, level],
                marker=MARKERS[k % len(MARKERS)],
                markersize=5,
                linewidth=1.0,
                color=COLOURS[k % len(COLOURS)],
                label=metric if level == 0 else None,
            )
        for step, level in np.ndindex(*ties.shape) if k == 0 and ties.size > 1 else ():
            words = f"{int(result[names.SIZE][step])} topics"
            if result.sizes[names.FUZZINESS] > 1:
                words += f", {float(result[names.FUZZINESS][level]):.0%}"
            place = (ties[step, level], errors[step, level])
            axes.annotate(words, place, (6, 3), textcoords="offset points", fontsize=7, color="0.4")
    axes.set_xlabel("ties, % of comparisons")
    axes.set_ylabel("error rate, % of comparisons")
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(left=0.0)
    title = f"{conditions(result)}, gains {cells[names.GAIN].item()}"
    if result.sizes[names.FUZZINESS] == 1:
        title += f", fuzziness {float(result[names.FUZZINESS][0]):.0%}"
    axes.set_title(title, loc="left", fontsize=9)
    axes.legend(ncols=2 if result.sizes[names.METRIC] > 6 else 1)

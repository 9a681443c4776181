"""Drawing that several methods share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.declare import Canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_ranked(canvas: Canvas, result: xr.Dataset, estimate: str, heading: str) -> Axes:
    """Draw the runs of the first metric, best first: estimates with limits, and rank sets.

    estimate: Variable with limits; ranks and their sets are ``rank``.
    heading: Words below the axis of estimates, which is returned.
    """
    data = result.isel(gain=0, metric=0)
    total = data.sizes[names.RUN]
    n = min(total, canvas.most_rows)
    shown = data.isel({names.RUN: np.argsort(data["rank"].values, kind="stable")[:n]})
    values, ranks = canvas.figure((7.2, 1.2 + max(n, 6) * 0.135)).subplots(
        1, 2, sharey=True, gridspec_kw={"width_ratios": [3.0, 2.4]}
    )
    rows = range(n)
    ends = (shown[f"{estimate}_{end}"].values for end in ("low", "high"))
    values.hlines(rows, *ends, color=canvas.colours[0], linewidth=1.2)
    values.plot(shown[estimate].values, rows, "o", color=canvas.colours[0], markersize=3.2)
    values.set_xlabel(heading)
    values.locator_params(axis="x", nbins=5)
    ends = (shown[f"rank_{end}"].values for end in ("low", "high"))
    ranks.hlines(rows, *ends, color=canvas.colours[1], linewidth=2.4, alpha=0.55)
    ranks.plot(shown["rank"].values, rows, "|", color="0.15", markersize=5)
    ranks.set(xlim=(0.5, total + 0.5), xlabel="rank")
    ranks.locator_params(axis="x", nbins=5, integer=True)
    ranks.tick_params(left=False)
    values.set_yticks(rows, labels_of(shown, names.RUN), fontsize=7)
    values.tick_params(axis="y", length=0)
    values.set_ylim(n - 0.4, -0.6)
    first = f"the first {n} of {total}" if n < total else ""
    canvas.name(result.isel(metric=[0], gain=[0]), str(data[names.METRIC].item()), first)
    drawn: Axes = values
    return drawn

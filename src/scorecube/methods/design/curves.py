"""The curves of Sakai 2017: noncentrality, and topics by width or difference (Figures 1 and 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
import xarray as xr

from scorecube.declare import Canvas
from scorecube.methods.design.power import exact_noncentrality, tool_noncentrality
from scorecube.methods.design.sizes import topic_set_size

NONCENTRALITY = "noncentrality"
TOOLS = "tools"
CURVES = "curves"
"""Attribute of a result: which curves it is about."""
FIVE_EIGHTY = ((0.01, 0.10), (0.01, 0.20), (0.05, 0.10), (0.05, 0.20))
CONDITIONS = {
    "a": (0.05, 0.20, 10),
    "b": (0.05, 0.10, 5),
    "c": (0.01, 0.20, 18),
    "d": (0.01, 0.10, 10),
}
"""(alpha, beta, systems) for which the noncentrality is about 4 z^2 (Sakai 2017, section 3)."""
ALPHA = "\N{GREEK SMALL LETTER ALPHA}"
BETA = "\N{GREEK SMALL LETTER BETA}"
GREY: Any = {"textcoords": "offset points", "ha": "right", "fontsize": 8, "color": "0.3"}
PAPERS_VARIANCES = (0.0182, 0.0471, 0.1145)
SYSTEMS = np.arange(2.0, 31.0)
SIZES = np.round(np.arange(0.05, 0.501, 0.005), 3)
"""Numbers of systems, and widths or differences, of the curves."""


def noncentrality() -> xr.Dataset:
    """Return the noncentrality by number of systems for four pairs of alpha and beta."""
    points = xr.concat([_noncentrality(alpha, beta) for alpha, beta in FIVE_EIGHTY], "rates")
    return points.assign_attrs({CURVES: NONCENTRALITY, "notes": [], "analysis": "design"})


def _noncentrality(alpha: float, beta: float) -> xr.Dataset:
    """Return Nagata's approximation and the exact noncentrality by number of systems."""
    points = {
        "noncentrality": ("systems", tool_noncentrality(SYSTEMS, alpha, beta)),
        "exact_noncentrality": ("systems", exact_noncentrality(SYSTEMS, alpha, beta)),
    }
    return xr.Dataset(points, {"systems": SYSTEMS, "alpha": alpha, "beta": beta})


def of_tools(variances: Any = None) -> xr.Dataset:
    """Return the topics that the tool for ANOVA asks for, by variance and difference."""
    chosen = PAPERS_VARIANCES if variances is None else variances
    chosen = [chosen] if isinstance(chosen, float) else chosen
    return topic_set_size(chosen, SIZES, mode="sakai").assign_attrs({CURVES: TOOLS})


def draw(canvas: Canvas, points: xr.Dataset) -> None:
    """Draw the curves that a result is about."""
    picture = noncentrality_curves if points.attrs[CURVES] == NONCENTRALITY else tool_curves
    picture(canvas, points)


def noncentrality_curves(canvas: Canvas, points: xr.Dataset) -> None:
    """Noncentrality by number of systems, 4 z^2, and where both agree (Sakai 2017, Figure 1).

    Curves are Nagata's approximation, the thin dotted ones beside them exact.
    """
    axes = canvas.panel()
    m = points["systems"].values
    for colour, rates in zip(canvas.colours, range(points.sizes["rates"]), strict=False):
        of = points.isel(rates=rates)
        label = f"{ALPHA} = {float(of['alpha']):.2f}, {BETA} = {float(of['beta']):.2f}"
        axes.plot(m, of["noncentrality"], color=colour, linewidth=1.4, label=label)
        axes.plot(m, of["exact_noncentrality"], color=colour, linewidth=0.8, linestyle=":")
    for alpha in (0.01, 0.05):
        level = 4.0 * float(scipy.special.ndtri(alpha / 2.0)) ** 2
        axes.axhline(level, color="0.4", linewidth=0.9, linestyle="--")
        words = f"4 z\N{SUPERSCRIPT TWO}, {ALPHA} = {alpha:.2f}: {level:.2f}"
        axes.annotate(words, (m[-1], level), (0, -10), **GREY)
    for name, (alpha, beta, number) in CONDITIONS.items():
        height = float(tool_noncentrality(number, alpha, beta))
        axes.plot([number], [height], marker="o", markersize=4, color="black")
        place = (-4, 5) if alpha < 0.05 else (4, -11)  # clear of the other curves
        axes.annotate(f"({name})", (number, height), place, textcoords="offset points", fontsize=8)
    axes.set(xlabel="number of systems m", ylim=(0.0, None))
    axes.set_ylabel("noncentrality \N{GREEK SMALL LETTER LAMDA}")
    axes.legend()


def tool_curves(canvas: Canvas, points: xr.Dataset) -> None:
    """Topics by interval width, and by difference to be detected (Sakai 2017, Figure 2).

    The ANOVA curve is that of Sakai's tool at alpha 0.05, beta 0.20 and 10 systems.
    """
    x = points["min_diff"].values
    variances = points["variance"].values.tolist()
    figure = canvas.figure((2.6 * len(variances), 2.9))
    panels = figure.subplots(1, len(variances), squeeze=False, sharey=True)[0]
    of_intervals, of_anova = canvas.colours[:2]
    for axes, variance, anova in zip(panels, variances, points["topics"].values, strict=True):
        intervals = topic_set_size(variance, width=x, method="ci")["topics"]
        axes.plot(x, intervals, color=of_intervals, linewidth=2.4, alpha=0.5, label="CI")
        axes.plot(x, anova, color=of_anova, linewidth=1.0, linestyle="--", label="ANOVA, sakai")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")  # the usual ones are formulas
        axes.yaxis.set_minor_formatter("")
        axes.set(title=f"variance {variance:.4f}", xlabel="width, or difference")
    panels[0].set_ylabel("number of topics")
    panels[-1].legend()

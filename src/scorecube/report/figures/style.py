"""The style of all figures."""

from __future__ import annotations

from typing import Any

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none",
    "svg.hashsalt": "scorecube",
    "legend.frameon": False,
}
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7f7f7f",
    "#9467bd",
    "#8c564b",
    "#17becf",
)
"""Distinguishable with colour vision deficiency (Okabe and Ito), then further ones."""
MARKERS = "osD^vPX<>*"
TICKS = 11
FIGURE_SIZE = (7.2, 4.2)

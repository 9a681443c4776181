"""Pictures of results, as in the papers; one file an analysis, each function returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import xarray as xr
from matplotlib.figure import Figure

from scorecube.report.figures import agreement, correlation, design, pairs, splits, stability, swap, teams

FIGURES: Mapping[str, Callable[[xr.Dataset, str | None], Figure]] = {
    "swap": swap.swap_figure, "stability": stability.errors_and_ties, "bootstrap": pairs.p_value_curves,
    "randomisation": pairs.p_value_curves, "unpaired": pairs.p_value_curves,
    "tukey": pairs.p_value_curves, "paired": pairs.classical_curves,
    "correlate": correlation.correlation_figure, "splits": splits.split_curves, "agreement": agreement.agreement_panels,
    "teams": teams.leave_out_panels, "design": design.size_curves, "wcw": design.wcw_curves,
}  # fmt: skip
"""Picture of one result at one gain setting, the first by default."""
OVERVIEWS: Mapping[str, Callable[[Sequence[xr.Dataset]], Figure]] = {
    "swap": swap.sensitivity_bars, "bootstrap": pairs.power_bars, "randomisation": pairs.power_bars, "unpaired": pairs.power_bars, "tukey": pairs.power_bars,
    "correlate": correlation.average_matrix, "design": design.widths_of_designs,
}  # fmt: skip
"""Picture of the results of several collections."""


def figure(result: xr.Dataset, gain: str | None = None) -> Figure:
    """Return the figure of an analysis' result.

    Parameters
    ----------
    result
        A result of an analysis.
    gain
        Gain setting that is drawn; the first by default.

    Returns
    -------
    figure
        A matplotlib figure.
    """
    return FIGURES[str(result.attrs["analysis"])](result, gain)

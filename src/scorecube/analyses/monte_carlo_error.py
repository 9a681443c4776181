"""How precisely the trials of a result tell what it reports: the width that more trials would narrow.

Resampling estimates two kinds of numbers. A swap rate has an interval over trials. The number of significant pairs is certain only up
to the pairs whose p-value may lie on either side of alpha: those with alpha inside the interval of their p-value.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.errors import BadPlan
from scorecube.statistics.proportion_intervals import Z95

TESTS = ("bootstrap", "randomisation", "tukey", "unpaired")
LEAST_SHARE = 0.01
"""Bins with fewer of the comparisons say little and stay wide."""


def monte_carlo_width(result: xr.Dataset) -> float:
    """Return the widest 95 % Monte Carlo interval of what a result reports, over metrics and gain settings.

    Parameters
    ----------
    result
        Of the swap method: the interval of a swap rate, over the bins that hold at least 1 % of the comparisons. Of a test of all pairs
        of runs: that of the share of significant pairs, hence the share of pairs whose p-value is not told apart from alpha, over alphas.

    Returns
    -------
    width
        0 to 1.

    Raises
    ------
    BadPlan
        A result of another analysis, or of the swap method with intervals that are not over trials.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=8, seed=2)
    >>> few, many = (monte_carlo_width(sc.analyse(cube, sc.Swap(), trials=trials, seed=1)) for trials in (100, 1600))
    >>> bool(many < few / 3)
    True
    """
    kind = str(result.attrs["analysis"])
    if kind == "swap" and result.attrs.get("interval") == "trials":
        count = result["count"]
        well_filled = count >= LEAST_SHARE * count.sum(names.BIN)
        widths = (result["swap_rate_high"] - result["swap_rate_low"]).where(well_filled)
        return float(widths.max())
    if kind in TESTS:
        trials, alphas = int(result.attrs["trials"]), result[names.ALPHA].values
        # The score interval of a p-value holds alpha if p lies within the standard error that alpha itself implies.
        reach = Z95 * np.sqrt(alphas * (1 - alphas) / trials)
        widest = 0.0
        for alpha, each in zip(alphas, reach, strict=True):
            undecided = (np.abs(result["p_value"] - alpha) < each).mean(names.PAIR)
            widest = max(widest, float(undecided.max()))
        return widest
    raise BadPlan(
        f"no width to reach is known of {kind}: it is known of swap (intervals over trials), {', '.join(TESTS)}"
    )

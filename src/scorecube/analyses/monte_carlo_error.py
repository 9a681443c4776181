"""Monte Carlo error of a result: the width of the intervals that more trials would narrow.

A swap rate has an interval over trials. The number of significant pairs is uncertain by the pairs whose p-value has alpha inside its
interval over trials.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import quantity
from scorecube.errors import BadPlan, option
from scorecube.statistics.proportion_intervals import Z95

TESTS = ("bootstrap", "randomisation", "tukey", "maxt", "unpaired")
MIN_SHARE = 0.01
"""Smallest share of the comparisons in a bin: intervals of emptier bins stay wide."""


def monte_carlo_width(result: xr.Dataset) -> float:
    """Return the width of the widest 95 % Monte Carlo interval of a result, over cells.

    result: Result of the swap method: intervals of the swap rates of bins with at least 1 % of the comparisons. Result
        of a test of all pairs of runs: intervals of the shares of significant pairs, that is the share of pairs with
        alpha inside the interval of their p-value, for each alpha.
    Returns width: Width, 0 to 1.
    Raises BadPlan: A result of another analysis, or of the swap method with intervals that are not over trials.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=8, seed=2)
    >>> few, many = (monte_carlo_width(sc.analyse(cube, sc.Swap(), trials=trials, seed=1)) for trials in (100, 1600))
    >>> bool(many < few / 3)
    True
    """
    analysis = str(result.attrs["analysis"])
    if analysis == "swap" and result.attrs.get("interval") == "trials":
        count = result["count"]
        well_filled = count >= MIN_SHARE * count.sum(names.BIN)
        return float((result["swap_rate_high"] - result["swap_rate_low"]).where(well_filled).max())
    if analysis in TESTS:
        return int(quantity(result, "undecided_pairs").max()) / result.sizes[names.PAIR]
    raise BadPlan(
        f"{option('until_width')} is not available for {analysis}; "
        f"use it with swap (intervals over trials), {', '.join(TESTS)}",
        option="until_width",
    )


def monte_carlo_margin(alpha: float, trials: int) -> float:
    """Return the distance from alpha below which the 95 % Monte Carlo interval of a p-value holds alpha."""
    # That of the score interval: 1.96 standard errors at p = alpha.
    margin: float = Z95 * np.sqrt(alpha * (1 - alpha) / trials)
    return margin

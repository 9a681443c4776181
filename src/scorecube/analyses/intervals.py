"""Intervals of proportions."""

from __future__ import annotations

from typing import Any

import numpy as np

Z95 = 1.959963984540054


def wilson(
    successes: np.ndarray[Any, Any], trials: np.ndarray[Any, Any], z: float = Z95
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the Wilson score interval of successes / trials, NaN where trials is 0.

    It takes trials for independent. Comparisons of the swap method share topics and runs, so their intervals are too narrow: of
    200 simulated collections of 10 exchangeable runs, 19 % instead of 95 % held the true rate.

    Parameters
    ----------
    successes, trials
        Counts of equal shape.
    z
        Normal quantile; default 95 %, two-sided.

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.

    Examples
    --------
    >>> [float(end.round(4)) for end in wilson(np.array(8), np.array(10))]
    [0.4902, 0.9433]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(trials > 0, successes / trials, np.nan)
        centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
        half = z * np.sqrt(share * (1 - share) / trials + z * z / (4.0 * trials * trials)) / (1 + z * z / trials)
    # At the ends the formula is exact but its floating-point terms do not cancel.
    low = np.where(successes == 0, np.where(trials > 0, 0.0, np.nan), centre - half)
    high = np.where((successes == trials) & (trials > 0), 1.0, centre + half)
    return low, high

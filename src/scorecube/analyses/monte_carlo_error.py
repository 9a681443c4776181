"""Monte Carlo error of a result: the width of the intervals that more trials would narrow.

A swap rate has an interval over trials. The number of significant pairs is uncertain by the pairs whose p-value has alpha inside its
interval over trials.
"""

from __future__ import annotations

import numpy as np

from scorecube.statistics.proportion_intervals import Z95


def monte_carlo_margin(alpha: float, trials: int) -> float:
    """Return the distance from alpha below which the 95 % Monte Carlo interval of a p-value holds alpha."""
    # That of the score interval: 1.96 standard errors at p = alpha.
    margin: float = Z95 * np.sqrt(alpha * (1 - alpha) / trials)
    return margin

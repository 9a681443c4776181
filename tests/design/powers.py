"""Power of the designs, for numbers of topics and differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.design.power import Anova, noncentrality_per_topic


def power_of(
    variance: float,
    difference: Any,
    n: Any,
    *,
    systems: int = 10,
    alpha: float = 0.05,
    method: str = "anova",
    mode: str = "exact",
) -> Any:
    """Return the power with which numbers of topics detect differences, (difference, topics) without dims of single ones."""
    difference, n = (np.asarray(values, np.float64) for values in (difference, n))
    difference = difference.reshape(difference.shape + (1,) * n.ndim)
    paired = method == "t"
    design = Anova(
        2 if paired else systems, alpha, 0.5, paired, tool=mode == "sakai" and not paired
    )
    return design.power(n, n * noncentrality_per_topic(variance, difference))

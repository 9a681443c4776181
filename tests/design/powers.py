"""Power of the models of topic set size design, for numbers of topics and differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.design.power import Anova, PairedT
from scorecube.design.sizes import MAX_PER_TOPIC


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
    difference, n = (np.asarray(each, np.float64) for each in (difference, n))
    difference = difference.reshape(difference.shape + (1,) * n.ndim)
    shape = np.broadcast_shapes(difference.shape, n.shape)
    topics, alphas, betas, numbers = (
        np.broadcast_to(np.float64(each), shape) for each in (n, alpha, 0.5, systems)
    )
    model = Anova(alphas, betas, numbers) if method == "anova" else PairedT(alphas, betas)
    per_topic = np.minimum(difference**2 / (2.0 * variance), MAX_PER_TOPIC)
    return (model.tool_power if mode == "sakai" else model.power)(topics, topics * per_topic)

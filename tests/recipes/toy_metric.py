"""A metric: one compiled function of one ranking."""

from __future__ import annotations

from typing import Any

from scorecube.metrics.common import n_scored
from scorecube.metrics.registry import metric


@metric(
    "TopHit", source="recipe: 1 if the first document is relevant", cutoff="none", uses_gains=False
)
def top_hit(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Success at rank 1."""
    out[0] = 1.0 if n_scored(levels, 1) > 0 and levels[0] > 0 else 0.0

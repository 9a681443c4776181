"""Graded forms of the reciprocal rank: WRR, NWRR."""

from scorecube.kernels.arrays import Ints, Vec
from scorecube.kernels.jit import compiled
from scorecube.metrics.common import first_relevant, n_scored
from scorecube.metrics.parameters import Parameter
from scorecube.metrics.registry import UNIT, Metric, Range, metric

BETA = Parameter((), above=1.0, rising=True)
"""Penalties, highest level first; a lower level has a larger one."""


@compiled
def inverse_penalty(level: int, highest: int, parameters: Vec) -> float:
    """Return 1 / beta(level).

    By default beta is 2, 3, 4, ... from the highest declared level down (Sakai 2007, section 3.2).
    """
    place = highest - level
    n_given = parameters.shape[0] if parameters[0] > 0.0 else 0
    return 1.0 / parameters[place] if place < n_given else 1.0 / (2.0 + place)


def weighted_range(metric: Metric) -> Range:
    """Return the range of WRR: the highest level at rank 1 scores 1 / (1 - 1 / beta)."""
    smallest = next(iter(metric.values("beta")), 2.0)
    return 0.0, smallest / (smallest - 1.0)


@metric(
    "WRR",
    user="any one relevant",
    range=weighted_range,
    source="Sakai 2007, eq 4 (Eguchi et al. 2003)",
    beta=BETA,
)
def weighted_reciprocal_rank(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Weighted reciprocal rank; can exceed 1."""
    n = n_scored(ranks, cutoff)
    first = first_relevant(levels, n)
    out[0] = 0.0
    if first < n:
        penalty = inverse_penalty(levels[first], judged.shape[0] - 1, parameters)
        out[0] = 1.0 / (ranks[first] - penalty)


@metric(
    "NWRR",
    user="any one relevant",
    range=UNIT,
    source="Sakai 2007, eq 5; M is the highest level among the topic's judged documents",
    beta=BETA,
)
def normalised_weighted_reciprocal_rank(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Weighted reciprocal rank over its largest value for the topic."""
    highest = judged.shape[0] - 1
    best = highest
    while best > 0 and judged[best] == 0:
        best -= 1
    n = n_scored(ranks, cutoff)
    first = first_relevant(levels, n)
    out[0] = 0.0
    if first < n:
        penalty = inverse_penalty(levels[first], highest, parameters)
        out[0] = (1.0 - inverse_penalty(best, highest, parameters)) / (ranks[first] - penalty)

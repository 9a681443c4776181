"""Means over a population of users: where they stop (NCU), and what is relevant to them (GAP).

Sakai and Robertson 2008 (NCU); Robertson, Kanoulas and Yilmaz 2010 (GAP).
"""

import math

from scorecube.kernels.arrays import Ints, Vec
from scorecube.kernels.jit import compiled
from scorecube.metrics.common import ideal_gain, n_best, n_scored
from scorecube.metrics.parameters import Parameter
from scorecube.metrics.registry import UNIT, OtherName, metric

NU = Parameter("BR", {"BR": 0.0, "P": 1.0})
"""Utility of a user who stops at a rank: the blended ratio, or precision."""


def _called(stops: str) -> tuple[OtherName, ...]:
    """Return the names in NTCIREVAL of a metric with both utilities."""
    blended = OtherName("NTCIREVAL", f"{stops},BR")
    precision = OtherName("NTCIREVAL", f"{stops},P", "nu=P")
    return blended, precision


@compiled
def utility(count: int, gain: float, rank: int, judged: Ints, gains: Vec, form: float) -> float:
    """Return precision (form 1), or the blended ratio, at a rank with so much found."""
    if form == 1.0:
        return count / rank
    return (gain + count) / (ideal_gain(judged, gains, rank) + rank)


@metric(
    "NCUgu",
    range=UNIT,
    also_called=_called("NCUgu"),
    source="Sakai and Robertson 2008, graded-uniform stops, whose values are the gains; at a "
    "cut-off l over the gains of the l best documents",
    uses_gains=True,
    nu=NU,
)
def ncu_graded_uniform(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Mean utility of users who stop at relevant documents, more often at those of more gain."""
    count = 0
    gain = 0.0
    total = 0.0
    for k in range(n_scored(ranks, cutoff)):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
            found = utility(count, gain, ranks[k], judged, gains, parameters[0])
            total += gains[levels[k]] * found
    whole = ideal_gain(judged, gains, n_best(judged, cutoff))
    out[0] = total / whole if whole > 0.0 else 0.0


@metric(
    "NCUrb",
    range=UNIT,
    also_called=_called("NCUrb"),
    source="Sakai and Robertson 2008, rank-biased stops; gamma = 0.95 by default, as in NTCIREVAL; "
    "at a cut-off l over the sum of gamma^(i-1) for i to min(l, R)",
    uses_gains=True,
    nu=NU,
    gamma=Parameter(0.95, above=0.0, below=1.0),
)
def ncu_rank_biased(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Mean utility of users of whom gamma go on from one relevant document to the next."""
    gamma = parameters[1]
    count = 0
    gain = 0.0
    weight = 1.0
    total = 0.0
    for k in range(n_scored(ranks, cutoff)):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
            found = utility(count, gain, ranks[k], judged, gains, parameters[0])
            total += weight * found
            weight *= gamma
    # The sum of weights is (1 - gamma^n) / (1 - gamma); expm1 keeps its digits for gamma near 1.
    out[0] = total * (1.0 - gamma) / -math.expm1(n_best(judged, cutoff) * math.log(gamma))


@metric(
    "GAP",
    user="many relevant",
    range=UNIT,
    source="Robertson, Kanoulas and Yilmaz 2010 (GAP); gain / largest gain is the share of "
    "users to whom a level is relevant; at a cut-off l over the gains of the l best documents",
    uses_gains=True,
)
def graded_average_precision(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Graded average precision: sums of precision over users with different thresholds."""
    total = 0.0
    for threshold in range(1, gains.shape[0]):
        count = 0
        precisions = 0.0
        for k in range(n_scored(ranks, cutoff)):
            if levels[k] >= threshold:
                count += 1
                precisions += count / ranks[k]
        total += (gains[threshold] - gains[threshold - 1]) * precisions
    whole = ideal_gain(judged, gains, n_best(judged, cutoff))
    out[0] = total / whole if whole > 0.0 else 0.0

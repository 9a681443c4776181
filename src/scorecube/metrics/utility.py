"""Normalised cumulative utility, the mean utility over users who stop at relevant documents (Sakai and Robertson 2008)."""

import math
from typing import Any

from scorecube.kernels.jit import inlined
from scorecube.metrics.common import ideal_gain, n_relevant, n_scored
from scorecube.metrics.registry import Parameter, metric

NU = Parameter("BR", {"BR": 0.0, "P": 1.0})
"""Utility at a rank: blended ratio or precision."""


@inlined
def utility(gain: float, count: int, ideal: float, rank: int, kind: float) -> float:
    """Return the blended ratio (kind 0) or precision (kind 1) at a rank."""
    return (gain + count) / (ideal + rank) if kind == 0.0 else count / rank


@inlined
def n_stops(judged: Any, cutoff: int) -> int:
    """Return min(l, R), how many relevant documents the ideal list has down to the cut-off l."""
    relevant = n_relevant(judged)
    return cutoff if 0 < cutoff < relevant else relevant


@metric(
    "NCUgu",
    source="NCUgu of NTCIREVAL: graded-uniform stops, stop values = gains; nu=BR or P; at a cut-off l over the gains of the l best documents, as AP@l",
    uses_gains=True,
    nu=NU,
)
def graded_uniform(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Mean utility over relevant documents, weighted by their gains."""
    whole = ideal_gain(judged, gains, n_stops(judged, cutoff))
    count, gain, total = 0, 0.0, 0.0
    for k in range(n_scored(levels, cutoff)):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
            ideal = ideal_gain(judged, gains, k + 1)
            total += gains[levels[k]] * utility(gain, count, ideal, k + 1, parameters[0])
    out[0] = total / whole if whole > 0.0 else 0.0


@metric(
    "NCUrb",
    source="NCUrb of NTCIREVAL: each relevant document multiplies the stop probability by gamma; nu=BR or P; at a cut-off l over the sum of gamma^(i-1) to min(l, R), where NTCIREVAL of 2020 has min(l, R)",
    uses_gains=True,
    nu=NU,
    gamma=Parameter(0.95, above=0.0, below=1.0),
)
def rank_biased(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Mean utility over relevant documents, weighted by gamma to the power of the number of relevant documents before."""
    gamma = parameters[1]
    count, gain, total, weight = 0, 0.0, 0.0, 1.0
    for k in range(n_scored(levels, cutoff)):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
            total += weight * utility(
                gain, count, ideal_gain(judged, gains, k + 1), k + 1, parameters[0]
            )
            weight *= gamma
    # 1 - gamma^n without the loss of digits for gamma near 1.
    out[0] = total * (1.0 - gamma) / -math.expm1(n_stops(judged, cutoff) * math.log(gamma))

"""Cascade metrics, whose user stops at a document with a probability that grows with its gain (ERR, nERR, EBR, iRBU); RBP and nRBP."""

from typing import Any

from scorecube.kernels.jit import inlined
from scorecube.metrics.common import ideal_gain, n_scored
from scorecube.metrics.registry import Parameter, metric
from scorecube.metrics.without_documents.entry_form import Divisor, EntryForm, Total

FORM = Parameter("linear", {"linear": 0.0, "exp2": 1.0})
"""Form of the stop probability."""


@inlined
def stop_probability(gain: float, largest: float, form: float) -> float:
    """Return g / (g_max + 1) as NTCIREVAL (form 0), or (2^g - 1) / 2^g_max as gdeval (form 1)."""
    if form == 0.0:
        return gain / (largest + 1.0)
    return float((2.0**gain - 1.0) / 2.0**largest)


@inlined
def expected_reciprocal_rank(levels: Any, gains: Any, n_ranks: int, form: float) -> float:
    """Return the ERR of the list; g_max is the gain of the highest level the collection declares."""
    continuing, total = 1.0, 0.0
    for k in range(n_ranks):
        if levels[k] > 0:
            stop = stop_probability(gains[levels[k]], gains[gains.shape[0] - 1], form)
            total += continuing * stop / (k + 1)
            continuing *= 1.0 - stop
    return total


@inlined
def ideal_expected_reciprocal_rank(judged: Any, gains: Any, cutoff: int, form: float) -> float:
    """Return the ERR of the ideal list, down to the cut-off."""
    continuing, total, rank = 1.0, 0.0, 0
    level = judged.shape[0] - 1
    while level > 0:
        stop = stop_probability(gains[level], gains[gains.shape[0] - 1], form)
        for _ in range(judged[level]):
            rank += 1
            if cutoff == 0 or rank <= cutoff:
                total += continuing * stop / rank
                continuing *= 1.0 - stop
        level -= 1
    return total


@metric(
    "ERR",
    source="Chapelle et al. 2009; stop probability gain / (largest gain + 1), as in NTCIREVAL; form=exp2 (2^gain - 1) / 2^(largest gain), as in gdeval",
    uses_gains=True,
    form=FORM,
    entry_form=EntryForm(Total.CASCADE, form="form"),
)
def err(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Expected reciprocal rank."""
    out[0] = expected_reciprocal_rank(levels, gains, n_scored(levels, cutoff), parameters[0])


@metric(
    "nERR",
    source="NTCIREVAL nERR: ERR@l over the ideal list's ERR@l; form=exp2 as in gdeval",
    uses_gains=True,
    form=FORM,
    entry_form=EntryForm(Total.CASCADE, Divisor.IDEAL_CASCADE, form="form"),
)
def nerr(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Normalised expected reciprocal rank."""
    total = expected_reciprocal_rank(levels, gains, n_scored(levels, cutoff), parameters[0])
    ideal = ideal_expected_reciprocal_rank(judged, gains, cutoff, parameters[0])
    out[0] = total / ideal if ideal > 0.0 else 0.0


@metric(
    "EBR",
    source="EBR of NTCIREVAL (2018): expected blended ratio, Sakai and Zeng 2021 (ACM TOIS 39(2)); stop probabilities of ERR, utility BR(r) of Sakai 2007, eq 2",
    uses_gains=True,
)
def expected_blended_ratio(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Mean blended ratio over users who stop as in ERR."""
    largest = gains[gains.shape[0] - 1]
    count, gain, continuing, total = 0, 0.0, 1.0, 0.0
    for k in range(n_scored(levels, cutoff)):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
            stop = stop_probability(gains[levels[k]], largest, 0.0)
            ideal = ideal_gain(judged, gains, k + 1)
            total += continuing * stop * (gain + count) / (ideal + (k + 1))
            continuing *= 1.0 - stop
    out[0] = total


@metric(
    "iRBU",
    source="iRBU of NTCIREVAL (2018): intentwise rank-biased utility, Sakai and Zeng 2021 (ACM TOIS 39(2)), after Amigo et al. 2018; p = 0.99 by default",
    uses_gains=True,
    p=Parameter(0.99, above=0.0, below=1.0),
)
def intentwise_rank_biased_utility(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Mean of p^r over users who stop at rank r as in ERR."""
    largest = gains[gains.shape[0] - 1]
    continuing, weight, total = 1.0, 1.0, 0.0
    for k in range(n_scored(levels, cutoff)):
        weight *= parameters[0]
        if levels[k] > 0:
            stop = stop_probability(gains[levels[k]], largest, 0.0)
            total += continuing * stop * weight
            continuing *= 1.0 - stop
    out[0] = total


@inlined
def weighted_gain(levels: Any, gains: Any, n_ranks: int, p: float) -> float:
    """Return the sum of gains, with weight (1 - p) p^(r - 1) at rank r."""
    weight, total = 1.0 - p, 0.0
    for k in range(n_ranks):
        if levels[k] > 0:
            total += weight * gains[levels[k]]
        weight *= p
    return total


PERSISTENCE = Parameter(0.95, above=0.0, below=1.0)
"""Probability p of going on to the next document."""


@metric(
    "RBP",
    source="Moffat and Zobel 2008 with gain g/g_max, as NTCIREVAL; p = 0.95 by default, as there",
    uses_gains=True,
    p=PERSISTENCE,
)
def rank_biased_precision(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Rank-biased precision: the user continues to the next document with probability p."""
    total = weighted_gain(levels, gains, n_scored(levels, cutoff), parameters[0])
    largest = gains[gains.shape[0] - 1]
    out[0] = total / largest if largest > 0.0 else 0.0


@metric(
    "nRBP",
    source="nRBP of NTCIREVAL (2020): RBP over that of the ideal list down to the same rank; p = 0.95 by default",
    uses_gains=True,
    p=PERSISTENCE,
)
def normalised_rank_biased_precision(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Rank-biased precision over the largest value that the judged documents allow."""
    p = parameters[0]
    total = weighted_gain(levels, gains, n_scored(levels, cutoff), p)
    weight, ideal, rank = 1.0 - p, 0.0, 0
    level = judged.shape[0] - 1
    while level > 0:
        for _ in range(judged[level]):
            rank += 1
            if cutoff == 0 or rank <= cutoff:
                ideal += weight * gains[level]
                weight *= p
        level -= 1
    out[0] = total / ideal if ideal > 0.0 else 0.0

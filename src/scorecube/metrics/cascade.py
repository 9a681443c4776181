"""Cascade metrics, whose user stops with a probability that grows with the gain; RBP."""

from scorecube.kernels.arrays import Ints, Vec
from scorecube.kernels.jit import compiled
from scorecube.metrics.common import n_scored
from scorecube.metrics.parameters import Parameter
from scorecube.metrics.registry import LARGEST_EXPONENT, UNIT, called, metric

FORM = Parameter("linear", {"linear": 0.0, "exp2": 1.0})
"""Form of the stop probability."""
MAX = Parameter(4.0, above=0.0, below=LARGEST_EXPONENT + 1.0, form="exp2")
"""Highest level of the scale of form exp2, whether a document has it or not; 4 in gdeval."""


@compiled
def stop_probability(gain: float, largest: float, form: float, scale: float) -> float:
    """Return g / (g_max + 1) as NTCIREVAL (form 0), or (2^g - 1) / 2^max as gdeval (form 1)."""
    if form == 0.0:
        return gain / (largest + 1.0)
    return float((2.0**gain - 1.0) / 2.0**scale)


@compiled
def expected_reciprocal_rank(
    ranks: Ints, levels: Ints, gains: Vec, cutoff: int, parameters: Vec
) -> float:
    """Return the ERR of the list; g_max is the gain of the highest level of the collection.

    parameters: Form of the stop probability, and max.
    """
    continuing = 1.0
    total = 0.0
    for k in range(n_scored(ranks, cutoff)):
        if levels[k] > 0:
            largest = gains[gains.shape[0] - 1]
            stop = stop_probability(gains[levels[k]], largest, parameters[0], parameters[1])
            total += continuing * stop / ranks[k]
            continuing *= 1.0 - stop
    return total


@metric(
    "ERR",
    range=UNIT,
    also_called=(
        *called("NTCIREVAL ERR@k"),
        *called("ir_measures ERR@k", "gdeval err@k", settings="form=exp2"),
    ),
    source="Chapelle et al. 2009; stop probability gain / (largest gain + 1), as in NTCIREVAL; "
    "form=exp2 (2^gain - 1) / 2^max, as in gdeval, whose max is always 4",
    uses_gains=True,
    form=FORM,
    max=MAX,
)
def err(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Expected reciprocal rank."""
    out[0] = expected_reciprocal_rank(ranks, levels, gains, cutoff, parameters)


@metric(
    "nERR",
    range=UNIT,
    also_called=called("NTCIREVAL nERR@k"),
    source="NTCIREVAL nERR: ERR@l over the ideal list's ERR@l; form=exp2, max as ERR",
    uses_gains=True,
    over_ideal=True,
    form=FORM,
    max=MAX,
)
def nerr(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Normalised expected reciprocal rank."""
    out[0] = expected_reciprocal_rank(ranks, levels, gains, cutoff, parameters)


@metric(
    "RBP",
    range=UNIT,
    also_called=called("NTCIREVAL RBP@k"),
    source="Moffat and Zobel 2008 with gain g/g_max, as NTCIREVAL; p = 0.95 by default, as there",
    uses_gains=True,
    p=Parameter(0.95, above=0.0, below=1.0),
)
def rank_biased_precision(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Rank-biased precision: the user continues to the next document with probability p."""
    weight = 1.0 - parameters[0]
    rank = 1
    total = 0.0
    for k in range(n_scored(ranks, cutoff)):
        if levels[k] > 0:
            for _ in range(rank, ranks[k]):
                weight *= parameters[0]
            rank = ranks[k]
            total += weight * gains[levels[k]]
    largest = gains[gains.shape[0] - 1]
    out[0] = total / largest if largest > 0.0 else 0.0

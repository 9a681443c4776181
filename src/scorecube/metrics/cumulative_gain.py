"""Cumulative gain: nCG, AnCG, nG, nDCG, AnDCG."""

import math

import numpy as np

from scorecube.kernels.arrays import Ints, Vec
from scorecube.kernels.jit import compiled
from scorecube.metrics.cascade import FORM
from scorecube.metrics.common import n_scored
from scorecube.metrics.parameters import Parameter
from scorecube.metrics.registry import UNIT, called, metric

LOGARITHMS = np.array([math.log2(rank + 1.0) for rank in range(1001)])
"""log2(r + 1) by rank: looked up six times as fast as computed."""
BASE = Parameter(-1.0, above=1.0, also=(0.0,))
"""Base b of the logarithm, see `discount`."""


@compiled
def discount(rank: int, base: float) -> float:
    """Return the divisor of the gain at rank r.

    log2(r + 1) for base -1; for base b, 1 up to rank b, then log_b(r).
    Base 0 is the natural logarithm from rank 2 on, as in NTCIREVAL; an infinite base is no
    discount.
    """
    if base < 0.0:
        return LOGARITHMS[rank] if rank < LOGARITHMS.shape[0] else math.log2(rank + 1.0)
    if base == 0.0:
        return 1.0 if rank == 1 else math.log(rank)
    return 1.0 if rank <= base else math.log(rank) / math.log(base)


@compiled
def gain_in_form(gain: float, form: float) -> float:
    """Return a gain as it is (form 0), or 2^gain - 1 (form 1)."""
    return gain if form == 0.0 else float(2.0**gain - 1.0)


@compiled
def discounted_gain(
    ranks: Ints, levels: Ints, gains: Vec, cutoff: int, base: float, form: float
) -> float:
    """Return the sum of gains over the discounts of their ranks."""
    total = 0.0
    for k in range(n_scored(ranks, cutoff)):
        if levels[k] > 0:
            total += gain_in_form(gains[levels[k]], form) / discount(ranks[k], base)
    return total


@compiled
def mean_normalised_gain(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, base: float
) -> float:
    """Return the mean over ranks to the cut-off of discounted gain over that of the ideal list."""
    level = judged.shape[0] - 1
    left = judged[judged.shape[0] - 1]
    k = 0
    total = 0.0
    ideal = 0.0
    ratios = 0.0
    for rank in range(1, cutoff + 1):
        while left == 0 and level > 0:
            level -= 1
            left = judged[level]
        if level > 0:
            ideal += gains[level] / discount(rank, base)
            left -= 1
        if k < ranks.shape[0] and ranks[k] == rank:
            total += gains[levels[k]] / discount(rank, base) if levels[k] > 0 else 0.0
            k += 1
        ratios += total / ideal if ideal > 0.0 else 0.0
    return ratios / cutoff


@metric(
    "nCG",
    user="many relevant",
    range=UNIT,
    source="Jarvelin and Kekalainen 2002; Sakai 2005, section 4.1",
    cutoff="required",
    uses_gains=True,
    over_ideal=True,
)
def ncg(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Normalised cumulative gain: cg(k) / cg_I(k)."""
    out[0] = discounted_gain(ranks, levels, gains, cutoff, np.inf, 0.0)


@metric(
    "AnCG",
    user="many relevant",
    range=UNIT,
    source="Jarvelin and Kekalainen 2002: mean of nCG over ranks 1 to k",
    cutoff="required",
    uses_gains=True,
)
def ancg(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Average normalised cumulative gain."""
    out[0] = mean_normalised_gain(ranks, levels, judged, gains, cutoff, np.inf)


@metric(
    "nG",
    range=UNIT,
    source="NTCIREVAL nG@1 (= nDCG@1)",
    cutoff="required",
    uses_gains=True,
    over_ideal=True,
)
def normalised_gain_at(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Gain at one rank over the ideal list's gain there; nG@1 is the usual one."""
    last = n_scored(ranks, cutoff) - 1
    found = last >= 0 and ranks[last] == cutoff and levels[last] > 0
    out[0] = gains[levels[last]] if found else 0.0


@metric(
    "AnDCG",
    user="many relevant",
    range=UNIT,
    source="Jarvelin and Kekalainen 2002: mean of nDCG over ranks 1 to k",
    cutoff="required",
    uses_gains=True,
    b=BASE,
)
def andcg(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Average normalised discounted cumulative gain."""
    out[0] = mean_normalised_gain(ranks, levels, judged, gains, cutoff, parameters[0])


@metric(
    "nDCG",
    user="many relevant",
    range=UNIT,
    also_called=(
        *called("trec_eval ndcg ndcg_cut_k", "ir_measures nDCG nDCG@k"),
        *called("ir_measures nDCG(dcg=log2) nDCG(dcg=log2)@k", "ranx ndcg ndcg@k"),
        *called("BEIR NDCG@k", "MTEB ndcg_at_k", "NTCIREVAL MSnDCG@k"),
        *called("NTCIREVAL nDCG@k", settings="b=2"),
        *called("ranx ndcg_burges ndcg_burges@k", "gdeval ndcg@k", settings="form=exp2"),
        *called("ir_measures nDCG(dcg=exp-log2)@k", settings="form=exp2"),
    ),
    source="trec_eval ndcg_cut and NTCIREVAL MSnDCG, log2(r+1); with b: Jarvelin and Kekalainen "
    "2002; form=exp2: gains of 2^gain - 1, as in Burges et al. 2005 and gdeval",
    uses_gains=True,
    over_ideal=True,
    b=BASE,
    form=FORM,
)
def ndcg(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Normalised discounted cumulative gain; the ideal list is cut off as well."""
    out[0] = discounted_gain(ranks, levels, gains, cutoff, parameters[0], parameters[1])

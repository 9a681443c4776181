"""Cumulative gain: nCG, AnCG, nG, nDCG, AnDCG."""

import math
from typing import Any

import numpy as np

from scorecube.kernels.jit import inlined
from scorecube.metrics.cascade import FORM
from scorecube.metrics.common import ideal_gain, n_relevant
from scorecube.metrics.registry import UNIT, Parameter, metric
from scorecube.metrics.without_documents.entry_form import Divisor, EntryForm, Total


@inlined
def discount(rank: int, base: float) -> float:
    """Return the divisor of the gain at rank r: log2(r + 1) for base -1; for base b, 1 up to rank b, then log_b(r).

    Base 0 is the natural logarithm from rank 2 on, as in NTCIREVAL; an infinite base is no discount.
    """
    if base < 0.0:
        return math.log2(rank + 1.0)
    if base == 0.0:
        return 1.0 if rank == 1 else math.log(rank)
    return 1.0 if rank <= base else math.log(rank) / math.log(base)


@inlined
def gain_in_form(gain: float, form: float) -> float:
    """Return a gain as it is (form 0), or 2^gain - 1 (form 1)."""
    return gain if form == 0.0 else float(2.0**gain - 1.0)


BASE = Parameter(-1.0, above=1.0, also=(0.0,))
"""Base b of the logarithm, see `discount`."""


@inlined
def normalised_gain(
    levels: Any, judged: Any, gains: Any, cutoff: int, base: float, mean: bool, form: float
) -> float:
    """Return discounted gain over that of the ideal list at the last rank, or the mean of this ratio over all ranks.

    It is 0 if no document of the topic has a gain, as in trec_eval.
    """
    n_ranks = cutoff
    if cutoff <= 0:
        relevant = n_relevant(judged)
        n_ranks = relevant if relevant > levels.shape[0] else levels.shape[0]
    level, left = judged.shape[0] - 1, judged[judged.shape[0] - 1]
    total, ideal, ratios = 0.0, 0.0, 0.0
    for k in range(n_ranks):
        while left == 0 and level > 0:
            level -= 1
            left = judged[level]
        divisor = 0.0
        if level > 0 or (k < levels.shape[0] and levels[k] > 0):
            divisor = discount(k + 1, base)
        if k < levels.shape[0] and levels[k] > 0:
            total += gain_in_form(gains[levels[k]], form) / divisor
        if level > 0:
            ideal += gain_in_form(gains[level], form) / divisor
            left -= 1
        if mean:
            ratios += total / ideal if ideal > 0.0 else 0.0
        elif level == 0 and k + 1 >= levels.shape[0]:
            break
    if mean:
        return ratios / n_ranks
    return total / ideal if ideal > 0.0 else 0.0


@metric(
    "nCG",
    range=UNIT,
    source="Jarvelin and Kekalainen 2002; Sakai 2005, section 4.1",
    cutoff="required",
    uses_gains=True,
    entry_form=EntryForm(Total.DISCOUNTED_GAIN, Divisor.IDEAL_DISCOUNTED_GAIN, base=np.inf),
)
def ncg(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Normalised cumulative gain: cg(k) / cg_I(k)."""
    out[0] = normalised_gain(levels, judged, gains, cutoff, np.inf, False, 0.0)


@metric(
    "AnCG",
    range=UNIT,
    source="Jarvelin and Kekalainen 2002: mean of nCG over ranks 1 to k",
    cutoff="required",
    uses_gains=True,
)
def ancg(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Average normalised cumulative gain."""
    out[0] = normalised_gain(levels, judged, gains, cutoff, np.inf, True, 0.0)


@metric(
    "nG",
    range=UNIT,
    source="NTCIREVAL nG@1 (= nDCG@1)",
    cutoff="required",
    uses_gains=True,
    entry_form=EntryForm(Total.GAIN_AT_CUTOFF, Divisor.IDEAL_GAIN_AT_CUTOFF),
)
def normalised_gain_at(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Gain at one rank over the ideal list's gain there; nG@1 is the usual one."""
    ideal = ideal_gain(judged, gains, cutoff) - ideal_gain(judged, gains, cutoff - 1)
    level = levels[cutoff - 1] if cutoff <= levels.shape[0] else -1
    out[0] = gains[level] / ideal if level > 0 and ideal > 0.0 else 0.0


@metric(
    "AnDCG",
    range=UNIT,
    source="Jarvelin and Kekalainen 2002: mean of nDCG over ranks 1 to k",
    cutoff="required",
    uses_gains=True,
    b=BASE,
)
def andcg(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Average normalised discounted cumulative gain."""
    out[0] = normalised_gain(levels, judged, gains, cutoff, parameters[0], True, 0.0)


@metric(
    "nDCG",
    range=UNIT,
    source="trec_eval ndcg_cut and NTCIREVAL MSnDCG, log2(r+1); with b: Jarvelin and Kekalainen 2002; form=exp2: gains of 2^gain - 1, as in Burges et al. 2005 and gdeval",
    uses_gains=True,
    b=BASE,
    form=FORM,
    entry_form=EntryForm(Total.DISCOUNTED_GAIN, Divisor.IDEAL_DISCOUNTED_GAIN, base="b"),
)
def ndcg(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Normalised discounted cumulative gain; the ideal list is cut off as well."""
    out[0] = normalised_gain(levels, judged, gains, cutoff, parameters[0], False, parameters[1])

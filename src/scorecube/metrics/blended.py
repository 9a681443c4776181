"""Metrics on the blended ratio (Q, Rmeasure, O, P-measure, P+) and on weighted precision (AWP, RWP).

The blended ratio is BR(r) = (cg(r) + count(r)) / (cg_I(r) + r) (Sakai 2007, eq 2), weighted precision WP(r) = cg(r) / cg_I(r).
`rel` decides what is relevant; gains only weight it. The paper's beta = k is the same as gains k times as large.
"""

from typing import Any

from scorecube.kernels.jit import inlined
from scorecube.metrics.common import first_relevant, ideal_gain, n_relevant, n_scored
from scorecube.metrics.registry import UNIT, metric
from scorecube.metrics.without_documents.entry_form import Divisor, EntryForm, Total


@inlined
def blended_sum(levels: Any, judged: Any, gains: Any, n_ranks: int) -> Any:
    """Return the sum of BR over the relevant ranks up to `n_ranks`, its last term, and their number."""
    count, gain, ratio, total = 0, 0.0, 0.0, 0.0
    for k in range(n_ranks):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
            ratio = (gain + count) / (ideal_gain(judged, gains, k + 1) + (k + 1))
            total += ratio
    return total, ratio, count


@inlined
def preferred_rank(levels: Any, n_ranks: int) -> int:
    """Return r_p, the rank of the first document of the highest level in the list; 0 without relevant documents (Sakai 2007, section 3.3)."""
    rank, best = 0, 0
    for k in range(n_ranks):
        if levels[k] > best:
            rank, best = k + 1, levels[k]
    return rank


@metric(
    "Q",
    range=UNIT,
    source="Sakai 2007, eq 1-2; at a cut-off l the normaliser is min(l, R), as in NTCIREVAL",
    uses_gains=True,
    entry_form=EntryForm(Total.BLENDED, Divisor.CUTOFF_OR_RELEVANT),
)
def q_measure(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Q-measure: mean over the relevant documents of the blended ratio at their ranks."""
    relevant = n_relevant(judged)
    total, _, _ = blended_sum(levels, judged, gains, n_scored(levels, cutoff))
    out[0] = total / (cutoff if 0 < cutoff < relevant else relevant)


@inlined
def gain_and_count(levels: Any, gains: Any, rank: int) -> Any:
    """Return cg(rank) and count(rank); constant behind the list's end."""
    count, gain = 0, 0.0
    for k in range(n_scored(levels, rank)):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
    return gain, count


@metric(
    "Rmeasure",
    range=UNIT,
    source="Sakai 2004 (R-measure): BR(R)",
    cutoff="none",
    uses_gains=True,
    entry_form=EntryForm(Total.GAIN_AND_COUNT, Divisor.IDEAL_GAIN_AND_COUNT, to_r=True),
)
def r_measure(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """R-measure: blended ratio at rank R."""
    relevant = n_relevant(judged)
    gain, count = gain_and_count(levels, gains, relevant)
    out[0] = (gain + count) / (ideal_gain(judged, gains, relevant) + relevant)


@metric(
    "AWP",
    range=UNIT,
    source="Sakai 2004 (average weighted precision, Kando et al. 2001)",
    uses_gains=True,
)
def average_weighted_precision(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Average weighted precision: mean over the relevant documents of WP at their ranks."""
    relevant = n_relevant(judged)
    gain, total = 0.0, 0.0
    for k in range(n_scored(levels, cutoff)):
        if levels[k] > 0:
            gain += gains[levels[k]]
            total += gain / ideal_gain(judged, gains, k + 1) if gain > 0.0 else 0.0
    out[0] = total / (cutoff if 0 < cutoff < relevant else relevant)


@metric("RWP", range=UNIT, source="Sakai 2004 (R-WP): WP(R)", cutoff="none", uses_gains=True)
def r_weighted_precision(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Weighted precision at rank R."""
    relevant = n_relevant(judged)
    gain, _ = gain_and_count(levels, gains, relevant)
    ideal = ideal_gain(judged, gains, relevant)
    out[0] = gain / ideal if ideal > 0.0 else 0.0


@metric(
    "O",
    range=UNIT,
    source="Sakai 2007, eq 3",
    uses_gains=True,
    entry_form=EntryForm(Total.BLENDED_AT_FIRST),
)
def o_measure(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """O-measure: blended ratio at the first relevant document."""
    _, ratio, _ = blended_sum(
        levels, judged, gains, first_relevant(levels, n_scored(levels, cutoff))
    )
    out[0] = ratio


@metric(
    "P-measure",
    range=UNIT,
    source="Sakai 2007, eq 6",
    uses_gains=True,
    entry_form=EntryForm(Total.BLENDED_AT_PREFERRED),
)
def p_measure(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """P-measure: blended ratio at the preferred rank."""
    _, ratio, _ = blended_sum(
        levels, judged, gains, preferred_rank(levels, n_scored(levels, cutoff))
    )
    out[0] = ratio


@metric(
    "P+",
    range=UNIT,
    source="Sakai 2007, eq 7",
    uses_gains=True,
    entry_form=EntryForm(Total.MEAN_BLENDED_TO_PREFERRED),
)
def p_plus(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """P+-measure: mean blended ratio over the relevant documents down to the preferred rank."""
    total, _, count = blended_sum(
        levels, judged, gains, preferred_rank(levels, n_scored(levels, cutoff))
    )
    out[0] = total / count if count > 0 else 0.0

"""Metrics on the blended ratio (Q, Rmeasure, O, P-measure, P+) and weighted precision (AWP, RWP).

The blended ratio is BR(r) = (cg(r) + count(r)) / (cg_I(r) + r) (Sakai 2007, eq 2), weighted
precision WP(r) = cg(r) / cg_I(r). `rel` decides what is relevant; gains only weight it. The paper's
beta = k is the same as gains k times as large.
"""

from typing import Any

from scorecube.kernels.arrays import Ints, Vec
from scorecube.kernels.jit import compiled
from scorecube.metrics.common import first_relevant, ideal_gain, n_best, n_relevant, n_scored
from scorecube.metrics.registry import UNIT, called, metric


@compiled
def blended_sum(ranks: Ints, levels: Ints, judged: Ints, gains: Vec, n: int) -> Any:
    """Return the sum of BR over the relevant ones of n documents, its last term, their number.

    cg_I is added up along with the ranks: of whole levels above, and of the level of a rank.
    """
    level = judged.shape[0] - 1
    before = 0.0
    end = judged[judged.shape[0] - 1]
    begin = 0
    count = 0
    gain = 0.0
    ratio = 0.0
    total = 0.0
    for k in range(n):
        if levels[k] > 0:
            rank = ranks[k]
            while rank > end and level > 0:
                before += (end - begin) * gains[level]
                level -= 1
                begin = end
                end += judged[level] if level > 0 else 0
            count += 1
            gain += gains[levels[k]]
            ideal = before + (rank - begin) * gains[level]
            ratio = (gain + count) / (ideal + rank)
            total += ratio
    return total, ratio, count


@compiled
def preferred(levels: Ints, n: int) -> int:
    """Return the place of the first document of the highest level among n; -1 for none relevant.

    It is the preferred document (Sakai 2007, section 3.3).
    """
    place = -1
    best = 0
    for k in range(n):
        if levels[k] > best:
            place = k
            best = levels[k]
    return place


@metric(
    "Q",
    user="many relevant",
    range=UNIT,
    also_called=called("NTCIREVAL Q-measure Q@k"),
    source="Sakai 2007, eq 1-2; at a cut-off l the normaliser is min(l, R), as in NTCIREVAL",
    uses_gains=True,
)
def q_measure(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Q-measure: mean over the relevant documents of the blended ratio at their ranks."""
    total, _, _ = blended_sum(ranks, levels, judged, gains, n_scored(ranks, cutoff))
    out[0] = total / n_best(judged, cutoff)


@compiled
def gain_and_count(ranks: Ints, levels: Ints, gains: Vec, rank: int) -> Any:
    """Return cg(rank) and count(rank)."""
    count = 0
    gain = 0.0
    for k in range(n_scored(ranks, rank)):
        if levels[k] > 0:
            count += 1
            gain += gains[levels[k]]
    return gain, count


@metric(
    "Rmeasure",
    user="many relevant",
    range=UNIT,
    source="Sakai 2004 (R-measure): BR(R)",
    cutoff="none",
    uses_gains=True,
)
def r_measure(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """R-measure: blended ratio at rank R."""
    relevant = n_relevant(judged)
    gain, count = gain_and_count(ranks, levels, gains, relevant)
    out[0] = (gain + count) / (ideal_gain(judged, gains, relevant) + relevant)


@metric(
    "AWP",
    user="many relevant",
    range=UNIT,
    source="Sakai 2004 (average weighted precision, Kando et al. 2001)",
    uses_gains=True,
)
def average_weighted_precision(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Average weighted precision: mean over the relevant documents of WP at their ranks."""
    gain = 0.0
    total = 0.0
    for k in range(n_scored(ranks, cutoff)):
        if levels[k] > 0:
            gain += gains[levels[k]]
            total += gain / ideal_gain(judged, gains, ranks[k]) if gain > 0.0 else 0.0
    out[0] = total / n_best(judged, cutoff)


@metric(
    "RWP",
    user="many relevant",
    range=UNIT,
    source="Sakai 2004 (R-WP): WP(R)",
    cutoff="none",
    uses_gains=True,
)
def r_weighted_precision(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Weighted precision at rank R."""
    relevant = n_relevant(judged)
    gain, _ = gain_and_count(ranks, levels, gains, relevant)
    ideal = ideal_gain(judged, gains, relevant)
    out[0] = gain / ideal if ideal > 0.0 else 0.0


@metric(
    "O",
    user="any one relevant",
    range=UNIT,
    also_called=called("NTCIREVAL O-measure"),
    source="Sakai 2007, eq 3",
    uses_gains=True,
)
def o_measure(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """O-measure: blended ratio at the first relevant document."""
    n = n_scored(ranks, cutoff)
    first = first_relevant(levels, n)
    _, ratio, _ = blended_sum(ranks, levels, judged, gains, min(first + 1, n))
    out[0] = ratio


@metric(
    "P-measure", user="one highly relevant", range=UNIT, source="Sakai 2007, eq 6", uses_gains=True
)
def p_measure(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """P-measure: blended ratio at the preferred rank."""
    n = preferred(levels, n_scored(ranks, cutoff)) + 1
    _, ratio, _ = blended_sum(ranks, levels, judged, gains, n)
    out[0] = ratio


@metric(
    "P+",
    user="one highly relevant",
    range=UNIT,
    also_called=called("NTCIREVAL P-plus"),
    source="Sakai 2007, eq 7",
    uses_gains=True,
)
def p_plus(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """P+-measure: mean blended ratio over the relevant documents down to the preferred rank."""
    n = preferred(levels, n_scored(ranks, cutoff)) + 1
    total, _, count = blended_sum(ranks, levels, judged, gains, n)
    out[0] = total / count if count > 0 else 0.0

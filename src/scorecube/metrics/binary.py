"""Binary relevance: AP, P, Recall, Rprec, RR, Hit, and binary preference (bpref)."""

from scorecube.kernels.arrays import Ints, Vec
from scorecube.kernels.jit import compiled
from scorecube.metrics.common import first_relevant, n_best, n_relevant, n_scored
from scorecube.metrics.registry import UNIT, called, metric


@compiled
def n_found(ranks: Ints, levels: Ints, deepest: int) -> int:
    """Return the number of relevant documents down to a rank."""
    count = 0
    for k in range(n_scored(ranks, deepest)):
        count += levels[k] > 0
    return count


@metric(
    "AP",
    user="many relevant",
    range=UNIT,
    also_called=called("trec_eval map", "ir_measures AP", "ranx map", "NTCIREVAL AP@k"),
    source="Sakai 2007, eq 1; at a cut-off l the normaliser is min(l, R), as in NTCIREVAL",
)
def average_precision(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Average precision: mean over the relevant documents of precision at their ranks."""
    count = 0
    total = 0.0
    for k in range(n_scored(ranks, cutoff)):
        if levels[k] > 0:
            count += 1
            total += count / ranks[k]
    out[0] = total / n_best(judged, cutoff)


@metric(
    "P",
    user="many relevant",
    range=UNIT,
    also_called=(
        *called("trec_eval P_k", "ir_measures P@k", "ranx precision@k", "BEIR P@k"),
        *called("MTEB precision_at_k", "NTCIREVAL P@k"),
    ),
    source="trec_eval P_k: divides by k also where the list is shorter",
    cutoff="required",
)
def precision(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Precision: share of relevant documents among the first k ranks."""
    out[0] = n_found(ranks, levels, cutoff) / cutoff


@metric(
    "Rprec",
    user="many relevant",
    range=UNIT,
    also_called=called("trec_eval Rprec", "ir_measures Rprec", "ranx r-precision"),
    source="Sakai 2005, section 4.1 (R-Prec); trec_eval Rprec",
    cutoff="none",
)
def r_precision(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Precision at rank R, the number of relevant documents."""
    relevant = n_relevant(judged)
    out[0] = n_found(ranks, levels, relevant) / relevant


@metric(
    "RR",
    user="any one relevant",
    range=UNIT,
    also_called=(
        *called("trec_eval recip_rank", "ir_measures RR RR@k", "ranx mrr mrr@k"),
        *called("BEIR MRR@k", "MTEB mrr_at_k", "LensKit RecipRank"),
    ),
    source="Sakai 2007, section 1; trec_eval recip_rank",
)
def reciprocal_rank(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Reciprocal of the rank of the first relevant document."""
    n = n_scored(ranks, cutoff)
    first = first_relevant(levels, n)
    out[0] = 1.0 / ranks[first] if first < n else 0.0


@metric(
    "Recall",
    user="many relevant",
    range=UNIT,
    also_called=(
        *called("trec_eval recall_k", "ir_measures SetR R@k", "ranx recall@k"),
        *called("BEIR Recall@k", "MTEB recall_at_k"),
    ),
    source="trec_eval recall_k",
)
def recall(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Share of the relevant documents that are among the first k ranks."""
    out[0] = n_found(ranks, levels, cutoff) / n_relevant(judged)


@metric(
    "Hit",
    user="any one relevant",
    range=UNIT,
    also_called=(
        *called("trec_eval success_k", "ir_measures Success@k", "ranx hit_rate@k"),
        *called("BEIR Accuracy@k", "MTEB hit_rate_at_k", "NTCIREVAL Hit@k"),
    ),
    source="trec_eval success_k; its mean is NQcorrect_k (Sakai 2005, section 4.3)",
    cutoff="required",
)
def hit(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """1 if there is a relevant document among the first k ranks, else 0."""
    n = n_scored(ranks, cutoff)
    out[0] = 1.0 if first_relevant(levels, n) < n else 0.0


@compiled
def preference(ranks: Ints, levels: Ints, judged: Ints, most: int, whole: int) -> float:
    """Return the mean over the R relevant documents of 1 - min(n, most) / whole.

    n of the non-relevant documents are above.
    """
    above = 0
    total = 0.0
    for k in range(n_scored(ranks, 0)):
        if levels[k] == 0:
            above += 1
        else:
            total += 1.0 - min(above, most) / whole if above > 0 else 1.0
    return total / n_relevant(judged)


@metric(
    "bpref",
    range=UNIT,
    also_called=called("trec_eval bpref", "ir_measures Bpref", "ranx bpref"),
    source="trec_eval bpref; Buckley and Voorhees 2004",
    cutoff="none",
    non_relevant=True,
)
def bpref(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Binary preference: mean over the R relevant documents of 1 - min(n, R) / min(R, N).

    n of the N non-relevant documents are above.
    """
    relevant = n_relevant(judged)
    out[0] = preference(ranks, levels, judged, relevant, min(relevant, judged[0]))


@metric(
    "bpref_R",
    range=UNIT,
    source="NTCIREVAL bpref_R; the first form of bpref, Buckley and Voorhees 2004",
    cutoff="none",
    non_relevant=True,
)
def bpref_r(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Binary preference over R: mean over the relevant documents of 1 - min(n, R) / R."""
    relevant = n_relevant(judged)
    out[0] = preference(ranks, levels, judged, relevant, relevant)


@metric(
    "bpref_N",
    range=UNIT,
    source="NTCIREVAL bpref_N; Sakai 2007 (Alternatives to bpref)",
    cutoff="none",
    non_relevant=True,
)
def bpref_n(
    ranks: Ints, levels: Ints, judged: Ints, gains: Vec, cutoff: int, parameters: Vec, out: Vec
) -> None:
    """Binary preference over N: mean over the relevant documents of 1 - n / N."""
    out[0] = preference(ranks, levels, judged, judged[0], judged[0])

"""Binary relevance: AP, P, Recall, Rprec, RR, Hit."""

from typing import Any

from scorecube.metrics.common import first_relevant, n_relevant, n_scored
from scorecube.metrics.registry import UNIT, metric
from scorecube.metrics.without_documents.entry_form import Divisor, EntryForm, Total


@metric(
    "AP",
    range=UNIT,
    source="Sakai 2007, eq 1; at a cut-off l the normaliser is min(l, R), as in NTCIREVAL",
    entry_form=EntryForm(Total.PRECISION, Divisor.CUTOFF_OR_RELEVANT),
)
def average_precision(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Average precision: mean over the relevant documents of precision at their ranks."""
    relevant = n_relevant(judged)
    count, total = 0, 0.0
    for k in range(n_scored(levels, cutoff)):
        if levels[k] > 0:
            count += 1
            total += count / (k + 1)
    out[0] = total / (cutoff if 0 < cutoff < relevant else relevant)


@metric(
    "P",
    range=UNIT,
    source="trec_eval P_k: divides by k also where the list is shorter",
    cutoff="required",
    entry_form=EntryForm(Total.COUNT, Divisor.CUTOFF),
)
def precision(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Precision: share of relevant documents among the first k ranks."""
    count = 0
    for k in range(n_scored(levels, cutoff)):
        count += levels[k] > 0
    out[0] = count / cutoff


@metric(
    "Rprec",
    range=UNIT,
    source="Sakai 2005, section 4.1 (R-Prec); trec_eval Rprec",
    cutoff="none",
    entry_form=EntryForm(Total.COUNT, Divisor.RELEVANT, to_r=True),
)
def r_precision(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Precision at rank R, the number of relevant documents."""
    relevant = n_relevant(judged)
    count = 0
    for k in range(n_scored(levels, relevant)):
        count += levels[k] > 0
    out[0] = count / relevant


@metric(
    "RR",
    range=UNIT,
    source="Sakai 2007, section 1; trec_eval recip_rank",
    entry_form=EntryForm(Total.RECIPROCAL_RANK),
)
def reciprocal_rank(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Reciprocal of the rank of the first relevant document."""
    rank = first_relevant(levels, n_scored(levels, cutoff))
    out[0] = 1.0 / rank if rank > 0 else 0.0


@metric(
    "Recall",
    range=UNIT,
    source="trec_eval recall_k",
    entry_form=EntryForm(Total.COUNT, Divisor.RELEVANT),
)
def recall(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Share of the relevant documents that are among the first k ranks."""
    relevant = n_relevant(judged)
    count = 0
    for k in range(n_scored(levels, cutoff)):
        count += levels[k] > 0
    out[0] = count / relevant


@metric(
    "Hit",
    range=UNIT,
    source="trec_eval success_k; its mean is NQcorrect_k (Sakai 2005, section 4.3)",
    cutoff="required",
    entry_form=EntryForm(Total.HIT),
)
def hit(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """1 if there is a relevant document among the first k ranks, else 0."""
    out[0] = 1.0 if first_relevant(levels, n_scored(levels, cutoff)) > 0 else 0.0

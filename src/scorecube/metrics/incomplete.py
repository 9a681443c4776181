"""Metrics of judged documents only: the bpref family (Sakai 2007, "Alternatives to bpref").

Ranks are those of the condensed list, from which unjudged documents are removed; the condensed form of every other metric is
``judged_only=True``. R documents are judged relevant, N not relevant.
"""

from typing import Any

import numpy as np

from scorecube.kernels.jit import inlined
from scorecube.metrics.common import BEHIND_END, POOLED, ideal_gain, n_relevant, n_scored
from scorecube.metrics.registry import metric

# numba would compile a helper once for each literal number.
RPREF_N, RPREF_RELATIVE, RPREF_RELATIVE2 = (np.int64(kind) for kind in range(3))


@inlined
def preference(levels: Any, judged: Any, most: int, out_of: int) -> float:
    """Return the mean over the R relevant documents of 1 - min(n, most) / out_of, n the number of non-relevant documents above."""
    above, total = 0, 0.0
    for k in range(levels.shape[0]):
        if levels[k] == 0:
            above += 1
        elif levels[k] > 0:
            total += 1.0 - min(above, most) / out_of if above > 0 else 1.0
    return total / n_relevant(judged)


@inlined
def graded_preference(levels: Any, judged: Any, gains: Any, kind: np.int64) -> float:
    """Return the gain-weighted preference, which decreases with every document of a smaller gain above."""
    relevant = n_relevant(judged)
    ideal = ideal_gain(judged, gains, relevant)
    largest = gains[gains.shape[0] - 1]
    spread = relevant + judged[0] - (ideal / largest if largest > 0.0 else 0.0)
    above = np.zeros(gains.shape[0], np.int64)
    rank, total = 0, 0.0
    for k in range(levels.shape[0]):
        if levels[k] < 0:
            continue
        rank += 1
        gain = gains[levels[k]]
        if levels[k] > 0 and gain > 0.0:
            penalty = 0.0
            for level in range(gains.shape[0]):
                if gains[level] < gain:
                    penalty += above[level] * (gain - gains[level]) / gain
            if kind == RPREF_N:
                total += gain * (1.0 - penalty / spread) if penalty > 0.0 else gain
            elif kind == RPREF_RELATIVE2:
                total += gain * (1.0 - penalty / rank)
            elif rank > 1:
                total += gain * (1.0 - penalty / (rank - 1))
        above[levels[k]] += 1
    return total / ideal if ideal > 0.0 else 0.0


@metric("bpref", source="trec_eval bpref; Buckley and Voorhees 2004", cutoff="none")
def bpref(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Binary preference."""
    relevant = n_relevant(judged)
    out[0] = preference(levels, judged, relevant, min(relevant, judged[0]))


@metric("bpref_R", source="NTCIREVAL bpref_R", cutoff="none")
def bpref_r(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Binary preference over R, whatever the number of non-relevant documents."""
    out[0] = preference(levels, judged, n_relevant(judged), n_relevant(judged))


@metric("bpref_N", source="NTCIREVAL bpref_N (bpref_allnonrel)", cutoff="none")
def bpref_n(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Binary preference over all documents judged not relevant."""
    out[0] = preference(levels, judged, judged[0], judged[0])


@metric(
    "bpref_relative",
    source="NTCIREVAL bpref_relative; a relevant document at rank 1 counts 0",
    cutoff="none",
)
def bpref_relative(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Binary preference over the ranks above."""
    above, rank, total = 0, 0, 0.0
    for k in range(levels.shape[0]):
        if levels[k] < 0:
            continue
        rank += 1
        if levels[k] == 0:
            above += 1
        elif rank > 1:
            total += 1.0 - above / (rank - 1)
    out[0] = total / n_relevant(judged)


@metric(
    "rpref_N", source="NTCIREVAL rpref_N; De Beer and Moens 2006", cutoff="none", uses_gains=True
)
def rpref_n(levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Graded preference over all judged documents."""
    out[0] = graded_preference(levels, judged, gains, RPREF_N)


@metric("rpref_relative", source="NTCIREVAL rpref_relative", cutoff="none", uses_gains=True)
def rpref_relative(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Graded preference over the ranks above; a relevant document at rank 1 counts 0."""
    out[0] = graded_preference(levels, judged, gains, RPREF_RELATIVE)


@metric("rpref_relative2", source="NTCIREVAL rpref_relative2", cutoff="none", uses_gains=True)
def rpref_relative2(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Graded preference over the ranks down to the document."""
    out[0] = graded_preference(levels, judged, gains, RPREF_RELATIVE2)


SMOOTHING = 1e-5
"""Epsilon of inferred AP, which keeps the estimated precision above a document defined where nothing is judged; as in trec_eval."""


@metric(
    "infAP",
    source="Yilmaz and Aslam 2006; trec_eval infAP: judgements of -1 are documents of the pool that were not judged",
    cutoff="none",
    sees_unjudged=True,
)
def inferred_ap(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Inferred average precision: AP estimated from judgements of a random sample of the pool."""
    relevant, others, unjudged, total = 0, 0, 0, 0.0
    for k in range(levels.shape[0]):
        if levels[k] == POOLED:
            unjudged += 1
        elif levels[k] == 0:
            others += 1
        elif levels[k] > 0:
            total += 1.0 / (k + 1)
            if k > 0:
                pooled = (relevant + others + unjudged) / k
                precision = (relevant + SMOOTHING) / (relevant + others + 2.0 * SMOOTHING)
                total += k / (k + 1) * pooled * precision
            relevant += 1
    out[0] = total / n_relevant(judged)


@metric(
    "Judged",
    source="ir_measures Judged@k: divides by the length of a list that is shorter than k",
    sees_unjudged=True,
)
def judged_share(
    levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Share of judged documents among the first k ranks; it says how complete judgements are, not how good a run is."""
    count, length = 0, 0
    for k in range(n_scored(levels, cutoff)):
        if levels[k] != BEHIND_END:
            length += 1
            count += levels[k] >= 0
    out[0] = count / length if length > 0 else 0.0

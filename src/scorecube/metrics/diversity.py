"""Diversity metrics, for topics with several intents: alpha-nDCG, ERR-IA, P-IA, AP-IA, I-rec, D-nDCG, D#-nDCG.

Arguments are as in `scorecube.metrics.intents`.
"""

import math
from typing import Any

from scorecube.kernels.jit import inlined
from scorecube.metrics.common import n_scored
from scorecube.metrics.intents import by_global_gain, greedy, intent_metric
from scorecube.metrics.registry import Parameter

ALPHA = Parameter(0.5, above=0.0, below=1.0, also=(0.0, 1.0))
"""Probability that a relevant document satisfies an intent completely; 0.5 in ndeval."""
GAMMA = Parameter(0.5, above=0.0, below=1.0, also=(0.0, 1.0))
"""Weight of intent recall in D#-nDCG."""


@inlined
def rank_value(rank: int, reciprocal: bool) -> float:
    """Return 1 / r, or 1 / log2(r + 1)."""
    return 1.0 / rank if reciprocal else math.log(2.0) / math.log(rank + 1.0)


@inlined
def novelty(
    documents: Any, levels: Any, weights: Any, cutoff: int, alpha: float, reciprocal: bool
) -> float:
    """Return discounted gain; each document relevant to an intent multiplies its weight by 1 - alpha (Clarke et al. 2008, eq 5)."""
    left, total = weights.copy(), 0.0
    for k in range(n_scored(documents, cutoff)):
        if documents[k] < 0:
            continue
        gain = 0.0
        for intent in range(weights.shape[0]):
            if levels[documents[k], intent] > 0:
                gain += left[intent]
                left[intent] *= 1.0 - alpha
        total += gain * rank_value(k + 1, reciprocal)
    return total


@inlined
def largest_novelty(weights: Any, cutoff: int, alpha: float, reciprocal: bool) -> float:
    """Return the gain of k documents that are relevant to all intents with a weight; the same for all collections."""
    left, total = 0.0, 0.0
    for intent in range(weights.shape[0]):
        left += weights[intent]
    for k in range(cutoff):
        total += left * rank_value(k + 1, reciprocal)
        left *= 1.0 - alpha
    return total


@inlined
def intent_recall(documents: Any, levels: Any, weights: Any, cutoff: int) -> float:
    """Return the share of the intents with a weight that have a relevant document in the list."""
    count, covered = 0, 0
    for intent in range(weights.shape[0]):
        if weights[intent] > 0.0:
            count += 1
            for k in range(n_scored(documents, cutoff)):
                if documents[k] >= 0 and levels[documents[k], intent] > 0:
                    covered += 1
                    break
    return covered / count if count > 0 else 0.0


@inlined
def global_gain(documents: Any, levels: Any, weights: Any, gains: Any, cutoff: int) -> float:
    """Return discounted global gain; a document's global gain is the sum over the intents of Pr(intent) times gain."""
    total = 0.0
    for k in range(n_scored(documents, cutoff)):
        if documents[k] >= 0:
            gain = 0.0
            for intent in range(weights.shape[0]):
                if levels[documents[k], intent] > 0:
                    gain += weights[intent] * gains[levels[documents[k], intent]]
            if gain > 0.0:
                total += gain / math.log2(k + 2.0)
    return total


@intent_metric(
    "alpha-DCG",
    source="ndeval alpha-DCG: Clarke et al. 2008 over the gain of k documents relevant to all intents",
    cutoff="required",
    alpha=ALPHA,
)
def alpha_dcg(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Novelty-biased discounted gain with collection-independent normalisation."""
    largest = largest_novelty(weights, cutoff, parameters[0], False)
    out[0] = (
        novelty(documents, levels, weights, cutoff, parameters[0], False) / largest
        if largest > 0.0
        else 0.0
    )


@intent_metric(
    "alpha-nDCG",
    source="Clarke et al. 2008; ndeval alpha-nDCG: binary by intent, greedy ideal list, log2(r+1)",
    ideal=greedy,
    alpha=ALPHA,
)
def alpha_ndcg(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Novelty-biased discounted gain over that of the greedy ideal list."""
    out[0] = (
        novelty(documents, levels, weights, cutoff, parameters[0], False) / ideal
        if ideal > 0.0
        else 0.0
    )


@intent_metric(
    "ERR-IA",
    source="ndeval ERR-IA: Chapelle et al. 2011, binary by intent, over the gain of k documents relevant to all intents",
    cutoff="required",
    alpha=ALPHA,
)
def err_ia(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Intent-aware expected reciprocal rank with collection-independent normalisation."""
    largest = largest_novelty(weights, cutoff, parameters[0], True)
    out[0] = (
        novelty(documents, levels, weights, cutoff, parameters[0], True) / largest
        if largest > 0.0
        else 0.0
    )


@intent_metric(
    "nERR-IA",
    source="ndeval nERR-IA: ERR-IA over that of alpha-nDCG's greedy ideal list",
    ideal=greedy,
    alpha=ALPHA,
)
def nerr_ia(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Intent-aware expected reciprocal rank over that of the greedy ideal list."""
    out[0] = (
        novelty(documents, levels, weights, cutoff, parameters[0], True) / ideal
        if ideal > 0.0
        else 0.0
    )


@intent_metric("P-IA", source="ndeval P-IA; Agrawal et al. 2009, section 5", cutoff="required")
def precision_ia(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Intent-aware precision: mean over the intents of precision at rank k."""
    total, weight = 0.0, 0.0
    for intent in range(weights.shape[0]):
        weight += weights[intent]
        for k in range(n_scored(documents, cutoff)):
            if documents[k] >= 0 and levels[documents[k], intent] > 0:
                total += weights[intent]
    out[0] = total / (cutoff * weight) if weight > 0.0 else 0.0


@intent_metric(
    "AP-IA",
    source="ndeval MAP-IA; Agrawal et al. 2009, section 5; at a cut-off l over min(l, R) as AP",
)
def average_precision_ia(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Intent-aware average precision: mean over the intents of average precision."""
    total, weight = 0.0, 0.0
    for intent in range(weights.shape[0]):
        if weights[intent] <= 0.0:
            continue
        count, precisions = 0, 0.0
        for k in range(n_scored(documents, cutoff)):
            if documents[k] >= 0 and levels[documents[k], intent] > 0:
                count += 1
                precisions += count / (k + 1)
        limit = min(cutoff, relevant[intent]) if cutoff > 0 else relevant[intent]
        total += weights[intent] * precisions / limit
        weight += weights[intent]
    out[0] = total / weight if weight > 0.0 else 0.0


@intent_metric(
    "I-rec",
    source="Sakai and Song 2011, section 3.2; ndeval strec: intents without relevant document left out",
    cutoff="required",
)
def i_rec(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Intent recall: share of the intents that the list covers."""
    out[0] = intent_recall(documents, levels, weights, cutoff)


@intent_metric(
    "D-nDCG",
    source="Sakai and Song 2011, section 3.1: MSnDCG of global gains",
    uses_gains=True,
    ideal=by_global_gain,
)
def d_ndcg(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Discounted global gain over that of the list by descending global gain."""
    out[0] = global_gain(documents, levels, weights, gains, cutoff) / ideal if ideal > 0.0 else 0.0


@intent_metric(
    "D#-nDCG",
    source="Sakai and Song 2011, eq 4: gamma I-rec + (1 - gamma) D-nDCG",
    uses_gains=True,
    ideal=by_global_gain,
    normaliser=d_ndcg,
    gamma=GAMMA,
)
def d_sharp_ndcg(
    documents: Any,
    levels: Any,
    relevant: Any,
    weights: Any,
    gains: Any,
    cutoff: int,
    parameters: Any,
    ideal: Any,
    out: Any,
) -> None:
    """Mean of intent recall and D-nDCG."""
    relevance = (
        global_gain(documents, levels, weights, gains, cutoff) / ideal if ideal > 0.0 else 0.0
    )
    out[0] = (
        parameters[0] * intent_recall(documents, levels, weights, cutoff)
        + (1.0 - parameters[0]) * relevance
    )

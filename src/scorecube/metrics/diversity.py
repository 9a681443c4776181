"""Metrics of topics with several intents: I-rec, D-nDCG, D#-nDCG (Sakai and Song 2011).

They need documents judged by intent, and are functions of NumPy beside the compiled ones. An
intent counts if its probability is above 0 and some document is relevant to it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scorecube.metrics.common import Item, packed
from scorecube.metrics.parameters import Parameter
from scorecube.metrics.registry import UNIT, Definition, Metric, register

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class IntentLists:
    """Ranked lists, and judgements by intent.

    documents: int32 (run, topic, rank): number of the judged document at a rank, -1 for none.
    levels: int8 (topic, document, intent): relevance levels, -1 for not judged.
    probability: float64 (topic, intent).
    """

    documents: NDArray[np.int32]
    levels: NDArray[np.int8]
    probability: Floats

    @cached_property
    def counting(self) -> Flags:
        """Whether an intent counts, (topic, intent)."""
        counting: Flags = np.any(self.levels > 0, axis=1) & (self.probability > 0.0)
        return counting

    def at_ranks(self, of_document: NDArray[Item]) -> NDArray[Item]:
        """Return what documents have, (topic, document), at ranks, (run, topic, rank); else 0."""
        # Number -1, of no judged document, is the last column.
        padded = np.pad(of_document, ((0, 0), (0, 1)))
        found: NDArray[Item] = padded[np.arange(len(padded))[:, np.newaxis], self.documents]
        return found


Function = Callable[[IntentLists, Floats, Metric], Floats]
"""Scores (run, topic) of lists for the gains (level,) and a metric."""


def intent_recall(lists: IntentLists, gains: Floats, metric: Metric) -> Floats:
    """Share of the intents that have a relevant document among the first k ranks."""
    covered: Floats = np.zeros(lists.documents.shape[:2])
    for intent, counts in enumerate(lists.counting.T):
        found = lists.at_ranks(lists.levels[..., intent] > 0).any(axis=-1)
        covered += found & counts
    n_intents: Floats = np.maximum(lists.counting.sum(axis=1), 1.0)
    return covered / n_intents


def global_ndcg(lists: IntentLists, gains: Floats, metric: Metric) -> Floats:
    """NDCG of global gains: of a document, the mean of its gains over the intents."""
    weights = np.where(lists.counting, lists.probability, 0.0)
    of_document = np.einsum("tdi,ti->td", gains[np.maximum(lists.levels, 0)], weights)
    found = discounted(lists.at_ranks(of_document))
    best = discounted(-np.sort(-of_document, axis=1)[:, : metric.cutoff])
    return np.divide(found, best, out=np.zeros_like(found), where=best > 0.0)


def discounted(gains: Floats) -> Floats:
    """Return the sum over ranks, the last dim, of gain / log2(r + 1)."""
    discounts = np.log2(np.arange(2.0, gains.shape[-1] + 2.0))
    total: Floats = (gains / discounts).sum(axis=-1)
    return total


def recall_and_ndcg(lists: IntentLists, gains: Floats, metric: Metric) -> Floats:
    """Weighted mean of intent recall and nDCG of global gains."""
    (gamma,) = metric.values("gamma")
    recall = intent_recall(lists, gains, metric)
    return gamma * recall + (1.0 - gamma) * global_ndcg(lists, gains, metric)


def declare(name: str, function: Function, source: str, **parameters: Parameter) -> None:
    """Register a metric of intents."""
    told = f"Sakai and Song 2011, {source}; needs --intents"
    uses_gains = function is not intent_recall
    plain = Definition(name, function, told, "required", uses_gains, parameters)
    register(replace(plain, range=UNIT, by_intent=True))


declare("I-rec", intent_recall, "section 3.2 (intent recall)")
declare("D-nDCG", global_ndcg, "section 3.1: nDCG of the sums over intents of probability x gain")
declare(
    "D#-nDCG",
    recall_and_ndcg,
    "equation 4: gamma I-rec + (1 - gamma) D-nDCG; gamma = 0.5 by default",
    gamma=Parameter(0.5, above=0.0, below=1.0, also=(0.0, 1.0)),
)


def score_by_intent(metric: Metric, lists: IntentLists, gains: Floats) -> Floats:
    """Score rankings by a metric of intents.

    gains: float64 (gain, level).
    Returns scores: float64 (gain, run, topic); NaN where no intent counts.
    """
    if metric.judged_only:
        is_judged = lists.at_ranks(np.any(lists.levels >= 0, axis=2))
        lists = replace(lists, documents=packed(lists.documents, is_judged, -1))
    levels = np.where(lists.levels < metric.rel, np.int8(0), lists.levels)
    lists = replace(lists, documents=lists.documents[..., : metric.cutoff], levels=levels)
    function: Function = metric.definition.function
    scores = np.stack([function(lists, table, metric) for table in gains])
    scores[..., ~np.any(lists.counting, axis=1)] = np.nan
    return scores

"""Diversity measures and classes of answers in plain Python, written from the papers.

Clarke et al. 2008 (alpha-nDCG), Agrawal et al. 2009 (intent-aware measures), Chapelle et al. 2011 (ERR-IA), Sakai and Song
2011 (I-rec, D-nDCG, D#-nDCG), Sakai 2004 (equivalence classes). Where papers leave a choice open, it is that of ndeval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Judgements = Mapping[str, Mapping[str, int]]
"""Document -> intent -> level."""


@dataclass(frozen=True)
class Topic:
    """One ranked list and the judgements of its topic; levels below `rel` are 0 already."""

    listed: Sequence[str]
    """Documents as far as the cut-off lets one look."""
    judged: Judgements
    probability: Mapping[str, float]
    gain_of: Sequence[float]
    limit: int | None
    """The cut-off."""

    def relevant(self, intent: str) -> set[str]:
        """Documents relevant to an intent."""
        return {document for document, levels in self.judged.items() if levels.get(intent, -1) > 0}

    def intents_of(self, document: str) -> list[str]:
        """Intents that count and that a document is relevant to."""
        return [intent for intent in self.intents if document in self.relevant(intent)]

    @property
    def intents(self) -> list[str]:
        """Intents that count: possible ones with a relevant document."""
        return [intent for intent, p in self.probability.items() if p > 0 and self.relevant(intent)]

    def p(self, intent: str) -> float:
        """Probability of an intent among those that count."""
        return self.probability[intent] / math.fsum(
            self.probability[other] for other in self.intents
        )

    def replaced(self, listed: Sequence[str]) -> Topic:
        """Return this topic with another list."""
        return Topic(listed[: self.limit], self.judged, self.probability, self.gain_of, self.limit)


def novelty(topic: Topic, alpha: float) -> list[float]:
    """Gain at each rank: sum over its intents of p (1 - alpha)^(relevant documents before), Clarke et al. eq 5."""
    gains = []
    for rank, document in enumerate(topic.listed):
        before = {
            i: sum(d in topic.relevant(i) for d in topic.listed[:rank]) for i in topic.intents
        }
        gains.append(
            math.fsum(topic.p(i) * (1 - alpha) ** before[i] for i in topic.intents_of(document))
        )
    return gains


def greedy(topic: Topic, alpha: float) -> list[str]:
    """The ideal list: always the document that gains most next; of equal ones the last by name."""
    chosen: list[str] = []
    rest = {document for document in topic.judged if topic.intents_of(document)}
    while rest and len(chosen) < (topic.limit or math.inf):
        # Rounded, as ties are those of exact sums.
        gains = {d: round(novelty(topic.replaced([*chosen, d]), alpha)[-1], 12) for d in rest}
        chosen.append(max(rest, key=lambda d: (gains[d], d)))
        rest.remove(chosen[-1])
    return chosen


def by_log(gains: Sequence[float]) -> float:
    """Sum of gain / log2(r + 1)."""
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def by_rank(gains: Sequence[float]) -> float:
    """Sum of gain / r."""
    return math.fsum(gain / rank for rank, gain in enumerate(gains, 1))


def over_best(discounted: Callable[[Sequence[float]], float], topic: Topic, alpha: float) -> float:
    """Discounted novelty over that of k documents relevant to all intents."""
    return discounted(novelty(topic, alpha)) / discounted(
        [(1 - alpha) ** k for k in range(topic.limit or 0)]
    )


def over_ideal(discounted: Callable[[Sequence[float]], float], topic: Topic, alpha: float) -> float:
    """Discounted novelty over that of the greedy list."""
    return discounted(novelty(topic, alpha)) / discounted(
        novelty(topic.replaced(greedy(topic, alpha)), alpha)
    )


def alpha_dcg(topic: Topic, alpha: float = 0.5) -> float:
    return over_best(by_log, topic, alpha)


def alpha_ndcg(topic: Topic, alpha: float = 0.5) -> float:
    return over_ideal(by_log, topic, alpha)


def err_ia(topic: Topic, alpha: float = 0.5) -> float:
    return over_best(by_rank, topic, alpha)


def nerr_ia(topic: Topic, alpha: float = 0.5) -> float:
    return over_ideal(by_rank, topic, alpha)


def err_ia_of_chapelle(topic: Topic) -> float:
    """Mean over the intents of ERR, binary: a relevant document satisfies with probability 1/2; no normalisation."""
    total = 0.0
    for intent in topic.intents:
        going_on = 1.0
        for rank, document in enumerate(topic.listed, 1):
            if document in topic.relevant(intent):
                total += topic.p(intent) * going_on * 0.5 / rank
                going_on *= 0.5
    return total


def p_ia(topic: Topic) -> float:
    """Mean over the intents of precision at the cut-off."""
    return math.fsum(
        topic.p(i) * len([d for d in topic.listed if d in topic.relevant(i)]) / (topic.limit or 0)
        for i in topic.intents
    )


def ap_ia(topic: Topic) -> float:
    """Mean over the intents of average precision."""

    def average_precision(relevant: set[str]) -> float:
        ranks = [rank for rank, document in enumerate(topic.listed, 1) if document in relevant]
        return math.fsum(k / rank for k, rank in enumerate(ranks, 1)) / min(
            len(relevant), topic.limit or len(relevant)
        )

    return math.fsum(topic.p(i) * average_precision(topic.relevant(i)) for i in topic.intents)


def i_rec(topic: Topic) -> float:
    """Share of the intents covered."""
    return len({i for d in topic.listed for i in topic.intents_of(d)}) / len(topic.intents)


def d_ndcg(topic: Topic) -> float:
    """Global gains GG(d) = sum of Pr(i) g_i(d), by log2(r + 1), over those of the list by descending global gain."""

    def global_gain(document: str) -> float:
        return math.fsum(
            topic.p(i) * topic.gain_of[topic.judged[document][i]]
            for i in topic.intents_of(document)
        )

    best = by_log(sorted(map(global_gain, topic.judged), reverse=True)[: topic.limit])
    return (
        by_log([global_gain(d) if d in topic.judged else 0.0 for d in topic.listed]) / best
        if best > 0
        else 0.0
    )


def d_sharp_ndcg(topic: Topic, gamma: float = 0.5) -> float:
    return gamma * i_rec(topic) + (1 - gamma) * d_ndcg(topic)


ORACLES: dict[str, Callable[..., float]] = {
    "alpha-DCG": alpha_dcg,
    "alpha-nDCG": alpha_ndcg,
    "ERR-IA": err_ia,
    "nERR-IA": nerr_ia,
    "P-IA": p_ia,
    "AP-IA": ap_ia,
    "I-rec": i_rec,
    "D-nDCG": d_ndcg,
    "D#-nDCG": d_sharp_ndcg,
}


def topic_of(
    listed: Sequence[str],
    judged: Judgements,
    gains: Sequence[float],
    cutoff: int = 0,
    rel: int = 1,
    probability: Mapping[str, float] | None = None,
    judged_only: bool = False,
) -> Topic:
    """Put a topic together."""
    lowered = {
        d: {i: 0 if 0 < level < rel else level for i, level in own.items()}
        for d, own in judged.items()
    }
    known = {d for d, own in judged.items() if any(level >= 0 for level in own.values())}
    kept = [document for document in listed if not judged_only or document in known]
    own = sorted({intent for levels in judged.values() for intent in levels})
    return Topic(
        kept[: cutoff or None],
        lowered,
        probability or dict.fromkeys(own, 1.0),
        gains,
        cutoff or None,
    )


def oracle(name: str, topic: Topic, **parameters: Any) -> float:
    """Score one list; NaN where no document is relevant to an intent."""
    if not any(topic.relevant(intent) for intent in topic.probability):
        return math.nan
    return ORACLES[name](topic, **parameters) if topic.intents else 0.0


def levels_with_classes(
    listed: Sequence[str], levels: Mapping[str, int], class_of: Mapping[str, str]
) -> tuple[list[int], list[int]]:
    """Return the level at each rank, -1 for unjudged, and the ideal list's levels (Sakai 2004: one answer a class).

    The first correct answer of a class counts with its own level, later ones are wrong; the ideal list holds each class
    once, with its best answer.
    """
    found, seen = [], set()
    for document in listed:
        level = max(levels.get(document, -1), -1)
        label = class_of.get(document)
        if level > 0 and label is not None:
            level = 0 if label in seen else level
            seen.add(label)
        found.append(level)
    best: dict[str, int] = {}
    for document, level in levels.items():
        key = f"class {class_of[document]}" if document in class_of else f"document {document}"
        best[key] = max(level, best.get(key, -1))
    return found, sorted((level for level in best.values() if level >= 0), reverse=True)

"""Metrics of topics with several intents in plain Python, from Sakai and Song 2011."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr


@dataclass(frozen=True)
class Topic:
    """A ranked list, and the judgements of its topic by document and intent."""

    listed: Sequence[str]
    judged: Mapping[str, Mapping[str, int]]
    probability: Mapping[str, float]
    gain_of: Sequence[float]
    rel: int = 1

    def relevant(self, document: str) -> set[str]:
        """Possible intents that a document is relevant to."""
        levels = self.judged.get(document, {})
        return {i for i, level in levels.items() if level >= self.rel and self.probability[i] > 0}

    @property
    def intents(self) -> set[str]:
        """Possible intents with a relevant document."""
        return set().union(*(self.relevant(document) for document in self.judged))

    def global_gain(self, document: str) -> float:
        """GG(d), the sum of Pr(i) g_i(d)."""
        gains = [
            self.probability[i] * self.gain_of[self.judged[document][i]]
            for i in self.relevant(document)
        ]
        return math.fsum(gains)


def i_rec(topic: Topic, cutoff: int) -> float:
    """Share of the intents covered."""
    found: set[str] = set().union(*(topic.relevant(one) for one in topic.listed[:cutoff]))
    return len(found) / len(topic.intents)


def d_ndcg(topic: Topic, cutoff: int) -> float:
    """Global gains over log2(r + 1), over those of the documents by descending global gain."""
    found = [topic.global_gain(document) for document in topic.listed[:cutoff]]
    best = sorted(map(topic.global_gain, topic.judged), reverse=True)[:cutoff]
    discounted = [
        math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
        for gains in (found, best)
    ]
    return discounted[0] / discounted[1] if discounted[1] else 0.0


def oracle(name: str, topic: Topic, cutoff: int, gamma: float = 0.5) -> float:
    """Score one list; NaN where no document is relevant to an intent."""
    if not topic.intents:
        return math.nan
    recall, ndcg = i_rec(topic, cutoff), d_ndcg(topic, cutoff)
    return {"I-rec": recall, "D-nDCG": ndcg, "D#-nDCG": gamma * recall + (1 - gamma) * ndcg}[name]


def made_up_intents(rankings: xr.Dataset, n_intents: int = 3) -> xr.Dataset:
    """Add intents to rankings: a document has its level for some of them, and 0 for others."""
    random = np.random.default_rng(9)
    levels = rankings["level_of_document"].values[..., np.newaxis]
    share = random.random((*levels.shape[:2], n_intents)) < 0.6
    dims = ("topic", "document", "intent")
    probability = random.dirichlet(np.ones(n_intents), len(levels))
    return rankings.assign(
        intent_level=(dims, np.where(share, levels, np.minimum(levels, 0)).astype(np.int8)),
        intent_probability=(("topic", "intent"), probability),
    )

"""Metrics of levels by intent: how one is declared, its ideal lists, and how rankings are scored.

A metric is one small function of one ranking, declared with `intent_metric`. Its arguments, in this order:

- `documents`, int32 (rank,): number of the judged document at each rank, -1 for unjudged and behind the list's end.
- `levels`, int8 (document, intent): relevance level of each judged document for each intent. Levels below ``rel`` are 0.
- `relevant`, int64 (intent,): number of documents relevant to each intent.
- `weights`, float64 (intent,): probability of each intent over that of the most probable one; 0 for intents without a relevant document.
- `gains`, `cutoff`, `parameters`: as of every metric, see `scorecube.metrics.registry`.
- `ideal`, float64: the normaliser's value for the topic's ideal list; 1 without a normaliser.
- `out`, float64 (1,): the score.

An intent has a weight if its probability is above 0 and a document of the topic is relevant to it: ndeval leaves out subtopics
without a relevant document, and normalises by the number of the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scorecube.kernels.jit import over_documents, over_intents, over_topics
from scorecube.metrics.registry import Cutoff, Definition, Metric, Parameter, register

Function = Callable[..., None]
Ideal = Callable[..., Any]


@dataclass(frozen=True)
class IntentDefinition(Definition):
    """A family of metrics that need levels by intent.

    name, function, source, cutoff, uses_gains, parameters, entry_form: As of `Definition`.
    ideal: Orders the judged documents of a topic into its ideal list; None for a metric without a normaliser.
    normaliser: Its value for the ideal list, with `ideal` = 1, is the argument `ideal` of `function`; `function` itself
        by default.
    """

    ideal: Ideal | None = None
    normaliser: Function | None = None

    @property
    def by_intent(self) -> bool:
        """Whether the metric needs levels by intent, which is so."""
        return True

    @cached_property
    def kernel(self) -> Callable[..., Any]:
        """The compiled function; compiled, or loaded from the disk cache, at first use."""
        return over_intents(self.function)

    @cached_property
    def normaliser_kernel(self) -> Callable[..., Any]:
        """The compiled normaliser."""
        return self.kernel if self.normaliser is None else over_intents(self.normaliser)


def intent_metric(
    name: str,
    *,
    source: str,
    cutoff: Cutoff = "optional",
    uses_gains: bool = False,
    ideal: Ideal | None = None,
    normaliser: Function | None = None,
    **parameters: Parameter,
) -> Callable[[Function], Function]:
    """Register a function of one ranking with levels by intent as the metric `name`.

    name, source, cutoff, uses_gains, parameters: As of `scorecube.metrics.metric`.
    ideal, normaliser: See `IntentDefinition`.
    Returns declare: Decorator that returns the function unchanged.
    Raises BadName: See `scorecube.metrics.registry.register`.
    """

    def declare(function: Function) -> Function:
        register(
            IntentDefinition(
                name,
                function,
                source,
                cutoff,
                uses_gains,
                parameters,
                ideal=ideal,
                normaliser=normaliser,
            )
        )
        return function

    return declare


def _greedy(levels: Any, weights: Any, gains: Any, cutoff: int, parameters: Any, out: Any) -> None:
    """Write the ideal list greedily: at each rank the document of the largest gain; of equal ones the last, as in ndeval.

    Finding the optimal list is NP-complete (Clarke et al. 2008, section 3.3). Parameter 0 is alpha.
    """
    left, used = weights.copy(), np.zeros(levels.shape[0], np.bool_)
    out[:] = -1
    n_ranks = min(levels.shape[0], cutoff) if cutoff > 0 else levels.shape[0]
    for k in range(n_ranks):
        best, best_gain = -1, 0.0
        for document in range(levels.shape[0]):
            if used[document]:
                continue
            gain, relevant = 0.0, False
            for intent in range(levels.shape[1]):
                if levels[document, intent] > 0 and weights[intent] > 0.0:
                    gain += left[intent]
                    relevant = True
            if not relevant:
                used[document] = True
            elif best < 0 or gain >= best_gain:
                best, best_gain = document, gain
        if best < 0:
            break
        used[best], out[k] = True, best
        for intent in range(levels.shape[1]):
            if levels[best, intent] > 0:
                left[intent] *= 1.0 - parameters[0]


def by_global_gain(
    levels: Any, weights: Any, gains: Any, cutoff: int, parameters: Any
) -> npt.NDArray[np.int32]:
    """Return the judged documents by descending global gain (Sakai and Song 2011, section 3.1): int32 (gain, topic, document)."""
    table = gains[:, 0]
    losses = np.zeros((len(table), *levels.shape[:2]))
    for intent in range(levels.shape[2]):
        level = levels[..., intent]
        losses -= np.where(level > 0, weights[:, [intent]] * table[:, level], 0.0)
    return np.argsort(losses, axis=-1, kind="stable").astype(np.int32)


def _condense(documents: Any, levels: Any, out: Any) -> None:
    """Remove documents that are judged for no intent from a list."""
    kept = 0
    for k in range(documents.shape[0]):
        judged = False
        if documents[k] >= 0:
            for intent in range(levels.shape[1]):
                judged |= levels[documents[k], intent] >= 0
        if judged:
            out[kept] = documents[k]
            kept += 1
    out[kept:] = -1


greedy = over_topics(_greedy)
condense_documents = over_documents(_condense)


def score_by_intent(
    metric: Metric,
    documents: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int8],
    probability: npt.NDArray[np.float64],
    gains: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Score rankings with levels by intent; normalisers are computed once for each gain setting and topic.

    Parameters
    ----------
    metric
        One whose definition is `by_intent`.
    documents
        int32 (run, topic, rank): judged document at each rank, -1 for none.
    levels
        int8 (topic, document, intent): relevance levels, -1 for not judged.
    probability
        float64 (topic, intent): probability of each intent.
    gains
        float64 (gain, level): gain of each level.

    Returns
    -------
    scores
        float64 (gain, run, topic); NaN where no document of the topic is relevant.

    Raises
    ------
    TypeError
        The metric is not by intent.
    """
    definition = metric.definition
    if not isinstance(definition, IntentDefinition):
        raise TypeError(f"{metric} needs no intents")
    if metric.judged_only:
        documents = condense_documents(documents, levels)
    if metric.rel > 1:
        levels = np.where((levels > 0) & (levels < metric.rel), np.int8(0), levels)
    relevant = (levels > 0).sum(axis=-2)
    weights = np.where(relevant > 0, probability, 0.0)
    largest = weights.max(axis=-1, keepdims=True)
    # Equal probabilities become exactly 1, so that ties of the greedy ideal list are those of ndeval.
    weights = np.divide(weights, largest, out=np.zeros_like(weights), where=largest > 0.0)
    table, cutoff, numbers = gains[:, np.newaxis], np.int64(metric.cutoff), metric.numbers()
    ideal = np.ones((len(gains), len(levels)))
    with np.errstate(invalid="ignore", divide="ignore"):
        if definition.ideal is not None:
            best = definition.ideal(levels, weights, table, cutoff, numbers)
            ideal = definition.normaliser_kernel(
                best, levels, relevant, weights, table, cutoff, numbers, ideal
            )
        scores: npt.NDArray[np.float64] = definition.kernel(
            documents,
            levels,
            relevant,
            weights,
            table[:, np.newaxis],
            cutoff,
            numbers,
            ideal[:, np.newaxis],
        )
    return np.where(relevant.any(axis=-1), scores, np.nan)

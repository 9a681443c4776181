"""Unpaired bootstrap test of geometric means and areas, which have no differences by topic.

References: Sakai 2007, section 4.3, footnote; Efron and Tibshirani 1993, chapter 16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube import names
from scorecube.analyses.pairs import RunPairs, scale_of
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import LOG_UNITS, area_measures
from scorecube.analyses.units import FloatArray
from scorecube.collection.topic_means import log_scores
from scorecube.kernels.random.draws import Sampling, topic_counts, topic_samples
from scorecube.statistics.grid import EQUAL

DRAWS = int(Sampling.REPLACEMENT)
LACKING = ("t", "difference_low", "difference_high", "effect_size", "d_z")
"""What is about means."""
NOTES = {
    kind: f"{what} are tested unpaired: each run of a pair draws topics of its own."
    for kind, what in (("geo", "Geometric means"), ("area", "Means of the worst topics"))
}


def summaries(kind: str, scores: FloatArray, drawn: FloatArray) -> FloatArray:
    """Return geometric means (``geo``) or areas of runs in samples, float64 (run, sample).

    scores, drawn: float64 (run, topic); (topic, sample): how often a topic is drawn.
    """
    if kind == "geo":
        logs = np.rint(log_scores(scores) * LOG_UNITS) @ drawn
        return np.asarray(np.exp(logs / (LOG_UNITS * len(drawn))))
    return np.stack([area_measures(row, drawn, len(drawn)) for row in scores])


def observed(kind: str, table: Table, cell: int) -> FloatArray:
    """Return the summary of each run over all topics, float64 (run,)."""
    return summaries(kind, table.values[cell], np.ones((table.sizes.size, 1)))[:, 0]


def counted_trials(kind: str, table: Table, cell: int, pairs: RunPairs, tile: int) -> Any:
    """Return in how many trials the difference of each pair is reached, int (pair,).

    The scores of both runs are moved to a common summary (geometric means on the logarithmic
    scale), and both draw topics of their own.
    """
    n, key = table.sizes.size, table.key(names.Purpose.UNPAIRED_TOPICS)
    halves = table.once("halves", lambda: topic_counts(key, DRAWS, n, n, 0, table.trials))
    centres, scores = observed(kind, table, cell), table.values[cell]
    first, second = (summaries(kind, scores, half.T) for half in halves)
    scales = np.ones(len(centres))
    if kind == "geo":
        scales = np.sqrt(centres)
        first, second = (values / centres[:, np.newaxis] for values in (first, second))
    else:
        first, second = (values - centres[:, np.newaxis] for values in (first, second))
    reached = np.empty(len(pairs[0]), np.int32)
    for low in range(0, len(reached), tile):
        a, b = (runs[low : low + tile] for runs in pairs)
        moved = np.abs(first[a] - second[b]) * (scales[a] * scales[b])[:, np.newaxis]
        edges = np.abs(centres[a] - centres[b]) - EQUAL * scale_of(table, cell)
        reached[low : low + tile] = (moved >= edges[:, np.newaxis]).sum(axis=1)
    return reached


def values_of(kind: str, table: Table, pairs: RunPairs) -> dict[str, Any]:
    """Return summaries and their differences; what is about means is missing."""
    means = np.stack([observed(kind, table, cell) for cell in range(len(table.scores))])
    difference = means[:, pairs[0]] - means[:, pairs[1]]
    missing = dict.fromkeys(LACKING, np.full(difference.shape, np.nan))
    return {"mean": means, "mean_difference": difference, **missing}


def drawn_topics(table: Table) -> Any:
    """Return the positions of the topics that both runs draw, int (trial, half, draw)."""
    n, key = table.sizes.size, table.key(names.Purpose.UNPAIRED_TOPICS)
    return topic_samples(key, DRAWS, n, n, 0, table.trials)

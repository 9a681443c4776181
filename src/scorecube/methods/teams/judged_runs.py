"""Runs whose lists are scored again without what some teams contributed to the pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray, IntArray, Stratum
from scorecube.collection.pools import PoolDepth, Pools, build_pools, estimate_pool_depth
from scorecube.collection.schema import LEVEL_AT_RANK, labels_of
from scorecube.collection.selection import cells, parse_known, uses_gains
from scorecube.errors import BadPlan, either, option
from scorecube.kernels.lists import without_documents
from scorecube.metrics import Metric, gain_values
from scorecube.metrics.common import Lists, judged_lists, packed

Measures = tuple[tuple[Metric, FloatArray], ...]
"""Metrics, each with the gains of levels."""
TOLERANCE = 1e-9
"""Largest difference between stored scores and those of the same lists."""
NO_RELEVANT_LEFT = "no_relevant_left"
ALL_RUNS_ZERO = "all_runs_zero"
"""Rules by which a topic is lost. The second is that of Sakai and Shang 2016, section 5.1."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedRuns(ScoreTable):
    """Scores of runs, and the judged documents of their lists; missing scores are NaN.

    pools: The documents that each team contributed, of levels that scores depend on.
    keep_unpooled: Whether documents that no team contributed stay judged when a team is left out.
    lists, documents: Judged documents at ranks, (run, topic, entry); their numbers in the topic.
    measures: Metric and gains, float64 (level,), of each cell.
    """

    pools: Pools
    keep_unpooled: bool
    lists: Lists
    documents: NDArray[np.int32]
    measures: Measures

    def scores_without(self, left_out: NDArray[np.bool_], runs: slice | IntArray) -> FloatArray:
        """Score runs without what only teams left out contributed, (cell, run, topic), or NaN."""
        runs = np.arange(len(self.runs))[runs]
        scores = self.scores[:, runs].copy()
        if left_out.any():
            gone, judged = self.pools.without(left_out, self.keep_unpooled)
            topics = np.flatnonzero(gone.any(axis=1))
            lists = Lists(*without_documents(*self.lists, self.documents, gone, runs, topics))
            scores[..., topics] = list_scores(self.measures, lists, judged[topics])
        return scores


def topics_lost(scores: FloatArray, rule: str) -> NDArray[np.bool_]:
    """Return which topics are lost for a metric, bool (cell, topic), of (cell, run, topic).

    Without a relevant document no run has a score. By `ALL_RUNS_ZERO` topics are lost, too, on
    which all these runs score exactly 0.
    """
    remaining = np.isfinite(scores)
    if rule == ALL_RUNS_ZERO:
        remaining &= scores != 0.0
    return np.logical_not(remaining.any(axis=1))


def without_lost(scores: FloatArray, rule: str) -> FloatArray:
    """Return scores (cell, run, topic) with NaN for the topics that are lost."""
    return np.where(topics_lost(scores, rule)[:, np.newaxis], np.nan, scores)


def list_scores(measures: Measures, lists: Lists, judged: IntArray) -> FloatArray:
    """Return the scores of lists, (cell, run, topic), for judged documents, (topic, level)."""
    return np.stack([metric.score_lists(lists, judged, gains) for metric, gains in measures])


def judged_runs(cube: xr.Dataset, depth: int | None, keep_unpooled: bool) -> JudgedRuns:
    """Return the runs of a cube with rankings; for no depth of the pool that is estimated."""
    if names.TOPIC_GROUP in cube.coords and not cube[names.TOPIC_GROUP].to_index().is_unique:
        raise BadPlan("topic_group says that topics come in groups; rankings are judged by topic")
    parsed = [parse_known(label) for label in labels_of(cube, names.METRIC)]
    metrics = [metric for metric in parsed if isinstance(metric, Metric)]
    if imported := [name for name in parsed if isinstance(name, str)]:
        raise BadPlan(
            f"{', '.join(imported)}: imported scores cannot be computed again; "
            f"leave them out of {either('sc.select(cube, metrics=...)', '--metrics')}",
            option="metrics",
        )
    estimate = None if depth is not None else estimate_pool_depth(cube)
    pools = build_pools(cube, estimate.depth if estimate else int(depth or 0))
    (stored, cell_of), gains = cells(cube), labels_of(cube, names.GAIN)
    places = [np.argwhere(cell_of == cell)[0] for cell in range(len(stored))]
    measures = tuple((metrics[i], gain_values(gains[j], pools.n_levels)) for i, j in places)
    lowest = 0 if any(metric.non_relevant for metric in metrics) else 1
    lists, documents = lists_of(cube, pools, lowest)
    scores = list_scores(measures, lists, pools.n_judged)
    equal = np.isclose(scores, stored, rtol=0, atol=TOLERANCE, equal_nan=True).all(axis=(1, 2))
    if not equal.all():
        raise BadPlan(
            f"scores of {measures[int(np.argmin(equal))][0]} differ from scores of the rankings; "
            f"evaluate the runs again{either('', ' with --replace')}"
        )
    n_cells, _, n_topics = scores.shape
    return JudgedRuns(
        metrics=tuple(labels_of(cube, names.METRIC)),
        gains=tuple(gains),
        runs=tuple(labels_of(cube, names.RUN)),
        cell_of=cell_of,
        scores=scores,
        sizes=np.ones(n_topics),
        strata=(Stratum("", 1.0, slice(0, n_topics)),),
        ranges=(None,) * n_cells,
        higher=np.ones(n_cells, bool),
        binary=np.zeros(n_cells, bool),
        uses_gains=uses_gains(cube),
        notes=(*about_teams(cube), *about_pools(pools, estimate, keep_unpooled)),
        pools=pools.of_relevant() if lowest else pools,
        keep_unpooled=keep_unpooled,
        lists=lists,
        documents=documents,
        measures=measures,
    )


def about_teams(cube: xr.Dataset) -> Iterator[str]:
    """Yield that no teams were given, where each run is one of its own."""
    if labels_of(cube, names.TEAM) == labels_of(cube, names.RUN):
        yield (
            "no teams were given: each run is left out alone, as if it were a team; "
            f"{either('give read_rankings teams=', 'evaluate again with --teams FILE --replace')}"
        )


def about_pools(pools: Pools, estimate: PoolDepth | None, keep_unpooled: bool) -> Iterator[str]:
    """Yield which judgements are thrown away, and that the depth of the pool is an estimate."""
    judged = int((pools.levels >= 0).sum())
    unpooled = int(pools.unpooled.sum())
    if unpooled:
        fate = f"become unjudged: {unpooled / judged:.0%} of the judgements are thrown away"
        yield (
            f"{unpooled:,} of {judged:,} judged documents are in no team's pool of depth "
            f"{pools.depth}; they {'stay judged' if keep_unpooled else fate}"
        )
    if estimate is not None:
        yield (
            f"the pool has an estimated depth of {pools.depth}, which {estimate.n_teams} of "
            f"{len(pools.teams)} teams reach; state {option('pool_depth')} if it is known"
        )


def lists_of(cube: xr.Dataset, pools: Pools, lowest: int) -> tuple[Lists, Any]:
    """Return the documents of a level or higher at ranks, and their numbers within the topic."""
    levels = cube[LEVEL_AT_RANK].values
    documents = cube[names.DOCUMENT_AT_RANK].values
    topics = np.arange(levels.shape[1])[:, np.newaxis]
    for of_run, at_rank in zip(levels, documents, strict=True):
        judged = np.where(at_rank >= 0, pools.levels[topics, at_rank], -1)
        if not np.array_equal(judged, of_run):
            raise BadPlan(
                "levels at ranks differ from those of the documents there (classes of answers?): "
                "scores without some of the documents are not defined"
            )
    return judged_lists(levels, lowest), packed(documents, levels >= lowest, -1)

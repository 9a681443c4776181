"""Scores of runs without the documents that only some teams contributed, and what follows.

Lists are filtered, and scored by the same metrics. Variances are of the remaining runs over the
remaining topics (Sakai and Shang 2016, section 5). Along leave: 0 for the whole collection; along
topic_step: all topics, then the first of a random order of each trial. Means over absent teams give
each team equal weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.jackknife import CONFIDENCE
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray, Stratum
from scorecube.collection import schema
from scorecube.collection.pools import PoolDepth, Pools, build_pools, estimate_pool_depth
from scorecube.collection.schema import labels_of, read_variables
from scorecube.collection.selection import cells, parse_known, uses_gains
from scorecube.design import topic_set_size
from scorecube.errors import BadPlan, option
from scorecube.kernels.lists import without_documents
from scorecube.kernels.ranks import ranks_above
from scorecube.metrics import Metric, gain_values
from scorecube.metrics.common import Lists, judged_lists, packed

BoolArray = NDArray[np.bool_]
TIE = 2.0**-39
"""Largest difference of equal means: sums in another order differ by less."""
REQUIREMENTS: dict[str, Any] = {"min_diff": 0.15, "systems": 10, "alpha": 0.05, "beta": 0.2}
"""Requirements of Sakai and Shang 2016, Table 3."""
MISSED = 1e-12
"""Relative tolerance, so that an interval of width 0 holds its own value."""
VARIABLES = read_variables("""
    [metric gain]
    change_mean | estimate | 1 .1% | relative change of the mean score of an absent team
    change | limits:change_mean | 1 .1% | limit over teams (95 %)
    rank_change_mean | estimate | ranks | ranks that a run of such a team loses
    rank_change | limits:rank_change_mean | ranks | limit over teams (95 %)
    [metric gain leave topic_step trial]
    variance | estimate | 1 | within-system variance of what remains
    n_topics | count | topics | topics with a relevant document left
    [leave trial]
    n_runs | count | runs | remaining runs
    teams_left_out | label | 1 | teams left out
    different | flag | 1 | whether no trial before is equal
    [metric gain leave topic_step]
    variance_mean | estimate | 1 | mean variance over trials
    variance | limits:variance_mean | 1 | limit over trials (95 %)
    n_trials | count | trials | different trials with a variance
    topics_min | count | topics | fewest topics
    topics_max | count | topics | most topics
    topics_needed_tool | estimate | topics | topics that the mean variance asks for, by Sakai's tool
    [leave]
    runs_min | count | runs | fewest runs
    runs_max | count | runs | most runs
    [metric gain topic_step]
    first_miss | estimate | teams | fewest teams without the whole variance
""")
TOLERANCE = 1e-9
"""Largest difference between stored scores and those of the same lists."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedRuns(Table):
    """Scores of runs, and the judged documents of their lists; missing scores are NaN.

    pools: The documents that each team contributed, of levels that scores depend on.
    keep_unpooled: Whether documents that no team contributed stay judged when a team is left out.
    lists, documents: Judged documents at ranks, (run, topic, entry); their numbers in the topic.
    measures: Metric and gains, float64 (level,), of each cell.
    """

    topics: tuple[str, ...]
    pools: Pools
    keep_unpooled: bool
    lists: Lists
    documents: NDArray[np.int32]
    measures: tuple[tuple[Metric, FloatArray], ...]

    def scores_without(self, left_out: BoolArray, runs: Any) -> FloatArray:
        """Score some runs without the documents that only teams left out, (team,), contributed.

        Returns scores: float64 (cell, kept run, topic); NaN on topics without a relevant document.
        """
        runs = np.arange(len(self.runs))[runs]
        scores = self.scores[:, runs].copy()
        if left_out.any():
            gone, judged = self.pools.without(left_out, self.keep_unpooled)
            topics = np.flatnonzero(gone.any(axis=1))
            lists = Lists(*without_documents(*self.lists, self.documents, gone, runs, topics))
            scores[..., topics] = list_scores(self.measures, lists, judged[topics])
        return scores


def list_scores(measures: Any, lists: Lists, judged: Any) -> FloatArray:
    """Return the scores of lists, (cell, run, topic), for judged documents, (topic, level)."""
    return np.stack([metric.score_lists(lists, judged, gains) for metric, gains in measures])


def judged_runs(cube: xr.Dataset, depth: int | None, keep_unpooled: bool) -> JudgedRuns:
    """Return the runs of a cube with rankings; for no depth of the pool that is estimated."""
    if names.TOPIC_GROUP in cube.coords and not cube[names.TOPIC_GROUP].to_index().is_unique:
        raise BadPlan("topic_group says that topics come in groups; rankings are judged by topic")
    estimate = None if depth is not None else estimate_pool_depth(cube)
    pools = build_pools(cube, estimate.depth if estimate else int(depth or 0))
    metrics, gains = metrics_of(cube), labels_of(cube, names.GAIN)
    stored, cell_of = cells(cube)
    places = [np.argwhere(cell_of == cell)[0] for cell in range(len(stored))]
    measures = tuple((metrics[i], gain_values(gains[j], pools.n_levels)) for i, j in places)
    lowest = 0 if any(metric.non_relevant for metric in metrics) else 1
    lists, documents = lists_of(cube, pools, lowest)
    scores = list_scores(measures, lists, pools.n_judged)
    equal = np.isclose(scores, stored, rtol=0, atol=TOLERANCE, equal_nan=True).all(axis=(1, 2))
    if not equal.all():
        raise BadPlan(
            f"scores of {measures[int(np.argmin(equal))][0]} differ from scores of the rankings; "
            f"evaluate the runs again with {option('replace', True)}"
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
        notes=tuple(about_pools(pools, estimate, keep_unpooled)),
        topics=tuple(labels_of(cube, names.TOPIC)),
        pools=pools.of_relevant() if lowest else pools,
        keep_unpooled=keep_unpooled,
        lists=lists,
        documents=documents,
        measures=measures,
    )


def about_pools(pools: Pools, estimate: PoolDepth | None, keep_unpooled: bool) -> Iterator[str]:
    """Yield which judgements are thrown away, and that the depth of the pool is an estimate."""
    judged, unpooled = int((pools.levels >= 0).sum()), int(pools.unpooled.sum())
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


def metrics_of(cube: xr.Dataset) -> list[Metric]:
    """Return the metrics of a cube; refuse those that are not computed from levels."""
    parsed = [parse_known(label) for label in labels_of(cube, names.METRIC)]
    if imported := [name for name in parsed if isinstance(name, str)]:
        raise BadPlan(
            f"{', '.join(imported)}: imported scores cannot be computed again; "
            f"leave them out of {option('metrics')}",
            option="metrics",
        )
    return [metric for metric in parsed if isinstance(metric, Metric)]


def lists_of(cube: xr.Dataset, pools: Pools, lowest: int) -> tuple[Lists, Any]:
    """Return the documents of a level or higher at ranks, and their numbers within the topic."""
    levels, documents = cube[schema.LEVEL_AT_RANK].values, cube[names.DOCUMENT_AT_RANK].values
    topics = np.arange(levels.shape[1])[:, np.newaxis]
    for of_run, at_rank in zip(levels, documents, strict=True):
        judged = np.where(at_rank >= 0, pools.levels[topics, at_rank], -1)
        if not np.array_equal(judged, of_run):
            raise BadPlan(
                "levels at ranks differ from those of the documents there (classes of answers?): "
                "scores without some of the documents are not defined"
            )
    return judged_lists(levels, lowest), packed(documents, levels >= lowest, -1)


def variance_values(variance: FloatArray, n_topics: Any, leaves: Sequence[int]) -> dict[str, Any]:
    """Return what follows from variances and numbers of topics, (cell, leave, step, trial)."""
    n_trials = np.isfinite(variance).sum(axis=-1)
    n_trials[:, 0] = np.minimum(n_trials[:, 0], 1)  # the whole is one trial
    mean, low, high = t_limits(variance)
    mean[:, 0], low[:, 0], high[:, 0] = variance[:, 0, :, 0], np.nan, np.nan
    # Against the estimate of all topics and teams, never against a draw.
    whole = mean[:, :1, :1]
    missed = (low > whole * (1 + MISSED)) | (high < whole * (1 - MISSED))
    first = np.array(leaves)[missed.argmax(axis=1)]
    return {
        "variance_mean": mean,
        "variance_low": low,
        "variance_high": high,
        "n_trials": n_trials,
        "topics_min": n_topics.min(axis=-1),
        "topics_max": n_topics.max(axis=-1),
        "topics_needed_tool": topics_needed(mean),
        "first_miss": np.where(missed.any(axis=1), first, np.nan),
    }


def run_values(left_out: Any, pools: Pools) -> dict[str, Any]:
    """Return the runs that remain, and names of the teams left out, bool (leave, team, trial)."""
    n_runs = (~left_out[:, pools.team_of]).sum(axis=1)
    labels = np.empty(n_runs.shape, object)
    for row, trial in np.ndindex(n_runs.shape):
        labels[row, trial] = ",".join(np.array(pools.teams, object)[left_out[row, :, trial]])
    different = n_runs > 0
    different[0, 1:] = False  # the whole is one trial
    return {
        "n_runs": n_runs,
        "teams_left_out": labels,
        "different": different,
        "runs_min": n_runs.min(axis=-1),
        "runs_max": n_runs.max(axis=-1),
    }


def absent_values(table: JudgedRuns) -> dict[str, Any]:
    """Return what teams lose that do not take part: means over teams, with limits."""
    mean, rank = means_and_ranks(table.scores)
    mean_without, rank_without = mean.copy(), rank.copy()
    teams = np.arange(len(table.pools.teams))
    runs_of = [table.pools.team_of == team for team in teams]
    for team, runs in enumerate(runs_of):
        means, ranks = means_and_ranks(table.scores_without(teams == team, slice(None)))
        mean_without[:, runs], rank_without[:, runs] = means[:, runs], ranks[:, runs]
    lost, values = rank_without - rank, dict[str, Any]()
    relative = mean_without / np.where(mean > 0, mean, np.nan) - 1
    for name, change in (("change", relative), ("rank_change", lost.astype(float))):
        by_team = np.stack([t_limits(change[:, runs])[0] for runs in runs_of], axis=-1)
        for end, limit in zip(("mean", "low", "high"), t_limits(by_team), strict=True):
            values[f"{name}_{end}"] = limit
    return values


def means_and_ranks(scores: FloatArray) -> tuple[Any, Any]:
    """Return means over topics and ranks of runs, (cell, run), of scores (cell, run, topic)."""
    finite = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(finite, scores, 0.0).sum(axis=-1) / finite.sum(axis=-1)
    return means, 1 + ranks_above(means, TIE)


def t_limits(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means of the finite values along the last axis, and limits by Student's t or NaN."""
    from scipy.special import stdtrit

    finite = np.isfinite(values)
    count = finite.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(finite, values, 0.0).sum(axis=-1) / count
        squares = np.where(finite, (values - mean[..., np.newaxis]) ** 2, 0.0).sum(axis=-1)
        half = stdtrit(count - 1.0, (1 + CONFIDENCE) / 2) * np.sqrt(squares / (count - 1) / count)
    half[count < 2] = np.nan
    return mean, mean - half, mean + half


def topics_needed(variances: FloatArray) -> FloatArray:
    """Return the topics that variances ask for by Sakai's tool; NaN where not > 0."""
    positive = variances > 0
    sizes = np.full(variances.shape, np.nan)
    if positive.any():
        designed = topic_set_size(variances[positive], mode="sakai", **REQUIREMENTS)
        sizes[positive] = designed["topics"].values
    return sizes

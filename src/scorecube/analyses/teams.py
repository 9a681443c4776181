"""Scores without some teams, their unique contributions to the pool, and some topics.

Lists are filtered, and scored by the same metrics. Along leave: 0 for the whole collection; along
topic_step: all topics, then the first of a random order of each trial. Means over absent teams give
each team equal weight.

References: Sakai and Shang 2016, "On estimating variances for topic set size design", section 5;
Zobel 1998, "How reliable are the results of large-scale information retrieval experiments?"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.jackknife import CONFIDENCE
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Analysis, Concat, Part, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray, Stratum
from scorecube.collection import schema
from scorecube.collection.pools import PoolDepth, Pools, build_pools, estimate_pool_depth
from scorecube.collection.schema import label_array, labels_of, read_variables
from scorecube.collection.selection import cells, parse_known, uses_gains
from scorecube.design import topic_set_size
from scorecube.errors import BadPlan, option
from scorecube.kernels.lists import without_documents
from scorecube.kernels.random.draws import random_subset
from scorecube.kernels.ranks import ranks_above
from scorecube.metrics import Metric, gain_values
from scorecube.metrics.common import Lists, judged_lists, packed
from scorecube.names import Purpose
from scorecube.statistics.variance import within_system_variance

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

    pools: Pools
    keep_unpooled: bool
    lists: Lists
    documents: NDArray[np.int32]
    measures: tuple[tuple[Metric, FloatArray], ...]

    def scores_without(self, left_out: BoolArray, runs: Any) -> FloatArray:
        """Score runs without what only teams left out contributed, (cell, run, topic), or NaN."""
        runs = np.arange(len(self.runs))[runs]
        scores = self.scores[:, runs].copy()
        if left_out.any():
            gone, judged = self.pools.without(left_out, self.keep_unpooled)
            topics = np.flatnonzero(gone.any(axis=1))
            lists = Lists(*without_documents(*self.lists, self.documents, gone, runs, topics))
            scores[..., topics] = list_scores(self.measures, lists, judged[topics])
        return scores


@dataclass(frozen=True, kw_only=True)
class Teams(Analysis):
    """Leave teams and topics out: what would a team lose that did not take part?

    For each number of teams, a trial draws the teams to leave out. Their runs are removed,
    documents that only they contributed become unjudged, and all other runs are scored again.
    Leave 0 is the whole collection.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_rankings
    >>> rankings = simulate_rankings(n_runs=4, n_teams=4, depth=10, seed=1)
    >>> cube = sc.with_rankings(sc.evaluate(rankings, ["nDCG@10"], ["3:2:1"]), rankings)
    >>> result = sc.analyse(cube, Teams(leave=(1,), keep_unpooled=False), trials=3, seed=1)
    >>> sc.table(result, "variance")[["left_out", "runs_max", "trials"]].to_numpy().tolist()
    [[0, 4, 1], [1, 3, 3]]
    """

    name: ClassVar[str] = "teams"
    examples: ClassVar[tuple[str, ...]] = ("--leave all --topics 100,75,50,25,10 --pool-depth 10",)
    uses_rankings: ClassVar[bool] = True
    default_trials: ClassVar[int] = 10

    leave: tuple[int, ...] | None = option_field(
        None,
        "Numbers of teams to leave out, e.g. 1,2,5; or all, from 1 to the number of teams - 1.",
        none="all",
        minimum=1,
    )
    topic_sizes: tuple[int, ...] | None = option_field(
        None,
        "Numbers of topics of a nested chain of random topic sets, e.g. 100,75,50, beside all.",
        flag="--topics",
        minimum=2,
    )
    pool_depth: int | None = option_field(
        None,
        "Ranks of a run that are in the pool; auto: as deep as half of the teams are judged.",
        none="auto",
        minimum=1,
    )
    keep_unpooled: bool = option_field(
        True,
        "Judged documents that no team contributed stay judged; or, turned off, are unjudged.",
        flag="--drop-unpooled",
    )

    def table(self, cube: xr.Dataset) -> JudgedRuns:
        return judged_runs(cube, self.pool_depth, self.keep_unpooled)

    def notes(self, table: Any) -> list[str]:
        teams = table.pools.teams
        if len(teams) < 2:
            raise BadPlan(f"only one team; name teams with {option('teams')}")
        most = {"leave": len(teams) - 1, "topic_sizes": table.sizes.size}
        for name, sizes in (("leave", self.leave), ("topic_sizes", self.topic_sizes)):
            if sizes and max(sizes) > most[name]:
                found = option(name, max(sizes))
                raise BadPlan(f"{found}: at most {most[name]} are possible", option=name)
        return list(table.notes)

    def leaves(self, table: JudgedRuns) -> list[int]:
        """Return 0, for the whole collection, and the numbers of teams to leave out, ascending."""
        return sorted({0, *(range(len(table.pools.teams)) if self.leave is None else self.leave)})

    def steps(self, table: JudgedRuns) -> list[int]:
        """Return the numbers of topics of the steps, descending from all topics."""
        return sorted({table.sizes.size, *(self.topic_sizes or ())}, reverse=True)

    def draw(self, table: JudgedRuns, start: int, stop: int) -> tuple[Any, Any]:
        """Return the teams that trials leave out, and places of topics, (leave, ..., trial)."""
        leaves, n_teams, n_topics = self.leaves(table), len(table.pools.teams), table.sizes.size
        of_teams, of_topics = table.key(Purpose.TEAMS_LEFT_OUT), table.key(Purpose.TOPIC_CHAIN)
        left_out = np.zeros((len(leaves), n_teams, stop - start), bool)
        places = np.empty((len(leaves), n_topics, stop - start), np.int32)
        for row, k in np.ndindex(len(leaves), stop - start):
            leave, trial = leaves[row], start + k
            left_out[row, random_subset(of_teams, trial, leave, n_teams, leave), k] = True
            order = random_subset(of_topics, trial if leave else 0, leave, n_topics, n_topics)
            places[row, order, k] = np.arange(n_topics)
        return left_out, places

    def block(self, table: JudgedRuns, start: int, stop: int) -> dict[str, Part]:
        (left_out, places), steps = self.draw(table, start, stop), self.steps(table)
        shape = (len(table.scores), len(left_out), len(steps), stop - start)
        variance, n_topics = np.full(shape, np.nan), np.zeros(shape, np.int32)
        for row, trial in np.ndindex(len(left_out), stop - start):
            teams = left_out[row, :, trial]
            scores = table.scores_without(teams, ~teams[table.pools.team_of])
            is_left: Any = np.isfinite(scores).any(axis=1)
            variance[:, row, 0, trial] = within_system_variance(scores)
            n_topics[:, row, 0, trial] = is_left.sum(axis=-1)
            for cell, step in np.ndindex(len(scores), len(steps) - 1):
                topics = np.flatnonzero(is_left[cell])
                order = np.argsort(places[row, topics, trial])
                topics = np.sort(topics[order[: steps[step + 1]]])
                n_topics[cell, row, step + 1, trial] = len(topics)
                if len(topics) == steps[step + 1]:
                    chosen = scores[cell][:, topics]
                    variance[cell, row, step + 1, trial] = within_system_variance(chosen)
        return {"variance": Concat(variance), "n_topics": Concat(n_topics)}

    def result(self, table: JudgedRuns, totals: Totals) -> xr.Dataset:
        left_out, _ = self.draw(table, 0, table.trials)
        values = dict(totals) | run_values(left_out, table.pools)
        values |= variance_values(totals["variance"], totals["n_topics"], self.leaves(table))
        coords = {names.LEAVE: self.leaves(table), names.TOPIC_STEP: self.steps(table)}
        attrs = {"n_teams": len(table.pools.teams), "pool_depth": table.pools.depth}
        return table.dataset(VARIABLES, values | absent_values(table), coords, attrs)

    def drawn(self, table: JudgedRuns) -> xr.Dataset:
        left_out, places = self.draw(table, 0, table.trials)
        arrays = {
            names.TEAM_LEFT_OUT: ((names.LEAVE, names.TEAM, names.TRIAL), left_out),
            names.TOPIC_PLACE: ((names.LEAVE, names.TOPIC, names.TRIAL), places),
        }
        teams = names.TEAM, label_array(table.pools.teams)
        return xr.Dataset(arrays, {names.LEAVE: self.leaves(table), names.TEAM: teams})


def list_scores(measures: Any, lists: Lists, judged: Any) -> FloatArray:
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
            f"leave them out of {option('metrics')}",
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
    needed, known = np.full(mean.shape, np.nan), mean > 0
    if known.any():
        designed = topic_set_size(mean[known], mode="sakai", **REQUIREMENTS)
        needed[known] = designed["topics"].values
    return {
        "variance_mean": mean,
        "variance_low": low,
        "variance_high": high,
        "n_trials": n_trials,
        "topics_min": n_topics.min(axis=-1),
        "topics_max": n_topics.max(axis=-1),
        "topics_needed_tool": needed,
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
    runs_of = table.pools.team_of == teams[:, np.newaxis]
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

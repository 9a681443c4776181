"""Scores of runs without the documents that only some teams contributed to the pool.

Lists are filtered, and scored by the same metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.table import Table
from scorecube.analyses.units import Stratum
from scorecube.collection import schema
from scorecube.collection.pools import TOLERATED, PoolDepth, Pools
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import cells, parse_known, uses_gains
from scorecube.collection.topic_groups import REFUSED, has_groups
from scorecube.errors import BadPlan, option
from scorecube.kernels.lists import without_documents
from scorecube.metrics import Metric, gain_values
from scorecube.metrics.common import Lists, judged_lists, packed

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
TOLERANCE = 1e-9
"""Largest difference between stored scores and those of the same lists.

Other rankings, judgements or gains change scores by far more.
"""
UNITS = 2.0**40
"""Units of a mean of 1."""
TIE = 2.0
"""Largest difference of equal means in units: sums in another order differ by less."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedRuns(Table):
    """Scores of runs, and the judged documents of their lists; missing scores are NaN.

    topics: Labels.
    pools: The documents that each team contributed.
    scored_pools: Of them those that scores depend on, mostly the relevant ones.
    keep_unpooled: Whether documents that no team contributed stay judged when a team is left out.
    lists: Judged documents at ranks, (run, topic, entry).
    documents: int32 (run, topic, entry): their numbers within the topic.
    measures: Metric and gains, float64 (level,), of each cell.
    always_zero: bool (cell, topic): topics whose scores are 0 for want of a relevant document.
    always_missing: bool (run, topic): topics that a run lacks, and has no scores for.
    """

    topics: tuple[str, ...]
    pools: Pools
    scored_pools: Pools
    keep_unpooled: bool
    lists: Lists
    documents: NDArray[np.int32]
    measures: tuple[tuple[Metric, FloatArray], ...]
    always_zero: BoolArray
    always_missing: BoolArray

    @property
    def nbytes(self) -> int:
        """Memory of the scores and the lists."""
        arrays = (*self.lists, self.documents, self.pools.words)
        return int(self.scores.nbytes + sum(array.nbytes for array in arrays))

    @cached_property
    def full_order(self) -> NDArray[np.int8]:
        """Order of the runs by all judgements, see `order_of`."""
        return order_of(self.scores)

    def scores_without(self, left_out: BoolArray, runs: Any) -> FloatArray:
        """Score some runs without the documents that only teams left out contributed.

        left_out: bool (team,); with none, all documents stay judged.
        runs: int64 (kept run,): positions of the runs.
        Returns scores: float64 (cell, kept run, topic); NaN on topics without a relevant document.
        """
        scores = self.scores[:, runs].copy()
        if not left_out.any():
            return scores
        gone, judged = self.scored_pools.without(left_out, self.keep_unpooled)
        topics = np.flatnonzero(gone.any(axis=1))
        lists = Lists(*without_documents(*self.lists, self.documents, gone, runs, topics))
        scores[..., topics] = self.scored(lists, judged, runs, topics)
        return scores

    def scored(self, lists: Lists, judged: Any, runs: Any, topics: Any) -> FloatArray:
        """Return the scores of lists, float64 (cell, kept run, kept topic).

        judged: int64 (topic, level): judged documents of all topics.
        """
        found = np.stack(
            [m.score_lists(lists, judged[topics], gains) for m, gains in self.measures]
        )
        zero = self.always_zero[:, np.newaxis, topics]
        missing = self.always_missing[np.ix_(runs, topics)]
        return np.where(missing, np.nan, np.where(zero, 0.0, found))


def judged_runs(
    cube: xr.Dataset, pools: Pools, keep_unpooled: bool, notes: list[str]
) -> JudgedRuns:
    """Return the runs of a cube with rankings, see `JudgedRuns`.

    Raises
    ------
    BadPlan
        Scores that are not those of the rankings, or of other levels than those of documents.
    """
    if has_groups(cube):
        raise BadPlan(REFUSED.format("rankings are judged topic by topic"))
    metrics = metrics_of(cube)
    scores, cell_of = cells(cube)
    positions = [tuple(np.argwhere(cell_of == cell)[0].tolist()) for cell in range(len(scores))]
    gains = [str(label) for label in cube[names.GAIN].values]
    measures = tuple((metrics[i], gain_values(gains[j], pools.n_levels)) for i, j in positions)
    lowest = 0 if any(metric.non_relevant for metric in metrics) else 1
    lists, documents = lists_of(cube, pools, lowest)
    n_cells, n_runs, n_topics = scores.shape
    lacking = cube[names.N_RETRIEVED].values == 0
    table = JudgedRuns(
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
        notes=tuple(notes),
        topics=tuple(labels_of(cube, names.TOPIC)),
        pools=pools,
        scored_pools=pools.of_relevant() if lowest else pools,
        keep_unpooled=keep_unpooled,
        lists=lists,
        documents=documents,
        measures=measures,
        always_zero=np.zeros((n_cells, n_topics), bool),
        always_missing=lacking & (cube.attrs.get("missing_topic") == "nan"),
    )
    every = np.arange(n_runs), np.arange(n_topics)
    whole = table.scored(lists, pools.n_judged, *every)
    if cube.attrs.get("no_relevant") == "zero":
        table = replace(table, always_zero=np.asarray(np.isnan(whole).all(axis=1)))
        whole = table.scored(lists, pools.n_judged, *every)
    equal = np.isclose(whole, scores, rtol=0, atol=TOLERANCE, equal_nan=True).all(axis=(1, 2))
    if not equal.all():
        raise BadPlan(
            f"scores of {measures[int(np.argmin(equal))][0]} differ from scores of the rankings; "
            f"evaluate the runs again with {option('replace', True)}"
        )
    return replace(table, scores=whole)


def metrics_of(cube: xr.Dataset) -> list[Metric]:
    """Return the metrics of a cube; refuse those that are not computed from levels."""
    parsed = {label: parse_known(label) for label in labels_of(cube, names.METRIC)}
    unknown = [label for label, metric in parsed.items() if not isinstance(metric, Metric)]
    if unknown:
        raise BadPlan(
            f"{', '.join(unknown)}: imported scores cannot be computed again; "
            f"leave them out of {option('metrics')}",
            option="metrics",
        )
    return [metric for metric in parsed.values() if isinstance(metric, Metric)]


def lists_of(cube: xr.Dataset, pools: Pools, lowest: int) -> tuple[Lists, Any]:
    """Return the documents of a level or higher at ranks, and their numbers within the topic.

    Returns lists, documents: (run, topic, entry); documents int32.
    """
    levels, documents = (
        cube[name].values for name in (schema.LEVEL_AT_RANK, names.DOCUMENT_AT_RANK)
    )
    topics = np.arange(levels.shape[1])[:, np.newaxis]
    for of_run, at_rank in zip(levels, documents, strict=True):
        known = np.where(at_rank >= 0, pools.levels[topics, at_rank], -1)
        if not np.array_equal(known, of_run):
            raise BadPlan(
                "levels at ranks differ from those of the documents there (classes of answers?): "
                "scores without some of the documents are not defined"
            )
    return judged_lists(levels, lowest), packed(documents, levels >= lowest, -1)


def order_of(scores: FloatArray) -> NDArray[np.int8]:
    """Return the order of runs by their mean scores.

    scores: float64 (cell, run, topic), missing ones NaN.
    Returns order: int8 (cell, run, run): 1 where the first run is better, -1 where it is worse.
    """
    known = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(known, scores, 0.0).sum(axis=-1) / known.sum(axis=-1)
    units = np.rint(means * UNITS)
    difference = units[:, :, np.newaxis] - units[:, np.newaxis]
    return np.asarray((difference > TIE).astype(np.int8) - (difference < -TIE))


def about_pools(
    cube: xr.Dataset, pools: Pools, keep_unpooled: bool, estimate: PoolDepth | None
) -> list[str]:
    """Return notes on runs without a team, judgements that are thrown away, and the depth."""
    runs, teams = labels_of(cube, names.RUN), labels_of(cube, names.TEAM)
    n_alone = sum(run == team for run, team in zip(runs, teams, strict=True))
    notes = []
    if n_alone:
        notes.append(
            f"{n_alone} of {len(runs)} runs have no team, or a team of their name: "
            "each is its own team"
        )
    judged, relevant, unpooled = pools.levels >= 0, pools.levels > 0, pools.unpooled
    if unpooled.any():
        share = unpooled.sum() / judged.sum()
        fate = "stay judged"
        if not keep_unpooled:
            fate = (
                "become unjudged whenever a team is left out, "
                f"so {share:.0%} of the judgements are thrown away"
            )
        notes.append(
            f"{unpooled.sum():,} of {judged.sum():,} judged documents "
            f"({(unpooled & relevant).sum():,} of {relevant.sum():,} relevant ones) "
            f"are in no team's pool of depth {pools.depth}: they {fate}"
        )
    advice = f"state {option('pool_depth')} if it is known"
    if estimate is not None and estimate.found:
        notes.append(
            f"the pool has an estimated depth of {pools.depth}: up to there a run of "
            f"{estimate.n_teams} of {len(pools.teams)} teams is judged "
            f"(at most {TOLERATED:.0%} of its documents are not); {advice}"
        )
    elif estimate is not None:
        notes.append(
            "no depth was found at which runs of half of the teams are judged: "
            f"a pool of depth {pools.depth} is assumed; {advice}"
        )
    return notes

"""Pools: the judged documents that each team contributed, and how deep the pool was.

A run contributes the judged documents in its first ranks, down to the depth of the pool. A judged
document that no run contributed, because it was judged for other reasons or because the pool was
deeper, is unpooled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection.rankings import check_documents
from scorecube.collection.schema import labels_of
from scorecube.errors import BadPlan, option

TOLERATED = 0.01
"""Share of a pooled run's documents that may be unjudged: those that were lost after pooling."""
WITHOUT_POOL = 10
"""Depth where no depth is reached by half of the teams."""
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pools:
    """The documents that each team contributed to the pool.

    teams: Names of the teams, sorted.
    team_of: int64 (run,): position of the team of each run.
    bits: uint8 (topic, document, byte): a bit for each team that contributed the document.
    levels: int8 (topic, document): relevance levels; -1 for pooled but not judged, or no document.
    n_levels: Number of relevant levels.
    depth: First ranks of a run that contribute.
    """

    teams: tuple[str, ...]
    team_of: IntArray
    bits: NDArray[np.uint8]
    levels: NDArray[np.int8]
    n_levels: int
    depth: int

    @cached_property
    def unpooled(self) -> BoolArray:
        """Judged documents that no team contributed, bool (topic, document)."""
        return np.asarray((self.levels >= 0) & ~self.bits.any(axis=-1))

    @cached_property
    def _pooled(self) -> tuple[IntArray, IntArray, NDArray[np.uint8]]:
        """Judged documents of the pool: topics, documents, and bits (byte, pooled document)."""
        topics, documents = np.nonzero((self.levels >= 0) & ~self.unpooled)
        return topics, documents, np.ascontiguousarray(self.bits[topics, documents].T)

    @cached_property
    def n_judged(self) -> IntArray:
        """Number of judged documents, int64 (topic, level)."""
        return self._count(*np.nonzero(self.levels >= 0))

    def _count(self, topics: IntArray, documents: IntArray) -> IntArray:
        codes = topics * (self.n_levels + 1) + self.levels[topics, documents]
        n_codes = len(self.levels) * (self.n_levels + 1)
        return np.bincount(codes, minlength=n_codes).reshape(len(self.levels), -1)

    def of_relevant(self) -> Pools:
        """Return the pools with the relevant documents as the only judged ones."""
        return replace(self, levels=np.where(self.levels > 0, self.levels, np.int8(-1)))

    def without(
        self, left_out: BoolArray, keep_unpooled: bool = True
    ) -> tuple[BoolArray, IntArray]:
        """Return the judgements without the documents that only some teams contributed.

        left_out: bool (team,): the teams.
        keep_unpooled: Whether unpooled documents stay judged.
        Returns gone: bool (topic, document): documents that are not judged any more.
        Returns judged: int64 (topic, level): number of documents that stay judged.
        """
        topics, documents, bits = self._pooled
        alone = np.ones(len(topics), bool)
        for of_byte, out in zip(bits, np.packbits(left_out), strict=True):
            alone &= (of_byte & ~out) == 0
        gone = np.zeros(self.levels.shape, bool)
        gone[topics[alone], documents[alone]] = True
        judged = self.n_judged - self._count(topics[alone], documents[alone])
        if not keep_unpooled:
            gone |= self.unpooled
            judged -= self._count(*np.nonzero(self.unpooled))
        return gone, judged


def build_pools(rankings: xr.Dataset, depth: int) -> Pools:
    """Return the judged documents that each team contributed, as bits.

    rankings: As from `read_rankings`, or a cube with rankings.
    depth: Number of first ranks of a run that contribute.
    Raises BadPlan: The rankings have no documents at ranks, or the depth is below 1.
    """
    if depth < 1:
        problem = "expected at least 1, the first rank"
        raise BadPlan(f"{option('pool_depth', depth)}: {problem}", option="pool_depth")
    check_documents(rankings)
    teams, team_of = np.unique(labels_of(rankings, names.TEAM), return_inverse=True)
    levels = np.ascontiguousarray(rankings[names.LEVEL_OF_DOCUMENT].values)
    contributed = np.zeros((*levels.shape, len(teams)), bool)
    for team, documents in zip(team_of, rankings[names.DOCUMENT_AT_RANK].values, strict=True):
        topics, ranks = np.nonzero(documents[:, :depth] >= 0)
        contributed[topics, documents[topics, ranks], team] = True
    n_levels = rankings.sizes[names.LEVEL] - 1
    bits = np.packbits(contributed, axis=-1)
    return Pools(tuple(map(str, teams)), team_of.astype(np.int64), bits, levels, n_levels, depth)


class PoolDepth(NamedTuple):
    """Depth of a pool as estimated from runs.

    depth: Number of ranks; `WITHOUT_POOL` if less than half of the teams reach a depth of 1.
    n_teams: Teams that reach the depth, then 0.
    """

    depth: int
    n_teams: int


def estimate_pool_depth(rankings: xr.Dataset) -> PoolDepth:
    """Estimate the depth of the pool from the judged documents of runs.

    A team reaches depth d if one of its runs has documents at rank d on at least half of the
    topics, and at most `TOLERATED` of its documents up to there are not judged; the depth of the
    pool is the largest that at least half of the teams reach. The official depth may be another.

    rankings: As from `read_rankings`, or a cube with rankings.
    """
    check_documents(rankings)
    order = (names.RUN, names.TOPIC)
    documents = rankings[names.DOCUMENT_AT_RANK].transpose(*order, names.RANK).values
    retrieved: Any = rankings[names.N_RETRIEVED].transpose(*order).values
    listed = (np.arange(documents.shape[-1]) < retrieved[..., np.newaxis]).sum(axis=1)
    unjudged = (listed - (documents >= 0).sum(axis=1)).cumsum(axis=1)
    few = unjudged <= TOLERATED * listed.cumsum(axis=1)
    reached = few & (2 * listed >= rankings.sizes[names.TOPIC])
    teams = np.array(labels_of(rankings, names.TEAM), object)
    of_teams = np.array([reached[teams == team].any(axis=0) for team in dict.fromkeys(teams)])
    enough = np.flatnonzero(2 * of_teams.sum(axis=0) >= len(of_teams))
    if not len(enough):
        return PoolDepth(WITHOUT_POOL, 0)
    last = int(enough[-1])
    return PoolDepth(last + 1, int(of_teams[:, last].sum()))

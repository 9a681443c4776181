"""How deep the pool was, and how much of each run is judged.

The depth of the pool is estimated from the runs: a run that was pooled to depth d has no unjudged document in its first d ranks. Most
collections have runs that were not pooled (a team names the runs to be pooled), and a few documents were lost after pooling. So a team reaches
depth d if one of its runs has documents at rank d on at least half of the topics, and at most `TOLERATED` of its documents up to there are not
judged; the depth of the pool is the largest that at least half of the teams reach. Where pools of several depths were judged, or runs are
missing, the official depth may be another: state it, if it is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.rankings import check_documents

TOLERATED = 0.01
"""Share of a pooled run's documents that may be unjudged: documents that were removed from the collection after pooling."""
WITHOUT_POOL = 10
"""Depth where no depth is reached by half of the teams."""
CUTOFFS = (5, 10, 20, 50, 100)
"""Ranks for which shares of judged documents are reported, beside the depth of the pool."""
PERSISTENCE = (0.8, 0.95)
"""Persistence of the reported residuals of RBP."""
Ints = np.ndarray[Any, np.dtype[np.int64]]


class PoolDepth(NamedTuple):
    """Depth of a pool as estimated from runs.

    depth: Number of ranks; `WITHOUT_POOL` if not found.
    found: Whether half of the teams reach a depth of 1.
    n_teams: Teams that reach the depth.
    """

    depth: int
    found: bool
    n_teams: int


def judged_by_rank(rankings: xr.Dataset) -> tuple[Ints, Ints]:
    """Return the numbers of topics on which a run has a document at a rank, and a judged one: int64 (run, rank) each."""
    documents, retrieved = _documents(rankings)
    ranks = np.arange(documents.shape[-1])
    listed = (ranks < retrieved[..., np.newaxis]).sum(axis=1)
    return listed, np.asarray((documents >= 0).sum(axis=1), np.int64)


def estimate_pool_depth(rankings: xr.Dataset) -> PoolDepth:
    """Estimate the depth of the pool from the judged documents of runs.

    rankings: Dataset as from `read_rankings`, or a cube with rankings.

    Examples
    --------
    >>> from scorecube.testing import simulate_rankings
    >>> estimate_pool_depth(simulate_rankings(n_runs=6, n_teams=3, depth=20, seed=1)).n_teams
    3
    """
    listed, judged = judged_by_rank(rankings)
    unjudged, documents = (listed - judged).cumsum(axis=1), listed.cumsum(axis=1)
    reached = (unjudged <= TOLERATED * documents) & (2 * listed >= rankings.sizes[names.TOPIC])
    teams = np.array(schema.labels_of(rankings, names.TEAM), object)
    of_teams = np.array([reached[teams == team].any(axis=0) for team in dict.fromkeys(teams)])
    enough = np.flatnonzero(2 * of_teams.sum(axis=0) >= len(of_teams))
    if not len(enough):
        return PoolDepth(WITHOUT_POOL, False, 0)
    last = int(enough[-1])
    return PoolDepth(last + 1, True, int(of_teams[:, last].sum()))


def judged_shares(rankings: xr.Dataset, cutoffs: tuple[int, ...]) -> Any:
    """Return the share of judged documents among the first ranks of each run: float64 (run, cutoff); NaN without documents."""
    listed, judged = (each.cumsum(axis=1) for each in judged_by_rank(rankings))
    last = np.minimum(cutoffs, listed.shape[1]) - 1
    with np.errstate(invalid="ignore"):
        return judged[:, last] / listed[:, last]


def rbp_residuals(rankings: xr.Dataset, persistence: float) -> Any:
    """Return the mean residual of RBP of each run: float64 (run,).

    It is the range of the score if unjudged documents, and those behind the end of a list, may be relevant (Moffat and Zobel 2008, "Rank-biased
    precision for measurement of retrieval effectiveness").
    """
    documents, _ = _documents(rankings)
    weights = (1 - persistence) * persistence ** np.arange(documents.shape[-1])
    judged = np.einsum("rtk,k->r", documents >= 0, weights) / documents.shape[1]
    return 1 - judged


def _documents(rankings: xr.Dataset) -> tuple[Any, Any]:
    """Return documents (run, topic, rank) and numbers of retrieved documents (run, topic)."""
    check_documents(rankings)
    order = (names.RUN, names.TOPIC)
    documents = rankings[names.DOCUMENT_AT_RANK].transpose(*order, names.RANK).values
    return documents, rankings[names.N_RETRIEVED].transpose(*order).values

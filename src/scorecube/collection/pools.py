"""Pools: which teams contributed which judged documents, and what would not have been judged without one of them.

A run contributes the judged documents among its first `pool_depth` ranks to the pool. Documents that only one team contributed are its
unique contributions. A judged document that stands in no run's pool, because it was judged for other reasons or because the pools were
deeper, is unpooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.rankings import check_documents
from scorecube.errors import BadPlan
from scorecube.kernels.pools.contributing_teams import WORD, leave_out, pool_words


@dataclass(frozen=True, eq=False)
class Pools:
    """Who contributed what.

    Parameters
    ----------
    teams
        Sorted.
    team_of
        int64 (run,): place of each run's team.
    words
        uint64 (topic, document, word): a bit for every team that contributed the document.
    levels
        int8 (topic, document): -1 for pooled but not judged, or no document.
    n_levels
        Number of relevant levels.
    """

    teams: tuple[str, ...]
    team_of: np.ndarray[Any, np.dtype[np.int64]]
    words: np.ndarray[Any, np.dtype[np.uint64]]
    levels: np.ndarray[Any, np.dtype[np.int8]]
    n_levels: int

    @property
    def unpooled(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Judged documents that no team contributed, (topic, document)."""
        return np.asarray((self.levels >= 0) & ~self.words.any(axis=-1))

    def without(
        self, left_out: np.ndarray[Any, np.dtype[np.bool_]], keep_unpooled: bool = True
    ) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], np.ndarray[Any, np.dtype[np.int64]]]:
        """Return which documents are gone without some teams (topic, document), and how many stay judged (topic, level)."""
        gone, judged = self.others(keep_unpooled)
        pooled = self.pooled()
        leave_out(
            pooled["words"], pooled["topics"], pooled["documents"], pooled["levels"], gone, judged, team_bits(left_out)
        )
        return gone, judged

    def pooled(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the documents that any team contributed, as `leave_out` takes them."""
        topics, documents = np.nonzero(self.words.any(axis=-1))
        levels = self.levels[topics, documents].astype(np.int64)
        return {"words": self.words[topics, documents], "topics": topics, "documents": documents, "levels": levels}

    def others(self, keep: bool) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], np.ndarray[Any, np.dtype[np.int64]]]:
        """Return which of the other documents are gone (topic, document), and how many stay judged (topic, level)."""
        judged = np.zeros((len(self.levels), self.n_levels + 1), np.int64)
        if keep:
            topics, documents = np.nonzero(self.unpooled)
            np.add.at(judged, (topics, self.levels[topics, documents]), 1)
        return self.unpooled & (not keep), judged

    def unique(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the only team that contributed a document, -1 where none or several did, (topic, document)."""
        one = np.bitwise_count(self.words).sum(axis=-1, dtype=np.int64) == 1
        # Bits of a word are its team's place; all other words of such a document are 0.
        place = np.bitwise_count(self.words - np.uint64(1)).astype(np.int64)
        place += WORD * np.arange(self.words.shape[-1])
        return np.where(one, np.where(self.words != 0, place, 0).sum(axis=-1), -1)

    def n_unique(self, least_level: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return how many documents of some level or higher only each team contributed, (team,)."""
        unique = self.unique()
        return np.bincount(unique[(unique >= 0) & (self.levels >= least_level)], minlength=len(self.teams))


def team_bits(left_out: np.ndarray[Any, np.dtype[np.bool_]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return which teams are left out (..., team) as words (..., word)."""
    n_teams = left_out.shape[-1]
    words = np.zeros((*left_out.shape[:-1], -(-n_teams // WORD)), np.uint64)
    for team in range(n_teams):
        words[..., team // WORD] |= left_out[..., team].astype(np.uint64) << np.uint64(team % WORD)
    return words


def build_pools(rankings: xr.Dataset, pool_depth: int = 10) -> Pools:
    """Find which team contributed which judged document.

    Parameters
    ----------
    rankings
        Dataset as from `read_rankings`, or a cube with rankings.
    pool_depth
        Ranks of a run that count.

    Returns
    -------
    pools
        Teams that contributed each judged document, as bits.

    Raises
    ------
    BadPlan
        Rankings that do not tell which documents stand at ranks; a pool depth below 1.

    Examples
    --------
    >>> from scorecube.testing import simulate_rankings
    >>> pools = build_pools(simulate_rankings(n_runs=4, n_teams=2), pool_depth=10)
    >>> pools.teams, bool((pools.words.any(axis=-1).sum(axis=1) <= 40).all())
    (('team01', 'team02'), True)
    """
    if pool_depth < 1:
        raise BadPlan(f"pool_depth={pool_depth}: at least the first rank counts")
    check_documents(rankings)
    teams, team_of = np.unique([str(team) for team in rankings[names.TEAM].values], return_inverse=True)
    levels = rankings[names.LEVEL_OF_DOCUMENT].values
    documents = np.ascontiguousarray(rankings[names.DOCUMENT_AT_RANK].values[..., :pool_depth])
    words = pool_words(documents, team_of.astype(np.int64), pool_depth, levels.shape[1], -(-len(teams) // WORD))
    n_levels = rankings.sizes[names.LEVEL] - 1 if names.LEVEL in rankings.sizes else int(levels.max(initial=0))
    return Pools(tuple(map(str, teams)), team_of.astype(np.int64), words, np.ascontiguousarray(levels), n_levels)


def removed_when_left_out(
    rankings: xr.Dataset, pool_depth: int = 10, documents: Mapping[str, Sequence[str]] | None = None
) -> pd.DataFrame:
    """List the unique contributions of every team: what leaves the judgements when it is left out.

    Parameters
    ----------
    rankings
        Dataset as from `read_rankings`.
    pool_depth
        Ranks of a run that contribute to the pool.
    documents
        Topic -> document ids, as from `judged_documents`; without them the table has numbers.

    Returns
    -------
    removed
        Columns team, topic, document (id, or number within the topic) and level; sorted by team, topic and document.

    Examples
    --------
    >>> from scorecube.testing import simulate_rankings
    >>> removed = removed_when_left_out(simulate_rankings(n_runs=4, n_teams=2))
    >>> removed.columns.tolist(), sorted(set(removed["team"]))
    (['team', 'topic', 'document', 'level'], ['team01', 'team02'])
    """
    pools = build_pools(rankings, pool_depth)
    unique = pools.unique()
    topic, document = np.nonzero(unique >= 0)
    labels = schema.labels_of(rankings, names.TOPIC)
    shown: list[Any] = (
        document.tolist()
        if documents is None
        else [documents[labels[j]][k] for j, k in zip(topic.tolist(), document.tolist(), strict=True)]
    )
    frame = pd.DataFrame(
        {
            "team": np.array(pools.teams, object)[unique[topic, document]], "topic": np.array(labels, object)[topic],
            "document": shown, "level": pools.levels[topic, document],
        }
    )  # fmt: skip
    return frame.sort_values(["team", "topic", "document"], kind="stable", ignore_index=True)

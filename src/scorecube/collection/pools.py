"""Pools: the judged documents that each team contributed.

A run contributes the judged documents in its first `pool_depth` ranks to the pool. Documents that only one
team contributed are its unique contributions. A judged document that no run contributed, because it was
judged for other reasons or because the pools were deeper, is unpooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.rankings import check_documents
from scorecube.errors import BadPlan, option
from scorecube.kernels.pools.contributing_teams import WORD, leave_out, pool_words

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Pools:
    """The documents that each team contributed to the pools.

    Parameters
    ----------
    teams
        Names of the teams, sorted.
    team_of
        int64 (run,): index of the team of each run.
    words
        uint64 (topic, document, word): a bit for each team that contributed the document.
    levels
        int8 (topic, document): relevance levels, -1 for pooled but not judged, or no document.
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
        """Return the judgements without the unique contributions of some teams.

        Parameters
        ----------
        left_out
            bool (team,): teams to leave out.
        keep_unpooled
            Whether unpooled documents stay judged.

        Returns
        -------
        removed
            bool (topic, document): documents that are no longer judged.
        n_judged
            int64 (topic, level): number of documents that stay judged.
        """
        removed, n_judged = self.without_pools(keep_unpooled)
        pooled = self.pooled()
        leave_out(
            pooled["words"],
            pooled["topics"],
            pooled["documents"],
            pooled["levels"],
            removed,
            n_judged,
            team_bits(left_out),
        )
        return removed, n_judged

    def pooled(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the pooled documents as arguments of the kernel `leave_out`."""
        topics, documents = np.nonzero(self.words.any(axis=-1))
        levels = self.levels[topics, documents].astype(np.int64)
        return {
            "words": self.words[topics, documents],
            "topics": topics,
            "documents": documents,
            "levels": levels,
        }

    def without_pools(
        self, keep_unpooled: bool
    ) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], np.ndarray[Any, np.dtype[np.int64]]]:
        """Return the judgements of unpooled documents, as `without`."""
        n_judged = np.zeros((len(self.levels), self.n_levels + 1), np.int64)
        if keep_unpooled:
            topics, documents = np.nonzero(self.unpooled)
            np.add.at(n_judged, (topics, self.levels[topics, documents]), 1)
        return self.unpooled & (not keep_unpooled), n_judged

    def unique(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the only team of each document, or -1: int64 (topic, document)."""
        is_unique = np.bitwise_count(self.words).sum(axis=-1, dtype=np.int64) == 1
        # The number of bits below the team's bit is its index within the word; all other words of the document are 0.
        index = np.bitwise_count(self.words - np.uint64(1)).astype(np.int64)
        index += WORD * np.arange(self.words.shape[-1])
        return np.where(is_unique, np.where(self.words != 0, index, 0).sum(axis=-1), -1)

    def n_unique(self, minimum_level: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of unique contributions of teams: int64 (team,)."""
        unique = self.unique()
        return np.bincount(
            unique[(unique >= 0) & (self.levels >= minimum_level)], minlength=len(self.teams)
        )


def team_bits(
    left_out: np.ndarray[Any, np.dtype[np.bool_]],
) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return bool (..., team) as bits of words, uint64 (..., word)."""
    n_teams = left_out.shape[-1]
    words = np.zeros((*left_out.shape[:-1], -(-n_teams // WORD)), np.uint64)
    for team in range(n_teams):
        words[..., team // WORD] |= left_out[..., team].astype(np.uint64) << np.uint64(team % WORD)
    return words


def build_pools(rankings: xr.Dataset, pool_depth: int = 10) -> Pools:
    """Determine the judged documents that each team contributed.

    Parameters
    ----------
    rankings
        Dataset as from `read_rankings`, or a cube with rankings.
    pool_depth
        Number of ranks of a run that contribute to the pool.

    Returns
    -------
    pools
        Teams that contributed each judged document, as bits.

    Raises
    ------
    BadPlan
        The rankings have no documents at ranks, or the pool depth is below 1.

    Examples
    --------
    >>> from scorecube.testing import simulate_rankings
    >>> pools = build_pools(simulate_rankings(n_runs=4, n_teams=2), pool_depth=10)
    >>> pools.teams, bool((pools.words.any(axis=-1).sum(axis=1) <= 40).all())
    (('team01', 'team02'), True)
    """
    if pool_depth < 1:
        raise BadPlan(
            f"{option('pool_depth', pool_depth)}: expected at least 1, the first rank",
            option="pool_depth",
        )
    check_documents(rankings)
    teams, team_of = np.unique(
        [str(team) for team in rankings[names.TEAM].values], return_inverse=True
    )
    levels = rankings[names.LEVEL_OF_DOCUMENT].values
    documents = np.ascontiguousarray(rankings[names.DOCUMENT_AT_RANK].values[..., :pool_depth])
    words = pool_words(
        documents, team_of.astype(np.int64), pool_depth, levels.shape[1], -(-len(teams) // WORD)
    )
    n_levels = (
        rankings.sizes[names.LEVEL] - 1
        if names.LEVEL in rankings.sizes
        else int(levels.max(initial=0))
    )
    return Pools(
        tuple(map(str, teams)),
        team_of.astype(np.int64),
        words,
        np.ascontiguousarray(levels),
        n_levels,
    )


def removed_when_left_out(
    rankings: xr.Dataset, pool_depth: int = 10, documents: Mapping[str, Sequence[str]] | None = None
) -> pd.DataFrame:
    """List the unique contributions of every team.

    Parameters
    ----------
    rankings
        Dataset as from `read_rankings`.
    pool_depth
        Ranks of a run that contribute to the pool.
    documents
        Topic -> document ids, as from `judged_documents`; None for document numbers.

    Returns
    -------
    removed
        Columns team, topic, document (id, or number within the topic) and level; sorted by team, topic and
        document.

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
    import pandas as pd

    document_ids: list[Any] = (
        document.tolist()
        if documents is None
        else [
            documents[labels[j]][k] for j, k in zip(topic.tolist(), document.tolist(), strict=True)
        ]
    )
    frame = pd.DataFrame(
        {
            "team": np.array(pools.teams, object)[unique[topic, document]],
            "topic": np.array(labels, object)[topic],
            "document": document_ids,
            "level": pools.levels[topic, document],
        }
    )
    return frame.sort_values(["team", "topic", "document"], kind="stable", ignore_index=True)

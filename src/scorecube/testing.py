"""Simulated collections whose truth is known: for demonstrations, and for tests of analyses, ours and users' own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.evaluation import evaluate
from scorecube.collection.judgements import Intents
from scorecube.collection.rankings import rankings_dataset, with_intents
from scorecube.kernels.random.philox import stream_key

QUALITY = "quality"
"""Coordinate along run: the simulated strength of a run, of which its scores are a noisy picture."""
N_NOT_RELEVANT = 2000
"""Documents judged not relevant that compete in every simulated topic."""


def simulate_rankings(
    judged: Sequence[Sequence[int]] | np.ndarray[Any, np.dtype[np.int64]] | None = None,
    *,
    topics: Sequence[str] | None = None,
    n_runs: int = 30,
    n_teams: int = 10,
    depth: int = 1000,
    n_intents: int = 0,
    seed: int = 0,
) -> xr.Dataset:
    """Simulate runs of known quality.

    A run sees each document's relevance level through noise: score = (quality + luck) * level**0.5 + noise. Luck is
    of the run on the topic and noise of the run on the document; the larger part of both is shared by
    a team, which makes its runs alike, as in real collections. Teams' qualities are evenly spaced.

    Parameters
    ----------
    judged
        Relevant documents per topic and level 1, 2, ...; None takes 50 topics of 3 levels.
    topics
        Topic ids; numbered from 001 by default.
    n_runs, n_teams
        Runs are dealt to teams in turn.
    depth
        Length of the ranked lists.
    n_intents
        Intents of each topic: a relevant document has its level for one of them and for about a third of the others.
    seed
        Equal seeds give equal rankings.

    Returns
    -------
    rankings
        As from `read_rankings`, with the additional coordinate `quality` (run).
    """
    if judged is None:
        judged = 1 + np.random.Generator(np.random.Philox(key=stream_key(seed, names.Purpose.SIMULATION))).poisson(
            [40, 25, 6], (50, 3)
        )
    counts = np.asarray(judged, np.int64)
    labels = list(topics) if topics is not None else [f"{k + 1:03d}" for k in range(len(counts))]
    n_teams = min(n_teams, n_runs)
    team_of = np.arange(n_runs) % n_teams
    spread = np.linspace(0.8, 1.4, n_teams) if n_teams > 1 else np.ones(1)
    quality = spread[team_of] + 0.02 * (np.arange(n_runs) // n_teams)
    longest = min(depth, int(counts.sum(axis=1).min()) + N_NOT_RELEVANT)
    level_at_rank = np.empty((n_runs, len(counts), longest), np.int8)
    document_at_rank = np.empty(level_at_rank.shape, np.int32)
    level_of_document = np.full((len(counts), N_NOT_RELEVANT + int(counts.sum(axis=1).max())), names.UNJUDGED, np.int8)
    for j, per_level in enumerate(counts):
        key = stream_key(seed, names.Purpose.SIMULATION)
        random = np.random.Generator(np.random.Philox(key=key, counter=[0, j + 1, 0, 0]))
        levels = np.repeat(np.arange(len(per_level) + 1), [N_NOT_RELEVANT, *per_level])
        hardness = random.uniform(0.6, 1.4)
        luck = 0.3 * random.standard_normal(n_teams)[team_of] + 0.15 * random.standard_normal(n_runs)
        noise = 0.6 * random.standard_normal((n_teams, len(levels)))[team_of]
        noise += 0.6 * random.standard_normal((n_runs, len(levels)))
        seen = (quality + luck)[:, np.newaxis] * np.sqrt(levels) + hardness * noise
        documents = np.argsort(-seen, axis=1, kind="stable")[:, :longest]
        level_at_rank[:, j] = levels[documents]
        document_at_rank[:, j] = documents
        level_of_document[j, : len(levels)] = levels
    runs = [f"team{team + 1:02d}-run{k // n_teams + 1}" for k, team in enumerate(team_of)]
    order = np.argsort(runs)
    retrieved = np.full((n_runs, len(counts)), longest, np.int32)
    rankings = rankings_dataset(
        level_at_rank[order], retrieved, np.column_stack([np.full(len(counts), N_NOT_RELEVANT), counts]),
        [runs[k] for k in order], labels, [runs[k].split("-")[0] for k in order],
        {"order": "simulated", "simulation_seed": str(seed)}, (document_at_rank[order], level_of_document),
    )  # fmt: skip
    if n_intents:
        rankings = with_intents(rankings, _simulate_intents(counts, n_intents, seed))
    return rankings.assign_coords({QUALITY: (names.RUN, quality[order])})


def _simulate_intents(counts: np.ndarray[Any, np.dtype[np.int64]], n_intents: int, seed: int) -> Intents:
    n_documents = N_NOT_RELEVANT + counts.sum(axis=1)
    found = np.full((len(counts), int(n_documents.max()), n_intents), names.UNJUDGED, np.int8)
    for j, per_level in enumerate(counts):
        key = stream_key(seed, names.Purpose.SIMULATION)
        random = np.random.Generator(np.random.Philox(key=key, counter=[0, j + 1, 1, 0]))
        levels = np.repeat(np.arange(len(per_level) + 1), [N_NOT_RELEVANT, *per_level])
        meant = random.random((len(levels), n_intents)) < 1 / 3
        meant[np.arange(len(levels)), random.integers(n_intents, size=len(levels))] = True
        found[j, : len(levels)] = np.where(meant, levels[:, np.newaxis], 0)
    shape = (len(counts), n_intents)
    labels = np.broadcast_to(schema.label_array(map(str, range(1, n_intents + 1))), shape).copy()
    return Intents(labels, found, np.full(shape, 1 / n_intents))


def simulate_cube(
    *, metrics: Sequence[str] = ("AP", "nDCG@10"), gains: Sequence[str] = ("3:2:1",), n_runs: int = 30, seed: int = 0
) -> xr.Dataset:
    """Simulate a small collection and evaluate it; see `simulate_rankings` and `evaluate`.

    Parameters
    ----------
    metrics, gains
        Names.
    n_runs, seed
        As of `simulate_rankings`.

    Returns
    -------
    cube
        Scores (metric, gain, run, topic) on 50 topics.
    """
    return evaluate(simulate_rankings(n_runs=n_runs, seed=seed), metrics, gains)

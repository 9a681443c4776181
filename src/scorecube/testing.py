"""Simulated collections with known quality of runs, for demonstrations and tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.evaluation import evaluate
from scorecube.collection.rankings import rankings_dataset
from scorecube.collection.schema import LEVEL_AT_RANK
from scorecube.kernels.random.philox import stream_key

QUALITY = "quality"
"""Coordinate along run: the simulated quality of a run."""
N_NOT_RELEVANT = 2000
"""Number of documents judged not relevant in every simulated topic."""


def simulate_rankings(
    judged: Sequence[Sequence[int]] | np.ndarray[Any, np.dtype[np.int64]] | None = None,
    *,
    topics: Sequence[str] | None = None,
    n_runs: int = 30,
    n_teams: int = 10,
    depth: int = 1000,
    seed: int = 0,
) -> xr.Dataset:
    """Simulate rankings of runs with known quality.

    The score of a document is (quality + topic effect) * level**0.5 + noise, where the topic effect
    is random by run and topic, and the noise by run and document. The larger part of both is
    shared by the runs of a team, which makes them similar. Qualities of teams are evenly spaced.

    judged: Number of relevant documents (topic, level), levels 1, 2, ...; by default 50 topics with
        3 levels.
    topics: Topic ids; by default 001, 002, ...
    n_runs, n_teams: Numbers of runs and teams; runs are assigned to teams in turn.
    depth: Largest length of the rankings.
    seed: Seed of the random numbers.
    Returns rankings: Dataset as from `read_rankings`, with the additional coordinate `quality`
        (run).
    """
    if judged is None:
        judged = 1 + np.random.Generator(
            np.random.Philox(key=stream_key(seed, names.Purpose.SIMULATION))
        ).poisson([40, 25, 6], (50, 3))
    counts = np.asarray(judged, np.int64)
    labels = list(topics) if topics is not None else [f"{k + 1:03d}" for k in range(len(counts))]
    n_teams = min(n_teams, n_runs)
    team_of = np.arange(n_runs) % n_teams
    team_quality = np.linspace(0.8, 1.4, n_teams) if n_teams > 1 else np.ones(1)
    quality = team_quality[team_of] + 0.02 * (np.arange(n_runs) // n_teams)
    length = min(depth, int(counts.sum(axis=1).min()) + N_NOT_RELEVANT)
    level_at_rank = np.empty((n_runs, len(counts), length), np.int8)
    document_at_rank = np.empty(level_at_rank.shape, np.int32)
    level_of_document = np.full(
        (len(counts), N_NOT_RELEVANT + int(counts.sum(axis=1).max())), names.UNJUDGED, np.int8
    )
    for j, per_level in enumerate(counts):
        key = stream_key(seed, names.Purpose.SIMULATION)
        random = np.random.Generator(np.random.Philox(key=key, counter=[0, j + 1, 0, 0]))
        levels = np.repeat(np.arange(len(per_level) + 1), [N_NOT_RELEVANT, *per_level])
        difficulty = random.uniform(0.6, 1.4)
        topic_effect = 0.3 * random.standard_normal(n_teams)[
            team_of
        ] + 0.15 * random.standard_normal(n_runs)
        noise = 0.6 * random.standard_normal((n_teams, len(levels)))[team_of]
        noise += 0.6 * random.standard_normal((n_runs, len(levels)))
        scores = (quality + topic_effect)[:, np.newaxis] * np.sqrt(levels) + difficulty * noise
        # No two of these scores are equal, so that any sort gives one order.
        documents = np.argsort(-scores, axis=1)[:, :length]
        level_at_rank[:, j] = levels[documents]
        document_at_rank[:, j] = documents
        level_of_document[j, : len(levels)] = levels
    runs = [f"team{team + 1:02d}-run{k // n_teams + 1}" for k, team in enumerate(team_of)]
    order = np.argsort(runs)
    arrays = {
        LEVEL_AT_RANK: level_at_rank[order],
        names.N_RETRIEVED: np.full((n_runs, len(counts)), length, np.int32),
        names.N_JUDGED: np.column_stack([np.full(len(counts), N_NOT_RELEVANT), counts]),
        names.DOCUMENT_AT_RANK: document_at_rank[order],
        names.LEVEL_OF_DOCUMENT: level_of_document,
    }
    rankings = rankings_dataset(
        arrays,
        [runs[k] for k in order],
        labels,
        [runs[k].split("-")[0] for k in order],
        {"order": "simulated", "simulation_seed": str(seed)},
    )
    return rankings.assign_coords({QUALITY: (names.RUN, quality[order])})


def simulate_cube(
    *,
    metrics: Sequence[str] = ("AP", "nDCG@10"),
    gains: Sequence[str] = ("3:2:1",),
    n_runs: int = 30,
    seed: int = 0,
) -> xr.Dataset:
    """Simulate the score cube of a small collection.

    metrics, gains: Names of metrics and gain settings.
    n_runs, seed: See `simulate_rankings`.
    Returns cube: Scores (metric, gain, run, topic) on 50 topics.
    """
    return evaluate(simulate_rankings(n_runs=n_runs, seed=seed), metrics, gains)

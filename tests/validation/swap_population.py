"""Simulated collections with AP-, P@10- and RR-like scores of the same runs.

A latent score is the sum of a team's quality and a run's own, a topic's difficulty, and an interaction whose size differs between
topics; runs of a team share most of quality and interaction. AP is a smooth function of it, P@10 is rounded to tenths, RR is the
reciprocal of a geometric rank. All parts are drawn anew for each collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, ndtr

from scorecube.collection.evaluation import cube_dataset

Array = np.ndarray[Any, Any]
METRICS = ("AP", "P@10", "RR")
IN_COMMON = 0.7
"""Part of the variances of quality and interaction that the runs of a team share."""
QUALITY, DIFFICULTY, INTERACTION, UNEVEN = 0.7, 1.0, 1.0, 0.3
"""Standard deviations, of logits; the last of the logarithm of the interaction's size."""
DEEPEST = 100
"""Rank from which on RR is 0."""


@dataclass(frozen=True)
class Population:
    """Collections of `n_runs` runs in teams of `team` on `n_topics` topics."""

    n_runs: int
    team: int = 1
    n_topics: int = 50

    def latent(self, random: np.random.Generator, n: int) -> tuple[Array, Array]:
        """Draw chances (collection, run, topic), as logits, and interactions."""
        team_of = np.arange(self.n_runs) // self.team
        common = IN_COMMON if self.team > 1 else 0.0

        def effects(*shape: int) -> Array:
            of_teams = random.normal(size=(n, team_of[-1] + 1, *shape))[:, team_of]
            own = random.normal(size=(n, self.n_runs, *shape))
            return np.asarray(np.sqrt(common) * of_teams + np.sqrt(1 - common) * own)

        quality = QUALITY * effects(1) + DIFFICULTY * random.normal(size=(n, 1, self.n_topics))
        size = np.exp(UNEVEN * random.normal(size=(n, 1, self.n_topics)))
        return quality, size * effects(self.n_topics)

    def scores(self, random: np.random.Generator, n: int) -> Array:
        """Draw scores (collection, metric, run, topic)."""
        quality, interaction = self.latent(random, n)
        logit = quality + INTERACTION * interaction
        spread = np.exp(UNEVEN**2)  # of the interaction over topics
        chance = np.clip(expit(0.3 + quality), 0.01, 0.99)
        below = np.clip(ndtr(-interaction / spread), 1e-12, 1 - 1e-12)
        rank = np.ceil(np.log1p(-below) / np.log1p(-chance))
        rr = np.where(rank > DEEPEST, 0.0, 1 / np.maximum(rank, 1))
        return np.stack([expit(logit - 1), np.round(10 * expit(logit - 0.2)) / 10, rr], axis=1)

    def cube(self, scores: Array) -> xr.Dataset:
        """Return scores (metric, run, topic) as a cube; more than three metrics are collections of three."""
        n = len(scores) // len(METRICS)
        labels = METRICS if n == 1 else [f"{metric}({k})" for k in range(n) for metric in METRICS]
        runs = [f"r{k:03d}" for k in range(self.n_runs)]
        teams = [f"t{k // self.team:03d}" for k in range(self.n_runs)]
        topics = [f"{k:03d}" for k in range(self.n_topics)]
        return cube_dataset(scores[:, np.newaxis], labels, ["auto"], runs, topics, teams)

"""What leaving teams out claims, checked on the collection itself: its few subsets of teams against thousands of others.

Simulated scores have no pool, so that topics, runs and judgements are those of the collection, and only the subsets are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.analyses.base import Array, Arrays, Prepared
from scorecube.analyses.leave_out.teams import Teams
from scorecube.analyses.leave_out.trial_statistics import compute_trials
from scorecube.analyses.simulation.claims import LEVEL, Claim, t_interval, with_truth

TRUE_SUBSETS = 2_000
"""Subsets of each number of teams that have the true means; the first trials of the random stream."""
PARTS = 4
"""Numbers of teams left out: 1, and these parts of all teams."""
QUANTITIES = ("variance", "tau")
STATISTICS = ("variance", "agreeing", "pairs")


@dataclass(frozen=True)
class TeamClaims:
    """Mean variance and mean tau over all subsets of k teams that are left out, from few subsets.

    leaves: Numbers of teams left out.
    trials: Subsets of each number.
    """

    leaves: tuple[int, ...]
    trials: int

    @classmethod
    def of(cls, n_teams: int, trials: int) -> TeamClaims:
        """Return the claims for a number of teams."""
        parts = (round(n_teams * part / PARTS) for part in range(1, PARTS))
        leaves = sorted({1, *(k for k in parts if 1 <= k < n_teams)})
        return cls(tuple(leaves), trials)

    @property
    def analysis(self) -> Teams:
        """The analysis with its options."""
        return Teams(leave=self.leaves)

    @property
    def claims(self) -> list[Claim]:
        """Claims about each cell: of each number of teams, and of all together, which the number of teams within the margin rests on."""
        return [
            claim
            for quantity in QUANTITIES
            for claim in (
                *(Claim(f"{quantity}, teams left out", k) for k in self.leaves),
                Claim(f"{quantity}, all numbers together", max(self.leaves)),
            )
        ]

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        """Return the arrays of the analysis, and what is true; the subsets of sample k are behind those of the truth."""
        inputs = self.analysis.inputs(prepared, TRUE_SUBSETS + trials * self.trials, seed)
        truth = self._values(inputs, 0, TRUE_SUBSETS).mean(axis=-1)
        return inputs | {"truth": truth, "leaves": np.array(self.leaves)}

    def measure(self, inputs: Any, sample: int) -> Array:
        """Return what is claimed of one sample of subsets: (value, cell, claim)."""
        start = TRUE_SUBSETS + sample * self.trials
        values = self._values(inputs, start, start + self.trials)
        return np.concatenate(
            [self._with_all(values[k], inputs["truth"][k]) for k in range(len(QUANTITIES))], axis=-1
        )

    @staticmethod
    def _values(inputs: Any, start: int, stop: int) -> Array:
        """Return variances and tau: (quantity, cell, leave, subset)."""
        found = compute_trials(inputs, start, stop).by_name()
        variance, agreeing, pairs = (found[name] for name in STATISTICS)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.stack([variance[:, :, 0], agreeing / pairs])

    @staticmethod
    def _with_all(values: Array, truth: Array) -> Array:
        """Return the values of the claims of one quantity: of each number of teams, then of all together."""
        low, high = t_interval(values, 1 - LEVEL)
        each = with_truth(values.mean(axis=-1), low, high, truth)
        low, high = t_interval(values, (1 - LEVEL) / values.shape[1])
        last = np.full((*each.shape[:2], 1), np.nan)
        last[3, :, 0] = ((low <= truth) & (truth <= high)).all(axis=1)
        return np.concatenate([each, last], axis=-1)

"""Battles: strengths of systems from preferences between pairs, with limits and rank sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import RunPairs
from scorecube.analyses.pairs import pair_labels, pairs_of
from scorecube.analyses.protocol import Analysis, Totals
from scorecube.analyses.rank_sets import OF_RANKS, rank_sets
from scorecube.analyses.topic_units import FloatArray, IntArray
from scorecube.collection.battles import WIN_RATE, Matches, matches_of, totals_of
from scorecube.collection.schema import CELL, label_array
from scorecube.collection.selection import select
from scorecube.collection.teams import listed
from scorecube.declare import Variable, View, along, limits_of, option_field
from scorecube.errors import BadPlan, counted
from scorecube.methods.battles.bradley_terry import LEAST_PROMPTS, Strengths, strengths_of
from scorecube.methods.battles.view import VIEW
from scorecube.statistics.paired_tests import adjusted
from scorecube.statistics.rank_sets import competition_ranks

ELO = 400 / math.log(10)
MIDDLE = 1000.0
"""Points for a log odds of 1, and of the mean of systems."""
VARIABLES = (
    *along(
        (*CELL, "run"),
        Variable("strength", "estimate", "log odds against the mean, or Elo", form=".2f"),
        limits_of("strength", "limit of the strength, of this run by itself", form=".2f"),
        Variable("rank", "estimate", "rank of the strength, 1 for the best", form=".0f"),
        *OF_RANKS[1:],
        Variable("n_battles", "count", "battles of a run", "battles"),
        Variable("n_prompts", "count", "prompts of its battles", "prompts"),
        Variable("won", "share", "battles that a run has won, ties a half", form=".1%"),
        Variable("connected", "flag", "whether wins lead to and from it: others are not ranked"),
    ),
    *along(
        (*CELL, "pair"),
        Variable("n_met", "count", "battles of the two", "battles"),
        Variable("share_won", "share", "those that the first has won, ties a half", form=".1%"),
        Variable("win_probability", "estimate", "that the first wins", form=".1%"),
        limits_of("win_probability", "limit of the probability that the first wins", form=".1%"),
        Variable("p_value", "p_value", "of equal strengths, of the pair by itself"),
        Variable("p_value_holm", "p_value", "adjusted (Holm 1979: family-wise error)"),
        Variable("p_value_bh", "p_value", "adjusted (Benjamini, Hochberg 1995)"),
    ),
)


@dataclass(frozen=True, eq=False)
class BattleTable:
    """Battles, and the strengths of systems, with the trials and the seed of a plan.

    battles, won: float64 (system, system): battles of each pair, and those that its first has won.
    """

    matches: Matches
    battles: FloatArray
    won: FloatArray
    found: Strengths
    trials: int = 1
    seed: int = 1

    @property
    def has_limits(self) -> bool:
        """Whether strengths have errors."""
        return bool(np.isfinite(self.found.covariance).all() and len(self.found.members) > 1)


@dataclass(frozen=True, kw_only=True)
class Battles(Analysis):
    """Battles of pairs of systems: Bradley-Terry strengths (Elo), with limits and rank sets.

    Estimand: the solution of the population score equation for these match-ups and new prompts, as
    log odds against the mean of systems; a tie, also one where both are bad, is half a win for
    each. The covariance is a sandwich over prompts: battles on one may go together. Rank sets hold
    together, as those of ``leaderboard``. Systems between which wins do not lead both ways have no
    strength: the largest set where they do is ranked, and the others may have any rank.

    Examples
    --------
    >>> from scorecube import Battles, analyse
    >>> from scorecube.collection.battles import cube_of_battles
    >>> sides = ["a", "b", "a"] * 20, ["b", "c", "c"] * 20
    >>> cube = cube_of_battles(*sides, range(60), [1, 1, 0] * 20)
    >>> analyse(cube, Battles())["rank_high"].values.tolist()
    [[[3, 3, 3]]]
    """

    name: ClassVar[str] = "battles"
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("bradley1952", "mogstad2024")
    resamples: ClassVar[bool] = False
    of_battles: ClassVar[bool] = True
    unused: ClassVar[tuple[str, ...]] = ("metrics", "gains", "topics", "by", "missing", "bags")
    examples: ClassVar[tuple[str, ...]] = ("--scale elo",)

    alpha: float = option_field(0.05, "1 - confidence of rank sets and limits.", above=0, below=1)
    scale: Literal["log", "elo"] = option_field(
        "log", "Log odds, or Elo: 1000 for the mean of systems, 400 for odds of 10 to 1."
    )

    def join(
        self,
        cubes: Mapping[str, xr.Dataset],
        rankings: Mapping[str, xr.Dataset],
        selection: Mapping[str, Any],
    ) -> xr.Dataset:
        """Return the cube of battles of the selected runs with each other."""
        ((_, cube),) = cubes.items()
        given = ("runs", "top_runs", "by")
        return select(cube, **{key: selection[key] for key in given if key in selection})

    def table(self, cube: xr.Dataset) -> BattleTable:
        matches = matches_of(cube)
        if not matches.battles.sum():
            raise BadPlan(f"{self.name} needs battles of these runs with each other; there is none")
        return BattleTable(matches, *totals_of(matches), strengths_of(matches))

    def notes(self, table: BattleTable) -> list[str]:
        systems = np.array(table.matches.systems, object)
        found = table.found
        notes = []
        if len(np.unique(table.matches.prompt)) == table.matches.battles.sum():
            notes.append("No prompt has two battles: each battle counts by itself.")
        outside = np.delete(systems, found.members).tolist()
        if outside:
            named = listed(outside) if len(found.members) > 1 else "any system"
            reason = "wins do not lead from there to the others and back, so any rank may be true"
            notes.append(f"no strength of {named}: {reason}")
        if found.n_prompts < LEAST_PROMPTS:
            notes.append(f"no limits: {counted(found.n_prompts, 'prompt')}, {LEAST_PROMPTS} needed")
        return notes

    def result(self, table: BattleTable, totals: Totals) -> xr.Dataset:
        systems = table.matches.systems
        pairs = pairs_of(systems)
        values = self.of_runs(table) | self.of_pairs(table, pairs)
        labels = pair_labels(systems, pairs) | {
            names.METRIC: label_array([WIN_RATE]),
            names.GAIN: label_array([names.AUTO]),
            names.RUN: label_array(systems),
            names.USES_GAINS: (names.METRIC, np.zeros(1, bool)),
        }
        arrays = {
            variable.name: (
                variable.dims,
                np.asarray(values[variable.name])[np.newaxis, np.newaxis],
                variable.attrs(),
            )
            for variable in VARIABLES
        }
        facts = {
            "trials": 0,
            "n_runs": len(systems),
            "battles": int(table.matches.battles.sum()),
            "prompts": len(np.unique(table.matches.prompt)),
            "alpha": self.alpha,
            "scale": self.scale,
        }
        return xr.Dataset(arrays, labels, facts)

    def of_runs(self, table: BattleTable) -> dict[str, Any]:
        """Return what is known of each run, (run,)."""
        found = table.found
        members = found.members
        n = len(table.battles)
        strength, error, rank = np.full((3, n), np.nan)
        low = np.ones(n, np.int32)
        high = np.full(n, n, np.int32)
        is_ranked = len(members) > 1
        if is_ranked:
            strength[members] = found.theta
            error[members] = np.sqrt(np.diag(found.covariance))
            rank[members] = competition_ranks(found.theta)
        if table.has_limits:
            sets = rank_sets(found.theta, found.covariance, alpha=self.alpha)
            low[members] = sets["rank_low"].values
            high[members] = sets["rank_high"].values + n - len(members)
        margin = self.critical(found) * error
        n_battles = table.battles.sum(axis=1)
        return {
            "strength": self.scaled(strength),
            "strength_low": self.scaled(strength - margin),
            "strength_high": self.scaled(strength + margin),
            "rank": rank,
            "rank_low": low,
            "rank_high": high,
            "n_battles": n_battles.astype(np.int64),
            "n_prompts": n_prompts_of(table.matches),
            "won": shares(table.won.sum(axis=1), n_battles),
            "connected": np.isin(np.arange(n), members) & is_ranked,
        }

    def of_pairs(self, table: BattleTable, pairs: RunPairs) -> dict[str, Any]:
        """Return what is known of each pair, (pair,)."""
        found = table.found
        number = np.full(len(table.battles), -1)
        if len(found.members) > 1:
            number[found.members] = np.arange(len(found.members))
        first, second = (number[side] for side in pairs)
        ahead, error = np.full((2, len(first)), np.nan)
        kept = (first >= 0) & (second >= 0)
        a = first[kept]
        b = second[kept]
        v = found.covariance
        ahead[kept] = found.theta[a] - found.theta[b]
        error[kept] = np.sqrt(np.maximum(v[a, a] + v[b, b] - 2 * v[a, b], 0))
        t = np.abs(shares(ahead, error))
        p = np.maximum(
            2 * scipy.special.stdtr(max(found.n_prompts - 1, 1), -t), np.finfo(float).tiny
        )
        margin = self.critical(found) * error
        n_met = table.battles[pairs]
        return {
            "n_met": n_met.astype(np.int64),
            "share_won": shares(table.won[pairs], n_met),
            "win_probability": scipy.special.expit(ahead),
            "win_probability_low": scipy.special.expit(ahead - margin),
            "win_probability_high": scipy.special.expit(ahead + margin),
            "p_value": p,
            **adjusted(p),
        }

    def critical(self, found: Strengths) -> float:
        """Return the quantile of Student's t with as many degrees of freedom as prompts but one."""
        return float(scipy.special.stdtrit(max(found.n_prompts - 1, 1), 1 - self.alpha / 2))

    def scaled(self, strength: FloatArray) -> FloatArray:
        """Return log odds on the scale that is asked for."""
        return strength if self.scale == "log" else MIDDLE + ELO * strength


def shares(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return quotients, missing where there is nothing to divide by."""
    found = np.full(part.shape, np.nan)
    return np.asarray(np.divide(part, whole, out=found, where=whole > 0))


def n_prompts_of(matches: Matches) -> IntArray:
    """Return the number of prompts of the battles of each system, (system,)."""
    met = matches.battles > 0
    prompts = np.tile(matches.prompt[met], 2)
    systems = np.concatenate([matches.first[met], matches.second[met]])
    pairs = np.unique(np.stack([systems, prompts]), axis=1)
    return np.bincount(pairs[0], minlength=len(matches.systems))

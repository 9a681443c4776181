"""What is measured on truths: error rates and coverages of tests and limits, one value a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.statistics.multiple_testing import adjusted
from scorecube.workflow.api import analyse
from tests.validation.truths import Floats, Truth, cube_of, cubes, samples

ALPHA = 0.05
TRIALS = 1000
ERROR = "(error)"
"""In the name of what should never be."""
NO_GOAL = ("bias", "width")
"""In names of what is no rate."""
EQUAL_MEANS = 1e-12
"""Difference of true means up to which they are equal."""
MARGIN_SLACK = 0.004
"""Pairs of a population stand for one at the margin if their true difference exceeds it by no more than this."""
BOUNDS = (0.0, 1.0)
Values = dict[str, Floats]
Measure = Callable[[Any, int, int], Values]
"""Takes a truth, a number of samples and a seed; returns values (sample,) by method."""


def rate_of(values: Floats) -> tuple[float, float]:
    """Return the mean over samples that have a value, and its standard error."""
    known = values[~np.isnan(values)]
    error = float(known.std(ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else math.nan
    return float(known.mean()) if len(known) else math.nan, error


def collected(rows: list[dict[str, Any]]) -> Values:
    """Return values by method from those of each sample."""
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def covers(low: Any, high: Any, target: Any) -> Any:
    """Return whether limits hold the truth; a missing limit does not."""
    return (low <= target + 1e-12) & (target - 1e-12 <= high)


def family_error(truth: Truth, number: int, seed: int) -> Values:
    """Return whether any pair with equal means is significant."""
    rows: list[dict[str, Any]] = []
    for cube, drawn, of_trials in cubes(truth, number, seed):
        tests = {"max-T": sc.MaxT(alphas=(ALPHA,)), "Tukey": sc.Tukey(alphas=(ALPHA,))}
        p = {
            name: analyse(cube, test, trials=TRIALS, seed=of_trials)["p_value"].values[:, 0]
            for name, test in tests.items()
        }
        single = analyse(cube, sc.Paired(tests=("t",), alphas=(ALPHA,)))["p_value"].values
        p["Holm's t"] = np.array([adjusted(each.reshape(-1), "holm") for each in single])
        first, second = np.triu_indices(len(drawn[0].means), 1)
        for k, sample in enumerate(drawn):
            equal = np.abs(sample.means[first] - sample.means[second]) < EQUAL_MEANS
            rows.append({name: (each[k, equal] < ALPHA).any() for name, each in p.items()})
    return collected(rows)


def true_ranks(means: Floats) -> tuple[Floats, Floats]:
    """Return the best and the worst rank of each run; runs with equal means share theirs."""
    better = (means > means[:, np.newaxis] + EQUAL_MEANS).sum(axis=1)
    worse = (means < means[:, np.newaxis] - EQUAL_MEANS).sum(axis=1)
    return 1 + better, len(means) - worse


def board_coverage(analysis: Any = None) -> Measure:
    """Return what measures a leaderboard: whether all rank sets hold, and the share of means of runs, and of the leader, within limits."""
    board = sc.Leaderboard() if analysis is None else analysis

    def measure(truth: Truth, number: int, seed: int) -> Values:
        rows: list[dict[str, Any]] = []
        for cube, drawn, of_trials in cubes(truth, number, seed):
            found = analyse(cube, board, trials=TRIALS, seed=of_trials)
            for k, sample in enumerate(drawn):
                at = found.isel(metric=k, gain=0)
                low, high = true_ranks(sample.means)
                means = [at[f"mean_{side}"].values for side in ("low", "high")]
                known, leads = np.isfinite(means).all(axis=0), int(np.argmax(at["mean"].values))
                held = covers(means[0], means[1], sample.means)
                rows.append(
                    {
                        "all rank sets": ((at["rank_low"] <= low) & (at["rank_high"] >= high)).all(),
                        "means": np.delete(held, leads).mean(),
                        f"means missing {ERROR}": (~known).mean(),
                        "leader": held[leads],
                    }
                )  # fmt: skip
        return collected(rows)

    return measure


def called_equivalent(truth: Truth, number: int, seed: int) -> Values:
    """Return whether the first two runs are called equivalent at a margin that is their true difference."""
    rows: list[dict[str, Any]] = []
    for cube, drawn, _ in cubes(truth, number, seed):
        found = _equivalent(cube, float(abs(drawn[0].means[0] - drawn[0].means[1])))
        rows += [{"called equivalent": each[0]} for each in found]
    return collected(rows)


def near_pairs_equivalent(truth: Truth, number: int, seed: int) -> Values:
    """Return the share of pairs that are called equivalent at a margin of .01, of those whose true difference is hardly larger."""
    rows: list[dict[str, Any]] = []
    for cube, drawn, _ in cubes(truth, number, seed):
        first, second = np.triu_indices(len(drawn[0].means), 1)
        apart = np.abs(drawn[0].means[first] - drawn[0].means[second])
        chosen = (apart >= 0.01) & (apart <= 0.01 + MARGIN_SLACK)
        rows += [{"called equivalent": each[chosen].mean()} for each in _equivalent(cube, 0.01)]
    return collected(rows)


def _equivalent(cube: Any, margin: float) -> Any:
    """Return which pairs are called equivalent, (sample, pair)."""
    test = sc.Paired(tests=("t",), alphas=(ALPHA,), equivalence=margin)
    return analyse(cube, test)["equivalence_p_value"].values[:, 0] < ALPHA


def kendall(first: Floats, second: Floats) -> float:
    """Return tau-a of two rankings (run,)."""
    i, j = np.triu_indices(len(first), 1)
    return float((np.sign(first[i] - first[j]) * np.sign(second[i] - second[j])).mean())


def tau_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return whether the interval of tau over infinitely many topics holds it, and biases of its estimate and of the observed tau."""
    rows: list[dict[str, Any]] = []
    for sample in samples(truth, number, seed):
        tau = kendall(*np.round(sample.means, 12))
        found = analyse(cube_of(list(sample.scores)), sc.Correlation(), trials=2)
        at = found.sel(statistic="tau").isel(comparison=0)
        low, high = float(at["population_low"]), float(at["population_high"])
        rows.append(
            {
                "tau": covers(low, high, tau),
                "width": high - low,
                "bias of the estimate": float(at["population"]) - tau,
                "bias of the observed tau": kendall(*sample.scores.mean(axis=-1)) - tau,
            }
        )
    return collected(rows)

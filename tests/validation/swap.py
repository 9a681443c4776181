"""Limits over topics of the swap method: required differences, shares and tau of some runs on other topics.

Topics are drawn with replacement from a real matrix of scores, whose topics are then all topics there are.
Truth is what samples of half as many topics from the whole matrix give.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from scorecube import Swap
from scorecube.collection.evaluation import cube_dataset
from scorecube.statistics.swap_rates import share_beyond
from scorecube.workflow.api import analyse
from tests.validation.rates import Values, collected, covers
from tests.validation.truths import Floats, real_scores

LEVEL = 0.95
TRIALS, TRUE_TRIALS = 1000, 20_000
REAL = {
    "robust2004": ("robust2004/ap_249topics.csv", "robust2004/p10_249topics.csv"),
    "TREC-8": ("adhoc8/ap.csv", "adhoc8/p10.csv", "adhoc8/rr.csv"),
}
N_RUNS = 30
"""Runs of real matrices, evenly spread."""
Scores = tuple[str, Callable[[], Floats]]
"""Name of a matrix, and its scores (metric, run, topic)."""


def of_files(files: tuple[str, ...]) -> Floats:
    """Return the scores of a real collection under some metrics."""
    every = [real_scores(file) for file in files]
    order = np.argsort(-every[0].mean(axis=1), kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, N_RUNS).round().astype(int)]
    return np.stack([scores[chosen] for scores in every])


def cube_of(scores: Floats) -> xr.Dataset:
    """Return scores (metric, run, topic) as a cube of AP, P@10 and RR."""
    n_metrics, n_runs, n_topics = scores.shape
    runs, topics = [f"r{k:03d}" for k in range(n_runs)], [f"{k:04d}" for k in range(n_topics)]
    names = ["AP", "P@10", "RR"][:n_metrics]
    return cube_dataset(scores[:, np.newaxis], names, ["auto"], runs, topics)


def read(result: xr.Dataset) -> tuple[Any, Any, Any]:
    """Return the smooth required difference, the share of comparisons with it, and tau, by metric."""
    at = result.isel(gain=0, size=0)
    smooth = at["required_difference_smooth"].sel(confidence=[LEVEL]).values
    share = share_beyond(at["count"].values, smooth / 0.01)
    return smooth[:, 0], share[:, 0], at["tau"].values


@cache
def truth(name: str, n_topics: int, make: Callable[[], Floats]) -> tuple[Any, Any, Any]:
    """Return what samples of half of `n_topics` topics of all there are give."""
    swap = Swap(sampling="replacement", size=n_topics // 2)
    return read(analyse(cube_of(make()), swap, trials=TRUE_TRIALS, seed=1))


def coverage(scores: tuple[str, int, Callable[[], Floats]], number: int, seed: int) -> Values:
    """Return whether limits hold the truth, by quantity and metric; missing limits count as missing values."""
    name, n_topics, make = scores
    true, every, rows = truth(name, n_topics, make), make(), list[dict[str, Any]]()
    for place in range(number):
        chance = np.random.default_rng((seed, place))
        drawn = every[:, :, chance.integers(0, every.shape[-1], n_topics)]
        result = analyse(cube_of(drawn), Swap(), trials=TRIALS, seed=place + 1)
        at, row = result.isel(gain=0, size=0).sel(confidence=LEVEL), dict[str, Any]()
        for what, expected in zip(("required", "share", "tau"), true, strict=True):
            low, high = (at[f"{what}_{side}"].values for side in ("low", "high"))
            held = np.where(np.isnan(low), np.nan, covers(low, high, expected))
            row |= {
                f"{what}, {metric}": each
                for metric, each in zip(at["metric"].values, held, strict=True)
            }
            row |= {
                f"{what}, {metric}, known": float(not np.isnan(each))
                for metric, each in zip(at["metric"].values, low, strict=True)
            }
        rows.append(row)
    return collected(rows)

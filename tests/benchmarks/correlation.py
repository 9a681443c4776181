"""Rank correlation of ten metrics beside SciPy, in one process that computes both in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import kendalltau

import scorecube as sc

SIZES = (30, 130, 1000)
N_METRICS, TOPICS, TURNS = 10, 50, 5


def seconds(function: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Print milliseconds of an analysis with its limits, of SciPy's taus for the same, and the ratio."""
    print("runs   correlate, ms   scipy, ms   scipy / correlate")
    for n_runs in SIZES:
        scores = np.random.default_rng(1).beta(1.2, 2.0, (N_METRICS, n_runs, TOPICS)).round(4)
        runs, topics = [f"r{k:04d}" for k in range(n_runs)], [f"{k:03d}" for k in range(TOPICS)]
        named = {f"m{k}": each for k, each in enumerate(scores)}
        cube = sc.cube_from_scores(named, runs=runs, topics=topics)
        first, second = np.triu_indices(N_METRICS, 1)
        means = scores.mean(axis=-1)

        def ours(cube: Any = cube) -> None:
            sc.analyse(cube, sc.Correlation(), workers=1)

        def theirs(means: Any = means, first: Any = first, second: Any = second) -> None:
            # As often as the limits need: of all topics, and without each of ten groups.
            for _ in range(11):
                for a, b in zip(first, second, strict=True):
                    kendalltau(means[a], means[b])

        ours()
        turns = [(seconds(ours), seconds(theirs)) for _ in range(TURNS)]
        mine, scipys = (1e3 * statistics.median(turn[k] for turn in turns) for k in range(2))
        print(f"{n_runs:4}  {mine:13.1f}  {scipys:10.1f}  {scipys / mine:17.1f}")


if __name__ == "__main__":
    main()

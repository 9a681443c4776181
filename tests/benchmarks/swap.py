"""Swap method through the public API against what a competent user writes in NumPy.

Both are timed in turn, and the ratio is taken inside each turn: machines drift, ratios hold.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.cube import cube_dataset
from scorecube.metrics import parse_metric

SIZES = {"small": (7, 30, 50, 1000), "medium": (10, 130, 50, 400), "large": (1, 1000, 250, 20)}
"""Metrics, runs, topics, trials."""
METRICS = ("AP", "Q", "P+", "O", "P-measure", "RR", "NWRR", "nDCG@10", "nERR@10", "P@10")
REPEATS = 5


def numpy_swap(scores: np.ndarray[Any, Any], size: int, trials: int, seed: int) -> np.ndarray[Any, Any]:
    """Count and swaps per bin, one trial after the other, all pairs of a trial at once."""
    random = np.random.default_rng(seed)
    n_metrics, n_runs, n_topics = scores.shape
    upper = np.triu_indices(n_runs, 1)
    totals = np.zeros((n_metrics, 42), np.int64)
    for _ in range(trials):
        first, second = random.integers(0, n_topics, (2, size))
        for k in range(n_metrics):
            a, b = scores[k][:, first].mean(axis=1), scores[k][:, second].mean(axis=1)
            d, e = (a[:, None] - a)[upper], (b[:, None] - b)[upper]
            bins = np.minimum((np.abs(d) * 100).astype(np.int64), 20)
            totals[k] += np.bincount(bins + 21 * (d * e < 0), minlength=42)
    return totals


def seconds(work: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print one line per size: time per comparison, and the ratio to NumPy, median [min..max]."""
    random = np.random.default_rng(1)
    print("size    comparisons  ours ns/cmp  numpy ns/cmp  numpy/ours median [min..max]")
    for name, (n_metrics, n_runs, n_topics, trials) in SIZES.items():
        scores = random.beta(1.2, 2.0, (n_metrics, n_runs, n_topics)) * random.beta(4, 3, (n_metrics, n_runs, 1))
        runs, topics = [f"r{k:04d}" for k in range(n_runs)], [f"{k:03d}" for k in range(n_topics)]
        metrics = [parse_metric(text) for text in METRICS[:n_metrics]]
        cube = cube_dataset(scores[:, np.newaxis], metrics, ["auto"], runs, topics)
        comparisons = n_metrics * n_runs * (n_runs - 1) // 2 * trials

        def ours(cube: Any = cube, trials: int = trials) -> Any:
            return sc.analyse(cube, sc.Swap(sampling="replacement"), trials=trials, seed=1, workers=1)

        def plain(scores: Any = scores, trials: int = trials, n_topics: int = n_topics) -> Any:
            return numpy_swap(scores, n_topics, trials, 1)

        ours()
        pairs = [(seconds(ours), seconds(plain)) for _ in range(REPEATS)]
        ratios = sorted(theirs / mine for mine, theirs in pairs)
        best_ours, best_plain = (min(times) * 1e9 / comparisons for times in zip(*pairs, strict=True))
        print(
            f"{name:7} {comparisons:11,}  {best_ours:11.2f}  {best_plain:12.1f}  "
            f"{statistics.median(ratios):.1f} [{ratios[0]:.1f}..{ratios[-1]:.1f}]"
        )

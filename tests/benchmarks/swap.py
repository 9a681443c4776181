"""Swap method through the public API against what a competent user writes in NumPy, and against its own parts.

All are timed in turn, and ratios are taken inside each turn: machines drift, ratios hold. Goals are those of the project's
performance notes (rows S1 to S4b and R1); everything runs on one core.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.collection.evaluation import cube_dataset
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.kernels.random.draws import Sampling, multiplicities, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.metrics import parse_metric
from scorecube.names import Purpose

SIZES = {"small": (7, 30, 50, 1000), "medium": (10, 130, 50, 1000), "large": (1, 1000, 250, 800)}
"""Metrics, runs, topics, trials."""
METRICS = ("AP", "Q", "P+", "O", "P-measure", "RR", "NWRR", "nDCG@10", "nERR@10", "P@10")
PUBLISHED = sc.Swap(sampling="replacement", bins=21, required="suffix")
"""As in the papers, without limits for other topics and runs, so that the counting is timed."""
REPEATS = 5
PASS_BYTES = 160_000_000

Times = dict[str, float]


def numpy_swap(
    scores: np.ndarray[Any, Any], size: int, trials: int, seed: int
) -> np.ndarray[Any, Any]:
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


def jobs(name: str) -> dict[str, Callable[[], Any]]:
    """Return what is timed at one size."""
    n_metrics, n_runs, n_topics, trials = SIZES[name]
    random = np.random.default_rng(1)
    scores = random.beta(1.2, 2.0, (n_metrics, n_runs, n_topics)) * random.beta(
        4, 3, (n_metrics, n_runs, 1)
    )
    runs, topics = [f"r{k:04d}" for k in range(n_runs)], [f"{k:03d}" for k in range(n_topics)]
    metrics = [parse_metric(text) for text in METRICS[:n_metrics]]
    cube = cube_dataset(scores[:, np.newaxis], metrics, ["auto"], runs, topics)
    units = np.ascontiguousarray(scores.reshape(-1, n_topics).T)

    def ours() -> Any:
        return sc.analyse(cube, PUBLISHED, trials=trials, seed=1, workers=1)

    def draws() -> Any:
        key = stream_key(1, Purpose.SWAP_TOPICS)
        return multiplicities(
            topic_samples(key, int(Sampling.REPLACEMENT), n_topics, n_topics, 0, trials), n_topics
        ).reshape(-1, n_topics)

    counts = draws()

    def products() -> Any:
        with one_blas_thread():
            return counts @ units

    matrices = np.ones(PASS_BYTES // 8)
    return {
        "ours": ours, "numpy": lambda: numpy_swap(scores, n_topics, trials, 1), "draws": draws,
        "products": products, "pass": lambda: matrices.sum(),
    }  # fmt: skip


def measure(name: str) -> list[Times]:
    """Time everything in turn, several times."""
    work = jobs(name)
    work["ours"]()
    return [{key: seconds(job) for key, job in work.items()} for _ in range(REPEATS)]


def ratios(turns: list[Times], above: str, below: str, factor: float = 1.0) -> str:
    """Return the median and the range of a ratio."""
    found = sorted(factor * turn[above] / turn[below] for turn in turns)
    return f"{statistics.median(found):.3g} [{found[0]:.3g}..{found[-1]:.3g}]"


def main() -> None:
    """Print time per comparison at each size, then one line per goal: what was found, what is good, what would be better."""
    turns, comparisons = {}, {}
    print("size    comparisons  ours ns/cmp  numpy ns/cmp  (best of all turns)")
    for name, (n_metrics, n_runs, _, trials) in SIZES.items():
        turns[name] = measure(name)
        comparisons[name] = n_metrics * n_runs * (n_runs - 1) // 2 * trials
        best = {
            key: min(turn[key] for turn in turns[name]) * 1e9 / comparisons[name]
            for key in ("ours", "numpy")
        }
        print(f"{name:7} {comparisons[name]:11,}  {best['ours']:11.2f}  {best['numpy']:12.1f}")
    speed = {
        name: f"{comparisons[name] / min(turn['ours'] for turn in turns[name]) / 1e9:.2f}"
        for name in ("medium", "large")
    }
    large, whole = turns["large"], SIZES["large"]
    # The pass is over the means of 10,000 trials.
    passes = 10_000 / whole[3]
    rows = [
        ("S1", "large, 10^9 comparisons a second (best)", speed["large"], ">= 2", ">= 4"),
        ("S2", "medium, 10^9 comparisons a second (best)", speed["medium"], ">= 0.4", ">= 0.8"),
        (
            "S3",
            "large / its two matrix products",
            ratios(large, "ours", "products"),
            "<= 12",
            "<= 5",
        ),
        (
            "S3b",
            "large / one pass over its means",
            ratios(large, "ours", "pass", passes),
            "<= 170",
            "<= 70",
        ),
        ("S4", "numpy / small", ratios(turns["small"], "numpy", "ours"), ">= 20", ">= 40"),
        ("S4", "numpy / medium", ratios(turns["medium"], "numpy", "ours"), ">= 8", ">= 18"),
        ("S4", "numpy / large", ratios(large, "numpy", "ours"), ">= 40", ">= 100"),
        ("R1", "draws / medium, %", ratios(turns["medium"], "draws", "ours", 100), "< 2", ""),
    ]
    print(
        "\ngoal  what                                      median [min..max]       good    stretch"
    )
    for row, what, found, good, stretch in rows:
        print(f"{row:5} {what:41} {found:23} {good:7} {stretch}")

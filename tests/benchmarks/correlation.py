"""Kendall's tau of resampled rankings through the public API against SciPy, one pair of rankings after the other (row K1).

Both are timed in turn, and ratios are taken inside each turn: machines drift, ratios hold. Everything runs on one core. Ours draws topics, sums
them up, orders the runs and counts all coefficients of all pairs of metrics; SciPy's time is that of `kendalltau` alone, of given means. The estimates
over infinitely many topics, which take a fixed time for each pair of metrics whatever the number of trials, are left out, and timed by themselves.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import kendalltau

import scorecube as sc
from scorecube.collection.evaluation import cube_dataset
from scorecube.kernels.rank.concordance import compare
from scorecube.metrics import parse_metric

METRICS = ("AP", "Q", "P+", "O", "P-measure", "RR", "NWRR", "nDCG@10", "nERR@10", "P@10")
TOPICS = 50
SIZES = {30: (20_000, 1500, 3000), 130: (5_000, 250, 700), 1000: (1_000, 25, 60)}
"""Runs -> trials, good ratio, stretch."""
TURNS, SCIPY_CALLS = 9, 60


def seconds(work: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(n_runs: int) -> tuple[list[tuple[float, float, float]], float]:
    """Return microseconds a tau: through the API, in the kernel with sorting, and SciPy's, several turns; and seconds of the other estimates."""
    trials = SIZES[n_runs][0]
    random = np.random.default_rng(1)
    scores = random.beta(1.2, 2.0, (len(METRICS), n_runs, TOPICS)) * random.beta(
        4, 3, (1, n_runs, 1)
    )
    metrics = [parse_metric(text) for text in METRICS]
    cube = cube_dataset(
        scores[:, np.newaxis],
        metrics,
        ["auto"],
        [f"r{k:04d}" for k in range(n_runs)],
        [f"{k:03d}" for k in range(TOPICS)],
    )
    first, second = np.triu_indices(len(METRICS), 1)
    taus = len(first) * trials
    some = np.rint(
        1e6 * scores.mean(axis=-1)[np.newaxis]
        + 1e4 * random.standard_normal((100, len(METRICS), n_runs))
    )
    means = scores.mean(axis=-1)

    def whole() -> Any:
        return sc.analyse(cube, sc.Correlation(), trials=trials, seed=1, workers=1)

    def ours() -> Any:
        with mock.patch(
            "scorecube.analyses.rank_agreement.population.refusal", return_value="left out"
        ):
            return whole()

    def kernel() -> Any:
        return compare(some, np.zeros(len(METRICS)), first, second)

    def theirs() -> None:
        for k in range(SCIPY_CALLS):
            kendalltau(means[first[k % len(first)]], means[second[k % len(first)]])

    ours()
    turns = [
        (seconds(ours) * 1e6 / taus, seconds(kernel) * 1e6 / (len(first) * len(some)), seconds(theirs) * 1e6 / SCIPY_CALLS)
        for _ in range(TURNS)
    ]  # fmt: skip
    return turns, seconds(whole) - min(turn[0] for turn in turns) * taus / 1e6


def main() -> None:
    """Print microseconds a tau and the ratio to SciPy at each size, beside what is good and what would be better."""
    print(
        "goal  runs  API us/tau  kernel us/tau  scipy us/tau  scipy / API, median [min..max]   good    stretch    infinitely many topics, s"
    )
    for n_runs, (_, good, stretch) in SIZES.items():
        turns, estimates = measure(n_runs)
        api, kernel, scipy = (min(turn[k] for turn in turns) for k in range(3))
        found = sorted(turn[2] / turn[0] for turn in turns)
        ratio = f"{statistics.median(found):,.0f} [{found[0]:,.0f}..{found[-1]:,.0f}]"
        print(
            f"K1    {n_runs:4}  {api:10.3f}  {kernel:13.3f}  {scipy:12.1f}  {ratio:32} >= {good:,}  >= {stretch:,}  {estimates:8.2f}"
        )

"""Tests of all pairs of runs through the public API, against what competent users write with NumPy, SciPy and arch.

All are timed in turn, and ratios are taken inside each turn: machines drift, ratios hold. Goals are those of the project's
performance notes (rows B1 to B5 and T1); everything runs on one core. Sizes are slices of the notes' sizes: medium has 2 of
10 metrics, large 160 of 1,000 runs (12,720 of 499,500 pairs). Of the slow peers a few pairs or trials are timed, and all
times are per pair and trial; the resamples of the first two are drawn beforehand.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

import scorecube as sc
from scorecube.collection.evaluation import cube_dataset
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.metrics import parse_metric
from tests.benchmarks.evaluate import installed, peak, seconds
from tests.benchmarks.swap import METRICS

SIZES = {"small": (7, 30, 50, 1000), "medium": (2, 130, 50, 10_000), "large": (1, 160, 250, 10_000)}
"""Metrics, runs, topics, trials."""
TUKEY_SIZES = {
    "plain": (1, 130, 50, 10_000),
    "shared": (10, 130, 50, 10_000),
    "large": (1, 160, 250, 10_000),
}
REPEATS = 5
TURN_SECONDS = 0.4
"""About as long each slow peer may take in a turn."""
PROBE = 3
PEAK_SIZE = 1500
ALPHAS = (0.05, 0.01)
TILE = 128

Array = np.ndarray[Any, Any]
Work = Callable[[int], Any]
Times = dict[str, float]


def make_cube(n_metrics: int, n_runs: int, n_topics: int) -> xr.Dataset:
    """Return scores that differ between runs and topics."""
    random = np.random.default_rng(1)
    scores = random.beta(1.2, 2.0, (n_metrics, n_runs, n_topics)) * random.beta(
        4, 3, (n_metrics, n_runs, 1)
    )
    runs, topics = [f"r{k:04d}" for k in range(n_runs)], [f"{k:03d}" for k in range(n_topics)]
    return cube_dataset(
        scores[:, np.newaxis],
        [parse_metric(text) for text in METRICS[:n_metrics]],
        ["auto"],
        runs,
        topics,
    )


def t_statistics(values: Array, axis: int = -1) -> Array:
    """Return |t| of samples along an axis."""
    mean, spread = values.mean(axis=axis), values.std(axis=axis, ddof=1)
    return np.asarray(np.abs(mean) * math.sqrt(values.shape[axis]) / spread)


def ranks(trials: int) -> list[int]:
    """Return the ranks of the replicates that bound the levels."""
    return [math.ceil(alpha * trials) for alpha in ALPHAS]


def numpy_loop(scores: Array, trials: int) -> Work:
    """Return what tests some pairs, one after the other: gather, t, count, sort."""
    n = scores.shape[1]
    first, second = np.triu_indices(len(scores), 1)

    samples = np.random.default_rng(1).integers(0, n, (trials, n))

    def work(pairs: int) -> Any:
        for a, b in zip(first[:pairs], second[:pairs], strict=True):
            z = scores[a] - scores[b]
            drawn = (z - z.mean())[samples]
            mean = drawn.mean(axis=1)
            t = np.abs(mean) * math.sqrt(n) / drawn.std(axis=1, ddof=1)
            order = np.argsort(-t)
            yield_of = (
                (t >= t_statistics(z)).sum(),
                [abs(mean[order[rank - 1]]) for rank in ranks(trials)],
            )
        return yield_of

    return work


def two_products(scores: Array, trials: int) -> Work:
    """Return what tests some pairs in tiles: sums and sums of squares of all resamples by two matrix products."""
    n = scores.shape[1]
    first, second = np.triu_indices(len(scores), 1)
    above = [trials - rank for rank in ranks(trials)]

    samples = np.random.default_rng(1).integers(0, n, (trials, n))
    counts = np.zeros((n, trials))
    np.add.at(counts, (samples, np.arange(trials)[:, np.newaxis]), 1.0)

    def work(pairs: int) -> Any:
        for low in range(0, pairs, TILE):
            part = slice(low, min(low + TILE, pairs))
            z = scores[first[part]] - scores[second[part]]
            w = z - z.mean(axis=1, keepdims=True)
            sums, squares = w @ counts, (w * w) @ counts
            t = np.abs(sums) / np.sqrt((squares - sums * sums / n) / (n - 1) * n)
            reached = (t >= t_statistics(z)[:, np.newaxis]).sum(axis=1)
            kth = (
                np.abs(
                    np.take_along_axis(sums, np.argpartition(t, above, axis=1)[:, above], axis=1)
                )
                / n
            )
        return reached, kth

    return work


def monte_carlo(scores: Array, trials: int) -> Work:
    """Return what tests some pairs with scipy.stats.monte_carlo_test and a vectorised statistic."""

    def work(pairs: int) -> Any:
        random = np.random.default_rng(1)
        for k in range(pairs):
            z = scores[0] - scores[k + 1]
            drawing = partial(random.choice, z - z.mean())
            found = stats.monte_carlo_test(
                z, drawing, t_statistics, n_resamples=trials, alternative="greater"
            )
        return found.pvalue

    return work


def permutation(scores: Array, trials: int) -> Work:
    """Return what tests some pairs with scipy.stats.permutation_test and a vectorised statistic."""

    def difference(x: Array, y: Array, axis: int) -> Any:
        return (x - y).mean(axis=axis)

    def work(pairs: int) -> Any:
        for k in range(pairs):
            found = stats.permutation_test(
                (scores[0], scores[k + 1]),
                difference,
                permutation_type="samples",
                n_resamples=trials,
                vectorized=True,
            )
        return found.pvalue

    return work


def with_arch(scores: Array, trials: int) -> Work | None:
    """Return what tests some pairs with arch's bootstrap; None if it is not installed."""
    if not installed("arch"):
        return None
    from arch.bootstrap import IIDBootstrap

    def work(pairs: int) -> Any:
        for k in range(pairs):
            z = scores[0] - scores[k + 1]
            replicates = IIDBootstrap(z - z.mean(), seed=1).apply(t_statistics, trials)
        return (replicates >= t_statistics(z)).mean()

    return work


def permuted(scores: Array) -> Work:
    """Return what draws some trials of the Tukey test: runs permuted within topics, range of their means."""
    by_topic = np.ascontiguousarray(scores.T)

    def work(trials: int) -> Any:
        random = np.random.default_rng(1)
        return [np.ptp(random.permuted(by_topic, axis=1).mean(axis=0)) for _ in range(trials)]

    return work


class Turns:
    """Jobs that are timed in turn, in nanoseconds per elementary step.

    `add` takes what is done once a turn and how many steps that is; `add_some` takes what can do any number of parts, each of
    so many steps, and finds out how many fit into a turn.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, tuple[Callable[[], Any], float]] = {}
        self.parts: dict[str, int] = {}
        self.turns: list[Times] = []

    def add(self, name: str, job: Callable[[], Any], steps: float) -> None:
        job()
        self.jobs[name] = job, steps

    def add_some(self, name: str, work: Work | None, steps: float, most: int) -> None:
        if work is None:
            return
        few = min(most, PROBE)
        with one_blas_thread():
            work(few)
            each = seconds(lambda: work(few)) / few
        parts = self.parts[name] = max(1, min(most, int(TURN_SECONDS / each)))
        self.jobs[name] = (lambda: work(parts)), parts * steps

    def measure(self) -> None:
        with one_blas_thread():
            for _ in range(REPEATS):
                self.turns.append(
                    {name: seconds(job) * 1e9 / steps for name, (job, steps) in self.jobs.items()}
                )

    def ratio(self, above: str, below: str, factor: float = 1.0) -> str:
        """Return the median and the range of a ratio."""
        if above not in self.jobs:
            return "not installed"
        return spread([factor * turn[above] / turn[below] for turn in self.turns])


def spread(found: Sequence[float]) -> str:
    """Return median [min..max]."""
    return f"{statistics.median(found):.3g} [{min(found):.3g}..{max(found):.3g}]"


def analysing(cube: xr.Dataset, analysis: Any, trials: int) -> Callable[[], Any]:
    """Return one whole analysis on one core."""
    return lambda: sc.analyse(cube, analysis, trials=trials, seed=1, workers=1)


def add_pair_tests(turns: Turns, size: str) -> None:
    """Add ours and the peers at one size; a step is a pair and trial of one metric."""
    n_metrics, n_runs, n_topics, trials = SIZES[size]
    cube, pairs = make_cube(n_metrics, n_runs, n_topics), n_runs * (n_runs - 1) // 2
    scores = cube["score"].values[0, 0]
    test = sc.Bootstrap(alphas=ALPHAS)
    turns.add(f"double {size}", analysing(cube, test, trials), n_metrics * pairs * trials)
    turns.add_some(f"loop {size}", numpy_loop(scores, trials), trials, pairs)
    turns.add_some(f"products {size}", two_products(scores, trials), trials, min(pairs, 8 * TILE))
    if size != "small":
        turns.add_some(f"monte_carlo {size}", monte_carlo(scores, trials), trials, n_runs - 1)
    if size == "medium":
        turns.add_some("arch medium", with_arch(scores, trials), trials, n_runs - 1)
        turns.add(
            "signs",
            analysing(cube, sc.Randomisation(alphas=ALPHAS), trials),
            n_metrics * pairs * trials,
        )
        turns.add_some("permutation", permutation(scores, trials), trials, n_runs - 1)


def add_tukey(turns: Turns) -> None:
    """Add ours and NumPy's Tukey tests; a step is a run, topic and trial of one metric."""
    for name, (n_metrics, n_runs, n_topics, trials) in TUKEY_SIZES.items():
        cube, places = make_cube(n_metrics, n_runs, n_topics), n_runs * n_topics
        turns.add(f"tukey {name}", analysing(cube, sc.Tukey(), trials), n_metrics * places * trials)
        if name != "shared":
            turns.add_some(f"permuted {name}", permuted(cube["score"].values[0, 0]), places, trials)


def add_peak(turns: Turns) -> None:
    """Add a large matrix product; a step is a floating-point operation."""
    matrix = np.random.default_rng(1).random((PEAK_SIZE, PEAK_SIZE))
    out = np.empty_like(matrix)
    turns.add("peak", lambda: np.matmul(matrix, matrix, out=out), 2 * PEAK_SIZE**3)


def print_memory() -> None:
    """Print the peak above that of a tiny job with the same compiled code; for a process of its own."""
    _, n_runs, n_topics, trials = SIZES["large"]
    test = sc.Bootstrap(alphas=ALPHAS)
    analysing(make_cube(1, 4, n_topics), test, 100)()
    cube, before = make_cube(1, n_runs, n_topics), peak()
    analysing(cube, test, trials)()
    print(f"{peak() - before:.0f}")


def memory() -> str:
    """Return the peak memory of the large slice in MB."""
    command = [
        sys.executable,
        "-c",
        "from tests.benchmarks.pairs import print_memory; print_memory()",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def print_times(turns: Turns) -> None:
    """Print nanoseconds, and what they are of."""
    print(f"{'job':20} ns per pair (run and topic) and trial of one metric: median [min..max]")
    for name in turns.jobs:
        timed = f"  {turns.parts[name]} a turn" if name in turns.parts else ""
        print(f"{name:20} {spread([turn[name] for turn in turns.turns]):>28}{timed}")


def print_goals(turns: Turns, megabytes: str) -> None:
    """Print one line per goal: what was found, what is good, what would be better."""

    def share(size: str) -> str:
        return turns.ratio("peak", f"double {size}", 100 * 2 * SIZES[size][2])

    rows = [
        ("B1", "useful flops / dgemm peak, medium, double, %", share("medium"), ">= 25", ">= 45"),
        ("B2", "useful flops / dgemm peak, large, double, %", share("large"), ">= 55", ">= 75"),
    ]
    for size, good, stretch in (("small", 80, 150), ("medium", 85, 180), ("large", 150, 350)):
        found = turns.ratio(f"loop {size}", f"double {size}")
        rows.append(
            ("B3", f"numpy pair by pair / bootstrap, {size}", found, f">= {good}", f">= {stretch}")
        )
    for size, least in (("small", "3.5"), ("medium", "4"), ("large", "4")):
        found = turns.ratio(f"products {size}", f"double {size}")
        rows.append(
            (
                "B3b",
                f"two products and argpartition / bootstrap, {size}",
                found,
                f">= {least}",
                ">= 6",
            )
        )
    for size, good, stretch in (("medium", 100, 250), ("large", 200, 500)):
        found = turns.ratio(f"monte_carlo {size}", f"double {size}")
        rows.append(
            (
                "B4",
                f"scipy monte_carlo_test / bootstrap, {size}",
                found,
                f">= {good}",
                f">= {stretch}",
            )
        )
    rows += [
        (
            "B4b",
            "arch IIDBootstrap / bootstrap, medium",
            turns.ratio("arch medium", "double medium"),
            ">= 3000",
            "",
        ),
        (
            "",
            "scipy permutation_test / randomisation, medium",
            turns.ratio("permutation", "signs"),
            "",
            "",
        ),
        ("B5", "MB above imports and compiling, large", megabytes, "<= 200", "<= 130"),
        (
            "T1",
            "rng.permuted / Tukey, medium, plain",
            turns.ratio("permuted plain", "tukey plain"),
            ">= 6",
            ">= 15",
        ),
        (
            "T1",
            "the same, shared by 10 metrics",
            turns.ratio("permuted plain", "tukey shared"),
            ">= 12",
            ">= 30",
        ),
        (
            "T1",
            "rng.permuted / Tukey, large, plain",
            turns.ratio("permuted large", "tukey large"),
            ">= 6",
            ">= 15",
        ),
    ]
    print(f"\n{'goal':5} {'what':48} {'median [min..max]':24} {'good':8} stretch")
    for row, what, found, good_text, stretch_text in rows:
        print(f"{row:5} {what:48} {found:24} {good_text:8} {stretch_text}")


def main() -> None:
    """Print the tables."""
    turns, start = Turns(), time.perf_counter()
    add_peak(turns)
    for size in SIZES:
        add_pair_tests(turns, size)
    add_tukey(turns)
    turns.measure()
    print_times(turns)
    print_goals(turns, memory())
    print(f"\n{REPEATS} turns, {time.perf_counter() - start:.0f} s in all")

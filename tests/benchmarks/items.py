"""Many items: a leaderboard of 200,000 items, comparisons of stored scores of a million, and a board of many collections beside plain NumPy.

Commands run in processes of their own; time is that of all processors together, which other work on the machine changes little.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.collection.evaluation import cube_dataset
from scorecube.execute.executor import Executor
from scorecube.execute.run import run
from scorecube.metrics import parse_metric

RUNS, ITEMS, PARTS = 100, 1_000_000, 10
"""Of the stored scores, and collections of the board."""
DEFAULT_RUNS, DEFAULT_ITEMS, SECONDS_BEFORE = 50, 200_000, 192
"""Of the leaderboard by default, and what it took on items instead of bags; at most a twentieth is meant."""
MANY, SYSTEMS, QUESTIONS = 60, 200, 500
"""Collections, systems and items of the board beside NumPy."""
TRIALS, AT_ONCE = 10_000, 100


def scores(n_runs: int, n_items: int, seed: int = 1) -> xr.Dataset:
    """Return scores 0 and 1 under one metric, and of many digits under another."""
    chance, values = np.random.default_rng(seed), np.empty((2, 1, n_runs, n_items))
    common = chance.random(n_items)
    for k in range(n_runs):
        values[0, 0, k] = chance.random(n_items) < 0.3 + 0.4 * common + 0.2 * k / n_runs
        values[1, 0, k] = (common + chance.random(n_items) + 0.05 * k / n_runs) / 2.05
    runs, items = ([f"{k:07d}" for k in range(n)] for n in (n_runs, n_items))
    metrics = [parse_metric(name) for name in ("P@1", "AP")]
    return cube_dataset(values, metrics, ["auto"], runs, items)


def store(path: str, count: int, n_runs: int = RUNS, n_items: int = ITEMS) -> None:
    """Store so many collections that have all items together."""
    study = sc.open_study(path, mode="a")
    for part in range(count):
        study.add(f"c{part}", cube=scores(n_runs, n_items // count, part))


def measured(*words: str) -> str:
    """Return the time and memory of a command."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "scorecube", *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 3, 4), words  # the gate need not pass
    seconds = used.ru_utime + used.ru_stime
    return f"{seconds:5.1f} s of processors, {time.perf_counter() - start:5.1f} s by the clock, {used.ru_maxrss / 1e6:.2f} GB"


def stored() -> None:
    """Print what commands take on stored scores."""
    with tempfile.TemporaryDirectory() as folder:
        one, many, fifty = (str(Path(folder, f"{name}.zarr")) for name in ("one", "many", "fifty"))
        sizes = {one: (1,), many: (PARTS,), fifty: (1, DEFAULT_RUNS, DEFAULT_ITEMS)}
        for path, numbers in sizes.items():
            # By a process of its own: the largest size of a command includes that of the process that starts it.
            make = f"from tests.benchmarks import items; items.store({path!r}, *{numbers})"
            subprocess.run([sys.executable, "-c", make], check=True)
        drawn = ("--seed", "1")
        runs = ("--run", f"{RUNS - 1:07d}", "--baseline", f"{RUNS - 2:07d}", "--margin", "0.01")
        for name, words in {
            f"{DEFAULT_RUNS} x {DEFAULT_ITEMS:,}": ("leaderboard", fifty, *drawn),
            "leaderboard": ("leaderboard", one, *drawn),
            "maxt": ("maxt", one, *drawn),
            f"board of {PARTS} collections": ("board", many, *drawn),
            "gate": ("gate", one, *runs),
            f"gate, {PARTS} collections": ("gate", many, *runs),
        }.items():
            print(f"  {name:<24}{measured(*words)}", flush=True)


def plain(parts: Sequence[Any], trials: int) -> Any:
    """Return the largest |t| of each trial over all pairs of the mean over collections, as NumPy has it."""
    weight = 1 / len(parts)
    covariance = sum(weight**2 * np.cov(part) / part.shape[1] for part in parts)
    first, second = np.triu_indices(len(covariance), 1)
    variances = covariance.diagonal()
    errors = np.sqrt(variances[first] + variances[second] - 2 * covariance[first, second])
    drawn = np.linalg.cholesky(covariance) @ np.random.default_rng(1).standard_normal((len(covariance), trials))  # fmt: skip
    largest = np.empty(trials)
    for low in range(0, trials, AT_ONCE):
        some = drawn[:, low : low + AT_ONCE]
        largest[low : low + AT_ONCE] = (np.abs(some[first] - some[second]) / errors[:, np.newaxis]).max(axis=0)  # fmt: skip
    return largest


def beside_numpy() -> None:
    """Print the time of a board beside that of its largest statistics in plain NumPy."""
    cubes = {f"c{k:02d}": scores(SYSTEMS, QUESTIONS, k).isel(metric=[1]) for k in range(MANY)}
    analysis, joined = sc.Board(), sc.join_collections(cubes)
    run(make_plan(joined.isel(run=slice(9)), analysis, trials=9, seed=1))  # loads kernels
    parts = [cube["score"].values[0, 0] for cube in cubes.values()]
    work: dict[str, Callable[[], object]] = {
        "board": lambda: run(make_plan(joined, analysis, trials=TRIALS, seed=1), Executor(workers=2)),
        "NumPy": lambda: plain(parts, TRIALS),
    }  # fmt: skip
    for name, do in work.items():
        start, clock = time.process_time(), time.perf_counter()
        do()
        print(f"  {name:<24}{time.process_time() - start:5.1f} s of processors, {time.perf_counter() - clock:5.1f} s by the clock", flush=True)  # fmt: skip


def main() -> None:
    """Print both."""
    print(
        f"items: {DEFAULT_RUNS} runs x {DEFAULT_ITEMS:,} items x 2 metrics took {SECONDS_BEFORE} s by items"
    )
    print(f"items: {RUNS} runs x {ITEMS:,} items x 2 metrics, stored, {TRIALS:,} trials")
    stored()
    print(f"items: a board of {MANY} collections x {SYSTEMS} systems x {QUESTIONS} items, {TRIALS:,} trials")  # fmt: skip
    beside_numpy()

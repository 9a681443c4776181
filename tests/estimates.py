"""Announced and measured time and memory of all analyses over a grid of sizes: ``python -m tests.estimates [ANALYSIS ...]``.

Each size is computed by a process of its own, with 2 workers and within `LIMIT`, with as many trials as are announced to take at most `SECONDS`.
Time is that of all processors together, which other work on the machine changes little, without that of making the scores, planning and storing.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from scorecube.analyses import registry
from scorecube.analyses.plan import PreparedPlan, make_plan
from scorecube.collection.evaluation import cube_dataset
from scorecube.collection.judgement_sets import judgement_sets, many_judgement_sets
from scorecube.collection.rankings import with_rankings
from scorecube.errors import BadPlan
from scorecube.execute.estimate import Estimate, estimate
from scorecube.execute.executor import Executor
from scorecube.execute.memory import release_memory
from scorecube.execute.run import run
from scorecube.metrics.registry import parse_metric
from scorecube.testing import simulate_rankings
from scorecube.workflow.api import evaluate

LIMIT = 2 * 10**9
WORKERS = 2
SECONDS = 3.0
ONCE = 5
"""The fewest trials may take so many times `SECONDS`, for what all trials need once."""
PATIENCE = 90
"""Processor seconds after which a process is ended, whatever was announced; other work on the machine does not count."""
LEAST_SECONDS = 0.5
"""Shorter work is not compared: starting threads and loading libraries takes a part of it."""
WITHIN = 3.0
"""Largest factor between announced and measured time."""
TRIALS = (3, *(k * 10**j for j in range(1, 6) for k in (1, 3)), 10**6)
SIZES = (
    (10, 10, 1),
    (10, 10, 300),
    (10, 1000, 20),
    (10, 100_000, 1),
    (10, 1_000_000, 1),
    (30, 50, 10),
    (30, 50, 60),
    (30, 50, 300),
    (100, 50, 5),
    (100, 1000, 5),
    (100, 10_000, 1),
    (300, 25, 10),
    (1000, 50, 2),
    (1000, 1000, 1),
    (4000, 10, 1),
    (4000, 50, 1),
)
"""Runs, topics and metrics."""
OF_RANKINGS = ((10, 10, 2), (10, 1000, 2), (30, 50, 10), (30, 50, 60), (100, 50, 5), (300, 50, 2))
"""The same for analyses that need rankings, which take long to make."""
OF_SIMULATIONS = (
    (10, 10, 1),
    (10, 10, 10),
    (10, 50, 20),
    (10, 300, 3),
    (10, 1000, 1),
    (10, 1000, 20),
    (10, 10_000, 1),
    (30, 25, 3),
    (30, 50, 1),
    (30, 50, 10),
    (30, 200, 2),
    (50, 50, 2),
    (100, 25, 1),
    (100, 50, 1),
    (100, 50, 5),
)
"""The same for analyses that repeat experiments on simulated collections, which take thousands of times as long as one."""


@dataclass(frozen=True)
class Size:
    """Numbers of runs, topics and metrics."""

    n_runs: int
    n_topics: int
    n_metrics: int

    def __str__(self) -> str:
        return f"{self.n_runs:,} x {self.n_topics:,} x {self.n_metrics:,}"


@dataclass(frozen=True)
class Found:
    """Announced and measured work of one size, in seconds and bytes; a reason if nothing was computed.

    The announced memory and the limit are of the whole process.
    """

    analysis: str
    size: Size
    trials: int = 0
    announced: float = 0.0
    measured: float = 0.0
    announced_bytes: float = 0.0
    measured_bytes: float = 0.0
    reason: str = ""

    @property
    def factor(self) -> float:
        """Measured by announced time; 1 for short work."""
        if self.reason or max(self.announced, self.measured) < LEAST_SECONDS:
            return 1.0
        return self.measured / self.announced

    @property
    def off(self) -> float:
        """Factor between announced and measured time, at least 1."""
        return max(self.factor, 1 / self.factor)

    def line(self) -> str:
        """Return one line of the log."""
        if self.reason:
            return f"{self.analysis} {self.size}: {self.reason}"
        return (
            f"{self.analysis} {self.size}, {self.trials:,} trials: {self.measured:.2f} s of {self.announced:.2f} ({self.factor:.2f}), "
            f"{self.measured_bytes / 1e6:,.0f} MB of {self.announced_bytes / 1e6:,.0f}"
        )


def scores(size: Size, seed: int = 1) -> xr.Dataset:
    """Return scores of four decimals that differ between runs and topics; the seed changes them a little."""
    random = np.random.default_rng(1)
    shape = (size.n_metrics, size.n_runs, size.n_topics)
    values = random.beta(1.2, 2.0, (1, *shape[1:])) * random.beta(4, 3, (1, size.n_runs, 1))
    values = values + 0.1 * np.random.default_rng(seed).random(shape)
    return cube_dataset(
        (values / 1.1).round(4)[:, np.newaxis],
        [parse_metric(f"P@{k + 1}") for k in range(size.n_metrics)],
        ["auto"],
        [f"r{k:04d}" for k in range(size.n_runs)],
        [str(k) for k in range(size.n_topics)],
    )


def made(name: str) -> Any:
    """Return the analysis of a name such as swap, or leaderboard-gaussian with its resampling."""
    name, _, resampling = name.partition("-")
    return registry.load(name)(**({"resampling": resampling} if resampling else {}))


def subject(name: str, size: Size) -> xr.Dataset:
    """Return the cube that an analysis takes."""
    if made(name).uses_rankings:
        judged = 1 + np.random.default_rng(4).poisson([20, 10, 5], (size.n_topics, 3))
        rankings = simulate_rankings(
            judged,
            topics=[f"{k:04d}" for k in range(size.n_topics)],
            n_runs=size.n_runs,
            n_teams=max(size.n_runs // 3, 3),
            depth=100,
            seed=7,
        )
        metrics = [f"nDCG@{k + 1}" for k in range(size.n_metrics)]
        return with_rankings(evaluate(rankings, metrics, ["3:2:1"]), rankings)
    if name == "agreement":
        return judgement_sets(scores(size, 1), scores(size, 2))
    if name == "judges":
        return many_judgement_sets(
            {"truth": scores(size, 1), "a": scores(size, 2), "b": scores(size, 3)}
        )
    return scores(size)


def plan_that_fits(
    name: str, cube: xr.Dataset, seconds: float = SECONDS
) -> tuple[PreparedPlan, Estimate]:
    """Return the plan with most trials that is announced to fit, and its estimate.

    Raises
    ------
    BadPlan
        There is none.
    """
    analysis, fitting = made(name), None
    for trials in TRIALS if analysis.resamples else (1,):
        plan = make_plan(cube, analysis, trials=trials, seed=1)
        release_memory()
        try:
            found = estimate(plan, WORKERS, memory=LIMIT)
            if found.work > seconds * (1 if fitting else ONCE):
                raise BadPlan(f"announced to take {found.work:.0f} s")
        except BadPlan:
            if fitting is None:
                raise
            break
        fitting = plan, found
    assert fitting is not None
    return fitting


def measure(name: str, size: Size, seconds: float) -> Found:
    """Compute the plan that fits, in this process."""
    try:
        small, _ = plan_that_fits(name, subject(name, Size(12, 12, 2)))
        run(small, Executor(workers=WORKERS))  # loads kernels and libraries
        plan, expected = plan_that_fits(name, subject(name, size), seconds)
    except BadPlan as error:
        return Found(name, size, reason=str(error))
    Path("/proc/self/clear_refs").write_text("5")  # the largest size begins anew
    start = time.process_time()
    run(plan, Executor(workers=WORKERS, memory=LIMIT))
    measured = time.process_time() - start
    return Found(
        name,
        size,
        plan.plan.trials,
        expected.work,
        measured,
        expected.memory.peak(expected.block_units),
        peak_bytes(),
    )


def peak_bytes() -> float:
    """Return the largest resident size of this process."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def measured(name: str, size: Size, seconds: float = SECONDS) -> Found:
    """Return what a new process measures."""
    numbers = map(str, (seconds, *asdict(size).values()))
    command = [sys.executable, "-m", "tests.estimates", "--one", name, *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return Found(name, size, announced=seconds, measured=PATIENCE, announced_bytes=LIMIT)
    if done.returncode:
        return Found(name, size, reason=f"FAILED: {done.stderr.splitlines()[-1]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return Found(**found | {"size": Size(**found["size"])})


def sizes_of(name: str) -> list[Size]:
    """Return the grid of an analysis."""
    grid: Sequence[tuple[int, int, int]] = OF_RANKINGS if made(name).uses_rankings else SIZES
    if name in ("errors", "check"):
        grid = OF_SIMULATIONS
    least = 2 if name == "correlate" else 1
    return [Size(runs, topics, max(metrics, least)) for runs, topics, metrics in grid]


def table(found: Sequence[Found]) -> list[str]:
    """Return a Markdown table of the worst size of each analysis."""
    rows = [
        "| analysis | sizes | time: measured / announced | at runs x topics x metrics, trials | memory: measured / announced | largest |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(each.analysis for each in found):
        own = [each for each in found if each.analysis == name and not each.reason]
        worst = max(own, key=lambda each: each.off)
        memory = max(own, key=lambda each: each.measured_bytes / each.announced_bytes)
        where = f"{worst.size}, {worst.trials:,}" if worst.off > 1 else ""
        rows.append(
            f"| `{name}` | {len(own)} | {worst.factor:.2f} | {where} | "
            f"{memory.measured_bytes / memory.announced_bytes:.2f} | {max(each.measured_bytes for each in own) / 1e6:,.0f} MB |"
        )
    return rows


def main(words: Sequence[str]) -> None:
    """Print each size as it is measured, and the table."""
    if words and words[0] == "--one":
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 5))
        size = Size(*map(int, words[3:]))
        print(json.dumps(asdict(measure(words[1], size, float(words[2])))))
        return
    found: list[Any] = []
    for name in words or registry.names():
        for size in sizes_of(name):
            found.append(measured(name, size))
            print(found[-1].line(), file=sys.stderr, flush=True)
    print("\n".join(table(found)))


if __name__ == "__main__":
    main(sys.argv[1:])

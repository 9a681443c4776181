"""How processor time grows, as exponents: ``python -m tests.growth``; what is printed is docs/explanation/growth.csv.

Each analysis is run at four sizes of one thing, each twice the one before, and of the others at the middle; the
exponent is the slope of a line through the logarithms. Where it is below 1, what does not grow takes most of the time.
"""

from __future__ import annotations

import csv
import math
import statistics
import sys
import time
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import scorecube as sc

TURNS = 3


class Sizes(NamedTuple):
    """What an analysis is asked to do."""

    runs: int
    topics: int
    metrics: int
    trials: int


class Row(NamedTuple):
    """An analysis, and its sizes in the middle."""

    analysis: sc.Analysis
    middle: Sizes


ROWS = [
    Row(sc.Swap(), Sizes(100, 50, 2, 4000)),
    Row(sc.Stability(), Sizes(100, 50, 2, 2000)),
    Row(sc.Bootstrap(), Sizes(40, 50, 2, 10_000)),
    Row(sc.Randomisation(), Sizes(40, 50, 2, 10_000)),
    Row(sc.MaxT(), Sizes(100, 50, 2, 10_000)),
    Row(sc.Tukey(), Sizes(100, 50, 2, 10_000)),
    Row(sc.Leaderboard(), Sizes(100, 50, 2, 10_000)),
    Row(sc.Correlation(), Sizes(400, 50, 8, 2000)),
]


def cube(sizes: Sizes) -> xr.Dataset:
    """Return random scores, no two metrics of which are alike."""
    random = np.random.default_rng(1)
    shape = (sizes.metrics, sizes.runs, sizes.topics)
    labels = {
        "metric": [f"m{k}" for k in range(sizes.metrics)],
        "run": [f"r{k}" for k in range(sizes.runs)],
        "topic": [f"t{k}" for k in range(sizes.topics)],
    }
    scores = xr.DataArray(random.beta(1.2, 2.0, shape), labels, tuple(labels))
    return sc.cube_from_scores(scores, ranges=dict.fromkeys(labels["metric"], (0, 1)))


def seconds_of(analysis: sc.Analysis, sizes: Sizes) -> float:
    """Return the least processor time of some turns."""
    scores = cube(sizes)
    took: list[float] = []
    for seed in range(TURNS):
        start = time.process_time()
        sc.analyse(scores, analysis, trials=sizes.trials, seed=seed, workers=1, client=False)
        took.append(time.process_time() - start)
    return min(took)


def exponent(row: Row, name: str) -> str:
    """Return the slope over four sizes, and the least and the largest of single steps."""
    middle = getattr(row.middle, name)
    sizes = [int(middle * 2.0**k) for k in (-1, 0, 1, 2)]
    took = [seconds_of(row.analysis, row.middle._replace(**{name: size})) for size in sizes]
    slope = statistics.linear_regression(*map(logarithms, (sizes, took))).slope
    steps = [math.log2(later / earlier) for earlier, later in pairwise(took)]
    return f"{slope:.1f} ({min(steps):.1f} to {max(steps):.1f})"


def logarithms(values: Any) -> list[float]:
    """Return the logarithm of each value."""
    return [math.log(value) for value in values]


def main() -> None:
    """Print a row for each analysis."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["analysis", *Sizes._fields, "seconds in the middle"])
    for row in ROWS:
        took = seconds_of(row.analysis, row.middle)
        exponents = [exponent(row, name) for name in Sizes._fields]
        table.writerow([row.analysis.name, *exponents, f"{took:.2g}"])
        sys.stdout.flush()


if __name__ == "__main__":
    main()

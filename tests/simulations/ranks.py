"""Coverage of rank sets, sets of the best, and intervals of means: ``python -m tests.simulations.ranks DATA`` (half an hour).

The population of topics is that of a real collection, with the runs as they are; samples have 50 topics.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.workflow.api import analyse
from tests.simulations.families import AT_ONCE, cube_of, scores_of

N_TOPICS, TRIALS, MARKED = 50, 600, 0.93
COLLECTIONS = (
    "adhoc8/ap.csv", "adhoc8/p10.csv", "web2013/err20.csv", "robust2004/ap_249topics.csv", "adhoc7/rr.csv",
)  # fmt: skip
RUNS = (10, 40, 129)
COLUMNS = ("simultaneous", "best", "best 5", "mean", "mean t")
"""What must hold: all true ranks, all of the best and of the five best, and true means by both intervals."""


def coverage(population: Any, n_runs: int, replicates: int, seed: int = 11) -> dict[str, float]:
    """Return in what share of replicates the sets and intervals hold the truth.

    Parameters
    ----------
    population
        (run, topic): all topics there are.
    n_runs
        Number of runs, spread evenly over the order of means.
    replicates
        Samples of topics, a multiple of `AT_ONCE`.
    """
    order = np.argsort(-population.mean(axis=1), kind="stable")
    picked = order[np.unique(np.linspace(0, len(order) - 1, n_runs).astype(int))]
    population = population[picked]
    truth = population.mean(axis=1)
    low, high = true_ranks(truth)
    held: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for start in range(0, replicates, AT_ONCE):
        draws = []
        for k in range(start, start + AT_ONCE):
            chance = np.random.default_rng((seed, k))
            draws.append(population[:, chance.integers(0, population.shape[1], N_TOPICS)])
        cube = cube_of(draws)
        board = analyse(cube, sc.Leaderboard(), trials=TRIALS, seed=start + 1)
        held["simultaneous"] += holds(board, low, high).all(axis=1).tolist()
        for k, name in ((1, "best"), (5, "best 5")):
            found: Any = board["rank_low"].values[:, 0] <= k
            held[name] += found[:, low <= k].all(axis=1).tolist()
        for name, sides in (("mean", ("mean_low", "mean_high")), ("mean t", ("t_low", "t_high"))):
            below, above = (board[side].values[:, 0] for side in sides)
            held[name] += ((below <= truth) & (truth <= above)).mean(axis=1).tolist()
    return {name: float(np.mean(values)) for name, values in held.items()}


def true_ranks(truth: Any) -> tuple[Any, Any]:
    """Return the best and the worst rank of each run; runs with equal means share theirs."""
    equal = 1e-12
    larger = (truth > truth[:, np.newaxis] + equal).sum(axis=1)
    smaller = (truth < truth[:, np.newaxis] - equal).sum(axis=1)
    return 1 + larger, len(truth) - smaller


def holds(result: Any, low: Any, high: Any) -> Any:
    """Return whether each set holds the true ranks: bool (replicate, run)."""
    return (result["rank_low"].values[:, 0] <= low) & (result["rank_high"].values[:, 0] >= high)


def lines(data: Path, replicates: int) -> Iterator[str]:
    """Yield rows of the table."""
    for name in COLLECTIONS:
        population = scores_of(data / name)
        for n_runs in RUNS:
            if n_runs > max(len(population), RUNS[0]) * 1.2:
                continue
            n = min(n_runs, len(population))
            found = coverage(population, n, replicates)
            shown = [f"**{v:.3f}**" if v < MARKED else f"{v:.3f}" for v in found.values()]
            label = name.removesuffix(".csv").replace("/", " ")
            yield "| " + " | ".join([label, str(n), str(population.shape[1]), *shown]) + " |"


def main(data: str, replicates: int = 300) -> None:
    """Print the table."""
    logging.disable(logging.WARNING)
    headings = ["population", "runs", "topics there", *COLUMNS]
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for line in lines(Path(data), replicates):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

"""Error rates of comparisons of systems with repeated runs: ``python -m tests.simulations.repetitions DATA`` (about a quarter of an hour).

Systems do not differ: each has the centred scores of a real run, drawn with the topics, a normal effect of each repetition, whose standard deviation is a multiple
of that of the means of the collection's runs, and on each topic 0.3 of the interaction of another real run. The truth is the expected score of a
system over all topics and repetitions, the same for all systems.

``python -m tests.simulations.repetitions DATA pairs`` (some minutes) prints the rates of the t test of single pairs (`paired`), and of its test of equivalence for systems
whose expected scores differ by the margin.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import ttest_ind

import scorecube as sc
from scorecube.workflow.api import analyse, cube_from_scores
from tests.simulations.families import ALPHA, AT_ONCE, scores_of

N_TOPICS, TRIALS, INTERACTION, RESAMPLES = 50, 400, 0.3, 400
MARKED, MARKED_COVERAGE = 0.07, 0.93
MARGIN = 3.0
"""Margin of equivalence, in standard deviations of the difference of two systems' mean scores."""
COLLECTIONS = ("adhoc6/ap.csv", "web2013/ap.csv")
SYSTEMS = (2, 10)
RUNS = {
    "1": [1] * 10,
    "2": [2] * 10,
    "3": [3] * 10,
    "5": [5] * 10,
    "10": [10] * 10,
    "2 to 10": [2, 10, 3, 5, 2, 10, 3, 5, 2, 10],
}
"""Runs of each system."""
SPREADS = {"0": (0.0, 0.0), "0.2": (0.2, 0.0), "1": (1.0, 0.0), "1, unequal": (1.0, 1.0)}
"""Standard deviation of repetitions, as a multiple of that of systems, and whether the variances of systems go from 1 to e^4."""
OTHERS = ("averaged", "t over repetitions", "bootstrap of both")
"""Other ways, at a standard deviation of 1: the max-T test of scores averaged over repetitions, Welch's t test of the means of runs, and the interval of
resampled topics and repetitions (Owen 2007); the last two of two systems only."""


def simulated(scores: Any, runs: list[int], spread: tuple[float, float], chance: Any) -> list[Any]:
    """Return the scores (repetition, topic) of each system; all systems have the expected score 0."""
    means = scores.mean(axis=1, keepdims=True)
    effects = scores - means
    interactions = effects - effects.mean(axis=0)
    topics = chance.integers(0, scores.shape[1], N_TOPICS)
    picked = chance.choice(len(scores), len(runs), replace=False)
    sizes = np.exp(spread[1] * np.linspace(-1, 1, len(runs)))
    sizes *= spread[0] * means.std() / np.sqrt((sizes**2).mean())
    found = []
    for run, n, size in zip(picked, runs, sizes, strict=True):
        others = interactions[chance.integers(0, len(scores), n)][:, topics]
        shifts = size * chance.standard_normal((n, 1))
        found.append(effects[run][topics] + shifts + INTERACTION * others)
    return found


def cube_of(draws: list[list[Any]], *, averaged: bool = False) -> xr.Dataset:
    """Return replicates as metrics of one cube, with systems; or of their averaged scores."""
    runs = [f"s{j:02d}#{k:02d}" for j, each in enumerate(draws[0]) for k in range(len(each))]
    labels = [f"t{k:02d}" for k in range(N_TOPICS)]
    frames = {}
    for k, systems in enumerate(draws):
        if averaged:
            rows = np.stack([each.mean(axis=0) for each in systems])
            names = [f"s{j:02d}" for j in range(len(rows))]
        else:
            rows, names = np.concatenate(systems), runs
        frames[f"m{k:03d}"] = pd.DataFrame(rows, names, labels)
    if averaged:
        return cube_from_scores(frames)
    return cube_from_scores(frames, systems={run: run.partition("#")[0] for run in runs})


def errors_and_coverage(draws: list[list[Any]], seed: int) -> tuple[Any, Any]:
    """Return in which replicates a pair of systems is separated, and the share of intervals of means that hold 0."""
    board = analyse(cube_of(draws), sc.Leaderboard(by_system=True), trials=TRIALS, seed=seed)
    n = board.sizes["run"]
    decided = (board["rank_low"] > 1) | (board["rank_high"] < n)
    held = (board["mean_low"] <= 0) & (board["mean_high"] >= 0)
    return decided.any("run").values[:, 0], held.mean("run").values[:, 0]


def averaged_error(draws: list[list[Any]], seed: int) -> Any:
    """Return in which replicates the max-T test of averaged scores separates a pair."""
    result = analyse(
        cube_of(draws, averaged=True), sc.MaxT(alphas=(ALPHA,)), trials=TRIALS, seed=seed
    )
    return result["p_value"].values.min(axis=-1)[:, 0] < ALPHA


def welch_error(systems: list[Any], chance: Any) -> bool:
    """Whether Welch's t test of the means of runs separates two systems."""
    first, second = (each.mean(axis=1) for each in systems)
    return bool(ttest_ind(first, second, equal_var=False).pvalue < ALPHA)


def both_error(systems: list[Any], chance: Any) -> bool:
    """Whether the percentile interval of resampled topics and repetitions excludes 0."""
    weights = chance.multinomial(N_TOPICS, np.full(N_TOPICS, 1 / N_TOPICS), RESAMPLES) / N_TOPICS
    means = []
    for each in systems:
        drawn = chance.integers(0, len(each), (RESAMPLES, len(each)))
        means.append(np.take_along_axis(weights @ each.T, drawn, axis=1).mean(axis=1))
    low, high = np.quantile(means[0] - means[1], [ALPHA / 2, 1 - ALPHA / 2])
    return bool(low > 0 or high < 0)


def differing(draws: list[list[Any]], margin: float) -> list[list[Any]]:
    """Return replicates in which the expected score of the first system is larger by a margin, in every other one smaller."""
    return [
        [systems[0] + (margin if k % 2 else -margin), *systems[1:]]
        for k, systems in enumerate(draws)
    ]


def t_errors(draws: list[list[Any]]) -> Any:
    """Return the share of pairs that the t test separates, by replicate."""
    test = sc.Paired(tests=("t",), by_system=True, alphas=(ALPHA,))
    return analyse(cube_of(draws), test)["share"].values[:, 0, 0, 0]


def equivalence_errors(draws: list[list[Any]], margin: float) -> Any:
    """Return in which replicates the first two systems are called equivalent, whose expected scores differ by the margin."""
    test = sc.Paired(tests=("t",), by_system=True, alphas=(ALPHA,), equivalence=margin)
    result = analyse(cube_of(differing(draws, margin)), test)
    return result["equivalence_p_value"].values[:, 0, 0] < ALPHA


def pairs_row(scores: Any, runs: list[int], replicates: int) -> Iterator[str]:
    """Yield the numbers of a row of the second table: error rates by spread, and that of equivalence at a spread of 1."""
    for name, spread in SPREADS.items():
        errors, equivalent, margin = list[float](), list[bool](), 0.0
        for start in range(0, replicates, AT_ONCE):
            chances = [np.random.default_rng((17, k)) for k in range(start, start + AT_ONCE)]
            draws = [simulated(scores, runs, spread, chance) for chance in chances]
            errors += t_errors(draws).tolist()
            if name == "1" and len(runs) == 2:
                if start == 0:
                    found = [each[0].mean() - each[1].mean() for each in draws]
                    margin = MARGIN * float(np.std(found))
                equivalent += equivalence_errors(draws, margin).tolist()
        yield marked(float(np.mean(errors)))
        if name == "1":
            of_equivalence = marked(float(np.mean(equivalent))) if equivalent else ""
    yield of_equivalence


def row(scores: Any, runs: list[int], replicates: int) -> Iterator[str]:
    """Yield the numbers of a row: error rates by spread, those of other ways, and coverage."""
    covered = 0.0
    for name, spread in SPREADS.items():
        errors, held, others = list[bool](), list[float](), dict[str, list[bool]]()
        for start in range(0, replicates, AT_ONCE):
            chances = [np.random.default_rng((13, k)) for k in range(start, start + AT_ONCE)]
            draws = [simulated(scores, runs, spread, chance) for chance in chances]
            found, coverage = errors_and_coverage(draws, start + 1)
            errors += found.tolist()
            held += coverage.tolist()
            if name == "1":
                others.setdefault("averaged", []).extend(averaged_error(draws, start + 1))
            if name == "1" and len(runs) == 2:
                ways = [("bootstrap of both", both_error)]
                ways += [("t over repetitions", welch_error)] if min(runs) > 1 else []
                for way, test in ways:
                    pairs = zip(draws, chances, strict=True)
                    others.setdefault(way, []).extend(test(*each) for each in pairs)
        yield marked(float(np.mean(errors)))
        if name == "1":
            rates = [marked(float(np.mean(others[way]))) if way in others else "" for way in OTHERS]
            covered = float(np.mean(held))
    yield from rates
    yield f"**{covered:.3f}**" if covered < MARKED_COVERAGE else f"{covered:.3f}"


def marked(rate: float) -> str:
    """Return an error rate, bold above the limit."""
    return f"**{rate:.3f}**" if rate > MARKED else f"{rate:.3f}"


def lines(
    data: Path, replicates: int, numbers: Callable[[Any, list[int], int], Iterator[str]] = row
) -> Iterator[str]:
    """Yield rows of a table."""
    for name in COLLECTIONS:
        scores, label = scores_of(data / name), name.removesuffix(".csv").replace("/", " ")
        for n in SYSTEMS:
            for runs, counts in RUNS.items():
                cells = [label, str(n), runs, *numbers(scores, counts[:n], replicates)]
                yield "| " + " | ".join(cells) + " |"


def main(data: str, replicates: int = 400) -> None:
    """Print the table."""
    logging.disable(logging.WARNING)
    headings = ["systems of", "systems", "runs each", *(f"sd {name}" for name in SPREADS)]
    headings += [*OTHERS, "mean"]
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for line in lines(Path(data), replicates):
        print(line, flush=True)


def pairs(data: str, replicates: int = 2000) -> None:
    """Print the second table."""
    logging.disable(logging.WARNING)
    headings = ["pairs of systems of", "systems", "runs each"]
    headings += [*(f"sd {name}" for name in SPREADS), "equivalence"]
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for line in lines(Path(data), replicates, pairs_row):
        print(line, flush=True)


if __name__ == "__main__":
    if "pairs" in sys.argv[2:]:
        pairs(sys.argv[1])
    else:
        main(sys.argv[1], *map(int, sys.argv[2:]))

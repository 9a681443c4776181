"""Coverage of the intervals for tau over infinitely many topics: ``python -m tests.tau_coverage`` simulates and prints the table.

It takes half an hour on one core. `docs/believe/intervals.md` holds its output. With a folder of collections, ``python -m tests.tau_coverage DATA``, topics
are drawn with replacement from those of real collections, whose means over all their topics are then the truth.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from scorecube.analyses.rank_agreement import population
from scorecube.analyses.rank_agreement.population import models_of, population_rankings, summary
from scorecube.kernels.rank.concordance import compare, pairs_of, tau_a
from scorecube.workflow.api import import_scores
from tests.simulated_collections import DESIGNS, Floats, kendall, simulate

TAUS = (0.7, 0.8, 0.9, 0.95, 1.0)
SIZES = (30, 60, 129)
UNITS = 2**30
"""Scores as integers, as in the analyses."""


@dataclass(frozen=True)
class Case:
    """Simulated collections of one kind."""

    design: str
    n_runs: int
    tau: float
    n_topics: int = 50


@dataclass(frozen=True)
class Outcome:
    """What intervals and estimates did on simulated collections of one case."""

    repeats: int
    covered: float
    below: float
    bias: float
    observed_bias: float
    width: float


population._uniforms = cache(population._uniforms)
"""The same for all collections of a size."""


def interval(scores: Floats, two_kinds: bool = False) -> tuple[float, float, float]:
    """Return estimate and limits of tau over infinitely many topics, also of runs that may be of two kinds."""
    units = np.rint(scores * UNITS)
    one, two = np.array([0]), np.array([1])
    counted = [compare(each, np.zeros(2), one, two) for each in population_rankings(units, one, two, models=models_of(two_kinds))]  # fmt: skip
    pairs = pairs_of(scores.shape[1])
    drawn = np.concatenate([tau_a(part.concordant, part.discordant, pairs)[:, 0] for part in counted])  # fmt: skip
    found = summary(drawn, 0.95)
    return tuple(float(found[f"population{end}"]) for end in ("", "_low", "_high"))  # type: ignore[return-value]


def simulate_case(case: Case, repeats: int) -> Outcome:
    """Return the outcome for collections with fixed seeds."""
    rows = []
    for repeat in range(repeats):
        seed = [list(DESIGNS).index(case.design), case.n_runs, round(100 * case.tau), repeat]
        random = np.random.default_rng(seed)
        scores, means = simulate(random, case.n_runs, case.n_topics, case.tau, DESIGNS[case.design])
        truth, observed = kendall(*means), kendall(*scores.mean(axis=-1))
        value, low, high = interval(scores)
        inside = low <= truth + 1e-9 and truth - 1e-9 <= high
        rows.append([inside, high < truth - 1e-9, value - truth, observed - truth, high - low])
    return Outcome(repeats, *(float(each) for each in np.mean(rows, axis=0)))


def simulate_from(scores: Floats, repeats: int, seed: int = 7) -> Outcome:
    """Return the outcome for as many topics drawn from those of real scores (2, system, topic)."""
    truth, n_topics = kendall(*np.round(scores.mean(axis=-1), 12)), scores.shape[-1]
    rows = []
    for repeat in range(repeats):
        random = np.random.default_rng([seed, repeat])
        drawn = scores[..., random.integers(n_topics, size=n_topics)]
        value, low, high = interval(drawn)
        observed = kendall(*np.round(drawn.mean(axis=-1), 12))
        rows.append(
            [low <= truth <= high, high < truth, value - truth, observed - truth, high - low]
        )
    return Outcome(repeats, *(float(each) for each in np.mean(rows, axis=0)))


def real_scores(folder: Path, first: str, second: str) -> Floats:
    """Return the scores of a collection by two metrics, (2, system, topic)."""
    cube = import_scores(sorted(folder.glob("*.csv"))).sel(metric=[first, second])
    return np.ascontiguousarray(cube["score"].isel(gain=0).values)


REAL = (
    ("adhoc5", "AP", "P@10"), ("adhoc6", "AP", "RR"), ("adhoc8", "AP", "P@10"), ("adhoc8", "AP", "RR"),
    ("web2010", "AP", "P@10"), ("web2012", "AP", "ERR@20"), ("web2013", "nDCG@20", "P@10"), ("web2013", "P@10", "P@20"),
)  # fmt: skip


def line(case: Case, found: Outcome) -> str:
    """Return a row of the table."""
    mark = " **below .90**" if found.covered < 0.9 else ""
    return (
        f"| {case.design} | {case.n_runs} | {case.n_topics} | {case.tau:.2f} | {found.covered:.3f}{mark} | {found.below:.3f} | "
        f"{found.bias:+.3f} | {found.observed_bias:+.3f} | {found.width:.3f} |"
    )


def print_real(data: Path) -> None:
    """Print the table of real collections."""
    for name, first, second in REAL:
        scores = real_scores(data / name, first, second)
        case = Case(f"{name} {first}, {second}", scores.shape[1], kendall(*np.round(scores.mean(axis=-1), 12)), scores.shape[2])  # fmt: skip
        print(line(case, simulate_from(scores, 200)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir():
        print_real(Path(sys.argv[1]))
    else:
        designs = sys.argv[1].split(",") if len(sys.argv) > 1 else list(DESIGNS)
        sizes = [int(size) for size in sys.argv[2].split(",")] if len(sys.argv) > 2 else list(SIZES)
        for size in sizes:
            for design in designs:
                for tau in TAUS:
                    one = Case(design, size, tau)
                    print(line(one, simulate_case(one, 300)), flush=True)

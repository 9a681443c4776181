"""Coverage of the intervals for variances and numbers of topics: ``python -m tests.design_coverage`` simulates and prints the table.

`docs/believe/intervals.md` holds its output. The truth of a case is the mean variance of many simulated collections with as many topics and teams.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from scorecube.design.uncertainty import jackknife_interval
from scorecube.design.variance import residual_variance, within_system_variance
from tests.simulated_collections import Floats

ESTIMATES = {"one-way": within_system_variance, "two-way": residual_variance}


@dataclass(frozen=True)
class Case:
    """Simulated collections of one kind; runs of a team are alike."""

    n_teams: int
    team_size: int
    n_topics: int
    skewed: bool


CASES = tuple(
    Case(n_teams, size, n_topics, skewed)
    for n_teams, size in ((10, 3), (20, 3), (40, 1))
    for n_topics in (25, 50)
    for skewed in (False, True)
)


def simulate(random: np.random.Generator, case: Case) -> Floats:
    """Return scores (run, topic); skewed ones are in 0 .. 1 with many near 0, as of AP."""
    team = np.repeat(np.arange(case.n_teams), case.team_size)
    runs = (len(team), 1)
    ability = 0.3 * random.standard_normal((case.n_teams, 1))[team] + 0.2 * random.standard_normal(runs)  # fmt: skip
    topics = 0.6 * random.standard_normal(case.n_topics)
    shared = random.standard_normal((case.n_teams, case.n_topics))[team]
    own = random.standard_normal((len(team), case.n_topics))
    spread = np.exp(0.3 * random.standard_normal((case.n_teams, 1)))[team]
    z = ability + topics + 0.5 * spread * (0.8 * shared + 0.6 * own)
    return ndtr(z - 1.3) if case.skewed else z


def coverage(case: Case, repeats: int, truths: int = 4000) -> dict[str, tuple[float, float]]:
    """Return how often intervals held the truth, and the mean ratio of their limits, by the variance."""
    random = np.random.default_rng([case.n_teams, case.team_size, case.n_topics, case.skewed])
    drawn = [simulate(random, case) for _ in range(max(truths, repeats))]
    teams = [f"t{k // case.team_size:02d}" for k in range(case.n_teams * case.team_size)]
    found = {}
    for name, estimate in ESTIMATES.items():
        truth = float(np.mean(estimate(np.array(drawn))))
        limits = np.array([jackknife_interval(each, teams, estimate, 0.95) for each in drawn[:repeats]])  # fmt: skip
        inside = (limits[:, 0] <= truth) & (truth <= limits[:, 1])
        found[name] = float(inside.mean()), float(np.median(limits[:, 1] / limits[:, 0]))
    return found


def main(repeats: int) -> None:
    """Print the table."""
    for case in CASES:
        for name, (covered, ratio) in coverage(case, repeats).items():
            mark = " **below .90**" if covered < 0.9 else ""
            kind = "skewed" if case.skewed else "normal"
            print(
                f"| {name} | {kind} | {case.n_teams} x {case.team_size} | {case.n_topics} | {covered:.3f}{mark} | {ratio:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)

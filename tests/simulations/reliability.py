"""Coverage of the intervals of reliability coefficients: ``python -m tests.simulations.reliability [REPLICATES [DATA]]`` prints the table.

`docs/believe/reliability.md` holds its output. Truth is exact for normal effects and for scores drawn from a real table (systems and topics with replacement:
effects are those of the table, so variances have divisors p and n), and known to 1 % for bounded scores. Intervals are about the ratio of variances
of systems and of error, of which E rho^2, Phi and numbers of topics are monotone functions: they cover together.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import norm

from scorecube.statistics.variance_components import (
    COEFFICIENTS,
    DIFFERENT,
    ERHO2,
    ONE_TEAM,
    PHI,
    RATIOS,
    all_ratios,
    coefficient,
    jackknife,
    mean_squares,
    ratio_limits,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]
CONFIDENCE, MARKED = 0.95, 0.90
COMPONENTS = 0.0028, 0.028, 0.010
"""Variances of systems, topics and interaction, as of AP in TREC-3."""
SHARED = 0.5
"""Share of the variances of systems and of interaction that systems of a team have in common."""
REAL = {"robust2004 AP": "robust2004/ap_249topics.csv", "robust2004 P@10": "robust2004/p10_249topics.csv",
        "mq2007 AP": "mq2007/ap.csv"}  # fmt: skip
DROPPED = 0.25
SHOWN = {
    ERHO2: "E rho^2",
    PHI: "Phi",
    DIFFERENT: "E rho^2, different teams",
    ONE_TEAM: "E rho^2, same team",
}


@dataclass(frozen=True)
class Design:
    """Simulated collections of one kind.

    Parameters
    ----------
    kind
        ``normal`` effects; ``skewed``: scores in 0 .. 1 with many near 0, few bad systems, and unequal variances; or a key of `REAL`.
    n_systems, n_topics, team
        Sizes, and systems of a team.
    drop
        Whether the worst quarter of the systems is left out, by observed means.
    """

    kind: str
    n_systems: int
    n_topics: int
    team: int = 1
    drop: bool = False


DESIGNS = tuple(
    Design(kind, 40, n_topics, team)
    for kind, team in (("normal", 1), ("normal", 4), ("skewed", 1), ("skewed", 4))
    for n_topics in (25, 50)
) + tuple(Design("normal", 40, n_topics, 1, drop=True) for n_topics in (25, 50))
REAL_DESIGNS = tuple(Design(kind, 40, n_topics) for kind in REAL for n_topics in (25, 50))


@cache
def real_table(path: Path) -> Floats:
    """Return scores (system, topic)."""
    return pd.read_csv(path).set_index("topic").to_numpy(np.float64).T


def effects(random: np.random.Generator, design: Design, scale: float, shape: Any) -> Floats:
    """Return standard normal effects of systems, of which those of a team have a part in common."""
    rows, columns = shape
    own = random.standard_normal(shape)
    if design.team == 1:
        return np.asarray(scale * own)
    shared = np.repeat(random.standard_normal((rows // design.team, columns)), design.team, axis=0)
    return np.asarray(scale * (np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own))


def simulate(random: np.random.Generator, design: Design, data: Path | None = None) -> Floats:
    """Return scores (system, topic)."""
    p, n = design.n_systems, design.n_topics
    if design.kind in REAL:
        assert data is not None
        table = real_table(data / REAL[design.kind])
        rows = table[random.integers(len(table), size=p)]
        return rows[:, random.integers(table.shape[1], size=n)]
    if design.kind == "normal":
        systems, topics, rest = map(np.sqrt, COMPONENTS)
        ability = effects(random, design, systems, (p, 1))
        difficulty = topics * random.standard_normal((1, n))
        return np.asarray(ability + difficulty + effects(random, design, rest, (p, n)))
    ability = 0.35 * (1 - np.exp(0.6 * effects(random, design, 1.0, (p, 1))))
    spread = 0.5 * np.exp(0.3 * effects(random, design, 1.0, (p, 1)))
    topics = 0.7 * random.standard_normal((1, n))
    return np.asarray(ndtr(ability + topics + spread * effects(random, design, 1.0, (p, n)) - 0.8))


@cache
def truth(design: Design, data: Path | None = None) -> tuple[float, float]:
    """Return the true ratios: systems of different teams, infinitely many systems and topics."""
    if design.kind in REAL:
        assert data is not None
        scores = real_table(data / REAL[design.kind])
        by_system, by_topic = scores.mean(axis=1), scores.mean(axis=0)
        rest = scores - by_system[:, np.newaxis] - by_topic + scores.mean()
        variances = by_system.var(), by_topic.var(), (rest**2).mean()
    elif design.kind == "normal":
        systems = COMPONENTS[0]
        if design.drop:  # a normal variable above its quantile
            at = norm.ppf(DROPPED)
            mills = norm.pdf(at) / (1 - DROPPED)
            systems *= 1 + at * mills - mills**2
        variances = systems, COMPONENTS[1], COMPONENTS[2]
    else:
        random = np.random.default_rng(1)
        large = Design(design.kind, 3000, 3000)
        found = [mean_squares(simulate(random, large)).components() for _ in range(10)]
        variances = tuple(np.mean(found, axis=0))
    systems, topics, rest = map(float, variances)
    return systems / rest, systems / (topics + rest)


def coverage(design: Design, replicates: int, data: Path | None = None) -> list[dict[str, Any]]:
    """Return, for each coefficient and kind of interval, how often the truth is inside, below and above."""
    kinds = [*sorted(REAL), "normal", "skewed"]
    random = np.random.default_rng(
        [kinds.index(design.kind), design.n_topics, design.team, design.drop]
    )
    teams = np.arange(design.n_systems) // design.team
    limits: dict[str, list[Any]] = {"F": [], "jackknife": []}
    estimates = []
    for _ in range(replicates):
        scores, kept = simulate(random, design, data), teams
        if design.drop:
            best = np.sort(np.argsort(scores.mean(axis=1))[int(DROPPED * design.n_systems) :])
            scores, kept = scores[best], teams[best]
        limits["F"].append(ratio_limits(mean_squares(scores), CONFIDENCE))
        limits["jackknife"].append(jackknife(scores, kept).limits(CONFIDENCE))
        estimates.append(all_ratios(scores, kept))
    true = dict(zip(COEFFICIENTS, truth(design, data), strict=True))
    if design.team > 1:
        true[DIFFERENT] = true[ERHO2]
    if design.team > 1 and design.kind == "normal":
        # Half of both variances is shared: the other halves have the same ratio.
        true[ONE_TEAM] = true[ERHO2]
    found = np.array(estimates)
    rows = []
    for name, each in limits.items():
        low, high = np.moveaxis(np.array(each), 1, 0)
        for which, ratio in true.items():
            k = RATIOS.index(which)
            if k < low.shape[1]:
                row = {"coefficient": which, "interval": name}
                rows.append(
                    row | summary(design.n_topics, ratio, found[:, k], low[:, k], high[:, k])
                )
    return rows


def summary(
    n_topics: int, ratio: float, found: Floats, low: Floats, high: Floats
) -> dict[str, float]:
    """Return what is known of the intervals of a ratio, as those of a coefficient."""
    value, estimates, low, high = (
        coefficient(each, n_topics) for each in (ratio, found, low, high)
    )
    known = np.isfinite(low) & np.isfinite(high)
    below, above = ((high < value).sum() / known.sum(), (low > value).sum() / known.sum())
    return {
        "true": float(value), "bias": float(estimates.mean() - value), "coverage": float(1 - below - above), "below": float(below),
        "above": float(above), "width": float(np.median((high - low)[known])), "missing": float(1 - known.mean()),
    }  # fmt: skip


def line(design: Design, row: dict[str, Any]) -> str:
    """Return a row of the table."""
    kind = f"{design.kind}, worst quarter dropped" if design.drop else design.kind
    teams = "independent" if design.team == 1 else f"teams of {design.team}"
    covered = f"{row['coverage']:.3f}"
    if row["coverage"] < MARKED:
        covered = f"**{covered}**"
    name = SHOWN[row["coefficient"]]
    return (
        f"| {name} | {row['interval']} | {kind} | {teams} | {design.n_topics} | {row['true']:.3f} | {row['bias']:+.3f} | {covered} | "
        f"{row['below']:.3f} | {row['above']:.3f} | {row['width']:.3f} |"
    )


def main(replicates: int, data: Path | None) -> None:
    """Print the table."""
    for design in (*DESIGNS, *(REAL_DESIGNS if data is not None else ())):
        for row in coverage(design, replicates, data):
            print(line(design, row), flush=True)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 2000,
        Path(sys.argv[2]) if len(sys.argv) > 2 else None,
    )

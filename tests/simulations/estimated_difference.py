"""Bias of Sakai's estimated difference, and coverage of jackknife intervals: ``python -m tests.simulations.estimated_difference DATA``.

The estimated difference at alpha is, for normal means, a multiple of the largest standard deviation of the difference of any two runs. Truth is that of a
population fitted to a collection. The interval is delete-one jackknife over topics, of the logarithm.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from scorecube.analyses.simulation.populations import fit_population
from scorecube.ingest.matrix import read_matrix

COLLECTIONS = {"adhoc6": ("ap", "p10", "rr"), "web2013": ("ap", "err20"), "adhoc8": ("ap",)}
N_TOPICS, SAMPLES, SEED, CONFIDENCE, MARKED = 50, 300, 7, 0.95, 0.9
Floats = np.ndarray[Any, np.dtype[np.float64]]


def largest_deviation(covariances: Floats) -> Floats:
    """Return the largest standard deviation of a difference of two runs: (...,) of (..., run, run)."""
    variances = np.diagonal(covariances, axis1=-2, axis2=-1)
    pairs = variances[..., np.newaxis] + variances[..., np.newaxis, :] - 2 * covariances
    found: Floats = np.sqrt(pairs.max(axis=(-2, -1)))
    return found


def jackknife(scores: Floats) -> tuple[float, float]:
    """Return the logarithm of the largest deviation of scores (run, topic), and its standard error."""
    n = scores.shape[1]
    without = np.stack([np.cov(np.delete(scores, k, axis=1)) for k in range(n)])
    logs = np.log(largest_deviation(without))
    error = np.sqrt((n - 1) / n * ((logs - logs.mean()) ** 2).sum())
    return float(np.log(largest_deviation(np.cov(scores)))), float(error)


def row(scores: Floats, samples: int) -> tuple[float, float]:
    """Return the relative bias, and the coverage of the interval, over samples of a population fitted to scores (run, topic)."""
    population = fit_population(scores[np.newaxis])
    truth = np.log(largest_deviation(population.covariances()))
    reach = stdtrit(N_TOPICS - 1, (1 + CONFIDENCE) / 2)
    ratios, held = [], []
    for k in range(samples):
        drawn = population.draw(SEED, k * N_TOPICS, (k + 1) * N_TOPICS)
        found, error = jackknife(drawn.reshape(len(scores), N_TOPICS))
        ratios.append(np.exp(found - truth))
        held.append(abs(found - truth) <= reach * error)
    return float(np.mean(ratios)) - 1, float(np.mean(held))


def main(data: Path) -> None:
    """Print the table of `docs/believe/intervals.md`."""
    print("| collection | metric | runs | bias | coverage |\n|---|---|---|---|---|")
    for collection, measures in COLLECTIONS.items():
        for measure in measures:
            scores = read_matrix(data / collection / f"{measure}.csv").to_numpy()
            bias, coverage = row(scores, SAMPLES)
            shown = f"{coverage:.2f}" if coverage >= MARKED else f"**{coverage:.2f}**"
            print(f"| {collection} | {measure} | {len(scores)} | {100 * bias:+.0f} % | {shown} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

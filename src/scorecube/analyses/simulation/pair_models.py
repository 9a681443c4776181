"""Models of pairs of systems of one metric: a margin for each system, a copula for each pair."""

from dataclasses import dataclass

import numpy as np
import scipy

from scorecube import names
from scorecube.analyses.base import Array
from scorecube.kernels.experiments.differences import guides_of
from scorecube.kernels.experiments.pair_copulas import Family, fit_pairs
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.threads import LEAST, on_threads
from scorecube.statistics.margin_fits import fit_margin, margin_seconds, score_grid
from scorecube.statistics.margins import Margin

SAME_SCORE = 1e-5
"""Two runs whose scores differ by at most this much on each topic are one system."""
NEIGHBOURS = 10
"""Systems whose margins are moved to the mean of each baseline plus a difference: those with the nearest means."""
BEST_SHARE = 0.25
"""Share of the systems, the best ones, that are no baselines."""
DIGITS = 4
"""Decimals of continuous scores in experiments; sums of resampled differences are exact in single precision."""
UNITS = 10**DIGITS
PAIRS_AT_ONCE = 200
COPULAS = ("pairs", "gaussian", "independent")
"""Copulas of experiments: chosen for each pair, Gaussian for each pair, or none."""


@dataclass(frozen=True)
class PairModel:
    """Margins of the systems of one metric, and copulas of all pairs.

    margins: Margin of each system.
    copulas, parameters: int32 (system, system) and float64 (system, system, 2): as
        `kernels.experiments.pair_copulas.fit_pairs` writes them, for the pairs with the first system before the second.
    """

    margins: tuple[Margin, ...]
    copulas: Array
    parameters: Array

    @property
    def scores(self) -> Array:
        """Scores of the grid in units, int32 (point,)."""
        return np.asarray(np.rint(self.margins[0].support * UNITS).astype(np.int32))

    def null_choices(self) -> tuple[Array, Array]:
        """Return all ordered pairs, the second system with the margin of the first, and exponents that change nothing."""
        first, second = np.nonzero(~np.eye(len(self.margins), dtype=bool))
        choices = np.stack([first, second, first], axis=1).astype(np.int32)
        return choices, np.ones((len(choices), 2))

    def moved_choices(self, delta: float) -> tuple[Array, Array]:
        """Return pairs of a baseline and a system with a mean that is larger by `delta`.

        delta: True difference.
        Returns choices, exponents: As of `kernels.experiments.differences.draw_differences`. Baselines are the systems
            without the best quarter; margins are those of the ten systems whose means are nearest to the baseline's
            plus delta, moved to it exactly.
        """
        means = np.array([margin.mean for margin in self.margins])
        ranked = np.argsort(-means, kind="stable")
        choices, exponents = [], []
        for baseline in ranked[round(BEST_SHARE * len(means)) :]:
            wanted = means[baseline] + delta
            near = np.argsort(np.abs(means - wanted), kind="stable")
            for other in near[near != baseline][:NEIGHBOURS]:
                try:
                    a, b = self.margins[other].shapes_for(float(wanted))
                except ValueError:
                    continue
                choices.append((baseline, other, other))
                exponents.append((1.0 / a, 1.0 / b))
        return np.array(choices, np.int32).reshape(-1, 3), np.array(exponents).reshape(-1, 2)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `draw_differences` reads."""
        cumulative = np.stack([margin.cumulative for margin in self.margins])
        return {
            "cumulative": cumulative,
            "guides": guides_of(cumulative),
            "scores": self.scores,
            "copulas": self.copulas,
            "parameters": self.parameters,
        }


def distinct_systems(scores: Array, drop_worst: float) -> Array:
    """Return the positions of the systems of an experiment, int64.

    scores: float64 (run, topic).
    drop_worst: Share of the systems with the smallest means that is left out, after those with the same scores as an
        earlier one.
    """
    kept: list[int] = []
    for k, row in enumerate(scores):
        if not any((np.abs(row - scores[other]) <= SAME_SCORE).all() for other in kept):
            kept.append(k)
    means = scores[kept].mean(axis=1)
    return np.asarray(np.array(kept)[means >= np.quantile(means, drop_worst)])


def pair_model_seconds(n_systems: int, n_topics: int) -> float:
    """Return the estimated time of `fit_pair_model`: margins, and copulas of pairs."""
    pairs = n_systems * (n_systems - 1) / 2
    return n_systems * margin_seconds(n_topics) + pairs * (4e-4 + 2.5e-5 * n_topics)


def fit_pair_model(scores: Array, copula: str) -> PairModel:
    """Return the model of the systems of one metric.

    scores: float64 (system, topic): in [0, 1].
    copula: One of `COPULAS`.
    """
    grid = score_grid(scores, DIGITS)
    margins = tuple(fit_margin(row, grid) for row in scores)
    count = len(scores)
    copulas, parameters = np.zeros((count, count), np.int32), np.zeros((count, count, 2))
    if copula == "independent":
        return PairModel(margins, copulas, parameters)
    ranks = random_ranks(scores)
    first, second = np.triu_indices(count, 1)
    if copula == "gaussian":
        correlations = np.corrcoef(scipy.special.ndtri(ranks / (ranks.shape[1] + 1)))[first, second]
        copulas[first, second] = int(Family.GAUSSIAN)
        parameters[first, second, 0] = np.clip(correlations, -0.99, 0.99)
        return PairModel(margins, copulas, parameters)
    pairs = np.stack([first, second], axis=1).astype(np.int32)
    parts = [pairs[start : start + PAIRS_AT_ONCE] for start in range(0, len(pairs), PAIRS_AT_ONCE)]
    found = on_threads(lambda part: choose_copulas(ranks, part), parts, LEAST)
    copulas[first, second] = np.concatenate([kinds for kinds, _ in found])
    parameters[first, second] = np.concatenate([values for _, values in found])
    return PairModel(margins, copulas, parameters)


def random_ranks(scores: Array) -> Array:
    """Return the ranks of each system's scores, ties in random order: int32 (system, topic).

    The order of ties is the same in each call.
    """
    tied = np.empty(scores.shape)
    for k in range(len(scores)):
        key = stream_key(0, names.Purpose.RANK_TIES)
        random = np.random.Generator(np.random.Philox(key=key, counter=[0, k, 0, 0]))
        tied[k] = random.random(scores.shape[1])
    order = np.lexsort((tied, scores), axis=1)
    ranks = np.empty(scores.shape, np.int32)
    np.put_along_axis(
        ranks, order, np.arange(1, scores.shape[1] + 1, dtype=np.int32)[np.newaxis], 1
    )
    return ranks


def choose_copulas(ranks: Array, pairs: Array) -> tuple[Array, Array]:
    """Return the copula of each pair with the smallest AIC, and its parameters."""
    n = ranks.shape[1]
    u = np.arange(1, n + 1) / (n + 1)
    table = np.zeros((n + 1, 5))
    table[1:] = np.stack(
        [u, np.log(u), np.log1p(-u), np.log(-np.log(u)), scipy.special.ndtri(u)], axis=1
    )
    copulas, parameters = np.empty(len(pairs), np.int32), np.empty((len(pairs), 2))
    fit_pairs(ranks, np.ascontiguousarray(pairs), table, copulas, parameters, np.empty(len(pairs)))
    return copulas, parameters

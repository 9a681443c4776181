"""The subsets of topics that rank runs most and least like all topics.

References: Guiver, Mizzaro and Robertson 2009, "A few good topics: experiments in topic set reduction for retrieval evaluation", ACM
Transactions on Information Systems 27(4); Berto, Mizzaro and Robertson 2013, "On using fewer topics in information retrieval
evaluations", ICTIR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.pair_tests.pair_scores import comparable
from scorecube.errors import BadPlan
from scorecube.kernels.random.philox import stream_key

RANDOM_SUBSETS = 200
"""Random orders of the topics; the first k topics of each are its subset of size k."""
SEED = 1
MOST_STEPS = 1e11
"""Comparisons of sums of pairs of runs that the searches may make: some minutes."""
MOST_DIFFERENCES = 1e8
"""Differences of pairs of runs on topics that are in memory."""


def topic_subsets(scores: NDArray[np.float64]) -> dict[str, Any]:
    """Return the best and the worst subsets that a greedy search finds, and random ones.

    Two searches run for each goal: forward, which adds to the subset the topic that gives the best (worst) tau, and backward, which
    takes away from all topics the one whose absence does; of each size the better of both, or of 200 random subsets, is kept. Of
    equal topics the first is taken. The search is not exhaustive: a better (worse) subset may exist.

    scores: float64 (run, topic), without missing scores.
    Returns best, worst: float64 (size,): Kendall's tau of the runs' means over the subset of each size and over all topics.
    Returns best_topics, worst_topics: The subsets as positions of topics, by size.
    Returns random: float64 (subset, size): tau of random subsets.
    Raises BadPlan: A single run, too many runs and topics for the search, missing scores, or ones that sums cannot
        hold.
    """
    n_runs, n = scores.shape
    if n_runs < 2:
        raise BadPlan("subsets of topics need 2 runs; found 1")
    if np.isnan(scores).any():
        raise BadPlan(
            f"subsets of topics need the scores of all runs; {int(np.isnan(scores).sum())} are missing"
        )
    differences = n * n_runs * (n_runs - 1) / 2
    if differences > MOST_DIFFERENCES or 2 * n * differences > MOST_STEPS:
        raise BadPlan(
            f"{n_runs} runs and {n} topics are too many for a search of subsets ({differences:.1e} differences, of at most "
            f"{MOST_DIFFERENCES:.0e}); import a part of them: sc.select(cube, top_runs=100) in Python"
        )
    whole, _, rounded = comparable(scores)
    agreement = Agreement.of(whole, float(n) if rounded else 0.0)
    random = np.random.Generator(
        np.random.Philox(key=stream_key(SEED, names.Purpose.TOPIC_SUBSETS))
    )
    orders = [random.permutation(n) for _ in range(RANDOM_SUBSETS)]
    drawn = np.array(
        [agreement.tau(np.cumsum(agreement.differences[order], axis=0)) for order in orders]
    )
    subsets: dict[str, Any] = {"random": drawn}
    for end, sign in (("best", 1.0), ("worst", -1.0)):
        places = (sign * drawn).argmax(axis=0)
        by_chance = [
            (float(drawn[place, k]), sorted(orders[place][: k + 1].tolist()))
            for k, place in enumerate(places)
        ]
        found = [search(agreement, sign, add=True), search(agreement, sign, add=False), by_chance]
        chosen = [max(each, key=lambda one: sign * one[0]) for each in zip(*found, strict=True)]
        subsets[end] = np.array([value for value, _ in chosen])
        subsets[f"{end}_topics"] = [topics for _, topics in chosen]
    return subsets


@dataclass(frozen=True)
class Agreement:
    """Pairs of runs, each with the better one by mean over all topics first.

    differences: float64 (topic, pair): differences of scores, in whole units; without pairs whose means over all topics are equal.
    rounding: Sums of differences that are no larger are 0.
    pairs: Number of all pairs.
    """

    differences: NDArray[np.float64]
    rounding: float
    pairs: int

    @classmethod
    def of(cls, whole: NDArray[np.float64], rounding: float) -> Agreement:
        """Return the pairs of the runs with these scores, float64 (run, topic)."""
        first, second = np.triu_indices(len(whole), 1)
        differences = (whole[first] - whole[second]).T
        total = differences.sum(axis=0)
        untied = np.abs(total) > rounding
        ordered = differences[:, untied] * np.sign(total[untied])
        return cls(np.ascontiguousarray(ordered), rounding, len(first))

    def tau(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Kendall's tau of sums over subsets, float64 (subset, pair), and those over all topics.

        Pairs that are tied on one side are neither concordant nor discordant.
        """
        concordant = np.count_nonzero(sums > self.rounding, axis=1)
        discordant = np.count_nonzero(sums < -self.rounding, axis=1)
        return np.asarray((concordant - discordant) / self.pairs, float)


def search(agreement: Agreement, sign: float, *, add: bool) -> list[tuple[float, list[int]]]:
    """Return tau and topics of a subset of each size from 1 to n, in steps of one topic.

    agreement: See `Agreement`.
    sign: 1 for the largest tau, -1 for the smallest.
    add: Whether to begin without topics and add the best one, or with all and take away the one whose absence is best.
    """
    differences, n = agreement.differences, len(agreement.differences)
    chosen = np.full(n, not add)
    sums = np.zeros(differences.shape[1]) if add else differences.sum(axis=0)
    found = [] if add else [(float(agreement.tau(sums[np.newaxis])[0]), list(range(n)))]
    for _ in range(n if add else n - 1):
        places = np.flatnonzero(chosen != add)
        candidates = sums + (1.0 if add else -1.0) * differences[places]
        values = agreement.tau(candidates)
        best = int((sign * values).argmax())
        chosen[places[best]], sums = add, candidates[best]
        found.append((float(values[best]), np.flatnonzero(chosen).tolist()))
    return found if add else found[::-1]

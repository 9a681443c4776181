"""Rankings from topics that two sets of judgements do not share, against split halves of each.

Rankings from other topics differ even under the same judgements. The tau of two disjoint halves of the truth's topics shows by how much; the
tau of a half with as many topics of the judge is lower by the judge's part. References: Buckley and Voorhees 2000, "Evaluating evaluation
measure stability", SIGIR; Rahmani et al. 2024, "SynDL"; Efron and Tibshirani 1993, chapter 11 (jackknife of groups).
"""

from typing import Any

import numpy as np

from scorecube.analyses.rank_agreement.agreement import rankings_of
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.kernels.rank.concordance import compare, pairs_of, tau_a
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.names import Purpose

HALVES = ("truth", "judge", "both")
"""Tau of a half of the truth's topics with the other half, of the judge's with as many others of the judge's, and of a half with as many topics of the judge."""
N_SPLITS, GROUPS, SEED = 200, 10, 0
"""Splits, groups of topics that the jackknife leaves out, and the seed of splits, whatever the seed of the analysis."""
LEAST_TOPICS = 20
"""Fewest topics of each set."""
Floats = np.ndarray[Any, np.dtype[np.float64]]


def half_size(n_truth: int, n_judge: int) -> int:
    """Return the number of topics of a half; 0 if there are too few."""
    least = min(n_truth, n_judge)
    return least // 2 if least >= LEAST_TOPICS else 0


def half_taus(truth: Any, judge: Any) -> Floats:
    """Return the mean tau of halves, (cell, half statistic), in the order of `HALVES`; NaN for few topics.

    truth, judge: float64 (cell, run, topic): scores on each set's own topics.
    """
    n_cells, n_runs = truth.shape[:2]
    size = half_size(truth.shape[2], judge.shape[2])
    found = np.full((n_cells, len(HALVES)), np.nan)
    if not size:
        return found
    ranked = [rankings_of(each) for each in (truth, judge)]
    weights = [_halves(each.shape[2], size, stream) for stream, each in enumerate((truth, judge))]
    tolerances = np.concatenate([ranked[0]["tolerances"]] * 2 + [ranked[1]["tolerances"]] * 2)
    cells = np.arange(n_cells)
    first = np.concatenate([cells, cells + 2 * n_cells, cells, cells + n_cells])
    second = np.concatenate(
        [cells + n_cells, cells + 3 * n_cells, cells + 2 * n_cells, cells + 3 * n_cells]
    )
    taus = []
    at_once = trials_at_once(4 * n_cells * n_runs)
    for low in range(0, N_SPLITS, at_once):
        sums = [
            (each[:, low : low + at_once] @ part["units"].T).reshape(2, -1, n_cells, n_runs)
            for each, part in zip(weights, ranked, strict=True)
        ]
        whole = np.concatenate(sums).swapaxes(0, 1).reshape(-1, 4 * n_cells, n_runs)
        counts = compare(np.ascontiguousarray(whole), tolerances, first, second)
        taus.append(tau_a(counts.concordant, counts.discordant, pairs_of(n_runs)))
    mean = np.concatenate(taus).mean(axis=0).reshape(4, n_cells)
    return np.stack([mean[0], mean[1], (mean[2] + mean[3]) / 2], axis=1)


def _halves(n_topics: int, size: int, stream: int) -> Floats:
    """Return which topics are in both halves: (half, split, topic), ones and zeros."""
    words = uniforms(stream_key(SEED, Purpose.JUDGED_HALVES), 2 * n_topics, 0, N_SPLITS)
    order = np.argsort(words[:, stream * n_topics :][:, :n_topics], axis=1)
    place = np.argsort(order, axis=1)
    return np.stack([place < size, (place >= size) & (place < 2 * size)]).astype(np.float64)


def judge_part(truth: Any, judge: Any, confidence: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the tau of halves, and the judge's part of their difference with limits.

    truth, judge: As of `half_taus`.
    confidence: Confidence level; limits are by the jackknife over `GROUPS` groups of topics of each set.
    Returns taus, part, low, high: (cell, half statistic) and three times (cell,): tau of two halves of the truth less
        that of a half with the judge.
    """
    from scipy.special import stdtrit  # imported here, as it takes long to import

    taus = half_taus(truth, judge)
    part = taus[:, 0] - taus[:, 2]
    variance = np.zeros(len(part))
    for place, each in enumerate((truth, judge)):
        left = []
        for group in range(GROUPS):
            kept = np.arange(each.shape[2]) % GROUPS != group
            pair = [truth, judge]
            pair[place] = each[..., kept]
            found = half_taus(*pair)
            left.append(found[:, 0] - found[:, 2])
        variance += (GROUPS - 1) * np.var(left, axis=0)
    half = stdtrit(GROUPS - 1, (1 + confidence) / 2) * np.sqrt(variance)
    return taus, part, part - half, part + half

"""Rankings of the same runs: numbers of runs above, and correlations by products of signs.

All that is counted are integers, so that results do not depend on the order of runs, of rankings or
of products.

>>> above = ranks_above(np.array([[5.0, 3.0, 2.0, 1.0], [6.0, 1.0, 2.0, 1.0]]), 0.0)
>>> above.tolist()
[[0, 1, 2, 3], [0, 2, 1, 2]]
>>> found = concordance(above)
>>> found.difference.tolist(), found.tied.tolist()
([[6, 3], [3, 5]], [0, 1])

References: Kendall 1970, "Rank correlation methods"; Yilmaz, Aslam and Robertson 2008, "A new rank
correlation coefficient for information retrieval"; Urbano and Marrero 2017, "The treatment of ties
in AP correlation".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
PAIRS_AT_ONCE = 2**16
"""Pairs of runs whose signs are in memory at a time."""


class Concordance(NamedTuple):
    """Pairs of runs by their order in two rankings, (ranking, ranking), and ties, (ranking,).

    difference: Concordant less discordant pairs.
    untied: Pairs that neither ranking ties: concordant and discordant ones.
    tied: Pairs that a ranking ties.
    n_pairs: All pairs of runs.
    """

    difference: IntArray
    untied: IntArray
    tied: IntArray
    n_pairs: int

    def tau_a(self) -> FloatArray:
        """Return Kendall's tau-a: ties count in the denominator only (Sakai 2007, equation 8)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.difference / np.float64(self.n_pairs))

    def tau_b(self) -> FloatArray:
        """Return Kendall's tau-b, corrected for ties; NaN where a ranking ties all runs."""
        untied = (self.n_pairs - self.tied).astype(float)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.difference / np.sqrt(np.outer(untied, untied)))


def ranks_above(values: FloatArray, tolerance: ArrayLike) -> IntArray:
    """Return the number of runs that are ranked strictly above each run.

    values: float64 (..., run): scores by which runs are ranked, larger is better.
    tolerance: (...): neighbours in the order that differ by no more are tied.
    Returns above: int64 (..., run), equal for tied runs only.
    """
    order = np.argsort(-values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    begins = np.zeros(values.shape, np.int64)
    lower = -np.diff(ordered, axis=-1) > np.asarray(tolerance)[..., np.newaxis]
    begins[..., 1:] = np.where(lower, np.arange(1, values.shape[-1]), 0)
    above = np.empty_like(begins)
    np.put_along_axis(above, order, np.maximum.accumulate(begins, axis=-1), axis=-1)
    return above


def concordance(above: IntArray) -> Concordance:
    """Return the order of all pairs of runs in every two rankings.

    above: int64 (ranking, run), of `ranks_above`.
    """
    n_rankings, n_runs = above.shape
    first, second = np.triu_indices(n_runs, 1)
    difference, untied = np.zeros((2, n_rankings, n_rankings))
    for low in range(0, len(first), PAIRS_AT_ONCE):
        part = slice(low, low + PAIRS_AT_ONCE)
        signs = np.sign(above[:, second[part]] - above[:, first[part]]).astype(np.float32)
        difference += signs @ signs.T
        decided = np.abs(signs)
        untied += decided @ decided.T
    whole = untied.astype(np.int64)
    return Concordance(
        difference.astype(np.int64), whole, len(first) - np.diagonal(whole), len(first)
    )


def spearman(above: IntArray) -> FloatArray:
    """Return Spearman's rho of every two rankings with average ranks, (ranking, ranking).

    NaN where one ties all runs.

    above: int64 (ranking, run), of `ranks_above`.
    """
    n_runs = above.shape[1]
    tied = np.stack([np.bincount(row, minlength=n_runs)[row] for row in above])
    twice = 2 * above + tied - n_runs  # twice the distance of the average rank from the middle
    products = (twice @ twice.T).astype(float)
    squares = np.diagonal(products)
    with np.errstate(invalid="ignore"):
        return np.asarray(products / np.sqrt(np.outer(squares, squares)))


def tau_ap(truth: IntArray, other: IntArray) -> float:
    """Return the AP correlation of a ranking with the truth: the mean over orders of ties.

    truth, other: int64 (run,), of `ranks_above`.

    Examples
    --------
    >>> round(tau_ap(np.array([0, 1, 2, 3]), np.array([0, 2, 1, 3])), 4)
    0.6667
    """
    n_runs = len(truth)
    if n_runs < 2:
        return np.nan
    begins = np.sort(other)
    places = np.arange(n_runs)
    inverse = np.zeros(n_runs)
    inverse[1:] = 1 / places[1:]
    # A tied run takes each place of its group as often; above it are runs of its group, of which
    # half are in order.
    within = 0.5 * ((places - begins) * inverse).sum()
    group_size = np.bincount(begins, minlength=n_runs)
    weight = np.bincount(begins, inverse, n_runs) / np.maximum(group_size, 1)
    is_above = other[:, np.newaxis] > other
    in_order = 0.5 * (1 + np.sign(truth[:, np.newaxis] - truth))
    counts: Any = (is_above * in_order).sum(axis=1)
    # Sorted, so that the sum does not depend on the order of runs.
    return float(2 * (np.sort(counts * weight[other]).sum() + within) / (n_runs - 1) - 1)

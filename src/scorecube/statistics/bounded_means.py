"""Limits and tests of the mean of scores that have known bounds, honest also where the scores at hand do not vary.

Equal scores on all topics are no sign that topics without them are absent: a t interval is then a point, and a bootstrap-t interval has no limit or one beyond
the bounds. Two kinds of limits know better:

- Scores that are 0 or 1 are binomial: mid-p limits, whose error is close to the nominal one.
- Others: betting. Under the hypothesis that the mean of scores x in 0 .. 1 is m or less, a bet of a share c of one's money at fair odds multiplies it by
  1 + c (x / m - 1), by no more than 1 on average. The mean of the final amounts over shares c is a test: it reaches 1 / alpha with probability alpha at most, whatever
  the distribution and the number of topics. Its limits do not depend on the order of topics. They are wider than needed, as Markov's inequality is.

`analyses.rank_sets.leaderboard.OwnMeans.join` says where which limits stand. All need topics that were drawn independently.

References: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting", Journal of the Royal Statistical Society B 86
(mixtures over fixed bets); Orabona and Jun 2024, "Tight concentrations and confidence sequences from the regret of universal portfolio", IEEE
Transactions on Information Theory (arcsine weights of the shares); Lancaster 1961, "Significance tests in discrete distributions", JASA 56 (mid-p).
"""

import math
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
SHARES = np.sin(np.pi * (np.arange(16) + 0.5) / 32) ** 2
"""Shares of bets, by the arcsine distribution."""
LEAST_VARIED = 8
"""Fewest topics whose score is not the most frequent one for which limits of the bootstrap or of Student's t are taken. Of 5, 8, 10 and 12 all covered the mean of
RR, P@10 and accuracy in .95 or more with 25 and 50 topics; limits are hardly wider with 8 than with 5."""
STEPS = 50
"""Halvings of an interval of means: it shrinks to 1e-15 of the range of the scores."""
SMALLEST = 1e-12
"""Added to a mean of 0, with which no bet could be scaled; less than limits are known by."""


def log_wealth(scores: Any, means: Any) -> Floats:
    """Return the logarithm of the money that bets against means of no more than these end with, from 1.

    scores: float64 (row, topic): in 0 .. 1.
    means: float64 (row,): above 0.
    """
    gains = np.asarray(scores) / np.asarray(means)[:, np.newaxis] - 1.0
    bets, logs = np.empty_like(gains), np.empty((len(SHARES), len(gains)))
    for share, own in zip(SHARES, logs, strict=True):
        np.log1p(np.multiply(share, gains, out=bets), out=bets).sum(axis=1, out=own)
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.exp(logs - most).mean(axis=0)))


def betting_limits(scores: Any, error: float) -> tuple[Floats, Floats]:
    """Return the lower and upper limits of means by betting, float64 (row,) each.

    scores: float64 (row, topic): in 0 .. 1.
    error: Largest probability that the mean is below the lower limit, and that it is above the upper one.
    """
    x = np.asarray(scores, float)
    return _lowest(x, error), 1.0 - _lowest(1.0 - x, error)


def _lowest(scores: Floats, error: float) -> Floats:
    low, high = np.zeros(len(scores)), scores.mean(axis=1)
    for _ in range(STEPS):
        middle = (low + high) / 2
        refuted = log_wealth(scores, np.maximum(middle, SMALLEST)) >= -math.log(error)
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def mid_p_limits(successes: Any, n: int, error: float) -> tuple[Floats, Floats]:
    """Return the mid-p limits of binomial probabilities, float64 (row,) each.

    successes: int64 (row,): of ``n`` each.
    error: Of each side.
    """
    return _least_probability(successes, n, error), 1.0 - _least_probability(
        n - np.asarray(successes), n, error
    )


def _least_probability(successes: Any, n: int, error: float) -> Floats:
    """Return the probability of which so many successes, or more, are as rare as ``error``; those at hand count half."""
    from scipy.special import bdtr  # imported here, as it takes long to import

    k = np.asarray(successes, float)
    low, high = np.zeros(len(k)), np.ones(len(k))
    for _ in range(STEPS):
        middle = (low + high) / 2
        # P(X > k) + P(X = k) / 2 = 1 - (P(X <= k) + P(X < k)) / 2
        fewer = np.where(k > 0, bdtr(np.maximum(k - 1, 0), n, middle), 0.0)
        rare = 1.0 - (bdtr(k, n, middle) + fewer) / 2 < error
        low, high = np.where(rare, middle, low), np.where(rare, high, middle)
    return np.where(k == 0, 0.0, low)


def bounded_limits(scores: Any, bounds: tuple[float, float], error: float) -> tuple[Floats, Floats]:
    """Return limits of means within the bounds, float64 (row,) each: mid-p in rows whose scores are all at the bounds, else by betting.

    scores: float64 (row, topic).
    bounds: Least and greatest score that there can be.
    error: Of each side.
    """
    x = unit_scores(scores, bounds)
    low, high = np.empty((2, len(x)))
    # Whatever else scores might be: their mean is at least the probability of 1, and at most that of no 0.
    binary = at_bounds(x)
    low[binary], high[binary] = mid_p_limits(x[binary].sum(axis=1), x.shape[1], error)
    low[~binary], high[~binary] = betting_limits(x[~binary], error)
    low, high = (bounds[0] + (bounds[1] - bounds[0]) * each for each in (low, high))
    # The mean is within them, whatever rounding says.
    mean = np.asarray(scores).mean(axis=1)
    return np.minimum(low, mean), np.maximum(high, mean)


def unit_scores(scores: Any, bounds: tuple[float, float]) -> Floats:
    """Return scores between two bounds as scores in 0 .. 1."""
    return np.clip((np.asarray(scores) - bounds[0]) / (bounds[1] - bounds[0]), 0.0, 1.0)


def at_bounds(scores: Any) -> Any:
    """Return which rows (row, topic) have no score but 0 and 1."""
    return ((scores == 0.0) | (scores == 1.0)).all(axis=-1)


def n_varied(scores: Any, rounding: float = 0.0) -> Any:
    """Return on how many topics a row has another score than its most frequent one: int64 (row,).

    scores: float64 (row, topic).
    rounding: Largest difference of scores that are equal but for it.
    """
    ordered = np.sort(scores, axis=1)
    rows, n = ordered.shape
    starts = np.ones((rows, n), bool)
    starts[:, 1:] = np.diff(ordered, axis=1) > rounding
    place = np.arange(n)
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    return n - 1 - (place - first).max(axis=1)

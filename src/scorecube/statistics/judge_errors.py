"""How many judges with independent errors several judges are worth.

The error of a judge on a run and a topic is its score less that of the truth. A bias that all topics share is left out. With C the covariance matrix of the errors of K
judges over topics, averaged over runs, the mean of the judges' scores is as exact as that of

    K_e = K trace(C) / sum(C)

judges of the same average error variance with independent errors: K / (1 + (K - 1) rho) where all correlations are rho. The estimand is K_e over infinitely many
topics, of these runs and judges. Limits are by a jackknife over topics of its logarithm, with Student's t.

References: Clemen and Winkler 1985, "Limits for the precision and value of information from dependent sources", Operations Research 33; Efron and Tibshirani
1993, chapter 11 (jackknife).
"""

from typing import Any

import numpy as np

LEAST_TOPICS = 3
"""Fewest topics for limits."""


def effective_judges(errors: Any, confidence: float) -> tuple[float, float, float]:
    """Return the effective number of independent judges with limits; NaN for one judge, fewer than `LEAST_TOPICS` topics, or errors without variance.

    errors: float64 (judge, run, topic).
    confidence: Of the limits.

    Examples
    --------
    >>> twice = np.repeat(np.random.default_rng(1).random((1, 4, 9)), 2, axis=0)
    >>> round(effective_judges(twice, 0.95)[0], 9)
    1.0
    """
    from scipy.special import stdtrit  # imported here, as it takes long to import

    n = errors.shape[-1]
    if len(errors) < 2 or n < LEAST_TOPICS:
        return np.nan, np.nan, np.nan
    centred = errors - errors.mean(axis=-1, keepdims=True)
    by_topic = np.stack([(centred**2).sum(axis=(0, 1)), (centred.sum(axis=0) ** 2).sum(axis=0)])
    # Sums of squared deviations of all topics, and of all but one.
    whole = by_topic.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        (log,), left = (
            np.log(len(errors) * own / joint)
            for own, joint in (whole, whole - n / (n - 1) * by_topic)
        )
    half = stdtrit(n - 1, (1 + confidence) / 2) * left.std() * np.sqrt(n - 1)
    found = np.exp(np.array([log, log - half, log + half]))
    low, high = (each if half > 0 else np.nan for each in found[1:])
    return float(found[0]) if np.isfinite(log) else np.nan, float(low), float(high)

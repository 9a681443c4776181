"""Limits over trials of a rate whose comparisons depend on each other within a trial.

References: Kish 1965, "Survey sampling", section 5.4 (ratios of sums over clusters, design effect);
    Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray, IntArray = NDArray[np.float64], NDArray[np.int64]
BATCHES, FEW = 20, 5
"""Batches of trials (trial t belongs to batch t % 20), and those with an event below which their
variance is too poor an estimate."""


def rate_limits(
    count: IntArray, events: IntArray, trials: IntArray, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return limits of events / count: Wilson's, by the effective number of comparisons.

    That is the number of independent comparisons whose rate would vary as that of the batches, at
    most all; at most the number of trials where few batches have an event, or none without one.

    count, events: int64 (batch, ...): comparisons and events in each batch.
    trials: int64 (...): trials with a comparison.
    Returns low, high: float64 (...), NaN without comparisons.
    """
    from scipy.special import stdtrit

    n_batches, total, sum_events = len(count), count.sum(axis=0), events.sum(axis=0)
    z = stdtrit(n_batches - 1, (1 + confidence) / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = sum_events / total
        errors = ((events - rate * count) ** 2).sum(axis=0) * n_batches / (n_batches - 1)
        size = np.where(errors > 0, rate * (1 - rate) * total**2.0 / errors, np.inf)
        few = np.minimum((events > 0).sum(axis=0), (events < count).sum(axis=0)) < FEW
        size = np.minimum(size, np.where(few, np.minimum(trials, total), total))
        centre = (rate + z * z / (2 * size)) / (1 + z * z / size)
        spread = np.sqrt(rate * (1 - rate) / size + z * z / (4 * size**2))
        half = z * spread / (1 + z * z / size)
    # At rates of 0 and 1 terms that rounding leaves do not cancel.
    low = np.where(sum_events == 0, np.where(total > 0, 0.0, np.nan), centre - half)
    return low, np.where((sum_events == total) & (total > 0), 1.0, centre + half)

"""Limits of the true mean of the run that happens to lead: simultaneous over the runs that might have led.

The estimand is random: the true mean of whichever run has the largest estimate X. The interval of a run by itself does not hold it, as a run
leads partly because its errors are large. Any interval that holds for all runs together does, and is too wide where one run is far ahead. Runs
that could not have led need no protection (locally simultaneous inference):

- With error ``nu``, all differences of two estimates are within their simultaneous margins m of the true ones. Then a run that leads has true
  differences of no more than m to any other, and an observed one of no more than 2 m to the leader: `may_lead`. The run with the largest true mean is among these.
- Lower limit: the largest studentised error of these runs exceeds its quantile with error (alpha - nu) / 2.
- Upper limit: the leader's mean is no larger than the largest true mean, and its estimate no smaller than that run's. So the leader's estimate plus
  the widest upper margin of these runs, each by itself, fails only where that one run's own limit fails: there is nothing to correct.

The interval always holds the estimate. The hybrid interval of Andrews, Kitagawa and McCloskey (2024) was tried and not taken: it is given that the leader was
selected, so where two runs tie it shrinks to the simultaneous lower limit, a point that excludes the estimate.

References: Zrnic and Fithian 2024, "Locally simultaneous inference", Annals of Statistics 52 (the choice; the argument for the upper limit is the one above); Andrews, Kitagawa and McCloskey 2024, "Inference
on winners", Quarterly Journal of Economics 139 (projection and hybrid intervals).
"""

import math
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
SHARE_OF_CHOICE = 0.1
"""Part nu of alpha that the choice of the runs that may lead can err."""


def error_of_choice(alpha: float) -> float:
    """Return nu, the error of the simultaneous margins of differences."""
    return SHARE_OF_CHOICE * alpha


def may_lead(means: Any, margins: Any) -> Any:
    """Return which runs might have led: bool (run,).

    means: float64 (run,): estimates.
    margins: float64 (run,): margins of the differences from the leader, which hold for all pairs of runs together; NaN
        where none is known.
    """
    behind = np.max(means) - np.asarray(means)
    return ~(behind > 2.0 * np.asarray(margins))


def winner_limits(
    means: Any, errors: Any, run_t: Any, chosen: Any, alpha: float
) -> tuple[float, float]:
    """Return the lower and the upper limit of the mean of the run with the largest estimate, the first of several.

    means, errors: float64 (run,): estimates and their standard errors.
    run_t: float (run, trial): studentised errors of all runs in resamples of the same topics, infinite without spread.
    chosen: Of `may_lead`.
    alpha: 1 - confidence.
    Returns low, high: NaN without enough trials, or where errors of the runs that may lead have no finite quantile:
        runs that vary on few topics.
    """
    run, trials = int(np.argmax(means)), run_t.shape[1]
    below = math.floor((alpha - error_of_choice(alpha)) / 2 * (trials + 1))
    if below == 0 or not errors[run] > 0:
        return math.nan, math.nan
    drawn = run_t[chosen].astype(np.float64)
    largest = np.partition(drawn.max(axis=0), trials - below)[trials - below]
    smallest = np.partition(drawn, below - 1, axis=1)[:, below - 1]
    with np.errstate(invalid="ignore"):
        up = np.max(-smallest * errors[chosen])
    low, high = means[run] - largest * errors[run], means[run] + up
    return (low if math.isfinite(low) else math.nan), (high if math.isfinite(high) else math.nan)

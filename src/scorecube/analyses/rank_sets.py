"""Rank sets from estimates and their covariance, without scores by topic."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.leaderboard import VARIABLES
from scorecube.analyses.pairs import pair_positions
from scorecube.collection.schema import label_array
from scorecube.errors import BadPlan
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.rank_sets import competition_ranks, normal_step_down, rank_limits

SYMMETRIC = 1e-8
"""Relative difference up to which a covariance matrix is symmetric, and share of its largest
eigenvalue up to which a negative one is rounding: matrices are often printed with eight digits."""


def rank_sets(
    estimates: Any, covariance: Any, *, alpha: float = 0.05, trials: int = 10_000, seed: int = 1
) -> xr.Dataset:
    """Return the rank sets of systems with normal estimates, such as those of a leaderboard.

    The estimand is the rank of each system's true value, 1 for the largest. The method is step-down
    max-T over all differences (Mogstad, Romano, Shaikh and Wilhelm 2024, with known covariance).

    Parameters
    ----------
    estimates
        (system,): mean scores; systems have the labels of a pandas Series, else numbers from 1.
    covariance
        (system, system): covariance of the estimates; or (system,): their standard errors, if they
        are independent.
    alpha
        1 - confidence of all sets together.
    trials, seed
        Of the simulation of the largest statistic.

    Returns
    -------
    sets
        ``estimate``, ``rank``, ``rank_low`` and ``rank_high`` along ``run``, in the given order.

    Raises
    ------
    BadPlan
        Estimates that are not finite, or a covariance of another shape, not symmetric, or not
        positive semidefinite.

    Examples
    --------
    >>> sets = rank_sets([0.9, 0.5, 0.45], [0.02, 0.05, 0.05])
    >>> sets["rank_low"].values.tolist(), sets["rank_high"].values.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    values, n = np.asarray(estimates, float), len(estimates)
    if not 0 < alpha < 1:
        raise BadPlan(f"alpha: expected a number between 0 and 1; found {alpha}", option="alpha")
    matrix, factor = covariance_of(values, np.asarray(covariance, float))
    first, second = pair_positions(n)
    variances = matrix[first, first] + matrix[second, second] - 2 * matrix[first, second]
    errors, differences = np.sqrt(np.maximum(variances, 0.0)), values[first] - values[second]
    tested, decided = np.flatnonzero(errors > 0), (errors == 0) & (differences != 0)
    statistics = np.abs(differences[tested]) / errors[tested]
    replicates = factor @ normal_words(factor.shape[1], trials, seed)
    decided[tested] = normal_step_down(
        first[tested], second[tested], statistics, errors[tested], replicates, alpha
    )
    better = np.where(differences > 0, first, second)[decided]
    worse = np.where(differences > 0, second, first)[decided]
    low, high = rank_limits(better, worse, n)
    found = {"rank": competition_ranks(values), "rank_low": low, "rank_high": high}
    about = {variable.name: variable.attrs() for variable in VARIABLES}
    sets = {name: (names.RUN, array, about[name]) for name, array in found.items()}
    index = getattr(estimates, "index", None)  # a method of lists
    labels: Any = index if hasattr(index, "tolist") else range(1, n + 1)
    return xr.Dataset(
        {"estimate": (names.RUN, values)} | sets,
        {names.RUN: label_array(map(str, labels))},
        {"alpha": alpha, "trials": trials},
    )


def covariance_of(values: Any, covariance: Any) -> tuple[Any, Any]:
    """Return the covariance of estimates as a matrix, and a factor F of it, F F'; or BadPlan."""
    n = len(values)
    if n < 2 or not np.isfinite(values).all():
        raise BadPlan("rank sets need 2 or more estimates, all of them finite")
    if covariance.shape == (n,) and (covariance >= 0).all():
        return np.diag(covariance**2), np.diag(covariance)
    if covariance.shape == (n, n) and np.isfinite(covariance).all():
        apart = np.abs(covariance - covariance.T).max()
        roots, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        if apart <= SYMMETRIC * np.abs(covariance).max() and roots[0] >= -SYMMETRIC * roots[-1] * n:
            return covariance, vectors * np.sqrt(np.maximum(roots, 0.0))
    raise BadPlan(
        f"covariance: expected {n} standard errors, or a positive semidefinite matrix of {n} x {n}"
    )


def normal_words(n: int, trials: int, seed: int) -> Any:
    """Return standard normal numbers by inversion of addressed words: float64 (n, trial)."""
    from scipy.special import ndtri

    key, words = stream_key(seed, names.Purpose.ESTIMATES), np.empty((trials, n), np.uint64)
    for trial in range(trials):
        words[trial] = np.random.Philox(counter=[0, trial, 0, 0], key=key).random_raw(n)
    return np.asarray(ndtri(((words >> np.uint64(11)) + 0.5) * 2.0**-53)).T.copy()

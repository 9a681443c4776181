"""Rank sets of systems from estimates and their covariance, such as those of a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from scorecube import names
from scorecube.analyses.pairs import pairs_of
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.schema import label_array
from scorecube.declare import Variable
from scorecube.errors import BadPlan
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.rank_sets import competition_ranks, normal_step_down, rank_limits

OF_RANKS = (
    Variable(
        "rank", "estimate", "rank of the mean, 1 for the best; the best rank of ties", kinds="iu"
    ),
    Variable("rank_low", "low", "best rank of the confidence set", of="rank", kinds="iu"),
    Variable("rank_high", "high", "worst rank of the confidence set", of="rank", kinds="iu"),
)


def rank_sets(
    estimates: pd.Series[float] | Sequence[float] | FloatArray,
    covariance: ArrayLike,
    *,
    alpha: float = 0.05,
    trials: int = 10_000,
    seed: int = 1,
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
    BadPlan, ValueError
        Estimates that are not finite, negative errors; a covariance of another shape, or not
        symmetric and positive semidefinite.

    Examples
    --------
    >>> sets = rank_sets([0.9, 0.5, 0.45], [0.02, 0.05, 0.05])
    >>> sets["rank_low"].values.tolist(), sets["rank_high"].values.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    values = np.asarray(estimates, float)
    matrix = np.asarray(covariance, float)
    n = len(estimates)
    independent = matrix.ndim == 1
    if not 0 < alpha < 1 or not np.isfinite(values).all():
        raise BadPlan("rank sets need finite estimates, and an alpha between 0 and 1")
    if len(matrix) != n or (independent and not (matrix >= 0).all()):
        raise BadPlan(f"covariance: expected {n} standard errors from 0, or a matrix of {n} x {n}")
    random = np.random.Generator(np.random.Philox(key=stream_key(seed, names.Purpose.ESTIMATES)))
    if independent:
        errors = matrix[:, np.newaxis] * random.standard_normal((trials, n)).T
        matrix = np.diag(matrix**2)
    else:
        errors = random.multivariate_normal(np.zeros(n), matrix, trials, check_valid="raise").T
    first, second = pairs_of(range(n))
    differences = values[first] - values[second]
    variances = matrix[first, first] + matrix[second, second] - 2 * matrix[first, second]
    decided = normal_step_down(first, second, differences, variances, errors, alpha)
    low, high = rank_limits(first[decided], second[decided], differences[decided], n)
    ranks = {"rank": competition_ranks(values), "rank_low": low, "rank_high": high}
    about = {variable.name: variable.attrs() for variable in OF_RANKS}
    labels = list(estimates.index if isinstance(estimates, pd.Series) else range(1, n + 1))
    coords = {names.RUN: label_array(map(str, labels))}
    sets = {name: (names.RUN, array, about[name]) for name, array in ranks.items()}
    sets |= {"estimate": (names.RUN, values, {})}
    return xr.Dataset(sets, coords, {"alpha": alpha, "trials": trials})

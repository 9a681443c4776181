"""Two kinds of systems, such as two generations, distinguished by their observed means under two metrics: a mixture of two normal distributions.

Both kinds have the same covariance; the likelihood is maximised by EM from several cuts along the sum of both standardised metrics. References: McLachlan and Peel 2000,
"Finite mixture models"; Schwarz 1978, "Estimating the dimension of a model", Annals of Statistics 6 (BIC).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEAST_SYSTEMS, LEAST_OF_KIND = 12, 4.0
"""Fewest systems that are divided, and the fewest of a kind."""
STEPS = 200
"""Most steps of the fit of two kinds."""
SETTLED = 1e-8
"""Largest change of a probability of belonging to a kind at which it ends."""
SMALLEST_VARIANCE = 1e-6
"""Added to variances of standardised means, which may all be on one line."""
N_CUTS = 3
MORE_PARAMETERS = 3
"""Of two kinds beside one: another mean under both metrics, and a share."""


def kinds_of(means: Floats, near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the kind of each system, 0 or 1: int64 (system,); all 0 where one normal distribution has the better BIC.

    means: float64 (2, system): observed means.
    near: bool (system,): systems that the mixture is fitted to; others belong to the kind whose centre is nearest.
    """
    one_kind = np.zeros(means.shape[1], np.int64)
    chosen = means[:, near]
    deviation = chosen.std(axis=1, keepdims=True)
    n = chosen.shape[1]
    if n < LEAST_SYSTEMS or not (np.ptp(chosen, axis=1) > 0).all():
        return one_kind
    x = (chosen - chosen.mean(axis=1, keepdims=True)) / deviation
    alone = _log_densities(x, np.ones((1, n)))
    best, shares = -np.inf, np.zeros((2, n))
    total = x.sum(axis=0)
    for cut in _cuts(total):
        above = np.where(total > cut, 0.99, 0.01)
        likelihood, found = _em(x, np.array([above, 1.0 - above]))
        if likelihood > best:
            best, shares = likelihood, found
    if not 2.0 * (best - float(alone.sum())) > MORE_PARAMETERS * np.log(n):
        return one_kind
    inside = (shares[1] > 0.5).astype(np.int64)
    if not 0 < inside.sum() < n:
        return one_kind
    kinds = one_kind
    kinds[near] = inside
    centres = np.array([chosen[:, inside == kind].mean(axis=1) for kind in (0, 1)])
    for system in np.flatnonzero(~near):
        distance = (np.abs(means[:, system] - centres) / deviation[:, 0]).sum(axis=1)
        kinds[system] = int(np.argmin(distance))
    return kinds


def _cuts(total: Floats) -> list[float]:
    """Return where systems are divided at first: at the widest gaps, and at the median."""
    ordered, least = np.sort(total), int(LEAST_OF_KIND) - 1
    gaps = np.diff(ordered)[least : len(ordered) - 1 - least]
    widest = least + np.argsort(-gaps, kind="stable")[:N_CUTS]
    return [*((ordered[widest] + ordered[widest + 1]) / 2).tolist(), float(np.median(total))]


def _em(x: Floats, shares: Floats) -> tuple[float, Floats]:
    """Return the log-likelihood and the shares of kinds (2, system), from those to begin with."""
    total = np.zeros(x.shape[1])
    for _ in range(STEPS):
        if shares.sum(axis=1).min() < LEAST_OF_KIND:
            return -np.inf, shares
        logs = _log_densities(x, shares)
        most = logs.max(axis=0)
        total = most + np.log(np.exp(logs - most).sum(axis=0))
        new = np.exp(logs - total)
        if np.abs(new - shares).max() < SETTLED:
            break
        shares = new
    return float(total.sum()), shares


def _log_densities(x: Floats, shares: Floats) -> Any:
    """Return the logarithms of the weighted densities of kinds (kind, system), fitted with these shares."""
    # Sums, not matrix products: their last digits depend on the number of threads.
    weights = shares.sum(axis=1, keepdims=True)
    centres = (shares[:, np.newaxis] * x).sum(axis=2) / weights
    away = x - centres[:, :, np.newaxis]
    n = x.shape[1]
    first, second, both = (
        (shares * away[:, i] * away[:, j]).sum() / n + (SMALLEST_VARIANCE if i == j else 0.0)
        for i, j in ((0, 0), (1, 1), (0, 1))
    )
    determinant = first * second - both**2
    squares = second * away[:, 0] ** 2 + first * away[:, 1] ** 2
    squares -= 2 * both * away[:, 0] * away[:, 1]
    constant = np.log(2 * np.pi) + np.log(determinant) / 2
    return np.log(weights / n) - squares / determinant / 2 - constant

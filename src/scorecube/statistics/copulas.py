"""Copulas of many systems: Gaussian with given margins and given correlations of scores, and regular vines by pyvinecopulib (the extra ``simulate``).

The correlation of two scores is a power series of the correlation of the normal variables behind them, with the coefficients of Hermite polynomials of
both margins (Lancaster 1957; Cario and Nelson 1997, "Modeling and generating random vectors with arbitrary marginal distributions and
correlation matrix"). So the normal correlations that give the sample's correlations are found by solving it, and covariances of a population are known.

Vines are those of Dissmann, Brechmann, Czado and Kurowicka 2013, "Selecting and estimating regular vine copulae and application to financial returns",
Computational Statistics & Data Analysis 59: each tree is a maximum spanning tree, here of Spearman's |rho|. The library's own random numbers cannot be
addressed by topic. So a vine maps independent uniform numbers of ours to dependent ones (inverse Rosenblatt transform), always for as many topics at once and on
one thread, as the last digits of its results depend on both.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from scorecube.statistics.margins import Margin

FloatArray = NDArray[np.float64]
Item = TypeVar("Item")


class Each(Protocol):
    """Applies a function to all items, as `map` does."""

    def __call__(
        self, function: Callable[[Item], FloatArray], items: Sequence[Item], /
    ) -> Iterable[FloatArray]:
        """Return the results in order."""


DEGREES = 40
"""Hermite polynomials in a series; the rest of the variance is stated with covariances."""
STEPS = 40
"""Bisections of a correlation: to 2e-12."""
ROWS_AT_ONCE = 16
"""Systems whose correlations with all are found together: the numbers stay in the processor's cache."""
FEW_CUTS, CUTS_A_UNIT = 4096, 500
"""Of more cuts, those within a 500th of a unit of the normal variable count as one: coefficients change by a millionth at most."""
LARGEST = 0.999
"""Largest absolute correlation of two normal variables."""
BITS = 20
"""Binary digits of loadings and of normal variables, so that their sums of products are exact in any order."""


def hermite_coefficients(margin: Margin) -> FloatArray:
    """Return the coefficients of normalised Hermite polynomials of degree 1, 2, ... of a score as a function of a normal variable.

    Their squares add up to the variance of the score, except for degrees above `DEGREES`.

    margin: Distribution of the score.
    """
    cuts, weights = scipy.special.ndtri(margin.cumulative[:-1]), np.diff(margin.support)
    inner = np.isfinite(cuts)
    cuts, weights = cuts[inner], weights[inner]
    heights = weights * np.exp(-0.5 * cuts * cuts) / math.sqrt(2.0 * math.pi)
    if len(cuts) > FEW_CUTS:
        cells = np.floor(cuts * CUTS_A_UNIT).astype(np.int64)
        cells -= cells[0]
        sums, moments = np.bincount(cells, heights), np.bincount(cells, heights * cuts)
        heights = sums[sums > 0.0]
        cuts = moments[sums > 0.0] / heights
    found = np.empty(DEGREES)
    before, now = np.zeros_like(cuts), np.ones_like(cuts)
    for k in range(1, DEGREES + 1):
        found[k - 1] = (heights * now).sum() / math.sqrt(k)
        before, now = now, (cuts * now - math.sqrt(k - 1) * before) / math.sqrt(k)
    return found


def score_covariances(normal: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the covariances of scores, float64 (system, system); of a system with itself only up to the series' last degree.

    normal: float64 (system, system): correlations of the normal variables.
    coefficients: float64 (system, degree): of `hermite_coefficients`.
    """
    total = np.zeros_like(normal)
    for column in coefficients.T[::-1]:
        total = (total + np.outer(column, column)) * normal
    return total


def normal_correlations(
    wanted: FloatArray, margins: Sequence[Margin], each: Each = map
) -> FloatArray:
    """Return the correlations of normal variables that give scores their correlations, where margins allow them.

    wanted: float64 (system, system): correlations of scores; NaN, of a system with a constant score, counts as 0.
    margins: Margin of each system.
    each: Does what `map` does, perhaps on several threads.
    """
    coefficients = np.array(list(each(hermite_coefficients, margins)))
    deviations = np.sqrt([max(margin.variance, 0.0) for margin in margins])
    products = np.outer(deviations, deviations)
    target = np.nan_to_num(wanted) * products

    def solve(first: int) -> FloatArray:
        """Return the correlations of some systems with those from the first of them on."""
        rows = slice(first, first + ROWS_AT_ONCE)
        some, others, goal = coefficients[rows].T, coefficients[first:].T, target[rows, first:]
        low, high = np.full(goal.shape, -LARGEST), np.full(goal.shape, LARGEST)
        terms = [np.outer(a, b) for a, b in zip(some, others, strict=True)][::-1]
        for _ in range(STEPS):
            middle = (low + high) / 2.0
            total = terms[0] * middle
            for term in terms[1:]:
                total += term
                total *= middle
            above = total > goal
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.asarray((low + high) / 2.0)

    found = np.zeros(wanted.shape)
    firsts = range(0, len(wanted), ROWS_AT_ONCE)
    for first, part in zip(firsts, each(solve, firsts), strict=True):
        found[first : first + ROWS_AT_ONCE, first:] = part
    found = np.triu(found, 1)
    found += found.T
    found[products == 0.0] = 0.0
    np.fill_diagonal(found, 1.0)
    return found


def loadings(correlations: FloatArray, rank: int) -> FloatArray:
    """Return loadings on independent normal variables that nearly have given correlations.

    correlations: float64 (system, system): need not be positive semidefinite.
    rank: Largest number of variables.
    Returns loadings: float64 (system, variable): multiples of 2**-BITS; the squares of a row add up to 1 but for that
        rounding.
    """
    values, vectors = np.linalg.eigh(correlations)
    order = np.argsort(-values, kind="stable")[:rank]
    order = order[values[order] > 0.0]
    # The sign of an eigenvector is the library's choice.
    chosen = vectors[:, order]
    chosen = chosen * np.where(chosen.sum(axis=0) < 0, -1.0, 1.0)
    found = chosen * np.sqrt(values[order])
    lengths = np.sqrt((found**2).sum(axis=1))
    found[lengths == 0.0, 0] = 1.0  # of a constant score, which no variable changes
    found /= np.where(lengths == 0.0, 1.0, lengths)[:, np.newaxis]
    return np.asarray(np.rint(found * 2.0**BITS) / 2.0**BITS)


TRUNCATION = 20
"""Trees with dependence; pairs of systems are independent given the others in those above."""
FAMILIES = ("gaussian", "student", "clayton", "gumbel", "frank", "joe")
"""Candidates for each pair, also rotated; the largest likelihood decides. With independence among them and AIC, simulated systems are less
correlated than those of the sample (adhoc8, AP: by .05 at the median), as weak dependence is left out in all trees."""
TOPICS = 1000
"""Topics that are always transformed together."""


@dataclass(frozen=True)
class Vine:
    """A fitted vine copula.

    model: ``pyvinecopulib.Vinecop``.
    """

    model: Any

    def dependent(self, uniforms: FloatArray) -> FloatArray:
        """Return dependent uniform numbers.

        uniforms: float64 (topic, system): independent; `TOPICS` topics.
        """
        return np.asarray(self.model.inverse_rosenblatt(np.asfortranarray(uniforms), num_threads=1))


def fit_vine(ranks: FloatArray, n_threads: int = 1) -> Vine:
    """Return the vine copula of a sample of topics.

    ranks: float64 (system, topic): 1 to the number of topics, without ties.
    n_threads: Number of threads; the vine does not depend on it.
    Raises ModuleNotFoundError: pyvinecopulib is not installed.
    """
    import pyvinecopulib

    families = [getattr(pyvinecopulib.families, name) for name in FAMILIES]
    controls = pyvinecopulib.FitControlsVinecop(
        family_set=families,
        selection_criterion="loglik",
        tree_criterion="rho",
        trunc_lvl=TRUNCATION,
        num_threads=n_threads,
        seeds=[1],
    )
    sample = np.asfortranarray((ranks / (ranks.shape[1] + 1)).T)
    return Vine(pyvinecopulib.Vinecop.from_data(sample, controls=controls))

"""Family-wise errors: whether tests of all pairs of runs find a difference that does not exist, in simulated collections.

A simulated collection has all runs of the real one, correlated as they are, on new topics. All have the same true mean, or the best is better by a stated
difference; then only pairs of the others, and results with the wrong sign, are errors.
"""

from collections.abc import Sequence

import numpy as np
import scipy

from scorecube import names
from scorecube.analyses.base import Analysis, Array
from scorecube.analyses.pair_tests.maxt import MaxT
from scorecube.analyses.pair_tests.tukey import Tukey
from scorecube.analyses.simulation.populations import fit_population
from scorecube.analyses.simulation.samples import result_of, sample_cube
from scorecube.statistics.multiple_testing import adjusted

FAMILIES = ("tukey", "holm", "maxt")
NO_SPREAD = 1e-12
"""Variance of differences, as a square of scores, that is no more than rounding: such a pair has no p-value."""


def draw_collections(
    scores: Array, delta: float, copula: str, seed: int, trials: int, n: int
) -> tuple[Array, int]:
    """Return simulated collections with equal true means, or one that is larger.

    scores: float64 (run, topic): of one cell.
    delta: By how much the mean of the best run is larger.
    copula: ``independent``, or the Gaussian copula of all runs together.
    seed, trials, n: Of the random numbers; number of collections, and of topics of each.
    Returns collections: float64 (trial, run, topic).
    Returns best: The run with the larger mean; -1 for none.
    """
    population = fit_population(
        scores[np.newaxis],
        copula="independent" if copula == "independent" else "gaussian",
        null=not delta,
        delta=delta or None,
    )
    drawn = population.draw(seed, 0, trials * n).reshape(len(scores), trials, n)
    best = int(np.argmax(scores.mean(axis=1))) if delta else -1
    return np.ascontiguousarray(drawn.swapaxes(0, 1)), best


def smallest_error(test: str, scores: Array, best: int, resamples: int, seed: int) -> float:
    """Return the smallest adjusted p-value of an error; 1 if there is none.

    test: One of `FAMILIES`.
    scores: float64 (run, topic).
    best: Run with a larger true mean, -1 for none.
    resamples, seed: Of Tukey's and the max-T test.
    """
    first, second = np.triu_indices(len(scores), 1)
    if test == "holm":
        found = holm_t(scores)
    else:
        analysis: Analysis = Tukey() if test == "tukey" else MaxT()
        cube = sample_cube(scores[np.newaxis], np.arange(len(scores)))
        result = result_of(analysis, cube, resamples, seed)["p_value"]
        found = result.isel({names.METRIC: 0}).values
    means = scores.mean(axis=1)
    better = np.where(means[first] > means[second], first, second)
    with_best = (first == best) | (second == best)
    wrong = found[~with_best | (better != best)]
    return float(np.min(wrong[np.isfinite(wrong)], initial=1.0))


def holm_t(scores: Array) -> Array:
    """Return p-values of paired t tests of all pairs with Holm's adjustment; NaN for pairs whose differences do not vary.

    Examples
    --------
    >>> holm_t(np.array([[0.1, 0.2, 0.4], [0.2, 0.5, 0.5], [0.1, 0.2, 0.4]])).round(3).tolist()
    [0.259, nan, 0.259]
    """
    n_topics = scores.shape[1]
    first, second = np.triu_indices(len(scores), 1)
    deviations = scores - scores.mean(axis=1, keepdims=True)
    products = deviations @ deviations.T
    squares = products[first, first] + products[second, second] - 2 * products[first, second]
    difference = scores.mean(axis=1)[first] - scores.mean(axis=1)[second]
    varies = squares > NO_SPREAD
    error = np.sqrt(np.where(varies, squares, 1.0) / (n_topics - 1) / n_topics)
    p = 2 * scipy.special.stdtr(n_topics - 1, -np.abs(difference) / error)
    return adjusted(np.where(varies, p, np.nan), "holm")


def level_of(p: float, alphas: Sequence[float], rounding: float) -> int:
    """Return the position of the smallest level that a p-value reaches; their number for none."""
    reached = p <= np.array(alphas) * (1.0 + rounding)
    return int(np.argmax(reached)) if reached.any() else len(alphas)

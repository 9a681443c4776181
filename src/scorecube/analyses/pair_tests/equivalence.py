"""Equivalence of runs within a margin: two one-sided t tests.

References: Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15; Lakens 2017, "Equivalence tests", Social Psychological
and Personality Science 8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.family import Pairs
from scorecube.analyses.pair_tests.pair_scores import (
    pair_groups,
    pairs_at_once,
    score_differences,
    score_rounding,
    whole_cells,
)
from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadPlan, option
from scorecube.statistics.integer_scores import Units, single_scores


def equivalence_field() -> float | None:
    """Declare the margin of the equivalence test."""
    return option_field(
        None,
        "Also test whether the means differ by less than this margin, in units of the score (two one-sided t tests).",
        detail="It is the largest difference of means that does not matter.",
        above=0,
        maximum=LARGEST_SCORE,
        unit="score",
        finalize=True,
    )


def check_levels(margin: float | None, alphas: Sequence[float]) -> None:
    """Refuse levels whose 1 - 2 alpha interval does not exist.

    Raises BadPlan: An alpha of .5 or more with a margin.
    """
    if margin is not None and max(alphas) >= 0.5:
        raise BadPlan(
            f"{option('equivalence', margin)} needs every alpha below 0.5, found {max(alphas):g}: the interval of the test has "
            "confidence 1 - 2 alpha",
            option="alphas",
        )


@dataclass(frozen=True, eq=False)
class Moments:
    """Differences of the means of pairs.

    difference, error, freedom: float64 (cell, pair): difference and its standard error in units of the score, and the
        degrees of freedom of the error.
    """

    difference: Any
    error: Any
    freedom: Any

    def unequal(self) -> Any:
        """Return the p-values of the two-sided t test; without spread 0, or 1 without a difference."""
        from scipy.special import stdtr  # scipy.special takes long to import

        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2.0 * stdtr(self.freedom, -np.abs(self.difference) / self.error)
        return np.where(self.error == 0.0, np.where(self.difference == 0.0, 1.0, 0.0), p)


def equivalence(
    moments: Moments, margin: float, alphas: Sequence[float], *, certain: bool
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the variables of `classical_quantities.EQUIVALENCE` by cell.

    moments: Of the pairs.
    margin: Largest difference of means that does not matter, in units of the score.
    alphas: Levels, each below .5.
    certain: Whether a difference without spread is taken for the true one. Otherwise nothing is known of it: no limits, p = 1.
    """
    from scipy.special import stdtr, stdtrit

    difference, error, freedom = moments.difference, moments.error, moments.freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        # The larger of both one-sided p-values.
        outside = stdtr(freedom, (np.abs(difference) - margin) / error)
    known = error == 0.0
    outside[known] = np.where(certain & (np.abs(difference[known]) < margin), 0.0, 1.0)
    unequal = moments.unequal()
    unequal[known] = np.where(certain, unequal[known], 1.0)
    half = np.stack([stdtrit(freedom, 1.0 - alpha) * error for alpha in alphas], axis=1)
    half[np.broadcast_to(known[:, np.newaxis], half.shape) & ~np.bool_(certain)] = np.nan
    return {
        "equivalence_p_value": outside,
        "difference_p_value": unequal,
        "difference_low": difference[:, np.newaxis] - half,
        "difference_high": difference[:, np.newaxis] + half,
    }


def moments_over_topics(
    scores: np.ndarray[Any, Any], pairs: Pairs, known_freedom: float | None = None
) -> Moments:
    """Return the moments of pairs of runs.

    scores: float64 (cell, run, topic).
    pairs: Positions of runs.
    known_freedom: Degrees of freedom; None for the number of topics less 1.
    """
    difference, error = np.empty((2, len(scores), len(pairs[0])))
    for group in pair_groups(whole_cells(scores, single_scores), *pairs):
        moments = mean_and_error(group.units, group.first, group.second)
        difference[group.cell], error[group.cell] = moments
    freedom = np.full_like(error, known_freedom or scores.shape[2] - 1)
    return Moments(difference, error, freedom)


def mean_and_error(units: Units, first: Any, second: Any) -> tuple[Any, Any]:
    """Return mean and standard error of the differences of pairs, in units of the score: float64 (pair,)."""
    n, rounding = units.n_topics, score_rounding(units)
    mean, error = np.empty((2, len(first)))
    step = pairs_at_once(n)
    for low in range(0, len(first), step):
        part = slice(low, low + step)
        differences = score_differences(units.whole, rounding, first[part], second[part])
        spread = differences.std(axis=1, ddof=1)
        spread[np.ptp(differences, axis=1) <= 2 * rounding] = 0.0
        mean[part] = differences.sum(axis=1) / (n * units.fine_units)
        error[part] = spread / (np.sqrt(n) * units.fine_units)
    return mean, error

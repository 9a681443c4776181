"""Known bounds of scores, and what they say of differences of runs that hardly vary."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.family import Pairs
from scorecube.analyses.pair_tests.pairwise_complete import pairs_at_once
from scorecube.errors import BadPlan, option
from scorecube.statistics.bounded_means import (
    LEAST_VARIED,
    SHARES,
    SMALLEST,
    betting_limits,
    log_wealth,
    n_varied,
    unit_scores,
)


def bounds_field() -> tuple[float, ...]:
    """Declare the bounds of scores."""
    return option_field(
        (),
        "Least and greatest score that there can be: limits stay within, and hold where scores hardly vary.",
        minimum=-1e12,
        maximum=1e12,
        may_be_empty=True,
        unit="score",
        finalize=True,
        since="0.3.0",
    )


def check_bounds(bounds: Sequence[float], scores: Any, by_system: bool) -> None:
    """Refuse bounds that are none, or that scores exceed, and those of systems with repetitions.

    bounds: At least one number.
    scores: float64 (cell, run, topic), NaN for missing.
    by_system: Whether systems are compared.
    Raises BadPlan: Naming the option.
    """
    given = option("bounds", ",".join(f"{each:g}" for each in bounds))
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        raise BadPlan(f"{given} must be two numbers, the smaller one first", option="bounds")
    if by_system:
        raise BadPlan(
            f"{given} is for runs: means over repetitions have errors of their own", option="bounds"
        )
    least, most = float(np.nanmin(scores)), float(np.nanmax(scores))
    if least < bounds[0] or most > bounds[1]:
        raise BadPlan(
            f"{given} does not hold all scores, which lie between {least:g} and {most:g}",
            option="bounds",
        )


def within_bounds(
    values: dict[str, Any],
    scores: Any,
    pairs: Pairs,
    margin: float,
    alphas: Sequence[float],
    bounds: tuple[float, float],
) -> dict[str, Any]:
    """Return the variables of a test of equivalence, those of pairs that differ in few ways by betting.

    A pair whose difference is the same on all but `LEAST_VARIED` topics has too few others for a t test. A p-value by betting is valid whatever the
    distribution (1 / money, Waudby-Smith and Ramdas 2024): it is small only if the bounds and the number of topics allow it.

    values: Of `equivalence.equivalence`.
    scores: float64 (cell, run, topic), none missing.
    pairs: Positions of runs.
    margin, alphas: Of the test.
    bounds: Of scores.
    """
    changed = {name: np.array(each) for name, each in values.items()}
    widest = bounds[1] - bounds[0]
    step = pairs_at_once(len(SHARES) * scores.shape[2])
    edges = np.array([(widest - margin) / (2 * widest), 0.5]).clip(SMALLEST)
    for cell, of_runs in enumerate(scores):
        for low in range(0, len(pairs[0]), step):
            part = slice(low, low + step)
            differences = of_runs[pairs[0][part]] - of_runs[pairs[1][part]]
            # Differences that are equal but for rounding are equal.
            few = np.flatnonzero(n_varied(np.round(differences / widest, 12)) < LEAST_VARIED)
            if not few.size:
                continue
            x = unit_scores(differences[few], (-widest, widest))
            # Against differences of the margin or more on either side, and against none.
            outside, none = (
                [np.exp(-log_wealth(side, np.full(len(x), edge))) for side in (x, 1.0 - x)]
                for edge in edges
            )
            place = (cell, low + few)
            changed["equivalence_p_value"][place] = np.minimum(np.maximum(*outside), 1.0)
            changed["difference_p_value"][place] = np.minimum(2.0 * np.minimum(*none), 1.0)
            for k, alpha in enumerate(alphas):
                limits = betting_limits(x, alpha)
                for name, limit in zip(("difference_low", "difference_high"), limits, strict=True):
                    changed[name][cell, k, low + few] = widest * (2.0 * limit - 1.0)
    return changed

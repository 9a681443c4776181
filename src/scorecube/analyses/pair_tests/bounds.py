"""Known bounds of scores, and what they say of differences of runs that hardly vary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.family import Pairs
from scorecube.analyses.pair_tests.pair_scores import pairs_at_once
from scorecube.collection.doubts import UNIT_METRICS
from scorecube.collection.selection import cell_metrics, cells, n_cells
from scorecube.collection.topic_groups import FREEDOM
from scorecube.errors import BadPlan, option
from scorecube.statistics.bounded_means import (
    LEAST_VARIED,
    SHARES,
    SMALLEST,
    at_bounds,
    betting_limits,
    log_wealth,
    n_varied,
    unit_scores,
)

KNOWN: Literal["known"] = "known"
"""Word for the bounds of each metric, where they are known."""
Kind = tuple[bool, bool]
"""Of `kind_of`."""


def bounds_field(
    default: tuple[float, ...] | Literal["known"] = KNOWN, *, finalize: bool = True
) -> tuple[float, ...] | Literal["known"]:
    """Declare the bounds of scores."""
    return option_field(
        default,
        "Least and greatest score that there can be: limits stay within, and hold where scores hardly vary; known: 0,1 of metrics such as AP, and of scores 0 and 1; or none.",
        aliases={"none": ()},
        minimum=-1e12,
        maximum=1e12,
        may_be_empty=True,
        unit="score",
        finalize=finalize,
    )


def bounds_of_cells(
    bounds: Sequence[float] | str, cube: xr.Dataset, by_system: bool, kinds: Sequence[Kind] = ()
) -> list[tuple[float, float] | None]:
    """Return the bounds of each cell, None where there are none.

    Known are 0 and 1, of scores within them whose metric has them by definition, or that are all 0 or 1. Topic groups, whose scores are sums, and systems have none.

    kinds: Of the scores of each cell, where they are known.
    """
    if bounds == KNOWN and (by_system or FREEDOM in cube.attrs):
        return [None] * n_cells(cube)
    if bounds == KNOWN and not kinds:
        kinds = [kind_of(each) for each in cells(cube)[0]]
    return bounds_of(bounds, cell_metrics(cube), kinds)


def kind_of(scores: Any) -> Kind:
    """Return whether scores, NaN for missing, lie between 0 and 1, and whether all are 0 or 1."""
    there = scores[~np.isnan(scores)]
    return bool(((there >= 0.0) & (there <= 1.0)).all()), bool(at_bounds(there))


def bounds_of(
    bounds: Sequence[float] | str, metrics: Sequence[str], kinds: Sequence[Kind]
) -> list[tuple[float, float] | None]:
    """Return the bounds of each cell, given its metric and `kind_of` its scores."""
    if not isinstance(bounds, str):
        return [(bounds[0], bounds[1]) if bounds else None] * len(metrics)
    return [
        (0.0, 1.0) if within and (UNIT_METRICS.match(metric) or binary) else None
        for metric, (within, binary) in zip(metrics, kinds, strict=True)
    ]


def check_bounds(bounds: Sequence[float] | str, scores: Callable[[], Any], by_system: bool) -> None:
    """Refuse bounds that are none, or that scores exceed, and those of systems with repetitions.

    bounds: Numbers or `KNOWN`, which nothing is said of.
    scores: Returns float64 (cell, run, topic), NaN for missing.
    by_system: Whether systems are compared.
    Raises BadPlan: Naming the option.
    """
    if isinstance(bounds, str) or not bounds:
        return
    given = option("bounds", ",".join(f"{each:g}" for each in bounds))
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        raise BadPlan(f"{given} must be two numbers, the smaller one first", option="bounds")
    if by_system:
        raise BadPlan(
            f"{given} is for runs: means over repetitions have errors of their own", option="bounds"
        )
    every = scores()
    least, most = float(np.nanmin(every)), float(np.nanmax(every))
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
    bounds: Sequence[tuple[float, float] | None],
) -> dict[str, Any]:
    """Return the variables of a test of equivalence, those of pairs that differ in few ways by betting.

    A pair whose difference is the same on all but `LEAST_VARIED` topics has too few others for a t test. A p-value by betting is valid whatever the
    distribution (1 / money, Waudby-Smith and Ramdas 2024): it is small only if the bounds and the number of topics allow it.

    values: Of `equivalence.equivalence`.
    scores: float64 (cell, run, topic), none missing.
    pairs: Positions of runs.
    margin, alphas: Of the test.
    bounds: Of the scores of each cell.
    """
    changed = {name: np.array(each) for name, each in values.items()}
    step = pairs_at_once(len(SHARES) * scores.shape[2])
    for cell, (of_runs, known) in enumerate(zip(scores, bounds, strict=True)):
        if known is None:
            continue
        widest = known[1] - known[0]
        edges = np.array([(widest - margin) / (2 * widest), 0.5]).clip(SMALLEST)
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

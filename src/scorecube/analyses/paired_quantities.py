"""What results of `Paired` hold, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests.pair_quantities import (
    ADJUSTED,
    CELL,
    LEVEL,
    OF_ADJUSTMENTS,
    OF_BASELINE,
    PAIR,
    RESIDUAL,
    by_method,
    by_row,
    d_z,
    effect_size,
    mean_difference,
    n_tested,
)
from scorecube.collection.schema import Derived, derive, limits, variables
from scorecube.statistics.multiple_testing import adjusted

_CELL = (*CELL, names.TEST)
_LEVEL = (*_CELL, names.ALPHA)
LIMITS = (*LEVEL, names.PAIR)
EQUIVALENCE = variables(
    *(PAIR, "p_value", "1"),
    equivalence_p_value="p-value of the hypothesis that the means differ by the margin or more",
    difference_p_value="p-value of the hypothesis that the means do not differ: two-sided paired t test",
)
"""Additional variables of results with a margin."""
VARIABLES = (
    *variables((*_CELL, names.PAIR), "p_value", "1", p_value="p-value, two-sided"),
    *variables(
        _LEVEL,
        "count",
        "pairs",
        "iu",
        headings={"significant": "significant pairs"},
        significant="pairs with a p-value below alpha",
    ),
    *variables(
        _LEVEL,
        "share",
        "1",
        form=".1%",
        headings={"share": "share of pairs"},
        share="share of pairs with a p-value below alpha",
    ),
    *variables((*CELL, names.RUN), "estimate", "score", mean="mean score of a run"),
    *variables(
        *(PAIR, "standard_error", "score"),
        of="mean_difference",
        standard_error="standard error of the difference of means",
    ),
    *variables(PAIR, "statistic", "1", t="t of the pair, first run minus second"),
    *limits(
        "mean_difference",
        LIMITS,
        "score",
        "{} limit of the difference of means, confidence 1 - alpha (1 - 2 alpha with a margin)",
        name="difference",
    ),
    *RESIDUAL,
    *EQUIVALENCE,
)
OPTIONAL = (("difference_p_value", "equivalence_p_value"),)
VERDICTS = np.array(["equivalent", "different", "inconclusive"], object)
MARGIN = "equivalence"
"""Attribute of a result with a margin."""


def along_tests(each: Derived) -> Derived:
    """Return a derived quantity of a result with several tests."""
    dims = (*_CELL, *each.variable.dims[len(CELL) :])
    return replace(each, variable=replace(each.variable, dims=dims))


def _p_values(result: xr.Dataset) -> list[xr.Variable]:
    return [result.variables[f"{name}_p_value"] for name in ("equivalence", "difference")]


@derive(LIMITS, "label", "1", "O", needs=(MARGIN,))
def verdict_on_pair(result: xr.Dataset) -> xr.DataArray:
    """Verdict on the pair by itself.

    A pair is equivalent if both one-sided tests find its difference smaller than the margin, else different if the t test finds a
    difference, else inconclusive.
    """
    alphas = result.variables[names.ALPHA]
    level = alphas.values[..., np.newaxis]

    def decide(within: Any, unequal: Any) -> Any:
        otherwise = np.where(unequal < level, 1, 2)
        return VERDICTS[np.where(within < level, 0, otherwise)]

    return by_row(decide, (*alphas.dims, names.PAIR), *_p_values(result))


def _decisions(result: xr.Dataset, method: str, *p: Any) -> Iterator[tuple[Any, Any]]:
    """Yield for each level whether pairs are equivalent, and whether they differ, of adjusted p-values."""
    within, unequal = (adjusted(each, method) for each in p)
    return ((within < alpha, unequal < alpha) for alpha in result[names.ALPHA].values)


@derive((*CELL, *ADJUSTED, names.VERDICT), "count", "pairs", "i", needs=(MARGIN,))
def verdict_pairs(result: xr.Dataset) -> xr.DataArray:
    """Pairs of each verdict under each adjustment; tested pairs are their sum."""

    def count(method: str, within: Any, unequal: Any) -> list[Any]:
        return [
            [equal.sum(), (different & ~equal).sum(), (~different & ~equal).sum()]
            for equal, different in _decisions(result, method, within, unequal)
        ]

    found = by_method(count, (*ADJUSTED, names.VERDICT), *_p_values(result))
    return found.assign_coords({names.VERDICT: VERDICTS})


DERIVED = (
    n_tested,
    mean_difference,
    d_z,
    effect_size,
    *map(along_tests, (*OF_BASELINE, *OF_ADJUSTMENTS)),
    verdict_on_pair,
    verdict_pairs,
)

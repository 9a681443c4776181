"""What results of tests of pairs of runs by resampling hold, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.monte_carlo_error import monte_carlo_margin
from scorecube.analyses.quantities import quantity
from scorecube.collection.schema import Derived, Variable, derive, variables
from scorecube.statistics.multiple_testing import METHODS, adjusted

CELL = (names.METRIC, names.GAIN)
PAIR = (*CELL, names.PAIR)
LEVEL = (*CELL, names.ALPHA)
ADJUSTED = (names.ADJUSTMENT, names.ALPHA)
PAIRS, P_VALUE, SCORE = ("count", "pairs", "iu"), ("p_value", "1"), ("estimate", "score")
STATISTIC, REPLICATES = ("statistic", "1"), ("count", "pairs x trials", "iu")
"""Roles, units and kinds of several variables."""
RESIDUAL = variables(
    *(CELL, "estimate", "score^2"), residual_variance="residual variance of runs and topics"
)
"""Of the two-way analysis of variance."""
REPETITIONS = variables((names.RUN,), "count", "runs", "iu", repetitions="runs of the system")
"""Additional variable of results that compare systems."""
VARIABLES = (
    *variables(
        *(PAIR, "count", "trials", "i"),
        reached="trials with a statistic at least as extreme as the observed one",
    ),
    *variables(PAIR, *P_VALUE, p_value="p-value; with the bootstrap, achieved significance level"),
    *variables(
        PAIR, *STATISTIC, t="t statistic of the pair, first run minus second; NaN for equal scores"
    ),
    *variables(
        *((*LEVEL, names.PAIR), *SCORE),
        kth_difference="absolute difference of means in the trial with the (B alpha)-th largest statistic",
    ),
    *variables(
        LEVEL,
        *PAIRS,
        headings={"significant": "significant pairs"},
        significant="pairs with a p-value below alpha",
    ),
    *variables(
        *(LEVEL, "share", "1"),
        form=".1%",
        headings={"share": "share of pairs"},
        share="discriminative power: share of pairs with a p-value below alpha",
    ),
    *variables(
        *(LEVEL, *SCORE),
        form=".2f",
        estimated_difference="difference needed for significance: largest over pairs",
    ),
    *variables((*CELL, names.RUN), *SCORE, mean="mean score of a run"),
    *variables(
        CELL,
        *PAIRS,
        headings={"degenerate_pairs": "pairs with equal scores"},
        degenerate_pairs="pairs with equal scores on all topics",
    ),
    *variables(
        CELL,
        *PAIRS,
        headings={"constant_pairs": "pairs with a constant difference"},
        constant_pairs="pairs with the same difference on all topics: p = 0",
    ),
    *variables(
        CELL, *REPLICATES, undefined_replicates="replicates without t: no difference and no spread"
    ),
    *variables(
        *(CELL, *REPLICATES),
        infinite_replicates="replicates with infinite t: a difference without spread",
    ),
    *RESIDUAL,
    *REPETITIONS,
)
OPTIONAL = (("repetitions",), ("residual_variance",))


def by_row(
    make: Callable[..., Any], dims: Sequence[Hashable], *arrays: xr.Variable
) -> xr.DataArray:
    """Return what a function makes, along some dims, of variables along their last dim, at each position of the first one's other dims.

    Of millions of pairs, no more than those of one metric are held beside the result.
    """
    outer, shape = arrays[0].dims[:-1], arrays[0].shape[:-1]
    rows = []
    for place in np.ndindex(shape):
        at = dict(zip(outer, place, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            made = make(*(each.isel(at, missing_dims="ignore").values for each in arrays))
        rows.append(np.asarray(made))
    return xr.DataArray(np.reshape(rows, (*shape, *rows[0].shape)), dims=(*outer, *dims))


def by_method(
    count: Callable[..., Any], dims: Sequence[Hashable], *arrays: xr.Variable
) -> xr.DataArray:
    """Return what a function of the adjustment, and of rows as of `by_row`, makes under each adjustment, the first dim."""
    found = by_row(lambda *rows: [count(method, *rows) for method in METHODS], dims, *arrays)
    return found.assign_coords({names.ADJUSTMENT: list(METHODS)})


def differences(result: xr.Dataset) -> tuple[Callable[[Any], Any], xr.Variable]:
    """Return how differences of means of pairs are made, and of what."""
    from scorecube.collection.run_pairs import positions_of_pairs  # has kernels

    first, second = positions_of_pairs(result)
    return lambda mean: mean[first] - mean[second], result.variables["mean"]


@derive(CELL, "count", "pairs", "i")
def n_tested(result: xr.Dataset) -> xr.DataArray:
    """Pairs that have a p-value."""
    sizes = {dim: result.sizes[dim] for dim in CELL if dim in result.sizes}
    return xr.DataArray(np.full(tuple(sizes.values()), result.sizes[names.PAIR]), dims=sizes)


@derive(PAIR, "estimate", "score")
def mean_difference(result: xr.Dataset) -> xr.DataArray:
    """Difference of means, first minus second run."""
    of, values = differences(result)
    return by_row(of, (names.PAIR,), values)


# t of systems has the variance of repetitions, too, and that of the unpaired test the variance between topics.
@derive(PAIR, "estimate", "1", unless=("repetitions",))
def d_z(result: xr.Dataset) -> xr.DataArray:
    """Difference in units of the standard deviation of the pair's differences over topics."""
    paired = 1.0 if result.attrs["analysis"] != "unpaired" else math.nan
    n_units = degrees_of_freedom(result) + 1
    t, n = quantity(result, "t").variable, n_units * result.attrs.get("in_bag", 1.0)
    return by_row(lambda t, n: paired * t / np.sqrt(n), (names.PAIR,), t, n)


@derive(PAIR, "estimate", "1")
def effect_size(result: xr.Dataset) -> xr.DataArray:
    """Difference in units of the residual standard deviation of runs and topics (Sakai 2014, SIGIR Forum 48(1))."""
    difference = quantity(result, "mean_difference").variable
    variance = result.variables["residual_variance"]
    return by_row(lambda row, cell: row / np.sqrt(cell), (names.PAIR,), difference, variance)


@derive(PAIR, "standard_error", "score", of="mean_difference")
def standard_error(result: xr.Dataset) -> xr.DataArray:
    """Standard error of the pair's difference of means; missing where the means, or all scores, are equal."""
    difference = quantity(result, "mean_difference").variable
    t = quantity(result, "t").variable
    return by_row(lambda row, t: np.abs(row / t), (names.PAIR,), difference, t)


def degrees_of_freedom(result: xr.Dataset) -> xr.Variable:
    """Return the degrees of freedom of Student's t: of systems those of the result, else topics less one."""
    if "degrees_of_freedom" in result:
        return result.variables["degrees_of_freedom"]
    return xr.Variable((), result.attrs["n_topics"]) - 1


def students_limit(result: xr.Dataset, sign: int) -> xr.DataArray:
    """Return a limit of differences at each level, by Student's t."""
    from scipy.special import stdtrit

    difference = quantity(result, "mean_difference").variable
    error, alphas = quantity(result, "standard_error").variable, result.variables[names.ALPHA]
    tails = alphas.values[..., np.newaxis] / 2

    def end(row: Any, error: Any, freedom: Any) -> Any:
        return row - sign * stdtrit(freedom, tails) * error

    dims = (*alphas.dims, names.PAIR)
    return by_row(end, dims, difference, error, degrees_of_freedom(result))


@derive((*LEVEL, names.PAIR), "low", "score", of="mean_difference")
def difference_low(result: xr.Dataset) -> xr.DataArray:
    """Lower limit of the difference of means by Student's t, each pair by itself, confidence 1 - alpha (1 - 2 alpha with a margin)."""
    return students_limit(result, -1)


@derive((*LEVEL, names.PAIR), "high", "score", of="mean_difference")
def difference_high(result: xr.Dataset) -> xr.DataArray:
    """Upper limit of the difference of means by Student's t, each pair by itself, confidence 1 - alpha (1 - 2 alpha with a margin)."""
    return students_limit(result, 1)


def _with_sign(result: xr.Dataset, sign: int) -> xr.DataArray:
    of, values = differences(result)
    alphas = result[names.ALPHA].values

    def count(p: Any, row: Any) -> list[Any]:
        found = sign * of(row) > 0
        return [(found & (p < alpha)).sum() for alpha in alphas]

    return by_row(count, (names.ALPHA,), result.variables["p_value"], values)


@derive(LEVEL, "count", "runs", "i", needs=("baseline", "p_value"))
def significant_better(result: xr.Dataset) -> xr.DataArray:
    """Runs that are significantly better than the baseline."""
    return _with_sign(result, 1)


@derive(LEVEL, "count", "runs", "i", needs=("baseline", "p_value"))
def significant_worse(result: xr.Dataset) -> xr.DataArray:
    """Runs that are significantly worse than the baseline."""
    return _with_sign(result, -1)


@derive(LEVEL, "estimate", "score", needs=("p_value", "estimated_difference"))
def largest_not_significant(result: xr.Dataset) -> xr.DataArray:
    """Largest difference in mean score of a pair that is not significant; NaN without such a pair."""
    of, values = differences(result)
    alphas = result[names.ALPHA].values

    def largest(p: Any, row: Any) -> list[float]:
        found = np.abs(of(row))
        return [found[p >= alpha].max() if (p >= alpha).any() else math.nan for alpha in alphas]

    return by_row(largest, (names.ALPHA,), result.variables["p_value"], values)


@derive(LEVEL, "count", "pairs", "i", needs=("p_value", "trials"))
def undecided_pairs(result: xr.Dataset) -> xr.DataArray:
    """Pairs with alpha inside the 95 % Monte Carlo interval of their p-value."""
    trials = int(result.attrs["trials"])
    margins = {alpha: monte_carlo_margin(alpha, trials) for alpha in result[names.ALPHA].values}

    def count(p: Any) -> list[Any]:
        return [(np.abs(p - alpha) < margin).sum() for alpha, margin in margins.items()]

    return by_row(count, (names.ALPHA,), result.variables["p_value"])


@derive((*CELL, names.RANK), "p_value", "1", needs=("p_value",))
def sorted_p_value(result: xr.Dataset) -> xr.DataArray:
    """P-values of pairs in ascending order, missing ones last: how many pairs have one up to a value."""
    ranks = np.arange(1, result.sizes[names.PAIR] + 1)
    found = by_row(np.sort, (names.RANK,), result.variables["p_value"])
    return found.assign_coords({names.RANK: ranks})


def _to_adjust(result: xr.Dataset) -> tuple[Callable[..., Any], list[xr.Variable]]:
    """Return how the p-values of pairs are made that an adjustment takes, and of what.

    Those by trials are (count + 1) / (B + 1), which is never 0 (Phipson and Smyth 2010).
    """
    p_values = result.variables["p_value"]
    if "reached" not in result:
        return np.asarray, [p_values]
    all_and_one = int(result.attrs["trials"]) + 1
    return lambda _, count: (count + 1) / all_and_one, [p_values, result.variables["reached"]]


def adjusted_p_values(result: xr.Dataset, method: str) -> xr.DataArray:
    """Return p-values adjusted for the number of pairs."""
    of, values = _to_adjust(result)
    return by_row(lambda *rows: adjusted(of(*rows), method), (names.PAIR,), *values)


ADJUSTMENTS = tuple(
    Derived(
        Variable(f"p_value_{method}", PAIR, "f", "1", f"p-values, {meaning}", "p_value"),
        partial(adjusted_p_values, method=method),
        needs=("p_value",),
    )
    for method, meaning in (
        ("holm", "adjusted for their number (Holm 1979: family-wise error rate)"),
        ("bh", "adjusted (Benjamini and Hochberg 1995: false discovery rate)"),
    )
)
"""The p-values of pairs by Holm's, and by Benjamini and Hochberg's adjustment."""


@derive((*CELL, *ADJUSTED), "count", "pairs", "i", needs=("p_value",))
def adjusted_significant(result: xr.Dataset) -> xr.DataArray:
    """Pairs with an adjusted p-value below alpha."""
    of, values = _to_adjust(result)
    alphas = result[names.ALPHA].values

    def count(method: str, *rows: Any) -> list[Any]:
        p = rows[0] if method == "none" else adjusted(of(*rows), method)
        return [(p < alpha).sum() for alpha in alphas]

    return by_method(count, ADJUSTED, *values)


@derive((*CELL, *ADJUSTED), "share", "1", form=".1%", heading="share of pairs", needs=("p_value",))
def adjusted_share(result: xr.Dataset) -> xr.DataArray:
    """Share of the tested pairs with an adjusted p-value below alpha."""
    return quantity(result, "adjusted_significant") / quantity(result, "n_tested")


OF_BASELINE = (significant_better, significant_worse)
OF_ADJUSTMENTS = (*ADJUSTMENTS, adjusted_significant, adjusted_share)
OF_TRIALS = (n_tested, mean_difference, *OF_BASELINE, undecided_pairs, sorted_p_value)
"""Of every test by resampling."""
OF_DIFFERENCES = (d_z, effect_size, standard_error, difference_low, difference_high)
"""Of every test: effect sizes, and limits by Student's t, of each pair by itself."""
DERIVED = (*OF_TRIALS, largest_not_significant, *OF_ADJUSTMENTS, *OF_DIFFERENCES)
"""Of tests that take each pair by itself."""

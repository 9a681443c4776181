"""Errors of means that are drawn from the normal distribution with the covariance of runs, in place of resamples of topics.

With many topics the largest |t| over many pairs is distributed as with normal errors of the same covariance, also where pairs are far more than
topics. The cost of a trial does not depend on the number of topics. Error rates beside those of resampled topics: docs/believe/ranks.md.

Reference: Chernozhukov, Chetverikov and Kato 2013, "Gaussian approximations and multiplier bootstrap for maxima of sums of high-dimensional random
vectors", Annals of Statistics 41(6).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from scorecube.analyses.options import option_field
from scorecube.errors import BadPlan, option
from scorecube.kernels.linalg.panel_product import in_panels
from scorecube.kernels.random.uniforms import uniforms
from scorecube.statistics.integer_scores import ROOM, SMALLEST, Units, whole_scores

AUTO: Literal["auto"] = "auto"
TOPICS: Literal["topics"] = "topics"
GAUSSIAN: Literal["gaussian"] = "gaussian"
MANY_TOPICS = 5000
"""Topics from which on ``auto`` draws errors."""
BITS = 19
"""Bits of the scores whose products are summed, beside the sign: sums of `AT_ONCE` topics are exact in any order."""
AT_ONCE = 2**13
SINGULAR = 1e-9
"""Share of a variance that rounding may leave of none."""


def resampling_field() -> Literal["topics", "gaussian", "auto"]:
    """Declare what is drawn in a trial."""
    return option_field(
        TOPICS,
        f"Draw topics, or normal errors of means with the covariance of runs (gaussian), at a cost that does not grow with topics; auto: gaussian from {MANY_TOPICS:,} topics on.",
        since="0.3.0",
    )


def refuse_gaussian(what: str, name: str) -> BadPlan:
    """Return the error for what needs resampled topics.

    what: The reason.
    name: Option that must change.
    """
    return BadPlan(
        f"{option('resampling', GAUSSIAN)} draws no topics: {what}; resample them with {option('resampling', 'topics')}",
        option=name,
    )


def normal_numbers(inputs: Mapping[str, Any], low: int, high: int) -> Any:
    """Return the normal numbers of trials low .. high-1, shared by all cells: float64 (run, trial) in panels."""
    from scipy.special import ndtri

    return in_panels(
        ndtri(uniforms(inputs["error_key"], len(inputs["sums_0"]), low, high)).T, np.float64
    )


def products_of_scores(scores: Any, units: Units) -> Any:
    """Return `Moderated.products` of the scores (run, topic) of a cell, in one pass over topics.

    The scores of a run are rounded to `BITS` of the largest, so that sums are exact, whatever the library and its threads.
    """
    values = own_values(scores, units)
    n_runs, n = values.shape
    largest = np.maximum(values.max(axis=1), -values.min(axis=1))
    scale = 2.0 ** (BITS - np.frexp(largest)[1])[:, np.newaxis]
    total = np.zeros((n_runs, n_runs), np.int64)
    for low in range(0, n, AT_ONCE):
        part = np.rint(values[:, low : low + AT_ONCE] * scale)
        total += (part @ part.T).astype(np.int64)
    return total / scale / scale.T


def root_of(matrix: Any) -> Any:
    """Return the lower triangular root of a covariance matrix (Cholesky), by operations that all machines round alike; rows may depend on others."""
    left, root = np.array(matrix), np.zeros_like(matrix)
    least = SINGULAR * matrix.diagonal()
    for k in range(len(matrix)):
        if left[k, k] > least[k]:
            root[k:, k] = left[k:, k] / np.sqrt(left[k, k])
            left[k + 1 :, k + 1 :] -= np.multiply.outer(root[k + 1 :, k], root[k + 1 :, k])
    return root


def own_values(scores: Any, units: Units) -> Any:
    """Return `Units.values`, or `own_deviations` where a number was subtracted from each topic."""
    if units.fine_units == whole_scores(scores)[1]:
        return units.values
    return own_deviations(scores, units)


def own_deviations(scores: Any, units: Units) -> Any:
    """Return the scores of each run (run, topic) less their mean, in the units of `Units.values`, for sums over resamples that are exact.

    The values of `units` will not do where a number was subtracted from each topic: that changes no difference of runs, but their means.
    """
    n, per_score = units.n_topics, units.n_topics * units.per_score
    shifted = scores - np.median(scores)
    largest = max(float(np.abs(shifted).max()), SMALLEST)
    step = 2.0 ** math.ceil(math.log2(4.0 * n * largest * per_score / ROOM))
    whole = np.rint(shifted * (per_score / step))
    return (whole - np.rint(whole.mean(axis=1, keepdims=True))) * step

"""Errors of means that are drawn from the normal distribution with the covariance of runs, in place of resamples of topics.

With many topics the largest |t| over many pairs is distributed as with normal errors of the same covariance, also where pairs are far more than
topics. The cost of a trial does not depend on the number of topics. Error rates beside those of resampled topics: docs/believe/ranks.md.

Reference: Chernozhukov, Chetverikov and Kato 2013, "Gaussian approximations and multiplier bootstrap for maxima of sums of high-dimensional random
vectors", Annals of Statistics 41(6).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from scorecube.analyses.options import option_field
from scorecube.collection.rows import AT_ONCE as ROWS_AT_ONCE
from scorecube.collection.rows import Rows
from scorecube.errors import BadPlan, option
from scorecube.kernels.linalg.panel_product import in_panels
from scorecube.kernels.random.uniforms import uniforms
from scorecube.kernels.threads import on_threads
from scorecube.statistics.bounded_means import LEAST_VARIED, n_varied
from scorecube.statistics.integer_scores import (
    BLIND,
    DENOMINATORS,
    DIGITS,
    LEAST_USUAL,
    PROBED_TOPICS,
    ROOM,
    SMALLEST,
    SNAP,
    Units,
    cannot_hold,
    first_denominator,
    is_integral,
    usual_difference,
    whole_scores,
)

AUTO: Literal["auto"] = "auto"
TOPICS: Literal["topics"] = "topics"
GAUSSIAN: Literal["gaussian"] = "gaussian"
MANY_TOPICS = 5000
"""Topics from which on ``auto`` draws errors."""
BITS = 19
"""Bits of the scores whose products are summed, beside the sign: sums of `AT_ONCE` topics are exact in any order."""
AT_ONCE = 2**13
PRODUCTS_AT_ONCE = 32
"""Such sums that are in memory."""
TOPICS_AT_ONCE = 2**20
"""Topics of all runs that are in memory, those of a stored chunk at most."""
SINGULAR = 1e-9
"""Share of a variance that rounding may leave of none."""


def resampling_field() -> Literal["topics", "gaussian", "auto"]:
    """Declare what is drawn in a trial."""
    return option_field(
        TOPICS,
        f"Draw topics, or normal errors of means with the covariance of runs (gaussian), at a cost that does not grow with topics; auto: gaussian from {MANY_TOPICS:,} topics on.",
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

    return in_panels(ndtri(uniforms(inputs["error_key"], len(inputs["sums_0"]), low, high)).T)


class Seen(NamedTuple):
    """What one look at the scores of runs says; arrays (run,) but for `some`: the scores of topics at equal distances (run, topic).

    least, greatest, mean, deviation: Of the scores.
    denominator: The first of `DENOMINATORS` that makes them integers; 0 if there is none.
    per_score: This, or the units for which sums are exact.
    total: Sum of the scores in these units.
    at_bounds, varied: Whether all scores are 0 or 1, and whether some topics show that `LEAST_VARIED` vary.
    """

    least: Any
    greatest: Any
    mean: Any
    deviation: Any
    denominator: Any
    per_score: Any
    total: Any
    at_bounds: Any
    varied: Any
    some: Any

    @property
    def kind(self) -> tuple[bool, bool]:
        """`bounds.kind_of` the scores."""
        within = bool((self.least >= 0.0).all() and (self.greatest <= 1.0).all())
        return within, bool(self.at_bounds.all())

    @property
    def finite(self) -> bool:
        """Whether no score is missing or infinite."""
        return bool(np.isfinite([self.least, self.greatest]).all())


@dataclass(frozen=True, eq=False)
class RowUnits:
    """The scores of a cell as integers, of which only sums are in memory: as `Units`, whose `values` and `whole` are made where they are asked for.

    rows: The scores.
    seen: What is known of them.
    rounded, fine_units: As of `Units`.
    totals: float64 (run,): sums of the scores, in units.
    """

    rows: Rows
    seen: Seen
    rounded: bool
    fine_units: float
    totals: Any

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return self.rows.n_topics

    @property
    def sums(self) -> Any:
        """As of `Units`."""
        return self.totals

    @property
    def per_score(self) -> float:
        """As of `Units`."""
        return self.fine_units

    @property
    def snap(self) -> float:
        """As of `Units`."""
        return SNAP * self.n_topics if self.rounded else 0.0

    @property
    def snap_sum(self) -> float:
        """As of `Units`."""
        return self.n_topics * self.snap

    @property
    def to_mean(self) -> float:
        """As of `Units`."""
        return 1.0 / (float(self.n_topics) ** 2 * self.per_score)

    def whole_of(self, runs: Any) -> Any:
        """Return the scores of some runs, in units: float64 (run, topic)."""
        return np.rint(self.rows[runs] * self.fine_units)

    def centred(self, whole: Any, runs: Any) -> Any:
        """Return scores in units (run, ...) less the means of their runs, times the number of topics."""
        return whole * self.n_topics - self.totals[runs, np.newaxis]


def look(rows: Rows) -> Seen:
    """Look at all scores once."""
    return Seen(*map(np.concatenate, zip(*rows.each(partial(_see, rows)), strict=True)))


def _see(rows: Rows, part: slice) -> Seen:
    values, n = rows[part], rows.n_topics
    with np.errstate(invalid="ignore"):  # of infinite scores, which are refused
        own = (
            values.min(axis=1),
            values.max(axis=1),
            values.mean(axis=1),
            values.std(axis=1, ddof=1),
        )
        denominator = np.array([first_denominator(row) for row in values])
        most = room_of(n, np.abs(own[:2]).max(axis=0))
        per_score = np.where((denominator > 0) & (denominator <= most), denominator, finest(most))
        total = np.rint(values * per_score[:, np.newaxis]).sum(axis=1)
        some = values[:, :: max(1, n // PROBED_TOPICS)]
        varied = n_varied(some) >= LEAST_VARIED
        binary = (denominator == 1.0) & (own[0] >= 0.0) & (own[1] <= 1.0)
    return Seen(*own, denominator, per_score, total, binary, varied, some)


def room_of(n: int, largest: Any) -> Any:
    """Return the most units in a score of 1 for which sums over n topics are exact, and no finer than printed scores, given the largest score."""
    return min(ROOM / (4.0 * n), DIGITS) / np.maximum(largest, LEAST_USUAL)


def finest(most: Any) -> Any:
    """Return the largest power of two up to a number."""
    return 2.0 ** np.floor(np.log2(most))


def row_units(rows: Rows, seen: Seen) -> RowUnits:
    """Return the scores of a cell, none missing, in units in which the sums of all topics are exact.

    Raises BadPlan: Rounding could change a mean by more than `BLIND` of the standard error of a usual difference.
    """
    n, largest = rows.n_topics, float(np.abs([seen.least, seen.greatest]).max())
    most, exact = float(room_of(n, largest)), common_denominator(rows, seen.denominator)
    rounded = not 0.0 < exact <= most
    units, usual = float(finest(most)) if rounded else exact, usual_difference(seen.some)
    if rounded and SNAP * math.sqrt(n) > BLIND * usual * units:
        raise BadPlan(cannot_hold(2 * largest, usual, n))
    return RowUnits(rows, seen, rounded, units, seen.total * (units / seen.per_score))


def common_denominator(rows: Rows, own: Any) -> float:
    """Return the first of `DENOMINATORS` that is one of all runs, of the first of each: float64 (run,), 0 for none; 0 if there is none."""

    def holds(denominator: float) -> bool:
        others = np.flatnonzero(denominator % own)
        return all(bool(is_integral(rows[run], denominator).all()) for run in others)

    return next((float(each) for each in DENOMINATORS if holds(each)), 0.0) if own.all() else 0.0


def products_of_scores(units: RowUnits) -> Any:
    """Return `Moderated.products` of a cell.

    The scores of a run are rounded to `BITS` of the largest, so that sums are exact, whatever the library and its threads. In memory
    they take half of what scores take, of `TOPICS_AT_ONCE` topics.
    """
    rows, n = units.rows, units.n_topics
    ends = np.stack([units.seen.least, units.seen.greatest], axis=1) * units.fine_units
    largest = np.abs(units.centred(ends, slice(None))).max(axis=1)
    scale = 2.0 ** (BITS - np.frexp(largest)[1])[:, np.newaxis]
    total = np.zeros((len(rows), len(rows)), np.int64)
    short = np.empty((len(rows), min(n, TOPICS_AT_ONCE)), np.float32)
    for first in range(0, n, TOPICS_AT_ONCE):
        stop = min(first + TOPICS_AT_ONCE, n)

        def fill(part: slice, first: int = first, stop: int = stop) -> None:
            # Not rounded to the units of the run with the largest scores.
            own = rows.on(slice(first, stop), part) * units.fine_units
            values = units.centred(own if units.rounded else np.rint(own), part)
            short[part, : stop - first] = np.rint(values * scale[part])

        def multiply(low: int, stop: int = stop - first) -> Any:
            part = short[:, low : min(low + AT_ONCE, stop)].astype(np.float64)
            return (part @ part.T).astype(np.int64)

        rows.each(fill)
        lows = range(0, stop - first, AT_ONCE)
        for some in (lows[k : k + PRODUCTS_AT_ONCE] for k in range(0, len(lows), PRODUCTS_AT_ONCE)):
            total += sum(on_threads(multiply, some, short.size))
    return total / scale / scale.T


def bytes_of_products(n_runs: int, n_topics: int) -> float:
    """Return the memory of `products_of_scores`."""
    read = 6 * 8 * max(ROWS_AT_ONCE, n_topics) + 16 * n_runs * AT_ONCE
    sums = 8 * PRODUCTS_AT_ONCE * n_runs**2
    return float(
        4 * n_runs * min(n_topics, TOPICS_AT_ONCE) + sums + min(read, 48 * n_runs * n_topics)
    )


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

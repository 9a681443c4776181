"""Swap curves: rates by bin, the differences that they require, and shares that reach these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses import jackknife
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray, IntArray
from scorecube.declare import Variable, along, limits_of
from scorecube.kernels.swap import count_and_swaps, orders
from scorecube.statistics.swap_rates import (
    Required,
    rate_limits,
    required_differences,
    share_beyond,
)

MOST_BINS = 1000
ALPHA = 0.05
"""Bins of a cell, and level of the limits of all pairs of metrics together."""
VARIABLES = (
    *along(
        ("metric", "gain", "sampling", "size", "bin"),
        Variable(
            "count",
            "count",
            "pairs and trials whose first difference lies in the bin",
            "comparisons",
            kinds="i",
        ),
        Variable(
            "swaps",
            "count",
            "comparisons on which the second sample disagrees, by the rule",
            "comparisons",
            kinds="i",
        ),
        Variable("swap_rate", "share", "swaps / count; missing where the bin is empty"),
        limits_of("swap_rate", "limit (95 %) over trials with these topics and runs"),
        Variable(
            "tie_share",
            "share",
            "share of comparisons with an exact tie on at least one sample",
            form=".2f",
        ),
    ),
    *along(
        ("metric", "gain", "sampling", "size", "confidence"),
        Variable(
            "required_difference",
            "estimate",
            "lower edge of the bin that the rule chooses",
            "score",
            form=".2f",
        ),
        limits_of(
            "required",
            "95 % limit, other topics, as many trials",
            "score",
            form=".2f",
            of="required_difference",
        ),
        Variable(
            "required_suffix",
            "estimate",
            "lowest edge from which on no swap rate is too high",
            "score",
            form=".2f",
        ),
        Variable(
            "required_difference_smooth",
            "estimate",
            "where fitted rates reach the accepted",
            "score",
            form=".3f",
        ),
        Variable(
            "open_bin", "flag", "only the open last bin has an accepted rate: more may be required"
        ),
        Variable(
            "relative_difference",
            "share",
            "of the largest mean",
            form=".0%",
            heading="required difference / largest mean",
        ),
        Variable(
            "share",
            "share",
            "share of comparisons with the required difference",
            form=".1%",
            heading="share of comparisons",
        ),
        limits_of(
            "share", "limit (95 %) of the share with other topics, of as many trials", form=".0%"
        ),
        Variable(
            "share_behind",
            "share",
            "largest share of all metrics and gain settings, minus this one",
            form=".0%",
        ),
        limits_of("share_behind", "limit, 95 % for all pairs together", form=".0%"),
    ),
    *along(
        ("metric", "gain", "sampling", "size"),
        Variable(
            "max_performance",
            "estimate",
            "over runs, trials and both samples",
            "score",
            heading="largest mean",
        ),
        Variable("tau", "estimate", "mean of Kendall's tau-a between the rankings by both samples"),
        limits_of("tau", "95 % limit of tau of these runs with other topics, of as many trials"),
    ),
    *along(
        ("sampling", "size"),
        Variable(
            "unique",
            "estimate",
            "mean number of distinct topics",
            "topics",
            form=".1f",
            heading="distinct topics in a sample",
        ),
        Variable(
            "common",
            "estimate",
            "mean number in both samples",
            "topics",
            form=".1f",
            heading="topics in both samples",
        ),
    ),
)


class Curve(NamedTuple):
    """Comparisons of all trials, (cell, sampling, size, ...), of all topics or without some.

    by_batch: Comparisons and swaps, (batch, ..., bin), of which `counts` has the sum.
    ties: With a tie on at least one sample, (..., bin).
    share: Of comparisons with `Required.smooth`, (..., confidence); NaN where none is.
    tau: Mean of Kendall's tau-a between the rankings by both samples, (...).
    """

    by_batch: tuple[IntArray, IntArray]
    counts: IntArray
    ties: IntArray
    required: Required
    share: FloatArray
    tau: FloatArray


def curve_of(
    counts: IntArray, confidence: Sequence[float], two_ties_are_swaps: bool, last_is_open: bool
) -> Curve:
    """Return the curve of the counts of a block, int64 (..., batch, code)."""
    by_batch = count_and_swaps(np.moveaxis(counts, -2, 0), two_ties_are_swaps)
    count, swaps = (of_batches.sum(axis=0) for of_batches in by_batch)
    same, ties, opposite, both_tied = orders(counts.sum(axis=-2))
    tau = (same - opposite).sum(axis=-1) / count.sum(axis=-1)
    ties[..., 0] += both_tied
    required = required_differences(count, swaps, confidence, count.shape[-1] - last_is_open)
    share = np.where(required.isotonic < 0, np.nan, share_beyond(count, required.smooth))
    return Curve(by_batch, count, ties, required, share, tau)


def curves_of(blocks: Sequence[IntArray], *how: Any) -> list[Curve]:
    """Return the curve of each block, see `curve_of`; those of one shape are made together."""
    curves: dict[int, Curve] = {}
    for shape in {counts.shape for counts in blocks}:
        places = [place for place, counts in enumerate(blocks) if counts.shape == shape]
        made = curve_of(np.stack([blocks[place] for place in places]), *how)
        for k, place in enumerate(places):
            count, swaps = (of[:, k] for of in made.by_batch)
            required = Required(*(of[k] for of in made.required))
            others = made.counts[k], made.ties[k], required, made.share[k], made.tau[k]
            curves[place] = Curve((count, swaps), *others)
    return [curves[place] for place in range(len(blocks))]


def rates(curve: Curve, filled: IntArray) -> dict[str, Any]:
    """Return rates by bin, with limits over trials, of which `filled` (..., bin) have any.

    swap_rate(b) = swap_counter(b) / counter(b), of each bin b (Sakai 2005, Figure 1).
    """
    _, swaps_by_batch = curve.by_batch
    swaps = swaps_by_batch.sum(axis=0)
    low, high = rate_limits(*curve.by_batch, filled)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = swaps / curve.counts
        tie_share = curve.ties / curve.counts
    return {
        "count": curve.counts,
        "swaps": swaps,
        "swap_rate": rate,
        "swap_rate_low": low,
        "swap_rate_high": high,
        "tie_share": tie_share,
    }


def differences(
    table: ScoreTable, curve: Curve, left_out: list[Curve], chosen: IntArray, widths: FloatArray
) -> dict[str, Any]:
    """Return required differences, with limits over topics, (..., confidence).

    chosen: Bins that the rule of the analysis requires.
    widths: float64 (cell,): width of bins.
    """
    required = curve.required
    width = widths[:, np.newaxis, np.newaxis, np.newaxis]
    difference = lower_edges(chosen, width)
    low, high = jackknife.limits(required.smooth, [of.required.smooth for of in left_out], "log")
    # No difference exceeds the range.
    most = np.array([grid.high - grid.low for grid in table.grids]).reshape(width.shape)
    return {
        "required_difference": difference,
        "required_low": np.minimum(low * width, difference),
        "required_high": np.clip(high * width, difference, np.maximum(most, difference)),
        "required_suffix": lower_edges(required.suffix, width),
        "required_difference_smooth": required.smooth * width,
    }


def shares(curve: Curve, left_out: list[Curve], chosen: IntArray) -> dict[str, Any]:
    """Return the shares of comparisons with the required difference, and how far from the best."""
    share = np.where(chosen < 0, np.nan, share_beyond(curve.counts, chosen))
    low, high = jackknife.limits(curve.share, [part.share for part in left_out], "logit")
    none = np.isnan(share).all(axis=0)
    at_least = np.nan_to_num(share)
    behind = np.where(none, np.nan, at_least.max(axis=0) - at_least)
    best = at_least.argmax(axis=0)[np.newaxis]
    smooth, *others = (
        np.take_along_axis(part.share, best, axis=0) - part.share for part in (curve, *left_out)
    )
    n_pairs = max(1, math.comb(len(share), 2))  # for all together (Bonferroni)
    ends = jackknife.limits(smooth, others, "plain", 1 - ALPHA / n_pairs)
    places = np.arange(len(share)).reshape(-1, *[1] * (share.ndim - 1))
    behind_low, behind_high = np.where(places == best, np.nan, ends)  # it is not behind itself
    return {
        "share": share,
        "share_low": np.minimum(low, share),
        "share_high": np.maximum(high, share),
        "share_behind": behind,
        "share_behind_low": np.minimum(behind_low, behind),
        "share_behind_high": np.maximum(behind_high, behind),
    }


def largest_differences(table: ScoreTable, summary: str) -> FloatArray:
    """Return the largest difference of two samples that there can be, float64 (cell,)."""

    def largest() -> FloatArray:
        units = table.units
        if summary != "mean":  # the worst topic of one run, the best of another
            units = units.reshape(len(units), -1, 1)
        return np.asarray(np.ptp(units, axis=1).max(axis=-1) * table.grid_units)

    found: FloatArray = table.once(f"largest differences by {summary}", largest)
    return found


def bin_widths(table: ScoreTable, summary: str) -> FloatArray:
    """Return the width of a cell's bins: .01 times the power of ten that keeps them few."""
    many = 100 * largest_differences(table.part_of or table, summary) / (MOST_BINS - 2)
    return np.asarray(10.0 ** np.ceil(np.log10(np.maximum(many, 1))) / 100)


def lower_edges(bins: NDArray[Any], width: NDArray[Any]) -> FloatArray:
    """Return the lower edges of bins, as they are written in decimals; NaN of bin -1."""
    return np.where(bins < 0, np.nan, np.round(bins * width, 2))

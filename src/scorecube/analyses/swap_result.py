"""What the counts of the swap method say: swap rates, required differences, shares, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.protocol import Totals
from scorecube.analyses.swap_bins import Swap, bin_edges, n_closed
from scorecube.analyses.swap_quantities import VARIABLES
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray, IntArray
from scorecube.kernels.swap import count_and_swaps, orders
from scorecube.statistics.batches import rate_limits
from scorecube.statistics.required_difference import Required, required_differences, share_beyond


@dataclass(frozen=True, eq=False)
class Curve:
    """Comparisons of all trials (cell, size), of all topics or without a group of them.

    count, swaps: int64 (cell, size, bin).
    required: Of `required_differences`.
    share: float64 (cell, size, confidence): share of comparisons with `Required.smooth`, or NaN.
    tau: float64 (cell, size): mean of Kendall's tau-a over trials.
    """

    count: IntArray
    swaps: IntArray
    required: Required
    share: FloatArray
    tau: FloatArray


def curve_of(swap: Swap, counts: IntArray) -> Curve:
    """Return the curve of the counts of a block, int64 (cell, size, batch, code)."""
    total = counts.sum(axis=2)
    count, swaps = count_and_swaps(total, swap.rule == "s1")
    same, _, opposite, _ = orders(total)
    closed = n_closed(swap, count.shape[-1])
    required = required_differences(count, swaps, swap.confidence, closed)
    share = np.where(required.isotonic < 0, np.nan, share_beyond(count, required.smooth))
    tau = (same - opposite).sum(axis=-1) / count.sum(axis=-1)
    return Curve(count, swaps, required, share, tau)


def make_result(swap: Swap, table: Table, totals: Totals) -> xr.Dataset:
    """Return the labelled result."""
    curve = curve_of(swap, totals["counts"])
    left_out = [curve_of(swap, arrays["counts"]) for arrays in totals.left_out]
    values = of_samples(swap, table, totals) | of_bins(swap, curve, totals)
    values |= of_curve(swap, curve)
    values |= of_topics(swap, table, curve, left_out, values["required_difference"])
    # What is shown is at the edge of a bin, and limits are of the smooth curve.
    values["share_low"] = np.minimum(values["share_low"], values["share"])
    values["share_high"] = np.maximum(values["share_high"], values["share"])
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = values["required_difference"] / values["max_performance"][..., np.newaxis]
    values["relative_difference"] = relative
    n_bins = curve.count.shape[-1]
    if swap.bins == "auto":
        filled = np.flatnonzero(curve.count.any(axis=(0, 1)))
        n_bins = max(2, int(filled.max(initial=0)) + 1)
    for variable in VARIABLES:
        if names.BIN in variable.dims:
            values[variable.name] = values[variable.name][..., :n_bins]
    coords = {
        names.SIZE: np.array(swap.sizes(table)),
        names.BIN: np.arange(n_bins),
        "lower": (names.BIN, bin_edges(swap, n_bins)),
        names.CONFIDENCE: np.array(swap.confidence),
    }
    options = ("sampling", "rule", "share", "required", "summary")
    return table.dataset(VARIABLES, values, coords, {name: getattr(swap, name) for name in options})


def of_samples(swap: Swap, table: Table, totals: Totals) -> dict[str, Any]:
    """Return what is known of the samples: largest mean and difference, overlap, and tau."""
    n_pairs = len(table.runs) * (len(table.runs) - 1) // 2
    n_samples = table.trials * (n_pairs if swap.share == "none" else 1)
    units = table.grid_units[:, np.newaxis]
    lows = np.array([grid.low for grid in table.grids])[:, np.newaxis]
    of_mean = totals["largest"] / np.array(swap.n_drawn(table))[:, np.newaxis]
    first, second, both = totals["distinct"].T
    return {
        "max_performance": lows + of_mean[..., 0] * units,
        "max_difference": of_mean[..., 1] * units,
        "unique": (first + second) / (2 * n_samples),
        "common": both / n_samples,
        "tau_of_trial": totals["order"] / n_pairs,
    }


def of_bins(swap: Swap, curve: Curve, totals: Totals) -> dict[str, Any]:
    """Return counts and rates by bin, with limits over trials."""
    total = orders(totals["counts"].sum(axis=2))
    by_batch = count_and_swaps(np.moveaxis(totals["counts"], 2, 0), swap.rule == "s1")
    low, high = rate_limits(*by_batch, totals["filled"])
    ties = total.tied.copy()
    ties[..., 0] += total.both_tied
    with np.errstate(invalid="ignore", divide="ignore"):
        rate, tie_share = curve.swaps / curve.count, ties / curve.count
    return {
        "count": curve.count,
        "swaps": curve.swaps,
        "both_zero": total.both_tied,
        "swap_rate": rate,
        "swap_rate_low": low,
        "swap_rate_high": high,
        "swap_rate_fitted": curve.required.fitted,
        "tie_share": tie_share,
    }


def of_curve(swap: Swap, curve: Curve) -> dict[str, Any]:
    """Return the required differences by both rules, and the share that reaches the chosen one."""
    count, required = curve.count, curve.required
    n_bins, edges = count.shape[-1], bin_edges(swap, count.shape[-1])
    chosen = required.suffix if swap.required == "suffix" else required.isotonic
    at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
    reached = np.take_along_axis(at_least, np.maximum(chosen, 0), axis=-1) / at_least[..., :1]
    share = np.where(chosen < 0, np.nan, reached)
    shares = np.nan_to_num(share)
    behind = np.where(np.isnan(share).all(axis=0), np.nan, shares.max(axis=0) - shares)
    return {
        "required_difference": np.where(chosen < 0, np.nan, edges[chosen]),
        "required_suffix": np.where(required.suffix < 0, np.nan, edges[required.suffix]),
        "required_difference_smooth": required.smooth * swap.bin_width,
        "open_bin": chosen >= n_closed(swap, n_bins),
        "share": share,
        "share_behind": behind,
        "support": edges[n_bins - 1 - np.argmax(count[..., ::-1] > 0, axis=-1)],
        "tau": curve.tau,
    }


def of_topics(
    swap: Swap, table: Table, curve: Curve, left_out: list[Curve], required: FloatArray
) -> dict[str, Any]:
    """Return limits over topics: of required differences, shares, how far these are behind, tau.

    required: float64 (cell, size, confidence): at the edge of a bin. Those by another rule than the
        isotonic one have no limits.
    """
    smooth, shares, taus = (
        np.array(values)
        for values in (
            [part.required.smooth for part in left_out],
            [part.share for part in left_out],
            [part.tau for part in left_out],
        )
    )
    low, high = jackknife.limits(curve.required.smooth, smooth, "log")
    # No difference exceeds the range.
    most = np.array([grid.high - grid.low for grid in table.grids])[:, np.newaxis, np.newaxis]
    limits = {
        "required_low": np.minimum(low * swap.bin_width, required),
        "required_high": np.clip(high * swap.bin_width, required, np.maximum(most, required)),
    }
    limits["share_low"], limits["share_high"] = jackknife.limits(curve.share, shares, "logit")
    # For all pairs of metrics together (Bonferroni).
    n_pairs = max(1, len(curve.share) * (len(curve.share) - 1) // 2)
    best = np.argmax(np.nan_to_num(curve.share, nan=-1.0), axis=0)[np.newaxis]
    behind, *replicates = (
        np.take_along_axis(share, best, axis=0) - share for share in (curve.share, *shares)
    )
    limits["share_behind_low"], limits["share_behind_high"] = jackknife.limits(
        behind, np.array(replicates), "plain", 1 - 0.05 / n_pairs
    )
    if swap.required != "isotonic":
        limits = dict.fromkeys(limits, np.full(required.shape, np.nan))
    limits["tau_low"], limits["tau_high"] = jackknife.limits(curve.tau, taus, "atanh")
    return limits

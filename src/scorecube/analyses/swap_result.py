"""What the counts of the swap method say: swap rates, required differences, shares, limits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.protocol import Totals
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray, IntArray
from scorecube.collection.schema import read_variables
from scorecube.kernels.swap import count_and_swaps, orders
from scorecube.statistics.swap_rates import (
    Required,
    rate_limits,
    required_differences,
    share_beyond,
)

VARIABLES = read_variables("""
    [metric gain size bin]
    count | count/i | comparisons | pairs and trials whose first difference lies in the bin
    swaps | count/i | comparisons | comparisons on which the second sample disagrees, by the rule
    swap_rate | share | 1 | swaps / count; missing where the bin is empty
    swap_rate | limits:swap_rate | 1 | limit (95 %) over trials with these topics and runs
    tie_share | share | 1 .2f | share of comparisons with an exact tie on at least one sample
    [metric gain size confidence]
    required_difference | estimate | score .2f | lower edge of the bin that the rule chooses
    required | limits:required_difference | score .2f | limit (95 %) with other topics
    required_suffix | estimate | score .2f | lowest edge from which on no swap rate is too high
    required_difference_smooth | estimate | score .3f | where fitted rates reach the accepted
    open_bin | flag/b | 1 | only the open last bin has an accepted rate: more may be required
    relative_difference = required difference / largest mean | share | 1 .0% | of the largest mean
    share = share of comparisons | share | 1 .1% | share of comparisons with the required difference
    share | limits:share | 1 .0% | limit (95 %) of the share with other topics
    share_behind | share | 1 .0% | largest share of all metrics and gain settings, minus this one
    share_behind | limits:share_behind | 1 .0% | limit, 95 % for all pairs together
    [metric gain size]
    max_performance = largest mean | estimate | score | over runs, trials and both samples
    tau | estimate | 1 | mean of Kendall's tau-a between the rankings by both samples
    tau | limits:tau | 1 | limit (95 %) of the mean tau of these runs with other topics
    [size]
    unique = distinct topics in a sample | estimate | topics .1f | mean number of distinct topics
    common = topics in both samples | estimate | topics .1f | mean number in both samples
""")


class Curve(NamedTuple):
    """Comparisons of all trials, (cell, size, ...), of all topics or without a group of them.

    share: Of comparisons with `Required.smooth`, (..., confidence); NaN where none is.
    """

    counts: IntArray
    swaps: IntArray
    required: Required
    share: FloatArray
    tau: FloatArray


def curve_of(swap: Any, counts: IntArray) -> Curve:
    """Return the curve of the counts of a block, int64 (cell, size, batch, code)."""
    total = counts.sum(axis=2)
    count, swaps = count_and_swaps(total, swap.rule == "s1")
    same, _, opposite, _ = orders(total)
    n_closed = count.shape[-1] - int(swap.bins != "auto")
    required = required_differences(count, swaps, swap.confidence, n_closed)
    share = np.where(required.isotonic < 0, np.nan, share_beyond(count, required.smooth))
    return Curve(count, swaps, required, share, (same - opposite).sum(-1) / count.sum(-1))


def make_result(swap: Any, table: Table, totals: Totals) -> xr.Dataset:
    """Return the labelled result."""
    curve = curve_of(swap, totals["counts"])
    left_out = [curve_of(swap, arrays["counts"]) for arrays in totals.left_out]
    n_bins = curve.counts.shape[-1]
    if swap.bins == "auto":
        n_bins = max(2, int(np.flatnonzero(curve.counts.any(axis=(0, 1))).max(initial=0)) + 1)
    values = of_trials(swap, table, curve, totals) | of_levels(swap, table, curve, left_out)
    for name in (variable.name for variable in VARIABLES if names.BIN in variable.dims):
        values[name] = values[name][..., :n_bins]
    taus = np.array([part.tau for part in left_out])
    values["tau_low"], values["tau_high"] = jackknife.limits(curve.tau, taus, "atanh")
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = values["required_difference"] / values["max_performance"][..., np.newaxis]
    coords = {
        names.SIZE: np.array(swap.sizes(table)),
        names.BIN: np.arange(n_bins),
        names.CONFIDENCE: np.array(swap.confidence),
    }
    options = ("sampling", "rule", "share", "required", "summary")
    attrs = {name: getattr(swap, name) for name in options}
    return table.dataset(VARIABLES, values | {"relative_difference": relative}, coords, attrs)


def of_trials(swap: Any, table: Table, curve: Curve, totals: Totals) -> dict[str, Any]:
    """Return what is known of trials: rates by bin with limits over trials, samples, tau."""
    total = orders(totals["counts"].sum(axis=2))
    by_batch = count_and_swaps(np.moveaxis(totals["counts"], 2, 0), swap.rule == "s1")
    low, high = rate_limits(*by_batch, totals["filled"])
    ties = total.tied.copy()
    ties[..., 0] += total.both_tied
    with np.errstate(invalid="ignore", divide="ignore"):
        rate, tie_share = curve.swaps / curve.counts, ties / curve.counts
    n_pairs = len(table.runs) * (len(table.runs) - 1) // 2
    n_samples = table.trials * (n_pairs if swap.share == "none" else 1)
    units, lows = table.grid_units[:, np.newaxis], [[grid.low] for grid in table.grids]
    of_mean = totals["largest"] / np.array(swap.n_drawn(table))
    first, second, both = totals["distinct"].T
    return {
        "count": curve.counts,
        "swaps": curve.swaps,
        "swap_rate": rate,
        "swap_rate_low": low,
        "swap_rate_high": high,
        "tie_share": tie_share,
        "max_performance": lows + of_mean * units,
        "unique": (first + second) / (2 * n_samples),
        "common": both / n_samples,
        "tau": curve.tau,
    }


def of_levels(swap: Any, table: Table, curve: Curve, left_out: list[Curve]) -> dict[str, Any]:
    """Return required differences, and the shares that reach them, by level of confidence.

    Limits over topics are of the smooth curve, and hold the edge of a bin; `suffix` has none.
    """
    n_bins, required = curve.counts.shape[-1], curve.required
    left_out = left_out if swap.required == "isotonic" else []
    edges = swap.edges(table, n_bins)[:, np.newaxis]
    width, of_cell = edges[..., 1:2], np.arange(len(edges))[:, np.newaxis, np.newaxis]
    chosen = required.suffix if swap.required == "suffix" else required.isotonic
    difference = np.where(chosen < 0, np.nan, edges[of_cell, 0, chosen])
    at_least = np.cumsum(curve.counts[..., ::-1], axis=-1)[..., ::-1]
    reached = np.take_along_axis(at_least, np.maximum(chosen, 0), axis=-1) / at_least[..., :1]
    share = np.where(chosen < 0, np.nan, reached)
    largest = np.nan_to_num(share).max(axis=0)
    smooth = np.array([part.required.smooth for part in left_out])
    low, high = jackknife.limits(required.smooth, smooth, "log")
    # No difference exceeds the range.
    most = np.array([grid.high - grid.low for grid in table.grids])[:, np.newaxis, np.newaxis]
    replicates = np.array([part.share for part in left_out])
    share_low, share_high = jackknife.limits(curve.share, replicates, "logit")
    best = np.argmax(np.nan_to_num(curve.share, nan=-1.0), axis=0)[np.newaxis]
    behind, *others = (
        np.take_along_axis(part.share, best, axis=0) - part.share for part in (curve, *left_out)
    )
    # For all pairs of metrics together (Bonferroni).
    n_pairs = max(1, len(share) * (len(share) - 1) // 2)
    behind_limits = jackknife.limits(behind, np.array(others), "plain", 1 - 0.05 / n_pairs)
    return {
        "required_difference": difference,
        "required_low": np.minimum(low * width, difference),
        "required_high": np.clip(high * width, difference, np.maximum(most, difference)),
        "required_suffix": np.where(
            required.suffix < 0, np.nan, edges[of_cell, 0, required.suffix]
        ),
        "required_difference_smooth": required.smooth * width,
        "open_bin": (swap.bins != "auto") & (chosen == n_bins - 1),
        "share": share,
        "share_low": np.minimum(share_low, share),
        "share_high": np.maximum(share_high, share),
        "share_behind": np.where(
            np.isnan(share).all(axis=0), np.nan, largest - np.nan_to_num(share)
        ),
        "share_behind_low": behind_limits[0],
        "share_behind_high": behind_limits[1],
    }

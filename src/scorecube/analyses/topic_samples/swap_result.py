"""Result of the swap method: rates, intervals, required differences and their limits, from combined counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Inputs, Prepared, labelled_result
from scorecube.analyses.topic_samples.swap_limits import (
    Functionals,
    by_group,
    counts_and_swaps,
    limits,
    tie_shares,
)
from scorecube.analyses.topic_samples.swap_options import SwapOptions
from scorecube.analyses.topic_samples.swap_quantities import VARIABLES
from scorecube.collection.selection import cells
from scorecube.statistics.integer_scores import usual_difference
from scorecube.statistics.proportion_intervals import effective_size, student_quantile, wilson
from scorecube.statistics.required_difference import (
    crossing,
    fitted_rates,
    isotonic_bins,
    suffix_bins,
)

DECIMALS = 12
"""Decimals of means in results; further decimals are rounding errors of the grid."""
LEAST_DIFFERENCE = 1e-4
"""Usual difference of two scores below which means keep more decimals, one for each power of ten."""
IntArray = np.ndarray[Any, np.dtype[np.int64]]
LIMITS = (
    "required_low",
    "required_high",
    "share_low",
    "share_high",
    "share_behind_low",
    "share_behind_high",
)


def make_result(swap: SwapOptions, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
    """Return the labelled result; its variables are described in `swap_quantities`."""
    cube, bins = prepared.cube, prepared.shared
    # From (size, cell, ...) to (metric, gain, size, ...).
    cell_of = cells(cube)[1]
    by_cell = {
        name: np.moveaxis(totals[name], 0, 1)[cell_of]
        for name in ("count", "swap", "both_zero", "products", "largest", "widest")
    }
    count, swaps, both_zero = by_cell["count"], by_cell["swap"], by_cell["both_zero"]
    if swap.rule == "s1":
        swaps[..., 0] += both_zero
    low, high = _rate_limits(swap, (swaps, count), by_cell["products"], trials)
    grid = swap.grids(cube, swap.width)[0]
    to_score = (float(grid.width) / grid.units_per_bin)[cell_of][..., np.newaxis]
    usual = [min(usual_difference(cell), LEAST_DIFFERENCE) for cell in cells(cube)[0]]
    # Powers of ten by which usual differences are below `LEAST_DIFFERENCE`, at least 1.
    tens = np.array([10.0 ** math.ceil(math.log10(LEAST_DIFFERENCE / each)) for each in usual])
    tens = tens[cell_of][..., np.newaxis]
    max_performance, max_difference = (
        np.round(by_cell[name].astype(np.float64) * to_score * tens, DECIMALS) / tens
        for name in ("largest", "widest")
    )
    n_runs = cube.sizes[names.RUN]
    samples = trials * (n_runs * (n_runs - 1) // 2 if swap.share == "none" else 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(count > 0, swaps / count, np.nan)
    groups = by_group(totals, cube) if "by_run_group" in totals else None
    ties = np.full(count.shape, np.nan) if groups is None else tie_shares(groups[0][0])
    values = {
        "count": count,
        "swaps": swaps,
        "both_zero": both_zero,
        "swap_rate": rate,
        "swap_rate_low": low,
        "swap_rate_high": high,
        "swap_rate_fitted": fitted_rates(count, swaps),
        "tie_share": ties,
        **_required(swap, bins.closed, count, swaps, max_performance),
        "max_performance": max_performance,
        "max_difference": max_difference,
        "unique": (totals["overlap"][:, 0] + totals["overlap"][:, 1]) / (2 * samples),
        "common": totals["overlap"][:, 2] / samples,
    }
    values |= _limits(swap, prepared, (count, swaps), groups, values)
    filled = count.any(axis=(0, 1, 2))
    shown = (
        max(int(np.flatnonzero(filled).max(initial=0)) + 1, 2) if bins.automatic else bins.number
    )
    return _labelled(swap, cube, values, trials, shown)


def _labelled(
    swap: SwapOptions, cube: xr.Dataset, values: dict[str, Array], trials: int, shown: int
) -> xr.Dataset:
    """Return the labelled result with the first bins, those that are shown."""
    trimmed = {
        variable.name: values[variable.name][..., :shown]
        if names.BIN in variable.dims
        else values[variable.name]
        for variable in VARIABLES
    }
    coords = {
        names.SIZE: np.array(swap.sizes(cube)),
        names.BIN: np.arange(shown),
        "lower": (names.BIN, np.array([float(k * swap.width) for k in range(shown)])),
        names.CONFIDENCE: np.array(swap.confidence),
    }
    attrs = {"trials": trials} | {
        name: getattr(swap, name) for name in ("sampling", "rule", "share", "required")
    }
    attrs |= {"n_runs": cube.sizes[names.RUN], "n_topics": cube.sizes[names.TOPIC]}
    return labelled_result(cube, VARIABLES, trimmed, coords, attrs)


def _rate_limits(
    swap: SwapOptions, counts: tuple[IntArray, IntArray], products: IntArray, trials: int
) -> tuple[Any, Any]:
    """Return lower and upper limits of the swap rates."""
    swaps, count = counts
    halves = np.moveaxis(products.astype(object), (-3, -2), (0, 1))
    exact = halves[:, 0] + halves[:, 1] * 2**32
    if swap.rule == "s1":
        exact[..., 0] = exact[..., -1]
    most = 1.0 if swap.share == "none" else None
    size, freedom = effective_size(swaps, count, exact[..., :-1], trials, most=most)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = swaps / count
    return wilson(np.where(count > 0, rate, 0.0) * size, size, student_quantile(freedom))


def _required(
    swap: SwapOptions, closed: int, count: IntArray, swaps: IntArray, max_performance: Array
) -> dict[str, Array]:
    """Return required differences by all rules, and the shares of comparisons that reach the chosen one."""
    suffix = suffix_bins(count, swaps, swap.confidence)
    isotonic = isotonic_bins(count, swaps, swap.confidence)
    chosen = {"isotonic": isotonic, "suffix": suffix}[swap.required]
    is_open = chosen >= closed
    isotonic = np.where(isotonic < closed, isotonic, -1)
    if swap.required == "isotonic":
        chosen = isotonic
    edges = np.array([float(k * swap.width) for k in range(count.shape[-1])])
    required = _edge(edges, chosen)
    at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
    reached = np.take_along_axis(at_least, np.maximum(chosen, 0), axis=-1) / at_least[..., :1]
    share = np.where(chosen >= 0, reached, np.nan)
    smooth = crossing(count, swaps, isotonic, swap.confidence) * float(swap.width)
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = required / max_performance[..., np.newaxis]
    shares = np.nan_to_num(share)
    behind = np.where(np.isnan(share).all(axis=(0, 1)), np.nan, shares.max(axis=(0, 1)) - shares)
    return {
        "required_difference": required,
        "required_difference_smooth": smooth,
        "required_suffix": _edge(edges, suffix),
        "open_bin": is_open,
        "relative_difference": relative,
        "share": share,
        "share_behind": behind,
        "support": edges[count.shape[-1] - 1 - np.argmax(count[..., ::-1] > 0, axis=-1)],
    }


def _edge(edges: Array, chosen: IntArray) -> Array:
    """Return the lower edges of bins, NaN for -1."""
    return np.where(chosen >= 0, edges[chosen], np.nan)


def _limits(
    swap: SwapOptions,
    prepared: Prepared,
    counts: tuple[IntArray, IntArray],
    groups: tuple[Array, Array] | None,
    values: Inputs,
) -> dict[str, Array]:
    """Return the limits over topics and teams, NaN without replicates; each interval contains its estimate."""
    required, share, behind = (
        values[name] for name in ("required_difference", "share", "share_behind")
    )
    if groups is None:
        return dict.fromkeys(LIMITS, np.full(required.shape, np.nan))
    by_run, by_topic = groups
    closed = prepared.shared.closed
    width = float(swap.width)
    settings = {"confidence": swap.confidence, "n_closed": closed, "width": width}
    found = limits(
        Functionals.of(*counts, swap.confidence, closed),
        counts_and_swaps(by_run[:1] - by_run[1:], swap.rule),
        counts_and_swaps(by_topic, swap.rule),
        cells(prepared.cube)[1],
        settings,
    )
    # Estimates are at edges of bins, limits are not.
    for name, low, high in (
        (required, "required_low", "required_high"),
        (share, "share_low", "share_high"),
        (behind, "share_behind_low", "share_behind_high"),
    ):
        with np.errstate(invalid="ignore"):
            found[low] = np.where(name < found[low], name, found[low])
            found[high] = np.where(name > found[high], name, found[high])
    # An open bin says where the required difference begins at the earliest.
    edge = (closed if closed < counts[0].shape[-1] else 0) * width
    found["required_low"] = np.where(values["open_bin"], edge, found["required_low"])
    return found

"""The swap method: how large a difference in mean score do other topics confirm?

References: Voorhees and Buckley 2002, "The effect of topic set size on retrieval experiment error";
Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval
metrics"; Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Max, Part, Sum, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import ALL_RUNS, TwoSamples
from scorecube.analyses.units import FloatArray, IntArray
from scorecube.collection.schema import read_variables
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import overlap
from scorecube.kernels.swap import CLASSES, count_and_swaps, count_orders, orders
from scorecube.statistics.swap_rates import (
    BATCHES,
    Required,
    rate_limits,
    required_differences,
    share_beyond,
)

NARROWEST, MOST_BINS = Fraction(1, 100), 1000
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


@dataclass(frozen=True, kw_only=True)
class Swap(TwoSamples):
    """Swap method: how large a difference does another set of topics confirm?

    Every trial draws two topic samples. A comparison of a pair of runs falls into the bin of the
    absolute difference in mean score on the first sample; it is a swap if the second disagrees. The
    required difference is the lower edge of the first bin whose swap rate is low enough. `tau` is
    Kendall's tau-a between the rankings by both samples.

    Limits of swap rates are over trials; others are over topics, of these runs (jackknife). How
    often they hold: docs/believe/swap.md.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> result = analyse(cube, Swap(sampling="replacement", size=(10, 50)), trials=100, seed=1)
    >>> result["count"].sel(metric="AP", gain="3:2:1").sum("bin").values.tolist()
    [1500, 1500]
    """

    name: ClassVar[str] = "swap"
    jackknife: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "--sampling disjoint --size 5,15,25 --trials 1000 --seed 1",
    )

    rule: Literal["s0", "s1"] = option_field(
        "s0", "Two zero differences are no swap (s0, Sakai 2005) or a swap (s1, Sakai 2007)."
    )
    confidence: tuple[float, ...] = option_field(
        (0.95, 0.9, 0.8), "1 - accepted swap rates.", above=0, below=1
    )
    bins: Literal["auto"] | int = option_field(
        "auto",
        "Number of bins of differences of .01, of which the last is open; auto: as many as "
        "needed, all closed.",
        minimum=2,
        maximum=MOST_BINS,
    )
    share: Literal["all", "none"] = option_field(
        "all",
        "Samples of a trial are used for all pairs of runs, or none: samples are drawn for each "
        "pair (slow).",
    )
    required: Literal["isotonic", "suffix"] = option_field(
        "isotonic",
        "Required difference: lower edge of the first bin whose fitted swap rate is low enough "
        "(isotonic, with limits), or from which on all rates are (suffix, as in the papers).",
    )

    def notes(self, table: Table) -> list[str]:
        notes = super().notes(table)
        for cell, width in enumerate(self.bin_widths(table)):
            if width != NARROWEST:
                here = np.flatnonzero((table.cell_of == cell).any(axis=1))
                metrics = ", ".join(table.metrics[metric] for metric in here)
                notes.append(f"Bins of differences of {metrics} are {float(width):g} wide.")
        return notes

    def spread(self, table: Table, smallest: int) -> FloatArray:
        """Return the largest difference of two samples of some units, float64 (cell,)."""
        if self.summary != "mean":
            return np.asarray(np.ptp(table.units, axis=(1, 2)) * table.grid_units)
        spread = np.sort(np.ptp(table.units, axis=1), axis=-1)[:, -smallest:].mean(axis=-1)
        return np.asarray(spread * table.grid_units)

    def bin_widths(self, table: Table) -> list[Fraction]:
        """Return the width of a cell's bins: .01 times the power of ten that keeps them few."""
        widths = []
        for largest in self.spread(table.part_of or table, 1):
            width = NARROWEST
            while float(largest) / float(width) + 2 > MOST_BINS:
                width *= 10
            widths.append(width)
        return widths

    def n_bins(self, table: Table) -> int:
        """Return the number of bins: as stated, or for the largest difference of two samples."""
        if self.bins != "auto":
            return self.bins
        smallest = 1 if self.sampling == "replacement" else self.n_drawn(table)[0]
        widths = np.array([*map(float, self.bin_widths(table))])
        most = float((self.spread(table, smallest) / widths).max())
        return min(max(2, int(most) + 2), MOST_BINS)

    def block_of(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        sizes, n_runs, whole = self.n_drawn(table), len(table.runs), table.part_of is None
        n_bins, in_scores = self.n_bins(table), np.array([*map(float, self.bin_widths(table))])
        shape = len(table.scores), len(sizes)
        # Of a part of the topics no limits over trials are asked for, and all pairs share samples,
        # which has the same expectation.
        n_batches = BATCHES if whole else 1
        sampled: list[Any] = [(None, ALL_RUNS)]
        if self.share == "none" and whole:
            sampled = [*enumerate([x, y] for y in range(n_runs) for x in range(y))]
        counts = np.zeros((*shape, n_batches, CLASSES * n_bins + 1), np.int64)
        filled, largest = np.zeros((*shape, n_bins), np.int64), np.zeros(shape, np.int64)
        distinct = np.zeros((len(sizes), 3), int)
        for s, size in enumerate(sizes):
            widths = in_scores * size / table.grid_units
            for low, high in self.chunks(table, start, stop):
                counted = np.zeros((shape[0], high - low, counts.shape[-1]), np.int32)
                for pair, runs in sampled:
                    samples = self.counts(table, size, low, high, pair)
                    distinct[s] += overlap(samples)
                    for cell, of_bin in enumerate(widths):
                        sums = self.sums(table, cell, samples, size, runs)
                        count_orders(sums, of_bin, float(size), counted[cell])
                        largest[cell, s] = max(largest[cell, s], int(sums.max()))
                for batch in range(n_batches):
                    of_batch = counted[:, (batch - low) % n_batches :: n_batches]
                    counts[:, s, batch] += of_batch.sum(axis=1)
                filled[:, s] += (count_and_swaps(counted, False)[0] > 0).sum(axis=1)
        return {
            "counts": Sum(counts),
            "filled": Sum(filled),
            "largest": Max(largest),
            "distinct": Sum(distinct),
        }

    def drawn(self, table: Table) -> xr.Dataset:
        if self.share == "none":
            chosen = option("share", "none")
            raise BadPlan(f"with {chosen} each pair of runs has samples of its own")
        return super().drawn(table)

    def result_of(self, table: Table, totals: Totals) -> xr.Dataset:
        curve = curve_of(self, totals["counts"])
        left_out = [curve_of(self, arrays["counts"]) for arrays in totals.left_out]
        n_bins = curve.counts.shape[-1]
        if self.bins == "auto":
            n_bins = max(2, int(np.flatnonzero(curve.counts.any(axis=(0, 1))).max(initial=0)) + 1)
        values = of_trials(self, table, curve, totals) | of_levels(self, table, curve, left_out)
        for name in (variable.name for variable in VARIABLES if names.BIN in variable.dims):
            values[name] = values[name][..., :n_bins]
        taus = np.array([part.tau for part in left_out])
        values["tau_low"], values["tau_high"] = jackknife.limits(curve.tau, taus, "atanh")
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = values["required_difference"] / values["max_performance"][..., np.newaxis]
        coords = {
            names.SIZE: np.array(self.sizes(table)),
            names.BIN: np.arange(n_bins),
            names.CONFIDENCE: np.array(self.confidence),
        }
        options = ("sampling", "rule", "share", "required", "summary")
        attrs = {name: getattr(self, name) for name in options}
        return table.dataset(VARIABLES, values | {"relative_difference": relative}, coords, attrs)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        result = super().result(table, totals)
        lower = self.edges(table, result.sizes[names.BIN])[table.cell_of]
        return result.assign_coords(lower=((names.METRIC, names.GAIN, names.BIN), lower))

    def edges(self, table: Table, n_bins: int) -> FloatArray:
        """Return the lower edges of bins, as they are written in decimals, float64 (cell, bin)."""
        widths = self.bin_widths(table)
        return np.array([[float(k * width) for k in range(n_bins)] for width in widths])


class Curve(NamedTuple):
    """Comparisons of all trials, (cell, size, ...), of all topics or without a group of them.

    share: Of comparisons with `Required.smooth`, (..., confidence); NaN where none is.
    """

    counts: IntArray
    swaps: IntArray
    required: Required
    share: FloatArray
    tau: FloatArray


def curve_of(swap: Swap, counts: IntArray) -> Curve:
    """Return the curve of the counts of a block, int64 (cell, size, batch, code)."""
    total = counts.sum(axis=2)
    count, swaps = count_and_swaps(total, swap.rule == "s1")
    same, _, opposite, _ = orders(total)
    n_closed = count.shape[-1] - int(swap.bins != "auto")
    required = required_differences(count, swaps, swap.confidence, n_closed)
    share = np.where(required.isotonic < 0, np.nan, share_beyond(count, required.smooth))
    return Curve(count, swaps, required, share, (same - opposite).sum(-1) / count.sum(-1))


def of_trials(swap: Swap, table: Table, curve: Curve, totals: Totals) -> dict[str, Any]:
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


def of_levels(swap: Swap, table: Table, curve: Curve, left_out: list[Curve]) -> dict[str, Any]:
    """Return required differences and the shares that reach them, with limits over topics."""
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

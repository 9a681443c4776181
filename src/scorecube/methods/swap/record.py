"""The swap method: how large a difference in mean score do other topics confirm?

References: Voorhees and Buckley 2002, "The effect of topic set size on retrieval experiment error";
Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval
metrics"; Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.protocol import Max, Part, Sum, Totals
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_samples import TwoSamples
from scorecube.declare import BEST_RUNS, OF_2007, Preset, Variable, View, option_field
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import overlap
from scorecube.kernels.swap import CLASSES, count_and_swaps, count_orders
from scorecube.methods.swap import curves as swap_curves
from scorecube.methods.swap.curves import MOST_BINS, VARIABLES, bin_widths, largest_differences
from scorecube.methods.swap.view import VIEW
from scorecube.names import Purpose
from scorecube.statistics.swap_rates import BATCHES

IN_BOTH = {"bins": 21, "required": "suffix", "trials": 1000, "confidence": (0.95,)}
ALL_WAYS = {"sampling": ("disjoint", "replacement", "independent"), "size": "half"}
ONE_WAY = {"rule": "s1", "sampling": "replacement"}
PRESETS = {
    "sakai-2005": Preset(IN_BOTH | ALL_WAYS, OF_2007[:1], BEST_RUNS),
    "sakai-2007": Preset(IN_BOTH | ONE_WAY, OF_2007[:1], BEST_RUNS),
}


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
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> result = analyse(cube, Swap(sampling="replacement", size=(10, 50)), trials=100, seed=1)
    >>> result["count"].sel(metric="AP", gain="3:2:1").sum("bin").values.tolist()
    [1500, 1500]
    """

    name: ClassVar[str] = "swap"
    in_demo: ClassVar[Mapping[str, Any] | None] = {"sampling": "replacement"}
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("voorhees2002", "sakai2005", "sakai2007")
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    jackknife: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--size 5,15,25 --trials 1000 --seed 1",)

    rule: Literal["s0", "s1"] = option_field(
        "s0", "Two zero differences are no swap (s0, Sakai 2005) or a swap (s1, Sakai 2007)."
    )
    confidence: tuple[float, ...] = option_field(
        (0.95, 0.9, 0.8),
        "1 - swap rate (share of contradicted differences) that is accepted.",
        above=0,
        below=1,
    )
    bins: Literal["auto"] | int = option_field(
        "auto",
        "Number of bins of .01 for differences, the last for all larger ones; auto: as many as "
        "needed.",
        minimum=2,
        maximum=MOST_BINS,
    )
    share: Literal["all", "none"] = option_field(
        "all",
        "all: samples of a trial serve all pairs of runs; none: each pair draws its own (slow).",
    )
    required: Literal["isotonic", "suffix"] = option_field(
        "isotonic",
        "Required difference: where the swap rate is low enough, of rates fitted so that they "
        "never rise (isotonic, with limits), or in all further bins (suffix, as in the papers).",
    )

    def notes(self, table: ScoreTable) -> list[str]:
        notes = super().notes(table)
        for cell, width in enumerate(bin_widths(table, self.summary)):
            if width != 0.01:
                metrics = ", ".join(np.array(table.metrics)[(table.cell_of == cell).any(axis=1)])
                notes.append(f"Bins of differences of {metrics} are {width:g} wide.")
        return notes

    def n_bins(self, table: ScoreTable) -> int:
        """Return the number of bins: as stated, or for the largest difference of two samples."""
        if self.bins != "auto":
            return self.bins
        most = largest_differences(table, self.summary)
        return int((most / bin_widths(table, self.summary)).max()) + 2

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        n_runs = len(table.runs)
        n_bins = self.n_bins(table)
        whole = table.part_of is None
        shape = (len(table.scores), len(self.samplings), len(self.n_drawn(table)))
        # Of a part of the topics no limits over trials are asked for, and all pairs share samples,
        # which has the same expectation.
        n_batches = BATCHES if whole else 1
        purpose = Purpose.SWAP_TOPICS
        # Runs that are compared on the samples of a stream: all of them, or those of a pair.
        runs_of_stream: list[Any] = [slice(None)]
        if self.share == "none" and whole:
            purpose = Purpose.SWAP_PAIRS
            runs_of_stream = [[x, y] for y in range(n_runs) for x in range(y)]
        counts = np.zeros((*shape, n_batches, CLASSES * n_bins + 1), np.int64)  # of `count_orders`
        filled = np.zeros((*shape, n_bins), np.int64)
        largest = np.zeros(shape, np.int64)
        distinct = np.zeros((*shape[1:], 3), np.int64)
        for drawn in self.draws(table, purpose, start, stop):
            place = drawn.place
            size = drawn.size
            widths = bin_widths(table, self.summary) * size / table.grid_units
            counted = np.zeros((shape[0], len(drawn.trials), counts.shape[-1]), np.int32)
            for stream, runs in enumerate(runs_of_stream):
                samples = drawn.counts(stream)
                distinct[place] += overlap(samples)
                for cell, width in enumerate(widths):
                    sums = self.sums(table, cell, samples, size, runs)  # M(x, Q) |Q| of Figure 1
                    count_orders(sums, width, float(size), counted[cell])
                    largest[cell, *place] = max(largest[cell, *place], int(sums.max()))
            for batch in range(n_batches):  # trial t belongs to batch t % n_batches
                first_trial = (batch - drawn.trials.start) % n_batches
                counts[:, *place, batch] += counted[:, first_trial::n_batches].sum(axis=1)
            compared, _ = count_and_swaps(counted, two_ties_are_swaps=False)
            filled[:, *place] += (compared > 0).sum(axis=1)
        return {
            "counts": Sum(counts),
            "filled": Sum(filled),
            "largest": Max(largest),
            "distinct": Sum(distinct),
        }

    def drawn(self, table: ScoreTable) -> xr.Dataset:
        if self.share == "none":
            raise BadPlan(f"with {option('share', 'none')} each pair of runs has its own samples")
        return super().drawn(table)

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        is_open = self.bins != "auto"
        widths = bin_widths(table, self.summary)
        counts = [of["counts"] for of in (totals, *totals.left_out)]
        how = self.confidence, self.rule == "s1", is_open
        curve, *left_out = swap_curves.curves_of(counts, *how)
        chosen = getattr(curve.required, self.required)
        n_bins = curve.counts.shape[-1]
        low, high = jackknife.limits(curve.tau, [of.tau for of in left_out], "atanh")
        values: dict[str, Any] = {"tau": curve.tau, "tau_low": low, "tau_high": high}
        values |= swap_curves.rates(curve, totals["filled"])
        left_out = left_out if self.required == "isotonic" else []
        values |= swap_curves.differences(table, curve, left_out, chosen, widths)
        values |= swap_curves.shares(curve, left_out, chosen)
        values |= self.sample_values(table, totals)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = values["required_difference"] / values["max_performance"][..., np.newaxis]
        values |= {"relative_difference": relative, "open_bin": is_open & (chosen == n_bins - 1)}
        edges = swap_curves.lower_edges(np.arange(n_bins), widths[table.cell_of, np.newaxis])
        coords = self.coords(table) | {
            names.BIN: np.arange(n_bins),
            names.CONFIDENCE: np.array(self.confidence),
            "lower": ((names.METRIC, names.GAIN, names.BIN), edges),
        }
        attrs = {name: getattr(self, name) for name in ("summary", "rule", "share", "required")}
        result = self.squeezed(table.dataset(swap_curves.VARIABLES, values, coords, attrs))
        filled = np.flatnonzero(curve.counts.any(axis=(0, 1, 2))).max(initial=1)
        return result if is_open else result.isel(bin=slice(int(filled) + 1))

    def sample_values(self, table: ScoreTable, totals: Totals) -> dict[str, Any]:
        """Return the largest mean of a sample, and mean numbers of topics in samples."""
        n_pairs = math.comb(len(table.runs), 2) if self.share == "none" else 1
        low = np.array([grid.low for grid in table.grids])[:, np.newaxis, np.newaxis]
        unit = np.array([grid.unit for grid in table.grids])[:, np.newaxis, np.newaxis]
        first, second, both = np.moveaxis(totals["distinct"], -1, 0)
        return {
            "max_performance": low + totals["largest"] / np.array(self.n_drawn(table)) * unit,
            "unique": (first + second) / (2 * table.trials * n_pairs),
            "common": both / (table.trials * n_pairs),
        }

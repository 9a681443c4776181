"""The swap method: how large a difference in mean score do other topics confirm?

References: Voorhees and Buckley 2002, "The effect of topic set size on retrieval experiment error";
Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval
metrics"; Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Max, Part, Sum, Totals
from scorecube.analyses.swap_result import make_result
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import ALL_RUNS, TwoSamples
from scorecube.analyses.units import FloatArray
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import overlap
from scorecube.kernels.swap import CLASSES, count_and_swaps, count_orders
from scorecube.statistics.swap_rates import BATCHES

NARROWEST, MOST_BINS = Fraction(1, 100), 1000


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
        return make_result(self, table, totals)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        result = super().result(table, totals)
        lower = self.edges(table, result.sizes[names.BIN])[table.cell_of]
        return result.assign_coords(lower=((names.METRIC, names.GAIN, names.BIN), lower))

    def edges(self, table: Table, n_bins: int) -> FloatArray:
        """Return the lower edges of bins, as they are written in decimals, float64 (cell, bin)."""
        widths = self.bin_widths(table)
        return np.array([[float(k * width) for k in range(n_bins)] for width in widths])

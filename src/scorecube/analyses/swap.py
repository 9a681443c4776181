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
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.protocol import Arrays, Concat, Max, Part, Sum, Totals
from scorecube.analyses.swap_bins import MOST_BINS, bin_widths, bins_needed, n_bins_of
from scorecube.analyses.swap_result import make_result
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import ALL_RUNS, TwoSamples
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import overlap
from scorecube.kernels.swap import CLASSES, count_and_swaps, count_orders, orders
from scorecube.statistics.batches import BATCHES


@dataclass(frozen=True, kw_only=True)
class Swap(TwoSamples):
    """Swap method: how large a difference does another set of topics confirm?

    Every trial draws two topic samples for all metrics, gain settings and pairs of runs. A
    comparison of a pair falls into the bin of the absolute difference in mean score on the first
    sample; it is a swap if the second sample disagrees. The required difference is the lower edge
    of the first bin whose swap rate is low enough. `tau` is Kendall's tau-a between the rankings of
    the runs by both samples.

    Limits of swap rates are over trials, of these topics and runs. Limits of required differences,
    shares and tau are over topics, of these runs: the jackknife without each of 10 groups of
    topics. How often they hold: docs/believe/swap.md.

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
        "--sampling disjoint --size 5..25:5 --trials 1000 --seed 1",
    )

    rule: Literal["s0", "s1"] = option_field(
        "s0",
        "Two zero differences are no swap (s0, Sakai 2005) or a swap (s1, Sakai 2007).",
        finalize=True,
    )
    confidence: tuple[float, ...] = level_field(
        names.CONFIDENCE, (0.95, 0.9, 0.8), "1 - accepted swap rates.", finalize=True
    )
    bin_width: float = option_field(
        0.01, "Width of the difference bins, in units of the score.", above=0
    )
    bins: Literal["auto"] | int = option_field(
        "auto",
        "Number of difference bins, of which the last is open; auto: as many as needed, all "
        "closed.",
        detail="The open bin is that of the papers, and does not show where in it swaps end.",
        minimum=2,
        maximum=MOST_BINS,
    )
    share: Literal["all", "none"] = option_field(
        "all",
        "Samples of a trial are used for all pairs of runs, or none: samples are drawn for each "
        "pair (slow).",
        detail="``all`` is Sakai 2007; ``none``, Sakai 2005, Fig. 1.",
    )
    required: Literal["isotonic", "suffix"] = option_field(
        "isotonic",
        "Required difference: lower edge of the first bin whose fitted swap rate is low enough "
        "(isotonic, with limits), or from which on all rates are (suffix, as in the papers).",
        detail="The fit does not increase with the difference. The open bin of a stated number of "
        "bins is no answer of ``isotonic``; as that of ``suffix`` it is marked (`open_bin`).",
        finalize=True,
    )

    def notes(self, table: Table) -> list[str]:
        notes, needed = super().notes(table), bins_needed(self, table)
        if len(table.runs) > 2**15:
            raise BadPlan(f"more than {2**15:,} runs; select fewer {option('runs')}")
        if self.bins == "auto" and needed > MOST_BINS:
            notes.append(
                f"Differences of {(MOST_BINS - 1) * self.bin_width:g} and more are in one open "
                f"bin; use a larger {option('bin_width')}."
            )
        if needed == 2:
            notes.append(f"All differences may be in one bin; use a smaller {option('bin_width')}.")
        return notes

    def pairs(self, table: Table) -> list[tuple[int | None, slice | list[int]]]:
        """Return the runs that share samples: all, or those of each pair, with its number.

        Of a part of the topics all do, which has the same expectation.
        """
        if self.share == "all" or table.sizes.size != table.n_whole:
            return [(None, ALL_RUNS)]
        numbered = combinations(range(len(table.runs)), 2)
        return [(y * (y - 1) // 2 + x, [x, y]) for x, y in numbered]

    def block(self, table: Table, start: int, stop: int) -> Mapping[str, Part]:
        sizes, n_bins = self.n_drawn(table), n_bins_of(self, table)
        shape = len(table.scores), len(sizes)
        # Of a part of the topics no limits over trials are asked for.
        n_batches = BATCHES if table.sizes.size == table.n_whole else 1
        counts = np.zeros((*shape, n_batches, CLASSES * n_bins + 1), np.int64)
        filled, largest = np.zeros((*shape, n_bins), np.int64), np.zeros((*shape, 2), np.int64)
        order, distinct = np.zeros((*shape, stop - start), np.int32), np.zeros((len(sizes), 3), int)
        for s, size in enumerate(sizes):
            widths = bin_widths(self, table, size)
            for low, high in self.chunks(table, start, stop):
                counted = np.zeros((shape[0], high - low, counts.shape[-1]), np.int32)
                for pair, runs in self.pairs(table):
                    samples = self.counts(table, size, low, high, pair)
                    distinct[s] += overlap(samples)
                    for cell, width in enumerate(widths):
                        sums = self.sums(table, cell, samples, size, runs)
                        count_orders(sums, width, float(size), counted[cell])
                        ends = int(sums.max()), int(np.ptp(sums, axis=0).max())
                        largest[cell, s] = np.maximum(largest[cell, s], ends)
                for batch in range(n_batches):
                    of_batch = counted[:, (batch - low) % n_batches :: n_batches]
                    counts[:, s, batch] += of_batch.sum(axis=1)
                filled[:, s] += (count_and_swaps(counted, False)[0] > 0).sum(axis=1)
                same, _, opposite, _ = orders(counted)
                order[:, s, low - start : high - start] = (same - opposite).sum(axis=-1)
        n_pairs = math.comb(len(table.runs), 2)
        return {
            "counts": Sum(counts, most=n_pairs),
            "filled": Sum(filled, most=1),
            "largest": Max(largest),
            "distinct": Sum(distinct),
            "order": Concat(order, least=-n_pairs, most=n_pairs),
        }

    def adds_up(self, table: Table, parts: Arrays, n_units: int) -> bool:
        comparisons = n_units * math.comb(len(table.runs), 2)
        return bool((parts["counts"].sum(axis=(2, 3)) == comparisons).all())

    def drawn(self, table: Table) -> xr.Dataset:
        if self.share == "none":
            raise BadPlan(
                f"with {option('share', 'none')} each pair of runs has samples of its own"
            )
        return super().drawn(table)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        return make_result(self, table, totals)

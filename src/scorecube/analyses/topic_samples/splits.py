"""Rank correlation between two topic samples, by sample size (split-half correlations).

The correlation of the rankings of runs by two topic samples measures how much a ranking depends on the choice of topics. Samples of n
topics are evidence about topic sets of n topics; sizes up to half of the topics show how the correlation grows with the topic set.

References: Sanderson and Soboroff 2007, "Problems with Kendall's tau", SIGIR; Urbano, Marrero and Martín 2013, "On the measurement of
test collection reliability", SIGIR (split-half correlations); Voorhees 2001, "Evaluation by highly relevant documents", SIGIR, which takes
rankings with a tau above 0.9 for equivalent, and sees noticeable changes below 0.8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import (
    Array,
    Arrays,
    Combine,
    Cost,
    Inputs,
    Output,
    Prepared,
    labelled_result,
)
from scorecube.analyses.topic_samples.base import TopicSampling, counts_of, sample_sums, units_of
from scorecube.analyses.topic_samples.split_quantities import VARIABLES
from scorecube.collection.selection import cells, n_cells
from scorecube.kernels.rank.concordance import compare, pairs_of, tau_a, tau_b
from scorecube.kernels.rank.rank_change import rank_changes, ranks_above
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.statistics.quantiles import defined_mean, tails

TAIL = Fraction(1, 20)
"""Share of the trials below the lower and above the upper quantile."""
THRESHOLDS = (0.9, 0.8)
"""Values of tau that a settled ranking reaches."""
INTEGERS = ("concordant", "discordant", "tied_first", "tied_second", "rank_change")
"""Outputs of a data type of 32 bits."""


@dataclass(frozen=True, kw_only=True)
class Splits(TopicSampling):
    """Rank correlation between topic samples: how many topics settle the ranking?

    The two topic samples of a trial are those of the swap method with the same seed, for all metrics and gain settings. Each sample
    ranks the runs by mean score; means are compared exactly.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Splits(size=(5, 25)), trials=100, seed=1)
    >>> bool((result["tau_mean"].sel(size=25) > result["tau_mean"].sel(size=5)).all())
    True
    """

    name: ClassVar[str] = "splits"
    only_orders: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--size 5..25:5 --trials 1000 --seed 1",)

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        cube = prepared.cube
        shape = (len(self.sizes(cube)), n_cells(cube))
        most = pairs_of(
            cube.sizes[names.RUN]
        )  # also of changes of a rank; correlations have room for rounding
        return (
            *(Output(name, shape, Combine.CONCAT, "int32", 0, most) for name in INTEGERS),
            Output("same_best", shape, Combine.CONCAT, "int8", 0, 1),
            Output("tau_ap", shape, Combine.CONCAT, "float64", -2, 2),
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
        shape = (len(inputs["sizes"]), n_cells, stop - start)
        outputs: Arrays = {name: np.empty(shape, np.int32) for name in INTEGERS}
        outputs |= {"same_best": np.empty(shape, np.int8), "tau_ap": np.empty(shape)}
        first = np.arange(n_cells)
        chunk = trials_at_once(max(n_cells * n_runs, n_topics))
        for step, size in enumerate(map(int, inputs["sizes"])):
            units, tolerances = (
                units_of(inputs, step),
                np.full(2 * n_cells, inputs["tolerances"][step]),
            )
            for low in range(start, stop, chunk):
                counts = counts_of(inputs, size, low, min(low + chunk, stop))
                # From (cell, run, half, trial) to (trial, half * cell, run).
                sums = sample_sums(inputs, step, units, counts).transpose(3, 2, 0, 1)
                sums = sums.reshape(counts.shape[1], 2 * n_cells, n_runs)
                pairs = compare(sums, tolerances, first, first + n_cells)
                rank_change, _, same_best = rank_changes(
                    ranks_above(sums, tolerances), first, first + n_cells
                )
                values: Arrays = {
                    "concordant": pairs.concordant,
                    "discordant": pairs.discordant,
                    "tied_first": pairs.tied[:, :n_cells],
                    "tied_second": pairs.tied[:, n_cells:],
                    "rank_change": rank_change,
                    "same_best": same_best,
                    "tau_ap": pairs.ap_agreement,
                }
                for name, value in values.items():
                    outputs[name][step, :, low - start : low - start + len(value)] = value.T
        return outputs

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        # From (size, cell, trial) to (metric, gain, size, trial).
        by_cell = {
            name: np.moveaxis(output, 1, 0)[cells(cube)[1]] for name, output in totals.items()
        }
        concordant, discordant = by_cell["concordant"], by_cell["discordant"]
        tied_first, tied_second = by_cell["tied_first"], by_cell["tied_second"]
        n_runs, pairs = cube.sizes[names.RUN], pairs_of(cube.sizes[names.RUN])
        difference = concordant - discordant
        b = tau_b(concordant, discordant, pairs, tied_first, tied_second)
        low, high = tails(difference.astype(np.float64), TAIL)
        values = {
            "tau": tau_a(concordant, discordant, pairs),
            "tau_b": b,
            "tau_ap": by_cell["tau_ap"],
            "rank_change": by_cell["rank_change"],
            "same_best": by_cell["same_best"],
            "tau_mean": difference.sum(axis=-1, dtype=np.int64) / (pairs * trials),
            "tau_median": np.median(difference, axis=-1) / pairs,
            "tau_low": low / pairs,
            "tau_high": high / pairs,
            "tau_b_mean": defined_mean(b),
            "tau_ap_mean": defined_mean(by_cell["tau_ap"]),
            "tied_pairs": (tied_first + tied_second).sum(axis=-1, dtype=np.int64) / (2 * trials),
            "same_best_trials": by_cell["same_best"].sum(axis=-1, dtype=np.int64),
            "rank_change_median": np.median(by_cell["rank_change"], axis=-1),
            "settled": settled_sizes(self.sizes(cube), low, pairs),
        }
        coords = {names.SIZE: np.array(self.sizes(cube)), names.THRESHOLD: np.array(THRESHOLDS)}
        attrs = {
            "trials": trials,
            "sampling": self.sampling,
            "n_runs": n_runs,
            "n_topics": cube.sizes[names.TOPIC],
        }
        return labelled_result(cube, VARIABLES, values, coords, attrs)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        n_cells, n_runs, n_topics = cells(cube)[0].shape
        n_sizes = len(self.sizes(cube))
        words = -(-n_runs // 64)
        per_size = (
            1e-9 * n_cells * n_runs * (40 + 3 * words) + 2e-10 * n_topics * n_cells * n_runs + 3e-7
        )
        columns, output_bytes = n_cells * n_runs, 29.0 * n_sizes * n_cells
        result_bytes = (
            output_bytes + 29.0 * n_sizes * cube.sizes[names.METRIC] * cube.sizes[names.GAIN]
        )
        sampling = self.sampling_cost(cube, trials, per_size, columns, 96.0 * columns)
        return replace(
            sampling,
            bytes=output_bytes + sampling.bytes,
            result_bytes=trials * result_bytes + sampling.input_bytes,
        )


def settled_sizes(
    sizes: Sequence[int], low: Array, pairs: int, thresholds: Sequence[float] = THRESHOLDS
) -> Array:
    """Return the smallest size from which on a ranking reaches a tau at all sizes, (metric, gain, threshold).

    sizes: Sample sizes, ascending.
    low: Lower quantile of concordant less discordant pairs, (metric, gain, size).
    pairs: Number of pairs of runs.
    thresholds: Values of tau.
    """
    tried = np.array(sizes, np.float64)
    settled = np.full((*low.shape[:-1], len(thresholds)), np.nan)
    for k, threshold in enumerate(thresholds):
        # Compare numbers of pairs: a tau of 0.9 must equal a threshold of 0.9.
        least = math.ceil(Fraction(str(threshold)) * pairs)
        reached = np.logical_and.accumulate((low >= least)[..., ::-1], axis=-1)[..., ::-1]
        settled[..., k] = np.where(reached.any(axis=-1), tried[np.argmax(reached, axis=-1)], np.nan)
    return settled

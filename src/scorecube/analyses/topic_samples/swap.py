"""The swap method: rates at which two topic samples disagree about two runs.

References: Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval
metrics"; Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.topic_samples.base import counts_of, sample_sums, units_of
from scorecube.analyses.topic_samples.swap_limits import (
    TOPIC_GROUPS,
    TRIALS_PER_RUN_SAMPLE,
    TRIALS_PER_TOPIC_SAMPLE,
    count_groups,
    has_limits,
    limit_inputs,
    limit_outputs,
)
from scorecube.analyses.topic_samples.swap_options import Bins, SwapOptions
from scorecube.analyses.topic_samples.swap_result import make_result
from scorecube.collection.selection import n_cells
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import overlap
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.swap.dispatch import Tally, add_trials, choose_kernel, trials_at_once
from scorecube.kernels.swap.per_pair import BinRules, TrialRange, count_swaps_apart
from scorecube.statistics.integer_scores import ROOM_BITS

IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True)
class Swap(SwapOptions):
    """Swap method: how large a difference does another set of topics confirm?

    Every trial draws two topic samples for all metrics, gain settings and pairs of runs. A comparison of a pair falls into the bin
    of the absolute difference in mean score on the first sample; it is a swap if the second sample disagrees. Metrics ``geo:`` and ``area:`` compare
    geometric means and area measures of the samples, except with ``share="none"``.

    Notes
    -----
    Intervals of swap rates are Wilson intervals for the effective number of comparisons, see
    `scorecube.statistics.proportion_intervals.effective_size`. They are about infinitely many trials with these topics and runs: in simulations
    (tests/analyses/topic_samples/test_swap_intervals.py) their coverage is 91 to 100 % in each bin.

    The limits of the required difference are about the difference at which the swap rates of all collections of as many topics, teams and
    runs together, fitted so that they do not increase, reach 1 - confidence; those of the share about the share of comparisons of
    all such collections with that difference. Their coverage was 92 to 99 % in simulations. `docs/believe/swap.md` has all numbers, and how often they
    held on real topics.

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
    examples: ClassVar[tuple[str, ...]] = (
        "--sampling disjoint --size 5..25:5 --trials 1000 --seed 1",
    )

    @property
    def uses_teams(self) -> bool:
        return self.required == "isotonic"

    def prepare(self, cube: xr.Dataset) -> Prepared:
        """Return the cube with its `Bins`."""
        return Prepared(cube, Bins.of(self.bins, self.width, self.sampling, self.sizes(cube), cube))

    def check(self, prepared: Prepared) -> list[str]:
        cube = prepared.cube
        n_runs = cube.sizes[names.RUN]
        if n_runs * (n_runs - 1) >= 2**31:
            raise BadPlan(
                f"{n_runs} runs have too many pairs for the swap method; select at most 46,341 {option('runs')}"
            )
        warnings = [*super().check(prepared), *prepared.shared.warnings]
        if self.share == "none":
            refuse_other_summaries(cube, f"{self.name} with {option('share', 'none')}")
        return warnings

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        cube = prepared.cube
        grids = self.grids(cube, self.width)
        inputs = self.sampling_inputs(cube, grids, seed)
        inputs["n_bins"] = np.array(prepared.shared.number)
        if self.share == "none":
            inputs["key"] = stream_key(seed, names.Purpose.SWAP_PAIRS)
        if self._limited(cube):
            inputs |= limit_inputs(cube, self.sampling, grids)
        return inputs

    def _limited(self, cube: xr.Dataset) -> bool:
        """Return whether a result has limits."""
        return self.required == "isotonic" and has_limits(cube)

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        cube = prepared.cube
        count, n_sizes = n_cells(cube), len(self.sizes(cube))
        n_bins = prepared.shared.number
        further = limit_outputs(cube, n_sizes, n_bins) if self._limited(cube) else ()
        return (
            Output("count", (n_sizes, count, n_bins), Combine.ADD, least=0),
            Output("swap", (n_sizes, count, n_bins), Combine.ADD, least=0),
            Output("both_zero", (n_sizes, count), Combine.ADD, least=0),
            Output("products", (n_sizes, count, 3, 2, n_bins + 1), Combine.ADD),
            Output("largest", (n_sizes, count), Combine.MAX),
            Output("widest", (n_sizes, count), Combine.MAX, least=0),
            Output("overlap", (n_sizes, 3), Combine.ADD, least=0),
            *further,
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        counted = self._count(inputs, start, stop)
        fields = ("count", "swap", "both_zero", "products", "largest", "widest")
        outputs = {
            name: np.stack([getattr(tally, name) for tally, _ in counted]) for name in fields
        }
        outputs["overlap"] = np.stack([overlaps for _, overlaps in counted])
        if "limit_run_groups" in inputs:
            outputs |= count_groups(inputs, start, stop)
        return outputs

    def _count(self, inputs: Inputs, start: int, stop: int) -> list[tuple[Tally, IntArray]]:
        """Return counts of swaps, and of distinct and common topics, for each size."""
        count = self._count_apart if self.share == "none" else self._count_shared
        return [count(inputs, step, start, stop) for step in range(len(inputs["sizes"]))]

    def _count_shared(
        self, inputs: Inputs, step: int, start: int, stop: int
    ) -> tuple[Tally, IntArray]:
        """Return the counts of a size, with samples for all pairs of runs."""
        n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
        size, tolerance, widths = (
            int(inputs["sizes"][step]),
            float(inputs["tolerances"][step]),
            inputs["units_per_bin"],
        )
        n_bins = int(inputs["n_bins"])
        units, tally = units_of(inputs, step), Tally.empty(n_cells, n_bins)
        largest_sum = size * float(np.abs(units).max())
        if inputs["lifts"].any():  # geometric means near 1 exceed their logarithms
            largest_sum = 2.0**ROOM_BITS
        kernel = choose_kernel(n_runs, n_bins, largest_sum, widths, tolerance)
        overlaps = np.zeros(3, np.int64)
        chunk = trials_at_once(max(n_cells * (n_runs + n_bins // 2), n_topics))
        for low in range(start, stop, chunk):
            counts = counts_of(inputs, size, low, min(low + chunk, stop))
            sums = sample_sums(inputs, step, units, counts)
            add_trials(kernel, sums, widths, tolerance, tally)
            overlaps += overlap(counts)
        return tally, overlaps

    def _count_apart(
        self, inputs: Inputs, step: int, start: int, stop: int
    ) -> tuple[Tally, IntArray]:
        """Return the counts of a size, with samples drawn for each pair of runs."""
        n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
        n_bins = int(inputs["n_bins"])
        tally, overlaps = Tally.empty(n_cells, n_bins), np.zeros(3, np.int64)
        units = np.ascontiguousarray(units_of(inputs, step).T.reshape(n_cells, n_runs, n_topics))
        chunk = trials_at_once(n_cells * (n_runs + n_bins // 2))
        for low in range(start, stop, chunk):
            high = min(low + chunk, stop)
            counted = tally.counted(high - low)
            trials = TrialRange(
                inputs["key"], int(inputs["sampling"]), int(inputs["sizes"][step]), low, high
            )
            rules = BinRules(inputs["units_per_bin"], float(inputs["tolerances"][step]))
            count_swaps_apart(trials, units, rules, counted, tally.largest, tally.widest, overlaps)
            tally.add(counted)
        return tally, overlaps

    def sums_hold(self, prepared: Prepared, block: Inputs, n_units: int, trials: int) -> bool:
        n_pairs = math.comb(prepared.cube.sizes[names.RUN], 2)
        whole = block["count"].sum(axis=-1) == n_units * n_pairs
        return bool(whole.all() and (block["swap"] <= block["count"]).all())

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        return make_result(self, prepared, totals, trials)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        count, n_runs, n_topics = n_cells(cube), cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        comparisons = count * n_runs * (n_runs - 1) / 2
        n_bins = prepared.shared.number
        sampling = self.sampling_cost(
            cube,
            trials,
            per_size=0.0,
            width=count * (n_runs + n_bins // 2),
            held=8.0 * count * (5 * n_runs + n_bins),
        )
        score_bytes = sampling.input_bytes
        fixed_bytes = score_bytes + sampling.fixed_bytes
        if self.share == "none":
            drawn = 2 * sum(self.sizes(cube)) * comparisons
            return Cost(
                drawn * (2e-9 + 8e-9 / count) + 1e-6,
                0.0,
                # Two samples of a pair and their words.
                fixed_bytes + 24.0 * self.sizes(cube)[-1],
                result_bytes=score_bytes,
                input_bytes=score_bytes,
            )
        comparison_seconds = min(1.2e-9 * comparisons, 3e-9 * count * n_runs * (n_bins + 10))
        per_size = comparison_seconds + 1e-10 * 2 * n_topics * count * n_runs + 4e-7
        seconds = per_size * len(self.sizes(cube)) + 2 * sampling.seconds
        if self._limited(cube):
            # Each half of the runs has a quarter of the pairs; samples are drawn without every group of topics.
            repetitions = 1 / TRIALS_PER_RUN_SAMPLE + TOPIC_GROUPS / 2 / TRIALS_PER_TOPIC_SAMPLE
            seconds += repetitions * 2e-9 * comparisons * len(self.sizes(cube))
            seconds += (
                (repetitions + TOPIC_GROUPS / 2 / TRIALS_PER_TOPIC_SAMPLE) * sampling.seconds * 2
            )
        return replace(
            sampling,
            seconds=seconds,
            fixed_bytes=fixed_bytes,
            # Scores without each group of topics are copied.
            fixed_seconds=5e-9 * TOPIC_GROUPS * score_bytes / 8 if self._limited(cube) else 0.0,
            result_bytes=score_bytes,
            result_seconds=2e-3 * count,
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        if self.share == "none":
            raise BadPlan(
                f"with {option('share', 'none')} samples are drawn for every pair of runs"
            )
        return super().samples(cube, seed, trials)

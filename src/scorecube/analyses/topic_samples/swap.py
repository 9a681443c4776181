"""The swap method: rates at which two topic samples disagree about two runs.

References: S0 = Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval
metrics"; S1 = Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Arrays, Combine, Cost, Output, Prepared, labelled_result
from scorecube.analyses.options import option_field
from scorecube.analyses.topic_samples.base import TopicSampling, counts_of, units_of
from scorecube.analyses.topic_samples.left_out_groups import group_inputs, left_out, n_replicates
from scorecube.collection.schema import Variable
from scorecube.collection.selection import cells, n_cells
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import overlap
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.swap.dispatch import Kernel, Tally, add_trials, choose_kernel, trials_at_once
from scorecube.kernels.swap.per_pair import BinRules, TrialRange, count_swaps_apart
from scorecube.statistics.population_interval import population_interval
from scorecube.statistics.proportion_intervals import effective_size, student_quantile, wilson
from scorecube.statistics.required_difference import required_bins

DECIMALS = 12
"""Decimals of means in results; further decimals are rounding errors of the grid."""
IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True)
class Swap(TopicSampling):
    """Swap method: how large a difference does another set of topics confirm?

    Every trial draws two topic samples for all metrics, gain settings and pairs of runs. A comparison of a pair falls into the bin
    of the absolute difference in mean score on the first sample; it is a swap if the second sample disagrees.

    Parameters
    ----------
    sampling
        ``disjoint``: two samples without common topics (S0 Fig. 1). ``replacement``: each drawn with replacement
        (S0 section 3.1, S1). ``independent``: each drawn without replacement, independently of the other (S0 section 3.2).
    size
        Number of topics in each sample, one number or several (Voorhees and Buckley 2002); None for all topics with replacement,
        else half of them.
    rule
        Two zero differences are no swap (``s0``) or a swap (``s1``).
    confidence
        1 - accepted swap rate, between 0 and 1; the sensitivity table has one row for each value.
    bin_width
        Width of the difference bins, in units of the score.
    bins
        Number of bins, 2 to 1000; the last one is open.
    allow_zero
        Whether a required difference may be 0, that is whether the first bin is treated like the others.
    signed
        Whether negative differences (first run in label order minus second) have bins of their own, numbered -1, -2, ...;
        S0 Fig. 1 prints signed differences, though its text means absolute ones. Required differences pool both signs.
    symmetric
        Whether every comparison counts in both directions: also with the second sample as the first.
    share
        ``all``: the samples of a trial are used for all pairs of runs (S1). ``none``: samples are drawn for each pair (S0 Fig. 1),
        which takes about a hundred times longer.
    interval
        Estimand of the 95 % intervals of swap rates. ``trials``: the rate of infinitely many trials with these topics and runs; more
        trials narrow the interval. ``population``: the mean rate of collections of as many topics and runs from the same population;
        the interval is far wider, and takes up to 1.3 * groups times the work in addition. See `Notes`.
    required
        Rule of the required difference. ``suffix``: the lower edge of the first bin from which on no swap rate is too high.
        ``first``: of the first bin whose swap rate is not too high; a higher bin may have a rate that is.
    groups
        Number of groups of topics, and of runs, that are left out in turn for the interval about the population, 3 to 1000.

    Notes
    -----
    Both are Wilson intervals for the effective number of comparisons, see `scorecube.statistics.proportion_intervals.effective_size` and
    `scorecube.statistics.population_interval`. In simulations (tests/analyses/topic_samples/test_swap_intervals.py), the coverage of
    intervals over trials is 91 to 100 % in each bin. The coverage of intervals about the population is 93 to 100 % for bins with 2 %
    of the comparisons, 95 to 99 % on average, whether runs are exchangeable or not, and 87 % for the open last bin of 5 runs; they are
    wider than necessary where differences are small. Intervals over trials cover the mean rate of the population in 20 to 70 % only.

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
    compile_seconds: ClassVar[float] = 3.5
    examples: ClassVar[tuple[str, ...]] = (
        "--sampling disjoint --size 5..25:5 --trials 1000 --seed 1",
    )

    rule: str = option_field(
        "s0",
        "Two zero differences are no swap (s0) or a swap (s1).",
        choices=("s0", "s1"),
        finalize=True,
    )
    confidence: tuple[float, ...] = option_field(
        (0.95, 0.9, 0.8), "1 - accepted swap rates.", above=0, below=1, finalize=True
    )
    bin_width: float = option_field(
        0.01, "Width of the difference bins.", above=0, maximum=1e6, unit="score"
    )
    bins: int = option_field(
        21, "Number of difference bins; the last one is open.", minimum=2, maximum=1000
    )
    allow_zero: bool = option_field(False, "A required difference may be 0.", finalize=True)
    signed: bool = option_field(False, "Bins for negative differences, too.")
    symmetric: bool = option_field(
        False,
        "Every comparison counts in both directions, also with the second sample as the first.",
    )
    share: str = option_field(
        "all",
        "Samples of a trial are used for all pairs of runs, or none: samples are drawn for each pair (slow).",
        choices=("all", "none"),
    )
    interval: str = option_field(
        "trials",
        "Intervals of swap rates over trials, or about the population of topics and runs (slow).",
        choices=("trials", "population"),
    )
    required: str = option_field(
        "suffix",
        "Required difference: lower edge of the first bin whose swap rate is low enough, or (suffix) "
        "of the first from which on all rates are.",
        choices=("suffix", "first"),
        finalize=True,
        since="0.2.0",
    )
    groups: int = option_field(
        10,
        "Number of groups of topics, and of runs, left out in turn for the interval about the population.",
        minimum=3,
        maximum=1000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interval == "trials":
            # Groups are not used: equal plans must have equal digests.
            object.__setattr__(self, "groups", type(self).groups)

    def check(self, prepared: Prepared) -> list[str]:
        """See `Analysis.check`."""
        cube = prepared.cube
        n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        if n_runs * (n_runs - 1) >= 2**31:
            raise BadPlan(
                f"{n_runs} runs have too many pairs for the swap method; select at most 46,341 {option('runs')}"
            )
        warnings = self.check_sampling(cube)
        if self.interval == "population" and min(n_runs, n_topics) < 4:
            raise BadPlan(
                f"the interval about the population needs 4 runs and 4 topics, found {n_runs} runs and {n_topics} topics; "
                f"use {option('interval', 'trials')}"
            )
        return warnings

    @property
    def width(self) -> Fraction:
        """Width of a bin, exactly as it is written."""
        return Fraction(str(self.bin_width))

    @property
    def n_bins(self) -> int:
        """Number of bins, including those of negative differences."""
        return 2 * self.bins if self.signed else self.bins

    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """See `Analysis.replay`."""
        if self.share == "none":
            raise BadPlan(
                f"with {option('share', 'none')} samples are drawn for every pair of runs and cannot be replayed"
            )
        if self.interval == "population":
            raise BadPlan(
                "the interval about the population also draws samples of fewer topics and cannot be replayed; "
                f"use {option('interval', 'trials')}"
            )
        return super().replay(prepared, samples, trials)

    def inputs(
        self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None
    ) -> Arrays:
        """See `Analysis.inputs`."""
        cube = prepared.cube
        grids = self.grids(cube, self.width)
        inputs = self.sampling_inputs(cube, grids, seed) | (samples or {})
        if self.share == "none":
            inputs["key"] = stream_key(seed, names.Purpose.SWAP_PAIRS)
        if self.interval == "population":
            inputs |= group_inputs(inputs, seed, self.groups, self.sampling, grids)
        return inputs

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        """See `Analysis.outputs`."""
        cube = prepared.cube
        count, n_sizes = n_cells(cube), len(self.sizes(cube))
        replicates = n_replicates(cube.sizes[names.TOPIC], cube.sizes[names.RUN], self.groups)
        shapes = (
            [(replicates, n_sizes, count, 2, self.n_bins + 1)]
            if self.interval == "population"
            else []
        )
        return (
            Output("count", (n_sizes, count, self.n_bins), Combine.ADD),
            Output("swap", (n_sizes, count, self.n_bins), Combine.ADD),
            Output("both_zero", (n_sizes, count), Combine.ADD),
            Output("products", (n_sizes, count, 3, 2, self.n_bins + 1), Combine.ADD),
            Output("largest", (n_sizes, count), Combine.MAX),
            Output("widest", (n_sizes, count), Combine.MAX),
            Output("overlap", (n_sizes, 3), Combine.ADD),
            *(Output("left_out", shape, Combine.ADD) for shape in shapes),
        )

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`."""
        counted = self._count(inputs, start, stop)
        fields = ("count", "swap", "both_zero", "products", "largest", "widest")
        outputs = {
            name: np.stack([getattr(tally, name) for tally, _ in counted]) for name in fields
        }
        outputs["overlap"] = np.stack([overlaps for _, overlaps in counted])
        if self.interval == "population":
            outputs["left_out"] = self._count_replicates(inputs, start, stop)
        return outputs

    def _count(
        self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int
    ) -> list[tuple[Tally, IntArray]]:
        """Return counts of swaps, and of distinct and common topics, for each size."""
        count = self._count_apart if self.share == "none" else self._count_shared
        return [count(inputs, step, start, stop) for step in range(len(inputs["sizes"]))]

    def _count_replicates(
        self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int
    ) -> IntArray:
        """Return counts without each group: (replicate, size, cell, comparisons or swaps, bin).

        An additional last bin has the counts of the first bin by rule s1, as in products.
        """
        first = self.n_bins - self.bins
        counts = []
        for replicate in left_out(inputs):
            for tally, _ in self._count(replicate, start, stop):
                first_bin = np.stack(
                    [tally.count[:, first], tally.swap[:, first] + tally.both_zero], axis=-1
                )
                all_bins = np.stack([tally.count, tally.swap], axis=1)
                counts.append(np.concatenate([all_bins, first_bin[..., np.newaxis]], axis=-1))
        return np.array(counts).reshape(-1, len(inputs["sizes"]), *counts[0].shape)

    def _count_shared(
        self, inputs: Mapping[str, np.ndarray[Any, Any]], step: int, start: int, stop: int
    ) -> tuple[Tally, IntArray]:
        """Return the counts of a size, with samples for all pairs of runs."""
        n_cells, n_runs, _ = (int(length) for length in inputs["shape"])
        size, tolerance, widths = (
            int(inputs["sizes"][step]),
            float(inputs["tolerances"][step]),
            inputs["units_per_bin"],
        )
        units, tally = units_of(inputs, step), Tally.empty(n_cells, self.n_bins)
        largest_sum = size * float(np.abs(units).max())
        kernel = (
            Kernel.SIGNED
            if self.signed
            else choose_kernel(n_runs, self.bins, largest_sum, widths, tolerance)
        )
        overlaps = np.zeros(3, np.int64)
        chunk = trials_at_once(n_cells * (n_runs + self.n_bins // 2))
        for low in range(start, stop, chunk):
            counts = counts_of(inputs, size, low, min(low + chunk, stop))
            add_trials(
                kernel, counts, units, n_runs, widths, tolerance, tally, symmetric=self.symmetric
            )
            overlaps += overlap(counts)
        return tally, overlaps

    def _count_apart(
        self, inputs: Mapping[str, np.ndarray[Any, Any]], step: int, start: int, stop: int
    ) -> tuple[Tally, IntArray]:
        """Return the counts of a size, with samples drawn for each pair of runs."""
        n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
        tally, overlaps = Tally.empty(n_cells, self.n_bins), np.zeros(3, np.int64)
        units = np.ascontiguousarray(units_of(inputs, step).T.reshape(n_cells, n_runs, n_topics))
        chunk = trials_at_once(n_cells * (n_runs + self.n_bins // 2))
        for low in range(start, stop, chunk):
            high = min(low + chunk, stop)
            counted = tally.counted(high - low)
            trials = TrialRange(
                inputs["key"], int(inputs["sampling"]), int(inputs["sizes"][step]), low, high
            )
            rules = BinRules(
                inputs["units_per_bin"],
                float(inputs["tolerances"][step]),
                self.signed,
                self.symmetric,
            )
            count_swaps_apart(trials, units, rules, counted, tally.largest, tally.widest, overlaps)
            tally.add(counted, signed=self.signed)
        return tally, overlaps

    def finalize(
        self, prepared: Prepared, totals: Mapping[str, np.ndarray[Any, Any]], trials: int
    ) -> xr.Dataset:
        """See `Analysis.finalize`; the variables are described in `VARIABLES`."""
        cube = prepared.cube
        # From (size, cell, ...) to (metric, gain, size, ...).
        cell_of = cells(cube)[1]
        by_cell = {
            name: np.moveaxis(totals[name], 0, 1)[cell_of]
            for name in totals
            if name not in ("overlap", "left_out")
        }
        count, swaps, both_zero = by_cell["count"], by_cell["swap"], by_cell["both_zero"]
        if self.rule == "s1":
            swaps[..., self.n_bins - self.bins] += both_zero
        replicates = (
            np.moveaxis(totals["left_out"], 2, 1)[:, cell_of] if "left_out" in totals else None
        )
        low, high = self._interval(cube, swaps, count, by_cell["products"], replicates, trials)
        grid = self.grids(cube, self.width)[0]
        to_score = (float(grid.width) / grid.units_per_bin)[cell_of][..., np.newaxis]
        max_performance, max_difference = (
            np.round(by_cell[name].astype(np.float64) * to_score, DECIMALS)
            for name in ("largest", "widest")
        )
        edges = np.array([float(k * self.width) for k in range(self.bins)])
        n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        samples = trials * (n_runs * (n_runs - 1) // 2 if self.share == "none" else 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.where(count > 0, swaps / count, np.nan)
        values = {
            "count": count,
            "swaps": swaps,
            "both_zero": both_zero,
            "swap_rate": rate,
            "swap_rate_low": low,
            "swap_rate_high": high,
            **self._required(self._absolute(count), self._absolute(swaps), edges, max_performance),
            "max_performance": max_performance,
            "max_difference": max_difference,
            "unique": (totals["overlap"][:, 0] + totals["overlap"][:, 1]) / (2 * samples),
            "common": totals["overlap"][:, 2] / samples,
        }
        coords = {
            names.SIZE: np.array(self.sizes(cube)),
            names.BIN: np.arange(self.n_bins) - (self.n_bins - self.bins),
            "lower": (
                names.BIN,
                np.concatenate([[np.nan], -edges[:0:-1], edges]) if self.signed else edges,
            ),
            names.CONFIDENCE: np.array(self.confidence),
        }
        attrs = {name: getattr(self, name) for name in ("sampling", "rule", "share", "interval")}
        attrs = {"trials": trials} | attrs | {"n_runs": n_runs, "n_topics": n_topics}
        return labelled_result(cube, VARIABLES, values, coords, attrs)

    def _interval(
        self,
        cube: xr.Dataset,
        swaps: IntArray,
        count: IntArray,
        products: IntArray,
        replicates: IntArray | None,
        trials: int,
    ) -> tuple[Any, Any]:
        """Return lower and upper limits of the swap rates."""
        halves = np.moveaxis(products.astype(object), (-3, -2), (0, 1))
        exact, first = halves[:, 0] + halves[:, 1] * 2**32, self.n_bins - self.bins
        if self.rule == "s1":
            exact[..., first] = exact[..., -1]
        max_size = 1.0 + self.symmetric if self.share == "none" else None
        size, freedom = effective_size(swaps, count, exact[..., :-1], trials, most=max_size)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = swaps / count
            if replicates is None:
                return wilson(
                    np.where(count > 0, rate, 0.0) * size, size, student_quantile(freedom)
                )
            if self.rule == "s1":
                replicates[..., first] = replicates[..., -1]
            replicate_rates = replicates[..., 1, :-1] / replicates[..., 0, :-1]
        return population_interval(
            rate, count, size, replicate_rates, cube.sizes[names.RUN], self.groups
        )

    def _absolute(self, counts: IntArray) -> IntArray:
        """Return the counts by absolute difference."""
        return (
            counts[..., self.bins :] + counts[..., self.bins - 1 :: -1] if self.signed else counts
        )

    def _required(
        self,
        count: IntArray,
        swaps: IntArray,
        edges: np.ndarray[Any, Any],
        max_performance: np.ndarray[Any, Any],
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Return required differences and the shares of comparisons that reach them."""
        first, suffix = required_bins(
            count, swaps, self.confidence, lowest=0 if self.allow_zero else 1
        )
        chosen = suffix if self.required == "suffix" else first
        required = np.where(chosen >= 0, edges[chosen], np.nan)
        at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
        reached = np.take_along_axis(at_least, np.maximum(chosen, 0), axis=-1) / at_least[..., :1]
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = required / max_performance[..., np.newaxis]
        return {
            "required_difference": required,
            "required_difference_first": np.where(first >= 0, edges[first], np.nan),
            "relative_difference": relative,
            "share": np.where(chosen >= 0, reached, np.nan),
            "support": edges[self.bins - 1 - np.argmax(count[..., ::-1] > 0, axis=-1)],
        }

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """See `Analysis.cost`: comparisons, sample means and draws."""
        cube = prepared.cube
        count, n_runs, n_topics = n_cells(cube), cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        comparisons = count * n_runs * (n_runs - 1) / 2
        draws = 2 * sum(self.sizes(cube))
        chunk = trials_at_once(count * (n_runs + self.n_bins // 2))
        score_bytes = 8.0 * count * n_runs * n_topics
        working_bytes = 2 * score_bytes + 8.0 * count * chunk * (5 * n_runs + self.n_bins)
        repetitions = 1.0
        if self.interval == "population":
            # Without a group of topics, each half of the runs has a quarter of the pairs.
            repetitions += min(self.groups, n_topics) / 2 + min(self.groups, n_runs)
        if self.share == "none":
            return Cost(
                repetitions * (draws * comparisons * (2e-9 + 8e-9 / count) + 1e-6),
                0.0,
                working_bytes,
                result_bytes=score_bytes,
                input_bytes=score_bytes,
            )
        comparison_seconds = min(1.2e-9 * comparisons, 3e-9 * count * n_runs * (self.bins + 10))
        if self.signed:
            comparison_seconds = 3.5e-9 * comparisons
        per_size = (
            comparison_seconds * (1 + self.symmetric) + 1e-10 * 2 * n_topics * count * n_runs + 1e-6
        )
        return Cost(
            repetitions * (per_size * len(self.sizes(cube)) + 6e-9 * draws),
            0.0,
            working_bytes,
            result_bytes=score_bytes,
            input_bytes=score_bytes,
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """See `Analysis.samples`: ``topic_sample[trial, half, draw]`` for the largest size."""
        if self.share == "none":
            raise BadPlan(
                f"with {option('share', 'none')} samples are drawn for every pair of runs and cannot be saved"
            )
        return super().samples(cube, seed, trials)


_CELL = (names.METRIC, names.GAIN, names.SIZE)
_BINS = (*_CELL, names.BIN)
_LEVELS = (*_CELL, names.CONFIDENCE)
VARIABLES = (
    Variable(
        "count",
        _BINS,
        "i",
        "comparisons",
        "pairs of runs and trials whose first difference lies in the bin",
    ),
    Variable(
        "swaps",
        _BINS,
        "i",
        "comparisons",
        "comparisons on which the second sample disagrees, by the rule",
    ),
    Variable(
        "both_zero",
        _CELL,
        "i",
        "comparisons",
        "pairs and trials with no difference in either sample",
    ),
    Variable("swap_rate", _BINS, "f", "1", "swaps / count; missing where the bin is empty"),
    Variable(
        "swap_rate_low",
        _BINS,
        "f",
        "1",
        "lower limit of the swap rate (95 %), see the attribute interval",
    ),
    Variable(
        "swap_rate_high",
        _BINS,
        "f",
        "1",
        "upper limit of the swap rate (95 %), see the attribute interval",
    ),
    Variable(
        "required_difference",
        _LEVELS,
        "f",
        "score",
        "lower edge of the bin that the option required chooses",
    ),
    Variable(
        "required_difference_first",
        _LEVELS,
        "f",
        "score",
        "lower edge of the lowest bin whose swap rate is not too high",
    ),
    Variable(
        "max_performance",
        _CELL,
        "f",
        "score",
        "largest mean score over runs, trials and both samples",
    ),
    Variable(
        "max_difference", _CELL, "f", "score", "largest difference of two mean scores on one sample"
    ),
    Variable("relative_difference", _LEVELS, "f", "1", "required difference / largest mean score"),
    Variable(
        "share", _LEVELS, "f", "1", "share of all comparisons with at least the required difference"
    ),
    Variable("support", _CELL, "f", "score", "lower edge of the highest bin that is not empty"),
    Variable("unique", (names.SIZE,), "f", "topics", "mean number of distinct topics in a sample"),
    Variable(
        "common",
        (names.SIZE,),
        "f",
        "topics",
        "mean number of distinct topics common to both samples",
    ),
)

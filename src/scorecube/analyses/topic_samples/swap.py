"""The Voorhees/Buckley swap method: how often do two topic sets disagree about which of two runs is better?

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
from scorecube.analyses.base import Arrays, Combine, Cost, Output, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.topic_samples.base import TopicSampling, counts_of, units_of
from scorecube.analyses.topic_samples.left_out_groups import group_inputs, left_out, n_replicates
from scorecube.collection import schema
from scorecube.collection.selection import cells, n_cells, uses_gains
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import overlap
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.swap.dispatch import Kernel, Tally, add_trials, choose_kernel, trials_at_once
from scorecube.kernels.swap.per_pair import BinRules, TrialRange, count_swaps_apart
from scorecube.statistics.population_interval import population_interval
from scorecube.statistics.proportion_intervals import effective_size, student_quantile, wilson
from scorecube.statistics.required_difference import required_bins

DECIMALS = 12
"""Of means given back: what lies below is the grid's rounding."""
IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True)
class Swap(TopicSampling):
    """Swap method: how large a difference does another set of topics confirm?

    Every trial draws two topic samples, shared by all metrics, gain settings and pairs of runs. A pair is put into
    the bin of its absolute difference in mean score on the first sample; it is a swap if the second sample disagrees.

    Parameters
    ----------
    sampling
        ``disjoint``: two samples without common topics (S0 Fig. 1). ``replacement``: each drawn with replacement
        (S0 section 3.1, S1). ``independent``: each without replacement, apart (S0 section 3.2).
    size
        Topics in each sample, one number or several (Voorhees and Buckley 2002); None means all topics with replacement, else
        half of them.
    rule
        Two zero differences are no swap (``s0``) or one (``s1``).
    confidence
        1 - accepted swap rate, one row of the sensitivity table each.
    bin_width
        Width of the difference bins, in score units.
    bins
        Number of bins; the last one is open.
    allow_zero
        A required difference may be 0: the first bin counts like the others.
    signed
        Negative differences (of the run that comes first by name minus the other) have bins of their own, numbered -1, -2, ...;
        S0 Fig. 1 prints signed differences, though its text means absolute ones. Required differences pool both signs.
    symmetric
        Every comparison counts in both directions: also with the second sample's difference, which the first confirms or not.
    share
        ``all``: a trial's samples serve all pairs of runs (S1). ``none``: every pair draws its own (S0 Fig. 1 to the letter),
        which takes about a hundred times longer.
    interval
        What the 95 % intervals of swap rates are about. ``trials``: the rate that infinitely many trials with these topics and runs
        would have; more trials narrow it. ``population``: the rate that other collections of as many topics and runs, drawn from where these
        come from, have on average; it is far wider, and takes up to 1.3 * groups times the work in addition. See `Notes`.
    groups
        Of topics, and of runs, that are left out in turn for the interval about the population.

    Notes
    -----
    Both are Wilson's intervals of the effective number of comparisons, see `intervals.effective_size` and `jackknife`. Simulated
    (tests/analyses/topic_samples/test_swap_intervals.py), intervals over trials hold the collection's own rate in 91 to 100 %, bin by bin. Intervals about the
    population hold the mean rate of collections in 93 to 100 % for bins with 2 % of the comparisons, 95 to 99 % on average, with exchangeable runs
    or not; the open last bin of 5 runs in 87 %. They are wider than need be where differences are small. Intervals over trials hold the mean
    rate of collections in 20 to 70 %: that is not what they are about.

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
    examples: ClassVar[tuple[str, ...]] = ("--sampling disjoint --size 5..25:5 --trials 1000 --seed 1",)

    rule: str = option_field(
        "s0", "Two zero differences are no swap (s0) or one (s1).", choices=("s0", "s1"), finalize=True
    )
    confidence: tuple[float, ...] = option_field((0.95, 0.9, 0.8), "1 - accepted swap rates.", finalize=True)
    bin_width: float = option_field(0.01, "Width of the difference bins.", unit="score")
    bins: int = option_field(21, "Number of difference bins; the last one is open.")
    allow_zero: bool = option_field(False, "A required difference may be 0.", finalize=True)
    signed: bool = option_field(False, "Bins for negative differences, too.")
    symmetric: bool = option_field(False, "Either sample in turn gives the difference that the other confirms.")
    share: str = option_field(
        "all", "Samples serve all pairs of runs, or none: each pair draws its own (slow).", choices=("all", "none")
    )
    interval: str = option_field(
        "trials",
        "Of swap rates: over more trials, or over the population of topics and runs (slow).",
        choices=("trials", "population"),
    )
    groups: int = option_field(10, "Of topics and of runs, left out in turn for the interval about the population.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interval == "trials":
            # Not used: equal plans have one digest.
            object.__setattr__(self, "groups", type(self).groups)

    def check(self, prepared: Prepared) -> list[str]:
        """See `Analysis.check`."""
        cube = prepared.cube
        if not self.confidence or not all(0 < value < 1 for value in self.confidence):
            raise BadPlan(f"confidence {self.confidence} must be numbers between 0 and 1", option="confidence")
        if not 2 <= self.bins <= 1000 or not 0 < self.bin_width <= 1e6:
            given = f"{option('bins', self.bins)}, {option('bin_width', self.bin_width)}"
            raise BadPlan(f"{given}: need 2 to 1000 bins of positive width")
        n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        if n_runs * (n_runs - 1) >= 2**31:
            raise BadPlan(f"{n_runs} runs are too many pairs for the swap method: at most 46,341")
        warnings = self.check_sampling(cube)
        if self.interval == "population":
            if not 3 <= self.groups <= 1000:
                raise BadPlan(f"{option('groups', self.groups)}: need 3 to 1000 groups of topics and runs to leave out")
            if min(n_runs, n_topics) < 4:
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
    def n_places(self) -> int:
        """Number of bins, those of negative differences included."""
        return 2 * self.bins if self.signed else self.bins

    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """See `Analysis.replay`."""
        if self.share == "none":
            raise BadPlan(f"with {option('share', 'none')} every pair of runs draws its own samples: none can be given")
        if self.interval == "population":
            raise BadPlan(
                "the interval about the population draws samples of fewer topics, too: none can be given; "
                f"use {option('interval', 'trials')}"
            )
        return super().replay(prepared, samples, trials)

    def inputs(self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None) -> Arrays:
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
        shapes = [(replicates, n_sizes, count, 2, self.n_places + 1)] if self.interval == "population" else []
        return (
            Output("count", (n_sizes, count, self.n_places), Combine.ADD),
            Output("swap", (n_sizes, count, self.n_places), Combine.ADD),
            Output("both_zero", (n_sizes, count), Combine.ADD),
            Output("products", (n_sizes, count, 3, 2, self.n_places + 1), Combine.ADD),
            Output("largest", (n_sizes, count), Combine.MAX),
            Output("widest", (n_sizes, count), Combine.MAX),
            Output("overlap", (n_sizes, 3), Combine.ADD),
            *(Output("left_out", shape, Combine.ADD) for shape in shapes),
        )

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`."""
        parts = self._count(inputs, start, stop)
        tallies, common = [tally for tally, _ in parts], [total for _, total in parts]
        fields = ("count", "swap", "both_zero", "products", "largest", "widest")
        found = {name: np.stack([getattr(tally, name) for tally in tallies]) for name in fields}
        found["overlap"] = np.stack(common)
        if self.interval == "population":
            found["left_out"] = self._left_out(inputs, start, stop)
        return found

    def _count(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> list[tuple[Tally, IntArray]]:
        count = self._count_apart if self.share == "none" else self._count_shared
        return [count(inputs, step, start, stop) for step in range(len(inputs["sizes"]))]

    def _left_out(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> IntArray:
        """Count without each group: (replicate, size, cell, comparisons or swaps, place), the place behind the last as in products."""
        first = self.n_places - self.bins
        found = []
        for part in left_out(inputs):
            for tally, _ in self._count(part, start, stop):
                tied = np.stack([tally.count[:, first], tally.swap[:, first] + tally.both_zero], axis=-1)
                both = np.stack([tally.count, tally.swap], axis=1)
                found.append(np.concatenate([both, tied[..., np.newaxis]], axis=-1))
        return np.array(found).reshape(-1, len(inputs["sizes"]), *found[0].shape)

    def _count_shared(
        self, inputs: Mapping[str, np.ndarray[Any, Any]], step: int, start: int, stop: int
    ) -> tuple[Tally, IntArray]:
        n_cells, n_runs, _ = (int(number) for number in inputs["shape"])
        size, tolerance, widths = int(inputs["sizes"][step]), float(inputs["tolerances"][step]), inputs["units_per_bin"]
        units, tally = units_of(inputs, step), Tally.empty(n_cells, self.n_places)
        largest_sum = size * float(np.abs(units).max())
        kernel = Kernel.SIGNED if self.signed else choose_kernel(n_runs, self.bins, largest_sum, widths, tolerance)
        common = np.zeros(3, np.int64)
        at_once = trials_at_once(n_cells * (n_runs + self.n_places // 2))
        for low in range(start, stop, at_once):
            counts = counts_of(inputs, size, low, min(low + at_once, stop))
            add_trials(kernel, counts, units, n_runs, widths, tolerance, tally, symmetric=self.symmetric)
            common += overlap(counts)
        return tally, common

    def _count_apart(
        self, inputs: Mapping[str, np.ndarray[Any, Any]], step: int, start: int, stop: int
    ) -> tuple[Tally, IntArray]:
        n_cells, n_runs, n_topics = (int(number) for number in inputs["shape"])
        tally, common = Tally.empty(n_cells, self.n_places), np.zeros(3, np.int64)
        units = np.ascontiguousarray(units_of(inputs, step).T.reshape(n_cells, n_runs, n_topics))
        at_once = trials_at_once(n_cells * (n_runs + self.n_places // 2))
        for low in range(start, stop, at_once):
            high = min(low + at_once, stop)
            counted = tally.counted(high - low)
            trials = TrialRange(inputs["key"], int(inputs["sampling"]), int(inputs["sizes"][step]), low, high)
            rules = BinRules(inputs["units_per_bin"], float(inputs["tolerances"][step]), self.signed, self.symmetric)
            count_swaps_apart(trials, units, rules, counted, tally.largest, tally.widest, common)
            tally.add(counted, signed=self.signed)
        return tally, common

    def finalize(self, prepared: Prepared, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """See `Analysis.finalize`; the variables are described in `VARIABLES`."""
        cube = prepared.cube
        # From (size, cell, ...) to (metric, gain, size, ...).
        cell_of = cells(cube)[1]
        by_cell = {
            name: np.moveaxis(totals[name], 0, 1)[cell_of] for name in totals if name not in ("overlap", "left_out")
        }
        count, swaps, both_zero = by_cell["count"], by_cell["swap"], by_cell["both_zero"]
        if self.rule == "s1":
            swaps[..., self.n_places - self.bins] += both_zero
        replicates = np.moveaxis(totals["left_out"], 2, 1)[:, cell_of] if "left_out" in totals else None
        low, high = self._interval(cube, swaps, count, by_cell["products"], replicates, trials)
        grid = self.grids(cube, self.width)[0]
        to_score = (float(grid.width) / grid.units_per_bin)[cell_of][..., np.newaxis]
        max_performance, max_difference = (
            np.round(by_cell[name].astype(np.float64) * to_score, DECIMALS) for name in ("largest", "widest")
        )
        edges = np.array([float(k * self.width) for k in range(self.bins)])
        n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        samples = trials * (n_runs * (n_runs - 1) // 2 if self.share == "none" else 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.where(count > 0, swaps / count, np.nan)
        values = {
            "count": count, "swaps": swaps, "both_zero": both_zero,
            "swap_rate": rate, "swap_rate_low": low, "swap_rate_high": high,
            **self._required(self._absolute(count), self._absolute(swaps), edges, max_performance),
            "max_performance": max_performance, "max_difference": max_difference,
            "unique": (totals["overlap"][:, 0] + totals["overlap"][:, 1]) / (2 * samples),
            "common": totals["overlap"][:, 2] / samples,
        }  # fmt: skip
        lower = np.concatenate([[np.nan], -edges[:0:-1], edges]) if self.signed else edges
        coords = {
            names.METRIC: cube[names.METRIC], names.GAIN: cube[names.GAIN], names.USES_GAINS: (names.METRIC, uses_gains(cube)),
            names.SIZE: np.array(self.sizes(cube)), names.BIN: np.arange(self.n_places) - (self.n_places - self.bins),
            "lower": (names.BIN, lower), names.CONFIDENCE: np.array(self.confidence),
        }  # fmt: skip
        result = xr.Dataset({each.name: (each.dims, values[each.name]) for each in VARIABLES}, coords=coords)
        attrs = {
            "trials": trials,
            "sampling": self.sampling,
            "rule": self.rule,
            "share": self.share,
            "interval": self.interval,
        }
        return schema.annotate(result.assign_attrs(attrs | {"n_runs": n_runs, "n_topics": n_topics}), VARIABLES)

    def _interval(
        self,
        cube: xr.Dataset,
        swaps: IntArray,
        count: IntArray,
        products: IntArray,
        replicates: IntArray | None,
        trials: int,
    ) -> tuple[Any, Any]:
        """Return the ends of the intervals of the swap rates."""
        words = np.moveaxis(products.astype(object), (-3, -2), (0, 1))
        exact, first = words[:, 0] + words[:, 1] * 2**32, self.n_places - self.bins
        if self.rule == "s1":
            exact[..., first] = exact[..., -1]
        most = 1.0 + self.symmetric if self.share == "none" else None
        size, freedom = effective_size(swaps, count, exact[..., :-1], trials, most=most)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = swaps / count
            if replicates is None:
                return wilson(np.where(count > 0, rate, 0.0) * size, size, student_quantile(freedom))
            if self.rule == "s1":
                replicates[..., first] = replicates[..., -1]
            left = replicates[..., 1, :-1] / replicates[..., 0, :-1]
        return population_interval(rate, count, size, left, cube.sizes[names.RUN], self.groups)

    def _absolute(self, counts: IntArray) -> IntArray:
        """Return the counts of absolute differences."""
        return counts[..., self.bins :] + counts[..., self.bins - 1 :: -1] if self.signed else counts

    def _required(
        self, count: IntArray, swaps: IntArray, edges: np.ndarray[Any, Any], max_performance: np.ndarray[Any, Any]
    ) -> dict[str, np.ndarray[Any, Any]]:
        first, suffix = required_bins(count, swaps, self.confidence, lowest=0 if self.allow_zero else 1)
        required = np.where(suffix >= 0, edges[suffix], np.nan)
        at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
        reached = np.take_along_axis(at_least, np.maximum(suffix, 0), axis=-1) / at_least[..., :1]
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = required / max_performance[..., np.newaxis]
        return {
            "required_difference": required, "required_difference_first": np.where(first >= 0, edges[first], np.nan),
            "relative_difference": relative, "share": np.where(suffix >= 0, reached, np.nan),
            "support": edges[self.bins - 1 - np.argmax(count[..., ::-1] > 0, axis=-1)],
        }  # fmt: skip

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """See `Analysis.cost`: comparisons, sample means and draws."""
        cube = prepared.cube
        count, n_runs, n_topics = n_cells(cube), cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        comparisons = count * n_runs * (n_runs - 1) / 2
        draws = 2 * sum(self.sizes(cube))
        at_once = trials_at_once(count * (n_runs + self.n_places // 2))
        held = 8.0 * count * (n_runs * (2 * n_topics + 5 * at_once) + self.n_places * at_once)
        runs = 1.0
        if self.interval == "population":
            # Without a group of topics: either half of the runs, a quarter of the pairs each.
            runs += min(self.groups, n_topics) / 2 + min(self.groups, n_runs)
        if self.share == "none":
            return Cost(runs * (draws * comparisons * (2e-9 + 8e-9 / count) + 1e-6), 0.0, held)
        comparing = min(1.2e-9 * comparisons, 3e-9 * count * n_runs * (self.bins + 10))
        if self.signed:
            comparing = 3.5e-9 * comparisons
        per_size = comparing * (1 + self.symmetric) + 1e-10 * 2 * n_topics * count * n_runs + 1e-6
        return Cost(runs * (per_size * len(self.sizes(cube)) + 6e-9 * draws), 0.0, held)

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """See `Analysis.samples`: ``topic_sample[trial, half, draw]`` for the largest size."""
        if self.share == "none":
            raise BadPlan(
                f"with {option('share', 'none')} every pair of runs draws its own samples: there are none to save"
            )
        return super().samples(cube, seed, trials)


_CELL = (names.METRIC, names.GAIN, names.SIZE)
_BINS = (*_CELL, names.BIN)
_LEVELS = (*_CELL, names.CONFIDENCE)
_RATE, _ANY = "lowest bin whose swap rate is not too high", "lowest bin from which on no swap rate is too high"
VARIABLES = tuple(
    schema.Variable(*facts)
    for facts in (
        ("count", _BINS, "i", "comparisons", "pairs of runs and trials whose first difference lies in the bin"),
        ("swaps", _BINS, "i", "comparisons", "of these, those on which the second sample disagrees, by the rule"),
        ("both_zero", _CELL, "i", "comparisons", "pairs and trials with no difference in either sample"),
        ("swap_rate", _BINS, "f", "1", "swaps / count; missing where the bin is empty"),
        (
            "swap_rate_low",
            _BINS,
            "f",
            "1",
            "lower end of the 95 % interval of the swap rate, about what the attribute interval says",
        ),
        (
            "swap_rate_high",
            _BINS,
            "f",
            "1",
            "upper end of the 95 % interval of the swap rate, about what the attribute interval says",
        ),
        ("required_difference", _LEVELS, "f", "score", f"lower edge of the {_ANY}"),
        ("required_difference_first", _LEVELS, "f", "score", f"lower edge of the {_RATE}"),
        ("max_performance", _CELL, "f", "score", "largest mean score over runs, trials and both samples"),
        ("max_difference", _CELL, "f", "score", "largest difference of two mean scores on one sample"),
        ("relative_difference", _LEVELS, "f", "1", "required difference / largest mean score"),
        ("share", _LEVELS, "f", "1", "share of all comparisons with at least the required difference"),
        ("support", _CELL, "f", "score", "lower edge of the highest bin that is not empty"),
        ("unique", (names.SIZE,), "f", "topics", "mean number of distinct topics in a sample"),
        ("common", (names.SIZE,), "f", "topics", "mean number of distinct topics common to both samples"),
    )
)

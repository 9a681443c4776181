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

from scorecube import names, schema
from scorecube.analyses.analysis import Analysis, Arrays, Cost, Join, Output
from scorecube.analyses.intervals import wilson
from scorecube.cube import SUMMARY, cells, uses_gains
from scorecube.errors import BadPlan
from scorecube.kernels.draws import Sampling, multiplicities, overlap, topic_samples
from scorecube.kernels.grid import Grid, make_grid
from scorecube.kernels.streams import stream_key
from scorecube.kernels.swap import count_swaps, extremes

SAMPLINGS = tuple(sampling.name.lower() for sampling in Sampling)
RULES = ("s0", "s1")
DECIMALS = 12
"""Of means given back: what lies below is the grid's rounding."""
TRIALS_AT_ONCE = 64
"""Trials whose sample means are held at once: they stay in the second-level cache."""


@dataclass(frozen=True, kw_only=True)
class Swap(Analysis):
    """Swap rates by performance difference, and the difference required for a given confidence.

    Every trial draws two topic samples, shared by all metrics, gain settings and pairs of runs. A pair is put into
    the bin of its absolute difference in mean score on the first sample; it is a swap if the second sample disagrees.

    Parameters
    ----------
    sampling
        ``disjoint``: two samples without common topics (S0 Fig. 1). ``replacement``: each drawn with replacement
        (S0 section 3.1, S1). ``independent``: each without replacement, apart (S0 section 3.2).
    size
        Topics in each sample; None means all topics with replacement, else half of them.
    rule
        Two zero differences are no swap (``s0``) or one (``s1``).
    confidence
        1 - accepted swap rate, one row of the sensitivity table each.
    bin_width
        Width of the difference bins, in score units.
    bins
        Number of bins; the last one is open.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.api import analyse
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> result = analyse(cube, Swap(sampling="replacement"), trials=100, seed=1)
    >>> int(result["count"].sel(metric="AP").sum())
    1500
    """

    name: ClassVar[str] = "swap"
    reading: ClassVar[frozenset[str]] = frozenset({"rule", "confidence"})

    sampling: str = "disjoint"
    size: int | None = None
    rule: str = "s0"
    confidence: tuple[float, ...] = (0.95, 0.9, 0.8)
    bin_width: float = 0.01
    bins: int = 21

    def resolved_size(self, cube: xr.Dataset) -> int:
        """Return the number of topics in each sample."""
        n_topics = cube.sizes[names.TOPIC]
        if self.size is not None:
            return self.size
        return n_topics if self.sampling == "replacement" else n_topics // 2

    def check(self, cube: xr.Dataset) -> list[str]:
        """See `Analysis.check`."""
        if self.sampling not in SAMPLINGS:
            raise BadPlan(f"sampling {self.sampling!r} is not one of {', '.join(SAMPLINGS)}")
        if self.rule not in RULES:
            raise BadPlan(f"rule {self.rule!r} is not one of {', '.join(RULES)}")
        if not self.confidence or not all(0 < value < 1 for value in self.confidence):
            raise BadPlan(f"confidence {self.confidence} must be numbers between 0 and 1")
        if not 2 <= self.bins <= 1000 or not 0 < self.bin_width <= 1e6:
            raise BadPlan(f"bins={self.bins}, bin_width={self.bin_width}: need 2 to 1000 bins of positive width")
        n_topics, n_runs, size = cube.sizes[names.TOPIC], cube.sizes[names.RUN], self.resolved_size(cube)
        if n_runs < 2 or n_topics < 2:
            raise BadPlan(f"the swap method needs 2 runs and 2 topics, found {n_runs} runs and {n_topics} topics")
        if size < 1:
            raise BadPlan(f"sample size {size} must be at least 1")
        if self.sampling == "disjoint" and 2 * size > n_topics:
            raise BadPlan(
                f"two disjoint samples of {size} topics need {2 * size} topics, but there are only {n_topics}; "
                f"use --size {n_topics // 2} or less, or --sampling replacement"
            )
        if self.sampling == "independent" and size > n_topics:
            raise BadPlan(
                f"a sample of {size} topics without replacement needs {size} topics, but there are only {n_topics}"
            )
        _refuse_missing(cube)
        _refuse_other_summaries(cube)
        if self.sampling == "disjoint" and 2 * size == n_topics:
            return [
                f"disjoint samples of {size} out of {n_topics} topics only halve the topic set: trials are not independent"
            ]
        return []

    def grid(self, cube: xr.Dataset) -> Grid:
        """Return the integer grid of the sample means."""
        return make_grid(self.resolved_size(cube), Fraction(str(self.bin_width)), cells(cube)[0])

    def prepare(self, cube: xr.Dataset, seed: int, samples: xr.Dataset | None) -> Arrays:
        """See `Analysis.prepare`; `units` is (topic, cell * run), laid out for a matrix product."""
        grid, size = self.grid(cube), self.resolved_size(cube)
        scores, _ = cells(cube)
        n_cells, n_runs, n_topics = scores.shape
        inputs = {
            "units": np.ascontiguousarray(grid.to_units(scores).reshape(n_cells * n_runs, n_topics).T),
            "sizes": np.array([n_cells, n_runs, n_topics, size, self.bins]),
            "units_per_bin": grid.units_per_bin,
            "tolerance": np.array(grid.tolerance),
            "key": stream_key(seed, names.Purpose.SWAP_TOPICS),
            "sampling": np.array(Sampling[self.sampling.upper()]),
        }
        if samples is not None:
            inputs["samples"] = sample_positions(samples, cube, size)
        return inputs

    def outputs(self, cube: xr.Dataset) -> tuple[Output, ...]:
        """See `Analysis.outputs`."""
        n_cells = int(cells(cube)[1].max()) + 1
        return (
            Output("count", (n_cells, self.bins), Join.ADD),
            Output("swap", (n_cells, self.bins), Join.ADD),
            Output("both_zero", (n_cells,), Join.ADD),
            Output("largest", (n_cells,), Join.MAX),
            Output("widest", (n_cells,), Join.MAX),
            Output("overlap", (3,), Join.ADD),
        )

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`."""
        n_cells, n_runs, n_topics, size, bins = (int(number) for number in inputs["sizes"])
        units_per_bin, tolerance = inputs["units_per_bin"], float(inputs["tolerance"])
        count, swap = np.zeros((n_cells, bins), np.int64), np.zeros((n_cells, bins), np.int64)
        both_zero, common = np.zeros(n_cells, np.int64), np.zeros(3, np.int64)
        largest, widest = np.full(n_cells, -np.inf), np.zeros(n_cells)
        for low in range(start, stop, TRIALS_AT_ONCE):
            high = min(low + TRIALS_AT_ONCE, stop)
            if "samples" in inputs:
                drawn = np.ascontiguousarray(inputs["samples"][low:high])
            else:
                drawn = topic_samples(inputs["key"], int(inputs["sampling"]), n_topics, size, low, high)
            counts = multiplicities(drawn, n_topics)
            sums = (counts @ inputs["units"]).reshape(2, high - low, n_cells, n_runs)
            count_swaps(sums[0], sums[1], units_per_bin, tolerance, count, swap, both_zero)
            extremes(sums[0], sums[1], largest, widest)
            common += overlap(counts)
        return {
            "count": count, "swap": swap, "both_zero": both_zero, "overlap": common,
            "largest": largest.astype(np.int64), "widest": widest.astype(np.int64),
        }  # fmt: skip

    def finish(self, cube: xr.Dataset, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """See `Analysis.finish`; the variables are described in `VARIABLES`."""
        _, cell_of = cells(cube)
        grid = self.grid(cube)
        count, swaps = totals["count"][cell_of], totals["swap"][cell_of].copy()
        both_zero = totals["both_zero"][cell_of]
        if self.rule == "s1":
            swaps[..., 0] += both_zero
        low, high = wilson(swaps, count)
        max_performance = np.round(grid.to_mean(totals["largest"].astype(np.float64)), DECIMALS)[cell_of]
        first, suffix = self.required_bins(count, swaps)
        width = Fraction(str(self.bin_width))
        edges = np.array([float(k * width) for k in range(self.bins)])
        required = np.where(suffix > 0, edges[suffix], np.nan)
        at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
        share = np.take_along_axis(at_least, suffix, axis=-1) / at_least[..., :1]
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.where(count > 0, swaps / count, np.nan)
            relative = required / max_performance[..., np.newaxis]
        unique_first, unique_second, common = (int(total) for total in totals["overlap"])
        values = {
            "count": count, "swaps": swaps, "both_zero": both_zero,
            "swap_rate": rate, "swap_rate_low": low, "swap_rate_high": high,
            "required_difference": required,
            "required_difference_first": np.where(first > 0, edges[first], np.nan),
            "max_performance": max_performance,
            "max_difference": np.round(grid.to_mean(totals["widest"].astype(np.float64)), DECIMALS)[cell_of],
            "relative_difference": relative,
            "share": np.where(suffix > 0, share, np.nan),
            "unique": np.array((unique_first + unique_second) / (2 * trials)),
            "common": np.array(common / trials),
        }  # fmt: skip
        coords = {
            names.METRIC: cube[names.METRIC], names.GAIN: cube[names.GAIN], "uses_gains": (names.METRIC, uses_gains(cube)),
            names.BIN: np.arange(self.bins), "lower": (names.BIN, edges),
            names.CONFIDENCE: np.array(self.confidence),
        }  # fmt: skip
        result = xr.Dataset(
            {variable.name: (variable.dims, values[variable.name]) for variable in VARIABLES}, coords=coords
        )
        attrs = {"trials": trials, "size": self.resolved_size(cube), "sampling": self.sampling, "rule": self.rule}
        attrs |= {"n_runs": cube.sizes[names.RUN], "n_topics": cube.sizes[names.TOPIC]}
        return schema.annotate(result.assign_attrs(attrs), VARIABLES)

    def required_bins(
        self, count: np.ndarray[Any, Any], swaps: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the bins whose lower edge is the required difference, 0 where there is none.

        Returns
        -------
        first
            Lowest bin from 1 on whose swap rate is at most 1 - confidence; shape (metric, gain, confidence).
        suffix
            Lowest such bin with no higher bin above that rate; empty bins above do not matter.
        """
        first = np.zeros((*count.shape[:-1], len(self.confidence)), np.int64)
        suffix = np.zeros_like(first)
        for k, confidence in enumerate(self.confidence):
            accepted = 1 - Fraction(str(confidence))
            # Exact comparison of rates, in Python's integers: swaps / count <= accepted.
            most = [int(each) * accepted.numerator // accepted.denominator for each in count.ravel()]
            within = swaps <= np.array(most, np.int64).reshape(count.shape)
            qualifies = within & (count > 0)
            qualifies[..., 0] = False
            holds_above = np.logical_and.accumulate((within | (count == 0))[..., ::-1], axis=-1)[..., ::-1]
            first[..., k] = np.argmax(qualifies, axis=-1)
            suffix[..., k] = np.argmax(qualifies & holds_above, axis=-1)
        return first, suffix

    def cost(self, cube: xr.Dataset) -> Cost:
        """See `Analysis.cost`: about 2 ns a comparison plus the sample means."""
        n_cells = int(cells(cube)[1].max()) + 1
        n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        comparisons = n_cells * n_runs * (n_runs - 1) / 2
        multiplications = 2 * n_topics * n_cells * n_runs
        held = TRIALS_AT_ONCE * 2 * 8 * (n_cells * n_runs + n_topics)
        return Cost(
            2.5e-9 * comparisons + 1e-10 * multiplications + 1e-6, 0.0, held + 8.0 * n_topics * n_cells * n_runs
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``, the topic labels that a run draws."""
        self.check(cube)
        key = stream_key(seed, names.Purpose.SWAP_TOPICS)
        kind = int(Sampling[self.sampling.upper()])
        drawn = topic_samples(key, kind, cube.sizes[names.TOPIC], self.resolved_size(cube), 0, trials)
        labels = schema.label_array(schema.labels_of(cube, names.TOPIC))
        return xr.Dataset({names.TOPIC_SAMPLE: (schema.SAMPLES[0].dims, labels[drawn])}, attrs={"seed": str(seed)})


def sample_positions(samples: xr.Dataset, cube: xr.Dataset, size: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return given samples as topic positions (trial, half, draw); refuse samples that do not fit the cube."""
    schema.check(samples, schema.SAMPLES, "the samples")
    labels = samples[names.TOPIC_SAMPLE].values
    if labels.shape[1:] != (2, size):
        raise BadPlan(
            f"the samples have {labels.shape[1]} halves of {labels.shape[2]} topics, the plan needs 2 halves of {size}"
        )
    position = {topic: k for k, topic in enumerate(schema.labels_of(cube, names.TOPIC))}
    unknown = {str(label) for label in np.unique(labels.astype(object))} - position.keys()
    if unknown:
        raise BadPlan(f"the samples hold topics that the cube has not: {', '.join(sorted(unknown)[:5])}")
    flat = np.fromiter((position[str(label)] for label in labels.ravel()), np.int32, labels.size)
    return flat.reshape(labels.shape)


def _refuse_other_summaries(cube: xr.Dataset) -> None:
    kinds: list[str] = list(map(str, cube[SUMMARY].values)) if SUMMARY in cube.coords else []
    odd = [metric for metric, kind in zip(schema.labels_of(cube, names.METRIC), kinds, strict=False) if kind != "mean"]
    if odd:
        raise BadPlan(
            f"the swap method compares mean scores, and {', '.join(odd)} is no mean; leave it out with --metrics"
        )


def _refuse_missing(cube: xr.Dataset) -> None:
    missing = ~np.isfinite(cube[names.SCORE].values)
    if missing.any():
        places = np.argwhere(missing)
        kind = "infinite" if np.isinf(cube[names.SCORE].values).any() else "missing"
        metric, _, run, topic = (
            schema.labels_of(cube, dim)[k] for dim, k in zip(schema.CUBE[0].dims, places[0], strict=True)
        )
        advice = "leave such topics out with --drop-missing, or choose other" if kind == "missing" else "choose other"
        raise BadPlan(
            f"{len(places)} scores are {kind}, the first is {metric} of run {run} on topic {topic}; "
            f"{advice} metrics, runs or topics"
        )


_CELL = (names.METRIC, names.GAIN)
_BINS = (*_CELL, names.BIN)
_LEVELS = (*_CELL, names.CONFIDENCE)
VARIABLES = (
    schema.Variable(
        "count", _BINS, "i", "comparisons", "pairs of runs and trials whose first difference lies in the bin"
    ),
    schema.Variable(
        "swaps", _BINS, "i", "comparisons", "of these, those on which the second sample disagrees, by the rule"
    ),
    schema.Variable("both_zero", _CELL, "i", "comparisons", "pairs and trials with no difference in either sample"),
    schema.Variable("swap_rate", _BINS, "f", "1", "swaps / count; missing where the bin is empty"),
    schema.Variable("swap_rate_low", _BINS, "f", "1", "lower end of the 95 % Wilson interval of the swap rate"),
    schema.Variable("swap_rate_high", _BINS, "f", "1", "upper end of the 95 % Wilson interval of the swap rate"),
    schema.Variable(
        "required_difference",
        _LEVELS,
        "f",
        "score",
        "lower edge of the lowest bin from which on no swap rate is too high",
    ),
    schema.Variable(
        "required_difference_first",
        _LEVELS,
        "f",
        "score",
        "lower edge of the lowest bin whose swap rate is not too high",
    ),
    schema.Variable("max_performance", _CELL, "f", "score", "largest mean score over runs, trials and both samples"),
    schema.Variable("max_difference", _CELL, "f", "score", "largest difference of two mean scores on one sample"),
    schema.Variable("relative_difference", _LEVELS, "f", "1", "required difference / largest mean score"),
    schema.Variable("share", _LEVELS, "f", "1", "share of all comparisons with at least the required difference"),
    schema.Variable("unique", (), "f", "topics", "mean number of distinct topics in a sample"),
    schema.Variable("common", (), "f", "topics", "mean number of distinct topics common to both samples"),
)

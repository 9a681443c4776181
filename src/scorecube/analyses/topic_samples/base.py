"""Base class of analyses of topic samples: sampling schemes, sizes, grid units.

References: Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval
metrics".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Array, Arrays, Cost, Inputs, Prepared
from scorecube.analyses.drawn_samples import labelled_samples
from scorecube.analyses.options import option_field
from scorecube.collection import schema
from scorecube.collection.selection import cell_kinds, cells, n_cells
from scorecube.collection.topic_means import area_weights, log_scores
from scorecube.errors import BadPlan, option
from scorecube.kernels.pairs.unpaired import resampled_areas
from scorecube.kernels.random.draws import Sampling, topic_counts, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.metrics.registry import AREA, GEOMETRIC, MEAN
from scorecube.statistics.integer_scores import Grid, for_orders, make_grid

MAX_SIZES = 1000
MOST_DRAWS = 1000
"""Times that a sample with replacement draws each topic on average, beyond which it tells nothing that the collection does not."""
COUNTS_BYTES = 44.0
"""Memory of a topic in a trial: counts of two samples, positions, and copies of counts."""
MANY_TOPICS = 50_000
"""Topics from which on counts of all trials that are computed together take more memory than a block of few trials."""
WIDTH = Fraction(1, 100)
"""Width of the swap method's bins, from which other analyses take the same grid and hence the same ties."""
LIFTS = {MEAN: 0.0, AREA: -1.0}
"""What stands for a factor of logarithms where the summary is another."""
LOG_UNITS = 2.0
"""Units of a mean logarithm in a unit of the geometric mean, at least: rounding of logarithms and of the geometric mean together
stays within the tolerance of the grid, as that of scores does in means."""


@dataclass(frozen=True, kw_only=True)
class TopicSampling(Analysis):
    """Base class of analyses that draw two topic samples in each trial, for all cells."""

    only_orders: ClassVar[bool] = False
    """Whether means are compared with each other only."""

    sampling: Literal["disjoint", "replacement", "independent"] = option_field(
        "disjoint",
        "Two samples without common topics (disjoint), each with replacement, or each without (independent).",
        detail="Those of Sakai 2005, Fig. 1; of Sakai 2005, section 3.1 and Sakai 2007; and of Sakai 2005, section 3.2, drawn independently of each other.",
    )
    size: int | Sequence[int] | None = option_field(
        None,
        "Topics in each sample, e.g. 25, or 5,10,25, or 5..25:5; half of them, with replacement all, by default.",
        detail="Several, as of Voorhees and Buckley 2002: a trial's sample of one size is the beginning of that of the next larger size.",
        unit="topics",
        minimum=1,
        convert=lambda text: parse_sizes(text),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.size, Sequence):
            ascending = tuple(sorted(set(self.size)))
            # Equal sizes must have equal digests.
            object.__setattr__(self, "size", ascending[0] if len(ascending) == 1 else ascending)

    def sizes(self, cube: xr.Dataset) -> tuple[int, ...]:
        """Return the sample sizes, ascending."""
        if isinstance(self.size, Sequence):
            return tuple(self.size)
        if self.size is not None:
            return (self.size,)
        n_topics = cube.sizes[names.TOPIC]
        return (n_topics if self.sampling == "replacement" else n_topics // 2,)

    def doubts(self, cube: xr.Dataset) -> list[str]:
        n_topics, largest = cube.sizes[names.TOPIC], self.sizes(cube)[-1]
        if largest <= MOST_DRAWS * n_topics:
            return super().doubts(cube)
        return [
            *super().doubts(cube),
            f"samples of {largest:,} topics draw each of the {n_topics:,} topics more than {MOST_DRAWS:,} times, so that their means hardly differ; "
            f"did you mean {n_topics:,}, as many as there are?",
        ]

    def check(self, prepared: Prepared) -> list[str]:
        cube = prepared.cube
        sizes = self.sizes(cube)
        if len(sizes) > MAX_SIZES:
            raise BadPlan(f"{len(sizes)} sample sizes; use 1 to {MAX_SIZES}", option="size")
        n_topics, n_runs, largest = cube.sizes[names.TOPIC], cube.sizes[names.RUN], sizes[-1]
        if n_runs < 2 or n_topics < 2:
            raise BadPlan(
                f"the {self.name} method needs 2 runs and 2 topics, found {n_runs} runs and {n_topics} topics"
            )
        if sizes[0] < 1:  # the default, half of a single topic
            raise BadPlan(f"sample size {sizes[0]} must be at least 1", option="size")
        if self.sampling == "disjoint" and 2 * largest > n_topics:
            raise BadPlan(
                f"two disjoint samples of {largest} topics need {2 * largest} topics, but there are only {n_topics}; "
                f"use {option('size', n_topics // 2)} or less, or {option('sampling', 'replacement')}",
                option="size",
            )
        if self.sampling == "independent" and largest > n_topics:
            raise BadPlan(
                f"a sample of {largest} topics without replacement needs {largest} topics, but there are only {n_topics}",
                option="size",
            )
        refuse_missing(cube)
        if self.sampling == "disjoint" and 2 * largest == n_topics:
            return [
                f"disjoint samples of {largest} out of {n_topics} topics halve the topic set: trials are independent given the collection, "
                "the two samples of a trial are not"
            ]
        return []

    def sampling_inputs(self, cube: xr.Dataset, grids: Sequence[Grid], seed: int) -> Arrays:
        """Return the arrays that `counts_of` and `units_of` read.

        grids: Grid of each size; grids differ in scale and tolerance only.
        seed: Seed of the topic samples.
        """
        scores = self.scores(cube)
        n_cells, n_runs, n_topics = scores.shape
        lifts = [
            LIFTS[kind] if kind in LIFTS else lift_of(cell)
            for kind, cell in zip(cell_kinds(cube), cells(cube)[0], strict=True)
        ]
        return {
            # Logarithms order runs as geometric means do.
            "lifts": np.minimum(lifts, 0.0 if self.only_orders else math.inf),
            "scores": np.ascontiguousarray(scores.reshape(n_cells * n_runs, n_topics).T),
            "scales": np.repeat([grid.scales for grid in grids], n_runs, axis=1),
            "shape": np.array([n_cells, n_runs, n_topics]),
            "sizes": np.array(self.sizes(cube)),
            "tolerances": np.array([grid.tolerance for grid in grids]),
            "units_per_bin": grids[0].units_per_bin,
            "key": stream_key(seed, names.Purpose.SWAP_TOPICS),
            "sampling": np.array(Sampling[self.sampling.upper()]),
        }

    def sampling_cost(
        self, cube: xr.Dataset, trials: int, per_size: float, width: int, held: float
    ) -> Cost:
        """Return the estimated time and memory of samples, their sums and scores, without outputs.

        cube, trials: As of `cost`.
        per_size: Seconds of one size of a trial, without its draws.
        width: Numbers of a trial that are held together.
        held: Bytes of a trial of a chunk, beside counts of topics.
        """
        n_topics, scores = cube.sizes[names.TOPIC], 8.0 * n_cells(cube) * cube.sizes[names.RUN]
        chunk, counts = min(trials, trials_at_once(max(width, n_topics))), COUNTS_BYTES * n_topics
        many = n_topics >= MANY_TOPICS  # a block has no more trials than are computed together
        # Counts of many topics, in no order, are not in the cache.
        seconds_per_draw = 3e-9 + 1.6e-10 * math.sqrt(n_topics)
        return Cost(
            per_size * len(self.sizes(cube)) + seconds_per_draw * sum(self.sizes(cube)),
            counts if many else 0.0,
            scores * n_topics + held * chunk + (0.0 if many else counts * chunk),
            max_units=chunk if many else Cost.max_units,
            input_bytes=scores * n_topics,
        )

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        cube = prepared.cube
        return self.sampling_inputs(cube, self.grids(cube), seed)

    def scores(self, cube: xr.Dataset) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return what is summed over samples, of all cells (cell, run, topic): scores, or logarithms times `lift_of`.

        Where means only order runs, see `for_orders`.
        """
        scores = cells(cube)[0].copy()
        for k, kind in enumerate(cell_kinds(cube)):
            if kind == GEOMETRIC:
                scores[k] = log_scores(scores[k]) * lift_of(scores[k])
            elif kind == MEAN and self.only_orders:
                scores[k] = for_orders(self.sizes(cube)[-1], WIDTH, scores[k : k + 1])[0]
        return scores

    def grids(self, cube: xr.Dataset, width: Fraction | None = None) -> list[Grid]:
        """Return the integer grid of the sample means for each size; without a width nothing is counted by bin."""
        bits = grid_of(self.sizes(cube)[-1], width, self.scores(cube)).bits
        return [Grid(size, width or WIDTH, bits) for size in self.sizes(cube)]

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return the drawn ``topic_sample[trial, half, draw]`` of the largest size."""
        self.prepare_checked(cube)
        key, sampling = (
            stream_key(seed, names.Purpose.SWAP_TOPICS),
            int(Sampling[self.sampling.upper()]),
        )
        positions = topic_samples(
            key, sampling, cube.sizes[names.TOPIC], self.sizes(cube)[-1], 0, trials
        )
        return labelled_samples(positions, cube).assign_attrs(seed=str(seed))


def grid_of(size: int, width: Fraction | None, scores: Array) -> Grid:
    """Return the grid of means of samples of the scores (cell, run, topic), see `TopicSampling.grids`; BadPlan where there is none."""
    try:
        return make_grid(size, width or WIDTH, scores, binned=width is not None)
    except OverflowError as error:
        raise BadPlan(str(error)) from None


def lift_of(scores: Array) -> float:
    """Return the power of two by which logarithms of the scores are multiplied: twice the largest score or more, see `LOG_UNITS`."""
    return LOG_UNITS * 2.0 ** math.ceil(math.log2(max(float(scores.max()), 1.0)))


def sample_sums(inputs: Inputs, step: int, units: Array, counts: Array) -> Array:
    """Return the sums of scores over topic samples in grid units, float64 (cell, run, half, trial), which are exact.

    For geometric means and area measures it is the summary times the size, rounded to a unit: of exact sums of logarithms, and of
    scores in ascending order. Summaries that differ by no more than the tolerance of the grid tie, as means do.

    units: Of `units_of`.
    counts: float64 (half, trial, topic): of `counts_of`.
    """
    n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
    sums = (units.T @ counts.reshape(-1, n_topics).T).reshape(n_cells, n_runs, *counts.shape[:2])
    size = int(inputs["sizes"][step])
    for cell in np.flatnonzero(inputs["lifts"]):
        lift = inputs["lifts"][cell]
        if lift > 0:
            in_one = size * inputs["scales"][step][cell * n_runs]
            sums[cell] = np.rint(np.exp(sums[cell] / (lift * in_one)) * in_one)
            continue
        scores = np.ascontiguousarray(units[:, cell * n_runs : (cell + 1) * n_runs].T)
        order = np.argsort(scores, axis=1, kind="stable")
        areas = np.empty((len(counts), n_runs, counts.shape[1]))
        resampled_areas(scores, order, counts, area_weights(size), areas)
        sums[cell] = np.rint(areas.swapaxes(0, 1) * size)
    return np.asarray(sums)


def units_of(inputs: Inputs, step: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return scores in grid units of the step-th size, float64 (topic, cell * run)."""
    units: np.ndarray[Any, np.dtype[np.float64]] = inputs["scores"] * inputs["scales"][step]
    np.rint(units, out=units)
    return units


def counts_of(
    inputs: Inputs, size: int, start: int, stop: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return counts of topics in the trials start .. stop-1, float64 (half, trial, topic)."""
    n_topics = int(inputs["shape"][2])
    return topic_counts(inputs["key"], int(inputs["sampling"]), n_topics, size, start, stop)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sample sizes of a text: numbers, and inclusive ranges with a step.

    Examples
    --------
    >>> parse_sizes("5,10,25")
    (5, 10, 25)
    >>> parse_sizes("5..25:5,50")
    (5, 10, 15, 20, 25, 50)
    """
    sizes: list[int] = []
    try:
        for part in text.split(","):
            first, dots, rest = part.partition("..")
            last, colon, increment = rest.partition(":")
            low, step = int(first), int(increment) if colon else 1
            high = int(last) if dots else low
            if step < 1 or high < low or high - low >= step * MAX_SIZES:
                raise ValueError(part)
            sizes += range(low, high + 1, step)
    except ValueError:
        raise BadPlan(
            f"{option('size')} {text!r} is not numbers like 25, or 5,10,25, or 5..25:5",
            option="size",
        ) from None
    return tuple(sizes)


def refuse_missing(cube: xr.Dataset) -> None:
    """Raise BadPlan for scores that are not finite; the message names the first."""
    missing = ~np.isfinite(cube[names.SCORE].values)
    if missing.any():
        positions = np.argwhere(missing)
        problem = "infinite" if np.isinf(cube[names.SCORE].values).any() else "missing"
        metric, _, run, topic = (
            schema.labels_of(cube, dim)[k]
            for dim, k in zip(schema.CUBE[0].dims, positions[0], strict=True)
        )
        advice = (
            f"leave such topics out with {option('drop_missing', True)}, or choose other"
            if problem == "missing"
            else "choose other"
        )
        raise BadPlan(
            f"{len(positions)} scores are {problem}, the first is {metric} of run {run} on topic {topic}; "
            f"{advice} metrics, runs or topics"
        )

"""What analyses of topic samples share: how samples are drawn and of which sizes, and the scores in grid units.

References: S0 = Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval
metrics".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Arrays, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.replayed_samples import labelled_samples, sample_positions
from scorecube.collection import schema
from scorecube.collection.selection import cells
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import Sampling, multiplicities, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.integer_grid import Grid, make_grid

SAMPLINGS = tuple(sampling.name.lower() for sampling in Sampling)
MOST_SIZES = 1000


@dataclass(frozen=True, kw_only=True)
class TopicSampling(Analysis):
    """Base of analyses that draw two topic samples a trial, shared by all metrics, gain settings and pairs of runs.

    Parameters
    ----------
    sampling
        ``disjoint``: two samples without common topics (S0 Fig. 1). ``replacement``: each drawn with replacement
        (S0 section 3.1). ``independent``: each without replacement, apart (S0 section 3.2).
    size
        Topics in each sample, one number or several; None means all topics with replacement, else half of them. A trial's sample
        of a size is the beginning of its sample of the next size.
    """

    sampling: str = option_field(
        "disjoint",
        "Two samples without common topics (disjoint), each with replacement, or each without it (independent).",
        choices=SAMPLINGS,
    )
    size: int | Sequence[int] | None = option_field(
        None,
        "Topics in each sample, e.g. 25, or 5,10,25, or 5..25:5; half of them, with replacement all, by default.",
        unit="topics",
        convert=lambda text: parse_sizes(text),
    )

    def __post_init__(self) -> None:
        if isinstance(self.size, Sequence):
            ascending = tuple(sorted({int(size) for size in self.size}))
            # One form for equal plans, so that they have one digest.
            object.__setattr__(self, "size", ascending[0] if len(ascending) == 1 else ascending)

    def sizes(self, cube: xr.Dataset) -> tuple[int, ...]:
        """Return the numbers of topics in each sample, ascending."""
        if isinstance(self.size, Sequence):
            return tuple(self.size)
        if self.size is not None:
            return (int(self.size),)
        n_topics = cube.sizes[names.TOPIC]
        return (n_topics if self.sampling == "replacement" else n_topics // 2,)

    def check_sampling(self, cube: xr.Dataset) -> list[str]:
        """Refuse samples and scores that are impossible for a cube; return warnings."""
        sizes = self.sizes(cube)
        if not 1 <= len(sizes) <= MOST_SIZES:
            raise BadPlan(f"{len(sizes)} sample sizes: need 1 to {MOST_SIZES}", option="size")
        n_topics, n_runs, largest = cube.sizes[names.TOPIC], cube.sizes[names.RUN], sizes[-1]
        if n_runs < 2 or n_topics < 2:
            raise BadPlan(
                f"the {self.name} method needs 2 runs and 2 topics, found {n_runs} runs and {n_topics} topics"
            )
        if sizes[0] < 1:
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
        refuse_other_summaries(cube, f"the {self.name} method")
        if self.sampling == "disjoint" and 2 * largest == n_topics:
            return [
                f"disjoint samples of {largest} out of {n_topics} topics only halve the topic set: trials are not independent"
            ]
        return []

    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """See `Analysis.replay`."""
        return {"samples": sample_positions(samples, prepared.cube, self.sizes(prepared.cube)[-1], 2)}

    def sampling_inputs(self, cube: xr.Dataset, grids: Sequence[Grid], seed: int) -> Arrays:
        """Return what `counts_of` and `units_of` need, unless samples are given.

        Parameters
        ----------
        grids
            One for each size; they differ in scale and tolerance only.
        """
        scores, _ = cells(cube)
        n_cells, n_runs, n_topics = scores.shape
        return {
            "scores": np.ascontiguousarray(scores.reshape(n_cells * n_runs, n_topics).T),
            "scales": np.repeat([scales(grid) for grid in grids], n_runs, axis=1),
            "shape": np.array([n_cells, n_runs, n_topics]),
            "sizes": np.array(self.sizes(cube)),
            "tolerances": np.array([grid.tolerance for grid in grids]),
            "units_per_bin": grids[0].units_per_bin,
            "key": stream_key(seed, names.Purpose.SWAP_TOPICS),
            "sampling": np.array(Sampling[self.sampling.upper()]),
        }

    def grids(self, cube: xr.Dataset, width: Fraction) -> list[Grid]:
        """Return the integer grid of the sample means for each size."""
        scores = cells(cube)[0]
        first = make_grid(self.sizes(cube)[0], width, scores)
        return [Grid(size, width, first.bits) for size in self.sizes(cube)]

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``, the topic labels that a run draws, for the largest size."""
        self.prepare_checked(cube)
        key = stream_key(seed, names.Purpose.SWAP_TOPICS)
        kind = int(Sampling[self.sampling.upper()])
        drawn = topic_samples(key, kind, cube.sizes[names.TOPIC], self.sizes(cube)[-1], 0, trials)
        return labelled_samples(drawn, cube).assign_attrs(seed=str(seed))


def scales(grid: Grid) -> list[float]:
    """Return the units of a score of 1, per cell, as `Grid.to_units` has them."""
    return [float(Fraction(2) ** bits / (grid.width * grid.size)) for bits in grid.bits]


def units_of(inputs: Mapping[str, np.ndarray[Any, Any]], step: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the scores in grid units of the step-th size: (topic, cell * run), laid out for a matrix product."""
    units: np.ndarray[Any, np.dtype[np.float64]] = inputs["scores"] * inputs["scales"][step]
    np.rint(units, out=units)
    return units


def counts_of(
    inputs: Mapping[str, np.ndarray[Any, Any]], size: int, start: int, stop: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return how often each topic stands in the samples of the trials start .. stop-1: (half, trial, topic)."""
    n_topics = int(inputs["shape"][2])
    if "samples" in inputs:
        drawn = np.ascontiguousarray(inputs["samples"][start:stop, :, :size])
    else:
        drawn = topic_samples(inputs["key"], int(inputs["sampling"]), n_topics, size, start, stop)
    counts: np.ndarray[Any, np.dtype[np.float64]] = multiplicities(drawn, n_topics)
    return counts


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the numbers of a text: single ones, and ranges with both ends, with a step or without.

    Examples
    --------
    >>> parse_sizes("5,10,25")
    (5, 10, 25)
    >>> parse_sizes("5..25:5,50")
    (5, 10, 15, 20, 25, 50)
    """
    sizes: list[int] = []
    try:
        for word in text.split(","):
            first, dots, rest = word.partition("..")
            last, colon, step = rest.partition(":")
            low, by = int(first), int(step) if colon else 1
            high = int(last) if dots else low
            if by < 1 or high < low or high - low >= by * MOST_SIZES:
                raise ValueError(word)
            sizes += range(low, high + 1, by)
    except ValueError:
        raise BadPlan(
            f"{option('size')} {text!r} is not numbers like 25, or 5,10,25, or 5..25:5", option="size"
        ) from None
    return tuple(sizes)


def refuse_missing(cube: xr.Dataset) -> None:
    """Refuse scores that are not finite, and name the first."""
    missing = ~np.isfinite(cube[names.SCORE].values)
    if missing.any():
        places = np.argwhere(missing)
        kind = "infinite" if np.isinf(cube[names.SCORE].values).any() else "missing"
        metric, _, run, topic = (
            schema.labels_of(cube, dim)[k] for dim, k in zip(schema.CUBE[0].dims, places[0], strict=True)
        )
        advice = (
            f"leave such topics out with {option('drop_missing', True)}, or choose other"
            if kind == "missing"
            else "choose other"
        )
        raise BadPlan(
            f"{len(places)} scores are {kind}, the first is {metric} of run {run} on topic {topic}; "
            f"{advice} metrics, runs or topics"
        )

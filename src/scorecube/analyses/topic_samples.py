"""Two samples of topics in each trial, of the swap and the stability method, and sums over them.

Reference: Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information
retrieval metrics".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.pairs import check_pairs
from scorecube.analyses.protocol import Analysis
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.schema import label_array
from scorecube.collection.topic_means import area_weights, log_scores
from scorecube.declare import option_field
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import Sampling, topic_counts, topic_samples
from scorecube.names import Purpose

LOG_UNITS = 2.0**32
"""Units of a logarithm: sums of up to 2**17 logarithms are exact."""
HELD_BYTES = 2**20
"""Of sums that are held together, so that they stay in the second-level cache."""
LEAST_TRIALS = 32
MOST_TRIALS = 512
"""Trials that are computed together, at most."""
Way = Literal["disjoint", "replacement", "independent"]
SAMPLINGS = {kind.name.lower(): int(kind) for kind in Sampling}


class Draws(NamedTuple):
    """The samples of some trials, of one sampling and one size.

    place: Positions of the sampling and of the size among those of the analysis.
    size: Units in a sample.
    counts: Returns how often units are drawn, float64 (half, trial, unit), by the random words of
        a stream: 0 where all pairs of runs share samples, else the number of a pair.
    """

    place: tuple[int, int]
    size: int
    trials: range
    counts: Callable[[int], FloatArray]


@dataclass(frozen=True, kw_only=True)
class TwoSamples(Analysis):
    """Base of analyses that draw two samples of topics in each trial, for all metrics and runs."""

    sampling: Way | tuple[Way, ...] = option_field(  # noqa: RUF009
        "disjoint",
        "Two samples without common topics (disjoint), each with replacement, or each without "
        "(independent); or several of these.",
    )
    size: Literal["half"] | int | tuple[int, ...] | None = option_field(
        None,
        "Topics in each sample, e.g. 25, or 5,10,25, or half; half of them, with replacement alone "
        "all, by default.",
        minimum=1,
    )
    summary: Literal["mean", "geo", "area"] = option_field(
        "mean",
        "What a sample's scores are summarised by: mean, geometric mean (geo), or area measure "
        "(area).",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Equal options must have equal digests: a single value stands alone.
        if isinstance(self.sampling, tuple):
            samplings = tuple(dict.fromkeys(self.sampling))
            object.__setattr__(self, "sampling", samplings[0] if len(samplings) == 1 else samplings)
        if isinstance(self.size, tuple):
            sizes = tuple(sorted({*self.size}))
            object.__setattr__(self, "size", sizes[0] if len(sizes) == 1 else sizes)

    @property
    def samplings(self) -> tuple[str, ...]:
        """One or several samplings."""
        return self.sampling if isinstance(self.sampling, tuple) else (self.sampling,)

    def n_drawn(self, table: ScoreTable) -> list[int]:
        """Return the units in a sample of each size, ascending; of a part of a table its part."""
        n = (table.part_of or table).sizes.size
        if isinstance(self.size, int | tuple):
            drawn = [max(1, round(size / table.in_bag)) for size in np.atleast_1d(self.size)]
        else:
            drawn = [n if self.size is None and self.sampling == "replacement" else n // 2]
        return [max(1, size * table.sizes.size // n) for size in drawn]

    def sizes(self, table: ScoreTable) -> list[int]:
        """Return the topics, or groups of topics, in a sample of each size."""
        return [round(size * table.in_bag) for size in self.n_drawn(table)]

    def notes(self, table: ScoreTable) -> list[str]:
        check_pairs(table, self.name)
        n = table.sizes.size
        topics = table.nouns.topics
        largest = self.n_drawn(table)[-1]
        for sampling in self.samplings:
            needed = largest * (2 if sampling == "disjoint" else 1)
            if sampling != "replacement" and needed > n:
                raise BadPlan(
                    f"{sampling} samples of {largest} {topics} need {needed} {topics}, but there "
                    f"are only {n}; use {option('size', n * largest // needed)} or less",
                    option="size",
                )
        if self.summary != "mean" and table.n_topics != n:
            raise BadPlan(f"only means are defined of {topics} in groups or bags", option="summary")
        notes = super().notes(table)
        if table.in_bag > 1:
            sizes = ", ".join(f"{size:,}" for size in self.sizes(table))
            notes.append(f"Samples are of whole bags: of {sizes} {topics}.")
        return notes

    def bytes_needed(self, table: ScoreTable, threads: int) -> int:
        # What is drawn in trials that are computed together, and sums of two samples of each run.
        of_trial = 2 * 8 * 2 * (len(table.runs) + table.sizes.size)
        of_thread = self.step(table) * of_trial
        return super().bytes_needed(table, threads) + threads * of_thread

    def step(self, table: ScoreTable) -> int:
        """Return the number of trials that are computed together."""
        held = 16 * max(len(table.runs), table.sizes.size)
        return max(LEAST_TRIALS, min(HELD_BYTES // held, MOST_TRIALS))

    def draws(self, table: ScoreTable, purpose: Purpose, start: int, stop: int) -> Iterator[Draws]:
        """Yield the samples of trials that are computed together; results do not depend on it."""
        key = table.key(purpose)
        n_units = table.sizes.size
        step = self.step(table)
        for i, j in np.ndindex(len(self.samplings), len(self.n_drawn(table))):
            kind = SAMPLINGS[self.samplings[i]]
            size = self.n_drawn(table)[j]
            for low in range(start, stop, step):
                trials = range(low, min(low + step, stop))
                counts = partial(topic_counts, key, kind, n_units, size, low, trials.stop)
                yield Draws((i, j), size, trials, counts)

    def sums(
        self,
        table: ScoreTable,
        cell: int,
        counts: FloatArray,
        size: int,
        runs: slice | NDArray[Any] = slice(None),
    ) -> FloatArray:
        """Return sums over samples, (run, half, trial), in grid units: summary times size.

        counts: float64 (half, trial, unit): how often a sample draws each unit.
        """
        drawn = counts.reshape(-1, counts.shape[-1]).T
        if self.summary == "mean":
            sums = table.units[cell][runs] @ drawn
        else:
            means = summaries(self.summary, table.scores[cell][runs], drawn, size)
            sums = table.grids[cell].to_units(means) * size
        return np.asarray(sums.reshape(-1, *counts.shape[:2]))

    def coords(self, table: ScoreTable) -> dict[str, Any]:
        """Return the labels of the dims sampling and size."""
        return {
            names.SAMPLING: label_array(self.samplings),
            names.SIZE: np.array(self.sizes(table)),
        }

    def squeezed(self, dataset: xr.Dataset) -> xr.Dataset:
        """Return a dataset along samplings; that of a single one has it as an attribute."""
        if isinstance(self.sampling, tuple):
            return dataset
        return (
            dataset.drop_vars(names.SAMPLING).isel(sampling=0).assign_attrs(sampling=self.sampling)
        )

    def drawn(self, table: ScoreTable) -> xr.Dataset:
        """Return the samples of all trials of the largest size: units by position."""
        key = table.key(Purpose.SWAP_TOPICS)
        n = table.sizes.size
        size = self.n_drawn(table)[-1]
        kinds = [SAMPLINGS[sampling] for sampling in self.samplings]
        positions = [topic_samples(key, kind, n, size, 0, table.trials) for kind in kinds]
        dims = (names.SAMPLING, names.TRIAL, names.HALF, names.DRAW)
        samples = xr.Dataset({names.TOPIC_SAMPLE: (dims, np.stack(positions))})
        return self.squeezed(samples.assign_coords(sampling=label_array(self.samplings)))


def summaries(kind: str, scores: FloatArray, drawn: FloatArray, size: int) -> FloatArray:
    """Return geometric means (``geo``) or area measures of samples, float64 (run, sample).

    scores, drawn: float64 (run, topic); (topic, sample): how often a topic is drawn.
    """
    if kind == "geo":
        logs = np.rint(log_scores(scores) * LOG_UNITS) @ drawn
        return np.asarray(np.exp(logs / (LOG_UNITS * size)))
    return np.stack([area_measures(of_run, drawn, size) for of_run in scores])


def area_measures(scores: FloatArray, drawn: FloatArray, size: int) -> FloatArray:
    """Return the area measures of samples, (sample,), of scores (unit,) that are drawn so often."""
    order = np.argsort(scores, kind="stable")
    weights = area_weights(size)
    # Weight of the worst 0, 1, ... scores of a sample; units are added in ascending order.
    worst = np.concatenate([[0.0], np.cumsum(weights)])
    ahead = np.minimum(np.cumsum(drawn[order], axis=0).astype(np.int64), len(weights))
    shares = np.diff(worst[ahead], axis=0, prepend=0.0)
    return np.asarray((shares * scores[order][:, np.newaxis]).sum(axis=0))


def along_sampling(result: xr.Dataset) -> xr.Dataset:
    """Return a result with the dim sampling, also of one."""
    if names.SAMPLING in result.dims:
        return result
    return result.expand_dims({names.SAMPLING: [result.attrs[names.SAMPLING]]})


def first_sampling(result: xr.Dataset) -> xr.Dataset:
    """Return the part of a result that is about the first sampling."""
    if names.SAMPLING not in result.dims:
        return result
    first = str(result[names.SAMPLING].values[0])
    return result.drop_vars(names.SAMPLING).isel(sampling=0).assign_attrs(sampling=first)

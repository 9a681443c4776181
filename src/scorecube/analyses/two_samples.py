"""Two samples of topics in each trial, the sums of scores over them, and the stability method.

References: Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information
retrieval metrics"; Buckley and Voorhees 2000, "Evaluating evaluation measure stability".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import check_pairs, pair_labels, pair_positions
from scorecube.analyses.protocol import Analysis, Part, Sum, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.collection.schema import label_array, read_variables
from scorecube.collection.topic_means import area_weights, log_scores
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import Sampling, topic_counts, topic_samples
from scorecube.names import Purpose

HALF = "half"
LOG_UNITS = 2.0**32
"""Units of a logarithm: sums of up to 2**17 logarithms are exact."""
HELD_BYTES, LEAST_TRIALS, MOST_TRIALS = 2**20, 32, 512
"""Of sums that are held together, so that they stay in the second-level cache, and their trials."""
ALL_RUNS = slice(None)


@dataclass(frozen=True, kw_only=True)
class TwoSamples(Analysis):
    """Base of analyses that draw two samples of topics in each trial, for all metrics and runs."""

    sampling: (
        Literal["disjoint", "replacement", "independent"]
        | tuple[Literal["disjoint", "replacement", "independent"], ...]
    ) = option_field(
        "disjoint",
        "Two samples without common topics (disjoint), each with replacement, or each without "
        "(independent); several give a dimension.",
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
        for name, distinct in (("sampling", dict.fromkeys), ("size", lambda of: sorted({*of}))):
            if isinstance(value := getattr(self, name), tuple):
                several = tuple(distinct(value))
                object.__setattr__(self, name, several[0] if len(several) == 1 else several)

    def by_sampling(self) -> dict[str, Self]:
        """Return records of one sampling each, by the ending of the names of their parts."""
        if isinstance(self.sampling, str):
            return {"": self}
        size: Any = HALF if self.size is None else self.size
        return {f"_{way}": replace(self, sampling=way, size=size) for way in self.sampling}

    @abstractmethod
    def block_of(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        """Return the parts of a block of a record of one sampling."""

    @abstractmethod
    def result_of(self, table: Table, totals: Totals) -> xr.Dataset:
        """Return the result of a record of one sampling."""

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return {
            name + ending: part
            for ending, one in self.by_sampling().items()
            for name, part in one.block_of(table, start, stop).items()
        }

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        results = []
        for ending, one in self.by_sampling().items():
            whole, *left_out = (
                {name.removesuffix(ending): of[name] for name in of if name.endswith(ending)}
                for of in (totals, *totals.left_out)
            )
            results.append(one.result_of(table, Totals(whole, left_out)))
        return self.joined(results) if len(results) > 1 else results[0]

    def joined(self, results: list[xr.Dataset]) -> xr.Dataset:
        """Return results, or samples, of all samplings along a dim of their own."""
        along = xr.Variable(names.SAMPLING, label_array(self.sampling))
        joined = xr.concat(
            [result.drop_attrs(deep=False) for result in results],
            along,
            data_vars="all",
            coords="minimal",
            compat="override",
            join="outer",
            fill_value={"count": 0, "swaps": 0},
        )
        first = (names.METRIC, names.GAIN, names.SAMPLING)
        joined = joined.transpose(*first, ..., missing_dims="ignore")
        attrs = {name: of for name, of in results[0].attrs.items() if name != names.SAMPLING}
        return joined.assign_attrs(attrs)

    @property
    def kind(self) -> int:
        """Number of the sampling of a record of one."""
        return int(Sampling[str(self.sampling).upper()])

    def n_drawn(self, table: Table) -> list[int]:
        """Return the units in a sample of each size, ascending; of a part of a table its part."""
        n = (table.part_of or table).sizes.size
        if self.size is None or self.size == HALF:
            whole = self.size is None and self.sampling == "replacement"
            drawn = [n if whole else n // 2]
        else:
            sizes: Any = self.size if isinstance(self.size, tuple) else (self.size,)
            drawn = [max(1, round(size / table.in_bag)) for size in sizes]
        return [max(1, size * table.sizes.size // n) if n else size for size in drawn]

    def sizes(self, table: Table) -> list[int]:
        """Return the topics, or groups of topics, in a sample of each size."""
        return [round(size * table.in_bag) for size in self.n_drawn(table)]

    def notes(self, table: Table) -> list[str]:
        check_pairs(table, self.name)
        n, largest = table.sizes.size, self.n_drawn(table)[-1]
        for one in self.by_sampling().values():
            needed = largest * (2 if one.sampling == "disjoint" else 1)
            if one.sampling != "replacement" and needed > n:
                raise BadPlan(
                    f"{one.sampling} samples of {largest} topics need {needed} topics, but there "
                    f"are only {n}; use {option('size', n * largest // needed)} or less",
                    option="size",
                )
        if self.summary != "mean" and table.n_topics != n:
            raise BadPlan("only means are defined of topics in groups or bags", option="summary")
        notes = super().notes(table)
        if table.in_bag > 1:
            sizes = ", ".join(f"{size:,}" for size in self.sizes(table))
            notes.append(f"Samples are of whole bags: of {sizes} topics.")
        return notes

    def chunks(self, table: Table, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of trials that are computed together; results do not depend on them."""
        held = 16 * max(table.scores.shape[1:])
        step = max(LEAST_TRIALS, min(HELD_BYTES // held, MOST_TRIALS))
        for low in range(start, stop, step):
            yield low, min(low + step, stop)

    def counts(self, table: Table, size: int, low: int, high: int, pair: Any = None) -> FloatArray:
        """Return how often samples of some trials draw each unit, float64 (half, trial, unit)."""
        key = table.key(Purpose.SWAP_TOPICS if pair is None else Purpose.SWAP_PAIRS)
        return topic_counts(key, self.kind, table.sizes.size, size, low, high, pair or 0)

    def sums(
        self, table: Table, cell: int, counts: FloatArray, size: int, runs: Any = ALL_RUNS
    ) -> FloatArray:
        """Return sums over samples, (run, half, trial), in grid units: summary times size."""
        drawn = counts.reshape(-1, counts.shape[-1]).T
        if self.summary == "mean":
            sums = table.units[cell][runs] @ drawn
        else:
            means = summaries(self.summary, table.scores[cell][runs], drawn, size)
            sums = table.grids[cell].to_units(means) * size
        return np.asarray(sums.reshape(-1, *counts.shape[:2]))

    def drawn(self, table: Table) -> xr.Dataset:
        """Return the samples of all trials of the largest size: units by position."""
        key, size = table.key(Purpose.SWAP_TOPICS), self.n_drawn(table)[-1]
        dims, samples = (names.TRIAL, names.HALF, names.DRAW), list[xr.Dataset]()
        for one in self.by_sampling().values():
            positions = topic_samples(key, one.kind, table.sizes.size, size, 0, table.trials)
            samples.append(xr.Dataset({names.TOPIC_SAMPLE: (dims, positions)}))
        return self.joined(samples) if len(samples) > 1 else samples[0]


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


VARIABLES = read_variables("""
    [metric gain size fuzziness pair]
    first_better | count/i | trials | topic samples on which the pair's first run is better
    second_better | count/i | trials | topic samples on which the pair's second run is better
    equal | count/i | trials | topic samples on which both are equal within the fuzziness
    [metric gain size fuzziness]
    error_rate | share | 1 | share of comparisons that contradict the majority of their pair
    ties | share | 1 | share of comparisons that are equal within the fuzziness
""")


@dataclass(frozen=True, kw_only=True)
class Stability(TwoSamples):
    """Stability method: how often does a topic sample contradict most samples?

    The topic sample of a trial is the first sample of the swap method with the same seed. The error
    rate is the share of comparisons that contradict the majority of their pair, `ties` the share of
    those that are equal within the fuzziness.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> cube, method = simulate_cube(n_runs=6, seed=3), Stability(sampling="replacement")
    >>> result = analyse(cube, method, trials=100, seed=1)
    >>> orders = result[["first_better", "second_better", "equal"]].sel(metric="AP", pair=0)
    >>> int(orders.to_array().sum())
    100
    """

    name: ClassVar[str] = "stability"
    examples: ClassVar[tuple[str, ...]] = ("--size 25 --trials 1000 --seed 1",)

    fuzziness: tuple[float, ...] = option_field(
        (0.05,),
        "Means that differ by less than this share of the larger are equal.",
        minimum=0,
        below=1,
    )

    def block_of(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        sizes, (n_cells, n_runs, _) = self.n_drawn(table), table.scores.shape
        better = np.zeros((n_cells, len(sizes), len(self.fuzziness), n_runs, n_runs), np.int64)
        for s, size in enumerate(sizes):
            for low, high in self.chunks(table, start, stop):
                counts = self.counts(table, size, low, high)[:1]
                for cell, grid in enumerate(table.grids):
                    means = self.sums(table, cell, counts, size)[:, 0]
                    means += grid.low / grid.unit * size
                    apart, larger, least = np.empty((3, *means.shape))
                    for run in range(n_runs):
                        np.subtract(means[run], means, out=apart)
                        np.maximum(means[run], means, out=larger)
                        for k, fuzzy in enumerate(self.fuzziness):
                            # A difference of up to one unit for each topic is none.
                            np.subtract(np.multiply(larger, fuzzy, out=least), size, out=least)
                            np.maximum(least, size + 0.5, out=least)
                            better[cell, s, k, run] += np.count_nonzero(apart >= least, axis=-1)
        first, second = np.triu_indices(n_runs, 1)
        return {
            "first_better": Sum(better[..., first, second]),
            "second_better": Sum(better[..., second, first]),
        }

    def result_of(self, table: Table, totals: Totals) -> xr.Dataset:
        first, second = totals["first_better"], totals["second_better"]
        equal = table.trials - first - second
        n_comparisons = table.trials * first.shape[-1]
        values = {
            "first_better": first,
            "second_better": second,
            "equal": equal,
            "error_rate": np.minimum(first, second).sum(axis=-1) / n_comparisons,
            "ties": equal.sum(axis=-1) / n_comparisons,
        }
        coords = {
            names.SIZE: np.array(self.sizes(table)),
            names.FUZZINESS: np.array(self.fuzziness),
            names.RUN: label_array(table.runs),
            **pair_labels(table.runs, pair_positions(len(table.runs))),
        }
        attrs = {"sampling": self.sampling, "summary": self.summary}
        return table.dataset(VARIABLES, values, coords, attrs)

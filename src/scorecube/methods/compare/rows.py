"""Rows of comparisons: what is asked for, differences with limits, and all of them as a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.topic_units import FloatArray, Range
from scorecube.declare import Variable, along
from scorecube.methods.compare.view import LOWER
from scorecube.statistics.intervals import Sample

Cell = tuple[str, str]
"""A metric and a gain setting."""
VARIABLES = along(
    ("collection", "metric", "gain"),
    Variable("difference", "estimate", "mean of the system less that of the baseline", "score"),
    Variable("low", "low", "lower limit of the difference", "score", of="difference"),
    Variable("high", "high", "upper limit of the difference", "score", of="difference"),
    Variable("p_value", "p_value", "two-sided, of no difference, as its limits"),
    Variable("wins", "count", "topics on which the system is better", "topics"),
    Variable("ties", "count", "topics on which both are equal", "topics"),
    Variable("losses", "count", "topics on which the system is worse", "topics"),
    Variable("smallest_shown", "estimate", "half the width of the limits", "score"),
)


class Asked(NamedTuple):
    """What is compared: a system with a baseline, or with a number, of each metric.

    run, baseline: Labels of runs or systems; no baseline where there are numbers.
    at_least: Numbers by metric.
    retrained: Whether limits are for other training runs, too.
    """

    run: str
    baseline: str | None
    at_least: Mapping[str, float]
    retrained: bool = False

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems whose scores are read."""
        return (self.run,) if self.baseline is None else (self.run, self.baseline)


class TrainingRuns(NamedTuple):
    """Training runs of a system in one collection, or in the mean over several.

    labels: Of the runs.
    means: float64 (run,): mean score of each.
    explained: Variance of such a mean that is due to topics, by topic x run; NaN of one run.
    """

    labels: tuple[str, ...]
    means: FloatArray
    explained: float

    @property
    def number(self) -> int:
        """Number of training runs."""
        return len(self.labels)


class CellScores(NamedTuple):
    """Scores of one collection by one metric and gain setting.

    sample: Differences of two systems, or scores of one.
    ends: Range of the scores; None if unknown.
    least: Difference up to which scores are equal.
    binary, higher: Whether scores are 0 and 1; whether larger ones are better.
    counts: Units on which the system is better, equal and worse.
    sides: Training runs of each system; empty where limits are for these.
    """

    sample: Sample
    ends: Range | None
    least: float
    binary: bool
    higher: bool
    counts: tuple[int, int, int]
    sides: tuple[TrainingRuns, ...] = ()

    @property
    def width(self) -> float | None:
        """Width of the range."""
        return None if self.ends is None else self.ends[1] - self.ends[0]


@dataclass(frozen=True)
class Row:
    """A difference in one collection, or in the mean over several: `VARIABLES`, and more.

    reason: Why there is none, or no limits; empty where there are.
    ends: Range of the scores; None if unknown.
    n_units: Topics, groups or bags of all collections.
    """

    difference: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p_value: float = np.nan
    wins: int = 0
    ties: int = 0
    losses: int = 0
    reason: str = ""
    higher: bool = True
    ends: Range | None = None
    n_units: int = 0
    p_of_loss: Callable[[float], float] = lambda _: np.nan
    """P-value of a loss of at most a margin, one-sided."""

    @property
    def smallest_shown(self) -> float:
        """Half the width of the limits."""
        return (self.high - self.low) / 2

    @property
    def toward_better(self) -> tuple[float, float]:
        """Limits in the direction of the metric: below 0 is worse."""
        return (self.low, self.high) if self.higher else (-self.high, -self.low)


@dataclass(frozen=True)
class Compared:
    """Rows along collections (the mean over several is the last, without a name) and cells."""

    collections: tuple[str, ...]
    cells: tuple[Cell, ...]
    rows: Mapping[tuple[str, Cell], Row]
    notes: tuple[str, ...]
    nouns: names.Nouns = names.USUAL_NOUNS

    def dataset(self, labels: Mapping[str, Mapping[tuple[str, Cell], str]]) -> xr.Dataset:
        """Return the rows as variables along collection, metric and gain, with labels of them."""
        metrics = list(dict.fromkeys(metric for metric, _ in self.cells))
        gains = list(dict.fromkeys(gain for _, gain in self.cells))
        dims = (names.COLLECTION, names.METRIC, names.GAIN)
        shape = len(self.collections), len(metrics), len(gains)
        coords = zip(dims, (self.collections, metrics, gains), strict=True)
        result = xr.Dataset(coords={dim: np.array(of, object) for dim, of in coords})
        keys = list(product(self.collections, product(metrics, gains)))
        for variable in VARIABLES:
            values = [getattr(self.rows[key], variable.name) for key in keys]
            array = np.array(values).reshape(shape)
            result[variable.name] = (dims, array, variable.attrs())
        for name, by_key in labels.items():
            texts = np.array([by_key[key] for key in keys], object).reshape(shape)
            result[name] = (dims, texts, {"role": "label"})
        lower = [metric for (_, (metric, _)), row in self.rows.items() if not row.higher]
        facts = {"notes": list(self.notes), LOWER: list(dict.fromkeys(lower))}
        return result.assign_attrs(facts, **{names.WORDS: list(self.nouns)})

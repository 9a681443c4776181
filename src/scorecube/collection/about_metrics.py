"""Directions and ranges of metrics: which scores are better, and which there can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, option
from scorecube.statistics.grid import check_range


def directed(cube: xr.Dataset, metrics: Sequence[str]) -> xr.Dataset:
    """Return a cube that knows of some of its metrics that smaller values are better."""
    labels = _checked_labels(cube, metrics, "lower_is_better")
    higher = (names.METRIC, np.array([label not in metrics for label in labels]))
    return cube.assign_coords({names.HIGHER_IS_BETTER: higher}) if metrics else cube


def ranged(cube: xr.Dataset, ranges: Mapping[str, tuple[float, float]]) -> xr.Dataset:
    """Return a cube that knows the least and the greatest score that there can be of some metrics.

    Raises BadPlan: A metric that is not in the cube.
    Raises BadInput: Scores outside of a range.
    """
    labels = _checked_labels(cube, ranges, "ranges")
    for metric, ends in ranges.items():
        check_range(cube[names.SCORE].sel({names.METRIC: metric}).values, *ends)
    low, high = np.array([ranges.get(label, (np.nan, np.nan)) for label in labels]).T
    ends_of = {names.SCORE_LOW: (names.METRIC, low), names.SCORE_HIGH: (names.METRIC, high)}
    return cube.assign_coords(ends_of) if ranges else cube


def read_ranges(words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the ranges of metrics from words such as ``f1=0,100`` (BadPlan for another form)."""
    ranges = {}
    for word in words:
        metric, _, ends = word.rpartition("=")
        try:
            low, high = map(float, ends.split(","))
        except ValueError:
            low = high = np.nan
        if not (metric.strip() and -np.inf < low < high < np.inf):
            text = "expected a metric, its least and its greatest score, such as f1=0,100"
            raise BadPlan(f"{option('ranges', word)}: {text}", option="ranges")
        ranges[metric.strip()] = (low, high)
    return ranges


def _checked_labels(cube: xr.Dataset, metrics: Iterable[str], argument: str) -> list[str]:
    """Return the metrics of a cube; refuse others (BadPlan)."""
    labels = schema.labels_of(cube, names.METRIC)
    if unknown := sorted(set(metrics) - set(labels)):
        problem = f"{listed(unknown)} is not among the metrics {listed(labels)}"
        raise BadPlan(f"{option(argument)}: {problem}", option=argument)
    return labels


def higher_of(cube: xr.Dataset) -> NDArray[np.bool_]:
    """Return whether larger scores are better, by metric."""
    if names.HIGHER_IS_BETTER not in cube.coords:
        return np.ones(cube.sizes[names.METRIC], bool)
    return np.atleast_1d(cube[names.HIGHER_IS_BETTER].values).astype(bool)

"""Summaries of scores over topics: arithmetic mean, geometric mean, area measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadPlan, option
from scorecube.metrics.registry import AREA, GEOMETRIC, MEAN, SUMMARIES

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
GEOMETRIC_FLOOR = 1e-5
"""Scores below it are raised to it in the geometric mean, as in trec_eval (gm_map)."""


def summary_of(metric: str) -> str:
    """Return the summary over topics that the prefix of a metric's name asks for.

    Examples
    --------
    >>> summary_of("geo:AP"), summary_of("AP")
    ('geo', 'mean')
    """
    prefix = metric.split(":")[0]
    return prefix if prefix in SUMMARIES else MEAN


def kinds_of(cube: xr.Dataset) -> list[str]:
    """Return the summary over topics of each metric of a cube, imported scores included."""
    return [summary_of(label) for label in labels_of(cube, names.METRIC)]


def without_other_summaries(cube: xr.Dataset) -> xr.Dataset:
    """Return the metrics of a cube whose summary over topics is the arithmetic mean."""
    return cube.isel({names.METRIC: [kind == MEAN for kind in kinds_of(cube)]})


def log_scores(scores: FloatArray) -> FloatArray:
    """Return the logarithms of scores; scores below 1e-5 count as 1e-5."""
    return np.asarray(np.log(np.maximum(scores, GEOMETRIC_FLOOR)))


def area_weights(n_topics: int) -> FloatArray:
    """Return the weights of the worst, second worst, ... score in the area measure.

    It is the mean over X = 1 .. n/4 of the mean score of the X worst topics (Voorhees 2005).

    Examples
    --------
    >>> area_weights(8).tolist()
    [0.75, 0.25]
    """
    worst = np.arange(1, max(1, n_topics // 4) + 1)
    return np.asarray(np.cumsum(1.0 / worst[::-1])[::-1] / len(worst))


def summarise(cube: xr.Dataset) -> xr.DataArray:
    """Summarise scores over topics: by the mean, or as the prefix of the metric's name asks for.

    Missing scores are left out; the area measure of a run with a missing score is NaN.

    cube: Scores (metric, gain, run, topic).
    Returns summary: float64 (metric, gain, run), in score units.
    """
    scores = cube[names.SCORE]
    result = scores.mean(names.TOPIC)
    for k, kind in enumerate(kinds_of(cube)):
        values = scores.values[k]
        if kind == GEOMETRIC:
            result[k] = np.exp(np.nanmean(log_scores(values), axis=-1))
        elif kind == AREA:
            weights = area_weights(values.shape[-1])
            result[k] = np.sort(values, axis=-1)[..., : len(weights)] @ weights
    return result.rename(names.SUMMARY)


def refuse_other_summaries(cube: xr.Dataset, what: str) -> None:
    """Refuse metrics whose summary over topics is not the arithmetic mean (BadPlan).

    cube: Scores (metric, gain, run, topic).
    what: What cannot be done with them, for the error text.
    """
    odd = [metric for metric in labels_of(cube, names.METRIC) if summary_of(metric) != MEAN]
    if odd:
        raise BadPlan(
            f"{what} compares mean scores, and {', '.join(odd)} is no mean; leave it out of "
            f"{option('metrics')}, or compare runs by it with: scorecube unpaired"
        )

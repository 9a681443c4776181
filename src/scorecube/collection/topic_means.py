"""How topics are summed up: arithmetic mean, geometric mean, area measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import BadPlan, option

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
SUMMARY = "summary"
"""Coordinate along metric: how topics are summed up, see `summarise`."""
MEAN, GEOMETRIC, AREA = KINDS = ("mean", "geo", "area")
GEOMETRIC_FLOOR = 1e-5


def summary_of(metric: str) -> str:
    """Return how the prefix of a metric's name says that topics are summed up.

    Examples
    --------
    >>> summary_of("geo:AP"), summary_of("AP")
    ('geo', 'mean')
    """
    prefix = metric.split(":")[0]
    return prefix if prefix in KINDS else MEAN


def kinds_of(cube: xr.Dataset) -> list[str]:
    """Return how topics are summed up, by metric, also of scores that were imported."""
    return [summary_of(label) for label in schema.labels_of(cube, names.METRIC)]


def log_scores(scores: FloatArray) -> FloatArray:
    """Return logarithms of scores, of which those below 1e-5 are raised to it (trec_eval gm_map)."""
    logs: FloatArray = np.log(np.maximum(scores, GEOMETRIC_FLOOR))
    return logs


def area_weights(n_topics: int) -> FloatArray:
    """Return the weights of the worst, second worst, ... score in the area measure.

    It is the mean over X = 1 .. n/4 of the mean score of the X worst topics (Voorhees 2005, the area under MAP(X)).

    Examples
    --------
    >>> area_weights(8).tolist()
    [0.75, 0.25]
    """
    worst = np.arange(1, max(1, n_topics // 4) + 1)
    weights: FloatArray = np.cumsum(1.0 / worst[::-1])[::-1] / len(worst)
    return weights


def summarise(cube: xr.Dataset) -> xr.DataArray:
    """Return one number for each metric, gain setting and run: the mean over topics, or what the metric's prefix says.

    ``geo:`` is the geometric mean, see `log_scores`; ``area:`` the area measure, see `area_weights`. Missing scores are passed over;
    the area measure of a run with any is NaN.
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
    return result.rename("summary")


def refuse_other_summaries(cube: xr.Dataset, what: str) -> None:
    """Refuse metrics whose topics are summed up otherwise than by the mean.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic).
    what
        What cannot be done with them, for the error text.

    Raises
    ------
    BadPlan
        Naming the metrics.
    """
    odd = [metric for metric in schema.labels_of(cube, names.METRIC) if summary_of(metric) != MEAN]
    if odd:
        are, them = ("is no mean", "it") if len(odd) == 1 else ("are no means", "them")
        raise BadPlan(
            f"{what} compares mean scores, and {', '.join(odd)} {are}; leave {them} out of {option('metrics')}, or compare runs by "
            f"{them} with: scorecube unpaired"
        )

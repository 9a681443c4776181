"""Parts of a cube: labels, best runs, complete topics, cells; standardised scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.arguments import MetricLike, as_cube, labels, metric_names
from scorecube.collection.metrics_of_tools import read_metric
from scorecube.collection.ranges import higher_of
from scorecube.errors import (
    BadInput,
    BadName,
    BadPlan,
    UnknownName,
    counted,
    either,
    nearest,
    option,
)
from scorecube.metrics import Metric

NAMED = 3
"""Runs that lack most scores, by name."""

DROPPED = either('sc.select(cube, missing="drop")', "--missing drop")
"""What leaves topics without all scores out, in messages."""


def select(
    cube: xr.Dataset,
    *,
    metrics: Sequence[MetricLike] | None = None,
    gains: Sequence[str] | None = None,
    runs: Sequence[str] | None = None,
    topics: Sequence[str] | None = None,
    top_runs: int | None = None,
    by: object = None,
    missing: Literal["refuse", "drop"] = "refuse",
    bags: int | Literal["none"] = names.N_BAGS,
) -> xr.Dataset:
    """Return part of a cube; None keeps a dim whole.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`.
    metrics, gains, runs, topics
        Labels to keep.
    missing
        ``drop`` topics with missing scores; ``refuse`` leaves them to the analysis, which
        refuses them.
    bags
        Random bags that more than 1,400 topics are put into by what resamples them; ``none`` draws
        topics by themselves.
    top_runs, by
        Keep the runs with the highest mean of metric `by` (by default the first), under the
        first gain setting; ties by run name.

    Returns
    -------
    cube
        The part of it, in its order.

    Raises
    ------
    BadName
        Labels that the cube does not have.
    BadPlan
        A single text instead of a list, or a number of runs that is not a positive integer.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> dict(select(simulate_cube(n_runs=5), metrics=["AP"], top_runs=2).sizes)
    {'metric': 1, 'gain': 1, 'run': 2, 'topic': 50}
    """
    result = as_cube(cube)
    if top_runs is not None:
        result = _keep_top_runs(result, top_runs, by)
    chosen = {names.METRIC: metrics, names.GAIN: gains, names.RUN: runs, names.TOPIC: topics}
    for dim, wanted in chosen.items():
        if wanted is not None:
            result = with_labels(result, {dim: _chosen(result, dim, wanted)})
    if missing == "drop":
        result = on_complete_topics(result)
    return result.assign_attrs({} if bags == names.N_BAGS else {"bags": bags})  # of its own


def _chosen(cube: xr.Dataset, dim: str, wanted: Sequence[Any]) -> list[str]:
    """Return chosen labels of a dim; runs and topics sorted, others in the requested order."""
    has = dict.fromkeys(schema.labels_of(cube, dim))
    if dim == names.METRIC:
        named = metric_names("metrics", wanted)
        asked = [metric if metric in has else str(parse_known(metric)) for metric in named]
    else:
        asked = labels(f"{dim}s", wanted)
    if not asked:
        raise BadName(f"no {dim} given: name some, or leave the choice out to take all")
    for label in asked:
        if label not in has:
            raise UnknownName(f"no {dim} {label!r} in the cube; nearest: {nearest(label, [*has])}")
    if dim in (names.RUN, names.TOPIC):
        return [label for label in has if label in set(asked)]
    return list(dict.fromkeys(asked))


def with_labels(cube: xr.Dataset, wanted: Mapping[str, Sequence[str]]) -> xr.Dataset:
    """Return part of a cube; labels that follow each other are a slice, which is read faster.

    wanted: Dim -> labels that the cube has, in any order.
    """
    places: dict[str, Any] = {}
    for dim, chosen in wanted.items():
        place_of = {label: k for k, label in enumerate(schema.labels_of(cube, dim))}
        positions = np.array([place_of[label] for label in chosen], np.int64)
        are_adjacent = len(positions) and (np.diff(positions) == 1).all()
        places[dim] = slice(positions[0], positions[-1] + 1) if are_adjacent else positions
    return cube.isel(places)


def _keep_top_runs(cube: xr.Dataset, count: int, by: object) -> xr.Dataset:
    """Return the runs with the best means of a metric, by default the first; ties by name."""
    if not isinstance(count, int | np.integer) or count < 1:
        problem = f"expected a whole number of at least 1; found {count!r:.60}"
        raise BadPlan(f"{option('top_runs')}: {problem}", option="top_runs")
    has = schema.labels_of(cube, names.METRIC)
    metric = str(parse_known(*metric_names("by", [by]))) if by else has[0]
    if metric not in has:
        raise UnknownName(f"no metric {metric!r} in the cube to choose the top runs by")
    place = has.index(metric)
    means = cube[names.SCORE].isel(metric=place, gain=0).mean(names.TOPIC).values
    losses = -means if higher_of(cube)[place] else means
    best_first = sorted(zip(losses, schema.labels_of(cube, names.RUN), strict=True))
    return cube.sel(run=sorted(run for _, run in best_first[:count]))


def parse_known(text: str) -> Metric | str:
    """Parse a metric name; return the text itself if it is no metric."""
    try:
        return read_metric(text)
    except BadName:
        return text


def uses_gains(cube: xr.Dataset) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which metrics depend on the gain setting, bool (metric,); all if unknown."""
    if names.USES_GAINS in cube.coords:
        return np.asarray(cube.variables[names.USES_GAINS].values, bool)
    return np.ones(cube.sizes[names.METRIC], bool)


def cells(cube: xr.Dataset) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the scores of the distinct (metric, gain) cells of a cube, and the cell of each.

    Returns scores, cell_of: float64 (cell, run, topic), to be read only; int64 (metric, gain).
    """
    distinct, cell_of = distinct_cells(uses_gains(cube), cube.sizes[names.GAIN])
    scores = cube.variables[names.SCORE].values[distinct]
    return np.ascontiguousarray(scores, np.float64), cell_of


def distinct_cells(
    uses: NDArray[np.bool_], n_gains: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return which cells have scores of their own, and the cell with the scores of each.

    A metric that uses no gains has one cell.

    uses: bool (metric,): whether a metric depends on the gain setting.
    n_gains: Number of gain settings.
    Returns distinct, cell_of: bool and int64 (metric, gain).
    """
    distinct = np.ones((len(uses), n_gains), bool)
    distinct[:, 1:] = uses[:, np.newaxis]
    # A cell without scores of its own has the number of the last one before it that has.
    cell_of = np.cumsum(distinct) - 1
    return distinct, cell_of.reshape(distinct.shape)


def standardise(
    cube: xr.Dataset,
    method: Literal["std-AB", "std-CDF", "z"] = "std-AB",
    *,
    reference_runs: Sequence[str] | None = None,
) -> xr.Dataset:
    """Standardise scores per topic, so that hard and easy topics have equal weight.

    Parameters
    ----------
    cube
        Scores of any metrics.
    method
        ``z``: (x - mean) / sd of the reference runs on the topic, 0 where they are all equal.
        ``std-CDF``: the normal distribution function of z (Webber, Moffat and Zobel 2008).
        ``std-AB``: 0.15 z + 0.5, cut at 0 and 1 (Sakai 2016, ICTIR; Urbano, Lima and Hanjalic
        2019, U-std).
    reference_runs
        The known runs, at least two; all runs of the cube by default.

    Returns
    -------
    cube
        Of the same shape; metrics are called ``std-AB:AP``, and attributes have the runs.

    Raises
    ------
    BadName, BadInput
        A run that the cube does not have, an unknown method, fewer than two reference runs.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> standard = standardise(simulate_cube(n_runs=5))
    >>> standard.metric.values.tolist(), float(standard.score.mean().round(6))
    (['std-AB:AP', 'std-AB:nDCG@10'], 0.5)
    """
    if method not in ("std-AB", "std-CDF", "z"):
        raise UnknownName(f"no standardisation {method!r}; known: std-AB, std-CDF, z")
    cube = as_cube(cube)
    reference = select(cube, runs=reference_runs)
    if reference.sizes[names.RUN] < 2:
        raise BadInput("standardisation needs at least 2 reference runs")
    known = reference[names.SCORE]
    spread = known.std(names.RUN, ddof=1)
    varies = spread > 0
    deviation = cube[names.SCORE] - known.mean(names.RUN)
    z = (deviation / spread.where(varies)).where(varies, 0.0)
    if method == "std-AB":
        z = (0.15 * z + 0.5).clip(0.0, 1.0)
    elif method == "std-CDF":
        from scipy.special import ndtr

        z = xr.apply_ufunc(ndtr, z)
    metrics = [f"{method}:{metric}" for metric in schema.labels_of(cube, names.METRIC)]
    result = (
        cube.assign({names.SCORE: z.transpose(*schema.CUBE[0].dims)})
        .assign_coords({names.METRIC: schema.label_array(metrics)})
        .drop_vars((names.SCORE_LOW, names.SCORE_HIGH), errors="ignore")
        .assign_attrs(standardisation=method, reference_runs=schema.labels_of(reference, names.RUN))
    )
    return schema.annotate(result, schema.CUBE)


def which_lack_most(missing: NDArray[np.bool_], runs: Sequence[str]) -> str:
    """Return the runs that lack most scores, with numbers of topics; missing: bool (run, topic)."""
    n_missing = missing.sum(axis=1)
    most_first = np.argsort(-n_missing, kind="stable")
    lacking = [int(run) for run in most_first if n_missing[run]]
    return ", ".join(f"{runs[run]} ({n_missing[run]})" for run in lacking[:NAMED])


def on_complete_topics(cube: xr.Dataset) -> xr.Dataset:
    """Return the topics of a cube without missing scores, with an attribute on the others."""
    scores = cube[names.SCORE].transpose(names.METRIC, names.GAIN, names.RUN, names.TOPIC)
    lacks = np.zeros(scores.shape[2:], bool)
    for metric in range(len(scores)):  # of a large cube one is in memory
        lacks |= ~np.isfinite(scores[metric].values).all(axis=0)
    complete: Any = ~lacks.any(axis=0)
    if complete.all():
        return cube
    note = (
        f"{complete.sum()} of {counted(len(complete), 'topic')} are used: scores are missing "
        f"on the others, most of {which_lack_most(lacks, schema.labels_of(cube, names.RUN))}."
    )
    return cube.isel(topic=np.flatnonzero(complete)).assign_attrs({names.LEFT_OUT: note})

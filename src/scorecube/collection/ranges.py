"""Directions and ranges of metrics: which scores are better, and which there can be."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.names_of_tools import is_bounded, range_of_name
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, BadPlan, Note, counted, either, option
from scorecube.statistics.grid import EQUAL, check_range

FloatArray = NDArray[np.float64]
Range = tuple[float, float]
PERCENT: Range = (0.0, 100.0)
ENDS = (names.SCORE_LOW, names.SCORE_HIGH)
NO_RANGE: Range = (-np.inf, np.inf)
"""Ends that are stored of a metric that is known to have none."""


def directed(cube: xr.Dataset, metrics: Sequence[str]) -> xr.Dataset:
    """Return a cube that knows of some of its metrics that smaller values are better."""
    labels = schema.labels_of(cube, names.METRIC)
    refuse_unknown(metrics, labels, "lower_is_better")
    higher = (names.METRIC, np.array([label not in metrics for label in labels]))
    return cube.assign_coords({names.HIGHER_IS_BETTER: higher}) if metrics else cube


def ranged(
    cube: xr.Dataset,
    declared: Mapping[str, Range] | None = None,
    *,
    percent: Collection[str] = (),
    scores_of: Callable[[str], FloatArray] | None = None,
) -> xr.Dataset:
    """Return a cube that knows the least and the greatest score that there can be of its metrics.

    The range is a fact of all raw scores, and stored with them, so that neither means over seeds
    nor a choice of runs and topics changes it. It is declared, by the metric or here; 0 and 1 where
    all scores are; 0 and 1, or 0 and 100, of a name that the field bounds. Other metrics have none:
    -inf and inf are stored. Metrics of this package that are not declared here have their own range
    by name, and NaN.

    percent: Metrics in whose scores a per cent sign was read.
    scores_of: All raw scores of a metric, of which the cube may have some; by default the cube's.
    Raises BadInput: Scores outside of a range that is declared here.
    """
    declared = declared or {}
    of_metric = scores_of or _scores_in(cube)
    ends = stored_ranges(cube)
    before = ends.copy()
    for place, metric in enumerate(schema.labels_of(cube, names.METRIC)):
        if metric in declared:
            check_range(of_metric(metric), *declared[metric])
            ends[place] = declared[metric]
        elif np.isnan(ends[place]).any() and range_of_name(metric) is None:
            ends[place] = range_of_scores(metric, of_metric(metric), metric in percent) or NO_RANGE
    if np.array_equal(ends, before, equal_nan=True):
        return cube
    low = (names.METRIC, ends[:, 0])
    high = (names.METRIC, ends[:, 1])
    return cube.assign_coords({names.SCORE_LOW: low, names.SCORE_HIGH: high})


def stated_ranges(cube: xr.Dataset) -> dict[str, Range]:
    """Return the ranges of metrics that were stated: others than their scores here show."""
    stored = stored_ranges(ranged(cube))
    shown = stored_ranges(ranged(cube.drop_vars(ENDS, errors="ignore")))
    agree = ((stored == shown) | np.isnan(stored)).all(axis=1)
    metrics = schema.labels_of(cube, names.METRIC)
    return {metrics[place]: (*stored[place].tolist(),) for place in np.flatnonzero(~agree)}


def changed_ranges(old: xr.Dataset, new: xr.Dataset) -> list[str]:
    """Return a line for each metric of both cubes whose range is another one in the new one."""
    known = {metric: k for k, metric in enumerate(schema.labels_of(new, names.METRIC))}
    lines = []
    for place, metric in enumerate(schema.labels_of(old, names.METRIC)):
        if metric in known:
            was = range_of(old, place)
            now = range_of(new, known[metric])
            if was != now:
                lines.append(f"the range of {metric} was {shown(was)}; now: {shown(now)}")
    return lines


def shown(ends: Range | None) -> str:
    """Return a range in words."""
    return "none" if ends is None else f"{ends[0]:g} to {ends[1]:g}"


def _scores_in(cube: xr.Dataset) -> Callable[[str], FloatArray]:
    """Return a function that returns the scores of a metric of a cube."""

    def of_metric(metric: str) -> FloatArray:
        place = schema.labels_of(cube, names.METRIC).index(metric)
        return np.asarray(cube[names.SCORE].isel({names.METRIC: place}).values, float)

    return of_metric


def stored_ranges(cube: xr.Dataset) -> FloatArray:
    """Return the least and greatest scores that a cube knows, (metric, 2); NaN where undecided."""
    ends = np.full((cube.sizes[names.METRIC], 2), np.nan)
    for side, name in enumerate((names.SCORE_LOW, names.SCORE_HIGH)):
        if name in cube.coords:
            ends[:, side] = cube.variables[name].values
    return ends


def ranges_of(scores: object) -> dict[str, Range]:
    """Return the ranges that xarray's scores know, by metric; none of other scores."""
    known = (names.METRIC, names.SCORE_LOW, names.SCORE_HIGH)
    if not isinstance(scores, xr.Dataset | xr.DataArray) or not {*known} <= {*scores.coords}:
        return {}
    metrics, low, high = (np.atleast_1d(scores[name].values).tolist() for name in known)
    ends = zip(low, high, strict=True)
    return {str(m): end for m, end in zip(metrics, ends, strict=True) if end[0] < end[1]}


def undecided(cube: xr.Dataset) -> bool:
    """Return whether a cube has metrics whose range neither it nor their names say."""
    unknown = np.isnan(stored_ranges(cube)).any(axis=1)
    metrics = schema.labels_of(cube, names.METRIC)
    return any(range_of_name(metrics[place]) is None for place in np.flatnonzero(unknown))


def range_of_scores(metric: str, scores: FloatArray, is_percent: bool = False) -> Range | None:
    """Return the range that raw scores and the name of an imported metric show; None for none."""
    finite = np.isfinite(scores)
    known = scores if finite.all() else scores[finite]
    if ((known == 0.0) | (known == 1.0)).all():
        return 0.0, 1.0
    if not is_bounded(metric) or known.min() < 0.0 or known.max() > 100.0:
        return None
    if known.max() <= 1.0 and not is_percent:
        return 0.0, 1.0
    exceeds = known.max() > 50.0 and (known != np.rint(known)).any()
    return PERCENT if exceeds or is_percent else None


def range_of(cube: xr.Dataset, metric: int) -> Range | None:
    """Return the range of a metric of a cube, by its place; None where there is none."""
    low, high = stored_ranges(cube)[metric].tolist()
    if np.isnan(low):
        return range_of_name(schema.labels_of(cube, names.METRIC)[metric])
    return (low, high) if np.isfinite(high - low) else None


def _ranges_in(cubes: Iterable[xr.Dataset]) -> Iterator[tuple[str, Range | None]]:
    """Yield the metrics of cubes with their ranges."""
    for cube in cubes:
        for place, metric in enumerate(schema.labels_of(cube, names.METRIC)):
            yield metric, range_of(cube, place)


def without_range(cubes: Iterable[xr.Dataset]) -> str:
    """Return what is said of metrics without a range; empty if all have one."""
    lacking = dict.fromkeys(metric for metric, ends in _ranges_in(cubes) if ends is None)
    if not lacking:
        return ""
    first = next(iter(lacking))
    way = either(
        f"ranges={{{first!r}: (LOWEST, HIGHEST)}}", f"--ranges {shlex.quote(first)}=LOWEST,HIGHEST"
    )
    return Note(
        f"no range is known of {listed(list(lacking))}: a mean has no limits where fewer than 8 "
        f"scores differ; state it: {way}"
    )


def in_percent(cubes: Iterable[xr.Dataset]) -> str:
    """Return which metrics are taken for percentages by their scores; empty if none is."""
    taken = dict.fromkeys(metric for metric, ends in _ranges_in(cubes) if ends == PERCENT)
    return f"taken for percentages, 0 to 100: {listed(list(taken))}" if taken else ""


def refuse_outside(cube: xr.Dataset) -> None:
    """Refuse scores outside the range of a metric of this package (BadInput), and say where."""
    for place, metric in enumerate(schema.labels_of(cube, names.METRIC)):
        own = range_of_name(metric)
        stored = stored_ranges(cube)[place]
        if own is None or np.isfinite(stored).all():
            continue
        scores = cube[names.SCORE].isel({names.METRIC: place}).values
        room = EQUAL * (own[1] - own[0])
        outside = np.argwhere((scores < own[0] - room) | (scores > own[1] + room))
        if len(outside):
            gain, run, topic = outside[0]
            at_run, at_topic = (
                schema.labels_of(cube, dim)[at]
                for dim, at in ((names.RUN, run), (names.TOPIC, topic))
            )
            raise BadInput(
                f"{metric} lies between {own[0]:g} and {own[1]:g}; found "
                f"{counted(len(outside), 'other score')}, such as {scores[gain, run, topic]:g} of "
                f"run {at_run} on topic {at_topic}; state another range, such as "
                f"{option('ranges', f'{metric}=0,100')}, or give the scores another name",
                option="ranges",
            )


def read_ranges(stated: str | Sequence[str] | Mapping[str, Any]) -> dict[str, Range]:
    """Return the ranges of metrics (BadPlan for another form).

    stated: Words such as ``f1=0,100``, or a text with semicolons between them; or metric -> ends.
    """
    found: list[tuple[str, Any, Any]] = []
    if isinstance(stated, Mapping):
        found += [(str(metric), ends, (metric, ends)) for metric, ends in stated.items()]
    else:
        for word in stated.split(";") if isinstance(stated, str) else map(str, stated):
            metric, _, ends = word.rpartition("=")
            found += [(metric, ends.split(","), word)] if word else []
    ranges = {}
    for metric, ends, shown in found:
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            low = high = np.nan
        if not (metric.strip() and -np.inf < low < high < np.inf):
            text = "expected a metric, its least and its greatest score, such as f1=0,100"
            raise BadPlan(f"{option('ranges', shown)}: {text}", option="ranges")
        ranges[metric.strip()] = (low, high)
    return ranges


def refuse_unknown(metrics: Iterable[str], known: Iterable[str], argument: str) -> None:
    """Refuse metrics that are not among those of some scores (BadPlan)."""
    if unknown := sorted(set(metrics) - set(known)):
        problem = f"{listed(unknown)} is not among the metrics {listed(list(known))}"
        own = option("metric", unknown[0])
        way = f"a column that is not read by itself needs an import of its own with {own}"
        raise BadPlan(f"{option(argument)}: {problem}; {way}", option=argument)


def higher_of(cube: xr.Dataset) -> NDArray[np.bool_]:
    """Return whether larger scores are better, by metric."""
    if names.HIGHER_IS_BETTER not in cube.coords:
        return np.ones(cube.sizes[names.METRIC], bool)
    return np.atleast_1d(cube[names.HIGHER_IS_BETTER].values).astype(bool)

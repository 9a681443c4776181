"""Is one system better than another? Differences with limits, and gates on them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.table import Table, make_table
from scorecube.analyses.units import cubes_of
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, BadPlan, ScorecubeError, nearest, option
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Sample, difference_limits, estimate, guarded_estimate
from scorecube.storage import Study, open_study

PASS, FAIL, NO_VERDICT = "pass", "fail", "no verdict"
LEAST_UNITS = 6
"""Fewest topics, groups or bags for a verdict."""
VARIABLES = {
    "difference": ("mean score of the system less that of the baseline", "score", "estimate"),
    "low": ("lower limit of the difference", "score", "low"),
    "high": ("upper limit of the difference", "score", "high"),
    "smallest_shown": ("half the width of the limits", "score", "estimate"),
    "wins": ("topics on which the system is better", "topics", "count"),
    "ties": ("topics on which both are equal", "topics", "count"),
    "losses": ("topics on which the system is worse", "topics", "count"),
    "n_topics": ("topics of both", "topics", "count"),
    "n_units": ("topics, or groups or bags of them, that are independent", "units", "count"),
    "higher_is_better": ("whether larger scores are better", "1", "flag"),
    "verdict": ("verdict", "1", "label"),
    "reason": ("why there is no verdict, or what it rests on", "1", "label"),
}
"""Variables of a comparison: meaning, unit and role."""
BLANKS = {"estimate": np.nan, "low": np.nan, "high": np.nan, "count": 0, "flag": True, "label": ""}
"""Values of roles where nothing is known."""
Cell = tuple[str, str]
"""A metric and a gain setting."""


class Difference(NamedTuple):
    """The difference of two systems by one metric in one collection.

    `sample` has the differences of units, `width` that of the range of scores (None if unknown);
    `wins`, `ties` and `losses` count units.
    """

    sample: Sample
    binary: bool
    width: float | None
    higher: bool
    wins: int
    ties: int
    losses: int
    n_topics: int


def compare(
    scores: Any,
    run: str,
    baseline: str,
    *,
    metrics: Sequence[Any] | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    weights: Mapping[str, float] | None = None,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Compare two systems by each metric, in each collection and in the weighted mean over them.

    Estimand: the difference of both means over infinitely many topics of each collection. Limits
    are those of Student's t; where fewer than 8 topics have another difference than most, and for
    scores of 0 and 1, after adding two pseudo-topics at plus and minus the width of the range.
    Those of the mean use Satterthwaite's degrees of freedom.

    Parameters
    ----------
    scores
        Cube, several cubes by name, an `xarray.DataTree`, a cube with a dim ``collection``; or a
        study, or its path.
    run, baseline
        Labels of runs, or of systems with repetitions, which are compared by their means.
    metrics
        All by default.
    missing
        ``refuse`` a comparison with missing scores, or ``drop`` their topics.
    weights
        Weights of collections in the mean; 1 by default.
    confidence
        Of the limits, each by itself.

    Returns
    -------
    differences
        Variables along collection, metric and gain; the collection of the mean is empty:
        ``difference``, ``low``, ``high`` (system less baseline, in units of the score), ``wins``,
        ``ties``, ``losses``, ``n_topics``, ``smallest_shown`` (half the width of the limits),
        ``verdict`` (better, worse, equal, not shown, unknown) and ``reason``.

    Raises
    ------
    BadName
        A run, metric or collection that there is not.
    BadPlan
        One system compared with itself, or an impossible option.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> differences = compare(cube, "team01-run1", "team02-run1", metrics=["AP"])
    >>> differences["verdict"].values.ravel().tolist()
    ['not shown']
    """
    if run == baseline:
        raise BadPlan(f"{option('run', run)} is the baseline; name two systems", option="run")
    if not 0 < confidence < 1:
        raise BadPlan(
            f"{option('confidence', confidence)}: expected a number between 0 and 1",
            option="confidence",
        )
    cubes, notes, rows = _cubes(scores), list[str](), dict[tuple[str, ...], dict[str, Any]]()
    _check_names(cubes, run, baseline, weights or {})
    shares = {name: float((weights or {}).get(name, 1.0)) for name in cubes}
    by_collection = {
        name: dict(_differences(cube, (run, baseline), metrics, missing, notes))
        for name, cube in cubes.items()
    }
    for cell in dict.fromkeys(cell for cells in by_collection.values() for cell in cells):
        parts = {name: cells.get(cell, "no such metric") for name, cells in by_collection.items()}
        for name, part in parts.items():
            rows[name, *cell] = _row({name: part}, {name: 1.0}, confidence)
        if len(cubes) > 1:
            rows["", *cell] = _row(parts, shares, confidence)
    attrs = {"run": run, "baseline": baseline, "confidence": confidence}
    return _dataset(rows).assign_attrs(attrs, notes=list(dict.fromkeys(notes)))


def gate(scores: Any, run: str, baseline: str, *, margin: float, **how: Any) -> xr.Dataset:
    """Judge whether a system is no worse than a baseline by more than a margin.

    Parameters
    ----------
    margin
        Largest loss that does not matter, in units of the score.
    scores, run, baseline
        As of `compare`.
    how
        ``metrics``, ``missing``, ``weights`` and ``confidence``, as of `compare`.

    Returns
    -------
    differences
        As of `compare`, where ``verdict`` is ``pass`` if the lower limit is above -margin or all
        scores are equal, ``fail`` if the upper limit is below 0 and the lower one below -margin,
        else ``no verdict``; so it is with fewer than 6 topics, missing scores, or a missing run.
        The attribute ``verdict`` is ``fail`` if any fails, else ``no verdict`` if any has none,
        else ``pass``.

    Raises
    ------
    BadName, BadPlan
        As of `compare`.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> gate(cube, "team01-run1", "team02-run1", margin=0.2, metrics=["AP"]).attrs["verdict"]
    'pass'
    """
    if not 0 < margin < np.inf:
        raise BadPlan(f"{option('margin', margin)}: expected a number above 0", option="margin")
    result = compare(scores, run, baseline, **how)
    # In the direction of the metric: what is gained.
    higher = result["higher_is_better"]
    loss = result["low"].where(higher, -result["high"])
    gain = result["high"].where(higher, -result["low"])
    decided, equal = result["n_units"] >= LEAST_UNITS, result["verdict"] == "equal"
    verdict = xr.full_like(result["verdict"], NO_VERDICT)
    verdict = verdict.where(~(decided & (gain < 0) & (loss < -margin)), FAIL)
    verdict = verdict.where(~(decided & ((loss > -margin) | equal)), PASS)
    few = ~decided & (result["reason"] == "")
    reason = result["reason"].where(~few, f"fewer than {LEAST_UNITS} topics")
    reason = reason.where(~(decided & equal), "equal on every topic")
    verdicts = set(verdict.values.ravel().tolist())
    overall = next(word for word in (FAIL, NO_VERDICT, PASS) if word in verdicts)
    return result.assign(verdict=verdict, reason=reason).assign_attrs(
        margin=margin, verdict=overall
    )


def _cubes(scores: Any) -> dict[str, xr.Dataset]:
    """Return cubes by collection, of a study too."""
    if isinstance(scores, str | os.PathLike):
        scores = open_study(str(scores))
    if isinstance(scores, Study):
        scores = {name: scores[name].cube_among(len(list(scores))) for name in scores}
    cubes = cubes_of(scores)
    if not cubes:
        raise BadPlan("no collection to compare in")
    return cubes


def _labels(cube: xr.Dataset) -> set[str]:
    """Return the runs and the systems of a cube."""
    coords = [name for name in (names.RUN, names.SYSTEM) if name in cube.coords]
    return {str(label) for name in coords for label in cube[name].values}


def _check_names(
    cubes: Mapping[str, xr.Dataset], run: str, baseline: str, weights: Mapping[str, float]
) -> None:
    """Refuse systems that no collection has, and weights of collections that there are not."""
    labels = set().union(*map(_labels, cubes.values()))
    for argument, name in (("run", run), ("baseline", baseline)):
        if name not in labels:
            where, near = ", ".join(cubes) or "the cube", nearest(name, sorted(labels))
            raise BadName(f"no run {name!r} in {where}; nearest: {near}", option=argument)
    for name in weights:
        if name not in cubes:
            near = nearest(name, list(cubes))
            raise BadName(f"no collection {name!r}; nearest: {near}", option="weights")


def _differences(
    cube: xr.Dataset,
    systems: tuple[str, str],
    metrics: Sequence[Any] | None,
    missing: Literal["refuse", "drop"],
    notes: list[str],
) -> Iterator[tuple[Cell, Difference | str]]:
    """Yield the difference by each metric and gain setting, or why there is none."""
    there = labels_of(cube, names.METRIC)
    gains = labels_of(cube, names.GAIN) if names.GAIN in cube.dims else [names.AUTO]
    absent = [name for name in systems if name not in _labels(cube)]
    for metric in there if metrics is None else map(str, metrics):
        try:
            if absent:
                raise BadName(f"no run {absent[0]!r}")
            table = make_table(cube, metrics=[metric], runs=systems, missing=missing)
        except ScorecubeError as error:
            if metrics is not None and metric not in there and not absent:
                raise
            yield from (((metric, gain), str(error)) for gain in gains)
            continue
        notes += table.notes
        for place, gain in enumerate(table.gains):
            yield (metric, gain), _difference(table, int(table.cell_of[0, place]), systems)


def _difference(table: Table, cell: int, systems: tuple[str, str]) -> Difference | str:
    """Return the difference of two systems of a table in a cell."""
    if len(table.sizes) < 2:
        return "a single topic has no limits"
    first, second = (table.scores[cell, table.runs.index(name)] for name in systems)
    difference, ends, higher = first - second, table.ranges[cell], bool(table.higher[cell])
    width = None if ends is None else ends[1] - ends[0]
    scale = max(np.abs(table.scores[cell]).max(), 1e-300) if width is None else width
    equal = np.abs(difference) <= EQUAL * scale
    (sample,) = table.samples(np.where(equal, 0.0, difference))
    better = (difference > 0) == higher
    wins, losses = int((better & ~equal).sum()), int((~better & ~equal).sum())
    ties, binary = int(equal.sum()), bool(table.binary[cell])
    return Difference(sample, binary, width, higher, wins, ties, losses, table.n_topics)


def _row(
    parts: Mapping[str, Difference | str], weights: Mapping[str, float], confidence: float
) -> dict[str, Any]:
    """Return the variables of the weighted mean over collections; unknown if any of them is."""
    known = {name: part for name, part in parts.items() if isinstance(part, Difference)}
    if len(known) < len(parts):
        (reason, *_), lacking = parts.values(), [name for name in parts if name not in known]
        return _unknown(f"unknown in {', '.join(lacking)}" if len(parts) > 1 else str(reason))
    kinds, total = {(part.width, part.higher) for part in known.values()}, sum(weights.values())
    if len(kinds) > 1:
        return _unknown("the range or direction of the metric differs between collections")
    ((width, higher),) = kinds
    samples = [part.sample._replace(weight=weights[name] / total) for name, part in known.items()]
    guarded = guarded_estimate(samples, width, binary=all(part.binary for part in known.values()))
    low, high = difference_limits(guarded, width, confidence)
    verdict = "not shown"
    if not any(part.wins or part.losses for part in known.values()):
        verdict = "equal"
    elif low > 0 or high < 0:
        verdict = "better" if (low > 0) == higher else "worse"
    counts = ("wins", "ties", "losses", "n_topics")
    return {
        **{name: sum(getattr(part, name) for part in known.values()) for name in counts},
        "difference": estimate(samples).mean,
        "low": low,
        "high": high,
        "smallest_shown": (high - low) / 2,
        "n_units": sum(len(sample.sums) for sample in samples),
        "higher_is_better": higher,
        "verdict": verdict,
        "reason": "",
    }


def _unknown(reason: str) -> dict[str, Any]:
    """Return the variables where there is no difference."""
    blank = {name: BLANKS[role] for name, (_, _, role) in VARIABLES.items()}
    return blank | {"verdict": "unknown", "reason": reason}


def _dataset(rows: Mapping[tuple[str, ...], Mapping[str, Any]]) -> xr.Dataset:
    """Return comparisons along collection, metric and gain."""
    dims = (names.COLLECTION, names.METRIC, names.GAIN)
    labels = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    table = [rows.get(key, _unknown("no such cell")) for key in product(*labels)]
    coords = zip(dims, (np.array(values, object) for values in labels), strict=True)
    result = xr.Dataset(coords=dict(coords))
    for name, (meaning, unit, role) in VARIABLES.items():
        values = np.array([row[name] for row in table], object if role == "label" else None)
        attrs = {"long_name": meaning, "units": unit, "role": role}
        result[name] = (dims, values.reshape([len(column) for column in labels]), attrs)
    return result

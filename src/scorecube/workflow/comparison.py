"""Is one system better than another? Differences with limits by metric, in each collection and in the mean, and gates on them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.entry import cubes_of
from scorecube.analyses.table import Table, make_table
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, BadPlan, ScorecubeError, nearest, option
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Sample, difference_limits, estimate, guarded_estimate
from scorecube.storage import Study, open_study

PASS, FAIL, NO_VERDICT = "pass", "fail", "no verdict"
LEAST_UNITS = 6
"""Fewest topics, groups or bags for a verdict."""
Cell = tuple[str, str]
"""A metric and a gain setting."""


@dataclass(frozen=True)
class Difference:
    """The difference of two systems by one metric in one collection.

    sample: Differences of units.
    binary: Whether all scores are 0 or 1.
    width: Of the range of the scores; None if unknown.
    higher: Whether larger scores are better.
    wins, ties, losses: Topics, or groups or bags of them, on which the system is better, equal, worse.
    n_topics: Topics of both.
    """

    sample: Sample
    binary: bool
    width: float | None
    higher: bool
    wins: int
    ties: int
    losses: int
    n_topics: int

    @property
    def is_none(self) -> bool:
        """Whether the scores are equal on every unit."""
        return self.wins == self.losses == 0


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

    Estimand: the difference of both means over infinitely many topics of each collection. Limits are those of Student's t; where fewer than 8 topics have
    another difference than most, and for scores of 0 and 1, after adding two pseudo-topics at plus and minus the width of the range.
    Those of the mean use Satterthwaite's degrees of freedom.

    Parameters
    ----------
    scores
        Cube, several cubes by name, an `xarray.DataTree`, a cube with a dim ``collection``; or a study, or its path.
    run, baseline
        Labels of runs, or of systems with repetitions, which are compared by their means on each topic.
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
        Variables along collection, metric and gain; the collection of the mean is empty. ``difference``, ``low``, ``high`` (system less baseline, in units of
        the score), ``wins``, ``ties``, ``losses``, ``n_topics``, ``smallest_shown`` (half the width of the limits: a smaller difference is not shown by these topics),
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
    >>> found = compare(simulate_cube(n_runs=6, seed=3), "team01-run1", "team02-run1", metrics=["AP"])
    >>> found["verdict"].values.ravel().tolist()
    ['not shown']
    """
    if run == baseline:
        raise BadPlan(f"{option('run', run)} is the baseline; name two systems", option="run")
    if not 0 < confidence < 1:
        raise BadPlan(
            f"{option('confidence', confidence)}: expected a number between 0 and 1",
            option="confidence",
        )
    cubes = _cubes(scores)
    _check_names(cubes, run, baseline, weights)
    cells: dict[Cell, dict[str, Difference | str]] = {}
    notes: list[str] = []
    for name, cube in cubes.items():
        for cell, found in _in_collection(cube, (run, baseline), metrics, missing, notes):
            cells.setdefault(cell, {})[name] = found
    shares = {name: float((weights or {}).get(name, 1.0)) for name in cubes}
    rows = {
        (name, *cell): _row(found.get(name, "no such metric"), confidence)
        for cell, found in cells.items()
        for name in cubes
    }
    if len(cubes) > 1:
        rows |= {("", *cell): _mean(found, shares, confidence) for cell, found in cells.items()}
    result = _dataset(rows)
    return result.assign_attrs(
        run=run, baseline=baseline, confidence=confidence, notes=list(dict.fromkeys(notes))
    )


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
        As of `compare`, where ``verdict`` is ``pass`` if the lower limit is above -margin or all scores are equal, ``fail`` if the upper limit is below 0 and the
        lower one below -margin, else ``no verdict``; so it is with fewer than 6 topics, missing scores, or a missing run. The attribute ``verdict`` is ``fail`` if any
        fails, else ``no verdict`` if any has none, else ``pass``.

    Raises
    ------
    BadName, BadPlan
        As of `compare`.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> found = gate(simulate_cube(n_runs=6, seed=3), "team01-run1", "team02-run1", margin=0.2, metrics=["AP"])
    >>> found.attrs["verdict"]
    'pass'
    """
    if not 0 < margin < np.inf:
        raise BadPlan(f"{option('margin', margin)}: expected a number above 0", option="margin")
    found = compare(scores, run, baseline, **how)
    # In the direction of the metric: what is gained.
    higher = found["higher_is_better"]
    loss = found["low"].where(higher, -found["high"])
    gain = found["high"].where(higher, -found["low"])
    failed = (gain < 0) & (loss < -margin)
    decided = found["n_units"] >= LEAST_UNITS
    verdict = xr.full_like(found["verdict"], NO_VERDICT)
    verdict = verdict.where(~(decided & failed), FAIL)
    verdict = verdict.where(~(decided & ((loss > -margin) | (found["verdict"] == "equal"))), PASS)
    few = (found["n_units"] < LEAST_UNITS) & (found["reason"] == "")
    reason = found["reason"].where(~few, f"fewer than {LEAST_UNITS} topics")
    reason = reason.where(~(decided & (found["verdict"] == "equal")), "equal on every topic")
    seen = set(verdict.values.ravel().tolist())
    overall = next(each for each in (FAIL, NO_VERDICT, PASS) if each in seen)
    return found.assign(verdict=verdict, reason=reason).assign_attrs(margin=margin, verdict=overall)


def _cubes(scores: Any) -> dict[str, xr.Dataset]:
    """Return cubes by collection, of a study too."""
    if isinstance(scores, str | os.PathLike):
        scores = open_study(str(scores))
    if isinstance(scores, Study):
        found = list(scores)
        scores = {name: scores[name].cube_among(len(found)) for name in found}
    cubes = cubes_of(scores)
    if not cubes:
        raise BadPlan("no collection to compare in")
    return cubes


def _labels(cube: xr.Dataset) -> list[str]:
    """Return the runs and the systems of a cube."""
    return [
        label
        for name in (names.RUN, names.SYSTEM)
        if name in cube.coords
        for label in map(str, cube[name].values)
    ]


def _check_names(
    cubes: Mapping[str, xr.Dataset], run: str, baseline: str, weights: Mapping[str, float] | None
) -> None:
    """Refuse systems that no collection has, and weights of collections that there are not."""
    labels = {label for cube in cubes.values() for label in _labels(cube)}
    for argument, name in (("run", run), ("baseline", baseline)):
        if name not in labels:
            raise BadName(
                f"no run {name!r} in {', '.join(cubes) or 'the cube'}; nearest: {nearest(name, sorted(labels))}",
                option=argument,
            )
    for name in weights or {}:
        if name not in cubes:
            raise BadName(
                f"no collection {name!r}; nearest: {nearest(name, list(cubes))}", option="weights"
            )


def _in_collection(
    cube: xr.Dataset,
    systems: tuple[str, str],
    metrics: Sequence[Any] | None,
    missing: Literal["refuse", "drop"],
    notes: list[str],
) -> list[tuple[Cell, Difference | str]]:
    """Return the difference of two systems by each metric and gain setting of a collection, or why there is none."""
    has = labels_of(cube, names.METRIC)
    gains = labels_of(cube, names.GAIN) if names.GAIN in cube.dims else [names.AUTO]
    wanted = has if metrics is None else [str(metric) for metric in metrics]
    absent = [name for name in systems if name not in _labels(cube)]
    rows: list[tuple[Cell, Difference | str]] = []
    for metric in wanted:
        try:
            if absent:
                raise BadName(f"no run {absent[0]!r}")
            table = make_table(cube, metrics=[metric], runs=systems, missing=missing)
        except ScorecubeError as error:
            if metrics is not None and metric not in has and not absent:
                raise
            rows += [((metric, gain), str(error)) for gain in gains]
            continue
        notes += table.notes
        rows += [
            ((metric, gain), _difference(table, int(table.cell_of[0, k]), systems))
            for k, gain in enumerate(table.gains)
        ]
    return rows


def _difference(table: Table, cell: int, systems: tuple[str, str]) -> Difference | str:
    """Return the difference of two systems of a table in a cell."""
    if len(table.sizes) < 2:
        return "a single topic has no limits"
    first, second = (table.scores[cell, table.runs.index(name)] for name in systems)
    difference, ends = first - second, table.ranges[cell]
    width = None if ends is None else ends[1] - ends[0]
    scale = max(np.abs(table.scores[cell]).max(), 1e-300) if width is None else width
    equal = np.abs(difference) <= EQUAL * scale
    (sample,) = table.samples(np.where(equal, 0.0, difference))
    better = difference if table.higher[cell] else -difference
    return Difference(
        sample,
        bool(table.binary[cell]),
        width,
        bool(table.higher[cell]),
        int(((better > 0) & ~equal).sum()),
        int(equal.sum()),
        int(((better < 0) & ~equal).sum()),
        table.n_topics,
    )


def _row(found: Difference | str, confidence: float) -> dict[str, Any]:
    """Return the values of one comparison."""
    if isinstance(found, str):
        return _unknown(found)
    return _known([found], [found.sample], confidence)


def _mean(
    found: Mapping[str, Difference | str], shares: Mapping[str, float], confidence: float
) -> dict[str, Any]:
    """Return the values of a comparison by the weighted mean over collections; unknown if any of them is."""
    lacking = [name for name in shares if not isinstance(found.get(name), Difference)]
    if lacking:
        return _unknown(f"unknown in {', '.join(lacking)}")
    parts = {name: each for name, each in found.items() if isinstance(each, Difference)}
    if len({(each.width, each.higher) for each in parts.values()}) > 1:
        return _unknown("the range or direction of the metric differs between collections")
    total = sum(shares.values())
    samples = [each.sample._replace(weight=shares[name] / total) for name, each in parts.items()]
    return _known(list(parts.values()), samples, confidence)


def _unknown(reason: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("difference", "low", "high", "smallest_shown"), np.nan)
    counts = dict.fromkeys(("wins", "ties", "losses", "n_topics", "n_units"), 0)
    return {**nothing, **counts, "higher_is_better": True, "verdict": "unknown", "reason": reason}


def _known(
    parts: Sequence[Difference], samples: Sequence[Sample], confidence: float
) -> dict[str, Any]:
    width, higher = parts[0].width, parts[0].higher
    found = guarded_estimate(samples, width, binary=all(each.binary for each in parts))
    low, high = difference_limits(found, width, confidence)
    verdict = "not shown"
    if all(each.is_none for each in parts):
        verdict = "equal"
    elif low > 0 or high < 0:
        verdict = "better" if (low > 0) == higher else "worse"
    return {
        "difference": estimate(samples).mean,
        "low": low,
        "high": high,
        "smallest_shown": (high - low) / 2,
        "wins": sum(each.wins for each in parts),
        "ties": sum(each.ties for each in parts),
        "losses": sum(each.losses for each in parts),
        "n_topics": sum(each.n_topics for each in parts),
        "n_units": sum(len(each.sums) for each in samples),
        "higher_is_better": higher,
        "verdict": verdict,
        "reason": "",
    }


UNITS = {
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


def _dataset(rows: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> xr.Dataset:
    """Return comparisons along collection, metric and gain."""
    dims = (names.COLLECTION, names.METRIC, names.GAIN)
    labels = [list(dict.fromkeys(key[k] for key in rows)) for k in range(3)]
    shape = [len(each) for each in labels]
    variables = {}
    for name, (meaning, unit, role) in UNITS.items():
        values = [
            rows.get((collection, metric, gain), _unknown("no such cell"))[name]
            for collection in labels[0]
            for metric in labels[1]
            for gain in labels[2]
        ]
        kind = object if role == "label" else None
        attrs = {"long_name": meaning, "units": unit, "role": role}
        variables[name] = (dims, np.array(values, kind).reshape(shape), attrs)
    coords = {dim: np.array(each, object) for dim, each in zip(dims, labels, strict=True)}
    return xr.Dataset(variables, coords)

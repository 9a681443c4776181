"""Is one system better than another? Differences with limits, and gates on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.preparation import make_table
from scorecube.analyses.table import Table
from scorecube.collection.arguments import cubes_of
from scorecube.collection.schema import labels_of, read_variables
from scorecube.collection.selection import select
from scorecube.errors import BadName, BadPlan, ScorecubeError, nearest, option
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Sample, difference_limits, estimate, guarded_estimate

PASS, FAIL, NO_VERDICT = "pass", "fail", "no verdict"
CONFIDENCE, LEAST_UNITS = 0.95, 6
"""Of limits; fewest topics, groups or bags for a verdict of a gate."""
VARIABLES = read_variables("""
    [collection metric gain]
    difference | estimate | score | mean score of the system less that of the baseline
    low | low:difference | score | lower limit of the difference
    high | high:difference | score | upper limit of the difference
    wins | count | topics | topics on which the system is better
    ties | count | topics | topics on which both are equal
    losses | count | topics | topics on which the system is worse
    smallest_shown | estimate | score | half the width of the limits
    verdict | label | 1 | verdict
    reason | label | 1 | why there is no verdict, or what it rests on
""")
UNKNOWN = (np.nan, np.nan, np.nan, 0, 0, 0, np.nan)
"""Numbers of a comparison without any, in the order of `VARIABLES`."""


class Difference(NamedTuple):
    """The difference of two systems by one metric; counts of units: better, equal and worse."""

    sample: Sample
    binary: bool
    width: float | None  # of the range of scores
    higher: bool
    counts: tuple[int, ...]


def compare(
    scores: Any,
    run: str,
    baseline: str,
    *,
    metrics: Sequence[Any] | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
) -> xr.Dataset:
    """Compare two systems by each metric, in each collection and in the mean over them.

    Estimand: the difference of both means over infinitely many topics of each collection. 95 %
    limits are those of Student's t; where fewer than 8 topics have another difference than most,
    and for scores of 0 and 1, after adding two pseudo-topics at plus and minus the width of the
    range. Those of the mean use Satterthwaite's degrees of freedom.

    Parameters
    ----------
    scores
        Cube, several cubes by name, an `xarray.DataTree`, or a cube with a dim ``collection``.
    run, baseline
        Labels of runs, or of systems with repetitions, which are compared by their means.
    metrics
        All by default.
    missing
        ``refuse`` a comparison with missing scores, or ``drop`` their topics.

    Returns
    -------
    differences
        Variables along collection, metric and gain; the collection of the mean is empty:
        ``difference``, ``low``, ``high`` (system less baseline, in units of the score), ``wins``,
        ``ties``, ``losses``, ``smallest_shown`` (half the width of the limits), ``verdict``
        (better, worse, equal, not shown, unknown) and ``reason``.

    Raises
    ------
    BadName
        A run or metric that there is not.
    BadPlan
        One system compared with itself.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> differences = compare(cube, "team01-run1", "team02-run1", metrics=["AP"])
    >>> differences["verdict"].values.ravel().tolist()
    ['not shown']
    """
    return _compared(scores, (run, baseline), None, metrics, missing)


def gate(scores: Any, run: str, baseline: str, *, margin: float, **how: Any) -> xr.Dataset:
    """Judge whether a system is no worse than a baseline by more than a margin.

    Parameters
    ----------
    margin
        Largest loss that does not matter, in units of the score.
    scores, run, baseline
        As of `compare`.
    how
        ``metrics`` and ``missing``, as of `compare`.

    Returns
    -------
    differences
        As of `compare`, where ``verdict`` is ``pass`` if the lower limit is above -margin or all
        scores are equal, ``fail`` if the upper limit is below 0 and the lower one below -margin,
        else ``no verdict``; so it is with fewer than 6 topics, missing scores, or a missing run.
        The attribute ``verdict`` is ``fail`` if any fails, else ``no verdict`` if any has none,
        else ``pass``.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> gate(cube, "team01-run1", "team02-run1", margin=0.2, metrics=["AP"]).attrs["verdict"]
    'pass'
    """
    if not 0 < margin < np.inf:
        raise BadPlan(f"{option('margin', margin)}: expected a number above 0", option="margin")
    result = _compared(scores, (run, baseline), margin, **how)
    verdicts = result["verdict"].values.ravel().tolist()
    overall = next(word for word in (FAIL, NO_VERDICT, PASS) if word in verdicts)
    return result.assign_attrs(margin=margin, verdict=overall)


def _compared(
    scores: Any,
    systems: tuple[str, str],
    margin: float | None,
    metrics: Sequence[Any] | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
) -> xr.Dataset:
    """Return the comparison of two systems; with a margin, the verdicts of a gate."""
    cubes = {name: select(cube, metrics=metrics) for name, cube in cubes_of(scores).items()}
    _check_systems(cubes, *systems)
    notes: list[str] = []
    every = {name: dict(_differences(of, systems, missing, notes)) for name, of in cubes.items()}
    groups = {name: {name: of} for name, of in every.items()}
    groups |= {"": every} if len(every) > 1 else {}
    cells = dict.fromkeys(cell for of in every.values() for cell in of)
    labels = [list(groups), *(list(dict.fromkeys(column)) for column in zip(*cells, strict=True))]
    rows = [
        _row({name: of.get(cell, "no such metric") for name, of in group.items()}, margin)
        for group in groups.values()
        for cell in product(*labels[1:])
    ]
    coords = zip(VARIABLES[0].dims, (np.array(of, object) for of in labels), strict=True)
    result = xr.Dataset(coords=dict(coords))
    for variable, values in zip(VARIABLES, zip(*rows, strict=True), strict=True):
        array = np.array(values, object if variable.role == "label" else None)
        array = array.reshape([*map(len, labels)])
        result[variable.name] = (variable.dims, array, variable.attrs())
    about = {"run": systems[0], "baseline": systems[1], "notes": list(dict.fromkeys(notes))}
    return result.assign_attrs(about)


def _check_systems(cubes: Mapping[str, xr.Dataset], run: str, baseline: str) -> None:
    """Refuse runs or systems that no collection has, and one alone."""
    if run == baseline:
        raise BadPlan(f"{option('run', run)} is the baseline; name two systems", option="run")
    coords = [cube.coords.get(dim) for cube in cubes.values() for dim in (names.RUN, names.SYSTEM)]
    known = sorted({str(label) for of in coords if of is not None for label in of.values})
    for argument, name in (("run", run), ("baseline", baseline)):
        if name not in known:
            raise BadName(f"no run {name!r}; nearest: {nearest(name, known)}", option=argument)


def _differences(
    cube: xr.Dataset, systems: tuple[str, str], missing: Any, notes: list[str]
) -> Iterator[tuple[tuple[str, str], Difference | str]]:
    """Yield the difference by each metric and gain setting, or why there is none."""
    gains = labels_of(cube, names.GAIN)
    for metric in labels_of(cube, names.METRIC):
        differences: list[Difference | str]
        try:
            table = make_table(cube.sel(metric=[metric]), runs=systems, missing=missing)
            differences = [_difference(table, int(k), systems) for k in table.cell_of[0]]
            notes += table.notes
        except ScorecubeError as error:
            differences = [str(error)] * len(gains)
        yield from zip(product([metric], gains), differences, strict=True)


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
    counts = [int(of.sum()) for of in (better & ~equal, equal, ~better & ~equal)]
    return Difference(sample, bool(table.binary[cell]), width, higher, tuple(counts))


def _row(parts: Mapping[str, Difference | str], margin: float | None) -> tuple[Any, ...]:
    """Return the values of `VARIABLES` in the mean over collections; unknown if any of them is."""
    known, reason = [part for part in parts.values() if isinstance(part, Difference)], ""
    if len(known) < len(parts):
        lacking = [name for name, part in parts.items() if isinstance(part, str)]
        reason = f"unknown in {', '.join(lacking)}" if len(parts) > 1 else str(*parts.values())
    elif len({(part.width, part.higher) for part in known}) > 1:
        reason = "the range or direction of the metric differs between collections"
    if reason:
        return *UNKNOWN, "unknown" if margin is None else NO_VERDICT, reason
    width, higher = known[0].width, known[0].higher
    samples = [part.sample._replace(weight=1 / len(known)) for part in known]
    guarded = guarded_estimate(samples, width, binary=all(part.binary for part in known))
    low, high = difference_limits(guarded, width, CONFIDENCE)
    wins, ties, losses = np.sum([part.counts for part in known], axis=0)
    least, most = (low, high) if higher else (-high, -low)
    if wins + losses == 0:
        verdict, reason = ("equal", "") if margin is None else (PASS, "equal on every topic")
    elif margin is None:
        verdict = "better" if least > 0 else "worse" if most < 0 else "not shown"
    else:
        verdict = PASS if least > -margin else FAIL if least < -margin and most < 0 else NO_VERDICT
    if margin is not None and sum(len(sample.sums) for sample in samples) < LEAST_UNITS:
        verdict, reason = NO_VERDICT, f"fewer than {LEAST_UNITS} topics"
    half = (high - low) / 2
    return estimate(samples).mean, low, high, wins, ties, losses, half, verdict, reason

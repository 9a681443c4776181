"""Is one system better than another? Differences of their means with limits and p-values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.jackknife import CONFIDENCE
from scorecube.analyses.preparation import make_table
from scorecube.analyses.repetitions import Repetitions
from scorecube.analyses.table import ScoreTable
from scorecube.collection.arguments import CubesLike, MetricLike, cubes_of
from scorecube.collection.plausibility import seems_lower
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import select
from scorecube.errors import BadPlan, ScorecubeError, UnknownName, nearest, option
from scorecube.methods.compare.retrained import (
    check_training_runs,
    notes_of,
    sources_of,
    with_training_runs,
)
from scorecube.methods.compare.rows import Asked, Cell, CellScores, Compared, Row
from scorecube.statistics.grid import least_difference
from scorecube.statistics.intervals import (
    Sample,
    Source,
    difference_limits,
    estimate,
    guarded_estimate,
    mean_limits,
    one_sided_p,
    p_of_mean,
    two_sided_p,
    with_sources,
)

TINY = 1e-4
"""Share of the range below which differences on every topic count as equal."""
Missing = Literal["refuse", "drop"]
NO_SUCH_METRIC = "no such metric"


def compare(
    scores: CubesLike,
    run: str,
    baseline: str,
    *,
    metrics: Sequence[MetricLike] | None = None,
    retrained: bool = False,
    missing: Missing = "refuse",
) -> xr.Dataset:
    """Compare two systems by each metric, in each collection and in the mean over them.

    Estimand: the difference of both means over infinitely many topics of each collection. 95 %
    limits are those of Student's t; where fewer than 8 topics have another difference than most,
    and for scores of 0 and 1, after adding two pseudo-topics at plus and minus the width of the
    range. Without a range, such few topics have no limits. Those of the mean use Satterthwaite's
    degrees of freedom. Differences below 1e-4 of the range on every topic count as equal.

    Parameters
    ----------
    scores
        Cube, several cubes by name, an `xarray.DataTree`, or a cube with a dim ``collection``.
    run, baseline
        Labels of runs, or of systems with repetitions, which are compared by their means.
    metrics
        All by default.
    retrained
        Whether limits are for other training runs of both systems, too: the variance of the
        repetitions' means, less what topics explain, over their number is added for each system
        (Miller 2024). Where one has one repetition, the variance of the other serves both.
    missing
        ``refuse`` a comparison with missing scores, or ``drop`` their topics.

    Returns
    -------
    differences
        Variables along collection, metric and gain, the collection of the mean is empty:
        ``difference``, ``low``, ``high`` (system less baseline, in units of the score), ``p_value``
        (below .05 where 0 is outside), ``wins``, ``ties``, ``losses``, ``smallest_shown`` (half the
        width of the limits), ``verdict`` (better, worse, equal, not shown, unknown), ``reason``.

    Raises
    ------
    UnknownName
        A run or metric that there is not.
    BadPlan
        One system compared with itself; `retrained` where neither has repetitions.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> differences = compare(cube, "team01-run1", "team02-run1", metrics=["AP"])
    >>> differences["verdict"].values.ravel().tolist()
    ['not shown']
    """
    found = compared(scores, Asked(run, baseline, {}, retrained), metrics, missing)
    verdicts = {key: word_of(row) for key, row in found.rows.items()}
    reasons = {key: row.reason for key, row in found.rows.items()}
    result = found.dataset({"verdict": verdicts, "reason": reasons})
    return result.assign_attrs(run=run, baseline=baseline, retrained=retrained)


def word_of(row: Row) -> str:
    """Return what a comparison says of a difference."""
    least, most = row.toward_better
    if row.n_units and row.wins + row.losses == 0:
        return "equal"
    if np.isnan(least):
        return "unknown"
    if least > 0:
        return "better"
    return "worse" if most < 0 else "not shown"


def compared(
    scores: CubesLike, asked: Asked, metrics: Sequence[MetricLike] | None, missing: Missing
) -> Compared:
    """Return the differences that are asked for, in each collection and in the mean over them."""
    cubes = {name: select(cube, metrics=metrics) for name, cube in cubes_of(scores).items()}
    _check_systems(cubes, asked)
    if asked.retrained:
        check_training_runs(cubes, asked)
    notes: list[str] = []
    every = {name: dict(_parts(name, of, asked, missing, notes)) for name, of in cubes.items()}
    groups = {name: {name: of} for name, of in every.items()}
    if len(every) > 1:
        groups[""] = every
    metrics_of = dict.fromkeys(metric for metric, _ in chain.from_iterable(every.values()))
    gains_of = dict.fromkeys(gain for _, gain in chain.from_iterable(every.values()))
    cells = tuple(product(metrics_of, gains_of))
    nouns = names.nouns(next(iter(cubes.values())).attrs)
    rows = {}
    for name, group in groups.items():
        for cell in cells:
            parts = {of: parts.get(cell, NO_SUCH_METRIC) for of, parts in group.items()}
            rows[name, cell] = row_of(parts, asked.at_least.get(cell[0]), nouns)
    return Compared(tuple(groups), cells, rows, tuple(dict.fromkeys(notes)), nouns)


def _check_systems(cubes: Mapping[str, xr.Dataset], asked: Asked) -> None:
    """Refuse runs or systems that no collection has, and one alone."""
    if asked.run == asked.baseline:
        text = f"{option('run', asked.run)} is the baseline; name two systems"
        raise BadPlan(text, option="run")
    known = set()
    for cube in cubes.values():
        for dim in (names.RUN, names.SYSTEM):
            known |= {*labels_of(cube, dim)} if dim in cube.coords else set()
    for argument, name in zip(("run", "baseline"), asked.systems, strict=False):
        if name not in known:
            text = f"no run {name!r}; nearest: {nearest(name, sorted(known))}"
            raise UnknownName(text, option=argument)


def _parts(
    name: str, cube: xr.Dataset, asked: Asked, missing: Missing, notes: list[str]
) -> Iterator[tuple[Cell, CellScores | str]]:
    """Yield the scores by each metric and gain setting, or why there are none."""
    for metric in labels_of(cube, names.METRIC):
        of_gains: list[CellScores | str]
        chosen = cube.sel(metric=[metric])
        try:
            table = make_table(chosen, runs=asked.systems, missing=missing, on_grid=False)
            of_gains = [part_of(table, int(cell), asked, metric) for cell in table.cell_of[0]]
            said: Iterable[str] = table.notes
            if asked.retrained:
                repetitions = Repetitions.of(chosen, asked.systems, missing=missing)
                said = notes_of(table, repetitions)
                of_gains = [
                    part if isinstance(part, str) else with_training_runs(part, repetitions, cell)
                    for part, cell in zip(of_gains, table.cell_of[0].tolist(), strict=True)
                ]
            notes += said
            notes += _notes_of_tiny(name, metric, table, asked)
            notes += _notes_of_direction(metric, table)
        except ScorecubeError as error:
            of_gains = [str(error)] * cube.sizes[names.GAIN]
        for gain, part in zip(labels_of(cube, names.GAIN), of_gains, strict=True):
            yield (metric, gain), part


def part_of(table: ScoreTable, cell: int, asked: Asked, metric: str) -> CellScores | str:
    """Return the differences of two systems of a table in a cell, or the scores of one."""
    if len(table.sizes) < 2:
        return f"a single {table.nouns.topic} has no limits"
    ends = table.ranges[cell]
    width = None if ends is None else ends[1] - ends[0]
    scores = table.scores[cell, table.runs.index(asked.run)]
    least = least_difference(table.scores[cell], width)
    if asked.baseline is None:
        apart = scores - asked.at_least[metric]
    else:
        apart = _differences(table, cell, asked)
        scores = apart
    equal = np.abs(apart) <= least
    better = ~equal & ((apart > 0) == bool(table.higher[cell]))
    counts = int(better.sum()), int(equal.sum()), int((~equal & ~better).sum())
    (sample,) = table.samples(scores)
    return CellScores(
        sample, ends, least, bool(table.binary[cell]), bool(table.higher[cell]), counts
    )


def _differences(
    table: ScoreTable, cell: int, asked: Asked
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the differences of two systems on units: 0 where they are equal, or all are tiny."""
    first, second = (table.scores[cell, table.runs.index(name)] for name in asked.systems)
    apart = first - second
    ends = table.ranges[cell]
    width = None if ends is None else ends[1] - ends[0]
    least = least_difference(table.scores[cell], width)
    if width is not None and np.abs(apart).max() < TINY * width:
        least = TINY * width
    return np.where(np.abs(apart) <= least, 0.0, apart)


def _notes_of_direction(metric: str, table: ScoreTable) -> list[str]:
    """Return a note where larger values count as better of what is usually better when smaller."""
    if not table.higher[0] or not seems_lower(metric):
        return []
    return [
        f"Larger values of {metric} count as better, as nothing else was declared; if smaller ones "
        f"are, import it again with {option('lower_is_better', metric)}."
    ]


def _notes_of_tiny(name: str, metric: str, table: ScoreTable, asked: Asked) -> list[str]:
    """Return a note where differences count as equal that are not."""
    if asked.baseline is None:
        return []
    first, second = (table.scores[:, table.runs.index(of)] for of in asked.systems)
    for cell, apart in enumerate(np.abs(first - second).max(axis=1)):
        ends = table.ranges[cell]
        if ends is None:
            continue
        width = ends[1] - ends[0]
        if least_difference(table.scores[cell], width) < apart < TINY * width:
            where = f"{name}: " if name else ""
            return [
                f"{where}{metric} differs by up to {apart:.2g} on a {table.nouns.topic}, below "
                f"{TINY:g} of its range, and counts as equal."
            ]
    return []


def row_of(
    parts: Mapping[str, CellScores | str],
    bound: float | None,
    nouns: names.Nouns = names.USUAL_NOUNS,
) -> Row:
    """Return the difference in the mean over collections; unknown if any of them is.

    bound: What the mean of one system is compared with; None for differences of two.
    """
    known = [part for part in parts.values() if isinstance(part, CellScores)]
    if len(known) < len(parts):
        lacking = [name for name, part in parts.items() if isinstance(part, str)]
        one = next(part for part in parts.values() if isinstance(part, str))
        many = f"unknown in {', '.join(lacking)}"
        return Row(reason=many if len(parts) > 1 else one)
    if len({(part.ends, part.higher) for part in known}) > 1:
        what = "the range or direction of the metric"
        return Row(reason=f"{what} differs between {nouns.collections}")
    wins, ties, losses = np.sum([part.counts for part in known], axis=0).tolist()
    samples = [part.sample._replace(weight=1 / len(known)) for part in known]
    sources = sources_of(known)
    if isinstance(sources, str):
        return Row(reason=sources)
    numbers = (
        _numbers_of_pair(known, samples, sources)
        if bound is None
        else _numbers(known, samples, bound, sources)
    )
    return Row(
        **numbers,
        wins=wins,
        ties=ties,
        losses=losses,
        reason=f"too few {nouns.topics} differ" if np.isnan(numbers["low"]) else "",
        higher=known[0].higher,
        ends=known[0].ends,
        n_units=sum(len(sample.sums) for sample in samples),
    )


def _numbers_of_pair(
    parts: Sequence[CellScores], samples: Sequence[Sample], sources: Sequence[Source]
) -> dict[str, Any]:
    """Return the numbers of a difference of two systems."""
    width = parts[0].width
    binary = all(part.binary for part in parts)
    least = max(part.least for part in parts)
    of_units = guarded_estimate(samples, width, binary=binary, least=least)
    guarded = with_sources(of_units, sources)
    low, high = difference_limits(guarded, width, CONFIDENCE)
    better = guarded if parts[0].higher else guarded._replace(mean=-guarded.mean)
    return {
        "difference": float(estimate(samples).mean),
        "low": float(low),
        "high": float(high),
        "p_value": float(two_sided_p(guarded)),
        "p_of_loss": lambda margin: float(one_sided_p(better, -margin)),
    }


def _numbers(
    parts: Sequence[CellScores], samples: Sequence[Sample], bound: float, sources: Sequence[Source]
) -> dict[str, Any]:
    """Return the numbers of the difference of a mean from a number."""
    ends = parts[0].ends
    higher = parts[0].higher
    low, high = mean_limits(samples, ends, CONFIDENCE, sources=sources)

    def p_of_loss(margin: float) -> float:
        if higher:
            return p_of_mean(samples, ends, bound - margin, sources)
        return 1 - p_of_mean(samples, ends, bound + margin, sources)

    below = p_of_mean(samples, ends, bound, sources)
    return {
        "difference": float(estimate(samples).mean) - bound,
        "low": float(low) - bound,
        "high": float(high) - bound,
        "p_value": min(1.0, 2 * min(below, 1 - below)),
        "p_of_loss": p_of_loss,
    }

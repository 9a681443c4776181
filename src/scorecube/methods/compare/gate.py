"""Gates: is a system no worse than a baseline, or than a number, by more than a margin?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.arguments import CubesLike, MetricLike, cubes_of, metric_names
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.declare import limited
from scorecube.errors import BadPlan, UnknownName, nearest, option
from scorecube.methods.compare.comparison import Missing, compare, compared
from scorecube.methods.compare.rows import Asked, Cell, Compared, Row
from scorecube.methods.compare.view import NOT_JUDGED, what_is_shown
from scorecube.statistics.paired_tests import holm

PASS = "pass"  # noqa: S105 - no password
FAIL = "fail"
NO_VERDICT = "no verdict"
FAILED = 3
UNDECIDED = 4
"""Exit statuses of a gate."""
ERROR = 0.025
"""Probability of a wrong pass, and of any wrong fail: of each side of 95 % limits."""
LEAST_UNITS = 6
"""Fewest topics, groups or bags for a verdict."""
Numbers = float | Mapping[str, float]
"""One number for all metrics, or one for each."""
Key = tuple[str, Cell]


class Judged(NamedTuple):
    """A verdict on a row, and why."""

    verdict: str
    reason: str


@dataclass(frozen=True)
class Decision:
    """All rows of a gate, and what follows from them.

    rows: Verdicts by collection and cell.
    p: P-values of a loss of at most the margin, and the same after Holm.
    below: Collections and metrics below the margin that are looked at and not judged.
    """

    found: Compared
    rows: Mapping[Key, Judged]
    p: Mapping[Key, float]
    p_holm: Mapping[Key, float]
    below: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Fail if any row fails, pass if all pass and no collection is below the margin."""
        verdicts = [row.verdict for row in self.rows.values() if row.verdict != NOT_JUDGED]
        if FAIL in verdicts:
            return FAIL
        return NO_VERDICT if NO_VERDICT in verdicts or self.below else PASS

    def status(self, *, allow_undecided: bool) -> int:
        """Return the exit status; rows whose limits hold 0 may be allowed, worse ones never."""
        if self.verdict != NO_VERDICT:
            return FAILED if self.verdict == FAIL else 0
        undecided = [key for key, row in self.rows.items() if row.verdict == NO_VERDICT]
        hold_zero = all(_holds_zero(self.found.rows[key]) for key in undecided)
        return 0 if allow_undecided and hold_zero and not self.below else UNDECIDED


def gate(
    scores: CubesLike,
    run: str,
    baseline: str | None = None,
    *,
    margin: Numbers | None = None,
    at_least: Numbers | None = None,
    metrics: Sequence[MetricLike] | None = None,
    each: bool = False,
    retrained: bool = False,
    allow_undecided: bool = False,
    missing: Missing = "refuse",
) -> xr.Dataset:
    """Judge whether a system is no worse than a baseline by more than a margin.

    One decision a metric, about the mean over the collections. 95 % limits of the difference decide
    (those of `compare`): ``pass`` if the lower one is above -margin; ``fail`` if the upper one is
    below -margin, after Holm at .025 over all rows that are judged; else ``no verdict``. So a model
    that lost the margin passes, and one that lost less fails, in about .025 of samples. Rows of
    fewer than 6 topics, without limits or with missing scores have no verdict.

    Parameters
    ----------
    scores
        As of `compare`.
    run, baseline
        Labels of systems.
    margin
        Largest loss that does not matter, in units of the score: a number for metrics of one range,
        or one for each metric that is judged.
    at_least
        In place of baseline and margin: the mean of the system is compared with a number, or with
        one of each metric.
    metrics
        Metrics that are judged; by default those that `margin` or `at_least` names, else the first.
    each
        Judge every collection as well. Without it they are looked at all the same: one below the
        margin (after Holm) is named, and turns a pass into no verdict.
    retrained
        As of `compare`.
    allow_undecided
        Status 0, too, where all rows without a verdict have limits that hold 0.
    missing
        As of `compare`.

    Returns
    -------
    differences
        As of `compare`, with ``margin``, ``verdict`` (also ``not judged``), ``reason``, and
        ``p_of_loss``, ``p_of_loss_holm``. The attribute ``verdict`` is ``fail`` if any row fails,
        ``pass`` if all pass, else ``no verdict``; ``status`` is 0, 3 or 4.

    Raises
    ------
    UnknownName
        A run or metric that there is not.
    BadPlan
        No margin; one number for metrics of unlike ranges; a number outside the range.

    See Also
    --------
    compare : The same differences and limits, without a margin.

    Notes
    -----
    With differences d of n topics, their mean m and variance s^2, and margin M, a row passes where
    ``m - t(n - 1, .975) s / sqrt(n) > -M``: a test of non-inferiority.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> judged = gate(cube, "team01-run1", "team02-run1", margin=0.2, metrics=["AP"])
    >>> judged.attrs["verdict"], judged.attrs["status"]
    ('pass', 0)
    """
    _check_options(baseline, margin, at_least)
    if baseline is not None and margin is None and at_least is None:
        would = what_is_shown(
            compare(scores, run, baseline, metrics=metrics, retrained=retrained, missing=missing)
        )
        raise BadPlan(f"{option('margin')} is missing; {would}", option="margin")
    name = "margin" if at_least is None else "at_least"
    numbers = margin if at_least is None else at_least
    assert numbers is not None
    cubes = cubes_of(scores)
    of_each = (labels_of(cube, names.METRIC) for cube in cubes.values())
    known = list(dict.fromkeys(chain.from_iterable(of_each)))
    judged = judged_metrics(known, numbers, metrics, name)
    by_metric = numbers_by_metric(numbers, judged, known, name)
    bounds = {} if at_least is None else by_metric
    margins = by_metric if at_least is None else dict.fromkeys(judged, 0.0)
    of_judged = {collection: _judged_part(cube, judged) for collection, cube in cubes.items()}
    found = compared(of_judged, Asked(run, baseline, bounds, retrained), None, missing)
    _check_ranges(found, numbers, judged, name)
    _check_bounds(found, bounds)
    decision = decide(found, margins, each=each)
    labels = {
        "verdict": {key: row.verdict for key, row in decision.rows.items()},
        "reason": {key: row.reason for key, row in decision.rows.items()},
    }
    result = found.dataset(labels)
    of_rows = {
        "margin": {key: margins[key[1][0]] for key in found.rows},
        "p_of_loss": decision.p,
        "p_of_loss_holm": decision.p_holm,
    }
    for variable, by_key in of_rows.items():
        values = [by_key.get(key, np.nan) for key in found.rows]
        shape = result["difference"].shape
        result[variable] = (result["difference"].dims, np.reshape(values, shape), {})
    notes = [*found.notes, *_notes(found, known, judged, metrics)]
    compared_with = {"baseline": baseline} if at_least is None else {"at_least": bounds}
    return result.assign_attrs(
        compared_with,
        run=run,
        each=each,
        retrained=retrained,
        verdict=decision.verdict,
        status=decision.status(allow_undecided=allow_undecided),
        below=list(decision.below),
        notes=notes,
    )


def _judged_part(cube: xr.Dataset, judged: Sequence[str]) -> xr.Dataset:
    """Return the scores by the metrics that are judged, under the first gain setting."""
    there = [metric for metric in labels_of(cube, names.METRIC) if metric in judged]
    return cube.sel(metric=there).isel(gain=[0])


def _check_options(baseline: str | None, margin: Numbers | None, at_least: Numbers | None) -> None:
    """Refuse a gate without a baseline or a number; or with both."""
    if at_least is None and baseline is None:
        text = f"name {option('baseline')} and {option('margin')}, or {option('at_least')}"
        raise BadPlan(text, option="baseline")
    if at_least is not None and not (baseline is None and margin is None):
        raise BadPlan(
            f"{option('at_least')} takes the place of {option('baseline')} and {option('margin')}",
            option="at_least",
        )


def judged_metrics(
    known: Sequence[str], numbers: Numbers, metrics: Sequence[MetricLike] | None, name: str
) -> list[str]:
    """Return the metrics that are judged: those that are named, else the first one."""
    if metrics is not None:
        return [_label(of, known, "metrics") for of in metric_names("metrics", metrics)]
    if isinstance(numbers, Mapping):
        return [_label(of, known, name) for of in numbers]
    return list(known[:1])


def _label(name: str, known: Sequence[str], argument: str) -> str:
    """Return the label of a metric; UnknownName where there is none."""
    label = name if name in known else str(parse_known(name))
    if label not in known:
        text = f"no metric {name!r} in the scores; nearest: {nearest(name, list(known))}"
        raise UnknownName(text, option=argument)
    return label


def numbers_by_metric(
    numbers: Numbers, judged: Sequence[str], known: Sequence[str], name: str
) -> dict[str, float]:
    """Return a margin, or a number that is to be reached, of each metric that is judged."""
    if isinstance(numbers, Mapping):
        by_metric = {_label(of, known, name): number for of, number in numbers.items()}
    else:
        by_metric = dict.fromkeys(judged, numbers)
    if {*by_metric} != {*judged}:
        text = f"{option(name)}: expected a number for each of {', '.join(judged)}"
        raise BadPlan(f"{text}; found {', '.join(by_metric)}", option=name)
    for number in by_metric.values():
        if not np.isfinite(number) or (name == "margin" and number <= 0):
            wanted = "a number above 0" if name == "margin" else "a number"
            raise BadPlan(f"{option(name, number)}: expected {wanted}", option=name)
    return by_metric


def _check_ranges(found: Compared, numbers: Numbers, judged: Sequence[str], name: str) -> None:
    """Refuse one number for metrics whose ranges are not known to be alike."""
    if isinstance(numbers, Mapping) or len(judged) < 2:
        return
    ranges = {}
    for (_, (metric, _)), row in found.rows.items():
        if row.n_units:
            ranges[metric] = row.ends
    if len({*ranges.values()}) > 1 or None in ranges.values():
        of_metrics = [
            f"{metric} {'unknown' if ends is None else f'{ends[0]:g} to {ends[1]:g}'}"
            for metric, ends in ranges.items()
        ]
        example = ",".join(f"{metric}={numbers:g}" for metric in judged)
        raise BadPlan(
            f"{option(name, numbers)} for metrics of unlike ranges ({', '.join(of_metrics)}); give "
            f"a number for each, such as {option(name, example)}",
            option=name,
        )


def _check_bounds(found: Compared, bounds: Mapping[str, float]) -> None:
    """Refuse a number that no score of the metric can reach, or miss."""
    for (_, (metric, _)), row in found.rows.items():
        if metric in bounds and row.ends is not None:
            low, high = row.ends
            if not low <= bounds[metric] <= high:
                text = f"{option('at_least', bounds[metric])} is outside the range of {metric}"
                raise BadPlan(f"{text}, {low:g} to {high:g}", option="at_least")


def decide(found: Compared, margins: Mapping[str, float], *, each: bool) -> Decision:
    """Return the verdicts on all rows."""
    several = len(found.collections) > 1
    judged = [key for key in found.rows if each or key[0] == "" or not several]
    others = [key for key in found.rows if key not in judged]
    p = {key: row.p_of_loss(margins[key[1][0]]) for key, row in found.rows.items()}
    p_holm = _adjusted(p, judged) | _adjusted(p, others)
    rows = {}
    below = []
    for key, row in found.rows.items():
        margin = margins[key[1][0]]
        family = others if key in others else judged
        rows[key] = judge(row, margin, p_holm[key], len(family), found.nouns)
        if key in others:
            reason = rows[key].reason
            if rows[key].verdict == FAIL:
                below.append(f"{key[0]} ({key[1][0]})")
            rows[key] = Judged(NOT_JUDGED, reason)
    return Decision(found, rows, p, p_holm, tuple(below))


def _adjusted(p: Mapping[Key, float], keys: Sequence[Key]) -> dict[Key, float]:
    """Return p-values of some rows after Holm; rows without one count as not below."""
    if not keys:
        return {}
    known = np.nan_to_num([p[key] for key in keys], nan=1.0)
    return dict(zip(keys, holm(known).tolist(), strict=True))


def judge(
    row: Row, margin: float, p_holm: float, n_rows: int, nouns: names.Nouns = names.USUAL_NOUNS
) -> Judged:
    """Return the verdict on a row by its limits, and in words on which side it is.

    p_holm: Of a loss of at most the margin, after Holm over so many rows.
    """
    if 0 < row.n_units < LEAST_UNITS:
        return Judged(NO_VERDICT, f"fewer than {LEAST_UNITS} {nouns.topics}")
    if row.reason:
        return Judged(NO_VERDICT, row.reason)
    least, most = row.toward_better
    limits = f"({limited(row.low, row.low, row.high, '+.3f')[1]})"
    if least > -margin:
        return Judged(PASS, f"worse {limits}, by less than the margin" if most < 0 else "")
    if most < -margin and p_holm < ERROR:
        return Judged(FAIL, f"worse by more than the margin {limits}")
    if most < -margin:
        reason = f"worse by more than the margin {limits}, but not after Holm over {n_rows} rows"
        return Judged(NO_VERDICT, reason)
    if most < 0:
        return Judged(NO_VERDICT, f"worse {limits}, perhaps by more than the margin")
    return Judged(NO_VERDICT, f"perhaps worse {limits} by more than the margin")


def _holds_zero(row: Row) -> bool:
    """Return whether the limits of a row hold 0: it is not shown to be worse."""
    return bool(row.n_units >= LEAST_UNITS and row.low <= 0 <= row.high)


def _notes(
    found: Compared,
    known: Sequence[str],
    judged: Sequence[str],
    metrics: Sequence[MetricLike] | None,
) -> list[str]:
    """Return what was chosen by itself, and collections that are too small for a verdict."""
    notes = []
    rest = [metric for metric in known if metric not in judged]
    if rest and metrics is None:
        notes.append(f"Judged by {', '.join(judged)}; not asked for: {', '.join(rest)}.")
    small = [name for (name, _), row in found.rows.items() if 0 < row.n_units < LEAST_UNITS]
    if small and len(found.collections) > 1:
        named = ", ".join(dict.fromkeys(small))
        notes.append(f"Fewer than {LEAST_UNITS} {found.nouns.topics}, and no verdict: {named}.")
    return notes

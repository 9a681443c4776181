"""Gates: is a system worse than another, by each metric, in each collection, and in their mean?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests.classical import Paired
from scorecube.analyses.plan import make_plan
from scorecube.analyses.quantities import quantity
from scorecube.analyses.rank_sets.estimates import mean_of_estimates
from scorecube.analyses.rank_sets.over_collections import weights_of
from scorecube.collection.arguments import as_cube, metric_names
from scorecube.collection.schema import CUBE, annotate, label_array, labels_of
from scorecube.collection.selection import select
from scorecube.errors import BadName, BadPlan, ScorecubeError, nearest, option
from scorecube.execute.run import run as run_plan
from scorecube.storage import Study, open_study

Requirement = Literal["better", "not-worse", "equivalent"]
Verdict = Literal["better", "worse", "equivalent", "undecided", "unknown"]
LEAST_MARGIN = 1e-9
"""What a margin of 0 is for limits, which do not depend on it."""


@dataclass(frozen=True)
class Comparison:
    """A system and a baseline by one metric in one collection, or in the mean over several.

    collection, metric, gain: Where; ``mean of 3`` for the mean over three collections.
    difference, low, high: Mean of the system less that of the baseline, with limits; None where they are not known.
    topics: That both were compared on.
    verdict: ``worse`` by more than the margin, ``equivalent`` within it, ``better``, ``undecided``; ``unknown`` if it cannot be computed.
    passes: Whether it meets the requirement.
    reason: Why it is unknown; else which topics were left out, if any.
    """

    collection: str
    metric: str
    gain: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    topics: int = 0
    verdict: Verdict = "unknown"
    passes: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Gate:
    """Verdicts on a system against a baseline, from `gate`.

    passed: Whether all comparisons meet the requirement; an unknown one never does.
    run, baseline, margin, require, confidence: As asked for.
    jointly: Whether all limits hold together (Bonferroni), or each by itself.
    comparisons: By collection and metric, those of the mean last.
    """

    passed: bool
    run: str
    baseline: str
    margin: float
    require: Requirement | None
    confidence: float
    jointly: bool
    comparisons: tuple[Comparison, ...]

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return asdict(self)

    def sentence(self) -> str:
        """Return the outcome in words."""
        wanted = self.require or f"not shown to be worse by more than {self.margin:g}"
        counts = {
            verdict: sum(each.verdict == verdict for each in self.comparisons)
            for verdict in get_args(Verdict)
        }
        found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        how = "all limits together" if self.jointly else "each limit by itself"
        return f"{'passed' if self.passed else 'FAILED'}: {self.run} against {self.baseline}: {found}; required: {wanted} [{100 * self.confidence:g}%, {how}]"


def gate(
    scores: Study | str | os.PathLike[str] | Mapping[str, xr.Dataset],
    *,
    run: str,
    baseline: str,
    margin: float = 0.01,
    metrics: Sequence[Any] | None = None,
    require: Requirement | None = None,
    collections: Sequence[str] | None = None,
    against: str | Sequence[str] | None = None,
    weights: Sequence[str] = (),
    confidence: float = 0.95,
    drop_missing: bool = False,
    by_topic: bool = False,
) -> Gate:
    """Compare a system with a baseline by each metric, in each collection, and in the weighted mean over them.

    Estimand: the difference of both means over infinitely many topics of each collection; of systems with repetitions also over these. Limits are
    those of the t test (`Paired`), or by betting where scores with known bounds hardly vary; those of the mean follow from those of the collections
    (Zou and Donner 2008). Scores are read anew: no stored result is used.

    Parameters
    ----------
    scores
        Study, or its path; or scores by the name of their collection. Larger scores are better.
    run, baseline
        Runs, or systems with repetitions.
    margin
        Largest difference that does not matter, in units of the score.
    metrics
        By default all of each collection; their mean is of those that all collections have.
    collections
        All by default.
    against
        Collection with the scores of the baseline, on the same topics, such as last week's snapshot, or one for each collection, in their order; by
        default each collection has both systems. The baseline may then be the same system. Differences are those of the topics that both have.
    require
        What every comparison must show. None: not to be worse by more than the margin is enough, also where that is undecided.
        ``not-worse``: shown not to be worse by more than the margin; ``equivalent``; ``better``.
    weights
        As of `Board`.
    confidence
        Of the limits: with a requirement of each by itself, else of all together.
    drop_missing, by_topic
        As of `scorecube.select`.

    Returns
    -------
    gate
        Whether the system passes, and why.

    Raises
    ------
    BadName
        A collection that does not exist; a run or a metric that no collection has.
    BadPlan
        A margin, requirement, weight or confidence that is none.

    References
    ----------
    Zou and Donner 2008, Statistics in Medicine 27.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> found = gate({"web": cube}, run="team01-run1", baseline="team02-run1", metrics=["AP"])
    >>> found.comparisons[0].verdict, found.passed
    ('undecided', True)
    """
    _check("" if against else run, baseline, margin, require, confidence)
    before = [against] if isinstance(against, str) else list(against or ())
    cubes, opponents = _cubes(scores, collections, before)
    if opponents:
        where = ", ".join(before)
        pairs = {
            name: _beside(cube, opponent, (run, baseline), where)
            for (name, cube), opponent in zip(cubes.items(), opponents, strict=True)
        }
        cubes, baseline = pairs, f"{baseline} in {where}"
    shares = weights_of(weights, list(cubes))
    wanted = None if metrics is None else [str(each) for each in metric_names("metrics", metrics)]
    _check_names(cubes, run, baseline, wanted)
    n_cells = [
        (cube.sizes[names.METRIC] if wanted is None else len(wanted)) * cube.sizes[names.GAIN]
        for cube in cubes.values()
    ]
    n_rows = sum(n_cells) + (min(n_cells) if len(cubes) > 1 else 0)
    alpha = (1 - confidence) / 2 / (1 if require else n_rows)
    found: dict[tuple[str, str], list[Comparison]] = {}
    for name, cube in cubes.items():
        for each in _compared(
            name, cube, run, baseline, wanted, alpha, margin, drop_missing, by_topic
        ):
            found.setdefault((each.metric, each.gain), []).append(each)
    rows = [each for compared in found.values() for each in compared]
    if len(cubes) > 1:
        rows += [
            _over_collections(compared, shares)
            for compared in found.values()
            if wanted is not None or len(compared) == len(cubes)
        ]
    judged = [_judged(each, margin, require) for each in rows]
    order = {name: place for place, name in enumerate(cubes)}
    judged.sort(key=lambda each: order.get(each.collection, len(order)))
    passed = bool(judged) and all(each.passes for each in judged)
    return Gate(passed, run, baseline, margin, require, confidence, require is None, tuple(judged))


def _check(run: str, baseline: str, margin: float, require: str | None, confidence: float) -> None:
    if run == baseline:
        raise BadPlan(f"{option('run', run)} is the baseline; name two systems", option="run")
    if not 0 <= margin < math.inf:
        raise BadPlan(f"{option('margin', margin)}: expected 0 or more", option="margin")
    if require is not None and require not in get_args(Requirement):
        raise BadPlan(
            f"{option('require', require)}: expected one of {', '.join(get_args(Requirement))}",
            option="require",
        )
    if require == "equivalent" and margin == 0:
        raise BadPlan(f"{option('require', require)} needs a margin above 0", option="margin")
    if not 0 < confidence < 1:
        raise BadPlan(
            f"{option('confidence', confidence)}: expected a number between 0 and 1",
            option="confidence",
        )


def _cubes(
    scores: Any, collections: Sequence[str] | None, against: Sequence[str]
) -> tuple[dict[str, xr.Dataset], list[xr.Dataset]]:
    """Return the collections that are compared in, and for each that of the baseline; none where the baseline is in the same."""
    if isinstance(scores, Mapping):
        known = {str(name): as_cube(cube) for name, cube in scores.items()}
    else:
        study = scores if isinstance(scores, Study) else open_study(str(scores))
        chosen = list(study) if collections is None else list(dict.fromkeys(collections))
        used = [*chosen, *against]
        known = {name: study[name].cube_among(len(used)) for name in used}
    for name in [*(collections or ()), *against]:
        if name not in known:
            raise BadName(
                f"no collection {name!r}; nearest: {nearest(name, list(known))}",
                option="collections",
            )
    chosen = list(known) if collections is None else list(dict.fromkeys(collections))
    compared = {name: known[name] for name in chosen if name not in against}
    if not compared:
        raise BadPlan("no collection to compare in", option="collections")
    if len(against) not in (0, 1, len(compared)):
        raise BadPlan(
            f"{option('against', list(against))}: expected one collection, or one for each of {', '.join(compared)}, in this order; found {len(against)}",
            option="against",
        )
    return compared, [known[name] for name in against] * (len(compared) if len(against) == 1 else 1)


def _beside(
    cube: xr.Dataset, opponent: xr.Dataset, systems: tuple[str, str], where: str
) -> xr.Dataset:
    """Return the scores of a system with those of the baseline in another collection, on the metrics, gain settings and topics that both have."""
    parts, labels, of_runs = [], list[str](), list[str]()
    common = [
        [label for label in labels_of(cube, dim) if label in set(labels_of(opponent, dim))]
        for dim in (names.METRIC, names.GAIN, names.TOPIC)
    ]
    chosen = dict(zip((names.METRIC, names.GAIN, names.TOPIC), common, strict=True))
    for each, system, suffix in ((cube, systems[0], ""), (opponent, systems[1], f" in {where}")):
        runs = labels_of(each, names.RUN)
        own = [run for run, of in zip(runs, _systems(each), strict=True) if of == system]
        own = own or [run for run in runs if run == system]
        parts.append(each[names.SCORE].sel({**chosen, names.RUN: own}).values)
        labels += [f"{run}{suffix}" for run in own]
        of_runs += [f"{system}{suffix}"] * len(own)
    order = np.argsort(np.array(labels, object), kind="stable")
    first = cube.sel(chosen)
    coords = {name: each for name, each in first.coords.items() if names.RUN not in each.dims}
    found = xr.Dataset(
        {names.SCORE: (CUBE[0].dims, np.concatenate(parts, axis=2)[:, :, order])},
        {
            **coords,
            names.RUN: label_array(labels[k] for k in order),
            names.SYSTEM: (names.RUN, label_array(of_runs[k] for k in order)),
        },
    )
    n, every = (
        len(common[2]),
        len({*labels_of(cube, names.TOPIC), *labels_of(opponent, names.TOPIC)}),
    )
    return annotate(found, CUBE).assign_attrs(
        {names.LEFT_OUT: f"{n} of {every} topics are in both"} if n < every else {}
    )


def _systems(cube: xr.Dataset) -> list[str]:
    return labels_of(cube, names.SYSTEM if names.SYSTEM in cube.coords else names.RUN)


def _check_names(
    cubes: Mapping[str, xr.Dataset], run: str, baseline: str, metrics: Sequence[str] | None
) -> None:
    """Refuse runs and metrics that no collection has."""
    has = {
        name: known
        for cube in cubes.values()
        for known in [[*labels_of(cube, names.RUN), *_systems(cube)]]
        for name in known
    }
    for argument, name in (("run", run), ("baseline", baseline)):
        if name not in has:
            raise BadName(
                f"no run {name!r} in {', '.join(cubes)}; nearest: {nearest(name, sorted(has))}",
                option=argument,
            )
    known = {metric for cube in cubes.values() for metric in labels_of(cube, names.METRIC)}
    for metric in metrics or ():
        if metric not in known:
            raise BadName(
                f"no metric {metric!r} in {', '.join(cubes)}; nearest: {nearest(metric, sorted(known))}",
                option="metrics",
            )


def _compared(
    name: str,
    cube: xr.Dataset,
    run: str,
    baseline: str,
    metrics: Sequence[str] | None,
    alpha: float,
    margin: float,
    drop_missing: bool,
    by_topic: bool,
) -> Iterator[Comparison]:
    """Yield the comparisons in a collection, not judged yet; those that cannot be computed with the reason."""
    for metric in labels_of(cube, names.METRIC) if metrics is None else metrics:
        try:
            chosen = select(cube, metrics=[metric])
            two, by_system = _of_two(chosen, run, baseline)
            two = select(two, drop_missing=drop_missing, by_topic=by_topic)
            left_out = str(two.attrs.get(names.LEFT_OUT, ""))
            analysis = Paired(
                tests=("t",),
                alphas=(alpha,),
                equivalence=max(margin, LEAST_MARGIN),
                baseline=baseline,
                by_system=by_system,
            )
            result = run_plan(make_plan(two, analysis, trials=1, seed=0))
        except ScorecubeError as error:
            for gain in labels_of(cube, names.GAIN):
                yield Comparison(name, metric, gain, reason=error.message())
            continue
        yield from _rows(name, metric, result, left_out)


def _of_two(cube: xr.Dataset, run: str, baseline: str) -> tuple[xr.Dataset, bool]:
    """Return the scores of two systems, all their runs, or of two runs; and whether these are systems with repetitions."""
    runs, systems = labels_of(cube, names.RUN), _systems(cube)
    if {run, baseline} <= set(systems):
        chosen = [
            label for label, system in zip(runs, systems, strict=True) if system in (run, baseline)
        ]
        return select(cube, runs=chosen), len(chosen) > len({run, baseline})
    for name in (run, baseline):
        if name not in runs:
            raise BadName(f"no run {name!r}; nearest: {nearest(name, sorted({*runs, *systems}))}")
    return select(cube, runs=[run, baseline]), False


def _rows(name: str, metric: str, result: xr.Dataset, left_out: str) -> Iterator[Comparison]:
    n, difference = int(result.attrs["n_topics"]), quantity(result, "mean_difference")
    for place, gain in enumerate(labels_of(result, names.GAIN)):
        mean, low, high = (
            float(each.isel({names.METRIC: 0, names.GAIN: place}).values.ravel()[0])
            for each in (difference, result["difference_low"], result["difference_high"])
        )
        if math.isfinite(low) and math.isfinite(high):
            yield Comparison(name, metric, gain, mean, low, high, n, "undecided", reason=left_out)
        else:
            reason = "the difference does not vary, and its bounds are not known"
            yield Comparison(name, metric, gain, mean, topics=n, reason=reason)


def _over_collections(compared: Sequence[Comparison], weights: Mapping[str, float]) -> Comparison:
    """Return the comparison by the mean over collections; unknown if any of them is, or lacks the metric."""
    first, n = compared[0], len(weights)
    lacking = sorted(set(weights) - {each.collection for each in compared})
    unknown = lacking + [each.collection for each in compared if each.verdict == "unknown"]
    where = f"mean of {n}", first.metric, first.gain
    topics = sum(each.topics for each in compared)
    if unknown:
        return Comparison(*where, topics=topics, reason=f"unknown in {', '.join(unknown)}")
    values = np.array([[each.difference, each.low, each.high] for each in compared], float)
    shares = np.array([weights[each.collection] for each in compared])
    mean, low, high = mean_of_estimates(values[:, 0], values[:, 1], values[:, 2], shares)
    return Comparison(*where, mean, low, high, topics, "undecided")


def _judged(each: Comparison, margin: float, require: str | None) -> Comparison:
    """Return a comparison with its verdict."""
    if each.verdict == "unknown" or each.low is None or each.high is None:
        return each
    verdict: Verdict = "undecided"
    if each.high < -margin:
        verdict = "worse"
    elif each.low > -margin and each.high < margin:
        verdict = "equivalent"
    elif each.low > 0:
        verdict = "better"
    passes = {
        None: verdict != "worse",
        "better": verdict == "better",
        "equivalent": verdict == "equivalent",
        "not-worse": each.low > -margin,
    }[require]
    return replace(each, verdict=verdict, passes=passes)

"""Systems with repeated runs, such as seeds of one model: their mean scores, and the part of the variance that is due to repetitions.

The score of repetition r of system j on topic t is a mean of the system, plus an effect of the topic, one of the repetition, and one of both.
The difference of two systems' mean scores has the squared standard error

    var over topics of the differences of means over repetitions / n + S_j / R_j + S_k / R_k,

S_j being the variance of the mean scores of the system's R_j runs. Interaction of topics and repetitions is contained in the first term and
in the others, so that the sum is slightly too large, never too small (Owen 2007, Annals of Applied Statistics 1(2), has it three times in the bootstrap of
both). Topics are resampled; the mean of a system's repetitions gets a normal error of variance S_j / R_j and an estimate of
it from R_j normal deviates (a parametric bootstrap of the Behrens-Fisher problem: Krishnamoorthy, Lu and Mathew 2007, Computational Statistics
and Data Analysis 51), because two or three repetitions are too few to be drawn from. In the statistic, S_j is moderated by the mean of all systems
(Smyth 2004). Error rates of this and of what else was tried: docs/believe/ranks.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Prepared
from scorecube.analyses.pair_tests.equivalence import Moments
from scorecube.analyses.pair_tests.family import Pairs
from scorecube.analyses.pair_tests.moderated import Moderated
from scorecube.analyses.pair_tests.pair_quantities import REPETITIONS
from scorecube.collection import schema
from scorecube.collection.selection import cells
from scorecube.errors import BadName, BadPlan, counted, option
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.statistics.integer_scores import Units

SHARE_OF_MODERATION = 0.5
"""Degrees of freedom of the mean variance of all systems beside a system's own, for each unit of the moderation: 2 at its default of 4. Chosen
among 0, 1, 2, 4 and infinitely many, see docs/believe/ranks.md."""
FEW = 5
"""Repetitions below which the variance of a system is hardly known, see docs/believe/ranks.md."""
MEASURED = f"up to .17 with 2 runs and .10 with 3, and .04 to .07 with {FEW} runs or more"
"""Error rates of the max-T method."""
MEASURED_T = f"up to .12 with 2 runs and .07 with 3, and .04 to .06 with {FEW} runs or more"
"""Error rates of the t test."""
ERRORS = (
    schema.Variable(
        names.REPETITION_ERROR,
        (names.TRIAL, names.RUN),
        "f",
        "1",
        "standard normal error of a run in a trial",
    ),
)


@dataclass(frozen=True, eq=False)
class Repetitions:
    """The runs of systems.

    system_of: int64 (run,): position of each run's system.
    counts: int64 (system,): number of runs.
    variances: float64 (cell, system): variance of the mean scores of a system's runs; 0 for a single run.
    """

    system_of: Any
    counts: Any
    variances: Any
    runs: tuple[str, ...]

    def remarks(self, systems: list[str], measured: str = MEASURED) -> list[str]:
        """Return warnings about systems with few repetitions.

        measured: Error rates of the method with few runs and with more.
        """
        single = [name for name, n in zip(systems, self.counts, strict=True) if n == 1]
        if len(single) == len(systems):
            return [
                "no system has 2 runs or more: conclusions are about these runs, over topics only"
            ]
        found = []
        if single:
            verb, those = ("has", "this run") if len(single) == 1 else ("have", "these runs")
            found.append(
                f"{counted(len(single), 'system')} of {len(systems)} {verb} one run only: conclusions about {', '.join(single[:3])}"
                f"{' and others' if len(single) > 3 else ''} apply to {those}, not to further repetitions"
            )
        few = int(((self.counts > 1) & (self.counts < FEW)).sum())
        if few:
            found.append(
                f"{counted(few, 'system')} with 2 to {FEW - 1} runs: where systems vary differently over repetitions, or have different numbers of runs, "
                f"error rates at .05 were {measured}"
            )
        return found


def systems_by_default(analysis: Any, cube: xr.Dataset) -> tuple[Any, list[str]]:
    """Return a test with `by_system` as it is, or true if any system has several runs and the test can compare systems; with what is to be said."""
    if analysis.by_system is not None:
        return analysis, []
    labels = schema.labels_of(cube, names.SYSTEM) if names.SYSTEM in cube.coords else []
    several = sum(count > 1 for count in Counter(labels).values())
    by_run = replace(analysis, by_system=False)
    if not several:
        return by_run, []
    have = f"{several} of {counted(len(set(labels)), 'system')} have several runs"
    systems = replace(analysis, by_system=True)
    try:
        systems.prepare_checked(cube)
    except (BadPlan, BadName) as error:
        return by_run, [f"{have}, and runs are compared: {error}"]
    how = f"see {option('by_system', False)} for runs"
    return systems, [f"{have}: systems are compared, by means over their runs; {how}"]


def systems_of(cube: xr.Dataset) -> tuple[xr.Dataset, Repetitions]:
    """Return the mean scores of systems over their runs, as a cube whose runs are the systems, and what is known of repetitions.

    cube: Scores (metric, gain, run, topic), with the coordinate ``system`` along run.
    Returns means, repetitions: Systems in sorted order. Neither depends on the order of runs and topics.
    Raises BadPlan: The cube names no systems.
    """
    if names.SYSTEM not in cube.coords:
        raise BadPlan(
            f"{option('by_system', True)}: the scores do not tell which runs are repetitions of one system; name the systems in a column system of "
            f"the table of teams ({option('teams')}), or import a table with columns system, seed, topic and score",
            option="by_system",
        )
    labels = np.array(schema.labels_of(cube, names.SYSTEM), object)
    systems, system_of = np.unique(labels, return_inverse=True)
    rows = [np.flatnonzero(system_of == k) for k in range(len(systems))]
    scores, by_run = cube.variables[names.SCORE].values, mean_of(cells(cube)[0], axis=-1)
    means = np.stack([mean_of(scores[:, :, each], axis=2) for each in rows], axis=2)
    coords = {
        name: variable
        for name, variable in cube.coords.items()
        if names.RUN not in variable.dims and names.TOPIC not in variable.dims
    }
    coords |= {names.TOPIC: cube[names.TOPIC], names.RUN: schema.label_array(systems.tolist())}
    if names.TEAM in cube.coords:
        teams = np.array(schema.labels_of(cube, names.TEAM), object)
        own = np.array(schema.labels_of(cube, names.RUN), object) == teams
        of_system = [
            teams[each[0]] if len(set(teams[each])) == 1 and not own[each[0]] else name
            for name, each in zip(systems, rows, strict=True)
        ]
        coords[names.TEAM] = (names.RUN, schema.label_array(of_system))
    averaged = xr.Dataset({names.SCORE: (schema.CUBE[0].dims, means)}, coords, cube.attrs)
    variances = np.stack([variance_of(by_run[:, each]) for each in rows], axis=1)
    found = Repetitions(
        system_of,
        np.array([len(each) for each in rows]),
        variances,
        tuple(schema.labels_of(cube, names.RUN)),
    )
    return schema.annotate(averaged, schema.CUBE), found


def mean_of(values: Any, axis: int) -> Any:
    """Return means that do not depend on the order of the values, and of equal values are equal to them."""
    ordered = np.sort(values, axis=axis)
    first = np.take(ordered, [0], axis=axis)
    return np.squeeze(first, axis) + (ordered - first).sum(axis=axis) / ordered.shape[axis]


def variance_of(values: Any) -> Any:
    """Return the variances of the last axis; 0 of a single value, and of equal values."""
    if values.shape[-1] < 2:
        return np.zeros(values.shape[:-1])
    ordered = np.sort(values, axis=-1)
    return (ordered - ordered[..., :1]).var(axis=-1, ddof=1)


def moderated_variances(variances: Any, counts: Any, weight: float) -> Any:
    """Return the variances of the means of systems: of single runs, moderated by the mean of all systems, divided by the number of runs.

    variances: float64 (system, ...): of single runs.
    counts: int64 (system,): runs.
    weight: Degrees of freedom of the mean of all systems.
    """
    counts = counts.reshape(-1, *[1] * (variances.ndim - 1))
    freedom = counts - 1
    pooled = (freedom * variances).sum(axis=0) / max(float(freedom.sum()), 1.0)
    known = np.where(freedom > 0, freedom + weight, 1.0)
    return np.where(freedom > 0, (freedom * variances + weight * pooled) / known, 0.0) / counts


@dataclass(frozen=True, eq=False)
class OverRepetitions(Moderated):
    """The statistic of pairs of systems, over topics and repetitions: the squared moderated t.

    counts: int64 (system,): runs.
    variances: float64 (system,): of the mean scores of a system's runs, in units of the score.
    """

    counts: Any
    variances: Any

    @property
    def single(self) -> Any:
        """Variances of single runs as sums of squares: float64 (system,)."""
        return self.variances * self.per_variance

    @property
    def weight(self) -> float:
        """Degrees of freedom of the mean variance of all systems."""
        return SHARE_OF_MODERATION * self.moderation

    @cached_property
    def own(self) -> Any:
        """Variances of the means of systems as sums of squares: float64 (system,)."""
        return self.single / self.counts

    @cached_property
    def of_means(self) -> Any:
        """The same, moderated."""
        return moderated_variances(self.single, self.counts, self.weight)

    def spread(self, pairs: Pairs, squares: Any) -> Any:
        return squares + self.own[pairs[0]] + self.own[pairs[1]]

    def pooled(self, pairs: Pairs, squares: Any) -> Any:
        return super().pooled(pairs, squares) + self.of_means[pairs[0]] + self.of_means[pairs[1]]

    def statistic(self, pairs: Pairs, totals: Any, squares: Any) -> Any:
        n = self.units.n_topics
        return totals * totals * (n * (n - 1)) / self.pooled(pairs, squares)

    def t_of(self, statistic: Any) -> Any:
        return np.sqrt(statistic)

    def errors_of_means(self, over_topics: Any) -> tuple[Any, Any]:
        """Return the standard errors of the means of systems, in units of the score, and their degrees of freedom (Satterthwaite 1946).

        over_topics: float64 (system,): standard errors over topics.
        """
        of_means = self.variances / self.counts
        parts = ((over_topics**2, self.units.n_topics - 1), (of_means, self.counts - 1))
        return np.sqrt(over_topics**2 + of_means), satterthwaite(*parts)

    def errors_of_differences(self, pairs: Pairs) -> tuple[Any, Any]:
        """Return `standard_errors`, and their degrees of freedom (Satterthwaite 1946): float64 (pair,) each."""
        first, second = pairs
        squares = self.sums(pairs)[1]
        freedom = satterthwaite(
            (squares, self.units.n_topics - 1),
            (self.own[first], self.counts[first] - 1),
            (self.own[second], self.counts[second] - 1),
        )
        return self.standard_errors(pairs), freedom


def satterthwaite(*parts: tuple[Any, Any]) -> Any:
    """Return the degrees of freedom of sums of variances (Satterthwaite 1946, Biometrics Bulletin 2); of zeros those of the first part.

    parts: Variances (...), and their degrees of freedom; a variance without any is 0.
    """
    total = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / np.maximum(freedom, 1) for variance, freedom in parts)
    known = squares > 0
    return np.where(known, total**2 / np.where(known, squares, 1.0), parts[0][1])


class RepetitionErrors(NamedTuple):
    """What repetitions add in some trials of one cell.

    shifts: float64 (system, trial): errors of means, as roots of sums of squares.
    variances: float64 (system, trial): estimated variances of the means, moderated, as sums of squares.
    own: The same, not moderated.
    """

    shifts: Any
    variances: Any
    own: Any


def of_deviates(deviates: Any, system_of: Any, counts: Any) -> tuple[Any, Any]:
    """Return the means and variances of the standard normal numbers of systems, float64 (system, trial) each; 0 of single runs.

    deviates: float64 (trial, run): standard normal numbers.
    system_of, counts: As of `Repetitions`.
    """
    means, variances = np.zeros((2, len(counts), len(deviates)))
    for count in np.unique(counts[counts > 1]):
        systems = np.flatnonzero(counts == count)
        runs = np.stack([np.flatnonzero(system_of == system) for system in systems])
        drawn = np.moveaxis(deviates.T[runs], 1, -1)
        means[systems], variances[systems] = mean_of(drawn, axis=-1), variance_of(drawn)
    return means, variances


def repetition_errors(
    drawn: tuple[Any, Any], single: Any, counts: Any, weight: float
) -> RepetitionErrors:
    """Return what repetitions add.

    drawn: Of `of_deviates`.
    counts: As of `Repetitions`.
    single, weight: As of `OverRepetitions`.
    """
    shifts, variances = np.sqrt(single)[:, np.newaxis] * drawn[0], single[:, np.newaxis] * drawn[1]
    moderated = moderated_variances(variances, counts, weight)
    return RepetitionErrors(shifts, moderated, variances / counts[:, np.newaxis])


def normal_deviates(inputs: Mapping[str, Any], low: int, high: int) -> Any:
    """Return the standard normal numbers of trials low .. high-1: float64 (trial, run)."""
    from scipy.special import ndtri

    return ndtri(uniforms(inputs["repetition_key"], len(inputs["system_of"]), low, high))


def moments_over_repetitions(
    units: Iterable[Units], counts: Any, variances: Any, pairs: Pairs
) -> Moments:
    """Return the moments of pairs of systems.

    units: Mean scores of the systems, by cell.
    counts, variances: As of `Repetitions`.
    pairs: Positions of systems.
    """
    rows = []
    for each, single in zip(units, variances, strict=True):
        statistic = OverRepetitions(each, 0.0, counts, single)
        totals = statistic.sums(pairs)[0]
        rows.append(
            (totals / (each.n_topics * each.per_score), *statistic.errors_of_differences(pairs))
        )
    return Moments(*map(np.stack, zip(*rows, strict=True)))


def deviates_of_seed(seed: int, runs: Any, trials: int) -> xr.Dataset:
    """Return ``repetition_error[trial, run]`` as it is drawn for a seed."""
    key = stream_key(seed, names.Purpose.REPETITIONS)
    drawn = normal_deviates({"repetition_key": key, "system_of": runs}, 0, trials)
    dataset = xr.Dataset({names.REPETITION_ERROR: (ERRORS[0].dims, drawn)}, {names.RUN: runs})
    return schema.annotate(dataset, ERRORS)


def with_repetitions(result: xr.Dataset, prepared: Prepared) -> xr.Dataset:
    """Return a result with the number of runs of each system; unchanged where runs are compared."""
    repetitions: Repetitions | None = prepared.shared
    if repetitions is None:
        return result
    (counts,) = REPETITIONS
    return result.assign({counts.name: (counts.dims, repetitions.counts, counts.attrs())})

"""Uncertainty of variances over topics and teams, and of the numbers of topics that they ask for.

The variances of a collection are estimates: another collection with other topics and other participants has others. The estimand is the
variance over all topics and teams of which the collection's are a random sample. The interval is a jackknife: each topic, and each team with
all its runs, is left out in turn, and the logarithm of the variance is taken as normal with the sum of both jackknife variances. As the
variation of single scores is in both parts, intervals are rather too wide than too narrow; docs/believe/intervals.md has their coverage. There are no
random numbers in it.

References: Efron and Tibshirani 1993, chapter 11 (jackknife; logarithm of a variance); Satterthwaite 1946 (degrees of freedom of a sum of
variances); Sakai and Shang 2016 on variances as the uncertain part of topic set size design.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.topic_groups import by_group
from scorecube.design.inputs import TOPICS, VARIANCE
from scorecube.design.sizes import topic_set_size
from scorecube.design.variance import (
    RESIDUAL,
    FloatArray,
    design_variances,
    residual_variance,
    within_system_variance,
)

MOST_GROUPS = 100
"""Groups of topics, or of teams, that are left out in turn; where there are more, each group has several."""
CONFIDENCE = 0.95
FEWEST = 2
"""Number of topics where a variance is 0."""
ENDS = ("low", "high")
VARIABLES = tuple(
    each
    for name, meaning in (
        (VARIANCE, "within-system variance of scores over topics (one-way)"),
        (RESIDUAL, "variance of scores left after systems and topics (two-way)"),
    )
    for each in (
        *schema.variables(schema.CELL, "estimate", **{name: meaning}),
        *schema.limits(name, schema.CELL, "1", f"{{}} limit of the {meaning}"),
    )
)
COUNTS = (
    *schema.limits(TOPICS, (), "topics", "{} limit of the number of topics"),
    *schema.variables(
        *((), "count", "topics", "f"),
        paired_topics="topics for comparisons on the same topics, by the residual variance",
    ),
    *schema.limits("paired_topics", (), "topics", "its {} limit"),
)
"""Variables that `topic_set_size_of_cube` adds."""


def variance_intervals(cube: xr.Dataset, confidence: float = CONFIDENCE) -> xr.Dataset:
    """Return both variances of every metric and gain setting with intervals over topics and teams.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic), NaN for missing. Without teams each run is a team.
    confidence
        Confidence level, between 0 and 1.

    Returns
    -------
    variances
        Dataset over metric and gain: `variance` (within systems, one-way) and `residual_variance` (two-way), each
        with ``_low`` and ``_high``. Limits are NaN with fewer than 3 topics, and 0 for a variance of 0.

    Raises
    ------
    BadPlan
        As `design_variances`.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> found = variance_intervals(simulate_cube(n_runs=12, seed=1)).isel(metric=0, gain=0)
    >>> [round(float(found[name]), 3) for name in ("variance_low", "variance", "variance_high")]
    [0.042, 0.055, 0.072]
    """
    one_way = design_variances(cube)
    cube = by_group(cube)
    scores = np.asarray(cube[names.SCORE].values, np.float64)
    teams = teams_of_runs(cube)
    values: dict[str, FloatArray] = {}
    for name, estimate in ((VARIANCE, within_system_variance), (RESIDUAL, residual_variance)):
        limits = jackknife_interval(scores, teams, estimate, confidence)
        values |= dict(
            zip((name, f"{name}_low", f"{name}_high"), (estimate(scores), *limits), strict=True)
        )
    result = xr.Dataset(
        {name: (schema.CELL, found) for name, found in values.items()}, one_way.coords
    )
    groups = {key: cube.attrs[key] for key in names.ABOUT_TOPICS if key in cube.attrs}
    return _annotated(result.assign_attrs(one_way.attrs | groups), VARIABLES)


def _annotated(result: xr.Dataset, variables: Sequence[schema.Variable]) -> xr.Dataset:
    return schema.annotate(result, [each for each in variables if each.name in result])


def jackknife_interval(
    scores: FloatArray,
    teams: Sequence[str],
    estimate: Callable[[FloatArray], FloatArray],
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Return an interval of a variance over topics and teams.

    scores: float64 (..., run, topic), NaN for missing.
    teams: Team of each run. A single team is not left out: the interval is over topics alone.
    estimate: Function of scores (..., run, topic) that returns variances (...).
    confidence: Confidence level.
    """
    value = estimate(scores)
    factor = np.exp(_reach(scores, teams, estimate, (1 + confidence) / 2))
    return np.where(value > 0, value / factor, value), np.where(value > 0, value * factor, value)


def _reach(
    scores: FloatArray,
    teams: Sequence[str],
    estimate: Callable[[FloatArray], FloatArray],
    level: float,
) -> FloatArray:
    """Return the reach of a one-sided interval of the logarithm of a variance; NaN with fewer than 3 topics."""
    n_topics = scores.shape[-1]
    if n_topics < 3:
        return np.full(scores.shape[:-2], np.nan)
    _, team_of = np.unique(np.array(teams, str), return_inverse=True)
    parts = [
        _left_out(scores, estimate, -1, np.arange(n_topics) % MOST_GROUPS),
        _left_out(scores, estimate, -2, team_of % MOST_GROUPS),
    ]
    total = np.sum([each for each, _ in parts], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = total**2 / sum(each**2 / (count - 1) for each, count in parts if count > 1)
        quantile = scipy.special.stdtrit(freedom, level)
        # NaN where a variance is 0 without some run or topic, as its logarithm has no jackknife.
        return np.where(total == 0, 0.0, quantile * np.sqrt(total))


def _left_out(
    scores: FloatArray, estimate: Callable[[FloatArray], FloatArray], axis: int, group_of: Any
) -> tuple[FloatArray, int]:
    """Return the jackknife variance of the logarithm of a variance, and the number of groups; 0 for one group."""
    groups = np.unique(group_of)
    if len(groups) < 2:
        return np.zeros(scores.shape[:-2]), len(groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(
            [estimate(np.compress(group_of != group, scores, axis=axis)) for group in groups]
        )
        away = logs.mean(axis=0) - logs
        share = (len(groups) - 1) / len(groups)
        return share * (away**2).sum(axis=0), len(groups)


def teams_of_runs(cube: xr.Dataset) -> list[str]:
    """Return the team of each run; the run itself where no teams are known."""
    return schema.labels_of(cube, names.TEAM if names.TEAM in cube.coords else names.RUN)


def topic_set_size_of_cube(variances: xr.Dataset, **settings: Any) -> xr.Dataset:
    """Return the number of topics that a collection needs, with intervals, by both variances.

    Parameters
    ----------
    variances
        Of `variance_intervals`.
    settings
        Of `topic_set_size`, without the variance.

    Returns
    -------
    sizes
        As of `topic_set_size` for the one-way variance, and `residual_variance`, `topics_low`, `topics_high`,
        `paired_topics`, `paired_topics_low`, `paired_topics_high`. The latter three are for comparisons of systems on
        the same topics, whose differences have no variance between topics.
    """
    result = topic_set_size(variances[VARIANCE], **settings)
    numbers = {f"topics_{end}": (variances[f"{VARIANCE}_{end}"], False) for end in ENDS}
    numbers |= {"paired_topics": (variances[RESIDUAL], True)}
    numbers |= {f"paired_topics_{end}": (variances[f"{RESIDUAL}_{end}"], True) for end in ENDS}
    found = {}
    for name, (variance, paired) in numbers.items():
        known, positive = np.isfinite(variance), variance > 0
        sizes = topic_set_size(variance.where(known & positive, 1.0), paired=paired, **settings)[
            TOPICS
        ]
        # As `topic_set_size`, whose warning is about the variance that the numbers are for.
        sizes = sizes.where(positive, FEWEST)
        found[name] = sizes if bool(known.all()) else sizes.where(known)
    added = result.assign({name: array.reset_coords(drop=True) for name, array in found.items()})
    return _annotated(
        added.assign_coords({RESIDUAL: variances[RESIDUAL].reset_coords(drop=True)}), COUNTS
    )

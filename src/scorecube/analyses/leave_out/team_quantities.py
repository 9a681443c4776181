"""What results of `Teams` hold, and what follows from them.

A number of teams k is within the margin if the mean variance over all subsets of k teams differs from the variance of all runs by at most
`MARGIN` of it, or if the mean tau of the remaining runs with the full evaluation is at least `LEAST_TAU`. Trials are a sample of these subsets.
The statement is the largest K so that all k up to K are within. Its limits take each k at the ends of a t interval over trials with a
confidence of 1 - 0.05 / (numbers of teams), so that all numbers of teams together have 95 %: more trials bring the limits together, and only
change the statement within them.

Of a team that does not take part, the runs lose its unique contributions. Means are over runs, each team with equal weight, with t intervals
over teams; ranks are among all runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import (
    CELL,
    Derived,
    Variable,
    derived,
    labels_of,
    limits,
    variables,
)

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
MARGIN = 0.05
"""Relative bias of the variance that is small against its uncertainty over topics and teams (see topic set size design)."""
LEAST_TAU = 0.95
CONFIDENCE = 0.95
QUANTITIES = ("variance", "tau")
REQUIREMENTS: dict[str, Any] = {"min_diff": 0.15, "systems": 10, "alpha": 0.05, "beta": 0.2}
"""Requirements of Sakai and Shang 2016, Table 3."""
_CHAIN = (*CELL, names.TOPIC_STEP)
_LEAVE = (*CELL, names.LEAVE)
_STEP = (*_LEAVE, names.TOPIC_STEP)
_TRIAL = (*_LEAVE, names.TRIAL)
_STEP_TRIAL = (*_STEP, names.TRIAL)
_CHANGE = (*_LEAVE, names.RUN)
_RUNS = (*CELL, names.RUN)
_TEAM = (names.TEAM,)
_SAMPLE = (names.LEAVE, names.TRIAL)
_STATEMENT = (names.QUANTITY, names.TOPIC_STEP)
_STATED = (*CELL, *_STATEMENT)
_BIAS = (*_STATED, names.LEAVE)
VARIABLES = (
    *variables(
        *(_STEP_TRIAL, "estimate"),
        variance="within-system variance of the remaining runs over the remaining topics",
    ),
    *variables(_STEP_TRIAL, "count", "topics", n_topics="topics of the step that were not lost"),
    *variables(_SAMPLE, "count", "runs", n_runs="remaining runs"),
    *variables((*_SAMPLE, *_TEAM), "flag", team_left_out="whether a team is left out"),
    *variables(
        *((names.LEAVE, names.TRIAL, names.TOPIC), "count", "topics"),
        topic_place="place of a topic in the order of a trial, from 0: a step keeps the first topics that are not lost",
    ),
    *variables(_STEP, "estimate", variance_mean="mean variance over trials"),
    *limits(
        *("variance_mean", _STEP, "1"),
        "{} limit over trials; missing where no team is left out",
        name="variance",
    ),
    *variables(_STEP, "count", "trials", n_defined="trials with a variance"),
    *variables(
        *(_CHAIN, "estimate", "teams"),
        first_miss="fewest teams left out at which the interval misses the variance of the whole",
    ),
    *variables(
        *(_TRIAL, "estimate"),
        tau="Kendall's tau-a of the remaining runs' means with those of the full evaluation",
    ),
    *variables(
        *(_TRIAL, "count", "ranks"),
        rank_drop="most ranks that a remaining run loses against the full evaluation of the same runs",
    ),
    *variables(
        *(_LEAVE, "estimate"),
        tau_mean="mean of tau over trials",
        tau_lowest="smallest tau of all trials",
    ),
    *variables(
        _LEAVE, "count", "ranks", rank_drop_largest="most ranks that a run loses in any trial"
    ),
    *variables(
        *(_CHANGE, "estimate", "score"),
        mean_change="change of a run's mean score against the full evaluation, mean over the trials it stayed in",
        mean_change_largest="change of a run's mean score of the largest size, over the trials it stayed in",
    ),
    *variables(
        _CHANGE, "count", "trials", stayed="trials in which a run stayed and has a mean score"
    ),
    *variables(
        *(_RUNS, "estimate", "score"),
        own_mean="mean score of a run in the full evaluation",
        own_mean_without="mean score of a run without its team's unique contributions, all runs kept",
    ),
    *variables(
        *(_RUNS, "estimate", "rank", "i"),
        own_rank="rank of a run in the full evaluation; tied runs share the best of their ranks",
        own_rank_without="rank of a run among all runs without its team's unique contributions",
    ),
    *variables(
        *(_TEAM, "count", "documents"),
        n_unique="judged documents that only a team contributed",
        n_unique_relevant="relevant ones of these",
    ),
    *variables(
        *((names.RUN, names.CUTOFF), "share"),
        judged_share="share of judged documents among the first ranks of a run",
    ),
    *variables(
        *((names.RUN, names.PERSISTENCE), "estimate", "score"),
        rbp_residual="mean residual of RBP: range of the score if unjudged documents may be relevant",
    ),
)
"""Along leave: 0 for the whole collection, then numbers of teams. Along topic_step: numbers of topics, all topics first."""
OPTIONAL = (("topic_place",),)


def topics_needed(variances: xr.DataArray, mode: str = "exact") -> xr.DataArray:
    """Return the numbers of topics that variances ask for under `REQUIREMENTS`, by a mode of `topic_set_size`; missing without a variance above 0.

    Examples
    --------
    >>> [topics_needed(xr.DataArray([0.114, np.nan]), mode).values.tolist() for mode in ("exact", "sakai")]
    [[160.0, nan], [159.0, nan]]
    """
    from scorecube.design import topic_set_size

    known = np.isfinite(variances) & (variances > 0)
    sizes = topic_set_size(variances.where(known, 1.0), mode=mode, **REQUIREMENTS)["topics"]
    return variances.copy(data=sizes.where(known).transpose(*variances.dims))


def _needed(result: xr.Dataset, mode: str = "exact") -> xr.DataArray:
    return topics_needed(result["variance_mean"], mode)


def _different_trials(result: xr.Dataset) -> xr.DataArray:
    """Return which trials differ: without any team left out all are equal."""
    first = xr.DataArray(np.arange(result.sizes[names.TRIAL]) == 0, dims=names.TRIAL)
    return (result["n_runs"] > 0) & ((result[names.LEAVE] > 0) | first)


def _n_trials(result: xr.Dataset) -> xr.DataArray:
    counts = result["n_defined"]
    return counts.where(result[names.LEAVE] > 0, np.minimum(counts, 1))


def _extreme(result: xr.Dataset, name: str, end: str) -> xr.DataArray:
    """Return the smallest or the largest count of the trials."""
    counts = result[name]
    return {"min": counts.min, "max": counts.max}[end](names.TRIAL).astype(np.int64)


def _teams_left_out(result: xr.Dataset) -> xr.DataArray:
    teams = np.array(labels_of(result, names.TEAM), object)
    left = result[names.TEAM_LEFT_OUT].transpose(names.LEAVE, names.TRIAL, names.TEAM)
    named = [[",".join(teams[out]) for out in trials] for trials in left.values]
    return result["n_runs"].copy(data=np.array(named, object).reshape(left.shape[:2]))


def _mean_change(result: xr.Dataset) -> xr.DataArray:
    """Return the mean over runs of the changes of their means."""
    change = result["mean_change"].where(np.isfinite(result["mean_change_largest"]))
    return change.isel({names.RUN: 0}, drop=True).copy(data=_moments(change.values)[0])


def _largest_change(result: xr.Dataset) -> xr.DataArray:
    largest = result["mean_change_largest"]
    place = abs(largest).fillna(-1.0).argmax(names.RUN)
    return largest.isel({names.RUN: place}).drop_vars(names.RUN)


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, standard deviation and number of the finite values along the last axis; missing for none, and for fewer than two."""
    values = np.ascontiguousarray(values)
    known = np.isfinite(values)
    count = known.sum(axis=-1)
    mean, deviation = values.mean(axis=-1), values.std(axis=-1, ddof=min(1, values.shape[-1] - 1))
    for place in map(tuple, np.argwhere((count < values.shape[-1]) | (count < 2))):
        found = values[place][known[place]]
        mean[place] = found.mean() if len(found) else np.nan
        deviation[place] = found.std(ddof=1) if len(found) > 1 else np.nan
    return mean, deviation, count


def _interval(
    mean: FloatArray, deviation: FloatArray, count: FloatArray, error: float
) -> tuple[FloatArray, FloatArray]:
    """Return the t intervals of means, missing for fewer than two values."""
    from scipy.special import stdtrit

    freedom = np.maximum(count - 1, 1)
    half = stdtrit(freedom, 1 - error / 2) * deviation / np.sqrt(np.maximum(count, 1))
    return mean - half, mean + half


def _labelled(result: xr.Dataset, dims: tuple[str, ...], values: Any) -> xr.DataArray:
    coords = {dim: result[dim] for dim in dims if dim in result.dims}
    return xr.DataArray(values, coords | {names.QUANTITY: list(QUANTITIES)}, dims)


def _bias(
    result: xr.Dataset, error: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return relative bias of the variance and tau along `_BIAS`, with limits and numbers of trials; tau for all topics only."""
    variance = result["variance"].transpose(*CELL, names.TOPIC_STEP, names.LEAVE, names.TRIAL)
    tau = result["tau"].transpose(*CELL, names.LEAVE, names.TRIAL)
    shape = (*variance.shape[:2], len(QUANTITIES), *variance.shape[2:-1])
    mean, deviation, count = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, int)
    for cell in np.ndindex(variance.shape[:2]):  # a copy of all trials takes as much as the result
        own = variance.values[cell]
        whole = own[:, :1, :1]
        relative = own / np.where(whole > 0, whole, np.nan) - 1
        for place, values in (((0,), relative), ((1, 0), tau.values[cell])):
            mean[cell + place], deviation[cell + place], count[cell + place] = _moments(values)
    return mean, *_interval(mean, deviation, count, error), count


def _part_of_bias(result: xr.Dataset, part: int) -> xr.DataArray:
    return _labelled(result, _BIAS, _bias(result, 1 - CONFIDENCE)[part])


def _stated(result: xr.Dataset) -> xr.DataArray:
    """Return which statements there are: those on tau are about all topics."""
    first = np.arange(result.sizes[names.TOPIC_STEP]) == 0
    stated = np.stack([np.ones(len(first), bool), first]) & (result.sizes[names.LEAVE] > 1)
    return _labelled(result, _STATEMENT, stated)


def _within(result: xr.Dataset, part: int) -> xr.DataArray:
    """Return the largest number of teams up to which all are within the margin: their means, all values of their intervals, or some."""
    mean, low, high, _ = _bias(result, (1 - CONFIDENCE) / max(result.sizes[names.LEAVE] - 1, 1))
    least, most = np.reshape([(-MARGIN, LEAST_TAU), (MARGIN, np.inf)], (2, -1, 1, 1))
    inside = (
        (mean >= least) & (mean <= most),
        (low >= least) & (high <= most),
        ~((low > most) | (high < least)),  # also intervals that are not known
    )[part]
    last = np.logical_and.accumulate(inside[..., 1:], axis=-1).sum(axis=-1)
    return _labelled(result, _STATED, result[names.LEAVE].values[last])


def _own_change(result: xr.Dataset, of: str) -> xr.DataArray:
    return result[f"own_{of}_without"] - result[f"own_{of}"]


def _absent(result: xr.Dataset, of: str, part: int) -> xr.DataArray:
    """Return the mean over teams of what their runs lose, and its limits."""
    own, lost = result[f"own_{of}"], _own_change(result, of).astype(float)
    if of == "mean":
        lost = result["own_mean_without"] / own.where(own > 0) - 1
    team_of, by_team = np.array(labels_of(result, names.TEAM_OF_RUN)), []
    for team in dict.fromkeys(team_of):
        of_team = np.ascontiguousarray(lost.values[..., team_of == team])
        known = np.isfinite(of_team)
        with np.errstate(invalid="ignore"):
            by_team.append(np.where(known, of_team, 0.0).sum(axis=-1) / known.sum(axis=-1))
    moments = _moments(np.stack(by_team, axis=-1))
    found = (moments[0], *_interval(*moments, 1 - CONFIDENCE))[part]
    return own.isel({names.RUN: 0}, drop=True).copy(data=found)


def _worst_run(result: xr.Dataset) -> xr.DataArray:
    lost = _own_change(result, "rank")
    runs = np.array(labels_of(result, names.RUN), object)[lost.argmax(names.RUN).values]
    largest = lost.max(names.RUN)
    return largest.copy(data=np.where(largest > 0, runs, ""))


def _runs_of_teams(result: xr.Dataset) -> xr.DataArray:
    teams = labels_of(result, names.TEAM_OF_RUN)
    return result["n_unique"].copy(data=[teams.count(t) for t in labels_of(result, names.TEAM)])


def _with_limits(
    compute: Callable[..., xr.DataArray], name: str, dims: tuple[str, ...], units: str, meaning: str
) -> tuple[Derived, ...]:
    """Return an estimate and its limits, which are the parts 0, 1 and 2 of what a function computes."""
    estimate = Variable(name, dims, "if", units, meaning, "estimate")
    ends = limits(name, dims, units, "{} limit (95 %)", "if", name=name.removesuffix("_mean"))
    every = enumerate((estimate, *ends))
    return tuple(Derived(each, partial(compute, part=part)) for part, each in every)


DERIVED = (
    derived(_n_trials, _STEP, "count", "trials", n_trials="different trials with a variance"),
    *(
        Derived(
            Variable(f"{name}_{end}", dims, "i", name, f"{words} remaining {name}", "count"),
            partial(_extreme, name=f"n_{name}", end=end),
        )
        for name, dims in (("runs", (names.LEAVE,)), ("topics", _STEP))
        for end, words in (("min", "fewest"), ("max", "most"))
    ),
    derived(
        _needed, _STEP, "estimate", "topics", topics_needed="topics that the mean variance asks for"
    ),
    derived(
        partial(_needed, mode="sakai"),
        *(_STEP, "estimate", "topics"),
        topics_needed_tool="the same by Sakai's tool",
    ),
    derived(_different_trials, _SAMPLE, "flag", different="whether no trial before is equal"),
    derived(_teams_left_out, _SAMPLE, "label", teams_left_out="teams left out"),
    derived(
        lambda result: result["variance_mean"].isel({names.LEAVE: 0}, drop=True),
        _CHAIN,
        "estimate",
        whole_variance="variance of all runs",
    ),
    derived(
        lambda result: (
            result["variance_mean"]
            .where(result[names.LEAVE] == result["first_miss"])
            .max(names.LEAVE)
        ),
        _CHAIN,
        "estimate",
        variance_there="mean variance at the first miss",
    ),
    derived(
        _mean_change, _LEAVE, "estimate", "score", change_of_means="mean change of a mean score"
    ),
    derived(_largest_change, _LEAVE, "estimate", "score", largest_change="largest change of one"),
    derived(
        partial(_own_change, of="mean"), _RUNS, "estimate", "score", own_change="change of a mean"
    ),
    derived(_runs_of_teams, _TEAM, "count", "runs", team_runs="runs of a team"),
    *_with_limits(
        _part_of_bias, "value", _BIAS, "1", "relative bias of the mean variance, and mean tau"
    ),
    derived(partial(_part_of_bias, part=3), _BIAS, "count", "trials", n_values="trials"),
    derived(_stated, _STATEMENT, "flag", stated="whether there is a statement"),
    derived(
        lambda result: _stated(result) & (result[names.LEAVE] > 0),
        *((*_STATEMENT, names.LEAVE), "flag"),
        compared="whether there is a statement, and teams are left out",
    ),
    derived(
        lambda result: _labelled(result, (names.QUANTITY,), [MARGIN, LEAST_TAU]),
        *((names.QUANTITY,), "condition"),
        margin="largest relative bias of the variance; least tau",
    ),
    *_with_limits(
        _within, "within", _STATED, "teams", "teams up to which all numbers are within the margin"
    ),
    derived(
        lambda result: result[names.LEAVE].max(),
        (),
        "condition",
        "teams",
        "i",
        most_left_out="most teams left out",
    ),
    *_with_limits(
        partial(_absent, of="mean"), "change_mean", CELL, "1", "relative change of the mean score"
    ),
    *_with_limits(
        partial(_absent, of="rank"), "rank_change_mean", CELL, "ranks", "ranks that are lost"
    ),
    derived(
        lambda result: _own_change(result, "rank").max(names.RUN),
        CELL,
        "count",
        "ranks",
        rank_change_largest="most ranks of a run",
    ),
    derived(
        lambda result: result["judged_share"].sel({names.CUTOFF: result.attrs["pool_depth"]}),
        *((names.RUN,), "share"),
        judged_to_pool_depth="share of judged documents down to the depth of the pool",
    ),
    derived(_worst_run, CELL, "label", worst_run="run that loses most ranks"),
)

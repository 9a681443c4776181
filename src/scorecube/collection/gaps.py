"""Missing scores: which topics and runs they are of, and means of runs that allow for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.arguments import as_cube
from scorecube.collection.topic_groups import by_group
from scorecube.errors import counted

MOST_DROPPED, UNLIKE = 0.05, 2.0
"""Share of the topics that may be left out without a warning, and standard errors from which on their mean is unlike that of the others."""
NAMED = 3
"""Runs that lack most scores, by name."""
MODELLED = (
    "Means over all topics are those of a model: the mean of a run, plus an effect of the topic, plus a rest; it assumes that no score is missing because this run did "
    "well or badly on this topic beyond both."
)
_RUN = (names.METRIC, names.GAIN, names.RUN)
VARIABLES = (
    *schema.variables(
        _RUN,
        "estimate",
        "score",
        mean="mean of a run over all topics, by the model of runs and topics",
    ),
    *schema.variables(
        *(_RUN, "standard_error", "score"), of="mean", standard_error="standard error of the mean"
    ),
    *schema.limits("mean", _RUN, "score", "{} limit of the mean"),
)


def which_lack_most(missing: Any, runs: Sequence[str]) -> str:
    """Return the runs that lack most scores, with numbers of topics; missing: bool (run, topic)."""
    lacking = missing.sum(axis=1)
    most = [int(run) for run in np.argsort(-lacking, kind="stable") if lacking[run]][:NAMED]
    return ", ".join(f"{runs[run]} ({lacking[run]})" for run in most)


def about_left_out(cube: xr.Dataset, complete: Any) -> str:
    """Return which topics are used of those of a cube, why the others are not, and whether that may change results.

    cube: Scores, some of them missing.
    complete: bool (topic,): topics that are used.
    """
    scores = cube[names.SCORE].transpose(..., names.RUN, names.TOPIC).values
    scores = scores.reshape(-1, *scores.shape[-2:])
    lacks, n = np.isnan(scores).any(axis=0), len(complete)
    most = which_lack_most(lacks, schema.labels_of(cube, names.RUN))
    text = f"{int(complete.sum())} of {counted(n, 'topic')} are used: scores are missing on the others, most of {most}."
    if 1 - complete.mean() > MOST_DROPPED:
        text += " Runs that lack scores of hard topics gain by it."
    others = scores[0][~lacks.any(axis=1)]
    if len(others) and min(complete.sum(), (~complete).sum()) > 1:
        used, dropped = (others[:, chosen].mean(axis=0) for chosen in (complete, ~complete))
        error = np.sqrt(used.var(ddof=1) / len(used) + dropped.var(ddof=1) / len(dropped))
        if abs(used.mean() - dropped.mean()) > UNLIKE * error:
            text += (
                f" The topics that are left out are unlike the others: the mean of the other runs ({schema.labels_of(cube, names.METRIC)[0]}) is "
                f"{dropped.mean():.2f} on them, and {used.mean():.2f} on those that are used."
            )
    return text


def on_complete_topics(cube: xr.Dataset, note: str = "") -> xr.Dataset:
    """Return the topics of a cube without missing scores, with what is said of those left out, and a note behind it; the cube itself without any."""
    complete = cube[names.SCORE].notnull().all([names.METRIC, names.GAIN, names.RUN]).values
    if complete.all():
        return cube
    said = f"{about_left_out(cube, complete)} {note}".rstrip()
    return cube.isel(topic=np.flatnonzero(complete)).assign_attrs({names.LEFT_OUT: said})


def two_way_means(cube: xr.Dataset, *, confidence: float = 0.95) -> xr.Dataset:
    """Return means of runs over all topics, also where scores are missing, by a model of runs and topics.

    A score is the mean of its run, plus an effect of its topic, plus a rest: topics and rests are random draws. Variances are those of restricted likelihood
    (Patterson and Thompson 1971, Biometrika 58), means those of weighted least squares. Assumption: whether a score is missing may depend on the topic and the run,
    not on how well this run did on this topic beyond both. Topic groups count as topics; with missing scores they are refused.

    Parameters
    ----------
    cube
        Scores; missing ones are NaN.
    confidence
        Of the limits, Student's t with the number of topics less 1.

    Returns
    -------
    means
        ``mean``, ``standard_error``, ``mean_low`` and ``mean_high`` (metric, gain, run); NaN for runs without a score.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=4, seed=1)
    >>> bool(abs(two_way_means(cube)["mean"] - cube["score"].mean("topic")).max() < 1e-9)
    True
    """
    from scipy.special import stdtrit

    cube = by_group(as_cube(cube))
    scores = cube[names.SCORE].transpose(*_RUN, names.TOPIC).values
    found = np.full((4, *scores.shape[:-1]), np.nan)
    for cell in np.ndindex(scores.shape[:2]):
        known = ~np.isnan(scores[cell]).all(axis=1)
        topics = ~np.isnan(scores[cell]).all(axis=0)
        means, errors = _fitted(scores[cell][known][:, topics])
        half = stdtrit(max(topics.sum() - 1, 1), (1 + confidence) / 2) * errors
        for place, values in enumerate((means, errors, means - half, means + half)):
            found[place][cell][known] = values
    arrays = {each.name: (each.dims, found[k]) for k, each in enumerate(VARIABLES)}
    coords = {dim: cube[dim] for dim in _RUN}
    result = xr.Dataset(arrays, coords).reset_coords(drop=True)
    return schema.annotate(result.assign_attrs(confidence=confidence), VARIABLES)


def _fitted(scores: Any) -> tuple[Any, Any]:
    """Return the means of runs and their standard errors; scores (run, topic) with NaN, at least one of each run and topic."""
    from scipy.optimize import minimize_scalar

    there = ~np.isnan(scores)
    o, x = there.astype(float), np.where(there, scores - np.nanmean(scores), 0.0)
    n_of_topic, free = o.sum(axis=0), int(there.sum()) - len(scores)

    def fit(ratio: float) -> tuple[float, Any, Any]:
        # The inverse of a topic's I + ratio 1 1' is I - share 1 1'.
        share = ratio / (1.0 + ratio * n_of_topic)
        normal = np.diag(o.sum(axis=1)) - (o * share) @ o.T
        right = x.sum(axis=1) - o @ (share * x.sum(axis=0))
        means = np.linalg.solve(normal, right)
        rest = (x - means[:, np.newaxis]) * o
        squares = (rest**2).sum() - (share * rest.sum(axis=0) ** 2).sum()
        variance = max(float(squares), 0.0) / max(free, 1)
        loss = np.log1p(ratio * n_of_topic).sum() + np.linalg.slogdet(normal)[1]
        return (
            float(loss) + (max(free, 1) * math.log(variance) if variance > 0 else -math.inf),
            means,
            variance * np.linalg.inv(normal),
        )

    best = minimize_scalar(lambda log: fit(np.exp(log))[0], bounds=(-12, 12), method="bounded")
    _, means, covariance = fit(float(np.exp(best.x)))
    return means + np.nanmean(scores), np.sqrt(np.diag(covariance))

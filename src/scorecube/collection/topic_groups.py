"""Topics that come in groups, such as the turns of a conversation: the groups, not their topics, are independent draws.

Scores of topics become scores of groups whose mean is the mean over topics, and whose spread gives the cluster-robust standard error (Miller 2024,
arXiv 2411.00640; Liang and Zeger 1986). All that is computed from them counts groups: resamples, sign flips, and halves keep groups whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.teams import teams_of
from scorecube.collection.topic_means import kinds_of
from scorecube.errors import BadPlan, option

REFUSED = f"topic_group says that topics come in groups, and {{}}; to take the topics as independent, say so: {option('by_topic', True)}"
ON_TOPICS = {
    names.DOCUMENT_AT_RANK: "rankings are judged topic by topic",
    names.LABEL_COUNTS: "labels are counted topic by topic",
}
"""Variables of cubes that cannot be made those of groups."""


def with_topic_groups(
    dataset: xr.Dataset,
    groups: Mapping[str, str] | None,
    *,
    path: str | None = None,
    notify: Callable[[str], None],
) -> xr.Dataset:
    """Return scores or rankings with the group of each topic; a topic without a group is a group of its own.

    dataset: Has the dim topic.
    groups: Topic -> group; None or nothing leaves the dataset as it is.
    path, notify: As of `scorecube.collection.teams.teams_of`.
    """
    if not groups:
        return dataset
    labels = teams_of(
        schema.labels_of(dataset, names.TOPIC),
        groups,
        path=path,
        notify=notify,
        kind="group",
        of=names.TOPIC,
    )
    return dataset.assign_coords({names.TOPIC_GROUP: (names.TOPIC, schema.label_array(labels))})


def has_groups(cube: xr.Dataset) -> bool:
    """Return whether any two topics of a dataset are of one group."""
    if names.TOPIC_GROUP not in cube.coords:
        return False
    labels = schema.labels_of(cube, names.TOPIC_GROUP)
    return len(set(labels)) < len(labels)


def by_group(cube: xr.Dataset) -> xr.Dataset:
    """Return the cube of topic groups, in place of topics, that analyses compute with; the cube itself where topics come in no groups.

    A run's score in a group of m of the n topics, of G groups, is M + (G / n) (S - m M), where S is the sum of its scores over the
    group and M its mean over all topics: with groups of one size the mean over the group. The mean of these scores is M, and the standard error of their
    mean is cluster-robust.

    cube: Scores (metric, gain, run, topic); groups are its coordinate ``topic_group`` (topic).
    Returns cube: Scores (metric, gain, run, topic) whose topics are the groups, sorted, with the coordinate ``group_size`` (topic) and
        the attribute ``topic_groups``: what is to be said of results.
    Raises BadPlan: Missing scores, metrics with another summary than the mean, variables of single topics, a single group.

    Examples
    --------
    >>> import xarray as xr
    >>> cube = xr.Dataset(
    ...     {"score": (("metric", "gain", "run", "topic"), [[[[0.1, 0.3, 0.8, 0.6]]]])},
    ...     {"metric": ["AP"], "gain": ["auto"], "run": ["a"], "topic": ["1_1", "1_2", "2_1", "2_2"], "topic_group": ("topic", ["1", "1", "2", "2"])},
    ... )
    >>> by_group(cube)["score"].values.tolist(), by_group(cube)["topic"].values.tolist()
    ([[[[0.2, 0.7]]]], ['1', '2'])
    """
    if not has_groups(cube):
        return cube
    for name, reason in ON_TOPICS.items():
        if name in cube:
            raise BadPlan(REFUSED.format(reason))
    summaries = zip(schema.labels_of(cube, names.METRIC), kinds_of(cube), strict=True)
    if others := [metric for metric, kind in summaries if kind != "mean"]:
        raise BadPlan(REFUSED.format(f"{', '.join(others)} is no mean over topics"))
    labels, group_of = np.unique(schema.labels_of(cube, names.TOPIC_GROUP), return_inverse=True)
    if len(labels) < 2:
        raise BadPlan(REFUSED.format(f"all topics are of the group {labels[0]}"))
    scores = cube[names.SCORE].transpose(*schema.CUBE[0].dims).values
    if not np.isfinite(scores).all():
        raise BadPlan(REFUSED.format("scores are missing: leave out their topics"))
    sizes = np.bincount(group_of)
    values = _group_scores(scores, group_of, sizes)
    kept = {
        name: coord
        for name, coord in cube.coords.items()
        if names.TOPIC not in coord.dims and name != names.TOPIC_GROUP
    }
    coords = {
        **kept,
        names.TOPIC: schema.label_array(map(str, labels)),
        names.GROUP_SIZE: (names.TOPIC, sizes),
    }
    attrs = cube.attrs | {names.TOPIC_GROUPS: _sentence(scores, values)}
    found = xr.Dataset({names.SCORE: (schema.CUBE[0].dims, values)}, coords, attrs)
    return schema.annotate(found, schema.CUBE)


def _group_scores(scores: np.ndarray[Any, Any], group_of: Any, sizes: Any) -> Any:
    """Return scores of groups (..., group) from those of topics (..., topic)."""
    order = np.argsort(group_of, kind="stable")
    sums = np.add.reduceat(scores[..., order], np.cumsum(sizes) - sizes, axis=-1)
    if (sizes == sizes[0]).all():
        return sums / sizes[0]
    mean = scores.mean(axis=-1, keepdims=True)
    return mean + len(sizes) / len(group_of) * (sums - sizes * mean)


def _sentence(scores: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> str:
    """Return how many groups there are, and the median ratio of standard errors of means to those of independent topics."""
    errors = [each.std(axis=-1, ddof=1) / np.sqrt(each.shape[-1]) for each in (values, scores)]
    known = errors[1] > 0
    ratio = float(np.median(errors[0][known] / errors[1][known])) if known.any() else 1.0
    return (
        f"The {scores.shape[-1]} topics come in {values.shape[-1]} topic groups, which count and are resampled in place of topics: standard errors of means "
        f"are {ratio:.2g} times those of independent topics (median over runs)."
    )

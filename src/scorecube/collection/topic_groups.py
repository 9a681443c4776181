"""Topics that come in groups, such as turns of a conversation: groups are independent draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.teams import teams_of
from scorecube.errors import option

REFUSED = (
    "topic_group says that topics come in groups, and {}; to take them as independent, say so: "
    + option("by_topic", True)
)


def with_topic_groups(
    dataset: xr.Dataset,
    groups: Mapping[str, str] | None,
    *,
    path: str | None = None,
    notify: Callable[[str], None],
) -> xr.Dataset:
    """Return scores or rankings with the group of each topic.

    dataset: Has the dim topic.
    groups: Topic -> group; None or nothing leaves the dataset as it is.
    path, notify: As of `scorecube.collection.teams.teams_of`.
    """
    if not groups:
        return dataset
    topics = schema.labels_of(dataset, names.TOPIC)
    labels = teams_of(topics, groups, path=path, notify=notify, kind="group", of=names.TOPIC)
    return dataset.assign_coords({names.TOPIC_GROUP: (names.TOPIC, schema.label_array(labels))})


def has_groups(cube: xr.Dataset) -> bool:
    """Return whether any two topics of a dataset are of one group."""
    if names.TOPIC_GROUP not in cube.coords:
        return False
    labels = schema.labels_of(cube, names.TOPIC_GROUP)
    return len(set(labels)) < len(labels)

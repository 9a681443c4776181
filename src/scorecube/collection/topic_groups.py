"""Topics that come in groups, such as turns of a conversation: groups are independent draws."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.teams import with_topic_groups
from scorecube.errors import option

__all__ = ["REFUSED", "has_groups", "with_topic_groups"]
REFUSED = (
    "topic_group says that topics come in groups, and {}; to take them as independent, say so: "
    + option("by_topic", True)
)


def has_groups(cube: xr.Dataset) -> bool:
    """Return whether any two topics of a dataset are of one group."""
    if names.TOPIC_GROUP not in cube.coords:
        return False
    labels = schema.labels_of(cube, names.TOPIC_GROUP)
    return len(set(labels)) < len(labels)

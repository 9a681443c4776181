"""Heat maps of a page: the scores of all runs on all topics, of collections that are small enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.labels import with_figure_labels
from scorecube.report.page.html import picture
from scorecube.report.page.options import PageOptions
from scorecube.report.scores import page_heat_map
from scorecube.report.tables import COLLECTION
from scorecube.storage import Study

MOST_TOPICS, MOST_SCORES = 60, 6500
"""Of a heat map on a page, which takes less than 60 kB then; `scorecube figure` draws larger ones."""
MOST_MAPS = 8
"""With more collections on a page there are none."""


def heat_maps(
    study: Study,
    collections: Sequence[Mapping[str, Any]],
    ordered_map: Callable[..., Iterable[Any]] = map,
    options: PageOptions | None = None,
) -> list[dict[str, Any]]:
    """Return the heat maps of a page with their captions: of the first metric and gain setting of each collection.

    collections: Facts of the collections on the page, as from `overview`.
    ordered_map: Function like `map`, which may call the function in other processes.
    options: Its first metric is drawn.
    """
    if len(collections) > MOST_MAPS:
        return []
    found = []
    for facts in collections:
        n_runs, n_topics = facts["runs"], facts["topics"]
        if (
            min(n_runs, n_topics) >= 2
            and n_topics <= MOST_TOPICS
            and n_runs * n_topics <= MOST_SCORES
        ):
            cube = study[str(facts["name"])].cube.assign_attrs({COLLECTION: facts["name"]})
            cube = cube.sel(
                {names.METRIC: (options or PageOptions()).chosen(labels_of(cube, names.METRIC))[:1]}
            )
            scores = cube[names.SCORE].isel({names.METRIC: 0, names.GAIN: 0}).values
            if np.isfinite(scores).any() and not np.isinf(scores).any():
                found.append(cube)
    return list(ordered_map(_heat_map, found))


def _heat_map(cube: xr.Dataset) -> dict[str, Any]:
    from scorecube.report.figures.canvas import drawn

    (shown,), gain = with_figure_labels([cube], labels_of(cube, names.GAIN)[0])
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    name, metric = cube.attrs[COLLECTION], labels_of(cube, names.METRIC)[0]
    title = f"{name}: {metric} of {counted(n_runs, 'run')} on {counted(n_topics, 'topic')}"
    caption = f"{title}. Rows: runs, best mean first; columns: topics, easiest first."
    return {
        "title": title,
        "caption": caption,
        "picture": picture(drawn(page_heat_map, shown, gain), caption),
    }

"""Topic set size design of every collection of a study, for the report: made from the scores, with all defaults."""

from __future__ import annotations

import json

import xarray as xr

from scorecube import names
from scorecube.collection.topic_means import kinds_of
from scorecube.design import topic_set_size
from scorecube.design.variance import within_system_variance
from scorecube.errors import BadPlan
from scorecube.metrics.registry import MEAN
from scorecube.report.tables import COLLECTION
from scorecube.storage import Study

TOPICS_AT_HAND = "topics_at_hand"
"""Attribute of a design: topics that the collection has."""
SHOWN = ("method", "mode", "sided")


def designs(study: Study) -> list[xr.Dataset]:
    """Return the numbers of topics that each collection's metrics ask for, of the collections that have an answer; see `design_of`."""
    found = [design_of(study[name].cube, name) for name in study]
    return [result for result in found if result is not None]


def design_of(cube: xr.Dataset, name: str) -> xr.Dataset | None:
    """Return the numbers of topics that a collection's metrics ask for, by ANOVA-based design at its defaults.

    Left out are metrics whose topics are not summed up by the mean or whose variance cannot be estimated or is 0.

    Parameters
    ----------
    cube
        Scores of the collection.
    name
        Its name.

    Returns
    -------
    result
        None without any metric left, or where more topics are needed than anyone would have.
    """
    cube = cube.isel({names.METRIC: [kind == MEAN for kind in kinds_of(cube)]})
    if not cube.sizes[names.METRIC]:
        return None
    scores = cube[names.SCORE]
    variance = scores.isel({names.RUN: 0, names.TOPIC: 0}, drop=True).copy(data=within_system_variance(scores.values))
    variance = variance.isel({names.METRIC: (variance.values > 0).all(axis=1)})
    if not variance.sizes[names.METRIC]:
        return None
    try:
        result = topic_set_size(variance)
    except BadPlan:  # more topics than anyone would have
        return None
    options = {key: result.attrs[key] for key in SHOWN} | {
        key: float(result[key]) for key in ("min_diff", "systems", "alpha", "beta")
    }
    facts = {COLLECTION: name, "plan": json.dumps({"options": options}), TOPICS_AT_HAND: cube.sizes[names.TOPIC]}
    return result.assign_attrs(facts)

"""A third crossed facet: the gain settings of a metric, or the sets of judgements of a combined cube."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array
from scorecube.collection import schema
from scorecube.collection.selection import uses_gains
from scorecube.statistics.variance_components import (
    FACET_COEFFICIENTS,
    FACET_SOURCES,
    facet_coefficients,
    facet_components,
)

GAINS = "gains"


@dataclass(frozen=True)
class Facets:
    """Values and coordinates of `FACET_VARIABLES`."""

    values: dict[str, Any]
    coords: dict[str, Any]


def levels_of(cube: xr.Dataset) -> dict[str, list[int]]:
    """Return, for each third facet of a cube, the positions along gain of its levels; only facets of several levels."""
    if names.JUDGEMENTS not in cube.coords:
        found = {GAINS: list(range(cube.sizes[names.GAIN]))}
    else:
        settings = schema.labels_of(cube, names.SETTING)
        several = len(set(settings)) > 1
        found = {
            f"{names.JUDGEMENTS} {setting}" if several else names.JUDGEMENTS: [
                k for k, other in enumerate(settings) if other == setting
            ]
            for setting in dict.fromkeys(settings)
        }
    return {facet: levels for facet, levels in found.items() if len(levels) > 1}


def facets_of(cube: xr.Dataset, sizes: Array, kept: Callable[[Array], Array]) -> Facets | None:
    """Return the components and coefficients with a third facet; None if the cube has none.

    sizes: Numbers of topics.
    kept: Returns of scores (run, topic) the runs that are not left out; takes the means over the levels.
    """
    facets = levels_of(cube)
    used = uses_gains(cube)
    if not facets or not used.any():
        return None
    scores = cube.variables[names.SCORE].values
    shape = (cube.sizes[names.METRIC], len(facets))
    components = np.full((*shape, len(FACET_SOURCES)), np.nan)
    coefficients = np.full((*shape, len(FACET_COEFFICIENTS), len(sizes)), np.nan)
    for i, (j, levels) in (
        (i, each) for i in np.flatnonzero(used) for each in enumerate(facets.values())
    ):
        cell = np.moveaxis(scores[i, levels].astype(np.float64), 0, -1)
        found = facet_components(cell[kept(cell.mean(axis=-1))])
        components[i, j] = np.maximum(found, 0.0)
        for k, size in enumerate(sizes):
            coefficients[i, j, :, k] = facet_coefficients(found, len(levels), int(size))
    return Facets(
        {"facet_component": components, "facet_coefficient": coefficients},
        {
            names.FACET: schema.label_array(facets),
            "n_levels": (names.FACET, np.array([len(levels) for levels in facets.values()])),
            names.FACET_SOURCE: schema.label_array(FACET_SOURCES),
            names.FACET_COEFFICIENT: schema.label_array(FACET_COEFFICIENTS),
        },
    )

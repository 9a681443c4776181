"""Whether larger or smaller scores of a metric are better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, option

KNOWN = frozenset({"last_rel", "loss_e", "loss_er", "loss_r"})
"""Metrics of CLEF's technology-assisted reviews whose smaller values are better: the rank of the last relevant document, and losses."""


def directed(cube: xr.Dataset, metrics: Sequence[str]) -> xr.Dataset:
    """Return a cube that knows of some metrics that smaller values are better.

    cube: ``score[metric, gain, run, topic]``.
    metrics: Names of metrics whose smaller values are better.
    Raises BadPlan: A metric that is not in the cube.

    Examples
    --------
    >>> import pandas as pd
    >>> from scorecube.ingest.in_memory import cube_from_scores
    >>> cube = cube_from_scores({"last_rel": pd.DataFrame({"1": [9.0, 4.0], "2": [0.0, 3.0]}, index=["a", "b"])})
    >>> directed(cube, ["last_rel"]).higher_is_better.values.tolist()
    [False]
    """
    labels = schema.labels_of(cube, names.METRIC)
    unknown = sorted(set(metrics) - set(labels))
    if unknown:
        raise BadPlan(
            f"{option('lower_is_better')}: {listed(unknown)} is not among the metrics {listed(labels)}",
            option="lower_is_better",
        )
    if not metrics:
        return cube
    higher = np.array([label not in metrics for label in labels])
    return cube.assign_coords({names.HIGHER_IS_BETTER: (names.METRIC, higher)})


def higher_of(cube: xr.Dataset) -> NDArray[np.bool_]:
    """Return whether larger scores are better, by metric."""
    if names.HIGHER_IS_BETTER not in cube.coords:
        return np.ones(cube.sizes[names.METRIC], bool)
    return np.atleast_1d(cube[names.HIGHER_IS_BETTER].values).astype(bool)


def larger_is_better(cube: xr.Dataset) -> xr.Dataset:
    """Return scores of which larger ones are better: those of the other metrics are negated."""
    higher = higher_of(cube)
    if higher.all():
        return cube
    signs = xr.DataArray(np.where(higher, 1.0, -1.0), dims=names.METRIC)
    # Adding 0 turns -0 into 0.
    turned = (cube[names.SCORE] * signs + 0.0).transpose(*cube[names.SCORE].dims)
    return schema.annotate(
        cube.drop_vars(names.HIGHER_IS_BETTER).assign({names.SCORE: turned}), schema.CUBE
    )

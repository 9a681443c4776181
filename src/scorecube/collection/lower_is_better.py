"""Metrics whose smaller values are better: every analysis takes larger scores as better, so their scores are negated on import."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, option

PREFIX = "neg:"
KNOWN = frozenset({"last_rel", "loss_e", "loss_er", "loss_r"})
"""Metrics of CLEF's technology-assisted reviews whose smaller values are better: the rank of the last relevant document, and losses."""


def negated(cube: xr.Dataset, metrics: Sequence[str]) -> xr.Dataset:
    """Return scores with those of some metrics negated, and ``neg:`` before their names.

    cube: ``score[metric, gain, run, topic]``.
    metrics: Names of metrics whose smaller values are better.
    Raises BadPlan: A metric that is not in the cube.

    Examples
    --------
    >>> import pandas as pd
    >>> from scorecube.ingest.in_memory import cube_from_scores
    >>> cube = cube_from_scores({"last_rel": pd.DataFrame({"1": [9.0, 4.0], "2": [0.0, 3.0]}, index=["a", "b"])})
    >>> turned = negated(cube, ["last_rel"])
    >>> turned.metric.values.tolist(), turned.score.values.ravel().tolist()
    (['neg:last_rel'], [-9.0, 0.0, -4.0, -3.0])
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
    signs = xr.DataArray([-1.0 if label in metrics else 1.0 for label in labels], dims=names.METRIC)
    # Adding 0 turns -0 into 0.
    turned = (cube[names.SCORE] * signs + 0.0).transpose(*cube[names.SCORE].dims)
    renamed = schema.label_array(
        f"{PREFIX}{label}" if label in metrics else label for label in labels
    )
    result = cube.assign({names.SCORE: turned}).assign_coords({names.METRIC: renamed})
    return schema.annotate(result, schema.CUBE)

"""Adding metrics and gain settings to the cube of a collection."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import BadStudy, option


def merge_cubes(old: xr.Dataset, new: xr.Dataset, what: str) -> xr.Dataset:
    """Add metrics and gain settings to a cube with the same runs and topics."""
    for dim in (names.RUN, names.TOPIC):
        if schema.labels_of(old, dim) != schema.labels_of(new, dim):
            raise BadStudy(
                f"{what} exists with {old.sizes[dim]} {dim}s, and the new scores have "
                f"{new.sizes[dim]} or other ones; "
                f"use {option('replace', True)} to start over, or another {option('name')}"
            )
    try:
        merged = xr.merge([old, new], join="outer", compat="no_conflicts", combine_attrs="override")
    except (xr.MergeError, ValueError):
        raise BadStudy(
            f"{what} holds other scores, teams or groups for the same runs and topics; use "
            f"{option('replace', True)} to start over"
        ) from None
    if (
        merged[names.SCORE].isnull().sum()
        > old[names.SCORE].isnull().sum() + new[names.SCORE].isnull().sum()
    ):
        raise BadStudy(
            f"{what} has gain settings {', '.join(schema.labels_of(old, names.GAIN))} for its "
            f"metrics; "
            f"give new metrics the same gain settings, or new gain settings all its metrics, or "
            f"use {option('replace', True)}"
        )
    if names.HIGHER_IS_BETTER in merged.coords:  # of metrics without it, it is missing
        higher = merged[names.HIGHER_IS_BETTER].fillna(True).astype(bool)
        merged = merged.assign_coords({names.HIGHER_IS_BETTER: higher})
    for dim in (names.METRIC, names.GAIN):
        before = schema.labels_of(old, dim)
        merged = merged.sel(
            {dim: before + [label for label in schema.labels_of(new, dim) if label not in before]}
        )
    merged = merged.assign_attrs({**new.attrs, **old.attrs})
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)

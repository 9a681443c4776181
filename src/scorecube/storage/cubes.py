"""Cubes that are stored: what listings say of one, and further metrics and gain settings."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.about_metrics import ranged
from scorecube.collection.doubts import doubts_of
from scorecube.errors import BadStudy, option

ORIGIN: Final = ("source", "licence", "cite", "note")
"""Attributes of a cube that was fetched: origin of the scores."""


def facts_of_cube(cube: xr.Dataset) -> dict[str, Any]:
    """Return the facts of a cube; doubts about scores that are made on use are not looked for."""
    (scores,) = schema.in_chunks([cube[names.SCORE]])
    doubts = doubts_of(cube) if cube[names.SCORE].variable._in_memory else []
    facts = {
        **({names.DOUBTS: doubts} if doubts else {}),
        **{key: list(cube.attrs[key]) for key in [names.WORDS] if key in cube.attrs},
        "runs": cube.sizes[names.RUN],
        "topics": cube.sizes[names.TOPIC],
        "metrics": schema.labels_of(cube, names.METRIC),
        "gains": schema.labels_of(cube, names.GAIN),
        "missing_scores": int(scores.isnull().sum()),
        "origin": {key: str(cube.attrs[key]) for key in ORIGIN if key in cube.attrs},
    }
    if names.TEAM in cube.coords:
        facts["teams"] = len(set(schema.labels_of(cube, names.TEAM)))
    if names.SYSTEM in cube.coords:  # runs are repetitions
        counts = Counter(schema.labels_of(cube, names.SYSTEM)).values()
        facts |= {"systems": len(counts), "fewest_runs": min(counts), "most_runs": max(counts)}
    return facts


def merge_cubes(old: xr.Dataset, new: xr.Dataset, what: str) -> xr.Dataset:
    """Add metrics and gain settings to a cube with the same runs and topics."""
    anew = f"use {option('replace', True)} to start over"
    for dim in (names.RUN, names.TOPIC):
        if schema.labels_of(old, dim) != schema.labels_of(new, dim):
            raise BadStudy(f"{what} has other {dim}s than the new scores; {anew}")
    old, new = ranged(old), ranged(new)  # so that what is missing below is a metric of ours
    try:
        merged = xr.merge([old, new], join="outer", compat="no_conflicts", combine_attrs="override")
    except (xr.MergeError, ValueError):
        raise BadStudy(f"{what} holds other scores, teams or groups; {anew}") from None
    missing = [int(cube[names.SCORE].isnull().sum()) for cube in (merged, old, new)]
    if missing[0] > missing[1] + missing[2]:
        raise BadStudy(f"{what} lacks gain settings of some metrics; {anew}")
    if names.HIGHER_IS_BETTER in merged.coords:  # of metrics without it, it is missing
        higher = merged[names.HIGHER_IS_BETTER].fillna(True).astype(bool)
        merged = merged.assign_coords({names.HIGHER_IS_BETTER: higher})
    for dim in (names.METRIC, names.GAIN):
        order = dict.fromkeys([*schema.labels_of(old, dim), *schema.labels_of(new, dim)])
        merged = merged.sel({dim: list(order)})
    merged = merged.assign_attrs({**new.attrs, **old.attrs})
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)

"""Cubes that are stored: what listings say of one."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.plausibility import doubts_of

ORIGIN: Final = ("source", "licence", "cite", "note")
"""Attributes of a cube that was fetched: origin of the scores."""


def _with_themselves(cube: xr.Dataset, scores: xr.DataArray) -> int:
    """Return how many scores are missing of systems against themselves, which have no battles."""
    both = sorted({*schema.labels_of(cube, names.RUN)} & {*schema.labels_of(cube, names.TOPIC)})
    own = xr.DataArray(both, dims="own")
    return int(scores.sel({names.RUN: own, names.TOPIC: own}).isnull().sum()) if both else 0


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
        "missing_scores": int(scores.isnull().sum()) - _with_themselves(cube, scores),
        "origin": {key: str(cube.attrs[key]) for key in ORIGIN if key in cube.attrs},
    }
    if names.TEAM in cube.coords:
        facts["teams"] = len(set(schema.labels_of(cube, names.TEAM)))
    if names.SYSTEM in cube.coords:  # runs are repetitions
        counts = Counter(schema.labels_of(cube, names.SYSTEM)).values()
        facts |= {"systems": len(counts), "fewest_runs": min(counts), "most_runs": max(counts)}
    return facts

"""Facts that a manifest has of an entry, made of its content: what listings show without reading arrays."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.collection.doubts import doubts_of
from scorecube.collection.schema import labels_of
from scorecube.storage.catalogue import ATTRIBUTES
from scorecube.storage.datasets import CONTENT
from scorecube.storage.manifest import CUBE, RANKINGS

ORIGIN = ("source", "licence", "cite", "note")
"""Attributes of a cube that was fetched: origin of the scores."""


def attribute_facts(result: xr.Dataset) -> dict[str, Any]:
    """Return the attributes of a result as facts."""
    attributes = {key: value for key, value in result.attrs.items() if key != CONTENT}
    return {
        "finished": str(result.attrs.get("finished", "")),
        ATTRIBUTES: json.loads(json.dumps(attributes, default=lambda value: value.tolist())),
    }


def facts_of(name: str, dataset: xr.Dataset, missing: int | None = None) -> dict[str, Any]:
    """Return the facts of a cube or of rankings that the index holds, as JSON values; none of other entries.

    `missing` is the number of missing scores of a cube, if it is known.
    """
    if name == RANKINGS:
        return {"levels": [int(level) for level in dataset[names.LEVEL].values]}
    if name != CUBE:
        return {}
    doubts = doubts_of(dataset) if missing is None else []
    return {
        **({names.DOUBTS: doubts} if doubts else {}),
        "runs": dataset.sizes[names.RUN],
        "teams": len(set(map(str, dataset[names.TEAM].values))),
        **_systems(dataset),
        "topics": dataset.sizes[names.TOPIC],
        "metrics": labels_of(dataset, names.METRIC),
        "gains": labels_of(dataset, names.GAIN),
        "missing_scores": int(dataset[names.SCORE].isnull().sum()) if missing is None else missing,
        "origin": {key: str(dataset.attrs[key]) for key in ORIGIN if key in dataset.attrs},
    }


def _systems(dataset: xr.Dataset) -> dict[str, int]:
    """Return the number of systems, and the fewest and the most runs of one; nothing where runs are no repetitions."""
    if names.SYSTEM not in dataset.coords:
        return {}
    counts = Counter(labels_of(dataset, names.SYSTEM)).values()
    return {"systems": len(counts), "fewest_runs": min(counts), "most_runs": max(counts)}

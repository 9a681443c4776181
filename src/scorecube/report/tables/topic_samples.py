"""Helpers of the tables of topic samples: sizes and conditions."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.report.tables.rows import COLLECTION


def sizes_of(result: xr.Dataset) -> list[int]:
    """Return the numbers of topics in the samples."""
    return [int(size) for size in result[names.SIZE].values]


def sizes_text(result: xr.Dataset) -> str:
    """Return the sample sizes in words.

    Examples
    --------
    >>> sizes_text(xr.Dataset(coords={"size": [5, 10, 15, 20]}))
    '5, 10, .. 20'
    """
    sizes = [str(size) for size in sizes_of(result)]
    return ", ".join(sizes) if len(sizes) <= 3 else f"{sizes[0]}, {sizes[1]}, .. {sizes[-1]}"


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions of a result in one line."""
    facts = result.attrs
    own = ", own samples for every pair" if facts.get("share") == "none" else ""
    return (
        f"{facts.get(COLLECTION, '')}  {facts['n_runs']} runs, {facts['sampling']} samples of {sizes_text(result)} of "
        f"{facts['n_topics']} topics, {facts['trials']:,} trials{own}".strip()
    )

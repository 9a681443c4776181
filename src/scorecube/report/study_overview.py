"""What a study holds, and its tables put together over collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadStudy
from scorecube.report.tables import COLLECTION, FROM_CUBE, FROM_RANKINGS, averages, combine, find_table
from scorecube.storage import Collection, Study

ORIGIN = ("source", "licence", "cite", "note")
"""Attributes of a cube that was fetched: whose scores these are."""


def overview(study: Study) -> dict[str, Any]:
    """Return sizes, labels and kept results of all collections, as JSON values."""
    collections = []
    for name in study:
        collection = study[name]
        cube = collection.cube
        facts = {
            "name": name,
            "runs": cube.sizes[names.RUN],
            "teams": len(set(map(str, cube[names.TEAM].values))),
            "topics": cube.sizes[names.TOPIC],
            "metrics": labels_of(cube, names.METRIC),
            "gains": labels_of(cube, names.GAIN),
            "missing_scores": int(cube[names.SCORE].isnull().sum()),
            "origin": {key: str(cube.attrs[key]) for key in ORIGIN if key in cube.attrs},
        }
        collections.append(facts | collection.contents())
    return {"study": study.path, "collections": collections}


def overview_text(facts: dict[str, Any]) -> str:
    """Return an overview as lines."""
    lines = [f"{facts['study']}: {len(facts['collections'])} collections"]
    for each in facts["collections"]:
        lines.append(f"{each['name']}: {each['runs']} runs of {each['teams']} teams, {each['topics']} topics")
        lines.append(f"  metrics  {', '.join(each['metrics'])}")
        lines.append(f"  gains    {', '.join(each['gains'])}")
        kept = [f"{name} ({count})" for name, count in each["results"].items()]
        lines.append(f"  results  {', '.join(kept) or 'none yet'}")
        lines += [f"  {key:<8} {value}" for key, value in each["origin"].items()]
        if each["missing_scores"]:
            lines.append(f"  missing  {each['missing_scores']} scores")
        if not each["rankings"]:
            lines.append("  imported scores, no rankings")
    return "\n".join(lines)


def collect_table(
    study: Study,
    analysis: str,
    name: str | None = None,
    collections: Sequence[str] | None = None,
    every: bool = False,
    average: bool = False,
) -> pd.DataFrame:
    """Return one table over collections.

    Parameters
    ----------
    analysis
        ``scores`` or the name of an analysis.
    name
        Table; None is the analysis' first.
    collections
        Names; None takes all that have a result.
    every
        All stored results of each collection instead of its latest.
    average
        Means over the collections, see `averages`, instead of one row for each of them.

    Raises
    ------
    BadStudy
        No result of the analysis in any of the collections.
    """
    chosen, function = find_table(analysis, name)
    frames = []
    for each in collections if collections is not None else study:
        collection = study[each]
        for source in _sources(collection, analysis, chosen, every, wanted=collections is not None):
            frames.append(function(source.assign_attrs({COLLECTION: each})))
    if not frames:
        raise BadStudy(f"{study.path}: no result of {analysis} yet; run: scorecube {analysis} {study.path}")
    return averages(combine(frames)) if average else combine(frames)


def _sources(collection: Collection, analysis: str, table: str, every: bool, wanted: bool) -> list[xr.Dataset]:
    if analysis in FROM_CUBE:
        if table not in FROM_RANKINGS:
            return [collection.cube]
        return [collection.rankings] if wanted or collection.contents()["rankings"] else []
    if wanted and not every:
        return [collection.result(analysis)]
    results = collection.results(analysis)
    return results if every else results[-1:]

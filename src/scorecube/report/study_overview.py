"""The contents of a study, and its tables over collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, BadStudy, did_you_mean, visible
from scorecube.report.tables.rows import COLLECTION, averages, combine
from scorecube.report.views.registry import view_names, view_of
from scorecube.report.views.view import Source, Table, View
from scorecube.storage import Collection, Study

ORIGIN = ("source", "licence", "cite", "note")
"""Attributes of a cube that was fetched: origin of the scores."""


def overview(study: Study) -> dict[str, Any]:
    """Return sizes, labels and number of results of all collections, as JSON values."""
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
    """Return an overview as lines, without other control characters."""
    lines = [f"{facts['study']}: {len(facts['collections'])} collections"]
    for each in facts["collections"]:
        lines.append(
            f"{each['name']}: {each['runs']} runs of {each['teams']} teams, {each['topics']} topics"
        )
        lines.append(f"  metrics  {', '.join(each['metrics'])}")
        lines.append(f"  gains    {', '.join(each['gains'])}")
        kept = [f"{name} ({count})" for name, count in each["results"].items()]
        lines.append(f"  results  {', '.join(kept) or 'none yet'}")
        if outdated := each["outdated"]:
            lines.append(f"  outdated {outdated_text(outdated)}: the scores were replaced since")
        lines += [f"  {key:<8} {value}" for key, value in each["origin"].items()]
        if each["missing_scores"]:
            lines.append(f"  missing  {each['missing_scores']} scores")
        if not each["rankings"]:
            lines.append("  imported scores, no rankings")
    return "\n".join(map(visible, lines))


def outdated_text(outdated: Mapping[str, int]) -> str:
    """Return numbers of outdated results by analysis as text."""
    return ", ".join(f"{name} ({count})" for name, count in outdated.items())


def find_view(study: Study, analysis: str) -> View:
    """Return the view of an analysis that exists, or of which the study has results.

    Raises
    ------
    BadName
        Any other name.
    """
    known = view_names()
    if analysis not in known and not any(study[name].result_attributes(analysis) for name in study):
        raise BadName(
            f"no analysis {analysis!r}; known: {', '.join(known)}{did_you_mean(analysis, known)}"
        )
    return view_of(analysis)


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
    view = find_view(study, analysis)
    _, table = view.find_table(name)
    frames = []
    for each in collections if collections is not None else study:
        for source in _sources(study[each], view, table, every, required=collections is not None):
            frames.append(table.make(source.assign_attrs({COLLECTION: each})))
    if not frames:
        outdated = any(analysis in study[each].contents()["outdated"] for each in study)
        state = "of the scores that are there now" if outdated else "yet"
        raise BadStudy(
            f"{study.path}: no result of {analysis} {state}; run: scorecube {analysis} {study.path}"
        )
    return averages(combine(frames)) if average else combine(frames)


def _sources(
    collection: Collection, view: View, table: Table, every: bool, required: bool
) -> list[xr.Dataset]:
    """Return the datasets that a table is made from."""
    if table.source is Source.CUBE:
        return [collection.cube]
    if table.source is Source.RANKINGS:
        return [collection.rankings] if required or collection.contents()["rankings"] else []
    if view.compute is not None:
        return [view.computed(collection.cube)]
    if every:
        return collection.results(view.name)
    if required or collection.result_attributes(view.name):
        return [collection.result(view.name)]
    return []

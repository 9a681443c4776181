"""Tables and figures of a study over its collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, BadPlan, BadStudy, did_you_mean, option
from scorecube.report.figures.style import Figure
from scorecube.report.findings import Finding
from scorecube.report.results import figure, findings, no_figure, of_metrics
from scorecube.report.stored_tables import TABLE, decode, shape_of
from scorecube.report.table_rows import METRICS
from scorecube.report.tables import COLLECTION, Source, Table, averages, combine, place, where
from scorecube.report.view import View
from scorecube.report.views import view_names, view_of
from scorecube.storage import ATTRIBUTES, Study, in_order

Found = tuple[str, dict[str, Any]]
"""A collection, and the facts of one of its results with its ``digest``."""
RESULT = "result"
"""Column with the first digits of the digests of results, where several are shown."""


def find_view(study: Study, analysis: str) -> View:
    """Return the view of an analysis that exists, or of which the study has results.

    Raises BadName: Any other name.
    """
    known = view_names()
    if analysis not in known and not any(
        analysis in row.contents()["results"] for row in study.rows().values()
    ):
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
    metrics: Sequence[Any] | None = None,
) -> pd.DataFrame:
    """Return one table over collections.

    analysis: ``scores`` or the name of an analysis.
    name: Table; None is the analysis' first.
    collections: Names; None takes all that have a result.
    every: All stored results of each collection instead of its latest, with the first digits of their digests in the
        column ``result``.
    average: Means over the collections, see `averages`, instead of one row for each of them.
    metrics: Columns of a table that has one for each metric, in this order; all by default.
    Raises BadStudy: No result of the analysis in any of the collections; or no row that all collections have, of which
        a mean could be taken.
    """
    view = find_view(study, analysis)
    chosen, table = view.find_table(name)
    if name is None and view.if_few:
        chosen, table = view.find_table(None, [*_sources(study, view, collections, every)])
    if table.source is Source.RESULT and view.compute is None and chosen == view.first_table:
        frames = _indexed(study, view, collections, every)
    else:
        frames = [
            _with_digest(
                _frame(view, table, source, metrics),
                str(source.attrs.get("digest", "")) if every else "",
            )
            for source in _sources(study, view, collections, every, table.source)
        ]
    if not frames:
        raise _without_results(study, analysis)
    return _averaged(study, analysis, combine(frames)) if average else combine(frames)


def _frame(
    view: View, table: Table, source: xr.Dataset, metrics: Sequence[Any] | None
) -> pd.DataFrame:
    frame = view.frame(table, source)
    if metrics is None or names.METRIC not in source.dims or any(each in frame for each in METRICS):
        return frame
    return view.frame(table, of_metrics(source, metrics))


def collect_findings(
    study: Study, analysis: str, collections: Sequence[str] | None = None, every: bool = False
) -> pd.DataFrame:
    """Return what the results of an analysis say, see `findings`: a row each, with the collection first.

    analysis, collections, every: As of `collect_table`.
    Raises BadStudy: No result of the analysis in any of the collections.
    """
    columns = [each.name for each in fields(Finding) if each.name != "short"]
    records = [
        where(source)
        | {name: getattr(each, name) for name in columns}
        | {"cautions": "; ".join(each.cautions)}
        for source in _sources(study, find_view(study, analysis), collections, every)
        for each in findings(source)
    ]
    if not records:
        raise _without_results(study, analysis)
    return pd.DataFrame(records)


def _without_results(study: Study, analysis: str) -> BadStudy:
    outdated = any(analysis in row.contents()["outdated"] for row in study.rows().values())
    state = "of the scores that are there now" if outdated else "yet"
    return BadStudy(
        f"{study.path}: no result of {analysis} {state}; run: scorecube {analysis} {study.path}"
    )


def _averaged(study: Study, analysis: str, frame: pd.DataFrame) -> pd.DataFrame:
    found = averages(frame.drop(columns=RESULT, errors="ignore"))
    if found.empty and len(frame):
        raise BadStudy(
            f"{study.path}: no row of {analysis} is in all collections, as the results shown have different options; "
            f"{option('all', True)} takes all results"
        )
    return found


def _indexed(
    study: Study, view: View, collections: Sequence[str] | None, every: bool
) -> list[pd.DataFrame]:
    """Return the default tables of the latest results, or of all, see `frames_of`."""
    rows, found = study.rows(), list[Found]()
    for name in collections if collections is not None else rows:
        results = in_order(rows[name].results(view.name) if name in rows else {})
        if not results and collections is not None:
            study[name].result(view.name)  # raises that there is none
        found += [(name, facts) for facts in (results if every else results[-1:])]
    if not every:
        return frames_of(study, view, found)
    return [
        _with_digest(frame, each[1]["digest"])
        for each in found
        for frame in frames_of(study, view, [each])
    ]


def frames_of(study: Study, view: View, found: Sequence[Found]) -> list[pd.DataFrame]:
    """Return the default tables of results: from the index, those of large results made of their arrays.

    view: Of their analysis.
    found: Names of collections, and facts of their results as in the index, with ``digest``. Neighbours with the same
        columns become one table.
    """
    _, table = view.find_table(None)
    frames = []
    for _, group in groupby(found, lambda each: shape_of(each[1].get(TABLE))):
        each = list(group)
        if each[0][1].get(TABLE) is not None:
            found_together = decode(
                [(place(name, facts[ATTRIBUTES]), facts[TABLE]) for name, facts in each]
            )
            frames.append(view.described(table, found_together))
            continue
        for name, facts in each:
            result = study[name].find_result(view.name, facts["digest"])
            if result is not None:  # replaced since
                frames.append(view.frame(table, result.assign_attrs({COLLECTION: name})))
    return frames


def _with_digest(frame: pd.DataFrame, digest: str) -> pd.DataFrame:
    """Return the table of a result with its digest behind the collection, if results need to be distinguished."""
    if digest and COLLECTION in frame:
        frame = frame.copy()
        frame.insert(1, RESULT, digest[:8])
    return frame


def superseded_note(study: Study, analysis: str, collections: Sequence[str] | None) -> list[str]:
    """Return a line on collections with several results of an analysis, of which a table shows the latest."""
    rows = study.rows()
    counts = {
        name: len(rows[name].results(analysis))
        for name in (collections if collections is not None else rows)
        if name in rows
    }
    several = {name: count for name, count in counts.items() if count > 1}
    if not several:
        return []
    first, count = next(iter(several.items()))
    more = f" and {len(several) - 1} further collections have several" if len(several) > 1 else ""
    return [f"note: only the latest result of each collection is shown; {first} has {count}{more}"]


def _sources(
    study: Study,
    view: View,
    collections: Sequence[str] | None,
    every: bool = False,
    kind: Source = Source.RESULT,
) -> Iterator[xr.Dataset]:
    """Yield what tables, findings and figures are made from, by collection: the latest results or all; of collections that are not named, where there are any."""
    for name in study if collections is None else collections:
        collection, named, found = study[name], collections is not None, list[xr.Dataset]()
        if kind is Source.CUBE:
            found = [collection.cube]
        elif kind is Source.RANKINGS:
            found = [collection.rankings] if named or collection.contents()["rankings"] else []
        elif view.compute is not None:
            found = [view.computed(collection.cube)]
        elif every:
            found = collection.results(view.name)
        elif named or collection.result_attributes(view.name):
            found = [collection.result(view.name)]
        yield from (each.assign_attrs({COLLECTION: name}) for each in found)


def draw(
    study: Study,
    analysis: str,
    collections: Sequence[str] | None = None,
    gain: str | None = None,
    metrics: Sequence[Any] | None = None,
    by: str | None = None,
    form: str = "curves",
) -> Figure:
    """Return the figure of the latest results of an analysis.

    study: Where the results are.
    analysis: Name of an analysis, or ``scores``, ``design`` or ``wcw``, which are made from the scores.
    collections: Names; None takes all that have a result.
    gain: Gain setting that is drawn, for one collection; the first by default.
    metrics: Metrics that are drawn, in this order; by default the first of a figure that has a panel for each, else
        all.
    by: ``gain``, ``size`` or an option of the analysis, whose values among the results of one collection are drawn together.
    form: What is drawn by `by`: ``curves`` in one panel, or ``bars`` of what the overview of collections has, a group for each value.
    Returns figure: Of the result of one collection, or a comparison of several.
    Raises BadName: An analysis, a gain setting or a metric that does not exist.
    Raises BadStudy: No result of the analysis, or one that is missing for a collection.
    Raises BadPlan: Several collections, and an analysis that is drawn one by one; or a gain setting or values of an option for
        several.
    """
    view = find_view(study, analysis)
    if view.figure is None:
        raise BadName(no_figure(view))
    results = {each.attrs[COLLECTION]: each for each in _sources(study, view, collections)}
    if not results:
        raise _without_results(study, analysis)
    if len(results) == 1:
        (result,) = results.values()
        settings = labels_of(result, names.GAIN)
        if gain is not None and gain not in settings:
            raise BadName(
                f"no gain setting {gain!r} in the result of {analysis}; it has: {', '.join(settings)}"
            )
        if by is not None:
            from scorecube.report.figures import panels

            stored = [result] if view.compute else study[next(iter(results))].results(analysis)
            attributes = {COLLECTION: next(iter(results))}
            stored = [of_metrics(each, metrics).assign_attrs(attributes) for each in stored]
            if form == "bars":
                if view.overview is None or names.CONFIDENCE not in stored[-1].dims:
                    raise BadPlan(f"{analysis} has no bars; draw curves", option="form")
                return panels.draw_bars(view.overview, stored, by, gain)
            return panels.draw_together(view.draw, stored, by, gain)
        return figure(result, gain, metrics=metrics)
    found = ", ".join(results)
    if gain is not None or by is not None:
        own = "gain" if by is None else "by"
        raise BadPlan(
            f"{option(own)} chooses within one collection; name one with {option('collections')}: {found}",
            option=own,
        )
    if view.overview is None:
        raise BadPlan(
            f"{analysis} is drawn for one collection at a time; name one with {option('collections')}: {found}"
        )
    return view.draw_overview([of_metrics(each, metrics) for each in results.values()])


def shown(drawn: Figure) -> Figure:
    """Return a figure that notebooks show; matplotlib shows those of pyplot only."""
    from scorecube.report.figures.canvas import ShownFigure

    drawn.__class__ = ShownFigure
    return drawn

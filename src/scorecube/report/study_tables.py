"""Tables, figures and contents of a study over its collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import COLLECTION, combine, frame_of, merge_gains, place_of
from scorecube.collection.arguments import MetricLike, metric_names
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.declare import View
from scorecube.errors import BadPlan, BadStudy, CorruptStudy, ScorecubeError, UnknownName, option
from scorecube.report.averages import averages
from scorecube.report.papers import CAPTIONED, caption
from scorecube.report.result_parts import chosen_metrics, notes_of, of_metrics, told_options
from scorecube.report.views import view_names, view_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scorecube.storage import Study

PRINTED = ("text", *CAPTIONED)
"""Formats that people read."""
RESULT = "result"
"""Column with the first digits of the digests of results, where several are shown."""
Where = Mapping[str, str]
"""Values of options, as words, that results have."""


class StudyTable(NamedTuple):
    """A table over collections, its caption, and by collection what limits its numbers."""

    frame: pd.DataFrame
    caption: str
    notes: dict[str, list[str]]


def find_view(study: Study, analysis: str) -> View:
    """Return the view of an analysis that exists, or with results in the study (UnknownName)."""
    known = view_names()
    stored = chain.from_iterable(part.contents()["results"] for part in study.collections())
    if analysis not in known and analysis not in stored:
        raise UnknownName(f"no analysis {analysis!r}; known: {', '.join(known)}")
    return view_of(analysis)


def collect_table(
    study: Study,
    analysis: str,
    name: str | None = None,
    collections: Sequence[str] | None = None,
    *,
    every: bool = False,
    average: bool = False,
    metrics: Sequence[MetricLike] | None = None,
    form: str = "",
    where: Where | None = None,
) -> StudyTable:
    """Return one table over collections.

    Results whose options differ are apart, and have columns for these options.

    study: Where the results are.
    analysis: ``scores`` or the name of an analysis.
    name: Table; None is the analysis' first, or of those for people the one that it shows.
    collections: Names; None takes all that have a result.
    every: All stored results instead of the latest, with the column ``result``.
    average: Means over the collections, see `averages`.
    metrics: Those to show; all by default.
    form: What the table is for; ``latex`` and ``markdown`` have a caption.
    where: Of results with these options only.
    Raises BadStudy: No result of the analysis in any of the collections.
    Raises BadPlan: A caption or means, of results whose options differ.
    """
    view = find_view(study, analysis)
    frames = []
    notes = dict[str, list[str]]()
    printed = form in PRINTED
    table = view.find_table(name, printed=printed)
    if table.source == "result" and view.compute is None and not every:
        sources = _results(study, view, collections, metrics, where or {})
    else:
        sources = list(_sources(study, view, collections, table.source))
    differing = _differing(sources)
    if differing and (average or form in CAPTIONED):
        raise _of_several(analysis, differing)
    if not sources:
        raise _without_results(study, analysis)
    if table.source == "result":
        table = view.find_table(name, sources, printed=printed)
    labels = [labels_of(source, names.METRIC) for source in sources if names.METRIC in source.dims]
    chosen = None if metrics is None else chosen_metrics(metrics, [*chain(*labels)])
    for source in sources:  # of which some may lack some metrics
        present = chosen and [name for name in chosen if name in labels_of(source, names.METRIC)]
        if present == []:
            continue
        with showing(study, str(source.attrs[COLLECTION]), analysis):
            frame = frame_of(table, of_metrics(source, present))
        if every and COLLECTION in frame and "digest" in source.attrs:
            frame.insert(1, RESULT, str(source.attrs["digest"])[:8])
        notes.setdefault(place_of(source.attrs), []).extend(notes_of(source.attrs))
        told = told_options(source.attrs)
        for option_name in reversed(differing):
            if option_name not in frame:
                frame.insert(1, option_name, told.get(option_name, ""))
        frames.append(frame)
    whole = combine(frames)
    if average:
        whole = averages(whole.drop(columns=RESULT, errors="ignore"))
    if printed:  # before rows are chosen
        whole = merge_gains(whole)
    above = caption(view, table, sources, whole, form) if form in CAPTIONED else ""
    return StudyTable(whole, above, notes)


@contextmanager
def showing(study: Study, collection: str, analysis: str) -> Iterator[None]:
    """Raise CorruptStudy where what is stored has not the form of what this version stores."""
    try:
        yield
    except (ScorecubeError, OSError, MemoryError):
        raise
    except Exception as error:  # of any type: anybody may have written it
        raise CorruptStudy(
            f"{study.path}: {collection}: {analysis} cannot be shown, as it has not the form that "
            f"scorecube stores ({type(error).__name__}: {error}); remove it, and compute it again"
        ) from error


def _results(
    study: Study,
    view: View,
    collections: Sequence[str] | None,
    metrics: Sequence[MetricLike] | None,
    where: Where,
) -> list[xr.Dataset]:
    """Return the latest result of each collection that has the metrics, if one has.

    Where their options differ, those of every set of options come together, of all collections that
    have such a result: the set of most collections first.
    """
    asked = [str(parse_known(name)) for name in metric_names("metrics", metrics or ())]
    wanted = {name.replace("-", "_"): value for name, value in where.items()}
    stored: dict[str, list[dict[str, Any]]] = {}
    for name in study if collections is None else collections:
        attributes = study[name].result_attributes(view.name)
        with showing(study, name, view.name):
            stored[name] = [attrs for attrs in attributes if wanted.items() <= _told(attrs).items()]
        if collections is not None and not stored[name]:
            study[name].result(view.name)  # raises that there is none
            raise _none_where(study, view, where)

    if where and not any(stored.values()):
        raise _none_where(study, view, where)

    def latest(name: str, options: Mapping[str, str] | None = None) -> xr.Dataset:
        found = [of for of in stored[name] if options is None or told_options(of) == options]
        results = (study[name].result(view.name, of["digest"]) for of in reversed(found))
        first = next(results)
        has_all = (of for of in chain([first], results) if _has(of, asked))
        return next(has_all, first).assign_attrs({COLLECTION: name})

    has_results = [name for name, attributes in stored.items() if attributes]
    chosen = [latest(name) for name in has_results]
    options = [told_options(result.attrs) for result in chosen]
    different = [of for place, of in enumerate(options) if of not in options[:place]]
    if len(different) < 2:
        return chosen
    groups = [
        [latest(name, of) for name in has_results if of in map(told_options, stored[name])]
        for of in different
    ]
    return list(chain(*sorted(groups, key=len, reverse=True)))


def _none_where(study: Study, view: View, where: Where) -> BadStudy:
    values = ", ".join(f"{key} {value}" for key, value in where.items())
    return BadStudy(f"{study.path}: no result of {view.name} with {option('where')} {values}")


def _told(attrs: Mapping[str, Any]) -> dict[str, str]:
    """Return options of a result as words, by their names in Python and on the command line."""
    told = told_options(attrs)
    return told | {name.removesuffix("s"): value for name, value in told.items()}


def _has(result: xr.Dataset, metrics: Sequence[str]) -> bool:
    return names.METRIC not in result.dims or {*metrics} <= {*labels_of(result, names.METRIC)}


def _differing(results: Sequence[xr.Dataset]) -> dict[str, list[str]]:
    """Return the values of options, as words, that differ between results."""
    told = [told_options(result.attrs) for result in results]
    by_name = {key: [of.get(key, "") for of in told] for key in chain(*told)}
    return {key: list(dict.fromkeys(of)) for key, of in by_name.items() if len({*of}) > 1}


def _of_several(analysis: str, differing: Mapping[str, Sequence[str]]) -> BadPlan:
    words = "; ".join(f"{name} {' or '.join(values)}" for name, values in differing.items())
    name, values = next(iter(differing.items()))
    return BadPlan(
        f"results of {analysis} with different options are no one table or figure: {words}; choose "
        f"with {option('where', f'{name}={values[0]}')}, or name collections",
        option="where",
    )


def _without_results(study: Study, analysis: str) -> BadStudy:
    return BadStudy(
        f"{study.path}: no result of {analysis} of the scores that are there now; run: scorecube "
        f"{analysis} {study.path}"
    )


def _sources(
    study: Study, view: View, collections: Sequence[str] | None, kind: str = "result"
) -> Iterator[xr.Dataset]:
    """Yield what tables are made from: scores, rankings, what is made of scores, or all results."""
    for name in study if collections is None else collections:
        collection = study[name]
        found = list[xr.Dataset]()
        named = collections is not None
        if kind == "cube":
            found = [collection.cube]
        elif kind == "rankings":
            found = [collection.rankings] if named or collection.head.rankings else []
        elif view.compute is not None:
            found = [view.compute(collection.cube)]
        else:
            found = collection.results(view.name)
        yield from (source.assign_attrs({COLLECTION: name}) for source in found)


def draw(
    study: Study,
    analysis: str,
    collections: Sequence[str] | None = None,
    metrics: Sequence[MetricLike] | None = None,
    by: str | None = None,
    form: str = "curves",
    top: int | None = None,
    where: Where | None = None,
) -> Figure:
    """Return the figure of the latest results of an analysis, at their first gain setting.

    study: Where the results are.
    analysis: Name of an analysis, or ``scores``, ``design`` or ``wcw``, which are made from scores.
    collections: Names; None takes all that have a result.
    metrics, top: As of `scorecube.report.drawing.figure`.
    by: ``gain`` or ``sampling``, whose values in one result are drawn together.
    form: With `by`: ``curves`` in one panel, or ``bars`` of shares.
    where: Of results with these options only.
    Raises UnknownName: An analysis or a metric that does not exist.
    Raises BadStudy: No result of the analysis.
    Raises BadPlan: What is about one collection, of several; results whose options differ.
    """
    from scorecube.report import drawing

    view = find_view(study, analysis)
    drawing.check_figure(view)
    if view.compute is not None:
        results = list(_sources(study, view, collections))
    else:
        results = _results(study, view, collections, metrics, where or {})
    if not results:
        raise _without_results(study, analysis)
    if differing := _differing(results):
        raise _of_several(analysis, differing)
    with showing(study, str(results[0].attrs[COLLECTION]), analysis):
        return drawing.figure(*results, metrics=metrics, by=by, kind=form, top=top)

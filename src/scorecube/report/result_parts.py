"""Tables, answers and the figure of one result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import KEYS, frame_of
from scorecube.collection.arguments import MetricLike, as_cube, check_dataset, metric_names
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known, uses_gains
from scorecube.declare import Answer, View, number_range
from scorecube.declare.options import options_of
from scorecube.errors import BadPlan, UnknownName, counted, nearest, option
from scorecube.methods import index
from scorecube.report.views import view_of

MOST_VALUES = 6
"""Of an option that are named."""
SIZES = ("n_runs", "n_topics")
DESCENDING = ":desc"
CLAUSES = re.compile("[;,] ")
BRACKETS = re.compile(r" ?\([^)]*\)")
"""Between the parts of a clause, the first of which says under which condition it holds."""
MANY = ("run", "run_a", "topic")
"""Columns of tables with many rows of each metric."""


def view_of_result(result: xr.Dataset) -> View:
    """Return the view of the analysis that a result is of; that of scores for a cube."""
    check_dataset(result, "the result", "analyse, evaluate or cube_from_scores")
    return view_of(str(result.attrs.get("analysis", "scores")))


def table(result: xr.Dataset, name: str | None = None) -> pd.DataFrame:
    """Return a table of one result, of a cube or rankings; see `scorecube.table`."""
    view = view_of_result(result)
    result = as_cube(result)
    return frame_of(view.find_table(name, [result]), result)


def answers(result: xr.Dataset) -> list[Answer]:
    """Return what a result says, one answer a metric: those to the first question of its view."""
    view = view_of_result(result)
    first = next(iter(view.answers.values()), None)
    return [] if first is None else list(first(result))


def notes_of(attrs: Mapping[Any, Any]) -> list[str]:
    """Return what limits the meaning of a result or of scores, each remark once."""
    remarks = [*attrs.get("notes", ()), *attrs.get("warnings", ()), *attrs.get(names.DOUBTS, ())]
    remarks += [attrs[names.LEFT_OUT]] if names.LEFT_OUT in attrs else []
    return list(dict.fromkeys(str(remark).rstrip(".") for remark in remarks))


def options_of_result(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the options of a result by name; nothing of one without a plan."""
    return dict(json.loads(attrs["plan"])["options"]) if "plan" in attrs else {}


def told_options(attrs: Mapping[Any, Any]) -> dict[str, str]:
    """Return the options of a result as words, without those that name what it is about."""
    kind = str(attrs.get("analysis", ""))
    method = index.find(kind)
    declared = {} if method is None else options_of(method)
    return {
        name: _words(value)
        for name, value in options_of_result(attrs).items()
        if name not in declared or declared[name].help
    }


def graded_metrics(result: xr.Dataset) -> list[str]:
    """Return the metrics of a result whose scores depend on gains."""
    if names.METRIC not in result.dims:
        return []
    return labels_of(result.isel({names.METRIC: uses_gains(result)}), names.METRIC)


def gain_of(result: xr.Dataset) -> str:
    """Return the gain setting of a result that has one, and a metric that uses it; else ""."""
    gains = labels_of(result, names.GAIN) if names.GAIN in result.dims else []
    is_one = len(gains) == 1 and gains[0] != names.AUTO and graded_metrics(result)
    return gains[0] if is_one else ""


def conditions(*results: Mapping[Any, Any]) -> str:
    """Return under which conditions results were made: sizes, options, trials and seed."""
    attrs = results[0]
    words = []
    for key, noun in zip(SIZES, ("run", "topic"), strict=True):
        if key in attrs and all(of.get(key) == attrs[key] for of in results):
            words.append(counted(int(attrs[key]), names.word(attrs, noun)))
    words += _options(attrs)
    trials = int(attrs.get("trials") or 0)
    if trials > 1:
        words.append(f"{trials:,} trials, seed {attrs['seed']}")
    return ", ".join(words)


def _options(attrs: Mapping[Any, Any]) -> Iterator[str]:
    """Yield the options that are always said, and those that are not the default."""
    options = options_of_result(attrs)
    kind = str(attrs.get("analysis", ""))
    method = index.find(kind)
    declared = {} if method is None else options_of(method)
    always = view_of(kind).conditions if options else []
    nouns = names.nouns(attrs)
    for name, value in options.items():
        option = declared.get(name)
        word = name.replace("_", " ")
        said = _words(value)
        if option is not None:
            word = option.flags[0].strip("-").replace("-", " ")
            if name not in always and (not option.help or said == _words(option.default)):
                continue
            said = nouns.write(said) if said in option.texts else said
        word = nouns.write(word)
        if value is not None:
            yield word if isinstance(value, bool) else f"{word} {said}"


def _words(value: object) -> str:
    """Return the value of an option, of a long list the beginning."""
    if isinstance(value, list | tuple):
        some = ", ".join(map(_words, value[:MOST_VALUES]))
        return some + ", ..." * (len(value) > MOST_VALUES)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def chosen_metrics(metrics: Sequence[MetricLike], known: list[str]) -> list[str]:
    """Return names of metrics as results have them; refuse those that none has (UnknownName)."""
    chosen = [
        name if name in known else str(parse_known(name))
        for name in metric_names("metrics", metrics)
    ]
    for metric in chosen:
        if metric not in known:
            close = nearest(metric, known)
            raise UnknownName(
                f"no metric {metric!r} in the result; nearest: {close}", option="metrics"
            )
    return chosen


def of_metrics(result: xr.Dataset, metrics: Sequence[MetricLike] | None) -> xr.Dataset:
    """Return the part of a result, or of a cube, that is about some metrics, in their order.

    Comparisons of two metrics are of both, where several are chosen, and of either, where one is.

    Raises UnknownName: A metric that the result does not have.
    Raises BadPlan: A result without metrics.
    """
    if metrics is None:
        return result
    if names.METRIC not in result.coords:
        raise BadPlan(
            f"{result.attrs.get('analysis', 'this result')} has no metrics to choose from; "
            f"leave {option('metrics')} out",
            option="metrics",
        )
    chosen = chosen_metrics(metrics, np.atleast_1d(result[names.METRIC].values).tolist())
    if "metric_a" in result.coords:
        (dim,) = result["metric_a"].dims
        ends = [result[f"metric_{end}"].isin(chosen) for end in "ab"]
        result = result.isel({dim: ends[0] | ends[1] if len(chosen) == 1 else ends[0] & ends[1]})
    return result.sel({names.METRIC: chosen})


def select_rows(
    frame: pd.DataFrame, *, sort: Sequence[str] | None = None, top: int | None = None
) -> pd.DataFrame:
    """Return the first rows of a table, perhaps in another order.

    frame: A table.
    sort: Columns, the most important first; with ``:desc`` the largest values come first.
    top: How many of the first rows to keep: of each metric, gain setting and collection in tables
        of runs or topics, else of each collection.
    Raises UnknownName: A column that the table does not have.
    """
    descending = {name.removesuffix(DESCENDING): name.endswith(DESCENDING) for name in sort or ()}
    for column in descending:
        if column not in frame:
            raise UnknownName(f"{option('sort')}: no column {column!r}", option="sort")
    if descending:
        ascending = [not largest_first for largest_first in descending.values()]
        frame = frame.sort_values([*descending], ascending=ascending, kind="stable")
    if top is not None:
        keys = KEYS if any(name in frame for name in MANY) else KEYS[:1]
        within = [key for key in keys if key in frame]
        frame = frame.groupby(within, sort=False).head(top) if within else frame.head(top)
    return frame.reset_index(drop=True)


def median_of(by_collection: Sequence[Iterable[Answer]], noun: str) -> list[Answer]:
    """Return for each metric the median and the range of its answers over collections.

    noun: What a collection is called.
    """
    by_label: dict[str, list[Answer]] = {}
    for answer in chain.from_iterable(by_collection):
        if np.isfinite(answer.value):
            by_label.setdefault(answer.label, []).append(answer)
    medians = []
    for label, of in by_label.items():
        values = [answer.value for answer in of]
        form = of[0].form
        conditions = {CLAUSES.split(BRACKETS.sub("", answer.clause))[0] for answer in of}
        condition = f"{conditions.pop()}: " if len(conditions) == 1 else ""
        clause = f"{condition}median of {counted(len(of), noun)} ({number_range(values, form)})"
        median = float(np.median(values))
        medians.append(Answer(label, median, form=form, clause=clause, what=of[0].what))
    return medians

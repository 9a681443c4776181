"""Tables, answers and the figure of one result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.arguments import as_cube, check_dataset, metric_names
from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan, counted, nearest, option
from scorecube.report.readable import number_range, with_labels
from scorecube.report.views import Answer, View, view_of

SIZES = ("n_runs", "n_topics")


def view_of_result(result: xr.Dataset) -> View:
    """Return the view of the analysis that a result is of; that of scores for a cube."""
    check_dataset(result, "the result", "analyse, evaluate or cube_from_scores")
    return view_of(str(result.attrs.get("analysis", "scores")))


def table(result: xr.Dataset, name: str | None = None) -> pd.DataFrame:
    """Return a table of one result, of a cube or rankings; see `scorecube.table`."""
    view, result = view_of_result(result), as_cube(result)
    return view.find_table(name, [result])[1].frame(result)


def answers(result: xr.Dataset) -> list[Answer]:
    """Return what a result says, one answer a metric: those to the first question of its view."""
    view = view_of_result(result)
    first = next(iter(view.answers.values()), None)
    return [] if first is None else list(first(result))


def notes_of(attrs: Mapping[Any, Any]) -> list[str]:
    """Return what limits the meaning of a result or of scores, each remark once."""
    remarks = [*attrs.get("notes", ()), *attrs.get(names.DOUBTS, ())]
    remarks += [attrs[key] for key in names.ABOUT_TOPICS if key in attrs]
    return list(dict.fromkeys(str(remark).rstrip(".") for remark in remarks))


def options_of_result(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the options of a result by name; nothing of one without a plan."""
    from scorecube.storage import plan_of

    return dict(plan_of(attrs)["options"]) if "plan" in attrs else {}


def conditions(*results: Mapping[Any, Any]) -> str:
    """Return under which conditions results were made: sizes, options, trials and seed.

    results: Attributes of results of one analysis with equal options.
    """
    attrs = results[0]
    word = "system" if attrs.get("by_system") else "run"
    sizes = [
        counted(int(attrs[key]), noun)
        if len({each[key] for each in results}) == 1
        else f"{number_range([int(each[key]) for each in results])} {noun}s"
        for key, noun in zip(SIZES, (word, "topic"), strict=True)
        if all(key in each for each in results)
    ]
    if "plan" in attrs:
        sizes.append(view_of(str(attrs["analysis"])).title(options_of_result(attrs)))
    trials = int(attrs.get("trials") or 0)
    if trials > 1:
        sizes.append(f"{trials:,} trials, seed {attrs['seed']}")
    return ", ".join(filter(None, sizes))


def of_metrics(result: xr.Dataset, metrics: Sequence[Any] | None) -> xr.Dataset:
    """Return the part of a result, or of a cube, that is about some metrics, in their order.

    Raises BadName: A metric that the result does not have.
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
    known = np.atleast_1d(result[names.METRIC].values).tolist()
    chosen = [
        name if name in known else str(parse_known(name))
        for name in metric_names("metrics", metrics)
    ]
    for metric in chosen:
        if metric not in known:
            close = nearest(metric, known)
            raise BadName(f"no metric {metric!r} in the result; nearest: {close}", option="metrics")
    for name in ("metric_a", "metric_b"):
        if name in result.coords:
            (dim,) = result[name].dims
            result = result.isel({dim: np.isin(result[name].values.astype(str), chosen)})
    return result.sel({names.METRIC: chosen})


def labelled(frame: pd.DataFrame, at: Mapping[str, Any] | None = None) -> list[dict[Any, Any]]:
    """Return rows with labels of their metrics, at the largest or at one value of columns."""
    return rows_at(with_labels(frame), at).to_dict("records")


def rows_at(frame: pd.DataFrame, at: Mapping[str, Any] | None) -> pd.DataFrame:
    """Return the rows with the largest value of columns, or with a value that some row has."""
    for name, value in (at or {}).items():
        if name in frame and len(frame):
            wanted = frame[name].max() if value == np.inf else value
            inside = frame[name] == wanted
            frame = frame[inside] if inside.any() else frame
    return frame


def median_of(by_collection: Sequence[Iterable[Answer]]) -> list[Answer]:
    """Return for each metric the median and the range of its answers over collections."""
    found: dict[str, list[Answer]] = {}
    for several in by_collection:
        for answer in several:
            if np.isfinite(answer.value):
                found.setdefault(answer.label, []).append(answer)
    medians = []
    for label, of in found.items():
        first, values = of[0], [answer.value for answer in of]
        median, number = float(np.median(values)), counted(len(of), "collection")
        clause = f"median of {number} ({number_range(values, first.form)})"
        medians.append(Answer(label, median, form=first.form, clause=clause, what=first.what))
    return medians

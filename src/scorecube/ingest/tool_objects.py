"""Objects of ranx as dictionaries. They are recognised by the module of their type, so that the package is not imported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from scorecube.errors import BadInput

RANX, IR_MEASURES = "ranx", "ir_measures"
IR_DATASETS = ("ir_datasets", "irds")


def package_of(value: Any) -> str:
    """Return the package that defines the type of an object.

    Examples
    --------
    >>> package_of({})
    'builtins'
    """
    return type(value).__module__.partition(".")[0]


def scores_of_tools(scores: Any) -> Any:
    """Return scores in objects of ranx as dictionaries; anything else as it is.

    Raises BadInput: An object without scores by topic: a Report of ranx, a run that has not been evaluated.
    """
    if package_of(scores) == RANX:
        scores = [scores]
    if isinstance(scores, list | tuple) and scores and all(_of_ranx(run) for run in scores):
        return {_name(run): _scores_of_run(run) for run in scores}
    if isinstance(scores, Mapping) and any(_of_ranx(run) for run in scores.values()):
        return {name: _scores_of_run(run) if _of_ranx(run) else run for name, run in scores.items()}
    return scores


def _of_ranx(value: Any) -> bool:
    return package_of(value) == RANX


def _name(run: Any) -> str:
    name = getattr(run, "name", None)
    if not isinstance(name, str) or not name:
        raise BadInput(
            "a run of ranx without a name; pass {name: run}, or make it with Run(..., name=...)"
            if hasattr(run, "scores")
            else _no_topics(run),
            option="scores",
        )
    return name


def _scores_of_run(run: Any) -> dict[str, Any]:
    by_metric = getattr(run, "scores", None)
    if by_metric is None:
        raise BadInput(_no_topics(run), option="scores")
    if not by_metric:
        raise BadInput(
            "a run of ranx without scores; call ranx.evaluate(qrels, run, metrics) first, or evaluate it here: "
            "sc.read_rankings(runs, qrels)",
            option="scores",
        )
    return {str(metric): dict(values) for metric, values in by_metric.items()}


def _no_topics(value: Any) -> str:
    return (
        f"a {type(value).__name__} of ranx has no scores of topics, only means if any; pass the evaluated Run objects, as a "
        "list"
    )


def contents_of(value: Any) -> Any:
    """Return topic -> document -> value of a Run or Qrels of ranx; anything else as it is."""
    return value.to_dict() if _of_ranx(value) and hasattr(value, "to_dict") else value


def of_ir_datasets(qrels: Any) -> Any:
    """Return the judgements of a name such as ``ir_datasets:vaswani``; anything else as it is.

    Raises BadInput: ir_datasets is not installed, knows no such name, or has no judgements of it.
    """
    start, _, name = str(qrels).partition(":")
    if not isinstance(qrels, str | os.PathLike) or start not in IR_DATASETS or not name:
        return qrels
    try:
        import ir_datasets

        return list(ir_datasets.load(name).qrels_iter())
    except ImportError:
        problem = "ir_datasets is not installed: pip install ir_datasets, or name a file"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:300]
    raise BadInput(f"{qrels}: {problem}", option="qrels")


def is_measure_object(value: Any) -> bool:
    """Return whether something is a measure of ir_measures."""
    return package_of(value) == IR_MEASURES and not isinstance(value, Iterable)

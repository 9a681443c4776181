"""Objects of ranx and repro_eval as dictionaries. They are recognised by the module of their type, so that neither package is imported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from scorecube.errors import BadInput
from scorecube.ingest.measure_names import IR_COUNTS, from_pyterrier

RANX, REPRO_EVAL, IR_MEASURES = "ranx", "repro_eval", "ir_measures"
IR_DATASETS = ("ir_datasets", "irds")
EVALUATED = ("run_b_orig", "run_a_orig", "run_b_rep", "run_a_rep")
"""Runs of an Evaluator of repro_eval: baseline and advanced run, original and reproduced."""


def package_of(value: Any) -> str:
    """Return the package that defines the type of an object.

    Examples
    --------
    >>> package_of({})
    'builtins'
    """
    return type(value).__module__.partition(".")[0]


def scores_of_evaluator(evaluator: Any) -> dict[str, Any]:
    """Return run -> topic -> measure -> value of an Evaluator of repro_eval.

    Its measures are those of trec_eval or, from version 0.5, of ir_measures; they get their names here.

    Raises BadInput: Nothing has been evaluated; replicated runs, which have other topics than the original ones.
    """
    found: dict[str, Any] = {
        name: by_topic
        for name in EVALUATED
        if (by_topic := getattr(evaluator, f"{name}_score", None))
    }
    if not found:
        raise BadInput(
            f"the {type(evaluator).__name__} of repro_eval has no scores yet; call its evaluate() first",
            option="scores",
        )
    topics = [set(by_topic) for by_topic in found.values()]
    if not set.intersection(*topics):
        raise BadInput(
            "the original and the replicated runs have no topic in common: they are two collections. Make a cube of each, as "
            "{'b': evaluator.run_b_orig_score, 'a': evaluator.run_a_orig_score}",
            option="scores",
        )
    return {
        run: {
            topic: {
                from_pyterrier(str(measure)): value
                for measure, value in values.items()
                if not IR_COUNTS.fullmatch(str(measure))
            }
            for topic, values in by_topic.items()
        }
        for run, by_topic in found.items()
    }


def scores_of_tools(scores: Any) -> Any:
    """Return scores in objects of ranx and repro_eval as dictionaries; anything else as it is.

    Raises BadInput: An object without scores by topic: a Report of ranx, a run that has not been evaluated.
    """
    if package_of(scores) == REPRO_EVAL:
        return scores_of_evaluator(scores)
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


def named_objects(runs: Any) -> Any:
    """Return the runs of an Evaluator of repro_eval by their names there (BadInput without runs); anything else as it is, one Run of ranx in a list."""
    if package_of(runs) != REPRO_EVAL:
        return [runs] if _of_ranx(runs) else runs
    found = {name: run for name in EVALUATED if (run := getattr(runs, name, None))}
    if not found:
        raise BadInput(
            f"the {type(runs).__name__} of repro_eval has no runs; make it with the paths of runs, or pass the runs as "
            "dictionaries",
            option="runs",
        )
    return found


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

"""Logs of evaluations of language models.

Every Eval Ever: instance_level_eval.schema.json 0.3.0. lm-evaluation-harness: evaluation_tracker.py
of lm-eval 0.4.13; before 0.4.7, samples do not name their metrics. Inspect: EvalLog version 2 and
samples_df of inspect-ai 0.3.285. autojudge-evaluate: eval_results/io.py of 1.1.0. All read
2026-11-25.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.scores import SCORE, Scores, scores_of_rows
from scorecube.ingest.source import File
from scorecube.ingest.tables import is_score

Row = tuple[int, Mapping[str, Any]]
"""Line, and the label of each role, the metric and the score."""
WORTH = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partially correct, incorrect and no answer of Inspect."""
OLD_FIELDS = frozenset({"doc_id", "doc", "target", "resps"})
"""Fields of samples of lm-evaluation-harness before 0.4.7."""
NO_METRICS = OLD_FIELDS | {"arguments", "filtered_resps", "doc_hash", "prompt_hash", "target_hash"}
AUTOJUDGE = ("run_id", "measure", "topic_id", "value")
"""Fields of results of autojudge-evaluate, or of their lines."""
SHARED = {"evaluation_id", "evaluation_name", "sample_id", "evaluation"}
"""Fields of samples of Every Eval Ever."""


def _scores(
    rows: list[Row], path: PathLike, metric: str | None, fields: Iterable[str], used: str
) -> Scores:
    """Return the scores of rows.

    fields, used: Names in the file, and a regular expression of those that rows have.
    """
    if not rows:
        raise BadInput("no samples", path)
    columns: dict[str, Any] = {role: [row[role] for _, row in rows] for role in rows[0][1]}
    for role, cells in columns.items():
        if role != SCORE and all(cell in (None, "") for cell in cells):
            hint = "; give samples_df the columns EvalModel + EvalTask + SampleSummary"
            raise BadInput(f"no {role} in any sample{hint if role == 'run' else ''}", path)
    unread = sorted(name for name in set(fields) if not re.fullmatch(used, name))
    notes = [f"not read: {', '.join(unread)}"] if unread else []
    return scores_of_rows(columns, metric, str, path, [line for line, _ in rows], notes=notes)


def _samples(file: File) -> list[Row]:
    """Return the objects of a file of JSON lines, or the rows of a table, with their lines."""
    rows = file.records if file.text else []
    return [(line, row) for line, row in rows or file.table.rows() if isinstance(row, Mapping)]


def _fields(samples: Iterable[Row]) -> list[str]:
    return [name for _, sample in samples for name in sample]


def task_of(path: PathLike) -> str:
    """Return the task in the name of a file of lm-evaluation-harness, without its date."""
    name = re.sub(r"\.(jsonl|json)$", "", bare_name(path)).removeprefix("samples_")
    return re.sub(r"_\d{4}-\d\d-\d\dT[\d.-]+$", "", name)


def read_lm_eval(file: File, metric: str | None) -> Scores:
    """Return the scores of a task: the folder is the run, a filter stands behind the metric."""
    samples, rows, used = _samples(file), list[Row](), set[str]()
    labels = {"run": Path(file.path).absolute().parent.name, "collection": task_of(file.path)}
    for line, sample in samples:
        metrics = sample.get("metrics")
        if not isinstance(metrics, list):
            numbers = [name for name, value in sample.items() if isinstance(value, int | float)]
            metrics = [name for name in numbers if name not in NO_METRICS]
        end = "" if sample.get("filter") in (None, "none") else f":{sample['filter']}"
        for name in map(str, metrics):
            used.add(re.escape(name))
            value = sample.get(name)
            # The perplexity of a sample is its log-likelihood, which the tool averages.
            is_log = name == "perplexity" and isinstance(value, int | float) and value <= 0
            shown = ("loglikelihood" if is_log else name) + end
            rows.append(
                (line, {**labels, "topic": sample.get("doc_id"), "metric": shown, SCORE: value})
            )
    read = "|".join(["doc_id", "doc_hash", "metrics", "filter", *used])
    return _scores(rows, file.path, metric, _fields(samples), read)


def is_lm_eval(file: File) -> bool:
    """Return whether a file has samples of lm-evaluation-harness."""
    is_old = file.names >= OLD_FIELDS and "metrics" not in file.names
    return file.names >= {"doc_id", "filter", "metrics"} or is_old


def read_every_eval_ever(file: File, metric: str | None) -> Scores:
    """Return the scores of samples of Every Eval Ever."""
    samples, rows = _samples(file), list[Row]()
    for line, sample in samples:
        of = sample.get("evaluation")
        labels = {
            "run": sample.get("model_id"),
            "topic": sample.get("sample_id"),
            "collection": str(sample.get("evaluation_name") or "").replace("/", "-"),
            "metric": str(sample.get("evaluation_result_id") or SCORE),
        }
        rows.append((line, {**labels, SCORE: of.get("score") if isinstance(of, Mapping) else None}))
    read = "model_id|sample_id|sample_hash|evaluation_name|evaluation|evaluation_result_id"
    return _scores(rows, file.path, metric, _fields(samples), read)


def is_every_eval_ever(file: File) -> bool:
    """Return whether a file has samples of Every Eval Ever."""
    return file.names >= SHARED


def read_inspect(file: File, metric: str | None) -> Scores:
    """Return the scores of a log of Inspect, or of its samples_df; an epoch is a repetition."""
    rows: list[Row] = []
    log = file.records[0][1] if len(file.records) == 1 else {}
    if not log.keys() & {"eval", "samples"}:  # the frame of samples_df
        samples = _samples(file)
        for line, sample in samples:
            labels = _inspect_labels(sample, sample.get("model"), sample.get("task_name"))
            for name, value in sample.items():
                if name.startswith("score_"):
                    score = {"metric": name.removeprefix("score_"), SCORE: _worth(value)}
                    rows.append((line, labels | score))
        used = "model|id|epoch|task_name|score_.*"
        return _scores(rows, file.path, metric, _fields(samples), used)
    of = log.get("eval") or {}
    samples = [
        (k, sample)
        for k, sample in enumerate(log.get("samples") or [], 1)
        if isinstance(sample, Mapping)
    ]
    scorers = dict.fromkeys(name for _, sample in samples for name in sample.get("scores") or ())
    task = str(of.get("task") or "").replace("/", "-")
    for line, sample in samples:
        labels = _inspect_labels(sample, of.get("model"), task)
        scores: Any = sample.get("scores")
        if not isinstance(scores, Mapping):  # it ended with an error
            scores = dict.fromkeys(scorers)
        for scorer, score in scores.items():
            value = score.get("value") if isinstance(score, Mapping) else score
            for name, part in (value if isinstance(value, Mapping) else {"": value}).items():
                shown = f"{scorer}_{name}" if name else str(scorer)
                rows.append((line, {**labels, "metric": shown, SCORE: _worth(part)}))
    return _scores(rows, file.path, metric, _fields(samples), "id|epoch|scores")


def _inspect_labels(sample: Mapping[str, Any], model: Any, task: Any) -> dict[str, Any]:
    of_sample = {"topic": sample.get("id"), "seed": sample.get("epoch")}
    return {"run": model, "collection": task, **of_sample}


def _worth(value: Any) -> Any:
    return WORTH.get(value, value) if isinstance(value, str) else value


def is_inspect(file: File) -> bool:
    """Return whether a file is a log of Inspect, or the frame of samples_df."""
    return any(
        file.names >= names
        for names in (
            {"version", "status", "eval", "plan"},
            {"eval_id", "sample_id", "id", "epoch"},
        )
    )


def read_autojudge(file: File, metric: str | None) -> Scores:
    """Return the scores that a judge gave to runs; its file names the collection."""
    judge = re.sub(r"\.(jsonl|json|txt)$", "", bare_name(file.path)).removesuffix(".eval")
    lines = enumerate(file.text.split("\n"), 1)
    samples = [(line, [row.get(name) for name in AUTOJUDGE]) for line, row in file.records]
    rows: list[Row] = []
    for line, sample in samples or [(line, text.split()) for line, text in lines if text.strip()]:
        if len(sample) != len(AUTOJUDGE):
            raise BadInput("a line has run, measure, topic and value", file.path, line)
        run, measure, topic, value = sample
        labels = {"run": run, "topic": topic, "collection": judge, "metric": str(measure)}
        if topic != "all":
            rows.append((line, {**labels, SCORE: value}))
    return _scores(rows, file.path, metric, (), "")


def is_autojudge(file: File) -> bool:
    """Return whether a file has results of autojudge-evaluate."""
    if file.records:
        return file.names >= set(AUTOJUDGE)
    return (
        "," not in file.lines[0]
        and all(
            len(fields) == len(AUTOJUDGE)
            and is_score(fields[3])
            and not is_score(fields[1])
            and not re.fullmatch(r"-?\d+\.\d+", fields[2])  # a mean, beside its deviation
            for fields in file.fields[:2]
        )
    )

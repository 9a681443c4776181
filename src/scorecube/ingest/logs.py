"""Logs of evaluations of language models.

Every Eval Ever: instance_level_eval.schema.json 0.3.0. lm-evaluation-harness: evaluation_tracker.py
of lm-eval 0.4.13; before 0.4.7, samples do not name their metrics. Inspect: EvalLog version 2 of
inspect-ai 0.3.285. autojudge-evaluate: eval_results/io.py of 1.1.0. All read 2026-11-25.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from scorecube.errors import BadInput
from scorecube.ingest.files import name_in
from scorecube.ingest.formats import File
from scorecube.ingest.scores import SCORE, Part, only_measures
from scorecube.ingest.tables import is_score

Row = tuple[int, Mapping[str, Any]]
"""Line, and the label of each role, the metric and the score."""
WORTH = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partially correct, incorrect and no answer of Inspect."""
OLD_FIELDS = frozenset({"doc_id", "doc", "target", "resps"})
"""Fields of samples of lm-evaluation-harness before 0.4.7."""
NO_METRICS = OLD_FIELDS | {"arguments", "filtered_resps", "doc_hash", "prompt_hash", "target_hash"}
AUTOJUDGE = ("run_id", "measure", "topic_id", "value")
AUTOJUDGE_LINE = re.compile(r"[^\s,]+\s+(?=\S*[A-Za-z])\S+\s+(?!-?\d+\.\d+\s)\S+\s+(\S+)")
"""Run, measure, topic and score; a decimal in third place is a mean, beside its deviation."""
EVERY_EVAL_EVER = frozenset({"evaluation_id", "evaluation_name", "sample_id", "evaluation"})
INSPECT = frozenset({"version", "status", "eval", "plan"})
LM_EVAL = frozenset({"doc_id", "filter", "metrics"})
"""Fields of results of autojudge-evaluate, or of their lines; of samples and logs of others."""


def _reader(rows_of: Callable[[File], Iterable[Row]]) -> Callable[[File, str | None], Part]:
    """Return a reader of the scores that a function finds in a file."""

    def read(file: File, metric: str | None) -> Part:
        rows = list(rows_of(file))
        if not rows:
            raise BadInput("no samples", file.path)
        frame = pd.DataFrame([row for _, row in rows], [line for line, _ in rows], dtype=object)
        return only_measures(frame, metric, str, file.path)

    return read


@_reader
def read_lm_eval(file: File) -> Iterator[Row]:
    """Yield the scores of a task: the folder is the run, a filter stands behind the metric."""
    name = name_in(file.path, r"\.(jsonl|json)$").removeprefix("samples_")
    task = re.sub(r"_\d{4}-\d\d-\d\dT[\d.-]+$", "", name)  # without the date
    labels = {"run": Path(file.path).absolute().parent.name, "collection": task}
    for line, sample in file.records:
        metrics = sample.get("metrics")
        if not isinstance(metrics, list):
            numbers = [name for name, value in sample.items() if isinstance(value, int | float)]
            metrics = [name for name in numbers if name not in NO_METRICS]
        end = "" if sample.get("filter") in (None, "none") else f":{sample['filter']}"
        for name in map(str, metrics):
            value = sample.get(name)
            # The perplexity of a sample is its log-likelihood, which the tool averages.
            is_log = name == "perplexity" and isinstance(value, int | float) and value <= 0
            shown = ("loglikelihood" if is_log else name) + end
            yield line, {**labels, "topic": sample.get("doc_id"), "metric": shown, SCORE: value}


@_reader
def read_every_eval_ever(file: File) -> Iterator[Row]:
    """Yield the scores of samples of Every Eval Ever."""
    for line, sample in file.records:
        of, task = sample.get("evaluation"), str(sample.get("evaluation_name") or "")
        labels = {"run": sample.get("model_id"), "topic": sample.get("sample_id")}
        metric = str(sample.get("evaluation_result_id") or SCORE)
        score = of.get("score") if isinstance(of, Mapping) else None
        yield line, {**labels, "collection": task.replace("/", "-"), "metric": metric, SCORE: score}


@_reader
def read_inspect(file: File) -> Iterator[Row]:
    """Yield the scores of a log of Inspect; an epoch is a repetition."""
    log = dict(file.records).get(1, {})
    of = log.get("eval") or {}
    labels = {"run": of.get("model"), "collection": str(of.get("task") or "").replace("/", "-")}
    samples = [sample for sample in log.get("samples") or [] if isinstance(sample, Mapping)]
    scorers = dict.fromkeys(name for sample in samples for name in sample.get("scores") or ())
    for number, sample in enumerate(samples, 1):
        labels |= {"topic": sample.get("id"), "seed": sample.get("epoch")}
        # A sample without scores ended with an error.
        for scorer, score in (sample.get("scores") or dict.fromkeys(scorers)).items():
            value = score.get("value") if isinstance(score, Mapping) else score
            for name, part in (value if isinstance(value, Mapping) else {"": value}).items():
                shown = f"{scorer}_{name}" if name else str(scorer)
                worth = WORTH.get(part, part) if isinstance(part, str) else part
                yield number, {**labels, "metric": shown, SCORE: worth}


@_reader
def read_autojudge(file: File) -> Iterator[Row]:
    """Yield the scores that a judge gave to runs; its file names the collection."""
    judge = name_in(file.path, r"\.(jsonl|json|txt)$").removesuffix(".eval")
    lines = [(k, line.split()) for k, line in enumerate(file.text.split("\n"), 1) if line.strip()]
    samples = [(line, [row.get(name) for name in AUTOJUDGE]) for line, row in file.records]
    for line, sample in samples or lines:
        if len(sample) != len(AUTOJUDGE):
            raise BadInput("a line has run, measure, topic and value", file.path, line)
        run, measure, topic, value = sample
        if topic != "all":
            labels = {"collection": judge, "run": run, "topic": topic}
            yield line, {**labels, "metric": measure, SCORE: value}


def is_autojudge(file: File) -> bool:
    """Return whether a file has results of autojudge-evaluate."""
    rows = [AUTOJUDGE_LINE.fullmatch(line.strip()) for line in file.lines[:2]]
    return file.names >= {*AUTOJUDGE} or all(row and is_score(row[1]) for row in rows)

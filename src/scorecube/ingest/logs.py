"""Logs of evaluations of language models.

Every Eval Ever: instance_level_eval.schema.json 0.3.0. lm-evaluation-harness: evaluation_tracker.py
of lm-eval 0.4.13; before 0.4.7, samples do not name their metrics. Inspect: EvalLog version 2 and
samples_df of inspect-ai 0.3.285. autojudge-evaluate: eval_results/io.py of 1.1.0. All read
2026-11-25.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.scores import SCORE, Scores, scores_of, wanted_measures
from scorecube.ingest.source import File

Record = Mapping[str, Any]
Row = dict[str, Any]
"""Label of each role, metric and score."""
WORTH = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partially correct, incorrect and no answer of Inspect."""
OLD_FIELDS = frozenset({"doc_id", "doc", "target", "resps"})
"""Fields of samples of lm-evaluation-harness before 0.4.7."""
NO_METRICS = OLD_FIELDS | {"arguments", "filtered_resps", "doc_hash", "prompt_hash", "target_hash"}


def _scores(
    rows: Iterable[tuple[int, Row]], path: PathLike, metric: str | None, unread: Iterable[str]
) -> Scores:
    """Return the scores of rows with their lines.

    unread: Names in the file from which rows have nothing.
    """
    kept = list(rows)
    if not kept:
        raise BadInput("no samples", path)
    measures = dict.fromkeys(str(row["metric"]) for _, row in kept)
    names, others = wanted_measures(measures, metric, str)
    kept = [(line, row) for line, row in kept if row["metric"] in names]
    roles = [role for role in kept[0][1] if role != SCORE] if kept else ["run", "topic", "metric"]
    labels = {role: [row.get(role) for _, row in kept] for role in roles}
    for role in roles:
        if kept and all(label in (None, "") for label in labels[role]):
            hint = "; give samples_df the columns EvalModel + EvalTask + SampleSummary"
            raise BadInput(f"no {role} in any sample{hint if role == 'run' else ''}", path)
    notes = [f"not read: {', '.join(sorted(unread))}"] if unread else []
    values = {"": [row[SCORE] for _, row in kept]}
    lines = [line for line, _ in kept]
    return scores_of(labels, values, path, lines, notes=notes, others=others)


def _samples(file: File) -> list[tuple[int, Record]]:
    """Return the objects of a file of JSON lines, or the rows of a table, with their lines."""
    records = file.json[1] if file.text else []
    return [(line, row) for line, row in records or file.table.rows() if isinstance(row, Mapping)]


def _names(records: Iterable[tuple[int, Record]], used: str) -> set[str]:
    """Return the names of the fields of records but those that are used, a regular expression."""
    names = {name for _, record in records for name in record}
    return {name for name in names if not re.fullmatch(used, name)}


def task_of(path: PathLike) -> str:
    """Return the task in the name of a file of lm-evaluation-harness, without the date at its end.

    Examples
    --------
    >>> task_of("out/org__a/samples_gsm8k_2026-11-25T13-15-30.134994.jsonl")
    'gsm8k'
    """
    name = re.sub(r"\.(jsonl|json)$", "", bare_name(path)).removeprefix("samples_")
    return re.sub(r"_\d{4}-\d\d-\d\dT[\d.-]+$", "", name)


def read_lm_eval(file: File, metric: str | None) -> Scores:
    """Return the scores of a task: the folder is the run, a filter stands behind the metric."""
    samples, task = _samples(file), task_of(file.path)
    folder = Path(file.path).absolute().parent.name
    used: set[str] = set()

    def rows() -> Iterator[tuple[int, Row]]:
        for line, sample in samples:
            metrics = sample.get("metrics")
            if not isinstance(metrics, list):
                metrics = [
                    name
                    for name, value in sample.items()
                    if name not in NO_METRICS and isinstance(value, int | float)
                ]
            end = sample.get("filter")
            for name in map(str, metrics):
                used.add(name)
                value = sample.get(name)
                # The perplexity of a sample is its log-likelihood, which the tool averages.
                shown = "loglikelihood" if name == "perplexity" and _is_negative(value) else name
                labels = {"run": folder, "topic": sample.get("doc_id"), "collection": task}
                shown += f":{end}" if end not in (None, "none") else ""
                yield line, {**labels, "metric": shown, SCORE: value}

    found = list(rows())
    unread = _names(samples, "doc_id|doc_hash|metrics|filter") - used
    return _scores(found, file.path, metric, unread)


def _is_negative(value: Any) -> bool:
    return isinstance(value, int | float) and value <= 0


def is_lm_eval(names: set[str]) -> bool:
    """Return whether the names are those of a sample of lm-evaluation-harness."""
    return {"doc_id", "filter", "metrics"} <= names or (
        names >= OLD_FIELDS and "metrics" not in names
    )


def read_every_eval_ever(file: File, metric: str | None) -> Scores:
    """Return the scores of samples of Every Eval Ever."""
    samples = _samples(file)
    unread = _names(
        samples, "model_id|sample_id|sample_hash|evaluation_name|evaluation|evaluation_result_id"
    )

    def rows() -> Iterator[tuple[int, Row]]:
        for line, sample in samples:
            of = sample.get("evaluation")
            yield (
                line,
                {
                    "run": sample.get("model_id"),
                    "topic": sample.get("sample_id"),
                    "collection": str(sample.get("evaluation_name") or "").replace("/", "-"),
                    "metric": str(sample.get("evaluation_result_id") or SCORE),
                    SCORE: of.get("score") if isinstance(of, Mapping) else None,
                },
            )

    return _scores(rows(), file.path, metric, unread)


def read_inspect(file: File, metric: str | None) -> Scores:
    """Return the scores of a log of Inspect, or of its samples_df; an epoch is a repetition."""
    log = file.json[0] if file.text else None
    if log is not None and not is_inspect_log(set(log)):
        raise BadInput("not a file of the layout inspect", file.path)
    if log is None:
        samples = _samples(file)
        unread = _names(samples, "model|id|epoch|task_name|score_.*")
        return _scores(_rows_of_frame(samples), file.path, metric, unread)
    of, listed = log.get("eval") or {}, log.get("samples")
    samples = [(k, each) for k, each in enumerate(listed or [], 1) if isinstance(each, Mapping)]
    unread = _names(samples, "id|epoch|scores")
    scorers = dict.fromkeys(name for _, sample in samples for name in sample.get("scores") or ())

    def rows() -> Iterator[tuple[int, Row]]:
        for line, sample in samples:
            labels = {
                "run": of.get("model"),
                "topic": sample.get("id"),
                "collection": str(of.get("task") or "").replace("/", "-"),
                "seed": sample.get("epoch"),
            }
            scores = sample.get("scores")
            if not isinstance(scores, Mapping):  # it ended with an error
                yield from ((line, {**labels, "metric": name, SCORE: None}) for name in scorers)
                continue
            for scorer, score in scores.items():
                value = score.get("value") if isinstance(score, Mapping) else score
                several = value if isinstance(value, Mapping) else {"": value}
                for name, each in several.items():
                    shown = f"{scorer}_{name}" if name else str(scorer)
                    yield line, {**labels, "metric": shown, SCORE: _worth(each)}

    return _scores(rows(), file.path, metric, unread)


def _rows_of_frame(samples: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, Row]]:
    """Yield the scores of the frame of samples_df."""
    for line, sample in samples:
        labels = {
            "run": sample.get("model"),
            "topic": sample.get("id"),
            "collection": sample.get("task_name"),
            "seed": sample.get("epoch"),
        }
        for name, value in sample.items():
            if name.startswith("score_"):
                yield line, {**labels, "metric": name.removeprefix("score_"), SCORE: _worth(value)}


def _worth(value: Any) -> Any:
    return WORTH.get(value, value) if isinstance(value, str) else value


def is_inspect_log(names: set[str]) -> bool:
    """Return whether the names are those of a log of Inspect."""
    return names >= {"version", "status", "eval", "plan"}


def read_autojudge(file: File, metric: str | None) -> Scores:
    """Return the scores that a judge gave to runs; its file names the collection."""
    stem = re.sub(r"\.(jsonl|json|txt)$", "", bare_name(file.path)).removesuffix(".eval")
    if file.json[1]:
        samples = [(line, tuple(map(row.get, KEYS))) for line, row in _samples(file)]
    else:
        lines = enumerate(file.text.split("\n"), 1)
        samples = [(line, tuple(text.split())) for line, text in lines if text.strip()]
    for line, sample in samples:
        if len(sample) != len(KEYS):
            raise BadInput("a line has run, measure, topic and value", file.path, line)
    rows = (
        (
            line,
            {"run": run, "topic": topic, "collection": stem, "metric": str(measure), SCORE: value},
        )
        for line, (run, measure, topic, value) in samples
        if topic != "all"
    )
    return _scores(rows, file.path, metric, ())


KEYS = ("run_id", "measure", "topic_id", "value")
"""Fields of results of autojudge-evaluate."""
Read = Callable[[File, str | None], Scores]

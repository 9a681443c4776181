"""Files of evaluation tools: how each is recognised, and which of its fields are the run, the topic, ..., and scores.

A layout is a declaration; `scorecube.ingest.tables` makes a table of the records of any file, and `scorecube.ingest.records` scores of the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorecube.errors import BadInput, counted
from scorecube.ingest.files import PathLike, bare_name
from scorecube.names import SCORE

Record = Mapping[str, Any]
Scores = Mapping[str, Any]
"""Metric -> score of a record."""
FOLDER, STEM, TASK = "folder of the file", "name of the file", "task in the name of the file"
"""Fields that records have from the path of their file."""
INSPECT_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partially correct, incorrect, no answer."""


@dataclass(frozen=True)
class Layout:
    """Files of one tool.

    name: Value of the argument `layout`.
    about: Content in a few words.
    schema: Where the schema is described, its version, and when it was read.
    keys: Names that a record has, or the document that holds the records; one of these sets is enough.
    roles: Role (run, topic, collection, seed) -> its field in a record, with dots between the names of nested ones.
    scores: Record -> metric -> score.
    held: Regular expression of the names of the fields from which scores are taken.
    same: Field that tells whether topics of one name are the same; '' for none.
    summary: Topic of means over all topics, which are left out; '' for none.
    records: Document -> its records; None where each line or row is a record.
    hint: What to do about samples without a role.
    advice: What to do about scores that are all 0 in a collection, if the tool writes 0 for other things, too.
    """

    name: str
    about: str
    schema: str
    keys: tuple[frozenset[str], ...]
    roles: Mapping[str, str]
    scores: Callable[[Record], Scores]
    held: str
    same: str = ""
    summary: str = ""
    records: Callable[[Any], Iterable[Record]] | None = None
    hint: str = ""
    advice: str = ""

    def fits(self, names: Iterable[str]) -> bool:
        """Return whether a record, or a document, with these names is of the tool."""
        found = set(names)
        return any(keys <= found for keys in self.keys)


class LayoutReader:
    """Makes rows of the records of one file.

    layout: Of the file.
    path: None for a frame.
    known: Marks of topics that were read so far, of all files, if the layout has any.
    """

    def __init__(
        self, layout: Layout, path: PathLike | None, known: dict[tuple[str, str], str]
    ) -> None:
        self.layout, self._path, self._known = layout, path, known
        self._places = places_of(path)
        self._unread: dict[tuple[str, ...], set[str]] = {}
        self._rows: dict[tuple[str, ...], int] = {}
        self._n_other = 0

    def placed(
        self, record: Record, columns: Mapping[str, Sequence[Any]], n_rows: int
    ) -> tuple[int, Mapping[str, Any]]:
        """Return the number of the row that a record belongs to, and its cells; a larger number than `n_rows` for a mean over topics.

        A tool may write the metrics of a topic, or the filters of answers, one by one: they share a row.
        """
        layout = self.layout
        roles = {name: _at(record, name, self._places) for name in layout.roles.values()}
        topic = roles[layout.roles["topic"]]
        if layout.summary and topic == layout.summary:
            return n_rows + 1, {}
        scores = layout.scores(record)
        if (names := tuple(record)) not in self._unread:
            used = {name.partition(".")[0] for name in roles} | {layout.same}
            metrics = {name.partition(":")[0] for name in scores}
            self._unread[names] = {
                name
                for name in names
                if name not in used | metrics and not re.fullmatch(layout.held, name)
            }
        mark = record.get(layout.same)
        if isinstance(mark, str):
            of = str(roles.get(layout.roles.get("collection", ""))), str(topic)
            self._n_other += self._known.setdefault(of, mark) != mark
        key = tuple(map(str, roles.values()))
        place = self._rows.setdefault(key, n_rows)
        if place < n_rows and all(
            columns[name][place] is None for name in scores if name in columns
        ):
            return place, scores
        return n_rows, {**roles, **scores}

    def refuse_lacking(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Refuse a file in which no record has a role (BadInput)."""
        for role, name in self.layout.roles.items():
            if name in columns and all(value in (None, "") for value in columns[name]):
                raise BadInput(f"no {role}: no sample has {name}{self.layout.hint}", self._path)

    @property
    def unread(self) -> list[str]:
        """Names from which rows have nothing."""
        return sorted(set().union(*self._unread.values()))

    @property
    def notes(self) -> list[str]:
        """What a user should know."""
        if not self._n_other:
            return []
        of = counted(self._n_other, "topic")
        return [f"{self.layout.same} of {of} differs from that in another file: are they the same?"]


def _at(record: Record, name: str, places: Record) -> Any:
    """Return a field of a record, or of its file's path."""
    if name in places:
        return places[name]
    found: Any = record
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def places_of(path: PathLike | None) -> dict[str, str]:
    """Return the fields that records have from the path of their file; the date at the end of a name is no part of the task.

    Examples
    --------
    >>> places_of("out/org__a/samples_gsm8k_2026-11-25T13-15-30.134994.jsonl")["task in the name of the file"]
    'gsm8k'
    """
    if path is None:
        return {}
    name = re.sub(r"\.(jsonl|json)$", "", bare_name(path))
    task = re.sub(r"_\d{4}-\d\d-\d\dT[\d.-]+$", "", name.removeprefix("samples_"))
    return {FOLDER: Path(path).absolute().parent.name, STEM: name.removesuffix(".eval"), TASK: task}


def _harness_scores(record: Record) -> Scores:
    """Return the metrics that a sample lists, with the filter of answers behind them."""
    metrics, filtered = record.get("metrics"), record.get("filter")
    end = f":{filtered}" if filtered not in (None, "none") else ""
    names = metrics if isinstance(metrics, list) else []
    return {f"{name}{end}": record.get(name) for name in names if isinstance(name, str)}


def _shared_scores(record: Record) -> Scores:
    metric, evaluation = record.get("evaluation_result_id"), record.get("evaluation")
    score = evaluation.get("score") if isinstance(evaluation, Mapping) else None
    return {str(metric or SCORE): score}


def _inspect_scores(record: Record) -> Scores:
    """Return the score of each scorer; of one that gives several values, each."""
    scores = record.get("scores")
    found: dict[str, Any] = {}
    for scorer, score in scores.items() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        several = value.items() if isinstance(value, Mapping) else ()
        found |= {f"{scorer}_{name}": each for name, each in several} or {str(scorer): value}
    return {name: _inspect_value(value) for name, value in found.items()}


def _inspect_value(value: Any) -> Any:
    return INSPECT_VALUES.get(value, value) if isinstance(value, str) else value


def _frame_scores(record: Record) -> Scores:
    start = "score_"
    return {
        name.removeprefix(start): _inspect_value(value)
        for name, value in record.items()
        if name.startswith(start)
    }


def _inspect_records(log: Any) -> Iterator[Record]:
    samples = log.get("samples")
    for sample in samples if isinstance(samples, list) else ():
        yield {**sample, "eval": log.get("eval")} if isinstance(sample, Mapping) else {}


LAYOUTS = (
    Layout(
        "every_eval_ever",
        "samples of Every Eval Ever (JSON lines, or a table of them)",
        "instance_level_eval.schema.json 0.3.0 of evaleval/every_eval_ever, read 2026-11-25",
        (frozenset({"evaluation_id", "evaluation_name", "sample_id", "evaluation"}),),
        {"run": "model_id", "topic": "sample_id", "collection": "evaluation_name"},
        _shared_scores,
        "evaluation|evaluation_result_id",
        "sample_hash",
        advice="the tool writes 0 for a score that its source lacks",
    ),
    Layout(
        "lm_eval",
        "samples_TASK_DATE.jsonl of lm-evaluation-harness, in a folder for each model",
        "evaluation_tracker.py of lm-eval 0.4.13, read 2026-11-25",
        (frozenset({"doc_id", "doc_hash", "filter", "metrics"}),),
        {"run": FOLDER, "topic": "doc_id", "collection": TASK},
        _harness_scores,
        "metrics|filter",
        "doc_hash",
    ),
    Layout(
        "inspect",
        "log of Inspect in JSON, with its samples",
        "EvalLog version 2 of inspect-ai 0.3.285, read 2026-11-25",
        (frozenset({"version", "status", "eval", "plan"}),),
        {"run": "eval.model", "topic": "id", "collection": "eval.task", "seed": "epoch"},
        _inspect_scores,
        "scores",
        records=_inspect_records,
    ),
    Layout(
        "inspect_samples",
        "frame of Inspect's samples_df with the columns of EvalModel and EvalTask, as CSV or Parquet",
        "samples_df of inspect-ai 0.3.285, read 2026-11-25",
        (frozenset({"eval_id", "sample_id", "id", "epoch"}),),
        {"run": "model", "topic": "id", "collection": "task_name", "seed": "epoch"},
        _frame_scores,
        "score_.*",
        hint="; give samples_df the columns EvalModel + EvalTask + SampleSummary",
    ),
    Layout(
        "autojudge",
        "results of runs by topic of autojudge-evaluate (JSON lines), a file for each judge",
        "eval_results/io.py of autojudge-evaluate 1.1.0, read 2026-11-25",
        (frozenset({"run_id", "topic_id", "measure", "value"}),),
        {"run": "run_id", "topic": "topic_id", "collection": STEM},
        lambda record: {str(record.get("measure")): record.get("value")},
        "measure|value",
        summary="all",
    ),
)
"""Files of other tools that are tables of scores."""
BY_NAME = {layout.name: layout for layout in LAYOUTS}


def layout_of(names: Iterable[str]) -> Layout | None:
    """Return the layout of a record, a document or a frame with these names, if it is known."""
    found = set(names)
    return next((layout for layout in LAYOUTS if layout.fits(found)), None)

"""Runs and judgements as other tools hold them in memory -> text in TREC's format, which the readers of files read.

The text makes ties, duplicates, levels and errors the same as those of files. Line numbers in messages count the documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scorecube.errors import BadInput
from scorecube.ingest.judge_labels import HEADERS
from scorecube.ingest.roles import RUN_HEADERS, SCORE_HEADERS, TOPIC_HEADERS, header_word
from scorecube.ingest.tool_objects import contents_of, named_objects
from scorecube.kernels.parsing.byte_words import PADDING

DOCUMENT = HEADERS["document"]
LEVEL = HEADERS["label"]
TAGS = (*RUN_HEADERS, "tag", "name")
RUN_FORMS = (
    "{run: {topic: {document: score}}} (pytrec_eval), {run: records with query_id, doc_id and score} (ir_measures), "
    "{run: data frame with columns qid, docno, score} (PyTerrier), or Run objects of ranx"
)
QRELS_FORMS = (
    "{topic: {document: level}} (pytrec_eval), records with query_id, doc_id and relevance (ir_measures), "
    "a data frame with columns qid, docno, label (PyTerrier), or Qrels of ranx"
)
Row = tuple[Any, Any, Any, Any]
"""Topic, document, value, and the rank or None."""


@dataclass(frozen=True)
class RunInMemory:
    """A run as text.

    Parameters
    ----------
    name
        Of the run.
    text
        uint8 (byte,): lines of topic, Q0, document, rank, score and a tag, padded.
    """

    name: str
    text: np.ndarray[Any, np.dtype[np.uint8]]

    @property
    def path(self) -> str:
        """What messages name in place of a file."""
        return f"run {self.name!r}"


def runs_in_memory(runs: Any) -> list[RunInMemory] | None:
    """Return runs that are objects; None for paths.

    Parameters
    ----------
    runs
        Any form of `RUN_FORMS`, or paths.

    Raises
    ------
    BadInput
        An object in another form, a run without a name, labels with blanks.

    Examples
    --------
    >>> [run.name for run in runs_in_memory({"a": {"1": {"d1": 0.5}}})]
    ['a']
    >>> runs_in_memory(["a.run", "b.run"])
    """
    if _is_path(runs):
        return None
    runs = named_objects(runs)
    if isinstance(runs, pd.DataFrame):
        return [_run(name, frame) for name, frame in _by_run(runs)]
    if isinstance(runs, Mapping):
        if not runs:
            raise BadInput(f"no run; expected {RUN_FORMS}", option="runs")
        return [_run(name, run) for name, run in runs.items()]
    listed = list(runs) if isinstance(runs, Iterable) else [runs]
    if all(map(_is_path, listed)):  # also none, which the reader of files refuses
        return None
    return [_run(_name_of(run), run) for run in listed]


def qrels_in_memory(qrels: Any) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
    r"""Return judgements that are an object as padded text in TREC's format; None for a path.

    Parameters
    ----------
    qrels
        Any form of `QRELS_FORMS`, or a path.

    Raises
    ------
    BadInput
        An object in another form, labels with blanks.

    Examples
    --------
    >>> qrels_in_memory({"1": {"d1": 2}})[:-72].tobytes()
    b'1 0 d1 2\n'
    """
    if _is_path(qrels):
        return None
    rows = _rows(qrels, LEVEL, ("relevance",), QRELS_FORMS, "qrels")
    return _padded(
        f"{_word(topic, 'topic')} 0 {_word(document, 'document')} {_level(level)}\n"
        for topic, document, level, _ in rows
    )


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _name_of(run: Any) -> str:
    name = getattr(run, "name", None)
    if not isinstance(name, str) or not name:
        raise BadInput(f"a run without a name; expected {RUN_FORMS}", option="runs")
    return name


def _run(name: Any, run: Any) -> RunInMemory:
    rows = _rows(run, SCORE_HEADERS, ("score",), RUN_FORMS, "runs")
    counts: dict[str, int] = {}

    def lines() -> Iterator[str]:
        for topic, document, score, rank in rows:
            counts[topic] = counts.get(topic, 0) + 1
            place = counts[topic] if rank is None else rank
            yield f"{_word(topic, 'topic')} Q0 {_word(document, 'document')} {place} {_score(score)} -\n"

    text = _padded(lines())
    if len(text) == PADDING:
        raise BadInput(f"run {str(name)!r} has no document", option="runs")
    return RunInMemory(str(name), text)


def _by_run(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the runs of one frame by the column that names them."""
    columns = [column for column in frame.columns if header_word(str(column)) in TAGS]
    if len(columns) != 1:
        raise BadInput(
            f"the frame has {len(columns)} columns that name the run ({', '.join(TAGS[:3])}, name, ...); expected one, or "
            "{run: data frame}",
            option="runs",
        )
    for name, part in frame.groupby(columns[0], sort=True):
        yield str(name), part


def _rows(
    value: Any, headers: tuple[str, ...], fields: tuple[str, ...], forms: str, argument: str
) -> Iterator[Row]:
    """Return rows of one run, or of judgements, in any form."""
    value = contents_of(value)
    if isinstance(value, pd.DataFrame):
        return _rows_of_frame(value, headers, forms, argument)
    if isinstance(value, Mapping):
        return _rows_of_mapping(value, forms, argument)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise BadInput(
            f"{argument}: found {type(value).__name__}; expected {forms}", option=argument
        )
    return _rows_of_records(value, fields[0], forms, argument)


def _rows_of_mapping(value: Mapping[Any, Any], forms: str, argument: str) -> Iterator[Row]:
    for topic, documents in value.items():
        if not isinstance(documents, Mapping):
            raise BadInput(
                f"{argument}: {topic!r} holds {type(documents).__name__}, not documents; expected {forms}",
                option=argument,
            )
        for document, number in documents.items():
            if isinstance(number, Mapping):
                raise BadInput(
                    f"{argument}: {topic!r} has one level of dictionaries too many; expected {forms}",
                    option=argument,
                )
            yield topic, document, number, None


def _rows_of_records(
    records: Iterable[Any], field: str, forms: str, argument: str
) -> Iterator[Row]:
    for record in records:
        if not all(hasattr(record, name) for name in ("query_id", "doc_id", field)):
            raise BadInput(
                f"{argument}: {record!r:.80} has no query_id, doc_id and {field}; expected {forms}",
                option=argument,
            )
        yield record.query_id, record.doc_id, getattr(record, field), None


def _rows_of_frame(
    frame: pd.DataFrame, headers: tuple[str, ...], forms: str, argument: str
) -> Iterator[Row]:
    words = [header_word(str(column)) for column in frame.columns]
    chosen = []
    for known in (TOPIC_HEADERS, DOCUMENT, headers):
        found = [k for k, word in enumerate(words) if word in known]
        # PyTerrier has the text of the query beside its id.
        found = [k for k in found if words[k] != "query"] or found
        if len(found) != 1:
            raise BadInput(
                f"{argument}: {len(found)} columns of the frame are called {', '.join(known[:4])}, ...; found "
                f"{', '.join(map(str, frame.columns))[:200]}; expected {forms}",
                option=argument,
            )
        chosen.append(frame.iloc[:, found[0]])
    ranks = frame.iloc[:, words.index("rank")] if "rank" in words else [None] * len(frame)
    return zip(*chosen, ranks, strict=True)


def _padded(lines: Iterable[str]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    content = "".join(lines).encode("utf-8", "surrogatepass")
    return np.frombuffer(content + bytes(PADDING), np.uint8)


def _word(label: Any, what: str) -> str:
    text = str(label)
    if not text or len(text.split()) != 1 or text.strip() != text:
        raise BadInput(f"the {what} {text!r} is empty or has blanks; replace them", option=None)
    return text


def _number(value: Any, convert: Callable[[Any], Any]) -> str:
    try:
        return repr(convert(value))
    except (TypeError, ValueError, OverflowError):
        return str(value).replace(" ", "_") or "-"  # the reader refuses it with its line


def _score(value: Any) -> str:
    return _number(value, float)


def _level(value: Any) -> str:
    if isinstance(value, str):
        return value.replace(" ", "_") or "-"
    number = _number(value, float)
    return number.removesuffix(".0")

"""Runs and judgements as other tools hold them in memory -> the columns that readers of files return.

Ties, duplicates, levels and errors are those of files. Line numbers in messages count the documents.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scorecube.collection.judgements import Qrels, RunLines
from scorecube.collection.teams import listed
from scorecube.errors import BadInput
from scorecube.ingest.columns import finish_numbers, finite_number, floats, number, packed
from scorecube.ingest.files import PathLike, bare_name, refuse_unprintable
from scorecube.ingest.judge_labels import HEADERS
from scorecube.ingest.qrels import LevelMap, check_level_map, finish_levels, qrels_of_rows
from scorecube.ingest.roles import RUN_HEADERS, SCORE_HEADERS, TOPIC_HEADERS, header_word
from scorecube.ingest.tables import read_document
from scorecube.ingest.tool_objects import RANX, contents_of, package_of

DOCUMENT = HEADERS["document"]
LEVEL = HEADERS["label"]
MTEB_MODEL = "mteb_model_meta"
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


def runs_in_memory(runs: Any, *, with_ranks: bool = False) -> list[RunLines] | None:
    """Return runs that are objects; None for paths.

    runs: Any form of `RUN_FORMS`, or paths.
    with_ranks: Whether ranks must be numbers (they are ignored otherwise).
    Raises BadInput: An object in another form, a run without a name, labels with blanks, a score that is not a number.

    Examples
    --------
    >>> [run.name for run in runs_in_memory({"a": {"1": {"d1": 0.5}}})]
    ['a']
    >>> runs_in_memory(["a.run", "b.run"])
    """
    if _is_path(runs):
        return None
    runs, run_of = (
        [runs] if package_of(runs) == RANX else runs,
        partial(_run, with_ranks=with_ranks),
    )
    if isinstance(runs, pd.DataFrame):
        columns = [column for column in runs.columns if header_word(str(column)) in TAGS]
        if len(columns) != 1:
            raise BadInput(
                f"the frame has {len(columns)} columns that name the run ({', '.join(TAGS[:3])}, name, ...); expected one, or "
                "{run: data frame}",
                option="runs",
            )
        return [run_of(name, part) for name, part in runs.groupby(columns[0], sort=True)]
    if isinstance(runs, Mapping):
        if not runs:
            raise BadInput(f"no run; expected {RUN_FORMS}", option="runs")
        return [run_of(name, run) for name, run in runs.items()]
    listed = list(runs) if isinstance(runs, Iterable) else [runs]
    if all(map(_is_path, listed)):  # also none, which the reader of files refuses
        return None
    return [run_of(_name_of(run), run) for run in listed]


def runs_of_json(path: PathLike, judged: Collection[str]) -> list[RunLines]:
    """Return the run in a file of JSON: ``{topic: {document: score}}``, or predictions of MTEB.

    Predictions are ``{subset: {split: {query: {document: score}}}}`` beside ``mteb_model_meta``, which names the model
    (``_save_task_predictions`` of mteb 2.26, read 2026-11-25).

    judged: Judged topics, which tell the subset and split.
    Raises BadInput: No JSON, or of another form; judged topics in no subset, or in several.
    """
    found = read_document(path)
    meta = found.pop(MTEB_MODEL, None) if isinstance(found, dict) else None
    name = re.sub(r"\.json$", "", bare_name(path))
    if isinstance(meta, dict):
        parts = {
            f"{subset} {split}": ranking
            for subset, splits in found.items()
            for split, ranking in (splits.items() if isinstance(splits, dict) else ())
            if isinstance(ranking, dict) and not ranking.keys().isdisjoint(judged)
        }
        if len(parts) != 1:
            what = listed(list(parts)) if parts else "none of " + listed(list(found))
            raise BadInput(
                f"topics of {what} are judged; expected those of one subset and split: give the judgements of one, with ids that only it has",
                path,
            )
        name, found = str(meta.get("model_name", name)), next(iter(parts.values()))
    try:
        return list(runs_in_memory({name: found}) or ())
    except BadInput as error:
        raise BadInput(str(error), path) from None


def qrels_in_memory(qrels: Any, level_map: LevelMap | None = None) -> Qrels | None:
    """Return judgements that are an object; None for a path.

    qrels: Any form of `QRELS_FORMS`, or a path.
    level_map: As of `scorecube.ingest.qrels.read_qrels`.
    Raises BadInput: An object in another form, labels with blanks, a level that is no integer, a document that is
        judged twice.

    Examples
    --------
    >>> qrels_in_memory({"1": {"d1": 2}}).levels.tolist()
    [2]
    """
    if _is_path(qrels):
        return None
    check_level_map(level_map)
    columns = _columns(_rows(qrels, LEVEL, "relevance", QRELS_FORMS, "qrels"), "qrels")
    levels = finish_levels(*_numbers(columns.values), "qrels", level_map)
    topics = [columns.topics[k] for k in columns.topic_of]
    return qrels_of_rows("qrels", topics, columns.documents, levels, range(1, len(levels) + 1))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _name_of(run: Any) -> str:
    name = getattr(run, "name", None)
    if not isinstance(name, str) or not name:
        raise BadInput(f"a run without a name; expected {RUN_FORMS}", option="runs")
    return name


class _Columns(NamedTuple):
    """Topics in order of first appearance, and the columns of all rows."""

    topics: list[str]
    topic_of: list[int]
    documents: list[bytes]
    values: list[Any]
    ranks: list[Any]


def _columns(rows: Iterable[Row], path: str) -> _Columns:
    """Return rows by column; refuse labels that no file can have."""
    number_of: dict[str, int] = {}
    found = _Columns([], [], [], [], [])
    for line, (topic, document, value, rank) in enumerate(rows, 1):
        if (name := str(topic)) not in number_of:
            refuse_unprintable(_word(name, "topic"), "topic", path, line)
            number_of[name] = len(number_of)
        found.topic_of.append(number_of[name])
        found.documents.append(_word(str(document), "document").encode("utf-8", "surrogatepass"))
        found.values.append(value)
        found.ranks.append(rank)
    found.topics.extend(number_of)
    return found


def _run(name: Any, run: Any, *, with_ranks: bool) -> RunLines:
    name = str(name)
    path = f"run {name!r}"
    refuse_unprintable(name, "run", None)
    if not name:
        raise BadInput("the name of a run is empty", option="runs")
    columns = _columns(_rows(run, SCORE_HEADERS, "score", RUN_FORMS, "runs"), path)
    if not columns.documents:
        raise BadInput(f"{path} has no document", option="runs")
    topic_of = np.array(columns.topic_of, np.int32)
    text, documents = packed(columns.documents)
    scores, field, line = _numbers(columns.values)
    finish_numbers(scores, field, line, path, "score", "a number", number)
    ranks, field, line = _numbers(columns.ranks if with_ranks else [])
    if with_ranks and set(columns.ranks) == {None}:
        place = pd.Series(topic_of).groupby(topic_of).cumcount() + 1
        ranks = np.asarray(place, np.float64)
    finish_numbers(ranks, field, line, path, "rank", "a number", finite_number)
    numbers = np.arange(1, len(scores) + 1, dtype=np.int32)
    return RunLines(name, path, text, columns.topics, topic_of, documents, scores, ranks, numbers)


def _numbers(
    values: Sequence[Any],
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Callable[[int], str], Callable[[int], int]]:
    """Return a column of numbers, and the functions that return the text and the line of a row, as `finish_numbers` takes them."""
    return floats(values), lambda row: str(values[row]), lambda row: row + 1


def _rows(
    value: Any, headers: tuple[str, ...], field: str, forms: str, argument: str
) -> Iterator[Row]:
    """Yield rows of one run, or of judgements, in any form."""

    def refused(found: str) -> BadInput:
        return BadInput(f"{argument}: {found}; expected {forms}", option=argument)

    value = contents_of(value)
    if isinstance(value, pd.DataFrame):
        yield from _rows_of_frame(value, headers, refused)
    elif isinstance(value, Mapping):
        for topic, documents in value.items():
            if not isinstance(documents, Mapping):
                raise refused(f"{topic!r} holds {type(documents).__name__}, not documents")
            for document, item in documents.items():
                if isinstance(item, Mapping):
                    raise refused(f"{topic!r} has one level of dictionaries too many")
                yield topic, document, item, None
    elif isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise refused(f"found {type(value).__name__}")
    else:
        for record in value:
            if not all(hasattr(record, name) for name in ("query_id", "doc_id", field)):
                raise refused(f"{record!r:.80} has no query_id, doc_id and {field}")
            yield record.query_id, record.doc_id, getattr(record, field), None


def _rows_of_frame(
    frame: pd.DataFrame, headers: tuple[str, ...], refused: Callable[[str], BadInput]
) -> Iterator[Row]:
    words = [header_word(str(column)) for column in frame.columns]
    chosen = []
    for known in (TOPIC_HEADERS, DOCUMENT, headers):
        found = [k for k, word in enumerate(words) if word in known]
        # PyTerrier has the text of the query beside its id.
        found = [k for k in found if words[k] != "query"] or found
        if len(found) != 1:
            raise refused(
                f"{len(found)} columns of the frame are called {', '.join(known[:4])}, ...; found "
                f"{', '.join(map(str, frame.columns))[:200]}"
            )
        chosen.append(frame.iloc[:, found[0]])
    ranks = frame.iloc[:, words.index("rank")] if "rank" in words else [None] * len(frame)
    return zip(*chosen, ranks, strict=True)


def _word(text: str, what: str) -> str:
    if len(text.split()) != 1 or text.strip() != text:
        raise BadInput(f"the {what} {text!r} is empty or has blanks; replace them", option=None)
    return text

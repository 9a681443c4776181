"""Runs that are objects of other tools, or stand in files of JSON and Parquet -> `RunLines`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pandas as pd

from scorecube.collection.judgements import RunLines, Texts
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, kind_of
from scorecube.ingest.files import PathLike, bare_name, is_parquet, read_text, refuse_unprintable
from scorecube.ingest.lines import finish, numbered_topics
from scorecube.ingest.roles import DOCUMENTS, ROLES, RUNS, SCORES, header_word
from scorecube.ingest.tables import is_frame, parse_json, table_of_frame, table_of_parquet

MTEB_MODEL = "mteb_model_meta"
RANX = "ranx"
DOCUMENT_HEADERS = DOCUMENTS | {"docno", "pid", "passageid", "corpusid"}
TAGS = RUNS | {"tag", "name"}
RUN_FORMS = (
    "{run: {topic: {document: score}}} (pytrec_eval), "
    "{run: records with query_id, doc_id and score} (ir_measures), "
    "{run: data frame with columns qid, docno, score} (PyTerrier), or Run objects of ranx"
)
Row = tuple[Any, Any, Any, Any]
"""Topic, document, value, and the rank or None."""


def runs_in_memory(runs: Any, *, with_ranks: bool = False) -> list[RunLines] | None:
    """Return runs that are objects; None for paths.

    runs: Any form of `RUN_FORMS`, or paths.
    with_ranks: Whether ranks must be numbers (they are ignored otherwise).
    Raises BadInput: An object in another form, a run without a name, labels with blanks, a score
        that is not a number.

    Examples
    --------
    >>> [run.name for run in runs_in_memory({"a": {"1": {"d1": 0.5}}})]
    ['a']
    >>> runs_in_memory(["a.run", "b.run"])
    """
    if is_path(runs):
        return None
    if is_frame(runs):
        frame = pd.DataFrame(runs) if isinstance(runs, pd.DataFrame) else table_frame(runs)
        columns = [column for column in frame.columns if header_word(str(column)) in TAGS]
        if len(columns) != 1:
            raise BadInput(
                f"the frame has {len(columns)} columns that name the run (run, system, name, "
                f"...); expected one, or {{run: data frame}}",
                option="runs",
            )
        named: list[Any] = list(frame.groupby(columns[0], sort=True))
    elif isinstance(runs, Mapping):
        named = list(runs.items())
    else:
        each = [runs] if _package_of(runs) == RANX or not isinstance(runs, Iterable) else list(runs)
        if all(map(is_path, each)):  # also none, which the reader of files refuses
            return None
        named = [(getattr(run, "name", None), run) for run in each]
    if not named or not all(isinstance(name, str | int) and str(name) for name, _ in named):
        raise BadInput(f"no run, or a run without a name; expected {RUN_FORMS}", option="runs")
    return [_run_of_object(str(name), run, with_ranks) for name, run in named]


def table_frame(frame: Any) -> pd.DataFrame:
    """Return a data frame of another library as one of pandas."""
    table = table_of_frame(frame)
    return pd.DataFrame(dict(zip(table.header, table.columns, strict=True)))


def _run_of_object(name: str, run: Any, with_ranks: bool) -> RunLines:
    path = f"run {name!r}"
    refuse_unprintable(name, "run", None)
    topics, documents, scores, ranks = columns_of_object(
        run, SCORES, "score", RUN_FORMS, "runs", path
    )
    if not documents:
        raise BadInput(f"{path} has no document", option="runs")
    if with_ranks and set(ranks) == {None}:
        counters = {topic: count(1) for topic in topics}
        ranks = [next(counters[topic]) for topic in topics]
    numbers = range(1, len(documents) + 1)
    return run_lines(name, path, topics, documents, scores, ranks if with_ranks else [], numbers)


def columns_of_object(
    value: Any, headers: frozenset[str], field: str, forms: str, argument: str, path: str
) -> tuple[list[bytes], list[bytes], list[Any], list[Any]]:
    """Return topics, documents, values and ranks of one run, or of judgements, in any form.

    headers, field: Columns of frames, and the attribute of records, that have the values.
    forms, argument, path: For messages.
    """
    columns: tuple[list[bytes], list[bytes], list[Any], list[Any]] = ([], [], [], [])
    for line, (topic, document, item, rank) in enumerate(
        _rows(value, headers, field, forms, argument), 1
    ):
        words = []
        for text, what in ((str(topic), "topic"), (str(document), "document")):
            if len(text.split()) != 1 or text.strip() != text:
                raise BadInput(
                    f"the {what} {text!r} is empty or has blanks; replace them", path, line
                )
            words.append(text.encode("utf-8", "surrogatepass"))
        for column, cell in zip(columns, (*words, item, rank), strict=True):
            column.append(cell)
    return columns


def _rows(
    value: Any, headers: frozenset[str], field: str, forms: str, argument: str
) -> Iterator[Row]:
    """Yield rows of one run, or of judgements, in any form."""

    def refused(what: str) -> BadInput:
        return BadInput(f"{argument}: {what}; expected {forms}", option=argument)

    if _package_of(value) == RANX and hasattr(value, "to_dict"):
        value = value.to_dict()
    if is_frame(value):
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
        raise refused(f"found {kind_of(value)}")
    else:
        for record in value:
            if not all(hasattr(record, name) for name in ("query_id", "doc_id", field)):
                raise refused(f"{record!r:.80} has no query_id, doc_id and {field}")
            yield record.query_id, record.doc_id, getattr(record, field), None


def _rows_of_frame(
    value: Any, headers: frozenset[str], refused: Callable[[str], BadInput]
) -> Iterator[Row]:
    frame = value if isinstance(value, pd.DataFrame) else table_frame(value)
    words = [header_word(str(column)) for column in frame.columns]
    chosen = []
    for spellings in (ROLES["topic"] - DOCUMENTS, DOCUMENT_HEADERS, headers):
        places = [k for k, word in enumerate(words) if word in spellings]
        places = [
            k for k in places if words[k] != "query"
        ] or places  # PyTerrier has its text beside its id
        if len(places) != 1:
            raise refused(
                f"{len(places)} columns of the frame are called "
                f"{', '.join(sorted(spellings)[:4])}, ...; found "
                f"{', '.join(map(str, frame.columns))[:200]}"
            )
        chosen.append(frame.iloc[:, places[0]].tolist())
    ranks = frame.iloc[:, words.index("rank")].tolist() if "rank" in words else [None] * len(frame)
    yield from zip(*chosen, ranks, strict=True)


def runs_of_objects(path: PathLike, judged: Collection[str]) -> list[RunLines]:
    """Return the runs in JSON, ``{topic: {document: score}}`` or of MTEB, or in Parquet.

    Predictions are ``{subset: {split: {query: {document: score}}}}`` beside ``mteb_model_meta``,
    which names the model
    (``_save_task_predictions`` of mteb 2.26, read 2026-11-25).

    judged: Judged topics, which tell the subset and split.
    Raises BadInput: No JSON, or of another form; judged topics in no subset, or in several.
    """
    name = re.sub(r"\.(json|parquet)$", "", bare_name(path))
    try:
        if is_parquet(path):
            table = table_of_parquet(path)
            frame = pd.DataFrame(dict(zip(table.header, table.columns, strict=True)))
            has_tag = any(header_word(column) in TAGS for column in frame.columns)
            return list(runs_in_memory(frame if has_tag else {name: frame}) or ())
        document, records = parse_json(read_text(path), path)
        content = document if document is not None else dict(records[0][1])
        meta = content.pop(MTEB_MODEL, None)
        if isinstance(meta, dict):
            name, content = str(meta.get("model_name", name)), _judged_part(content, judged)
        return list(runs_in_memory({name: content}) or ())
    except BadInput as error:
        if error.path is not None:
            raise
        raise BadInput(str(error), path) from None


def _judged_part(content: Mapping[str, Any], judged: Collection[str]) -> Any:
    """Return the only subset and split of predictions that has judged topics."""
    parts = {
        f"{subset} {split}": ranking
        for subset, splits in content.items()
        for split, ranking in (splits.items() if isinstance(splits, dict) else ())
        if isinstance(ranking, dict) and not ranking.keys().isdisjoint(judged)
    }
    if len(parts) != 1:
        what = listed(list(parts)) if parts else "none of " + listed(list(content))
        raise BadInput(
            f"topics of {what} are judged; expected those of one subset and split: give the "
            "judgements of one, with ids that only it has"
        )
    return next(iter(parts.values()))


def is_path(value: Any) -> bool:
    """Return whether something is a path."""
    return isinstance(value, str | os.PathLike)


def _package_of(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def run_lines(
    name: str,
    path: PathLike,
    topics: Sequence[bytes],
    documents: Sequence[bytes],
    scores: Sequence[Any],
    ranks: Sequence[Any],
    numbers: Sequence[int],
) -> RunLines:
    """Return the lines of a run, whose columns are given."""
    labels, topic_of = numbered_topics(topics, path, numbers)
    return RunLines(
        name,
        str(path),
        labels,
        topic_of,
        Texts.of(documents),
        finish(scores, "score", path, numbers),
        finish(ranks, "rank", path, numbers, is_finite=True),
        numbers,
    )

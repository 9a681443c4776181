"""Runs: TREC run files, NTCIREVAL's ranked lists by topic, predictions in JSON, and objects of other tools -> `RunLines`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.judgements import SPARE, Qrels, RunLines, Texts
from scorecube.collection.rankings import Duplicates, JudgedRun, judge
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, counted, kind_of, option
from scorecube.ingest.files import (
    PathLike,
    bare_name,
    expand,
    is_parquet,
    read_bytes,
    read_text,
    refuse_binary,
    refuse_unprintable,
)
from scorecube.ingest.roles import DOCUMENTS, ROLES, RUNS, SCORES, header_word
from scorecube.ingest.tables import is_frame, parse_json, refuse, table_of_frame, table_of_parquet

RUN_LINE = "topic Q0 document rank score tag"
RES = ".res"
MTEB_MODEL = "mteb_model_meta"
RANX = "ranx"
DOCUMENT_HEADERS = DOCUMENTS | {"docno", "pid", "passageid", "corpusid"}
TAGS = RUNS | {"tag", "name"}
RUN_FORMS = (
    "{run: {topic: {document: score}}} (pytrec_eval), {run: records with query_id, doc_id and score} (ir_measures), "
    "{run: data frame with columns qid, docno, score} (PyTerrier), or Run objects of ranx"
)
Row = tuple[Any, Any, Any, Any]
"""Topic, document, value, and the rank or None."""


def field_lines(path: PathLike, *, may_be_empty: bool = False) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the fields between blanks of the lines of a file that have any, with their numbers; comments (#, <SYSDESC>) are left out."""
    content = content_of(path, may_be_empty=may_be_empty)
    for number, line in enumerate(content.split(b"\n"), 1):
        fields = line.split()
        if fields and not fields[0].startswith((b"#", b"<SYSDESC>")):
            yield number, fields


def content_of(path: PathLike, *, may_be_empty: bool = False) -> bytes:
    """Return the content of a file of lines (BadInput for one that is no text)."""
    content = read_bytes(path, may_be_empty=may_be_empty)
    refuse_binary(content, path)
    return content if b"\n" in content else content.replace(b"\r", b"\n")


def read_run(path: PathLike, *, run_name: str = "tag", with_ranks: bool = False) -> RunLines:
    """Read one run file, plain or gzip: lines of topic, Q0, document, rank, score and tag.

    run_name: ``tag`` names a run by its last column, ``file`` by its file name without .gz.
    with_ranks: Whether the rank column must be numbers (it is ignored otherwise).
    Raises BadInput: Naming file and line: too few or too many columns, a score or rank that is not a number, two tags in one file, a tag
        or topic that is not UTF-8 or has control characters.
    """
    columns = split_lines(content_of(path), 6)
    if (
        columns is None or not columns[1].equal(columns[1][:1]).all()
    ):  # a damaged file has other second fields
        return _read_plainly(path, run_name, with_ranks)
    topics, _, documents, ranks, scores, tags = columns
    if run_name == "tag" and not tags.equal(tags[:1]).all():
        return _read_plainly(path, run_name, with_ranks)
    numbers = range(1, len(tags) + 1)
    name = _name_of(path, run_name, tags[0], 1)
    changes = np.flatnonzero(~topics[1:].equal(topics[:-1])) + 1
    starts = np.concatenate([[0], changes])
    labels, of = numbered_topics([topics[k] for k in starts.tolist()], path, (starts + 1).tolist())
    topic_of = np.repeat(of, np.diff(starts, append=len(topics)))
    return RunLines(
        name,
        str(path),
        labels,
        topic_of,
        documents,
        _decimals(scores, "score", path),
        _decimals(ranks, "rank", path) if with_ranks else np.empty(0),
        numbers,
    )


def split_lines(content: bytes, width: int) -> list[Texts] | None:
    """Return the fields of lines by column, if all lines have as many fields and none is empty; None for other files."""
    text = np.frombuffer(content, np.uint8)
    edges = np.flatnonzero(np.diff(IS_BLANK[text], prepend=True, append=True))
    starts, stops = edges[0::2], edges[1::2]
    lines = np.flatnonzero(text == NEWLINE)
    n_lines, rest = divmod(len(starts), width)
    if rest or not n_lines or len(lines) not in (n_lines, n_lines - 1):
        return None
    starts, stops = starts.reshape(n_lines, width), stops.reshape(n_lines, width)
    first, last = (np.searchsorted(lines, starts[:, k]) for k in (0, -1))
    if (first != np.arange(n_lines)).any() or (last != first).any():
        return None
    whole = content + bytes(SPARE)
    return [Texts(whole, starts[:, k].copy(), stops[:, k].copy()) for k in range(width)]


NEWLINE = 10
IS_BLANK = np.zeros(256, bool)
IS_BLANK[[9, 10, 11, 12, 13, 32]] = True
MOST_DIGITS = 15
"""Digits of a decimal number that, divided by a power of ten, has the nearest double with one rounding."""


def _decimals(fields: Texts, what: str, path: PathLike) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the numbers in fields, a line each (BadInput for what is none); see `finish`."""
    text = np.frombuffer(fields.whole, np.uint8)
    signs = text[fields.starts]
    starts = fields.starts + np.isin(signs, np.frombuffer(b"+-", np.uint8))
    lengths = fields.stops - starts
    digits, power, n_digits = (np.zeros(len(fields), np.int64) for _ in range(3))
    plain, after = (lengths > 0) & (lengths <= MOST_DIGITS + 1), np.zeros(len(fields), bool)
    for k in range(int(lengths.max(where=plain, initial=0))):
        letters, here = text[starts + np.minimum(k, lengths)].astype(np.int64) - 48, k < lengths
        is_digit, is_point = here & (letters >= 0) & (letters <= 9), here & (letters == -2)
        digits = np.where(is_digit, digits * 10 + letters, digits)
        n_digits += is_digit
        power += is_digit & after
        plain &= ~here | is_digit | (is_point & ~after)
        after |= is_point
    plain &= (n_digits > 0) & (n_digits <= MOST_DIGITS)
    values = np.where(signs == ord("-"), -1.0, 1.0) * digits / 10.0 ** np.where(plain, power, 0)
    others = np.flatnonzero(~plain)
    values[others] = finish(
        [fields[k] for k in others.tolist()],
        what,
        path,
        (others + 1).tolist(),
        is_finite=what == "rank",
    )
    return values


def _name_of(path: PathLike, run_name: str, tag: bytes, line: int) -> str:
    """Return the name of a run."""
    if run_name == "tag":
        return label_text(tag, "run tag", path, line)
    return label_text(os.fsencode(bare_name(path)), "file name", path)


def _read_plainly(path: PathLike, run_name: str, with_ranks: bool) -> RunLines:
    """Read a run file line by line, or say what is wrong with it."""
    numbers, fields = _six_fields(path)
    tags = fields[5::6]
    if run_name == "tag" and tags.count(tags[0]) != len(tags):
        other = next(k for k, tag in enumerate(tags) if tag != tags[0])
        raise BadInput(
            f"the run tag changes from {shown(tags[0])!r} to {shown(tags[other])!r}; "
            f"one file holds one run: divide it, or name runs by file ({option('run_name', 'file')})",
            path,
            numbers[other],
        )
    name = _name_of(path, run_name, tags[0], numbers[0])
    ranks = fields[3::6] if with_ranks else []
    return _run_lines(name, path, fields[0::6], fields[2::6], fields[4::6], ranks, numbers)


def _six_fields(path: PathLike) -> tuple[list[int], list[bytes]]:
    """Return the numbers of the lines of a run file, and all their fields; refuse a line of another length."""
    numbers, fields = [], []
    for number, line in field_lines(path):
        if len(line) != 6:
            more = "; run tags and document ids have no blanks in them: replace these blanks"
            raise BadInput(
                f"{counted(len(line), 'column')}; a line of a run file has 6: {RUN_LINE}{more if len(line) > 6 else ''}",
                path,
                number,
            )
        numbers.append(number)
        fields += line
    if not numbers:
        raise BadInput(f"no line of a run file; expected {RUN_LINE}", path)
    return numbers, fields


def _run_lines(
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


def numbered_topics(
    topics: Sequence[bytes], path: PathLike, numbers: Sequence[int]
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int32]]]:
    """Return the topics of lines in order of first appearance, and the index of each line's topic."""
    number_of = {topic: k for k, topic in enumerate(dict.fromkeys(topics))}
    labels = []
    for topic in number_of:
        try:
            labels.append(label_text(topic, "topic", path))
        except BadInput:
            label_text(topic, "topic", path, numbers[topics.index(topic)])
    return labels, np.fromiter(map(number_of.__getitem__, topics), np.int32, len(topics))


def finish(
    values: Sequence[Any],
    what: str,
    path: PathLike,
    numbers: Sequence[int],
    *,
    is_finite: bool = False,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a column of numbers as trec_eval reads them (BadInput for others, NaN, digits with underscores)."""
    try:
        found = np.fromiter(map(float, values), np.float64, len(values))
        if (
            not np.isnan(found).any()
            and not (is_finite and np.isinf(found).any())
            and not _has_marks(values)
        ):
            return found
    except (TypeError, ValueError, OverflowError):
        pass
    for value, line in zip(values, numbers, strict=True):
        number = number_in(value)
        if number is None or (is_finite and math.isinf(number)):
            raise BadInput(f"{what} {shown(value)!r} is not a number", path, line)
    return np.array([number_in(value) for value in values], np.float64)


def _has_marks(values: Sequence[Any]) -> bool:
    """Return whether numbers may be spelled as those of Python, which trec_eval does not read."""
    if len(values) and type(values[0]) is bytes:  # all are fields of a file
        return b"_" in b" ".join(values)
    return any(isinstance(value, str) for value in values)


def number_in(value: Any) -> float | None:
    """Return the number in a field or an object; None for other content."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if isinstance(text, str) and (not text.isascii() or "_" in text):
        return None
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def shown(value: Any) -> str:
    """Return a field as text, for messages."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def label_text(label: bytes, what: str, path: PathLike, line: int | None = None) -> str:
    """Decode the name of a run or a topic (BadInput for bytes that are not UTF-8, or control characters)."""
    try:
        text = label.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(
            f"the {what} {label.decode('latin-1')!r} is not in UTF-8 (it may be in Latin-1); save the file as UTF-8",
            path,
            line,
        ) from None
    refuse_unprintable(text, what, path, line)
    return text


@dataclass(frozen=True)
class RankedLists:
    """A run as files of ranked documents: topic and file of each."""

    name: str
    files: tuple[tuple[str, Path], ...]


def read_lists(source: RankedLists) -> RunLines:
    """Read the ranked lists of a run, a document a line, which keep the order of the file (BadInput for a line of several fields, or an empty one)."""
    topics: list[bytes] = []
    documents: list[bytes] = []
    numbers: list[int] = []
    for topic, path in source.files:
        content = content_of(path, may_be_empty=True).rstrip()
        for number, line in enumerate(content.split(b"\n") if content else [], 1):
            fields = line.split()
            if len(fields) != 1:
                text = f"{counted(len(fields), 'field')}; a line of a .res file has 1: document"
                raise BadInput(text, path, number)
            topics.append(topic.encode())
            documents.append(fields[0])
            numbers.append(number)
    counters = {topic: count(1) for topic, _ in source.files}
    ranks = np.array([next(counters[topic.decode()]) for topic in topics], np.float64)
    names = [topic for topic, _ in source.files]
    place = {topic.encode(): k for k, topic in enumerate(names)}
    topic_of = np.array([place[topic] for topic in topics], np.int32)
    first = str(source.files[0][1])
    return RunLines(
        source.name, first, names, topic_of, Texts.of(documents), -ranks, ranks, numbers
    )


def run_sources(
    runs: Any, topics: Iterable[str], *, with_ranks: bool = False
) -> list[Path | RankedLists | RunLines]:
    """Return the sources of runs: run files, ranked lists by topic, grouped by run, and runs in memory.

    Of a folder with ranked lists, in it or in its subfolders, only these are read. A .res file whose first line is that of a run file is one.

    runs: Files, folders or globs, or runs in memory, see `RUN_FORMS`.
    topics: Judged topics, to find topic and run in names of files.
    with_ranks: Whether ranks of runs in memory must be numbers (they are ignored otherwise).
    Raises BadInput: No files; a list with a name that does not identify topic and run; two lists of one run and topic.
    """
    runs = list(runs) if isinstance(runs, Iterator) else runs
    in_memory = runs_in_memory(runs, with_ranks=with_ranks)
    if in_memory is not None:
        return list(in_memory)
    paths = [runs] if isinstance(runs, str) or not isinstance(runs, Iterable) else list(runs)
    files = [file for path in paths for file in _lists_below(path) or expand(path, "run files")]
    lists = _ranked_lists(files or expand(paths, "run files"))
    judged = set(topics)
    by_run: dict[str, dict[str, Path]] = {}
    for path in lists:
        topic, run = _topic_and_run(path, judged)
        first = by_run.setdefault(run, {}).setdefault(topic, path)
        if first != path:
            text = f"a second list of topic {topic} of run {run!r}; the first is {first}"
            raise BadInput(text, path)
    grouped = [RankedLists(run, tuple(sorted(part.items()))) for run, part in by_run.items()]
    sources: list[Path | RankedLists | RunLines] = []
    for path in files:
        if path in lists:
            continue
        is_object = bare_name(path).endswith(".json") or is_parquet(path)
        sources += runs_of_objects(path, judged) if is_object else [path]
    return [*sources, *grouped]


def _lists_below(path: PathLike) -> list[Path]:
    return _ranked_lists(with_suffix(Path(path), RES)) if Path(path).is_dir() else []


def with_suffix(folder: Path, suffix: str) -> list[Path]:
    """Return the files with a suffix in a folder and in its subfolders, without hidden files."""
    every = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern))]
    return [
        path
        for path in every
        if bare_name(path).endswith(suffix) and path.is_file() and not path.name.startswith(".")
    ]


def _ranked_lists(files: Iterable[Path]) -> list[Path]:
    """Return the ranked lists among files; beside other lists, an empty file is the list of a topic without documents."""
    named = [path for path in files if bare_name(path).endswith(RES)]
    first = {path: next(field_lines(path, may_be_empty=True), (0, [])) for path in named}
    lists = {path for path, (_, fields) in first.items() if len(fields) == 1}
    return [path for path, (_, fields) in first.items() if path in lists or (lists and not fields)]


def _topic_and_run(path: Path, judged: set[str]) -> tuple[str, str]:
    """Return topic and run, from the names of a file and its folder."""
    base, folder = bare_name(path).removesuffix(RES), path.absolute().parent.name
    by_folder = [(folder, base.removeprefix(f"{folder}."))] if base.startswith(f"{folder}.") else []
    by_folder += [(folder, base.removesuffix(f".{folder}"))] if base.endswith(f".{folder}") else []
    if by_folder and folder in judged:
        return by_folder[0]
    dots = [at for at, letter in enumerate(base) if letter == "."]
    ways = [(base[:at], base[at + 1 :]) for at in dots if base[:at] in judged]
    ways += [(base[at + 1 :], base[:at]) for at in dots if base[at + 1 :] in judged]
    if len(ways) > 1:
        either = ", or ".join(f"topic {topic} of run {run!r}" for topic, run in ways)
        raise BadInput(
            f"the name does not identify topic and run: {either}; put the file in a folder named after the topic",
            path,
        )
    if base in judged:
        ways.append((base, folder))
    if not (ways or by_folder):
        raise BadInput(
            f"the name does not identify topic and run; expected <topic>.<run>{RES} in a folder named after the "
            "topic or with a judged topic, or <run>/<topic> with one",
            path,
        )
    return (ways or by_folder)[0]


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
    if is_path(runs):
        return None
    if is_frame(runs):
        frame = pd.DataFrame(runs) if isinstance(runs, pd.DataFrame) else table_frame(runs)
        columns = [column for column in frame.columns if header_word(str(column)) in TAGS]
        if len(columns) != 1:
            raise BadInput(
                f"the frame has {len(columns)} columns that name the run (run, system, name, ...); expected one, or {{run: data frame}}",
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
    return _run_lines(name, path, topics, documents, scores, ranks if with_ranks else [], numbers)


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
                f"{len(places)} columns of the frame are called {', '.join(sorted(spellings)[:4])}, ...; found "
                f"{', '.join(map(str, frame.columns))[:200]}"
            )
        chosen.append(frame.iloc[:, places[0]].tolist())
    ranks = frame.iloc[:, words.index("rank")].tolist() if "rank" in words else [None] * len(frame)
    yield from zip(*chosen, ranks, strict=True)


def runs_of_objects(path: PathLike, judged: Collection[str]) -> list[RunLines]:
    """Return the runs in a file of JSON, ``{topic: {document: score}}`` or predictions of MTEB, or in a table in Parquet.

    Predictions are ``{subset: {split: {query: {document: score}}}}`` beside ``mteb_model_meta``, which names the model
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
            f"topics of {what} are judged; expected those of one subset and split: give the judgements of one, with ids that only it has"
        )
    return next(iter(parts.values()))


def is_path(value: Any) -> bool:
    """Return whether something is a path."""
    return isinstance(value, str | os.PathLike)


def _package_of(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


@dataclass(frozen=True, eq=False)
class FileJudge:
    """Reads and judges runs one after the other, in threads and on clusters.

    qrels: Judgements of all runs.
    run_name, order, precision, depth, duplicates: See `scorecube.read_rankings`.
    """

    qrels: Qrels
    run_name: str
    order: str
    precision: str
    depth: int | None
    duplicates: str

    def __call__(self, source: Path | RankedLists | RunLines) -> JudgedRun | BadInput:
        """Return the levels of one run, or what is wrong with it, so that one message names all bad files."""
        try:
            if isinstance(source, RunLines):
                lines = source
            elif isinstance(source, RankedLists):
                lines = read_lists(source)
            else:
                with_ranks = self.order == "rank"
                lines = read_run(source, run_name=self.run_name, with_ranks=with_ranks)
            return judge(
                lines,
                self.qrels,
                order="file" if isinstance(source, RankedLists) else self.order,
                precision=self.precision,
                depth=self.depth,
                duplicates=Duplicates(self.duplicates),
            )
        except BadInput as error:
            return error


def good_runs(judged: Iterable[JudgedRun | BadInput]) -> list[JudgedRun]:
    """Return the runs of files that were read; what is wrong with the others is one error (BadInput)."""
    results = list(judged)
    refuse([each for each in results if isinstance(each, BadInput)])
    return [each for each in results if isinstance(each, JudgedRun)]

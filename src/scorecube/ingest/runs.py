"""Runs: TREC run files, NTCIREVAL's ranked lists by topic, JSON, Parquet, objects -> `RunLines`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.collection.judgements import Qrels, RunLines, Texts
from scorecube.collection.rankings import Duplicates, JudgedRun, judge
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, counted, option
from scorecube.ingest.entries import RANX, RUN, entries_of, is_path, package_of
from scorecube.ingest.files import (
    PathLike,
    bare_name,
    expand,
    is_parquet,
    read_text,
    refuse_unprintable,
)
from scorecube.ingest.lines import (
    content_of,
    decimals,
    field_lines,
    finish,
    label_text,
    numbered_topics,
    shown,
    split_lines,
)
from scorecube.ingest.roles import RUNS, header_word
from scorecube.ingest.tables import is_frame, pandas_frame, parse_json, read_parquet, refuse

RUN_LINE = "topic Q0 document rank score tag"
RES = ".res"
TAGS = RUNS | {"tag", "name"}
MTEB_MODEL = "mteb_model_meta"


def read_run(path: PathLike, *, run_name: str = "tag", with_ranks: bool = False) -> RunLines:
    """Read one run file, plain or gzip: lines of topic, Q0, document, rank, score and tag.

    run_name: ``tag`` names a run by its last column, ``file`` by its file name without .gz.
    with_ranks: Whether the rank column must be numbers (it is ignored otherwise).
    Raises BadInput: Naming file and line: too few or too many columns, a score or rank that is not
        a number, two tags in one file, a tag or topic that is not UTF-8 or has control characters.
    """
    columns = split_lines(content_of(path), 6)
    # A damaged file has other second fields.
    if columns is None or not columns[1].equal(columns[1][:1]).all():
        return _read_plainly(path, run_name, with_ranks)
    topics, _, documents, ranks, scores, tags = columns
    if run_name == "tag" and not tags.equal(tags[:1]).all():
        return _read_plainly(path, run_name, with_ranks)
    starts = np.concatenate([[0], np.flatnonzero(~topics[1:].equal(topics[:-1])) + 1])
    labels, of = numbered_topics([topics[k] for k in starts.tolist()], path, (starts + 1).tolist())
    return RunLines(
        _name_of(path, run_name, tags[0], 1),
        str(path),
        labels,
        np.repeat(of, np.diff(starts, append=len(topics))),
        documents,
        decimals(scores, "score", path),
        decimals(ranks, "rank", path) if with_ranks else np.empty(0),
        range(1, len(tags) + 1),
    )


def _name_of(path: PathLike, run_name: str, tag: bytes, line: int) -> str:
    """Return the name of a run."""
    if run_name == "tag":
        return label_text(tag, "run tag", path, line)
    return label_text(os.fsencode(bare_name(path)), "file name", path)


def _read_plainly(path: PathLike, run_name: str, with_ranks: bool) -> RunLines:
    """Read a run file line by line, or say what is wrong with it."""
    numbers: list[int] = []
    rows: list[list[bytes]] = []
    for number, fields in field_lines(path):
        if len(fields) != 6:
            more = "; run tags and document ids have no blanks in them: replace these blanks"
            raise BadInput(
                f"{counted(len(fields), 'column')}; a line of a run file has 6: "
                f"{RUN_LINE}{more if len(fields) > 6 else ''}",
                path,
                number,
            )
        numbers.append(number)
        rows.append(fields)
    if not rows:
        raise BadInput(f"no line of a run file; expected {RUN_LINE}", path)
    topics, _, documents, ranks, scores, tags = zip(*rows, strict=True)
    other = next((k for k, tag in enumerate(tags) if tag != tags[0]), None)
    if run_name == "tag" and other is not None:
        raise BadInput(
            f"the run tag changes from {shown(tags[0])!r} to {shown(tags[other])!r}; one file "
            f"holds one run: divide it, or name runs by file ({option('run_name', 'file')})",
            path,
            numbers[other],
        )
    name = _name_of(path, run_name, tags[0], numbers[0])
    return _run_lines(name, path, topics, documents, scores, ranks if with_ranks else (), numbers)


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


def runs_in_memory(runs: Any, *, with_ranks: bool = False) -> list[RunLines] | None:
    """Return runs that are objects; None for paths.

    runs: Any form of `scorecube.ingest.entries.RUN`, or paths.
    with_ranks: Whether ranks must be numbers (they are ignored otherwise).
    Raises BadInput: An object in another form, a run without a name, labels with blanks, a score
        that is not a number.

    Examples
    --------
    >>> [run.name for run in runs_in_memory({"a": {"1": {"d1": 0.5}}})]
    ['a']
    >>> runs_in_memory(["a.run", "b.run"])
    """
    named: list[Any]
    if is_frame(runs):
        frame = pandas_frame(runs)
        columns = [column for column in frame.columns if header_word(str(column)) in TAGS]
        if len(columns) != 1:
            raise BadInput(
                f"the frame has {len(columns)} columns that name the run (run, system, name, "
                "...); expected one, or {run: data frame}",
                option="runs",
            )
        named = list(frame.groupby(columns[0], sort=True))
    elif isinstance(runs, Mapping):
        named = list(runs.items())
    else:
        is_one = is_path(runs) or package_of(runs) == RANX or not isinstance(runs, Iterable)
        objects = [runs] if is_one else list(runs)
        if all(map(is_path, objects)):  # also none, which the reader of files refuses
            return None
        named = [(getattr(run, "name", None), run) for run in objects]
    if not named or not all(isinstance(name, str | int) and str(name) for name, _ in named):
        raise BadInput(f"no run, or a run without a name; expected {RUN.forms}", option="runs")
    return [_run_of_object(str(name), run, with_ranks) for name, run in named]


def _run_of_object(name: str, run: Any, with_ranks: bool) -> RunLines:
    path = f"run {name!r}"
    refuse_unprintable(name, "run", None)
    topics, documents, scores, ranks, lines = entries_of(run, RUN, path)
    if not documents:
        raise BadInput(f"{path} has no document", option="runs")
    if with_ranks and set(ranks) == {None}:
        counters = {topic: count(1) for topic in topics}
        ranks = [next(counters[topic]) for topic in topics]
    return _run_lines(name, path, topics, documents, scores, ranks if with_ranks else [], lines)


def _runs_of_file(path: PathLike, judged: Collection[str]) -> list[RunLines]:
    """Return the runs in JSON, ``{topic: {document: score}}`` or of MTEB, or in Parquet.

    Predictions are ``{subset: {split: {query: {document: score}}}}`` beside ``mteb_model_meta``,
    which names the model (``_save_task_predictions`` of mteb 2.26, read 2026-11-25).

    judged: Judged topics, which tell the subset and split.
    """
    name = re.sub(r"\.(json|parquet)$", "", bare_name(path))
    try:
        if is_parquet(path):
            frame = read_parquet(path)
            has_tag = any(header_word(str(column)) in TAGS for column in frame.columns)
            return runs_in_memory(frame if has_tag else {name: frame}) or []
        records = parse_json(read_text(path), path)
        content: Any = records[0][1] if len(records) == 1 else [row for _, row in records]
        if isinstance(content, dict) and isinstance(meta := content.pop(MTEB_MODEL, None), dict):
            name, content = str(meta.get("model_name", name)), _judged_part(content, judged)
        return runs_in_memory({name: content}) or []
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


@dataclass(frozen=True)
class RankedLists:
    """A run as files of ranked documents: topic and file of each."""

    name: str
    files: tuple[tuple[str, Path], ...]


def read_lists(source: RankedLists) -> RunLines:
    """Read the ranked lists of a run, a document a line (BadInput for other lines)."""
    documents: list[bytes] = []
    lengths: list[int] = []
    for _, path in source.files:
        content = content_of(path, may_be_empty=True).rstrip()
        lines = [line.split() for line in content.split(b"\n")] if content else []
        for number, fields in enumerate(lines, 1):
            if len(fields) != 1:
                text = f"{counted(len(fields), 'field')}; a line of a .res file has 1: document"
                raise BadInput(text, path, number)
            documents += fields
        lengths.append(len(lines))
    topic_of = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    numbers = np.concatenate([np.arange(1, length + 1) for length in lengths])
    ranks = numbers.astype(np.float64)
    return RunLines(
        source.name,
        str(source.files[0][1]),
        [topic for topic, _ in source.files],
        topic_of,
        Texts.of(documents),
        -ranks,
        ranks,
        numbers.tolist(),
    )


def run_sources(
    runs: Any, topics: Iterable[str], *, with_ranks: bool = False
) -> list[Path | RankedLists | RunLines]:
    """Return the sources of runs: run files, ranked lists by run, and runs in memory.

    Of a folder with ranked lists, in it or in its subfolders, only these are read. A .res file
    whose first line is that of a run file is one.

    runs: Files, folders or globs, or runs in memory, see `runs_in_memory`.
    topics: Judged topics, to find topic and run in names of files.
    with_ranks: Whether ranks of runs in memory must be numbers (they are ignored otherwise).
    Raises BadInput: No files; a list with a name that does not identify topic and run; two lists of
        one run and topic.
    """
    runs = list(runs) if isinstance(runs, Iterator) else runs
    in_memory = runs_in_memory(runs, with_ranks=with_ranks)
    if in_memory is not None:
        return list(in_memory)
    paths = [runs] if is_path(runs) else list(runs)
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
    sources: list[Path | RankedLists | RunLines] = []
    for path in files:
        if path not in lists:
            is_object = bare_name(path).endswith(".json") or is_parquet(path)
            sources += _runs_of_file(path, judged) if is_object else [path]
    return sources + [RankedLists(run, tuple(sorted(part.items()))) for run, part in by_run.items()]


def _lists_below(path: PathLike) -> list[Path]:
    return _ranked_lists(with_suffix(Path(path), RES)) if Path(path).is_dir() else []


def with_suffix(folder: Path, suffix: str) -> list[Path]:
    """Return the files with a suffix in a folder and in its subfolders, without hidden files."""
    return [
        path
        for pattern in ("*", "*/*")
        for path in sorted(folder.glob(pattern))
        if bare_name(path).endswith(suffix) and path.is_file() and not path.name.startswith(".")
    ]


def _ranked_lists(files: Iterable[Path]) -> list[Path]:
    """Return the ranked lists among files; beside others, an empty file is one, too."""
    named = [path for path in files if bare_name(path).endswith(RES)]
    widths = {path: len(next(field_lines(path, may_be_empty=True), (0, []))[1]) for path in named}
    has_list = 1 in widths.values()
    return [path for path, width in widths.items() if width == 1 or (has_list and width == 0)]


def _topic_and_run(path: Path, judged: set[str]) -> tuple[str, str]:
    """Return topic and run, from the names of a file and its folder."""
    base, folder = bare_name(path).removesuffix(RES), path.absolute().parent.name
    ends = (base.removeprefix(f"{folder}."), base.removesuffix(f".{folder}"))
    by_folder = [(folder, run) for run in ends if run != base]
    if by_folder and folder in judged:
        return by_folder[0]
    parts = [(base[:at], base[at + 1 :]) for at, letter in enumerate(base) if letter == "."]
    ways = [part for part in parts if part[0] in judged]
    ways += [(topic, run) for run, topic in parts if topic in judged]
    if len(ways) > 1:
        either = ", or ".join(f"topic {topic} of run {run!r}" for topic, run in ways)
        raise BadInput(
            f"the name does not identify topic and run: {either}; put the file in a folder named "
            "after the topic",
            path,
        )
    ways += [(base, folder)] if base in judged else []
    if not (ways or by_folder):
        raise BadInput(
            f"the name does not identify topic and run; expected <topic>.<run>{RES} in a folder "
            "named after the topic or with a judged topic, or <run>/<topic> with one",
            path,
        )
    return (ways or by_folder)[0]


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
        """Return the levels of one run, or what is wrong with it, for a message about all."""
        order = "file" if isinstance(source, RankedLists) else self.order
        try:
            if isinstance(source, Path):
                source = read_run(source, run_name=self.run_name, with_ranks=self.order == "rank")
            return judge(
                read_lists(source) if isinstance(source, RankedLists) else source,
                self.qrels,
                order=order,
                precision=self.precision,
                depth=self.depth,
                duplicates=Duplicates(self.duplicates),
            )
        except BadInput as error:
            return error


def good_runs(judged: Iterable[JudgedRun | BadInput]) -> list[JudgedRun]:
    """Return the runs that were read; what is wrong with others is one error (BadInput)."""
    results = list(judged)
    refuse([result for result in results if isinstance(result, BadInput)])
    return [result for result in results if not isinstance(result, BadInput)]

"""Runs: TREC run files and NTCIREVAL's ranked lists by topic -> `RunLines`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.collection.judgements import Qrels, RunLines, Texts
from scorecube.collection.rankings import Duplicates, JudgedRun, judge
from scorecube.errors import BadInput, counted, option
from scorecube.ingest.files import PathLike, bare_name, expand, is_parquet
from scorecube.ingest.lines import (
    content_of,
    decimals,
    field_lines,
    label_text,
    numbered_topics,
    shown,
    split_lines,
)
from scorecube.ingest.run_objects import run_lines, runs_in_memory, runs_of_objects
from scorecube.ingest.tables import refuse

RUN_LINE = "topic Q0 document rank score tag"
RES = ".res"


def read_run(path: PathLike, *, run_name: str = "tag", with_ranks: bool = False) -> RunLines:
    """Read one run file, plain or gzip: lines of topic, Q0, document, rank, score and tag.

    run_name: ``tag`` names a run by its last column, ``file`` by its file name without .gz.
    with_ranks: Whether the rank column must be numbers (it is ignored otherwise).
    Raises BadInput: Naming file and line: too few or too many columns, a score or rank that is not
        a number, two tags in one file, a tag
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
        decimals(scores, "score", path),
        decimals(ranks, "rank", path) if with_ranks else np.empty(0),
        numbers,
    )


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
            "one file holds one run: divide it, or name runs by file "
            f"({option('run_name', 'file')})",
            path,
            numbers[other],
        )
    name = _name_of(path, run_name, tags[0], numbers[0])
    ranks = fields[3::6] if with_ranks else []
    return run_lines(name, path, fields[0::6], fields[2::6], fields[4::6], ranks, numbers)


def _six_fields(path: PathLike) -> tuple[list[int], list[bytes]]:
    """Return the line numbers of a run file and all fields; refuse lines of other lengths."""
    numbers, fields = [], []
    for number, line in field_lines(path):
        if len(line) != 6:
            more = "; run tags and document ids have no blanks in them: replace these blanks"
            raise BadInput(
                f"{counted(len(line), 'column')}; a line of a run file has 6: "
                f"{RUN_LINE}{more if len(line) > 6 else ''}",
                path,
                number,
            )
        numbers.append(number)
        fields += line
    if not numbers:
        raise BadInput(f"no line of a run file; expected {RUN_LINE}", path)
    return numbers, fields


@dataclass(frozen=True)
class RankedLists:
    """A run as files of ranked documents: topic and file of each."""

    name: str
    files: tuple[tuple[str, Path], ...]


def read_lists(source: RankedLists) -> RunLines:
    """Read the ranked lists of a run, a document a line (BadInput for other lines)."""
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
    """Return the sources of runs: run files, ranked lists by run, and runs in memory.

    Of a folder with ranked lists, in it or in its subfolders, only these are read. A .res file
    whose first line is that of a run file is one.

    runs: Files, folders or globs, or runs in memory, see `RUN_FORMS`.
    topics: Judged topics, to find topic and run in names of files.
    with_ranks: Whether ranks of runs in memory must be numbers (they are ignored otherwise).
    Raises BadInput: No files; a list with a name that does not identify topic and run; two lists of
        one run and topic.
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
    """Return the ranked lists among files; beside others, an empty file is one, too."""
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
            f"the name does not identify topic and run: {either}; put the file in a folder named "
            "after the topic",
            path,
        )
    if base in judged:
        ways.append((base, folder))
    if not (ways or by_folder):
        raise BadInput(
            f"the name does not identify topic and run; expected <topic>.<run>{RES} in a folder "
            "named after the "
            "topic or with a judged topic, or <run>/<topic> with one",
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
    """Return the runs that were read; what is wrong with others is one error (BadInput)."""
    results = list(judged)
    refuse([each for each in results if isinstance(each, BadInput)])
    return [each for each in results if isinstance(each, JudgedRun)]

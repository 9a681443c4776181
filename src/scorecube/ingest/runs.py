"""Runs: TREC run files, NTCIREVAL's ranked lists by topic, JSON, Parquet, objects -> `RunLines`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.judgements import Qrels, RunLines, Texts
from scorecube.collection.rankings import JudgedRun, judge
from scorecube.errors import BadInput, counted, option
from scorecube.ingest.entries import (
    RUN,
    Entries,
    content_of,
    decimals,
    entries_of,
    field_lines,
    finish,
    is_path,
    label_text,
    numbered_topics,
    shown,
    split_lines,
)
from scorecube.ingest.files import (
    PathLike,
    bare_name,
    expand,
    is_parquet,
    read_text,
    refuse_unprintable,
)
from scorecube.ingest.roles import RUNS, header_word
from scorecube.ingest.tables import parse_json, read_parquet, refuse

RUN_LINE = "topic Q0 document rank score tag"
RES = ".res"
TAGS = RUNS | {"tag", "name"}
MTEB_MODEL = "mteb_model_meta"


def read_run(path: PathLike, *, run_name: str = "tag", with_ranks: bool = False) -> RunLines:
    """Read one run file, whose ranks must be numbers only `with_ranks`."""
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
            problem = f"{counted(len(fields), 'column')}; a line of a run file has 6: {RUN_LINE}"
            raise BadInput(problem, path, number)
        if run_name == "tag" and rows and fields[5] != rows[0][5]:
            change = f"the run tag changes from {shown(rows[0][5])!r} to {shown(fields[5])!r}"
            by_file = f"name runs by file ({option('run_name', 'file')})"
            raise BadInput(f"{change}: divide the file, or {by_file}", path, number)
        numbers.append(number)
        rows.append(fields)
    if not rows:
        raise BadInput(f"no line of a run file; expected {RUN_LINE}", path)
    topics, _, documents, ranks, scores, tags = zip(*rows, strict=True)
    name = _name_of(path, run_name, tags[0], numbers[0])
    ranks = ranks if with_ranks else ()
    return _run_lines(name, path, Entries(topics, documents, scores, ranks, numbers))


def _run_lines(name: str, path: PathLike, entries: Entries) -> RunLines:
    """Return the lines of a run, whose columns are given."""
    topics, documents, scores, ranks, numbers = entries
    labels, topic_of = numbered_topics(topics, path, numbers)
    return RunLines(
        name,
        str(path),
        labels,
        topic_of,
        Texts.of(documents),
        finish(scores, "score", path, numbers),
        finish(ranks, "rank", path, numbers[: len(ranks)]),
        numbers,
    )


def runs_in_memory(runs: Any, *, with_ranks: bool = False) -> list[RunLines]:
    """Return runs in a form of `scorecube.ingest.entries.RUN`, or a frame with a column of runs."""
    named: Any = runs
    if isinstance(runs, pd.DataFrame):
        tags = [column for column in runs.columns if header_word(str(column)) in TAGS]
        named = dict(list(runs.groupby(tags[0], sort=True))) if len(tags) == 1 else None
    if not isinstance(named, Mapping) or not named or "" in named:
        raise BadInput(f"no run, or a run without a name; expected {RUN.forms}", option="runs")
    return [_run_of_object(str(name), run, with_ranks) for name, run in named.items()]


def _run_of_object(name: str, run: Any, with_ranks: bool) -> RunLines:
    path = f"run {name!r}"
    refuse_unprintable(name, "run", None)
    entries = entries_of(run, RUN, path)
    if not entries.documents:
        raise BadInput(f"{path} has no document", option="runs")
    ranks = entries.ranks if with_ranks else []
    if with_ranks and not ranks:
        counters = {topic: count(1) for topic in entries.topics}
        ranks = [next(counters[topic]) for topic in entries.topics]
    return _run_lines(name, path, entries._replace(ranks=ranks))


def _runs_of_file(path: PathLike, judged: Collection[str]) -> list[RunLines]:
    """Return the runs in JSON, ``{topic: {document: score}}`` or of MTEB, or in Parquet.

    Predictions are ``{subset: {split: {query: {document: score}}}}`` beside ``mteb_model_meta``,
    which names the model (``_save_task_predictions`` of mteb 2.26, read 2026-11-25); the judged
    topics tell the subset and split.
    """
    name = re.sub(r"\.(json|parquet)$", "", bare_name(path))
    try:
        if is_parquet(path):
            frame = read_parquet(path)
            has_tag = any(header_word(str(column)) in TAGS for column in frame.columns)
            return runs_in_memory(frame if has_tag else {name: frame})
        (_, content), *others = parse_json(read_text(path), path)
        if others or not isinstance(content, dict):
            raise BadInput("not one run: {topic: {document: score}}", path)
        if isinstance(meta := content.pop(MTEB_MODEL, None), dict):
            name, content = str(meta.get("model_name", name)), _judged_part(content, judged)
        return runs_in_memory({name: content})
    except BadInput as error:
        raise error if error.path is not None else BadInput(str(error), path) from None


def _judged_part(content: Mapping[str, Any], judged: Collection[str]) -> Any:
    """Return the only subset and split of predictions that has judged topics."""
    parts = [
        ranking
        for splits in content.values()
        for ranking in (splits.values() if isinstance(splits, dict) else ())
        if isinstance(ranking, dict) and not ranking.keys().isdisjoint(judged)
    ]
    if len(parts) != 1:
        raise BadInput(f"{len(parts)} subsets and splits have judged topics; expected 1")
    return parts[0]


@dataclass(frozen=True)
class RankedLists:
    """A run as files of ranked documents: topic and file of each."""

    name: str
    files: tuple[tuple[str, Path], ...]


def read_lists(source: RankedLists) -> RunLines:
    """Read the ranked lists of a run, a document a line (BadInput for other lines)."""
    rows: list[tuple[bytes, bytes, int]] = []
    for topic, path in source.files:
        lines = [line for _, line in field_lines(path, may_be_empty=True)]
        for number, fields in enumerate(lines, 1):
            if len(fields) != 1:
                text = f"{counted(len(fields), 'field')}; a line of a .res file has 1: document"
                raise BadInput(text, path, number)
            rows.append((topic.encode(), fields[0], number))
    topics, documents, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    scores = [-number for number in numbers]
    path = source.files[0][1]
    return _run_lines(source.name, path, Entries(topics, documents, scores, numbers, numbers))


def run_sources(
    runs: Any, topics: Iterable[str], *, with_ranks: bool = False
) -> list[Path | RankedLists | RunLines]:
    """Return the sources of runs: run files, ranked lists by run, and runs in memory.

    Of a folder with ranked lists only these are read. A .res file whose first line is that of a
    run file is one.

    runs: Files, folders or globs, or runs in memory, see `runs_in_memory`.
    topics: Judged topics, to find topic and run in names of files.
    """
    paths = [runs] if is_path(runs) else runs
    if isinstance(paths, Mapping | pd.DataFrame) or not isinstance(paths, Iterable):
        return list(runs_in_memory(paths, with_ranks=with_ranks))
    files, lists = list[Path](), list[Path]()
    for path in list(paths) or expand([], "run files"):
        part = expand(path, "run files")
        ranked = [file for file in part if _is_list(file)]
        lists += ranked
        files += ranked if ranked and Path(path).is_dir() else part
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


def _is_list(path: Path) -> bool:
    """Whether a file is a ranked list of one topic, perhaps an empty one."""
    if not bare_name(path).endswith(RES):
        return False
    _, first = next(field_lines(path, may_be_empty=True), (0, []))
    return len(first) < 2


def _topic_and_run(path: Path, judged: set[str]) -> tuple[str, str]:
    """Return topic and run: ``TOPIC.RUN.res``, or ``RUN/TOPIC.res`` with a judged topic."""
    base, folder = bare_name(path).removesuffix(RES), path.absolute().parent.name
    if base.startswith(f"{folder}."):
        return folder, base.removeprefix(f"{folder}.")
    topic, _, run = base.partition(".")
    if base in judged or not (run and topic in judged):
        topic, run = base, folder
    if topic not in judged:
        forms = f"TOPIC.RUN{RES} or RUN/TOPIC{RES}, with a judged topic"
        raise BadInput(f"the name does not identify topic and run; expected {forms}", path)
    return topic, run


@dataclass(frozen=True, eq=False)
class FileJudge:
    """Reads and judges runs, in threads and on clusters; see `scorecube.read_rankings`."""

    qrels: Qrels
    run_name: str
    order: str
    depth: int | None

    def __call__(self, source: Path | RankedLists | RunLines) -> JudgedRun | BadInput:
        """Return the levels of one run, or what is wrong with it, for a message about all."""
        order = "file" if isinstance(source, RankedLists) else self.order
        try:
            if isinstance(source, Path):
                source = read_run(source, run_name=self.run_name, with_ranks=self.order == "rank")
            run = read_lists(source) if isinstance(source, RankedLists) else source
            return judge(run, self.qrels, order=order, depth=self.depth)
        except BadInput as error:
            return error


def good_runs(judged: Iterable[JudgedRun | BadInput]) -> list[JudgedRun]:
    """Return the runs that were read; what is wrong with others is one error (BadInput)."""
    results = list(judged)
    refuse([result for result in results if isinstance(result, BadInput)])
    return [result for result in results if not isinstance(result, BadInput)]

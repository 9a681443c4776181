"""Runs: TREC run files, NTCIREVAL's ranked lists by topic, JSON, Parquet, objects -> `RunLines`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.judgements import Qrels, RunLines
from scorecube.collection.rankings import JudgedRun, Order, judge
from scorecube.errors import BadInput, counted, option
from scorecube.ingest.data_frames import label_of
from scorecube.ingest.entries import (
    RUN,
    Entries,
    as_words,
    entries_of,
    field_lines,
    label_text,
    numbered_topics,
    numbers_in,
    places_of,
    read_columns,
)
from scorecube.ingest.formats import File
from scorecube.ingest.headings import RUNS, header_word
from scorecube.ingest.input_files import PathLike, bare_name, expand, read_bytes, refuse_unprintable
from scorecube.ingest.run_bytes import judged_content

RUN_LINE = "topic Q0 document rank score tag"
RES = ".res"
TAGS = RUNS | {"tag", "name"}
MTEB_MODEL = "mteb_model_meta"


def read_run(
    path: PathLike, content: bytes, *, run_name: str = "tag", with_ranks: bool = False
) -> RunLines:
    """Read the content of a run file, whose ranks must be numbers only `with_ranks`."""
    columns, numbers = read_columns(content, "run", RUN_LINE, path)
    topics, _, documents, ranks, scores, tags = columns
    if run_name == "tag":
        name = label_text(tags[0], "run tag", path, numbers[0])
        if (others := np.flatnonzero(tags != tags[0])).size:
            change = f"the run tag changes from {name!r} to {label_of(tags[others[0]])!r}"
            by_file = f"name runs by file ({option('run_name', 'file')})"
            raise BadInput(f"{change}: divide the file, or {by_file}", path, numbers[others[0]])
    else:
        name = label_text(os.fsencode(bare_name(path)), "file name", path)
    entries = Entries(topics, documents, scores, ranks if with_ranks else (), numbers)
    return _run_lines(name, path, entries)


def _run_lines(name: str, path: PathLike, entries: Entries) -> RunLines:
    """Return the lines of a run, whose columns are given."""
    topics, documents, scores, ranks, numbers = entries
    labels, topic_of = numbered_topics(topics, path, numbers)
    values = numbers_in(scores, "score", path, numbers)
    places = numbers_in(ranks, "rank", path, numbers[: len(ranks)])
    ids = as_words(documents)
    return RunLines(name, str(path), labels, topic_of, ids, values, places, numbers)


def runs_in_memory(
    runs: object, *, with_ranks: bool = False, path: PathLike | None = None, name: str = ""
) -> list[RunLines]:
    """Return runs in a form of `scorecube.ingest.entries.RUN`, or a frame with a column of runs.

    path, name: The file that they are from, and the name of the run of a frame without such a
        column.
    """
    named: Any = runs
    if isinstance(runs, pd.DataFrame):
        tags = [column for column in runs.columns if header_word(str(column)) in TAGS]
        named = dict(list(runs.groupby(tags[0], sort=True))) if len(tags) == 1 else {name: runs}
    if not isinstance(named, Mapping) or not named or "" in named:
        raise RUN.refusal("no run, or a run without a name", path)
    lines = []
    for label, run in named.items():
        refuse_unprintable(str(label), "run")
        where = path or f"run {label!r}"
        entries = entries_of(run, RUN, where)
        if not entries.documents:
            raise RUN.refusal("no document", where)
        ranks = entries.ranks or entries.lines  # without ranks, in their order
        entries = entries._replace(ranks=ranks if with_ranks else ())
        lines.append(_run_lines(str(label), where, entries))
    return lines


def _runs_of_file(path: PathLike, judged: Collection[str], with_ranks: bool) -> list[RunLines]:
    """Return the runs in JSON, ``{topic: {document: score}}`` or of MTEB, or in a table.

    Predictions are ``{subset: {split: {query: {document: score}}}}`` beside ``mteb_model_meta``,
    which names the model (``_save_task_predictions`` of mteb 2.26, read 2026-11-25); the judged
    topics tell the subset and split.
    """
    name = re.sub(r"\.[a-z]+$", "", bare_name(path))
    file = File.read(path)
    if not file.nested:
        return runs_in_memory(file.table.frame, with_ranks=with_ranks, path=path, name=name)
    content: Any = file.nested
    if isinstance(meta := content.pop(MTEB_MODEL, None), dict):
        name, content = str(meta.get("model_name", name)), _judged_part(content, judged, path)
    return runs_in_memory({name: content}, with_ranks=with_ranks, path=path)


def _judged_part(content: Mapping[str, Any], judged: Collection[str], path: PathLike) -> Any:
    """Return the only subset and split of predictions that has judged topics."""
    parts = [
        ranking
        for splits in content.values()
        for ranking in (splits.values() if isinstance(splits, dict) else ())
        if isinstance(ranking, dict) and not ranking.keys().isdisjoint(judged)
    ]
    if len(parts) != 1:
        raise BadInput(f"{len(parts)} subsets and splits have judged topics; expected 1", path)
    return parts[0]


def _read_lists(run: str, files: Mapping[str, Path]) -> RunLines:
    """Read the ranked lists of a run, by topic, a document a line (BadInput for other lines)."""
    rows: list[tuple[bytes, bytes, int]] = []
    for topic, path in sorted(files.items()):
        content = read_bytes(path, may_be_empty=True)
        for rank, (number, fields) in enumerate(field_lines(content), 1):
            if len(fields) != 1:
                text = f"{counted(len(fields), 'field')}; a line of a .res file has 1: document"
                raise BadInput(text, path, number)
            rows.append((topic.encode(), fields[0], rank))
    topics, documents, ranks = zip(*rows, strict=True) if rows else ((), (), ())
    path = files[min(files)]
    return _run_lines(run, path, Entries(topics, documents, [-k for k in ranks], ranks, ranks))


def run_sources(
    runs: object, topics: Iterable[str], *, with_ranks: bool = False
) -> list[Path | RunLines]:
    """Return the sources of runs: run files, and runs that were read.

    Of a folder with ranked lists only these are read. A .res file whose first line is that of a
    run file is one.

    runs: Files, folders or globs, or runs in memory, see `runs_in_memory`.
    topics: Judged topics, by which subsets of predictions are told apart.
    """
    paths = [runs] if isinstance(runs, str | os.PathLike) else runs
    if isinstance(paths, Mapping | pd.DataFrame) or not isinstance(paths, Iterable):
        return list[Path | RunLines](runs_in_memory(paths, with_ranks=with_ranks))
    judged, by_run = set(topics), dict[str, dict[str, Path]]()
    sources: list[Path | RunLines] = []
    for path in list(paths) or expand([], "run files"):
        files = expand(path, "run files")
        lists = list(filter(_is_list, files))
        for file in lists:
            topic, run = _topic_and_run(file)
            first = by_run.setdefault(run, {}).setdefault(topic, file)
            if first != file:
                text = f"a second list of topic {topic} of run {run!r}; the first is {first}"
                raise BadInput(text, file)
        for file in [] if lists and Path(path).is_dir() else files:
            if _is_table(file):
                sources += _runs_of_file(file, judged, with_ranks)
            elif file not in lists:
                sources.append(file)
    return sources + [_read_lists(run, part) for run, part in by_run.items()]


def _is_table(path: Path) -> bool:
    """Return whether a file is JSON, Parquet, or a table with headings."""
    if bare_name(path).endswith((".json", ".jsonl", ".parquet")):
        return True
    if not bare_name(path).endswith((".csv", ".tsv")):
        return False
    first, _, _ = read_bytes(path, may_be_empty=True).partition(b"\n")
    return all(places_of(re.split("[\t,;]", label_of(first)), RUN).values())


def _is_list(path: Path) -> bool:
    """Whether a file is a ranked list of one topic, perhaps an empty one."""
    if not bare_name(path).endswith(RES):
        return False
    _, first = next(field_lines(read_bytes(path, may_be_empty=True)), (0, []))
    return len(first) < 2


def _topic_and_run(path: Path) -> tuple[str, str]:
    """Return topic and run of ``TOPIC.RUN.res``, perhaps in a folder called TOPIC."""
    base, folder = bare_name(path).removesuffix(RES), path.absolute().parent.name
    topic = folder if base.startswith(f"{folder}.") else base.partition(".")[0]
    if topic == base:
        raise BadInput(f"the name does not tell topic and run; expected TOPIC.RUN{RES}", path)
    return topic, base.removeprefix(f"{topic}.")


def judged_run(
    source: Path | RunLines,
    qrels: Qrels,
    *,
    run_name: str,
    order: str,
    depth: int | None,
    ignore_identical: bool = False,
) -> JudgedRun:
    """Read and judge one run, in a thread; see `scorecube.read_rankings`."""
    if isinstance(source, RunLines):
        return judge(source, qrels, order=order, depth=depth, ignore_identical=ignore_identical)
    content = read_bytes(source)
    judged = judged_content(content, source, qrels, run_name=run_name, order=order, depth=depth)
    if judged is not None and not (ignore_identical and judged.own.any()):
        return judged
    run = read_run(source, content, run_name=run_name, with_ranks=order == Order.RANK)
    return judge(run, qrels, order=order, depth=depth, ignore_identical=ignore_identical)

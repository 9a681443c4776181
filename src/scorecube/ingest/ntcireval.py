"""Files of NTCIREVAL by topic: .rel judgements and .res ranked lists, in folders named after topics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.collection.judgements import Qrels, RunLines
from scorecube.collection.rankings import Duplicates
from scorecube.errors import BadInput, counted
from scorecube.ingest.columns import packed
from scorecube.ingest.files import MAGIC, PathLike, bare_name, expand, opened, read_bytes
from scorecube.ingest.in_memory_runs import qrels_in_memory, runs_in_memory, runs_of_json
from scorecube.ingest.judge_labels import is_label_table, qrels_of_table
from scorecube.ingest.qrels import (
    Dialect,
    LevelMap,
    check_level_map,
    map_levels,
    qrels_of_rows,
    read_qrels,
)
from scorecube.ingest.tool_objects import of_ir_datasets
from scorecube.metrics.registry import HIGHEST_LEVEL

REL, RES = ".rel", ".res"
LEVEL = re.compile(rb"L(\d{1,3})")
BEGINNING = 65536
"""Bytes that are read to distinguish ranked lists from run files, which may be large."""
WIDTHS = {RES: (1, 1), REL: (2, 3)}
"""Smallest and largest number of fields of a line; the third field is the equivalence class, used only with NTCIREVAL's -ec."""
FORMS = {RES: "document", REL: "document level"}
Row = tuple[int, list[bytes]]
"""Line number and fields."""


@dataclass(frozen=True)
class RankedLists:
    """A run as files of ranked documents, one for each topic.

    Parameters
    ----------
    name
        Of the run.
    """

    name: str
    files: tuple[tuple[str, Path], ...]
    """Topic and file."""


def read_judgements(
    path: Any, *, dialect: str = Dialect.AUTO, level_map: LevelMap | None = None
) -> Qrels:
    """Read judgements in any form: .rel files by `read_rel`, unless a dialect is named, and others by `read_qrels`.

    Parameters
    ----------
    path
        A file, also a table with a header as of BEIR, or in JSON lines or Parquet; a folder of .rel files; ``ir_datasets:NAME``; or judgements in memory,
        see `scorecube.ingest.in_memory_runs.QRELS_FORMS`.
    dialect, level_map
        As of `read_qrels`.

    Returns
    -------
    qrels
        As from `read_qrels`.
    """
    in_memory = qrels_in_memory(of_ir_datasets(path), level_map)
    if in_memory is not None:
        return in_memory
    if Dialect(dialect) is Dialect.AUTO:
        if by_topic := rel_files(path):
            return read_rel(by_topic, level_map=level_map)
        if is_label_table(path):
            return qrels_of_table(path, level_map)
    return read_qrels(path, dialect=dialect, level_map=level_map)


def rel_files(path: PathLike) -> list[Path]:
    """Return the .rel files of a path, a folder or a glob; none for a file in another form.

    Parameters
    ----------
    path
        A file, a folder (also of folders by topic) or a glob.

    Returns
    -------
    paths
        Sorted paths.

    Raises
    ------
    BadInput
        A folder without .rel files in it or in its subfolders.
    """
    if Path(path).is_dir():
        found = _with_suffix(Path(path), REL)
        if not found:
            problem = "no .rel files in this folder; judgements are one file, or a folder with NTCIREVAL's .rel files"
            raise BadInput(problem, path)
        return found
    is_file = Path(path).exists() or not bare_name(path).endswith(REL)
    files = [Path(path)] if is_file else expand(path, "judgements")
    return files if all(_suffix(file) == REL and _is_rel(file) for file in files) else []


def read_rel(paths: Sequence[Path], *, level_map: LevelMap | None = None) -> Qrels:
    """Read judgements of one topic a file: lines of document and level (L0, L1, ...), empty lines and comments with #.

    Parameters
    ----------
    paths
        Called <topic>.rel, or in a folder named after the topic.
    level_map
        As of `read_qrels`.

    Returns
    -------
    qrels
        As from `read_qrels`.

    Raises
    ------
    BadInput
        Naming file and line: too few or many fields, an invalid level, a document twice; two files of one topic.
    """
    check_level_map(level_map)
    origin: dict[str, Path] = {}
    for path in paths:
        base, folder = _base(path), path.absolute().parent.name
        topic = folder if base.startswith(f"{folder}.") or base.endswith(f".{folder}") else base
        if topic in origin:
            raise BadInput(f"a second file of topic {topic}; the first is {origin[topic]}", path)
        origin[topic] = path
    rows = []
    for topic, path in origin.items():
        part = [row for row in _rows(path, REL) if not row[1][0].startswith(b"#")]
        if not part:
            raise BadInput("no line of a .rel file; expected document level", path)
        _refuse_repeated(part, path, f"is judged twice in topic {topic}")
        rows += [
            (topic, fields[0], _level(fields[1], path, number), number) for number, fields in part
        ]
    of_row, documents, levels, numbers = zip(*rows, strict=True)
    mapped = map_levels(np.array(levels, np.float64), level_map)
    return qrels_of_rows(str(paths[0].parent), of_row, documents, mapped, numbers)


def run_sources(
    runs: Any, topics: Iterable[str], *, with_ranks: bool = False
) -> list[Path | RankedLists | RunLines]:
    """Return the sources of runs: run files, and ranked lists of one topic each, grouped by run.

    Of a folder with ranked lists, in it or in its subfolders, only these are read. A .res file whose first line is that
    of a run file is a run file.

    Parameters
    ----------
    runs
        Files, folders or globs, or runs in memory, see `scorecube.ingest.in_memory_runs.RUN_FORMS`.
    topics
        Judged topics, to find topic and run in names of files.
    with_ranks
        Whether ranks of runs in memory must be numbers (they are ignored otherwise).

    Returns
    -------
    sources
        Run files, runs as ranked lists, and lines of runs in memory.

    Raises
    ------
    BadInput
        No files; a list with a name that does not identify topic and run; two lists of one run and topic.
    """
    runs = list(runs) if isinstance(runs, Iterator) else runs
    in_memory = runs_in_memory(runs, with_ranks=with_ranks)
    if in_memory is not None:
        return list(in_memory)
    paths = [runs] if isinstance(runs, str) or not isinstance(runs, Iterable) else list(runs)
    files = [file for path in paths for file in _lists_below(path) or expand(path, "run files")]
    in_json = [file for file in files if bare_name(file).endswith(".json")]
    lists = _ranked_lists(files or expand(paths, "run files"))
    known = set(topics)
    by_run: dict[str, dict[str, Path]] = {}
    for path in lists:
        topic, run = _topic_and_run(path, known)
        first = by_run.setdefault(run, {}).setdefault(topic, path)
        if first != path:
            raise BadInput(
                f"a second list of topic {topic} of run {run!r}; the first is {first}", path
            )
    grouped = [RankedLists(run, tuple(sorted(found.items()))) for run, found in by_run.items()]
    others = {*lists, *in_json}
    known_runs = [run for file in in_json for run in runs_of_json(file, known)]
    return [*(path for path in files if path not in others), *known_runs, *grouped]


def read_lists(source: RankedLists, *, duplicates: str = Duplicates.ERROR) -> RunLines:
    """Read the ranked lists of a run; documents keep the order of the file, whatever order the caller requests.

    Parameters
    ----------
    source
        As from `run_sources`.
    duplicates
        As of `judge`.

    Returns
    -------
    lines
        As from `scorecube.ingest.trec.read_run`.

    Raises
    ------
    BadInput
        Naming file and line: too many fields, an empty line between documents, a document twice.
    """
    parts = []
    for topic, path in source.files:
        rows = _rows(path, _suffix(path))
        if Duplicates(duplicates) is Duplicates.ERROR:
            _refuse_repeated(rows, path, f"stands twice in topic {topic}")
        parts.append(rows)
    text, documents = packed([fields[0] for rows in parts for _, fields in rows])
    topic_of = np.repeat(np.arange(len(parts), dtype=np.int32), list(map(len, parts)))
    numbers = np.array([number for rows in parts for number, _ in rows], np.int32)
    ranks = np.concatenate([np.zeros(0), *(np.arange(1.0, len(rows) + 1) for rows in parts)])
    return RunLines(
        name=source.name,
        path=str(source.files[0][1]),
        text=text,
        topics=[topic for topic, _ in source.files],
        topic_of=topic_of,
        documents=documents,
        scores=-ranks,
        ranks=ranks,
        numbers=numbers,
    )


def _suffix(path: PathLike) -> str:
    return next((suffix for suffix in WIDTHS if bare_name(path).endswith(suffix)), "")


def _base(path: PathLike) -> str:
    return bare_name(path).removesuffix(_suffix(path))


def _with_suffix(folder: Path, suffix: str) -> list[Path]:
    """Return the files with a suffix in a folder and in its subfolders, without hidden files."""
    found = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern))]
    return [
        path
        for path in found
        if _suffix(path) == suffix and path.is_file() and not path.name.startswith(".")
    ]


def _lists_below(path: PathLike) -> list[Path]:
    if not Path(path).is_dir():
        return []
    return _ranked_lists(_with_suffix(Path(path), RES))


def _ranked_lists(files: Iterable[Path]) -> list[Path]:
    """Return the ranked lists among files; beside other lists, an empty file is the list of a topic without documents."""
    first = {path: _first_fields(path) for path in files if _suffix(path) == RES}
    lists = {path for path, count in first.items() if count == 1}
    return [path for path, count in first.items() if path in lists or (lists and not count)]


def _first_fields(path: Path) -> int:
    """Return the number of fields of the first line that is not empty."""
    with opened(path) as file:
        content = file.read(BEGINNING)
    if content.startswith(MAGIC):
        content = read_bytes(path, may_be_empty=True)
    return next((len(line.split()) for line in content.split(b"\n") if line.strip()), 0)


def _is_rel(path: Path) -> bool:
    lines = [line.split() for line in read_bytes(path).split(b"\n")]
    first = next((line for line in lines if line and not line[0].startswith(b"#")), [])
    return len(first) <= 2 or (len(first) == 3 and bool(LEVEL.fullmatch(first[1])))


def _topic_and_run(path: Path, judged: set[str]) -> tuple[str, str]:
    """Return topic and run, from the names of a file and its folder."""
    base, folder = _base(path), path.absolute().parent.name
    by_folder = [(folder, base.removeprefix(f"{folder}."))] if base.startswith(f"{folder}.") else []
    by_folder += [(folder, base.removesuffix(f".{folder}"))] if base.endswith(f".{folder}") else []
    if by_folder and folder in judged:
        return by_folder[0]
    dots = [at for at, letter in enumerate(base) if letter == "."]
    found = [(base[:at], base[at + 1 :]) for at in dots if base[:at] in judged]
    found += [(base[at + 1 :], base[:at]) for at in dots if base[at + 1 :] in judged]
    if len(found) > 1:
        ways = ", or ".join(f"topic {topic} of run {run!r}" for topic, run in found)
        raise BadInput(
            f"the name does not identify topic and run: {ways}; put the file in a folder named after the topic",
            path,
        )
    if base in judged:
        found.append((base, folder))
    if not (found or by_folder):
        raise BadInput(
            f"the name does not identify topic and run; expected <topic>.<run>{_suffix(path)} in a folder named after the "
            "topic or with a judged topic, or <run>/<topic> with one",
            path,
        )
    return (found or by_folder)[0]


def _rows(path: Path, suffix: str) -> list[Row]:
    """Return the lines of a file in fields; empty lines of .rel files and after the last document are left out."""
    content = read_bytes(path, may_be_empty=suffix != REL).rstrip()
    low, high = WIDTHS[suffix]
    rows = []
    for number, line in enumerate(
        content.replace(b"\r\n", b"\n").split(b"\n") if content else [], 1
    ):
        fields = line.split()
        comment = suffix == REL and (not fields or fields[0].startswith(b"#"))
        if not fields and not comment:
            raise BadInput(
                "an empty line between documents, which NTCIREVAL counts as a rank; remove it",
                path,
                number,
            )
        if not comment and not low <= len(fields) <= high:
            problem = f"{counted(len(fields), 'field')}; a line of a {suffix} file has {len(FORMS[suffix].split())}: {FORMS[suffix]}"
            raise BadInput(problem, path, number)
        if fields:
            rows.append((number, fields))
    return rows


def _refuse_repeated(rows: Sequence[Row], path: Path, problem: str) -> None:
    first: dict[bytes, int] = {}
    for number, fields in rows:
        if fields[0] in first:
            document = fields[0].decode("utf-8", "replace")
            where = f", first in line {first[fields[0]]}; remove one of the lines"
            raise BadInput(f"document {document!r} {problem}{where}", path, number)
        first[fields[0]] = number


def _level(field: bytes, path: Path, line: int) -> int:
    found = LEVEL.fullmatch(field)
    if found is None or int(found[1]) > HIGHEST_LEVEL:
        raise BadInput(
            f"level {field.decode('utf-8', 'replace')!r} is not one of L0 to L{HIGHEST_LEVEL}",
            path,
            line,
        )
    return int(found[1])

"""Files of NTCIREVAL by topic: .rel judgements, .res ranked lists and .lab ranked lists with levels, in folders named after topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.collection.judgements import Qrels, RunLines
from scorecube.collection.rankings import Duplicates
from scorecube.errors import BadInput
from scorecube.ingest.files import MAGIC, PathLike, bare_name, expand, read_bytes
from scorecube.ingest.qrels import HIGHEST_LEVEL, Dialect, LevelMap, Probabilities, Thresholds, read_qrels
from scorecube.kernels.parsing.byte_words import PADDING

REL, RES, LAB = ".rel", ".res", ".lab"
LEVEL = re.compile(rb"L(\d{1,3})")
BEGINNING = 65536
"""Bytes that are looked at to tell ranked lists from run files, which may be large."""
WIDTHS = {RES: (1, 1), LAB: (1, 3), REL: (2, 3)}
"""Fields that a line may have; the third is the equivalence class, which counts only with NTCIREVAL's -ec."""
FORMS = {RES: "document", LAB: "document level", REL: "document level"}
Row = tuple[int, list[bytes]]
"""Line number and fields."""
Levels = Mapping[str, Mapping[bytes, int]]
"""Topic -> document -> level; unjudged documents are not in it."""


@dataclass(frozen=True)
class RankedLists:
    """A run in parts: files of ranked documents, each of one topic.

    Parameters
    ----------
    name
        Of the run.
    """

    name: str
    files: tuple[tuple[str, Path], ...]
    """Topic and file."""


def read_judgements(
    path: PathLike,
    *,
    dialect: str = Dialect.AUTO,
    level_map: LevelMap | None = None,
    intents: PathLike | Probabilities | None = None,
) -> Qrels:
    """Read judgements in any form: `read_rel` of .rel files where no dialect is named, else `read_qrels`.

    Parameters
    ----------
    path
        A file, or the folder of .rel files.
    dialect, level_map, intents
        As of `read_qrels`.

    Returns
    -------
    qrels
        As from `read_qrels`.
    """
    by_topic = rel_files(path) if Dialect(dialect) is Dialect.AUTO and intents is None else []
    if by_topic:
        return read_rel(by_topic, level_map=level_map)
    return read_qrels(path, dialect=dialect, level_map=level_map, intents=intents)


def rel_files(given: PathLike) -> list[Path]:
    """Return the .rel files that a path, a folder or a glob stands for; none if it is a file in another form.

    Parameters
    ----------
    given
        A file, a folder (also of folders by topic) or a glob.

    Returns
    -------
    paths
        Sorted.

    Raises
    ------
    BadInput
        A folder without .rel files in it or in its folders.
    """
    if Path(given).is_dir():
        found = _named(Path(given), REL)
        if not found:
            problem = "no .rel files in this folder; judgements are one file, or a folder with NTCIREVAL's .rel files"
            raise BadInput(problem, given)
        return found
    paths = [Path(given)] if Path(given).exists() or not bare_name(given).endswith(REL) else expand(given, "judgements")
    return paths if all(_suffix(path) == REL and _is_rel(path) for path in paths) else []


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
        Naming file and line: too few or many fields, a level that is none, a document twice; two files of one topic.
    """
    origin: dict[str, Path] = {}
    for path in paths:
        topic = _topic_of_rel(path)
        if topic in origin:
            raise BadInput(f"topic {topic} is judged in {origin[topic]} already", path)
        origin[topic] = path
    topics = sorted(origin)
    parts = []
    for topic in topics:
        rows = [(number, fields) for number, fields in _rows(origin[topic], REL) if not fields[0].startswith(b"#")]
        if not rows:
            raise BadInput("no line of a .rel file in it: document level", origin[topic])
        _refuse_repeated(rows, origin[topic], f"is judged twice in topic {topic}")
        parts.append(rows)
    text, documents, topic_of, numbers = _joined(parts)
    found = [_level(fields[1], origin[t], n) for t, rows in zip(topics, parts, strict=True) for n, fields in rows]
    levels = np.array([_mapped(level, level_map) for level in found], np.int16)
    return Qrels(str(paths[0].parent), text, topics, topic_of, documents, levels, numbers)


def run_sources(runs: Iterable[PathLike] | PathLike, topics: Iterable[str]) -> list[Path | RankedLists]:
    """Return what runs are to be read from: run files, and ranked lists of one topic each, put together by run.

    A folder that holds ranked lists, itself or in its folders, stands for these alone; .lab files count where there
    are no .res files; their levels are compared with those of the judgements, which alone know how many documents are
    relevant. A .res or .lab file whose first line is that of a run file is a run file.

    Parameters
    ----------
    runs
        Files, folders or globs.
    topics
        Judged topics, which tell topic and run apart in names of files.

    Returns
    -------
    sources
        Run files, and runs put together of ranked lists.

    Raises
    ------
    BadInput
        Nothing found; a list whose name does not tell topic and run; two lists of one run and topic.
    """
    given = [runs] if isinstance(runs, str) or not isinstance(runs, Iterable) else list(runs)
    files = [path for each in given for path in _lists_below(each) or expand(each, "run files")]
    lists = _ranked_lists(files or expand(given, "run files"))
    known = set(topics)
    by_run: dict[str, dict[str, Path]] = {}
    for path in lists:
        topic, run = _topic_and_run(path, known)
        taken = by_run.setdefault(run, {}).setdefault(topic, path)
        if taken != path:
            raise BadInput(f"topic {topic} of run {run!r} stands in {taken} already", path)
    together = [RankedLists(run, tuple(sorted(found.items()))) for run, found in by_run.items()]
    listed = set(lists)
    return [*(path for path in files if path not in listed), *together]


def read_lists(
    source: RankedLists,
    *,
    duplicates: str = Duplicates.ERROR,
    judged: Callable[[], Levels] | None = None,
    level_map: LevelMap | None = None,
) -> RunLines:
    """Read a run's ranked lists; documents are in the order of the file, whatever order is asked for.

    Parameters
    ----------
    source
        As from `run_sources`.
    duplicates
        As of `judge`.
    judged
        Returns levels of the judgements, which those in .lab files must equal; called only if there are such files.
    level_map
        What was done to the levels of the judgements.

    Returns
    -------
    lines
        As from `scorecube.ingest.trec.read_run`.

    Raises
    ------
    BadInput
        Naming file and line: too many fields, an empty line between documents, a document twice, a level that is none
        or that is another in the judgements.
    """
    parts = []
    for topic, path in source.files:
        rows = _rows(path, _suffix(path))
        if Duplicates(duplicates) is Duplicates.ERROR:
            _refuse_repeated(rows, path, f"stands twice in topic {topic}")
        if _suffix(path) == LAB and judged is not None:
            _check_levels(rows, path, topic, judged().get(topic), level_map)
        parts.append(rows)
    text, documents, topic_of, numbers = _joined(parts)
    ranks = np.concatenate([np.zeros(0), *(np.arange(1.0, len(rows) + 1) for rows in parts)])
    return RunLines(
        name=source.name, path=str(source.files[0][1]), text=text, topics=[topic for topic, _ in source.files],
        topic_of=topic_of, documents=documents, scores=-ranks, ranks=ranks, numbers=numbers,
    )  # fmt: skip


def levels_of(qrels: Qrels) -> Levels:
    """Return the levels of judgements by topic and document."""
    text = qrels.text.tobytes()
    found: dict[str, dict[bytes, int]] = {topic: {} for topic in qrels.topics}
    for topic, (start, stop), level in zip(qrels.topic_of, qrels.documents, qrels.levels, strict=True):
        if level >= 0:
            found[qrels.topics[topic]][text[start:stop]] = int(level)
    return found


def _suffix(path: PathLike) -> str:
    return next((suffix for suffix in WIDTHS if bare_name(path).endswith(suffix)), "")


def _base(path: PathLike) -> str:
    return bare_name(path).removesuffix(_suffix(path))


def _named(folder: Path, suffix: str) -> list[Path]:
    """Return the files of a kind in a folder and in its folders, hidden ones left out."""
    found = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern))]
    return [path for path in found if _suffix(path) == suffix and path.is_file() and not path.name.startswith(".")]


def _lists_below(given: PathLike) -> list[Path]:
    if not Path(given).is_dir():
        return []
    return next((found for suffix in (RES, LAB) if (found := _ranked_lists(_named(Path(given), suffix)))), [])


def _ranked_lists(files: Iterable[Path]) -> list[Path]:
    """Return the ranked lists among files; empty files are such, of topics without a document, if others are."""
    first = {path: _first_fields(path) for path in files if _suffix(path) in (RES, LAB)}
    lists = {path for path, count in first.items() if 0 < count <= WIDTHS[_suffix(path)][1]}
    return [path for path, count in first.items() if path in lists or (lists and not count)]


def _first_fields(path: Path) -> int:
    """Return how many fields the first line has that has any."""
    try:
        with path.open("rb") as file:
            content = file.read(BEGINNING)
    except OSError:
        content = read_bytes(path)  # says what is wrong
    if content.startswith(MAGIC):
        content = read_bytes(path, may_be_empty=True)
    return next((len(line.split()) for line in content.split(b"\n") if line.strip()), 0)


def _is_rel(path: Path) -> bool:
    lines = [line.split() for line in read_bytes(path).split(b"\n")]
    told = next((line for line in lines if line and not line[0].startswith(b"#")), [])
    return len(told) <= 2 or (len(told) == 3 and bool(LEVEL.fullmatch(told[1])))


def _topic_of_rel(path: Path) -> str:
    base, folder = _base(path), path.absolute().parent.name
    return folder if base.startswith(f"{folder}.") or base.endswith(f".{folder}") else base


def _topic_and_run(path: Path, judged: set[str]) -> tuple[str, str]:
    """Tell topic and run from a file's name and its folder's."""
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
            f"cannot tell topic and run from the name: {ways}; put it in a folder named after the topic", path
        )
    if base in judged:
        found.append((base, folder))
    if not (found or by_folder):
        raise BadInput(
            f"cannot tell topic and run from the name; expected <topic>.<run>{_suffix(path)} in a folder named after the "
            "topic or with a judged topic, or <run>/<topic> with one", path,
        )  # fmt: skip
    return (found or by_folder)[0]


def _rows(path: Path, suffix: str) -> list[Row]:
    """Return the lines of a file in fields; empty ones are left out of .rel files and behind the last document."""
    content = read_bytes(path, may_be_empty=suffix != REL).rstrip()
    low, high = WIDTHS[suffix]
    rows = []
    for number, line in enumerate(content.replace(b"\r\n", b"\n").split(b"\n") if content else [], 1):
        fields = line.split()
        comment = suffix == REL and (not fields or fields[0].startswith(b"#"))
        if not fields and not comment:
            raise BadInput("an empty line between documents, which NTCIREVAL counts as a rank; remove it", path, number)
        if not comment and not low <= len(fields) <= high:
            problem = (
                f"{len(fields)} fields; a line of a {suffix} file has {len(FORMS[suffix].split())}: {FORMS[suffix]}"
            )
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
        raise BadInput(f"level {field.decode('utf-8', 'replace')!r} is not one of L0 to L{HIGHEST_LEVEL}", path, line)
    return int(found[1])


def _mapped(level: int, level_map: LevelMap | None) -> int:
    if isinstance(level_map, Thresholds):
        return int(level_map.apply(np.array([level], np.float64))[0])
    return (level_map or {}).get(level, level)


def _check_levels(
    rows: Sequence[Row], path: Path, topic: str, judged: Mapping[bytes, int] | None, level_map: LevelMap | None
) -> None:
    """Refuse levels that are not those of the judgements, from which the numbers of relevant documents come."""
    if judged is None:
        return
    for number, fields in rows:
        found = _level(fields[1], path, number) if len(fields) > 1 else None
        found = None if found is None else _mapped(found, level_map)
        expected = judged.get(fields[0])
        if found != expected:
            said = ["unjudged" if level is None else f"L{level}" for level in (found, expected)]
            raise BadInput(
                f"document {fields[0].decode('utf-8', 'replace')!r} is {said[0]} here and {said[1]} in the judgements of "
                f"topic {topic}; label the list again, or give the .res files (levels by -ec are not supported)",
                path, number,
            )  # fmt: skip


def _joined(parts: Sequence[Sequence[Row]]) -> tuple[Any, Any, Any, Any]:
    """Return documents of all parts as one padded text, with their places, parts and line numbers."""
    documents = [fields[0] for rows in parts for _, fields in rows]
    text = np.frombuffer(b"\n".join(documents) + bytes(PADDING), np.uint8)
    lengths = np.array([len(document) for document in documents], np.int64)
    stops = np.cumsum(lengths + 1) - 1
    places = np.stack([stops - lengths, stops], axis=1).astype(np.int32)
    topic_of = np.repeat(np.arange(len(parts), dtype=np.int32), [len(rows) for rows in parts])
    numbers = np.array([number for rows in parts for number, _ in rows], np.int32)
    return text, places, topic_of, numbers

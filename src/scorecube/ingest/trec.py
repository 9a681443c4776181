"""TREC run files and qrels, and the list of teams."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, bare_name, read_bytes
from scorecube.kernels.lines import GOOD, OTHER_TAG, count_lines, parse_lines
from scorecube.kernels.words import PADDING
from scorecube.rankings import Qrels, RunLines


@dataclass(frozen=True)
class Layout:
    """Which field of a line is what; see `kernels.lines.parse_lines`."""

    what: str
    line: str
    topic: int
    document: int
    value: int
    rank: int = -1
    tag: int = -1

    @property
    def width(self) -> int:
        """Fields that a line must have."""
        return len(self.line.split())

    def columns(self, with_ranks: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the columns as the kernel takes them."""
        rank = self.rank if with_ranks else -1
        return np.array([self.width, self.topic, self.document, self.value, rank, self.tag])


RUN = Layout("run", "topic Q0 document rank score tag", 0, 2, 4, 3, 5)
QRELS = Layout("qrels", "topic iteration document level", 0, 2, 3)
HIGHEST_LEVEL = 127


def read_run(path: PathLike, *, run_name: str = "tag", with_ranks: bool = False) -> RunLines:
    """Read one run file, plain or gzip.

    Parameters
    ----------
    run_name
        ``tag``: a run is called by its last column; ``file``: by its file name without .gz.
    with_ranks
        Whether the rank column must be numbers (it is ignored otherwise).

    Raises
    ------
    BadInput
        Naming file and line: too few columns, a score or rank that is not a number, two tags in one file.
    """
    text, columns = _parse(path, RUN, with_ranks, one_tag=run_name == "tag")
    topic_of, topic_places, documents, scores, ranks, score_places, rank_places, numbers, tag = columns
    _look_again(text, scores, score_places, numbers, path, "score")
    _look_again(text, ranks, rank_places, numbers, path, "rank", ok=math.isfinite)
    return RunLines(
        name=_decode(text, tag) if run_name == "tag" else bare_name(path),
        path=str(path), text=text, topics=[_decode(text, place) for place in topic_places],
        topic_of=topic_of, documents=documents, scores=scores, ranks=ranks, numbers=numbers,
    )  # fmt: skip


def read_qrels(path: PathLike) -> Qrels:
    """Read judgements; a negative level means pooled but not judged.

    Raises
    ------
    BadInput
        Naming file and line: too few columns, a level that is not an integer, a document judged twice in a topic.
    """
    text, columns = _parse(path, QRELS, False, one_tag=False)
    topic_of, topic_places, documents, values, _, places, _, numbers, _ = columns
    _look_again(text, values, places, numbers, path, "level", ok=_is_level)
    order, topic_of = _sorted_topics([_decode(text, place) for place in topic_places], topic_of)
    qrels = Qrels(str(path), text, order, topic_of, documents, values.astype(np.int16), numbers)
    qrels.tables  # noqa: B018 - built here, once for all runs, and refuses repeated documents
    return qrels


def _sorted_topics(topics: list[str], topic_of: np.ndarray[Any, Any]) -> tuple[list[str], np.ndarray[Any, Any]]:
    order = sorted(range(len(topics)), key=topics.__getitem__)
    position = np.empty(len(topics), np.int32)
    position[order] = np.arange(len(topics))
    return [topics[k] for k in order], position[topic_of]


def _is_level(value: float) -> bool:
    return math.isfinite(value) and value == math.floor(value) and abs(value) <= HIGHEST_LEVEL


def read_teams(path: PathLike) -> dict[str, str]:
    """Read a CSV file with the header ``run,team[,...]`` into run -> team.

    Raises
    ------
    BadInput
        A header without run or team, a line without them, a run with two teams.
    """
    reader = csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8", "replace"), newline=None))
    if not {"run", "team"} <= set(reader.fieldnames or ()):
        raise BadInput(
            f"the header must have the columns run and team, found {','.join(reader.fieldnames or ())}", path, 1
        )
    teams: dict[str, str] = {}
    for row in reader:
        run, team = row["run"], row["team"]
        if not run or not team:
            raise BadInput("the run or the team is missing", path, reader.line_num)
        if teams.setdefault(run, team) != team:
            raise BadInput(f"run {run!r} has team {team!r} here and {teams[run]!r} before", path, reader.line_num)
    return teams


def padded(content: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return a file's bytes as the kernels take them; old Macintosh line ends become newlines."""
    if b"\r" in content and b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return np.frombuffer(content + bytes(PADDING), np.uint8)


def _parse(path: PathLike, layout: Layout, with_ranks: bool, *, one_tag: bool) -> tuple[Any, Any]:
    text = padded(read_bytes(path))
    length = len(text) - PADDING
    status, bad_line, *columns = parse_lines(
        text, length, count_lines(text, length), layout.columns(with_ranks), one_tag
    )
    if status != GOOD:
        line = text[:length].tobytes().split(b"\n")[bad_line - 1].split()
        if status == OTHER_TAG:
            first, other = _decode(text, columns[-1]), line[layout.tag].decode("utf-8", "replace")
            raise BadInput(
                f"the run tag changes from {first!r} to {other!r}; "
                "one file holds one run: divide it, or name runs by file (--run-name file)", path, bad_line,
            )  # fmt: skip
        raise BadInput(
            f"{len(line)} columns; a line of a {layout.what} file has {layout.width}: {layout.line}", path, bad_line
        )
    if len(columns[0]) == 0:
        raise BadInput(f"no line of a {layout.what} file in it: {layout.line}", path)
    return text, columns


def _decode(text: np.ndarray[Any, Any], place: Any) -> str:
    return bytes(text[place[0] : place[1]]).decode("utf-8", "replace")


def _look_again(
    text: Any,
    values: Any,
    places: Any,
    numbers: Any,
    path: PathLike,
    what: str,
    ok: Callable[[float], bool] | None = None,
) -> None:
    """Read the numbers that the kernel left open, in place, and refuse what is none."""
    accepted = ok or (lambda value: not math.isnan(value))
    open_ones = (
        np.isnan(values) if ok is not _is_level else ~((values == np.floor(values)) & (abs(values) <= HIGHEST_LEVEL))
    )
    for line in np.flatnonzero(open_ones):
        field = _decode(text, places[line])
        try:
            value = float(field.replace("_", "x"))
        except ValueError:
            value = math.nan
        if not accepted(value):
            kind = f"an integer up to {HIGHEST_LEVEL}" if ok is _is_level else "a number"
            raise BadInput(f"{what} {field!r} is not {kind}", path, int(numbers[line]))
        values[line] = value

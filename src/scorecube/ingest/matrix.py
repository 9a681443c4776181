"""Score matrices: topics down and runs across (or runs down and topics across), cells between commas, tabs or semicolons.

One file holds one metric and is named after it. Without a first column called topic, topics are numbered by line from
1, padded with zeros. NTCIREVAL's matrices have no header either, and blanks between cells: runs are numbered, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd

from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadInput, BadName, BadPlan, option
from scorecube.ingest.delimited import (
    DECIMAL_COMMA,
    Row,
    is_score,
    read_rows,
    refuse_other_width,
    score,
)
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, MATRIX, NUMBERS, FileHead, Format
from scorecube.ingest.measure_names import from_pyterrier, metric_of_file
from scorecube.ingest.reading import Matrices
from scorecube.ingest.roles import RUN_HEADERS, TOPIC_HEADERS, header_word
from scorecube.metrics import parse_metric


def read_matrices(
    paths: Sequence[PathLike],
    metric: str | None = None,
    *,
    transpose: bool = False,
    header: bool = True,
) -> dict[str, Matrices]:
    """Read score matrices, one file for each metric.

    Parameters
    ----------
    paths
        Files as of `read_matrix`.
    metric
        Name of the metric of a single file; by default, it comes from the file name.
    transpose, header
        As of `read_matrix`.

    Returns
    -------
    matrices
        '' (no gain settings) -> metric -> runs x topics, NaN for missing cells.

    Raises
    ------
    BadInput
        As of `read_matrix`.
    BadPlan
        A metric for several files; two files of one metric.
    """
    if metric is not None and len(paths) != 1:
        raise BadPlan(
            f"{option('metric')} names the metric of one file, and there are {len(paths)} files",
            option="metric",
        )
    matrices: Matrices = {}
    for path in paths:
        label = metric or metric_of_file(path)
        if label in matrices:
            raise BadPlan(f"two files of metric {label}: {path} is the second")
        matrices[label] = read_matrix(path, transpose=transpose, header=header)
    return {"": matrices}


def read_matrix(path: PathLike, *, transpose: bool = False, header: bool = True) -> pd.DataFrame:
    """Read a score matrix.

    The header names the runs; each further line is a topic. A first column called topic (or nothing) holds the topic
    ids; without it, topics are numbered by line from 1, padded with zeros.

    Parameters
    ----------
    path
        Cells between commas, tabs or semicolons; plain or gzip.
    transpose
        Runs down and topics across: the first column, called run (or nothing), holds the run names.
    header
        Whether the first line names runs; otherwise they are numbered, and the first column holds topic ids where it has other cells
        than scores, or different whole numbers beside scores with a fraction. Cells may also stand between blanks then.

    Returns
    -------
    matrix
        Runs as index, topics as columns, NaN for missing cells.

    Raises
    ------
    BadInput
        Naming file and line: a line of another length than the header, a cell that is not a number, a repeated run or topic.
    """
    (first, names), rows = read_rows(path)
    across, down = ("topic", "run") if transpose else ("run", "topic")
    if not header:
        body = list(_between_blanks(chain([(first, names)], rows)))
        skip = int(_begins_with_ids([cells for _, cells in body]))
        return _frame_of(
            body, [down] * skip + _numbered(across, len(body[0][1]) - skip), skip, path, transpose
        )
    beginning = next(rows, None)
    if beginning is None:
        raise BadInput("a header without scores", path)
    skip = _label_columns(names, beginning[1], path, first, transpose)
    labels = names[skip:]
    if not labels:
        raise BadInput(f"the header names no {across}", path, first)
    if not all(labels):
        what = "run name" if across == "run" else "topic"
        raise BadInput(
            f"column {skip + labels.index('') + 1} of the header has no {what}", path, first
        )
    if not skip and all(map(is_score, names)):
        raise BadInput(
            f"the first line has only numbers: a header with the names of the {across}s is missing (if there is none: {option('layout', NUMBERS)}), "
            f"or, if they are numbers, a first column called {down}",
            path,
            first,
        )
    _refuse_repeated(labels, across, path, [first] * len(labels))
    return _frame_of(chain([beginning], rows), names, skip, path, transpose)


def _frame_of(
    rows: Iterable[Row], header: list[str], skip: int, path: PathLike, transpose: bool
) -> pd.DataFrame:
    """Return the matrix of rows below a header whose first `skip` columns hold labels."""
    down, lines = "run" if transpose else "topic", list[str]()
    numbers, parts = [], []
    for line, cells in rows:
        refuse_other_width(cells, header, path, line)
        numbers.append(line)
        parts.append(np.array(_numbers(cells[skip:], path, line)))
        lines += cells[:skip]
        if skip and not lines[-1]:
            raise BadInput(f"the {down} is missing", path, line)
    values = np.stack(parts)
    lines = lines if skip else _numbered(down, len(values))
    _refuse_repeated(lines, down, path, numbers)
    if transpose:
        return pd.DataFrame(values, index=lines, columns=header[skip:])
    return pd.DataFrame(values.T, index=header[skip:], columns=lines)


def _numbered(what: str, count: int) -> list[str]:
    """Return labels of topics, or of runs, from 1 on.

    Examples
    --------
    >>> _numbered("topic", 10)[:2], _numbered("run", 2)
    (['01', '02'], ['run1', 'run2'])
    """
    return [f"{what if what == 'run' else ''}{k:0{len(str(count))}}" for k in range(1, count + 1)]


def _between_blanks(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows, those of one cell split at blanks."""
    return ((line, cells[0].split() if len(cells) == 1 else cells) for line, cells in rows)


def _begins_with_ids(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first cells of rows are ids rather than scores.

    Examples
    --------
    >>> [_begins_with_ids(rows) for rows in ([["1", ".5"], ["2", "0"]], [["1", "0"], ["2", "1"]], [[".5"], ["1"]])]
    [True, False, False]
    """
    first = [row[0] for row in rows]
    if not all(map(is_score, first)):
        return True
    whole = all(cell.isdigit() for cell in first) and len(set(first)) == len(first)
    return whole and any("." in cell for row in rows for cell in row[1:])


def _is_headerless(head: FileHead) -> bool:
    """Return whether a file is a matrix without a header: the first line has a fraction, and all lines but their first cells are scores."""
    rows = [cells for _, cells in _between_blanks(head.rows)]
    if not rows or len(rows[0]) < 2 or {len(row) for row in rows} != {len(rows[0])}:
        return False
    if header_word(rows[0][0]) in ("", *TOPIC_HEADERS, *RUN_HEADERS):
        return False
    scores = [cell for row in rows for cell in row[1:]]
    return any("." in cell and is_score(cell) for cell in rows[0]) and all(map(is_score, scores))


def _label_columns(
    header: list[str], beginning: list[str], path: PathLike, line: int, transpose: bool
) -> int:
    """Return how many columns hold labels: 0 or 1."""
    word = header[0].lower()
    _refuse_means(header, beginning, path, line)
    if transpose:
        if not any(known in word for known in ("", *RUN_HEADERS)[bool(word) :]):
            raise BadInput(
                f"{option('transpose', True)} expects run names in a first column called run (or nothing); found {header[0]!r}",
                path,
                line,
            )
        return 1
    if word in RUN_HEADERS and not is_score(beginning[0]):
        raise BadInput(
            f"the first column is called {header[0]!r}; if rows are runs and columns are topics, use {option('transpose', True)}",
            path,
            line,
        )
    places = [k for k, cell in enumerate(header) if header_word(cell) in TOPIC_HEADERS]
    if places and word not in TOPIC_HEADERS:
        # Behind another column, such as the line numbers that pandas writes, topics would be a run.
        raise BadInput(
            f"column {places[0] + 1} is called {header[places[0]]!r}, and topics are expected in the first column: remove the columns before "
            "it, or, if it is a run, call the first column topic",
            path,
            line,
        )
    return 1 if word in ("", *TOPIC_HEADERS) else 0


def _refuse_means(header: list[str], beginning: list[str], path: PathLike, line: int) -> None:
    """Refuse a table of runs by metrics, such as PyTerrier's ``Experiment`` without ``perquery``: it has no topics."""
    names = [k for k, cell in enumerate(header[:2]) if header_word(cell) in ("name", *RUN_HEADERS)]
    if not names or len(beginning) != len(header) or is_score(beginning[names[0]]):
        return
    metrics = header[names[0] + 1 :]
    try:
        known = [parse_metric(from_pyterrier(cell)) for cell in metrics]
    except BadName:
        return
    if known:
        raise BadInput(
            f"a table of runs by metrics ({', '.join(metrics[:3])}) has means, not scores of single topics; export these "
            "(PyTerrier: Experiment(..., perquery=True))",
            path,
            line,
        )


def _numbers(cells: list[str], path: PathLike, line: int) -> list[float]:
    """Return the numbers of a line, converted one by one only if a plain conversion of all fails."""
    try:
        values = list(map(float, cells))
        largest = max(map(abs, values))
        if largest <= LARGEST_SCORE and math.isfinite(sum(values)) and "_" not in "".join(cells):
            return values
    except ValueError:
        pass
    return [score(text, path, line) for text in cells]


def _refuse_repeated(labels: list[str], what: str, path: PathLike, lines: list[int]) -> None:
    again = np.flatnonzero(pd.Index(labels).duplicated()).tolist()
    if again:
        repeated = sorted({labels[k] for k in again})
        second = min(lines[k] for k in again)
        raise BadInput(f"repeated {what}: {', '.join(repeated[:5])}", path, second)


def _detect(head: FileHead) -> bool:
    """Return whether a file may be a matrix; `read_matrix` explains runs that go down and decimal commas."""
    if not head.header:
        return False
    word = header_word(head.header[0])
    if word in RUN_HEADERS or (word in ("", *TOPIC_HEADERS) and len(head.header) > 1):
        return True
    second = filter(None, (cell for _, cells in head.rows[1:2] for cell in cells))
    return any(is_score(cell) or DECIMAL_COMMA.fullmatch(cell) for cell in second)


def _format(name: str, detect: Callable[[FileHead], bool], *, header: bool) -> Format:
    read = partial(read_matrices, header=header)
    return Format(name, BUILT_IN[name].about, detect, read, partial(read, transpose=True))


FORMATS = {
    MATRIX: _format(MATRIX, _detect, header=True),
    NUMBERS: _format(NUMBERS, _is_headerless, header=False),
}

"""Score matrices: topics down and runs across (or runs down and topics across), cells between commas, tabs or semicolons.

One file holds one metric and is named after it. Without a first column called topic, topics are numbered by line from
1, padded with zeros.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd

from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadInput, BadName, BadPlan, option
from scorecube.ingest.delimited import DECIMAL_COMMA, is_score, read_rows, refuse_other_width, score
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, MATRIX, FileHead, Format
from scorecube.ingest.measure_names import from_pyterrier, metric_of_file
from scorecube.ingest.reading import Matrices
from scorecube.ingest.roles import RUN_HEADERS, TOPIC_HEADERS, header_word
from scorecube.metrics import parse_metric


def read_matrices(
    paths: Sequence[PathLike], metric: str | None = None, *, transpose: bool = False
) -> dict[str, Matrices]:
    """Read score matrices, one file for each metric.

    Parameters
    ----------
    paths
        Files as of `read_matrix`.
    metric
        Name of the metric of a single file; by default, it comes from the file name.
    transpose
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
        matrices[label] = read_matrix(path, transpose=transpose)
    return {"": matrices}


def read_matrix(path: PathLike, *, transpose: bool = False) -> pd.DataFrame:
    """Read a score matrix.

    The header names the runs; each further line is a topic. A first column called topic (or nothing) holds the topic
    ids; without it, topics are numbered by line from 1, padded with zeros.

    Parameters
    ----------
    path
        Cells between commas, tabs or semicolons; plain or gzip.
    transpose
        Runs down and topics across: the first column, called run (or nothing), holds the run names.

    Returns
    -------
    matrix
        Runs as index, topics as columns, NaN for missing cells.

    Raises
    ------
    BadInput
        Naming file and line: a line of another length than the header, a cell that is not a number, a repeated run or topic.
    """
    (first, header), rows = read_rows(path)
    beginning = next(rows, None)
    if beginning is None:
        raise BadInput("a header without scores", path)
    across, down = ("topic", "run") if transpose else ("run", "topic")
    skip = _label_columns(header, beginning[1], path, first, transpose)
    labels = header[skip:]
    if not labels:
        raise BadInput(f"the header names no {across}", path, first)
    if not all(labels):
        what = "run name" if across == "run" else "topic"
        raise BadInput(
            f"column {skip + labels.index('') + 1} of the header has no {what}", path, first
        )
    if not skip and all(map(is_score, header)):
        raise BadInput(
            f"the first line has only numbers: a header with the names of the {across}s is missing, or, if they are numbers, "
            f"a first column called {down}",
            path,
            first,
        )
    _refuse_repeated(labels, across, path, [first] * len(labels))
    lines: list[str] = []
    numbers, parts = [], []
    for line, cells in chain([beginning], rows):
        refuse_other_width(cells, header, path, line)
        lines.append(cells[0] if skip else str(len(lines) + 1))
        numbers.append(line)
        if not lines[-1]:
            raise BadInput(f"the {down} is missing", path, line)
        parts.append(np.array(_numbers(cells[skip:], path, line)))
    values = np.stack(parts)
    if not skip:
        lines = [label.zfill(len(lines[-1])) for label in lines]
    _refuse_repeated(lines, down, path, numbers)
    if transpose:
        return pd.DataFrame(values, index=lines, columns=labels)
    return pd.DataFrame(values.T, index=labels, columns=lines)


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
    if word not in TOPIC_HEADERS:
        _refuse_topics_elsewhere(header, path, line)
    return 1 if word in ("", *TOPIC_HEADERS) else 0


def _refuse_topics_elsewhere(header: list[str], path: PathLike, line: int) -> None:
    """Refuse a column of topics behind another one, such as the line numbers that pandas writes: it would be a run."""
    places = [k for k, cell in enumerate(header) if header_word(cell) in TOPIC_HEADERS]
    if places:
        raise BadInput(
            f"column {places[0] + 1} is called {header[places[0]]!r}, and topics are expected in the first column: remove the columns before "
            "it, or, if it is a run, call the first column topic",
            path,
            line,
        )


def _refuse_means(header: list[str], beginning: list[str], path: PathLike, line: int) -> None:
    """Refuse a table of runs by metrics, such as PyTerrier's ``Experiment`` without ``perquery``: it has no topics."""
    names = [k for k, cell in enumerate(header[:2]) if header_word(cell) in ("name", *RUN_HEADERS)]
    if not names or len(beginning) != len(header) or is_score(beginning[names[0]]):
        return
    metrics = header[names[0] + 1 :]
    if metrics and all(_is_metric(cell) for cell in metrics):
        raise BadInput(
            f"a table of runs by metrics ({', '.join(metrics[:3])}) has means, not scores of single topics; export these "
            "(PyTerrier: Experiment(..., perquery=True))",
            path,
            line,
        )


def _is_metric(cell: str) -> bool:
    """Return whether a header names a metric, as scorecube, trec_eval or ir_measures spell it."""
    try:
        parse_metric(from_pyterrier(cell))
    except BadName:
        return False
    return True


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
    if len(set(labels)) == len(labels):
        return
    repeated = sorted(label for label, count in Counter(labels).items() if count > 1)
    seen: set[str] = set()
    second = min(
        line
        for label, line in zip(labels, lines, strict=True)
        if label in seen or seen.add(label)  # type: ignore[func-returns-value]
    )
    raise BadInput(f"repeated {what}: {', '.join(repeated[:5])}", path, second)


def _detect(head: FileHead) -> bool:
    """Return whether a file may be a matrix; `read_matrix` explains runs that go down and decimal commas."""
    if not head.header:
        return False
    word = header_word(head.header[0])
    if word in RUN_HEADERS or (word in ("", *TOPIC_HEADERS) and len(head.header) > 1):
        return True
    return any(_looks_like_score(cell) for _, cells in head.rows[1:2] for cell in cells)


def _looks_like_score(cell: str) -> bool:
    return bool(cell) and (is_score(cell) or DECIMAL_COMMA.fullmatch(cell) is not None)


FORMAT = Format(
    MATRIX, BUILT_IN[MATRIX].about, _detect, read_matrices, partial(read_matrices, transpose=True)
)

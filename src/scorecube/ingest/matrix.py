"""Score matrices: a metric a file, topics down and runs across, or runs down.

Without a first column of topics, these are numbered by line. NTCIREVAL's matrices have no header
either, and blanks between cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, BadName, option
from scorecube.ingest.files import PathLike
from scorecube.ingest.measure_names import from_pyterrier, metric_of_file
from scorecube.ingest.roles import ROLES, RUNS, header_word
from scorecube.ingest.scores import Scores, categories, coded, scores_of
from scorecube.ingest.tables import DECIMAL_COMMA, Table, is_score, table_of_text
from scorecube.metrics import parse_metric

TOPICS = ROLES["topic"] - {"doc", "docid", "document", "documentid"}


def read_matrix(
    text: str,
    path: PathLike | None,
    metric: str | None = None,
    *,
    transpose: bool = False,
    header: bool = True,
) -> Scores:
    """Return the scores of a matrix.

    text, path: The file and its content.
    metric: Name of the metric; by default that of the file.
    transpose: Runs down and topics across: the first column, called run (or nothing), holds the run
        names.
    header: Whether the first line names runs; otherwise they are numbered, and the first column
        holds topics where it has other cells
        than scores, or different whole numbers beside scores with a fraction. Cells may also stand
        between blanks then.
    Raises BadInput: Naming file and line: a line of another length than the header, a cell that is
        not a number, a repeated run or topic.
    """
    table = table_of_text(text, path, has_header=header)
    across, down = ("topic", "run") if transpose else ("run", "topic")
    if not len(table.lines):
        raise BadInput("a header without scores", path)
    notes: list[str] = []
    if header:
        skip = _n_label_columns(table, transpose)
        names, kept = table.header[skip:], list(range(skip, len(table.header)))
        _check_header(table, names, skip, across, down)
        if unread := [k for k in kept if skip and _is_text(table.columns[k])]:
            kept = [k for k in kept if k not in unread] or kept
            if len(kept) + len(unread) + skip == len(table.header):
                names = [table.header[k] for k in kept]
                notes.append(f"not read: {listed([table.header[k] for k in unread])} (text)")
    else:
        skip = int(_are_ids(table.columns))
        names = numbered(across, len(table.columns) - skip)
        notes.append(f"no header: {across}s are numbered")
        kept = list(range(skip, len(table.columns)))
    labels = categories(table.columns[0] if skip else numbered(down, len(table.lines)))
    if len(labels.categories) < len(labels):
        again = np.flatnonzero(pd.Series(labels).duplicated())
        repeated = dict.fromkeys(str(labels[k]) for k in again.tolist())
        text = f"repeated {down}: {listed([*repeated])}"
        raise BadInput(text, path, table.lines[int(again[0])])
    own = matrix_labels(labels, names)
    cells = np.concatenate([table.columns[k] for k in kept])
    return scores_of(
        {down: own[0], across: own[1]},
        {metric or metric_of_file(path or ""): cells},
        path,
        table.lines,
        notes=notes,
    )


def matrix_labels(down: Any, across: Sequence[str]) -> tuple[Any, Any]:
    """Return the labels of the cells of a matrix, column after column."""
    codes = np.tile(down.codes, len(across))
    columns = np.repeat(np.arange(len(across)), len(down))
    return (coded(codes, down.categories), coded(columns, list(across)))


def numbered(what: str, count: int) -> list[str]:
    """Return labels of topics, or of runs, from 1 on.

    Examples
    --------
    >>> numbered("topic", 10)[:2], numbered("run", 2)
    (['01', '02'], ['run1', 'run2'])
    """
    return [f"{what if what == 'run' else ''}{k:0{len(str(count))}}" for k in range(1, count + 1)]


def _is_text(cells: Iterable[str]) -> bool:
    """Return whether no cell is a score, and not all are empty."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and not any(
        is_score(cell) or DECIMAL_COMMA.fullmatch(cell) for cell in filled
    )


def _are_ids(columns: Sequence[Any]) -> bool:
    """Return whether a first column has ids rather than scores."""
    first = columns[0].tolist()
    if not all(map(is_score, first)):
        return True
    whole = all(cell.isdigit() for cell in first) and len(set(first)) == len(first)
    return whole and any("." in cell for cells in columns[1:] for cell in cells)


def _n_label_columns(table: Table, transpose: bool) -> int:
    """Return how many columns hold labels: 0 or 1."""
    word, where = header_word(table.header[0]), (table.path, table.line)
    beginning = [cells[0] for cells in table.columns]
    _refuse_means(table.header, beginning, where)
    if transpose:
        if word and not any(name in word for name in RUNS):
            raise BadInput(
                f"{option('transpose', True)} expects run names in a first column called run (or "
                f"nothing); found {table.header[0]!r}",
                *where,
            )
        return 1
    if word in RUNS and not is_score(beginning[0]):
        raise BadInput(
            f"the first column is called {table.header[0]!r}; if rows are runs and columns are "
            f"topics, use {option('transpose', True)}",
            *where,
        )
    places = [k for k, cell in enumerate(table.header) if header_word(cell) in TOPICS]
    if places and word not in TOPICS:
        # Behind another column, such as the line numbers that pandas writes, topics would be a run.
        raise BadInput(
            f"column {places[0] + 1} is called {table.header[places[0]]!r}, and topics are "
            "expected in the first column: remove the columns "
            "before it, or, if it is a run, call the first column topic",
            *where,
        )
    return int(word in ("", *TOPICS) or (len(table.header) > 1 and _is_text(table.columns[0])))


def _check_header(table: Table, names: Sequence[str], skip: int, across: str, down: str) -> None:
    """Refuse a header that does not name what stands across (BadInput)."""
    where = (table.path, table.line)
    if not names:
        raise BadInput(f"the header names no {across}", *where)
    if not all(names):
        what = "run name" if across == "run" else "topic"
        raise BadInput(
            f"column {skip + list(names).index('') + 1} of the header has no {what}", *where
        )
    if not skip and all(map(is_score, names)):
        raise BadInput(
            f"the first line has only numbers: a header with the names of the {across}s is "
            f"missing (if there is none: {option('layout', 'numbers')}), "
            f"or, if they are numbers, a first column called {down}",
            *where,
        )
    if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
        raise BadInput(f"repeated {across}: {listed(repeated)}", *where)


def _refuse_means(header: Sequence[str], beginning: list[str], where: tuple[Any, int]) -> None:
    """Refuse a table of runs by metrics (BadInput): it has no topics."""
    names = [k for k, cell in enumerate(header[:2]) if header_word(cell) in ("name", *RUNS)]
    if not names or is_score(beginning[names[0]]):
        return
    metrics = header[names[0] + 1 :]
    try:
        for cell in metrics:
            parse_metric(from_pyterrier(cell))
    except BadName:
        return
    if metrics:
        raise BadInput(
            f"a table of runs by metrics ({', '.join(metrics[:3])}) has means, not scores of "
            "single topics; export these "
            "(PyTerrier: Experiment(..., perquery=True))",
            *where,
        )


def is_matrix(rows: list[list[str]]) -> bool:
    """Return whether rows may be those of a matrix.

    `read_matrix` explains runs that go down and decimal commas.
    """
    if not rows or not rows[0]:
        return False
    word = header_word(rows[0][0])
    if word in RUNS or (word in ("", *TOPICS) and len(rows[0]) > 1):
        return True
    second = [cell for row in rows[1:2] for cell in row if cell]
    return any(is_score(cell) or DECIMAL_COMMA.fullmatch(cell) for cell in second)


def is_headerless(rows: list[list[str]]) -> bool:
    """Return whether rows are a matrix without a header: scores, and a fraction first."""
    rows = [cells[0].split() if len(cells) == 1 else cells for cells in rows]
    if not rows or len(rows[0]) < 2 or {len(row) for row in rows} != {len(rows[0])}:
        return False
    if header_word(rows[0][0]) in ("", *TOPICS, *RUNS):
        return False
    scores = [cell for row in rows for cell in row[1:]]
    return any("." in cell and is_score(cell) for cell in rows[0]) and all(map(is_score, scores))

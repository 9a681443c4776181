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
from scorecube.errors import BadInput, option
from scorecube.ingest.files import PathLike
from scorecube.ingest.measure_names import canonical, from_pyterrier, metric_of_file
from scorecube.ingest.roles import DOCUMENTS, ROLES, RUNS, header_word
from scorecube.ingest.scores import Scores, categories, scores_of
from scorecube.ingest.tables import DECIMAL_COMMA, Table, is_score, table_of_text

TOPICS = ROLES["topic"] - DOCUMENTS


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
    skip = _n_label_columns(table, transpose) if header else int(_are_ids(table.columns))
    columns = dict(enumerate(table.columns[skip:], skip))
    if header:
        _check_header(table, skip, across, down)
        texts = [k for k, cells in columns.items() if skip and _is_text(cells)]
        if texts and len(texts) < len(columns):
            columns = {k: cells for k, cells in columns.items() if k not in texts}
            notes.append(f"not read: {listed([table.header[k] for k in texts])} (text)")
        names = [table.header[k] for k in columns]
    else:
        names = numbered(across, len(columns))
        notes.append(f"no header: {across}s are numbered")
    labels = categories(table.columns[0] if skip else numbered(down, len(table.lines)))
    again = np.flatnonzero(pd.Series(labels).duplicated()).tolist()
    if again:
        repeated = list(dict.fromkeys(str(labels[row]) for row in again))
        raise BadInput(f"repeated {down}: {listed(repeated)}", path, table.lines[again[0]])
    return scores_of(
        {down: labels, "metric": metric or metric_of_file(path or "")},
        dict(zip(names, columns.values(), strict=True)),
        path,
        table.lines,
        across=across,
        notes=notes,
    )


def numbered(what: str, count: int) -> list[str]:
    """Return labels of topics, or of runs, from 1 on."""
    return [f"{what if what == 'run' else ''}{k:0{len(str(count))}}" for k in range(1, count + 1)]


def _is_text(cells: Iterable[str]) -> bool:
    """Return whether no cell is a score, and not all are empty."""
    filled = set(cells) - {""}
    return bool(filled) and not any(map(_is_number, filled))


def _is_number(cell: str) -> bool:
    return is_score(cell) or bool(DECIMAL_COMMA.fullmatch(cell))


def _are_ids(columns: Sequence[Any]) -> bool:
    """Return whether a first column has ids rather than scores."""
    first = list(columns[0])
    if not all(map(is_score, first)):
        return True
    whole = all(cell.isdigit() for cell in first) and len(set(first)) == len(first)
    return whole and any("." in cell for cells in columns[1:] for cell in cells)


def _n_label_columns(table: Table, transpose: bool) -> int:
    """Return how many columns hold labels: 0 or 1; refuse headers of other tables (BadInput)."""
    words, where = [header_word(cell) for cell in table.header], (table.path, table.line)
    name = table.header[0]
    _refuse_means(table, words)
    if transpose:
        if words[0] and not any(run in words[0] for run in RUNS):
            raise BadInput(
                f"{option('transpose', True)} expects run names in a first column called run (or "
                f"nothing); found {name!r}",
                *where,
            )
        return 1
    if words[0] in RUNS and not is_score(table.columns[0][0]):
        raise BadInput(
            f"the first column is called {name!r}; if rows are runs and columns are topics, use "
            f"{option('transpose', True)}",
            *where,
        )
    places = [k for k, word in enumerate(words) if word in TOPICS]
    if places and words[0] not in TOPICS:
        # Behind another column, such as the line numbers that pandas writes, topics would be a run.
        raise BadInput(
            f"column {places[0] + 1} is called {table.header[places[0]]!r}, and topics are "
            "expected in the first column: remove the columns before it, or, if it is a run, call "
            "the first column topic",
            *where,
        )
    return int(words[0] in ("", *TOPICS) or (len(words) > 1 and _is_text(table.columns[0])))


def _check_header(table: Table, skip: int, across: str, down: str) -> None:
    """Refuse a header that does not name what stands across (BadInput)."""
    names = table.header[skip:]
    problem = ""
    if not names:
        problem = f"the header names no {across}"
    elif not all(names):
        what = "run name" if across == "run" else "topic"
        problem = f"column {skip + names.index('') + 1} of the header has no {what}"
    elif not skip and all(map(is_score, names)):
        problem = (
            f"the first line has only numbers: a header with the names of the {across}s is "
            f"missing (if there is none: {option('layout', 'numbers')}), or, if they are numbers, "
            f"a first column called {down}"
        )
    elif repeated := sorted(name for name, count in Counter(names).items() if count > 1):
        problem = f"repeated {across}: {listed(repeated)}"
    if problem:
        raise BadInput(problem, table.path, table.line)


def _refuse_means(table: Table, words: Sequence[str]) -> None:
    """Refuse a table of runs by metrics (BadInput): it has no topics."""
    runs = [k for k, word in enumerate(words[:2]) if word in ("name", *RUNS)]
    metrics = table.header[runs[0] + 1 :] if runs else []
    if not metrics or is_score(table.columns[runs[0]][0]):
        return
    if all(canonical(from_pyterrier(cell)) for cell in metrics):
        raise BadInput(
            f"a table of runs by metrics ({', '.join(metrics[:3])}) has means, not scores of "
            "single topics; export these (PyTerrier: Experiment(..., perquery=True))",
            table.path,
            table.line,
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
    return any(map(_is_number, second))


def is_headerless(rows: list[list[str]]) -> bool:
    """Return whether rows are a matrix without a header: scores, and a fraction first."""
    rows = [cells[0].split() if len(cells) == 1 else cells for cells in rows]
    if not rows or len(rows[0]) < 2 or {len(row) for row in rows} != {len(rows[0])}:
        return False
    if header_word(rows[0][0]) in ("", *TOPICS, *RUNS):
        return False
    scores = [cell for row in rows for cell in row[1:]]
    return any("." in cell and is_score(cell) for cell in rows[0]) and all(map(is_score, scores))

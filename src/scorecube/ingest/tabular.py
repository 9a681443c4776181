"""Tables of scores: long ones, with columns of run and topic, and matrices, a metric a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, option
from scorecube.ingest import measure_names as measures
from scorecube.ingest import roles
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import File
from scorecube.ingest.roles import ROLES, RUNS, TAKEN, Taken, header_word, take_columns
from scorecube.ingest.scores import SCORE, Part, matrix_scores, only_measures
from scorecube.ingest.tables import is_score, labels_of, numbers_of, table_of_text

ORDER = ("run", "system", "topic", "topic_group", "collection", "seed", "metric", "gain", SCORE)
TOPICS = (ROLES["topic"] - roles.DOCUMENTS) | ROLES["collection"]
"""First headers of matrices."""


def read_long(
    table: pd.DataFrame,
    path: PathLike | None,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
) -> Part:
    """Return the scores of a table with a row for each, or for those of a run on a topic.

    A header tells what a column is, see `scorecube.ingest.roles`. Columns of benchmarks, tasks or
    splits make collections. With a column of seeds, run and seed name the run (``a#1``), and the
    run is its system; with a column of systems beside that of runs, runs of one system are its
    repetitions. Scores are in a column beside one that names their metrics, or each further column
    of numbers, or of true and false, is a metric.

    metric: The only metric to read. Of a table without a metric column, the column of that name;
        without such a column, the name of the column score (by default, the name of the file).
    chosen: Role -> its column.
    """
    header = table.columns.tolist()
    taken = take_columns(header, chosen or {}, path)
    if not len(table):
        raise BadInput("a header without scores", path)
    is_pyterrier = path is None or header_word(taken.at["run"][0]) == roles.PYTERRIER_RUN
    label = measures.from_pyterrier if is_pyterrier else measures.from_trec_eval
    frame = pd.DataFrame({role: table[names[0]] for role, names in taken.at.items()})
    if "collection" in taken.at:
        columns = [labels_of(table[name]) for name in taken.at["collection"]]
        frame["collection"] = [
            "/".join(part.replace("/", "-") for part in parts) if all(parts) else ""
            for parts in zip(*columns, strict=True)
        ]
    metrics: dict[str, str] = {}
    if "metric" in taken.at:
        frame, _, kept, _ = only_measures(frame, metric, label, path)
    else:
        metrics, cells = _metrics(taken, table, metric, label, path)
        kept = [line for pair in metrics.items() if (line := measures.why_kept(*pair))]
        frame = pd.concat(
            [frame.assign(metric=name, score=cells[column]) for column, name in metrics.items()]
        )
    read = {*metrics, *(name for names in taken.at.values() for name in names)}
    unread = [name or "a column without a name" for name in header if name not in read]
    notes = [f"not read: {', '.join(unread)}"] if unread else []
    return Part(frame, path, [_said(taken, metrics), *kept, *notes], taken.words)


def _metrics(
    taken: Taken,
    table: pd.DataFrame,
    metric: str | None,
    label: Callable[[str], str],
    path: PathLike | None,
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the metric of each column that has scores, and its cells."""
    names, cells = dict[str, str](), dict[str, Any]()
    scores = [name for name in taken.values if header_word(name) in roles.SCORES]
    for name in taken.values:
        numbers, wrong = numbers_of(table[name])
        if len(wrong) <= np.isfinite(numbers).sum() or name in scores:
            names[name] = label(name)
            cells[name] = table[name] if len(wrong) else numbers
    if metric is not None:
        alike = [name for name in names if header_word(name) == header_word(metric)]
        same = [name for name in names if name == metric] or alike
        same = same or [name for name in names if names[name] == metric] or scores
        names = dict.fromkeys(same, metric)
    elif list(names) == scores:
        names = dict.fromkeys(names, SCORE if path is None else measures.metric_of_file(path))
    if not names:
        wanted = f"{metric}, or " if metric is not None else ""
        found = ", ".join(table.columns)[:200]
        raise BadInput(f"no column {wanted}of numbers beside run and topic; found {found}", path, 1)
    return names, cells


def _said(taken: Taken, metrics: Mapping[str, str]) -> str:
    """Return what columns were taken for."""
    said = [f"{role} = {', '.join(taken.at[role])}" for role in ORDER if role in taken.at]
    named = [name if name == column else f"{name} ({column})" for column, name in metrics.items()]
    if named:
        said.append(f"metric{'s' * (len(named) > 1)} = {', '.join(named)}")
    return TAKEN + ", ".join(said)


def read_matrix(file: File, metric: str | None = None, *, has_header: bool = True) -> Part:
    """Return the scores of a matrix: topics down and runs across, or exchanged.

    has_header: Whether the first line names runs. Otherwise they are numbered, and the first column
        holds topics where it has other cells than scores, or different whole numbers beside scores
        with a fraction; cells may also stand between blanks then.
    Without a first column of topics, these are numbered by line.
    """
    path = file.path
    table = table_of_text(file.text, path, has_header=has_header)
    if not len(table):
        raise BadInput("a header without scores", path)
    header, notes = table.columns.tolist(), list[str]()
    first, word = table.iloc[:, 0].str.strip(), header_word(header[0])
    is_down = has_header and word in RUNS and not is_score(first.iloc[0])
    down, across = ("run", "topic") if is_down else ("topic", "run")
    if not has_header:
        has_labels = _are_ids(table)
        header = [*[""] * has_labels, *numbered("run", len(header) - has_labels)]
        table.columns = pd.Index(header)
        notes = ["no header: runs are numbered"]
    else:
        has_labels = is_down or word in ("", *TOPICS) or (len(header) > 1 and _is_text(first))
        problem = ""
        has_metrics = has_labels and all(map(measures.is_measure, header[1:]))
        if has_metrics and word in (*RUNS, roles.PYTERRIER_RUN):
            problem = (
                "a table of runs by metrics has means, not scores of single topics; export these "
                "(PyTerrier: Experiment(..., perquery=True))"
            )
        elif not is_down and word not in TOPICS and TOPICS & {*map(header_word, header[1:])}:
            problem = "topics are expected in the first column: remove those before it"
        elif not has_labels and all(map(is_score, header)):
            problem = (
                "the first line has only numbers: a header with the names of the runs is missing "
                f"(if there is none: {option('layout', 'numbers')}), or a first column topic"
            )
        if problem:
            raise BadInput(problem, path, 1)
    columns = header[has_labels:]
    texts = [name for name in columns if has_labels and _is_text(table[name])]
    if texts and len(texts) < len(columns):
        columns = [name for name in columns if name not in texts]
        notes.append(f"not read: {listed(texts)}")
    labels = list(first) if has_labels else numbered("", len(table))
    matrix = table[columns].set_axis(labels)
    frame = matrix_scores(metric or measures.metric_of_file(path), matrix, down, across)
    return Part(frame.set_axis(np.tile(table.index, len(columns))), path, notes)


def numbered(what: str, count: int) -> list[str]:
    """Return labels of topics, or of runs, from 1 on."""
    return [f"{what}{k:0{len(str(count))}}" for k in range(1, count + 1)]


def _is_text(cells: Iterable[str]) -> bool:
    """Return whether no cell is a score, and not all are empty."""
    filled = {*cells} - {""}
    return bool(filled) and not any(map(is_score, filled))


def _are_ids(table: pd.DataFrame) -> bool:
    """Return whether a first column has ids rather than scores."""
    first = table.iloc[:, 0].tolist()
    if not all(map(is_score, first)):
        return True
    whole = all(map(str.isdigit, first)) and len({*first}) == len(first)
    return whole and any("." in cell for cell in table.iloc[:, 1:].to_numpy().ravel())


def is_matrix(rows: list[list[str]]) -> bool:
    """Return whether rows may be those of a matrix: scores below the first."""
    return any(is_score(cell) for row in rows[1:] for cell in row if cell)


def is_headerless(rows: list[list[str]]) -> bool:
    """Return whether rows are a matrix without a header: scores, and a fraction first."""
    rows = [cells[0].split() if len(cells) == 1 else cells for cells in rows]
    if len({len(row) for row in rows}) != 1 or header_word(rows[0][0]) in ("", *TOPICS, *RUNS):
        return False
    scores = [cell for row in rows for cell in row[1:]]
    is_first = any("." in cell and is_score(cell) for cell in rows[0])
    return is_first and bool(scores) and all(map(is_score, scores))

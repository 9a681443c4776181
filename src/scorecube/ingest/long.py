"""Tables with a row for each score, or for the scores of a run on a topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, counted, option
from scorecube.ingest.measure_names import from_pyterrier, from_trec_eval, metric_of_file
from scorecube.ingest.roles import PYTERRIER_RUN, SCORES, Taken, header_word, take_columns
from scorecube.ingest.scores import SCORE, Scores, collections_of, scores_of, scores_of_rows
from scorecube.ingest.tables import DECIMAL_COMMA, Table, numbers_of

ORDER = ("run", "system", "topic", "topic_group", "collection", "seed", "metric", "gain", SCORE)


def read_long(
    table: Table,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
    *,
    label: Callable[[str], str] | None = None,
) -> Scores:
    """Return the scores of a table.

    A header tells what a column is, see `scorecube.ingest.roles`. Columns of benchmarks, tasks or
    splits make collections. With a column of seeds, run and seed name the run (``a#1``), and the
    run is its system; with a column of systems beside that of runs, runs of one system are its
    repetitions. Scores are in a column beside one that names their metrics, or each further column
    of numbers, or of true and false, is a metric.

    table: Of a file with a header, or of a frame.
    metric: The only metric to read. Of a table without a metric column, the column of that name;
        without such a column, the name of the column score (by default, the name of the file).
    chosen: Role -> its column, see `scorecube.ingest.roles.take_columns`.
    label: Measure of a tool, whose columns beside run and topic are all measures -> its name here;
        by default that of trec_eval, or of PyTerrier.
    Raises BadInput: A header without run, topic or scores, or with two columns for one; no rows;
        all that `collect` refuses.
    """
    where = (table.path, table.line if table.path is not None else None)
    taken = take_columns(table.header, None if label else metric, chosen or {}, where)
    if not len(table.lines):
        raise BadInput("a header without scores", table.path)
    is_pyterrier = table.path is None or header_word(taken.named("run")) == PYTERRIER_RUN
    name_of = label or (from_pyterrier if is_pyterrier else from_trec_eval)
    columns, at = table.columns, taken.at
    labels = {role: columns[at[role][0]] for role in at if role not in (SCORE, "collection")}
    if "collection" in at:
        labels["collection"] = collections_of([columns[k] for k in at["collection"]])
    if "metric" in at:
        labels[SCORE] = columns[at[SCORE][0]]
        said, notes = _said(taken, {}), _notes(taken, taken.unread)
        return scores_of_rows(
            labels, metric, name_of, table.path, table.lines, taken=said, notes=notes
        )
    metrics, unread = _metrics(taken, columns, metric if label is None else None, name_of, table)
    others = sorted(metrics.values())
    if label is not None and metric is not None:
        named = {k: (taken.header[k], name) for k, name in metrics.items()}
        metrics = {k: name for k, name in metrics.items() if metric in named[k]}
        if not metrics:
            raise BadInput(f"no score of {metric}; there are {', '.join(others)}", table.path)
    notes = [
        f"no column {name}: the column {taken.header[k]} is read as {name}"
        for k, name in metrics.items()
        if name == metric and header_word(taken.header[k]) != header_word(name)
        if label is None and SCORE not in (chosen or {})
    ]
    return scores_of(
        labels,
        {name: columns[k] for k, name in metrics.items()},
        table.path,
        table.lines,
        taken="" if label else _said(taken, metrics),
        notes=notes + _notes(taken, unread),
        others=[name for name in others if name not in metrics.values()],
    )


def _metrics(
    taken: Taken, columns: Any, metric: str | None, name_of: Callable[[str], str], table: Table
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the metric of each column that has scores, and why each other column is not read."""
    places = taken.at.get(SCORE, []) or taken.values
    headers = Counter(taken.header[k] for k in places)
    if repeated := [name for name, count in headers.items() if count > 1]:
        raise BadInput(f"several columns are called {listed(repeated)}", table.path, table.line)
    unread, names = dict(taken.unread), dict[int, str]()
    is_score = {k: header_word(taken.header[k]) in SCORES for k in places}
    for k in places:
        if SCORE in taken.at and metric is not None:
            names[k] = metric
        elif SCORE in taken.at or is_score[k] or not (kind := kind_of_column(columns[k])):
            names[k] = name_of(taken.header[k])
        else:
            unread[k] = kind
    if len(names) == 1 and is_score[min(names)] and names != {min(names): metric}:
        names = {min(names): SCORE if table.path is None else metric_of_file(table.path)}
    if not names:
        beside = ", ".join(taken.named(role) for role in taken.at)
        raise BadInput(
            f"no column of numbers beside {beside}; found {', '.join(taken.header)[:200]}",
            table.path,
            1,
        )
    for name, count in Counter(names.values()).items():
        if count > 1:
            alike = ", ".join(taken.header[k] for k in names if names[k] == name)
            raise BadInput(
                f"{count} columns are the metric {name}: {alike}; choose one with "
                f"{option('metric')}",
                table.path,
            )
    return names, unread


def kind_of_column(cells: Any) -> str:
    """Return what a column is if it is no metric: text, nested or empty; '' for numbers."""
    numbers, bad = numbers_of(cells)
    n_numbers = int(np.isfinite(numbers).sum())
    if len(bad) <= n_numbers:
        return "" if n_numbers or bad else "empty"
    others = [cells[row] for row in bad]
    if all(DECIMAL_COMMA.fullmatch(str(cell).strip()) for cell in others):
        return ""
    if all(isinstance(cell, list | dict | tuple | set) for cell in others):
        return "nested"
    return f"text, {counted(n_numbers, 'number')}" if n_numbers else "text"


def _said(taken: Taken, metrics: Mapping[int, str]) -> str:
    """Return what columns were taken for."""
    roles = [
        f"{role} = {taken.named(role)}"
        for role in ORDER
        if role in taken.at and (role != SCORE or "metric" in taken.at)
    ]
    named = [
        name if name == taken.header[k] else f"{name} ({taken.header[k]})"
        for k, name in metrics.items()
    ]
    if named:
        roles.append(f"{'metric' if len(named) == 1 else 'metrics'} = {', '.join(named)}")
    return ", ".join(roles)


def _notes(taken: Taken, unread: Mapping[int, str]) -> list[str]:
    """Return which columns are not read."""
    columns = [
        (taken.header[k] or f"column {k + 1} (without a name)") + (f" ({why})" if why else "")
        for k, why in sorted(unread.items())
    ]
    return [f"not read: {', '.join(columns)}"] if columns else []

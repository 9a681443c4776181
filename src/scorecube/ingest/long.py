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
from scorecube.ingest.scores import SCORE, Scores, collections_of, scores_of, wanted_measures
from scorecube.ingest.tables import DECIMAL_COMMA, Table, column_of, label_of, number_of

ORDER = ("run", "system", "topic", "topic_group", "collection", "seed", "metric", "gain", SCORE)


def read_long(
    table: Table,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
    *,
    label: Callable[[str], str] | None = None,
    summary: str = "",
) -> Scores:
    """Return the scores of a table.

    A header tells what a column is, see `scorecube.ingest.roles`. Columns of benchmarks, tasks or
    splits make collections. With a column of
    seeds, run and seed name the run (``a#1``), and the run is its system; with a column of systems
    beside that of runs, runs of one system are
    its repetitions. Scores are in a column beside one that names their metrics, or each further
    column of numbers, or of true and false, is a metric.

    table: Of a file with a header, or of a frame.
    metric: The only metric to read. Of a table without a metric column, the column of that name;
        without such a column, the name of the
        column score (by default, the name of the file).
    chosen: Role -> its column, see `scorecube.ingest.roles.take_columns`.
    label: Measure -> its name here; by default that of trec_eval, or of PyTerrier.
    summary: Topic of means over topics, which are left out.
    Raises BadInput: A header without run, topic or scores, or with two columns for one; no rows;
        all that `collect` refuses.
    """
    where = (table.path, table.line if table.path is not None else None)
    of_tool = label is not None  # all columns beside run and topic are measures
    taken = take_columns(table.header, None if of_tool else metric, chosen or {}, where)
    if not len(table.lines):
        raise BadInput("a header without scores", table.path)
    if label is None:
        is_pyterrier = table.path is None or header_word(taken.named("run")) == PYTERRIER_RUN
        label = from_pyterrier if is_pyterrier else from_trec_eval
    columns, lines = [column_of(cells) for cells in table.columns], np.asarray(table.lines)
    kept = np.ones(len(lines), bool)
    if summary:
        kept &= columns[taken.at["topic"][0]] != summary
    others: list[str] = []
    if "metric" in taken.at:
        measures = np.array([label_of(cell) for cell in columns[taken.at["metric"][0]]], object)
        names, others = wanted_measures(dict.fromkeys(measures[kept].tolist()), metric, label)
        kept &= np.array([measure in names for measure in measures], bool)
    columns, lines = [cells[kept] for cells in columns], lines[kept]
    labels: dict[str, Any] = {
        role: columns[at[0]] for role, at in taken.at.items() if role not in (SCORE, "collection")
    }
    if "collection" in taken.at:
        labels["collection"] = collections_of([columns[k] for k in taken.at["collection"]])
    if "metric" in taken.at:
        labels["metric"] = [names[measure] for measure in measures[kept]]
        metrics, unread = {taken.at[SCORE][0]: ""}, dict(taken.unread)
    else:
        metrics, unread = _metrics(taken, columns, metric, label, table)
        if of_tool:
            wanted, others = wanted_measures([taken.header[k] for k in metrics], metric, label)
            metrics = {k: name for k, name in metrics.items() if taken.header[k] in wanted}
            if not metrics:
                raise BadInput(f"no score of {metric}; there are {', '.join(others)}", table.path)
    values = {name: columns[k] for k, name in metrics.items()}
    notes = _notes(taken, metrics, unread, metric, chosen or {})
    said = _described(taken, metrics)
    return scores_of(
        labels, values, table.path, lines.tolist(), taken=said, notes=notes, others=others
    )


def _metrics(
    taken: Taken, columns: list[Any], metric: str | None, label: Callable[[str], str], table: Table
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the metric of each column that has scores, and why each other column is not read."""
    places = taken.at.get(SCORE, []) or taken.values
    headers = [taken.header[k] for k in places]
    if repeated := [name for name, count in Counter(headers).items() if count > 1]:
        raise BadInput(f"several columns are called {listed(repeated)}", table.path, table.line)
    unread, kept = dict(taken.unread), []
    for k in places:
        is_score = SCORE in taken.at or header_word(taken.header[k]) in SCORES
        if not is_score and (kind := kind_of_column(columns[k])):
            unread[k] = kind
        else:
            kept.append(k)
    names = {}
    for k in kept:
        is_score = header_word(taken.header[k]) in SCORES
        if SCORE in taken.at and metric is not None:
            names[k] = metric
        elif is_score and len(kept) == 1:
            names[k] = SCORE if table.path is None else metric_of_file(table.path)
        else:
            names[k] = label(taken.header[k])
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
    numbers = [number_of(cell) for cell in cells]
    others = [cell for cell, number in zip(cells, numbers, strict=True) if number is None]
    n_numbers = sum(number == number for number in numbers if number is not None)
    if len(others) > n_numbers:
        if all(DECIMAL_COMMA.fullmatch(str(cell).strip()) for cell in others):
            return ""
        if all(isinstance(cell, list | dict | tuple | set) for cell in others):
            return "nested"
        return f"text, {counted(n_numbers, 'number')}" if n_numbers else "text"
    return "" if n_numbers or others else "empty"


def _described(taken: Taken, metrics: Mapping[int, str]) -> str:
    """Return what columns were taken for."""
    roles = [
        f"{role} = {taken.named(role)}"
        for role in ORDER
        if role in taken.at and (role != SCORE or "metric" in taken.at)
    ]
    if "metric" not in taken.at:
        named = [
            name if name == taken.header[k] else f"{name} ({taken.header[k]})"
            for k, name in metrics.items()
        ]
        roles.append(f"{'metric' if len(named) == 1 else 'metrics'} = {', '.join(named)}")
    return ", ".join(roles)


def _notes(
    taken: Taken,
    metrics: Mapping[int, str],
    unread: Mapping[int, str],
    metric: str | None,
    chosen: Mapping[str, str],
) -> list[str]:
    """Return which columns are not read, and which is read under another name."""
    notes = [
        f"no column {name}: the column {taken.header[k]} is read as {name}"
        for k, name in metrics.items()
        if name == metric and header_word(taken.header[k]) != header_word(name)
        if SCORE not in chosen
    ]
    if unread:
        columns = [
            (taken.header[k] or f"column {k + 1} (without a name)") + (f" ({why})" if why else "")
            for k, why in sorted(unread.items())
        ]
        notes.append(f"not read: {', '.join(columns)}")
    return notes

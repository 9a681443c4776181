"""One score a line: a header with the columns run, topic and score, and perhaps metric, gain, and system or seed."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from scorecube.errors import BadInput, option
from scorecube.files import label_of_spreadsheet
from scorecube.ingest.delimited import (
    COLLECTION_HEADERS,
    header_word,
    read_rows,
    refuse_other_width,
    score,
)
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.in_memory import NOTES, Matrices, matrices_of
from scorecube.ingest.matrix import metric_of_file
from scorecube.ingest.measure_names import from_pyterrier, from_trec_eval
from scorecube.ingest.repetitions import (
    NEEDED,
    PYTERRIER_RUN,
    ROLES,
    columns_of,
    named_columns,
    named_runs,
    refuse_pooling,
    rows_of_systems,
)

Row = tuple[str, str, tuple[str, str]]
"""Gain setting ('' for none), metric, and run with its seed or system ('' for none)."""
Rows = dict[Row, dict[str, float]]
"""Row -> topic -> score."""


def read_long(paths: Iterable[PathLike], metric: str | None = None) -> dict[str, Matrices]:
    """Read files with one score a line; several files are read as one.

    With a column of systems beside that of runs, runs of one system are its repetitions; with a column of seeds, run and seed name the run (``a#1``),
    and the run is its system. Other columns are not read, which is noted (`NOTES`). Labels that `scorecube show` protected from spreadsheets lose their apostrophe. A metric without a gain setting, beside metrics that have one, applies to all gain settings.

    Parameters
    ----------
    paths
        Files with a header.
    metric
        The only metric to read. Of a file without a metric column, the column of that name; without such a column, the name of the scores (by
        default, the name of the file).

    Returns
    -------
    matrices
        Gain setting -> metric -> runs x topics, NaN for combinations that no line has; rows have the labels system and run where systems have repetitions. The gain setting is '' where
        no file has a gain column.

    Raises
    ------
    BadInput
        Naming file and line: a header without run, topic or score, or with two columns for one; a line of another
        length; an empty run, topic or metric; a score that is not a number; a second score of one run, topic and metric; two values of a column
        that tells collections apart, such as benchmark.
    """
    found: Rows = {}
    is_seed: set[bool] = set()
    others: set[str] = set()
    collection: dict[str, str] = {}
    notes: list[str] = []
    first = ""
    for path in paths:
        first = first or str(path)
        is_seed.add(_read_one(path, metric, found, others, collection, notes))
    if not found:
        known = f"; there are {', '.join(sorted(others))}" if others else ""
        raise BadInput(
            f"no score of {metric}{known}" if others else "a header without scores", first
        )
    if len(is_seed) > 1:
        raise BadInput(
            "one file has a column of systems and another none; give all files the same columns",
            first,
        )
    by_gain = _by_gain(found, first, by_seed=is_seed.pop())
    for matrix in next(iter(by_gain.values())).values():
        matrix.attrs[NOTES] = list(dict.fromkeys(notes))
    return by_gain


def _read_one(
    path: PathLike,
    metric: str | None,
    found: Rows,
    others: set[str],
    collection: dict[str, str],
    notes: list[str],
) -> bool:
    """Add the scores of a file; return whether its runs are identified by seeds, instead of by names beside those of systems."""
    (first, header), body = read_rows(path)
    at = _columns(header, path, first, metric)
    unread = [k for k in range(len(header)) if k not in at.values()]
    apart = [
        (k, header_word(header[k])) for k in unread if header_word(header[k]) in COLLECTION_HEADERS
    ]
    notes += _notes(header, at, unread, metric)
    # PyTerrier calls its measures as trec_eval or as ir_measures does.
    pyterrier = header_word(header[at["run"]]) == PYTERRIER_RUN
    name_of = from_pyterrier if pyterrier else from_trec_eval
    label: dict[str, str] = {}
    name = metric or metric_of_file(path)
    inner = next((role for role in ("system", "seed") if role in at), "")
    for line, cells in body:
        refuse_other_width(cells, header, path, line)
        for role in ("run", "topic", "metric", "seed", "system"):
            if role in at and not cells[at[role]]:
                raise BadInput(f"the {role} is missing", path, line)
        for k, word in apart:
            refuse_pooling(header[k], collection.setdefault(word, cells[k]), cells[k], path, line)
        value = score(cells[at["score"]], path, line)
        run, topic = (label_of_spreadsheet(cells[at[role]]) for role in ("run", "topic"))
        topic = sys.intern(topic)
        gain = label_of_spreadsheet(cells[at["gain"]]) if "gain" in at else ""
        measure = name
        if "metric" in at:
            measure_in_file = label_of_spreadsheet(cells[at["metric"]])
            measure = label.setdefault(measure_in_file, name_of(measure_in_file))
            if metric is not None and metric not in (measure_in_file, measure):
                others.add(measure)
                continue
        other = label_of_spreadsheet(cells[at[inner]]) if inner else ""
        row = found.setdefault((gain, measure, (run, other)), {})
        if topic in row:
            where = f" with {inner} {other!r}" if inner == "seed" else ""
            where += f" at gain setting {gain}" if gain else ""
            raise BadInput(
                f"a second score of {measure} for run {run!r} on topic {topic!r}{where}", path, line
            )
        row[topic] = value
    return inner != "system"


def _notes(
    header: list[str], at: dict[str, int], unread: list[int], metric: str | None
) -> list[str]:
    """Return what is read under another name, and what is not read."""
    notes = []
    name = header[at["score"]]
    if metric is not None and "metric" not in at and header_word(name) != header_word(metric):
        notes.append(f"no column {metric}: the column {name} is read as {metric}")
    if unread:
        columns = ", ".join(header[k] or f"column {k + 1} (without a name)" for k in unread)
        notes.append(f"not read: {columns}")
    return notes


def _columns(header: list[str], path: PathLike, line: int, metric: str | None) -> dict[str, int]:
    at, found = {}, columns_of(header)
    if metric is not None and not found["metric"]:
        found["score"] = named_columns(header, found, metric) or found["score"]
    for role, columns in found.items():
        if len(columns) > 1:
            both = ", ".join(header[k] for k in columns)
            raise BadInput(
                f"{len(columns)} columns may be the {role}: {both}; keep one of them", path, line
            )
        if columns:
            at[role] = columns[0]
        elif role in NEEDED:
            also = f", or as {option('metric')}" if role == "score" else ""
            raise BadInput(
                f"the header has no column for the {role} ({', '.join(ROLES[role])}{also}); found {', '.join(header)}",
                path,
                line,
            )
    return at


def _by_gain(found: Rows, path: PathLike, *, by_seed: bool) -> dict[str, Matrices]:
    nested: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    label, systems = _runs_and_systems([pair for _, _, pair in found], path, by_seed=by_seed)
    for (gain, metric, pair), row in found.items():
        nested.setdefault(gain, {}).setdefault(metric, {})[label[pair]] = row
    without = nested.pop("", {}) if len(nested) > 1 else {}
    # One call for all gain settings, so that all get the same runs and topics.
    labelled = {
        (gain, metric): runs for gain, metrics in nested.items() for metric, runs in metrics.items()
    }
    names = list(dict.fromkeys(metric for _, metric in labelled))
    for gain in nested:
        for metric in names:
            if (gain, metric) not in labelled:
                raise BadInput(f"no score of {metric} at gain setting {gain}, but at others", path)
        for metric, runs in without.items():
            if (gain, metric) in labelled:
                raise BadInput(
                    f"scores of {metric} both with gain setting {gain} and without one", path
                )
            labelled[gain, metric] = runs
    frames = matrices_of({f"{gain}\0{metric}": runs for (gain, metric), runs in labelled.items()})
    return {
        gain: {
            metric: rows_of_systems(frames[f"{gain}\0{metric}"], systems)
            for metric in [*names, *without]
        }
        for gain in nested
    }


def _runs_and_systems(
    pairs: list[tuple[str, str]], path: PathLike, *, by_seed: bool
) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """Return the names of runs with seeds, or beside systems, and the system of each run where they are known."""
    if by_seed:
        label = named_runs(pairs)
        systems = {label[pair]: pair[0] for pair in label}
        return label, systems if any(label[pair] != pair[0] for pair in label) else {}
    label, systems = {pair: pair[0] for pair in pairs}, {}
    for run, system in dict.fromkeys(pairs):
        if systems.setdefault(run, system) != system:
            raise BadInput(f"run {run!r} has two systems: {systems[run]!r} and {system!r}", path)
    return label, systems


def _detect(head: FileHead) -> bool:
    columns = columns_of(head.header)
    if head.metric is not None and not columns["metric"]:
        columns["score"] = named_columns(head.header, columns, head.metric) or columns["score"]
    if columns["run"] and columns["topic"] and not columns["score"]:
        raise BadInput(
            f"columns for run and topic and none for the score: call it score, or name it as {option('metric')}; or, if these "
            f"are names of runs, use {option('layout', 'matrix')}",
            head.path,
            head.rows[0][0],
        )
    return all(columns[role] for role in NEEDED)


FORMAT = Format("long", BUILT_IN["long"].about, _detect, read_long)

"""What the columns of a table of scores are: the one place that decides, for every table.

A table goes in: its headings, the kind of each column and its values. Out comes a list of readings
with their reasons (`readings_of`)::

    long    columns of run and topic, and of scores: a metric, or several
    matrix  runs across and topics down, or exchanged: a metric a table
    means   a row a system, and no topics: never read

`decide` takes the only reading. With two it refuses, and names both with the options that choose;
with none it says what was found, what a table needs, and the nearest option. Readers of other tools
make tables of their files and call `ingest.score_tables.read_tables`, which does all of this
for tables with equal headings together, and returns parts for the collector.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from scorecube.collection import names_of_tools as measures
from scorecube.collection.names_of_tools import is_measure
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, option
from scorecube.ingest import cells
from scorecube.ingest.columns import (
    CHOSEN,
    FILE,
    ROW_NUMBER,
    Column,
    Columns,
    Roles,
    choice,
    names_in,
    refuse_header,
    roles_of,
)
from scorecube.ingest.headings import (
    COUNTERS,
    IDENTIFIER,
    NAME,
    OF_SYSTEM,
    PREDICTED,
    ROLES,
    SCORES,
    TOPIC_IDS,
    TOPICS,
    are_ids,
    is_aggregate,
    is_plain,
    runs_in,
)
from scorecube.ingest.reading import LONG, MATRIX, MEANS, Reading, matrix_of
from scorecube.names import SCORE

NEEDED = (
    "a table of scores needs a column of runs (such as run, system or model), one of topics (topic,"
    " query, item, question), and scores; or topics down and runs across"
)
MANY_LETTERS = 60
NAMELESS = "without a name"
OF_ONE = "frame.assign(run='NAME')"
KEYS = ("collection", "seed", "metric")
"""Roles whose columns tell scores of one run and topic apart."""


def decide(columns: Columns) -> Reading:
    """Return the only reading of tables (BadInput for several, none, and for means)."""
    refuse_header(columns)
    _refuse_cells(columns)
    at = roles_of(columns)
    found = readings_of(columns, at)
    if not found:
        raise _nothing(columns, at)
    if len(found) > 1:
        ways = "; or ".join(f"{reading.why}: {_way(columns, reading, at)}" for reading in found)
        raise columns.refusal(f"the table can be read in {len(found)} ways: {ways}")
    (reading,) = found
    if reading.form == MATRIX and not reading.values:
        raise columns.refusal("a matrix without a column of scores")
    if reading.across == "run" and "topic" in reading.at:  # numbers before topics may be no runs
        headers = [column.name for column in columns.all]
        before = headers[: headers.index(reading.at["topic"][0])]
        wrong = [name for name in before if name in reading.values]
        if wrong and not runs_in(reading.values):
            raise columns.refusal(
                f"topics are expected in the first column, before {listed(wrong)}"
            )
    if reading.form == MEANS:
        of_one = f"; if they are of one run: {OF_ONE}" if columns.path is None else ""
        raise columns.refusal(
            f"a table of means, which have no topics: {reading.why}; export the scores of single "
            f"topics (PyTerrier: Experiment(..., perquery=True); trec_eval and ir_measures: -q)"
            f"{of_one}"
        )
    return reading


def _way(columns: Columns, reading: Reading, at: Roles) -> str:
    """Return the options that choose a reading, beside the roles that are there by themselves."""
    if reading.form == MEANS:
        return "means have no topics, and are not read"
    options = []
    for role, names in reading.at.items():
        is_other = at.get(role) != names if role in ("run", "topic") else role not in at
        if role in CHOSEN and role != SCORE and is_other:
            options.append(choice(role, ",".join(names)))
    if reading.form == MATRIX and columns.path is None:
        return "{'METRIC': frame}, with runs or topics as its index"
    if reading.form == MATRIX:
        options.append(option("layout", MATRIX))
    return " ".join(options or [choice("run", at["run"][0])])


def readings_of(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of tables with columns of roles by heading or option."""
    if columns.layout == MATRIX:
        return [matrix_of(columns, at)]
    scores_of(columns, at)
    if at.get("run") and at.get("topic"):
        return _of_both(columns, at)
    if columns.layout == LONG:
        return []
    if at.get("run"):
        return _of_systems(columns, at)
    return _of_topics(columns, at) if at.get("topic") else _of_labels(columns, at)


def scores_of(columns: Columns, at: Roles) -> list[Column]:
    """Return the columns that may be scores (BadInput for none: what there is instead)."""
    free = columns.free(at)
    numbers = [column for column in free if column.is_number or column.word in SCORES]
    if columns.metric is not None and numbers:
        return numbers
    kept = [
        column
        for column in numbers
        if column.word in SCORES or not (column.fact or is_aggregate(column.name))
    ]
    if kept or SCORE in at:
        return kept
    facts = [f"{column.shown} ({column.fact or 'a mean'})" for column in numbers]
    advice = f"; no metric are {listed(facts)}" if facts else ""
    for column in [one for one in numbers if one.fact not in (IDENTIFIER, ROW_NUMBER)][:1]:
        advice += f": {choice('score', column.name)} reads one"
    for column in free:
        words = ", ".join(map(repr, column.labels))
        if column.is_text and column.is_like_measure and len(words) < MANY_LETTERS:
            advice += f"; {column.name} has {words}: write numbers, such as 1 and 0, for them"
    raise columns.refusal(f"no column of scores{advice}")


def _refuse_cells(columns: Columns) -> None:
    """Refuse scores that are means, or can be read in two ways, and say where."""
    for column in columns.all:
        how = column.numbers.how
        is_mean = how.startswith(cells.MEANS) and column.fact in ("", "deviation")
        if is_mean or (how.startswith(cells.UNSURE) and not column.fact):
            row = int(column.numbers.wrong[0])
            cell = str(column.values.iloc[row]).strip()
            raise columns.refusal_at(row, f"{cell!r} in column {column.shown}: {how}")


def _of_both(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table with columns of runs and topics."""
    run = at["run"]
    pair = [columns.named[name] for name in names_in(at, "run", "topic") if name in columns.named]
    is_told = "topic" in columns.chosen or any(one.word in TOPICS | TOPIC_IDS for one in pair)
    if (
        len(pair) == 2
        and len(pair[0].values) > 1
        and not is_told
        and all(one.values.is_unique for one in pair)
    ):
        return [Reading(MEANS, f"a row for each {run[0]}, with another {pair[1].name} each", at)]
    readings = [Reading(LONG, f"runs in column {run[0]}", at)]
    values = tuple(one.name for one in columns.free(at) if one.word == "value")
    is_told = not values or "run" in columns.chosen or "metric" in at
    if not is_told and columns.named[run[0]].word == NAME:
        rest = {role: at[role] for role in at if role not in ("run", "topic")}
        of_metrics = {**rest, "metric": run, SCORE: values}
        readings += _of_pairs(columns, of_metrics, f"measures in column {run[0]}, ")[:1]
    return readings


def _of_pairs(columns: Columns, at: Roles, why: str = "") -> list[Reading]:
    """Return the readings of a table where a row is of two labels: run and topic, or exchanged."""
    free = columns.free(at)
    labels = [one.name for one in free if one.may_be_labels or one.may_tell]
    labels = [name for name in labels if len(columns.named[name].labels) > 1]
    keys = names_in(at, *KEYS)
    several = [name for name in labels if not columns.is_unique([name])]
    for pair in [*combinations(several, 2), *combinations(labels, 2)]:
        if columns.is_unique([*keys, *pair]):
            fewer, more = sorted(pair, key=lambda name: len(columns.named[name].labels))
            return [
                Reading(
                    LONG,
                    f"{why}runs in column {run}, topics in column {topic}",
                    {**at, "run": (run,), "topic": (topic,)},
                )
                for run, topic in ((fewer, more), (more, fewer))
            ]
    return []


def _of_systems(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table with runs and without topics: a matrix, or means."""
    (run, *_) = at["run"]
    if run == FILE:
        return [_by_file(at, one) for one in columns.labels(at) if _tells(columns, at, one)]
    if not columns.is_unique(names_in(at, "run", *KEYS)):
        return []
    sets = at.get("collection", ())
    if len(sets) > 1:
        ways = [*((name,) for name in sets), sets]
        return [
            Reading(LONG, f"topics in {' and '.join(names)}", {**at, "topic": names})
            for names in ways
        ]
    matrix = matrix_of(columns, at)
    telling = [column.shown for column in _telling(columns.free(at))]
    if telling or "metric" in at or len(matrix.values) < 2:
        beside = f", beside {listed(telling)}" if telling else ""
        return [Reading(MEANS, f"a row for each {run}{beside}", at)]
    if columns.named[run].word == NAME and "run" not in columns.chosen:
        return [matrix, matrix_of(columns, {"topic": (run,)})]
    return [matrix, *_boards(columns, matrix, at)]


def _boards(columns: Columns, matrix: Reading, at: Roles) -> list[Reading]:
    """Return the reading of a matrix of systems down as means of benchmarks, if it may be one.

    It is none where headings are ids, where the file or an option names the metric, and where
    scores have few values.
    """
    is_named = "metric" in matrix.at or columns.metric is not None
    if is_named or not matrix.values or are_ids(matrix.values) or _are_named_by_measures(columns):
        return []
    cells = np.concatenate([columns.named[name].numbers.values for name in matrix.values])
    different = np.unique(cells[np.isfinite(cells)])
    if (different % 1 == 0).all() or 4 * len(different) <= len(cells):
        return []
    why = f"a row for each {at['run'][0]}, and means by {listed(matrix.values)}"
    return [Reading(MEANS, why, at)]


def _of_topics(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table with topics and without runs: by file, or a matrix."""
    (topic, *_) = at["topic"]
    rest = columns.free(at)
    numbers = [column for column in rest if column.is_number and not is_aggregate(column.name)]
    telling = _telling(numbers)
    matrix = matrix_of(columns, at)
    if columns.path is None:  # a table without a file has no other run than its columns
        return [] if telling or not matrix.values else [matrix]
    if of_runs := runs_in([column.name for column in numbers]):
        runs = listed([*dict.fromkeys(run for run, _ in of_runs.values())])
        matrix = replace(matrix, why=f"topics in column {topic}, runs {runs} in headings")
    beside = f", as {listed([column.shown for column in telling])} may be" if telling else ""
    by_file = _by_file(at, columns.named[topic], f", metrics in the others{beside}")
    metrics = [column.name for column in rest if column.word in ROLES["metric"] and column.is_text]
    if metrics and not columns.is_unique([topic]) and columns.is_unique([topic, metrics[0]]):
        return [replace(matrix, at={**matrix.at, "metric": (metrics[0],)})]
    is_of_scores = SCORE in at or any(column.word in SCORES for column in numbers)
    if is_of_scores or any(_tells(columns, at, one) for one in rest if one.may_tell):
        return [by_file]
    if columns.metric is not None:  # the name of a column, else that of all scores
        return [by_file if columns.metric in columns.named else matrix]
    others = [column for column in numbers if column not in telling and column.fact != OF_SYSTEM]
    is_of_metrics = "seed" in at or any(is_measure(column.name) for column in telling)
    if not of_runs and (is_of_metrics or (telling and not others)):
        return [by_file]
    texts = [column for column in rest if column.is_text and len(column.labels) > 1]
    is_by_items = bool(texts) and columns.named[topic].word not in ROLES["collection"]
    is_by_metric = len(columns.tables) == 1 or _are_named_by_measures(columns)
    return [matrix, by_file] if telling or is_by_items or not is_by_metric else [matrix]


def _by_file(at: Roles, topic: Column, why: str = "") -> Reading:
    """Return the reading of a table of one run, which is called as the file."""
    of_file = {**at, "topic": at.get("topic", (topic.name,)), "run": (FILE,)}
    return Reading(
        LONG, f"topics in column {topic.name or NAMELESS}{why}, the file is the run", of_file
    )


def _tells(columns: Columns, at: Roles, column: Column) -> bool:
    """Return whether a column tells rows apart that have the same labels otherwise."""
    keys = names_in(at, "topic", *KEYS)
    is_needed = not keys or not columns.is_unique(keys)
    return is_needed and columns.is_unique([*keys, column.name])


def _of_labels(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table whose headings name neither runs nor topics."""
    rest = columns.free(at)
    is_counted = bool(rest) and rest[0].word in COUNTERS and rest[0].is_running
    if is_counted and any(column.is_text for column in rest[1:]):  # of R, or of pandas
        rest = rest[1:]
    labels = [column for column in columns.labels(at) if column in rest]
    numbers = [column for column in rest if column.is_number and column not in labels[:1]]
    telling = _telling(numbers)
    if not labels or ("metric" not in at and labels[0] is not rest[0]):
        is_plain_matrix = not at and bool(numbers) and numbers[0] is rest[0] and not telling
        if "metric" in at and columns.is_unique(at["metric"]):
            return [Reading(MEANS, "a row for each metric", at)]
        return [matrix_of(columns, at)] if is_plain_matrix else []
    first = labels[0]
    if not columns.is_unique([*at.get("metric", ()), first.name]):
        return _of_pairs(columns, at)
    by_file = [_by_file(at, first)] if columns.path is not None else []
    of_topics: Roles = {**at, "topic": (first.name,)}
    of_systems: Roles = {**at, "run": (first.name,)}
    if "metric" in at:
        return [
            Reading(MEANS, f"a row for each metric of {first.name or NAMELESS}", of_systems),
            *by_file,
        ]
    if all(is_measure(label) or is_aggregate(label) for label in first.labels):
        return [Reading(MEANS, "a row for each measure", of_systems)]
    down = matrix_of(columns, of_topics)
    if telling and first.is_whole and by_file:
        are_predicted = all(column.fact in PREDICTED for column in telling)
        return _of_topics(columns, of_topics) if are_predicted else by_file
    if telling:
        beside = listed([column.shown for column in telling])
        why = f"a row for each system of column {first.name or NAMELESS}, beside {beside}"
        of_runs = [down] if runs_in(down.values) else []
        return [Reading(MEANS, why, of_systems), *by_file, *of_runs]
    if first.word and first.is_whole and all(column.is_whole for column in numbers):
        why = "runs in all columns, topics by line"
        return [down, Reading(MATRIX, why, {}, "run", (first.name, *down.values))]
    systems = matrix_of(columns, of_systems)
    if are_ids(first.labels) or columns.path is None:
        return [down]
    boards = _boards(columns, systems, of_systems)
    if boards:
        return [down, systems, *boards]
    return [systems] if are_ids(systems.values) else [down]


def _nothing(columns: Columns, at: Roles) -> BadInput:
    """Return the error about a table without a reading: what it needs, and the nearest option."""
    lacking = "topic" if at.get("run") else "run"
    labels = columns.labels(at) or [one for one in columns.free(at) if one.may_tell]
    keys = [name for name in names_in(at, "run", "topic", *KEYS) if name != FILE]
    telling = [column for column in labels if columns.is_unique([*keys, column.name])]
    ways = [choice(lacking, column.name) for column in (telling or labels)[:1]]
    if lacking == "run" and columns.path is not None and (labels or at.get("topic")):
        of_topic = [choice("topic", column.name) for column in labels[:1] if not at.get("topic")]
        ways.append(" ".join([choice("run", FILE), *of_topic]) + ", where a file is a run")
    if lacking == "run" and columns.path is None:
        ways.append(f"{OF_ONE}, where a frame is of one run")
    choose = f"; choose it, such as {' or '.join(ways)}" if ways else ""
    return columns.refusal(f"no column may be the {lacking}{choose}; {NEEDED}")


def _are_named_by_measures(columns: Columns) -> bool:
    """Return whether the name of a file is that of a measure, or has one between hyphens."""
    paths = [table.path for table in columns.tables if table.path is not None]
    names = [measures.metric_of_file(path) for path in paths]
    return any(map(is_measure, chain(names, *(re.split(r"[-_ ]", name) for name in names))))


def _telling(columns: Sequence[Column]) -> list[Column]:
    """Return the columns of numbers that tell a table of metrics: no run and no topic is so called.

    Names of runs may have words of measures and facts among others: such headings count where they
    are a quarter of all.
    """
    numbers = [one for one in columns if one.is_number and not is_aggregate(one.name)]
    found = [
        column for column in numbers if column.is_like_measure or column.fact not in ("", OF_SYSTEM)
    ]
    if 4 * len(found) >= len(numbers):
        return found
    return [column for column in found if is_plain(column.name)]

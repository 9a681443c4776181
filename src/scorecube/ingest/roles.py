"""What the columns of a table of scores are: the one place that decides, for every table.

A table goes in: its headings, the kind of each column and its values. Out comes a list of readings
with their reasons (`readings_of`)::

    long    columns of run and topic, and of scores: a metric, or several
    matrix  runs across and topics down, or exchanged: a metric a table
    means   a row a system, and no topics: never read

`decide` takes the only reading. With two it refuses, and names both with the options that choose;
with none it says what was found, what a table needs, and the nearest option. Readers of other tools
make tables of their files and call `scorecube.ingest.tabular.read_tables`, which does all of this,
prints the line of roles (`line_of`) and returns parts for the collector::

    parts = read_tables([Table(frame, path=path)], metric=None, chosen={"run": "provider.id"})

`chosen` is a role (run, topic, collection, seed, topic_group) and its column, several between
commas; the run may be `FILE`. Tables with equal headings are decided together, so that the number
of files, a constant column and repeated rows are seen as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, option
from scorecube.ingest import cells
from scorecube.ingest import measure_names as measures
from scorecube.ingest.columns import (
    FILE,
    Column,
    Columns,
    Roles,
    choice,
    refuse_header,
    roles_of,
    taken_by,
    with_collections_as_topics,
)
from scorecube.ingest.files import PathLike
from scorecube.ingest.headings import (
    COUNTERS,
    NAME,
    OF_SYSTEM,
    ROLES,
    SCORES,
    are_ids,
    header_word,
    is_aggregate,
    is_measure,
    is_plain,
)
from scorecube.ingest.reading import LONG, MATRIX, MEANS, Reading, matrix_of
from scorecube.names import SCORE

NEEDED = (
    "a table of scores needs a column of runs (such as run, system or model), one of topics (topic,"
    " query, item, question), and scores; or topics down and runs across"
)


def decide(columns: Columns) -> Reading:
    """Return the only reading of tables (BadInput for several, none, and for means)."""
    found = readings_of(columns)
    if len(found) > 1:
        ways = "; or ".join(f"{reading.why}: {reading.way}" for reading in found)
        raise columns.refusal(f"the table can be read in {len(found)} ways: {ways}")
    if found[0].form == MEANS:
        raise columns.refusal(
            f"a table of means, which have no topics: {found[0].why}; export the scores of single "
            "topics (PyTerrier: Experiment(..., perquery=True); trec_eval and ir_measures: -q)"
        )
    if found[0].across == "run" and "topic" in found[0].at:
        _refuse_before_topics(columns, found[0])
    return found[0]


def _refuse_before_topics(columns: Columns, matrix: Reading) -> None:
    """Refuse columns of numbers before that of the topics of a matrix, which may be no runs."""
    headers = [column.name for column in columns.all]
    before = headers[: headers.index(matrix.at["topic"][0])]
    if wrong := [name for name in before if name in matrix.values]:
        raise columns.refusal(
            f"topics are expected in the first column: remove {listed(wrong)} before them"
        )


def readings_of(columns: Columns) -> list[Reading]:
    """Return the readings of tables, at least one (BadInput for none, with the nearest option)."""
    at = roles_of(columns)
    _refuse_cells(columns)
    if columns.layout == MATRIX:
        return [matrix_of(columns, at)]
    if at.get("run") and not at.get("topic"):
        at = with_collections_as_topics(at)
    if at.get("run") and at.get("topic"):
        return _of_both(columns, at)
    if columns.layout == LONG:
        raise _nothing(columns, at)
    if at.get("run"):
        return _of_systems(columns, at)
    if not at.get("topic"):
        at = with_collections_as_topics(at)
    return _of_topics(columns, at) if at.get("topic") else _of_labels(columns, at)


def _refuse_cells(columns: Columns) -> None:
    """Refuse a line of scores as header, and scores that are means or can be read in two ways."""
    refuse_header(columns)
    for column in columns.all:
        how = column.numbers.how
        is_mean = how.startswith(cells.MEANS) and column.fact in ("", "deviation")
        if is_mean or (how.startswith(cells.UNSURE) and not column.fact):
            raise columns.refusal(f"column {column.shown}: {how}")


def _of_both(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table with columns of runs and topics."""
    run = columns.named.get(at["run"][0])
    values = [name for name in _rest(columns, at) if header_word(name) == "value"]
    reading = Reading(LONG, f"runs in column {at['run'][0]}", choice("run", at["run"][0]), at)
    if run is None or run.word != NAME or "run" in columns.chosen or "metric" in at or not values:
        return [reading]
    other = f"measures in column {run.name}, and runs in another"
    return [reading, Reading(LONG, other, choice("run"), at)]


def _of_systems(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table with runs and without topics: a matrix, or means."""
    keys = [*at["run"], *at.get("metric", ()), *at.get("seed", ()), *at.get("collection", ())]
    if FILE in keys or not columns.is_unique(keys):
        raise _nothing(columns, at)
    matrix = matrix_of(columns, at)
    rest = [columns.named[name] for name in _rest(columns, at)]
    telling = [column.shown for column in _telling(rest)]
    why = f"a row for each {at['run'][0]}"
    if len(at.get("collection", ())) > 1 and any(column.is_number for column in rest):
        return _of_data_sets(at)
    if telling or "metric" in at or len(matrix.values) < 2:
        beside = f", beside {listed(telling)}" if telling else ""
        return [Reading(MEANS, why + beside, option("layout", MATRIX), at)]
    run = at["run"][0]
    if columns.named[run].word != NAME or "run" in columns.chosen:
        return [matrix] if _has_items(columns, matrix) else [matrix, _board(run, matrix, at)]
    down = matrix_of(columns, {"topic": (run,)})
    return [replace(matrix, way=choice("run", run)), replace(down, way=choice("topic", run))]


def _of_data_sets(at: Roles) -> list[Reading]:
    """Return the readings of a table of systems on data sets that several columns name."""
    readings = [
        Reading(LONG, f"topics in column {name}, collections in the other", choice("topic", name))
        for name in at["collection"]
    ]
    joined = f"topics in columns {listed(at['collection'])} together"
    return [*readings, Reading(LONG, joined, choice("topic", ",".join(at["collection"])))]


def _has_items(columns: Columns, matrix: Reading) -> bool:
    """Return whether the headings of a matrix of systems down are items rather than benchmarks.

    Headings are ids, the file or an option names their metric, or scores have few values.
    """
    if are_ids(matrix.values) or "metric" in matrix.at or columns.metric is not None:
        return True
    if any(_is_named_by_measure(table.path) for table in columns.tables):
        return True
    cells = np.concatenate([columns.named[name].numbers.values for name in matrix.values])
    different = np.unique(cells[np.isfinite(cells)])
    return bool((different % 1 == 0).all()) or 4 * len(different) <= len(cells)


def _board(run: str, matrix: Reading, at: Roles) -> Reading:
    """Return the reading of a matrix of systems down as means of benchmarks."""
    return Reading(
        MEANS,
        f"a row for each {run or 'system'}, and means by {listed(matrix.values)}",
        "means have no topics, and are not read",
        at,
    )


def _of_topics(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table with topics and without runs: by file, or a matrix."""
    topic = at["topic"][0]
    rest = [columns.named[name] for name in _rest(columns, at)]
    numbers = [column for column in rest if column.is_number and not is_aggregate(column.name)]
    telling = _telling(numbers)
    beside = f", as {listed([column.shown for column in telling])} may be" if telling else ""
    by_file = _by_file(at, f"topics in column {topic}, metrics in the others{beside}")
    matrix = matrix_of(columns, at)
    if columns.path is None:  # a table without a file has no other run than its columns
        if matrix.values and not _telling([columns.named[name] for name in matrix.values]):
            return [matrix]
        raise _nothing(columns, at)
    is_of_scores = SCORE in at or any(column.word in SCORES for column in numbers)
    if is_of_scores or not columns.is_unique(_keys(at)):
        return [_checked(columns, by_file)]
    if not numbers:
        raise _nothing(columns, at)
    if columns.metric is not None:  # the name of a column, else that of all scores
        return [by_file if columns.metric in columns.named else matrix]
    telling = _telling(numbers)
    others = [column for column in numbers if column not in telling and column.fact != OF_SYSTEM]
    if any(is_measure(column.name) for column in telling) or (telling and not others):
        return [by_file]
    texts = [column for column in rest if column.is_text and len(column.labels) > 1]
    is_by_items = bool(texts) and columns.named[topic].word not in ROLES["collection"]
    names_metrics = any(_is_named_by_measure(table.path) for table in columns.tables)
    if telling or is_by_items or (len(columns.tables) > 1 and not names_metrics):
        return [matrix, by_file]
    return [matrix]


def _by_file(at: Roles, why: str) -> Reading:
    """Return the reading of a table of one run, which is called as the file."""
    way = option("run_column", FILE)
    return Reading(LONG, f"{why}, the file is the run", way, {**at, "run": (FILE,)})


def _keys(at: Roles) -> list[str]:
    """Return the columns of which no two scores of a run have the same cells."""
    roles = ("topic", "collection", "seed", "metric")
    return list(chain.from_iterable(at.get(role, ()) for role in roles))


def _checked(columns: Columns, by_file: Reading) -> Reading:
    """Return the reading of tables of one run each (BadInput where topics come again)."""
    keys = _keys(by_file.at)
    if columns.is_unique(keys):
        return by_file
    rest = [columns.named[name] for name in _rest(columns, by_file.at)]
    telling = [column.name for column in rest if columns.is_unique([*keys, column.name])]
    if not telling:
        return by_file
    ways = [choice(role, telling[0]) for role in ("run", "seed", "collection")]
    raise columns.refusal(
        f"no heading names the run, and {listed(telling)} tells rows of one topic apart: "
        f"{ways[0]} for runs, {ways[1]} for repetitions of one run, {ways[2]} for collections"
    )


def _of_labels(columns: Columns, at: Roles) -> list[Reading]:
    """Return the readings of a table whose headings name neither runs nor topics."""
    rest = [columns.named[name] for name in _rest(columns, at)]
    if "metric" in at or not rest:
        return _of_metric_rows(columns, at, rest)
    first, *others = rest
    if (
        first.word in COUNTERS and first.is_running and any(column.is_text for column in others)
    ):  # of R, or of pandas
        first, *others = others
    labels = [column for column in (first, *others) if _may_be_labels(column)]
    numbers = [column for column in others if column.is_number and column not in labels[:1]]
    if not labels or first is not labels[0]:
        return _without_labels(columns, at, first)
    telling = _telling(numbers)
    if not first.is_unique:
        return _of_pairs(columns, at, labels)
    if not numbers:
        raise _nothing(columns, at)
    down = matrix_of(columns, {**at, "topic": (first.name,)})
    if all(is_measure(label) or is_aggregate(label) for label in first.labels):
        return [Reading(MEANS, "a row for each measure", option("layout", MATRIX), at)]
    if telling:
        beside = listed([column.shown for column in telling])
        why = f"a row for each system of column {first.shown}, beside {beside}"
        systems = Reading(MEANS, why, "means have no topics, and are not read", at)
        of_topics = {**at, "topic": (first.name,)}
        topics = _by_file(of_topics, f"topics in column {first.shown}")
        topics = replace(topics, way=choice("topic", first.name))
        return [topics] if first.is_whole and columns.path else [systems, topics]
    is_all_whole = all(column.is_whole for column in numbers)
    if first.word and first.is_whole and is_all_whole:
        why = "runs in all columns, topics by line"
        runs = Reading(MATRIX, why, option("layout", MATRIX), at, "run")
        return [replace(down, way=choice("topic", first.name)), runs]
    return _of_two_sides(columns, at, first, down)


def _of_two_sides(columns: Columns, at: Roles, first: Column, down: Reading) -> list[Reading]:
    """Return the readings of a matrix whose first heading says neither runs nor topics."""
    if are_ids(first.labels) or columns.path is None:
        return [down]
    systems = matrix_of(columns, {**at, "run": (first.name,)})
    if are_ids(systems.values):
        return [systems]
    if _has_items(columns, systems):
        return [down]
    return [
        replace(down, way=choice("topic", first.name)),
        replace(systems, way=f"{choice('run', first.name)} {option('layout', MATRIX)}"),
        _board(first.name, systems, at),
    ]


def _without_labels(columns: Columns, at: Roles, first: Column) -> list[Reading]:
    """Return the reading of a table of scores alone: a matrix, whose topics are numbered."""
    numbers = [column for column in columns.all if column.is_number]
    if at or not first.is_number or _telling(numbers):
        raise _nothing(columns, at)
    return [matrix_of(columns, at)]


def _of_metric_rows(columns: Columns, at: Roles, rest: list[Column]) -> list[Reading]:
    """Return the readings of a table with a column of metrics and one of scores, and no runs."""
    labels = [column.name for column in rest if _may_be_labels(column)]
    if "metric" not in at or not columns.is_unique([*at["metric"], *labels[:1]]):
        raise _nothing(columns, at)
    systems = Reading(MEANS, "a row for each metric", "means have no topics, and are not read", at)
    if not labels:
        return [systems]
    why = f"topics in column {labels[0]}, the file is the run"
    by_file = {**at, "topic": (labels[0],), "run": (FILE,)}
    way = f"{choice('topic', labels[0])} {choice('run', FILE)}"
    return [systems, Reading(LONG, why, way, by_file)]


def _of_pairs(columns: Columns, at: Roles, labels: list[Column]) -> list[Reading]:
    """Return the readings of a table where a row is of two labels: run and topic, or exchanged."""
    pairs = [
        (one.name, other.name)
        for one, other in combinations(labels, 2)
        if columns.is_unique((one.name, other.name))
    ]
    if not pairs:
        raise _nothing(columns, at)
    return [
        Reading(
            LONG,
            f"runs in column {run}, topics in column {topic}",
            f"{choice('run', run)} {choice('topic', topic)}",
            {**at, "run": (run,), "topic": (topic,)},
        )
        for run, topic in (pairs[0], pairs[0][::-1])
    ]


def _nothing(columns: Columns, at: Roles) -> BadInput:
    """Return the error about a table without a reading: what it needs, and the nearest option."""
    lacking = "run" if not at.get("run") else "topic"
    labels = [columns.named[name] for name in _rest(columns, at)]
    labels = [column for column in labels if _may_be_labels(column)]
    nearest = choice(lacking, labels[0].name if labels else None)
    by_file = "" if lacking == "topic" else f", or a file is a run: {option('run_column', FILE)}"
    text = f"no column may be the {lacking}; choose it, such as with {nearest}{by_file}; {NEEDED}"
    return columns.refusal(text)


def _rest(columns: Columns, at: Roles) -> list[str]:
    """Return the columns without a role, in their order."""
    taken = taken_by(at)
    return [column.name for column in columns.all if column.name not in taken]


def _is_named_by_measure(path: PathLike | None) -> bool:
    """Return whether a file's name is that of a measure, or has one between hyphens."""
    name = "" if path is None else measures.metric_of_file(path)
    return any(map(is_measure, (name, *re.split(r"[-_ ]", name))))


def _telling(columns: Sequence[Column]) -> list[Column]:
    """Return the columns of numbers that tell a table of metrics: no run and no topic is so called.

    Names of runs may have words of measures and facts among others: such headings count where they
    are a quarter of all.
    """
    numbers = [column for column in columns if column.is_number]
    found = [
        column for column in numbers if column.is_like_measure or column.fact not in ("", OF_SYSTEM)
    ]
    if 4 * len(found) >= len(numbers):
        return found
    return [column for column in found if is_plain(column.name)]


def _may_be_labels(column: Column) -> bool:
    """Return whether a column may hold runs or topics."""
    is_named = column.is_like_measure or (column.fact not in ("", "identifier", "row number"))
    return not is_named and (column.is_text or column.is_whole)

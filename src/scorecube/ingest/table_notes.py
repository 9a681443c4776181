"""What is said of tables: what their columns were taken for, and how their cells were read."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import Note
from scorecube.ingest.columns import FILE, Column, Columns, choice
from scorecube.ingest.headings import GROUPS, TAKEN, aggregates, parts_of
from scorecube.ingest.reading import MATRIX, Reading

PLURALS = {"collection": "collections", "seed": "repetitions", "topic_group": "groups"}
"""Role -> the word of the line of roles."""


def line_of(
    columns: Columns, reading: Reading, metrics: Sequence[str], unread: Sequence[Column]
) -> str:
    """Return the line about what columns were taken for, and which are not read."""
    said = [
        TAKEN + _where(columns, reading, "run"),
        "topics: " + _where(columns, reading, "topic"),
        "metrics: " + ", ".join(metrics),
    ]
    for role, word in PLURALS.items():
        if role in reading.at:
            said.append(f"{word}: {_counted(columns, reading.at[role])}")
    if "system" in reading.at:
        said.append(f"systems: {_counted(columns, reading.at['system'])}")
    if unread:
        said.append("not read: " + ", ".join(column.shown for column in unread))
    return "; ".join(said)


def _where(columns: Columns, reading: Reading, role: str) -> str:
    """Return where the labels of a role stand, and how many there are."""
    if role == reading.across:
        count = len(reading.values)
        return f"column{'s' * (count > 1)} {listed(reading.values)} ({count})"
    names = reading.at.get(role, ())
    if not names:
        return f"by line ({sum(len(table.frame) for table in columns.tables)})"
    is_worded = names == ("",) or (names == (FILE,) and FILE not in columns.named)
    word = "" if is_worded else f"column{'s' * (len(names) > 1)} "
    return word + _counted(columns, names)


def _counted(columns: Columns, names: Sequence[str]) -> str:
    """Return columns with the number of their labels, means and the like aside."""
    if names == (FILE,) and FILE not in columns.named:
        return f"the file ({len(columns.tables)})"
    shown = ", ".join(columns.named[name].shown for name in names)
    if len(names) > 1:
        rows = pd.concat([table.frame[[*names]] for table in columns.tables])
        return f"{shown} ({len(rows.drop_duplicates())})"
    labels = [label for label in columns.named[names[0]].labels if label]
    return f"{shown} ({len(labels) - len(aggregates(labels))})"


def notes_of(
    columns: Columns, reading: Reading, values: Sequence[str], unread: Sequence[Column]
) -> list[str]:
    """Return notes on cells that are not plain, and on what may be a group of topics."""
    ways: dict[str, list[str]] = {}
    for name in values:
        column = columns.named[name]
        if column.numbers.how:
            ways.setdefault(column.numbers.how, []).append(column.shown)
    notes: list[str] = []
    for how, names in ways.items():
        words = how.split("/")
        notes.append(
            f"{listed(names)}: {words[0]} is 1, {words[1]} is 0"
            if len(words) == 2
            else f"{listed(names)}: {how} are read"
        )
    return notes + [line for column in unread if (line := _note_on_group(columns, reading, column))]


def _note_on_group(columns: Columns, reading: Reading, column: Column) -> str:
    """Return a note on a column that may be what several topics have in common; '' for others."""
    parts = parts_of(column.name)
    topics = reading.at.get("topic", ())
    is_one = parts and parts[0] in GROUPS and parts[1:] in ((), ("id",), ("idx",), ("no",))
    if not is_one or reading.form == MATRIX or len(topics) != 1 or "topic_group" in reading.at:
        return ""
    topic = columns.named[topics[0]]
    n_groups, n_topics = len(column.labels), len(topic.labels)
    pairs = {*zip(topic.values.astype(str), column.values.astype(str), strict=True)}
    if not 1 < n_groups < n_topics or len(pairs) > n_topics:
        return ""
    return Note(
        f"{column.name} seems to group topics ({n_groups} groups of {n_topics} topics), which are "
        f"taken as independent: {choice('topic_group', column.name)} makes units of groups"
    )

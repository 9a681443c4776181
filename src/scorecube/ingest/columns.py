"""Tables with equal headings, and what their columns are: numbers, labels, facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest import cells, headings
from scorecube.ingest.cells import is_score
from scorecube.ingest.files import PathLike
from scorecube.ingest.headings import (
    COUNTERS,
    LATER_RUNS,
    LATER_TOPICS,
    NAME,
    ROLES,
    SCORES,
    SYSTEMS,
    TOPIC_IDS,
    TOPICS,
    fact,
    header_word,
)
from scorecube.names import SCORE

FILE = "file"
"""Chosen for the run: a run is called as its file."""
CHOSEN = ("run", "topic", "collection", "seed", "topic_group", "score")
"""Roles whose columns an option names: ``run_column``, ..., ``group_column``."""
NAMED = frozenset[str]().union(COUNTERS, LATER_RUNS, [NAME], *ROLES.values(), *LATER_TOPICS)
"""Headings by which a first line is a header for sure."""
REPETITIONS = ROLES["seed"] | {"fold", "resample", "iteration"}
Roles = Mapping[str, tuple[str, ...]]
"""Role -> its columns."""


class Table(NamedTuple):
    """A table: a column each heading; its index is the line, or the row from 1 on."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    path: PathLike | None = None


class Column:
    """A column: its heading, and what its cells are."""

    def __init__(self, name: str, values: pd.Series[Any], *, has_commas: bool = False) -> None:
        self.name = name
        self.values = values
        self.word = header_word(name)
        self.shown = name or "a column without a name"
        self.has_commas = has_commas

    @cached_property
    def numbers(self) -> cells.Numbers:
        """Its numbers."""
        return cells.numbers_of(self.values, has_commas=self.has_commas)

    def cells_in(self, rows: slice) -> Any:
        """Return its numbers in some rows, or its cells where some are no numbers."""
        if len(self.numbers.wrong):
            return self.values.iloc[rows].to_numpy(object)
        return self.numbers.values[rows]

    @cached_property
    def is_empty(self) -> bool:
        """Whether all of its cells are missing."""
        return bool(np.isnan(self.numbers.values).all())

    @cached_property
    def is_number(self) -> bool:
        """Whether it has more numbers than other cells; a mean with its deviation is none."""
        numbers = self.numbers
        return len(numbers.wrong) <= int(np.isfinite(numbers.values).sum()) and not self.is_empty

    @cached_property
    def labels(self) -> list[str]:
        """Its different cells as text."""
        return [str(cell).strip() for cell in pd.unique(self.values) if cell == cell]

    @cached_property
    def is_unique(self) -> bool:
        """Whether no two rows have the same cell."""
        return bool(self.values.is_unique)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all of its cells are whole numbers."""
        numbers = self.numbers.values
        return self.is_number and not len(self.numbers.wrong) and bool((numbers % 1 == 0).all())

    @cached_property
    def is_running(self) -> bool:
        """Whether it numbers the rows."""
        return self.is_whole and bool((np.diff(self.numbers.values) == 1).all())

    @cached_property
    def fact(self) -> str:
        """What it is that is no metric, '' if it may be one."""
        if self.word in COUNTERS and self.is_whole:
            return "row number"
        named = fact(self.name)
        if named or not self.is_number or headings.is_like_measure(self.name):
            return named
        numbers = self.numbers.values
        if len(numbers) > 4 and self.is_running:
            return "row number"
        return "time" if np.nanmin(numbers) > 9e8 else ""

    @property
    def is_text(self) -> bool:
        """Whether it has cells that are neither missing nor numbers."""
        return not self.is_number and not self.is_empty

    @property
    def is_like_measure(self) -> bool:
        """Whether its heading may be that of a measure."""
        return headings.is_like_measure(self.name) and not fact(self.name)


class Columns:
    """The columns of tables with equal headings, and what is chosen of them."""

    def __init__(
        self,
        tables: Sequence[Table],
        chosen: Mapping[str, str],
        layout: str = "",
        metric: str | None = None,
    ) -> None:
        self.tables = tables
        self.layout = layout
        self.metric = metric
        frames = [table.frame for table in tables]
        whole = frames[0] if len(frames) == 1 else pd.concat(frames)
        self.all = [Column(str(name), whole[name]) for name in whole]
        if any(cells.COMMAS in column.numbers.how for column in self.all):
            self.all = [Column(str(name), whole[name], has_commas=True) for name in whole]
        self.path = tables[0].path
        self.named = {column.name: column for column in self.all}
        self.chosen = {role: self._found(role, text) for role, text in chosen.items()}

    def _found(self, role: str, text: str) -> tuple[str, ...]:
        """Return the columns that an option names: spelled exactly so, or else alike."""
        if text in self.named:
            return (text,)
        if text == FILE and self.path is not None:
            return (FILE,)
        columns: list[str] = []
        for part in text.split(","):
            exact = [name for name in self.named if name == part.strip()]
            alike = [name for name in self.named if header_word(name) == header_word(part)]
            if len(exact or alike) != 1:
                found = f"{len(alike) or 'no'} column{'s' * (len(alike) > 1)}"
                raise self.refusal(f"{found} may be the {role}: {choice(role, text)}")
            columns += exact or alike
        return tuple(columns)

    def refusal(self, text: str) -> BadInput:
        """Return the error about the table, with what it has."""
        found = listed([column.shown for column in self.all])
        line = None if self.path is None else self.line_of_header
        return BadInput(f"{text}; found {found}", self.path, line)

    @property
    def line_of_header(self) -> int:
        """Line of the header, before the first row."""
        first = int(self.tables[0].frame.index[0]) if len(self.tables[0].frame) else 2
        return max(1, first - 1)

    def is_unique(self, names: Sequence[str]) -> bool:
        """Return whether no two rows of a table have the same cells in these columns."""
        return not any(table.frame.duplicated([*names]).any() for table in self.tables)


def refuse_header(columns: Columns) -> None:
    """Refuse a first line of scores, and one of repetitions, as the header (BadInput)."""
    if all(map(is_score, columns.named)) and "" not in columns.named:
        raise columns.refusal(
            "the first line has only numbers: a header with the names of the runs is missing (if "
            f"there is none: {option('layout', 'numbers')}), or a first column topic"
        )
    is_chosen = any(names != (FILE,) for names in columns.chosen.values())
    if columns.layout or is_chosen:
        return
    way = "{'METRIC': frame}" if columns.path is None else option("layout", "matrix")
    first, *others = columns.all
    scores = [one.name for one in others if "." in one.name and is_score(one.name)]
    if first.word not in NAMED and any(columns.named[name].is_number for name in scores):
        raise columns.refusal(
            f"the first line has a score, {scores[0]}: a header with the names of the columns is "
            f"missing (if columns are so called: {way})"
        )
    is_repeated = first.word.strip(":.").removesuffix("s") in REPETITIONS
    if is_repeated and first.is_text and all(one.name.isdigit() for one in others):
        raise columns.refusal(
            f"columns are repetitions of one run ({first.name} {others[0].name}, ...), not runs: "
            f"write a row for each score, of run, topic, seed and score (if they are runs: {way})"
        )


def option_of(role: str) -> str:
    """Return the name of the option for the column of a role."""
    return f"{role.removeprefix('topic_') if role == 'topic_group' else role}_column"


def choice(role: str, column: str | None = None) -> str:
    """Return the option that names the column of a role, as of messages."""
    return option(option_of(role), column)


def taken_by(at: Roles) -> set[str]:
    """Return the columns that have a role."""
    return set[str]().union(*at.values())


def roles_of(columns: Columns) -> dict[str, tuple[str, ...]]:
    """Return the columns of each role, by option and by heading (BadInput for two of one role)."""
    at = dict(columns.chosen)
    taken = taken_by(at)
    free = [column for column in columns.all if column.name not in taken]
    for role, words in ROLES.items():
        if role not in at:
            at[role] = tuple(column.name for column in free if column.word in words)
    if "run" not in columns.chosen:
        _take_runs(at, free, has_seed="seed" in columns.chosen)
    if "topic" not in columns.chosen:
        _take_topics(at, free)
    taken = taken_by(at)
    rest = [column for column in free if column.name not in taken]
    named = [column.name for column in rest if column.word in SCORES]
    if at["metric"] and not named:  # a column of metrics beside their scores, or a fact
        at["metric"] = ()
    if at["metric"]:
        at[SCORE] = tuple(named)
    for role, names in at.items():
        if len(names) > 1 and role != "collection" and role not in columns.chosen:
            settle = f"; choose it with {choice(role)}" if role in CHOSEN else ""
            text = f"{len(names)} columns may be the {role}, {', '.join(names)}{settle}"
            raise columns.refusal(text)
    return {role: names for role, names in at.items() if names}


def _take_runs(at: dict[str, tuple[str, ...]], free: list[Column], *, has_seed: bool) -> None:
    """Take further headings of runs if there is none; runs of a system are its repetitions."""
    for words in (LATER_RUNS, {NAME}):
        at["run"] = at["run"] or tuple(column.name for column in free if column.word in words)
    systems = [column.name for column in free if column.word in SYSTEMS]
    if len(systems) == 1 and len(at["run"]) == 2 and not has_seed:
        at["run"] = tuple(name for name in at["run"] if name not in systems)
        at["system"] = tuple(systems)
        at["seed"] = ()


def _take_topics(at: dict[str, tuple[str, ...]], free: list[Column]) -> None:
    """Prefer the id of a topic to its text, and look for further headings if there is none."""
    word_of = {column.name: column.word for column in free}
    ids = {word_of[name] for name in at["topic"]} & TOPIC_IDS
    texts = {word for word in TOPICS if f"{word}id" in ids or (word == "query" and "qid" in ids)}
    at["topic"] = tuple(name for name in at["topic"] if word_of[name] not in texts)
    for words in LATER_TOPICS:
        found = [name for name, word in word_of.items() if word in words and name not in at["run"]]
        named = [name for name in found if word_of[name].endswith("id")]
        at["topic"] = at["topic"] or tuple(named if len(named) == 1 else found)
    repeated = [
        column.name for column in free if column.word in COUNTERS - {""} and not column.is_unique
    ]
    at["topic"] = at["topic"] or tuple(repeated[:1])


def with_collections_as_topics(at: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return roles where the data sets that systems are compared on are the topics."""
    if len(at.get("collection", ())) != 1:
        return at
    others = {role: names for role, names in at.items() if role != "collection"}
    return others | {"topic": at["collection"]}


def chosen_columns(columns: Mapping[str, str | None]) -> dict[str, str]:
    """Return role -> column of options such as ``run_column`` (TypeError for another argument)."""
    role_of = {option_of(role): role for role in CHOSEN}
    if others := columns.keys() - role_of.keys():
        raise TypeError(f"unexpected argument {min(others)!r}")
    return {role_of[name]: column for name, column in columns.items() if column is not None}


def no_table(chosen: Mapping[str, str], found: str) -> BadPlan:
    """Return the error about columns that are chosen of what is no table."""
    role, column = next(iter(chosen.items()))
    text = f"{choice(role, column)} is about tables; found {found}"
    return BadPlan(text, option=option_of(role))

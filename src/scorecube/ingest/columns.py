"""Tables with equal headings, and what their columns are: numbers, labels, facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest import cells, headings
from scorecube.ingest.cells import is_score
from scorecube.ingest.data_frames import problem_at
from scorecube.ingest.delimited import ROW, CellTable
from scorecube.ingest.headings import (
    COUNTERS,
    IDENTIFIER,
    LATER,
    NAME,
    ROLES,
    RUNS,
    SCORES,
    SETTING,
    SYSTEMS,
    TEAMS,
    TOPICS,
    fact,
    header_word,
)
from scorecube.ingest.input_files import FILE as FILE
from scorecube.names import SCORE

CHOSEN = ("run", "topic", "collection", "seed", "topic_group", "score")
"""Roles whose columns an option names: ``run_column``, ..., ``group_column``."""
NAMED = COUNTERS.union(TEAMS, *ROLES.values(), *LATER["run"], *LATER["topic"])
"""Headings by which a first line is a header for sure."""
REPETITIONS = ROLES["seed"] | {"fold", "resample", "iteration"}
ROW_NUMBER = "row number"
Roles = Mapping[str, tuple[str, ...]]
"""Role -> its columns."""


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
        texts = (str(cell).strip() for cell in pd.unique(self.values) if cell == cell)
        return [*dict.fromkeys(texts)]

    @cached_property
    def is_whole(self) -> bool:
        """Whether all of its cells are whole numbers."""
        numbers = self.numbers.values
        return self.is_number and not len(self.numbers.wrong) and bool((numbers % 1 == 0).all())

    @cached_property
    def is_running(self) -> bool:
        """Whether it numbers the rows of each table."""
        if not self.is_whole:
            return False
        is_start = np.diff(self.values.index) <= 0  # of a table
        return bool((is_start | (np.diff(self.numbers.values) == 1)).all())

    @cached_property
    def fact(self) -> str:
        """What it is that is no metric, '' if it may be one."""
        if self.word in COUNTERS and self.is_whole:
            return ROW_NUMBER
        named = fact(self.name)
        if named or not self.is_number or headings.is_like_measure(self.name):
            return named
        numbers = self.numbers.values
        if len(numbers) > 4 and self.is_running:
            return ROW_NUMBER
        return "time" if np.nanmin(numbers) > 9e8 else ""

    @property
    def may_be_labels(self) -> bool:
        """Whether it may hold runs or topics: text or whole numbers, no measure and no fact."""
        is_named = self.is_like_measure or self.fact not in ("", IDENTIFIER, ROW_NUMBER)
        return not is_named and (self.is_text or self.is_whole)

    @property
    def may_tell(self) -> bool:
        """Whether it may tell scores of one topic apart: numbers without a reason are scores."""
        is_told = self.fact in (SETTING, IDENTIFIER, ROW_NUMBER) or self.word in ROLES["metric"]
        return is_told or (self.is_text and not self.fact)

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
        tables: Sequence[CellTable],
        chosen: Mapping[str, str],
        layout: str = "",
        metric: str | None = None,
    ) -> None:
        self.tables = tables
        self.layout = layout
        self.metric = metric
        frames = [table.frame for table in tables]
        whole = frames[0] if len(frames) == 1 else pd.concat(frames)
        self.starts = np.cumsum([0, *map(len, frames)]).tolist()[:-1]
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
        first = self.tables[0].frame.index
        is_of_rows = self.path is None or first.name == ROW
        line = None if is_of_rows else max(1, int(first[0]) - 1 if len(first) else 1)
        found = listed([column.shown for column in self.all])
        return BadInput(f"{text}; found {found}", self.path, line)

    def refusal_at(self, row: int, text: str) -> BadInput:
        """Return the error about a cell in a row of all tables."""
        number = int(np.searchsorted(self.starts, row, "right")) - 1
        table = self.tables[number]
        return problem_at(text, table.frame.index, row - self.starts[number], table.path)

    def is_unique(self, names: Sequence[str]) -> bool:
        """Return whether no two rows of a table have the same cells in these columns."""
        return not any(table.frame.duplicated([*names]).any() for table in self.tables)

    def free(self, at: Roles) -> list[Column]:
        """Return the columns without a role, in their order."""
        taken = {*names_in(at, *at)}
        return [column for column in self.all if column.name not in taken]

    def labels(self, at: Roles) -> list[Column]:
        """Return the columns without a role that may be runs or topics; at least a first text."""
        free = self.free(at)
        found = [column for column in free if column.may_be_labels]
        return found or [column for column in free[:1] if column.is_text]


def refuse_header(columns: Columns) -> None:
    """Refuse a first line of scores, and one of repetitions, as the header (BadInput)."""
    first, *others = columns.all
    scores = [one.name for one in columns.all if is_score(one.name)]
    is_chosen = any(names != (FILE,) for names in columns.chosen.values())
    are_numbers = len(scores) == len(columns.all) and bool(first.name)
    if (columns.layout or is_chosen) and not are_numbers:
        return
    way = option("layout", "numbers" if are_numbers else "matrix")
    way = "{'METRIC': frame}" if columns.path is None else way
    is_matrix = are_numbers or columns.is_unique([first.name])
    settle = f" (if it is a matrix: {way})" if is_matrix else ""
    is_row = any("." in name and columns.named[name].is_number for name in scores)
    is_row = is_row or (bool(scores) and first.name in first.labels)
    if are_numbers or (is_row and first.word not in NAMED):
        raise columns.refusal(
            f"the first line has a score, {scores[-1]}: a header is missing; write a line before "
            f"it with the names of its {len(columns.all)} columns, such as run, topic, score"
            f"{settle}"
        )
    is_repeated = first.word.strip(":.").removesuffix("s") in REPETITIONS
    if is_repeated and first.is_text and all(one.name.isdigit() for one in others):
        raise columns.refusal(
            f"columns are repetitions of one run ({first.name} {others[0].name}, ...), not runs: "
            f"write a row for each score, of run, topic, seed and score{settle}"
        )


def option_of(role: str) -> str:
    """Return the name of the option for the column of a role."""
    return f"{role.removeprefix('topic_')}_column"


def choice(role: str, column: str | None = None) -> str:
    """Return the option that names the column of a role, as of messages."""
    return option(option_of(role), column)


def names_in(at: Roles, *roles: str) -> list[str]:
    """Return the columns that have some roles, in their order."""
    return list(chain.from_iterable(at.get(role, ()) for role in roles))


def roles_of(columns: Columns) -> dict[str, tuple[str, ...]]:
    """Return the columns of each role, by option and by heading (BadInput for two of one role)."""
    at = dict(columns.chosen)
    for role, words in ROLES.items():
        if role not in at:
            at[role] = _first_of(columns.free(at), (words, *LATER.get(role, ())))
    systems = [one.name for one in columns.all if one.name in at["run"] and one.word in SYSTEMS]
    if len(systems) == 1 and len(at["run"]) == 2 and not {"run", "seed"} & {*columns.chosen}:
        at["system"] = tuple(systems)  # whose repetitions the runs are
        at["run"] = tuple(name for name in at["run"] if name not in systems)
        at["seed"] = ()
    if not at["topic"]:
        counted = [one.name for one in columns.free(at) if one.word in COUNTERS - {""}]
        at["topic"] = tuple(name for name in counted if not columns.is_unique([name]))[:1]
    if not at["run"] and not at["topic"]:
        at["run"] = _first_of(columns.free(at), [TEAMS])[:1]
    is_chosen = "collection" in columns.chosen
    sets = _first_of(columns.free(at), [ROLES["collection"]]) if is_chosen else at["collection"]
    if not at["topic"] and len(sets) == 1:  # systems are compared on data sets
        at["topic"] = sets
        at["collection"] = columns.chosen.get("collection", ())
    rest = columns.free(at)
    if "run" in columns.chosen and not at["metric"]:  # as of Langfuse
        at["metric"] = tuple(one.name for one in rest if one.word == NAME and one.is_text)
    scores = at.get(SCORE) or tuple(column.name for column in rest if column.word in SCORES)
    if not scores:  # a column of metrics is beside their scores, or a fact
        at["metric"] = ()
    if at["metric"]:
        at[SCORE] = scores
    for role, names in at.items():
        if len(names) > 1 and role != "collection" and role not in columns.chosen:
            ways = " or ".join(choice(role, name) for name in names)
            settle = f"; choose it with {ways}" if role in CHOSEN else ""
            text = f"{len(names)} columns may be the {role}, {', '.join(names)}{settle}"
            raise columns.refusal(text)
    return {role: names for role, names in at.items() if names}


def _first_of(free: Sequence[Column], tiers: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Return the columns with headings of the first tier that has some; ids rather than texts."""
    for words in tiers:
        found = [one for one in free if one.word in words]
        if found:
            return tuple(one.name for one in found if not _has_id_in(one, found))
    return ()


def _has_id_in(column: Column, others: Sequence[Column]) -> bool:
    """Return whether a column holds the texts of topics, and another one their ids."""
    ids = {column.word + ending for ending in ("id", "no", "number", "idx")}
    ids |= {"qid"} if column.word in TOPICS else set()
    return column.word not in RUNS and any(other.word in ids for other in others)


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

"""A way to read a table: which columns have which role; a table as a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scorecube.collection.teams import listed
from scorecube.ingest.columns import FILE, Columns, Roles
from scorecube.ingest.formats import LONG as LONG
from scorecube.ingest.formats import MATRIX as MATRIX
from scorecube.ingest.headings import (
    COUNTERS,
    NOUNS,
    OF_SYSTEM,
    PREDICTED,
    ROLES,
    header_word,
    is_aggregate,
    is_plain,
)
from scorecube.names import USUAL_WORDS

MEANS = "means"


@dataclass(frozen=True)
class Reading:
    """One way to read a table.

    form: `LONG`, `MATRIX` or `MEANS`.
    why: What it takes the columns for, in words.
    at: Role -> its columns; the run may be `FILE`.
    across: Of a matrix, what its headings are: run or topic; the other is in `at`, or numbered.
    values: Columns that are scores, or may be metrics.
    """

    form: str
    why: str
    at: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    across: str = ""
    values: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What the headings call runs, topics, collections and repetitions."""
        found = []
        for usual, (role, nouns) in zip(USUAL_WORDS, NOUNS.items(), strict=True):
            noun = header_word(self.at.get(role, ("",))[-1])
            for ending in ("name", "id"):
                noun = noun.removesuffix(ending) if noun != ending else noun
            found.append(noun if noun in nouns else usual)
        return tuple(found)


def matrix_of(columns: Columns, at: Roles) -> Reading:
    """Return a table as a matrix: labels down are in `at`, or in the first column."""
    has_runs = bool(at.get("run")) and FILE not in at["run"]
    across = "topic" if has_runs and not at.get("topic") else "run"
    down = "topic" if across == "run" else "run"
    first = columns.all[0]
    if not at.get(down) and (first.is_text or not first.word or has_ids(columns)):
        at = {**at, down: (first.name,)}
    labels = at.get(down, ())[:1]
    taken = {*labels, *at.get("collection", ()), *at.get("topic_group", ())}
    values = [
        column.name
        for column in columns.all
        if column.name not in taken
        and (column.is_number or (column.is_empty and not column.fact))
        and not is_aggregate(column.name)
        and not (column.word in COUNTERS and column.is_whole)
    ]
    facts = (OF_SYSTEM, *PREDICTED)
    kept = [
        name
        for name in values
        if (fact := columns.named[name].fact) not in facts and not (fact and is_plain(name))
    ]
    numbered = f"in column {labels[0] or 'without a name'}" if labels else "by line"
    why = f"{down}s {numbered}, {across}s {listed(kept)}"
    metrics = [column for column in columns.all if column.word in ROLES["metric"]]
    named = [column.name for column in metrics if column.is_text and len(column.labels) == 1]
    where = {down: labels} if labels else {}
    where |= {"metric": tuple(named)} if len(named) == 1 else {}
    if across == "run":
        where |= {role: at[role] for role in ("collection", "topic_group") if role in at}
    return Reading(MATRIX, why, where, across, tuple(kept))


def has_ids(columns: Columns) -> bool:
    """Return whether a first column has whole numbers that differ, beside scores that do not."""
    first, *others = columns.all
    numbers = [column for column in others if column.is_number]
    is_beside = any(not column.is_whole for column in numbers)
    return first.is_whole and columns.is_unique([first.name]) and is_beside

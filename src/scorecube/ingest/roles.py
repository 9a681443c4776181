"""Columns of tables of scores: which spellings name the run, the topic, ..., and what each column of a header is taken for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NoReturn, TypedDict

from scorecube.errors import BadInput, counted, option
from scorecube.ingest.files import PathLike

ENDINGS = (
    *("", "s", "_id", "_ids", "_no", "_nr", "_num", "_number"),
    *("_key", "_uid", "_uuid", "_idx", "_index"),
)
"""Endings of words that name a thing by a number or a label."""


def _spelled(*stems: str, endings: Iterable[str] = ENDINGS) -> tuple[str, ...]:
    """Return stems with endings, with and without a low line between them: ``query_id``, ``queryid``."""
    words = [stem + end for end, stem in product(endings, stems)]
    return tuple(dict.fromkeys([*words, *(word.replace("_", "") for word in words)]))


SYSTEM_HEADERS = _spelled(
    *("system", "model", "method", "sys", "approach", "algorithm", "agent", "llm"),
    *("retriever", "ranker", "engine", "checkpoint"),
    endings=(*ENDINGS, "_name"),
)
"""Headers of runs that are those of systems if there is a column of runs, too."""
RUN_HEADERS = (*_spelled("run", "submission", endings=(*ENDINGS, "_name", "_tag")), *SYSTEM_HEADERS)
TOPICS = ("topic", "query", "item", "question", "example", "sample", "instance")
TOPIC_HEADERS = (*_spelled(*TOPICS), "queries", *_spelled("q", endings=ENDINGS[2:]))
DOC_HEADERS = _spelled("doc", "document")
"""Headers of topics where a document is what is asked about; in other tables they are those of documents."""
LAST_TOPIC_HEADERS = (("task_id", "problem", "problem_id", "prompt_id", "uid", "key"), ("id",))
"""Headers of topics if there is no other, better ones first."""
COLLECTION_HEADERS = _spelled(
    *("benchmark", "collection", "dataset", "corpus", "suite", "task", "subset", "split"),
    endings=("", "s", "_id", "_name"),
)
"""Headers of what topics belong to: different values are different collections."""
SEED_HEADERS = _spelled(
    *("seed", "random_seed", "repetition", "repeat", "replicate", "replication", "epoch", "trial"),
    endings=("", "s", "_id", "_no", "_number", "_idx", "_index"),
)
GROUP_HEADERS = _spelled(
    *("topic_group", "query_group", "question_group", "item_group"),
    *("conversation", "dialogue", "dialog"),
)
"""Headers of what topics come in, which are then no independent draws."""
SCORE_HEADERS = ("score", "scores", "value", "values")
METRIC_HEADERS = ("metric", "metrics", "measure", "measures", "metric_name", "measure_name")
GAIN_HEADERS = ("gain", "gains")
PYTERRIER_RUN = "name"
"""Column of the run in a frame of PyTerrier's ``Experiment(perquery=True)``; a run column all the same if there is no other."""
COUNTERS = ("", "#", "id", "idx", "index", "level_0", "line", "no", "no.", "row", "unnamed:_0")
"""Headers of columns that number the lines."""
ROLES = {
    "run": RUN_HEADERS,
    "topic": (*TOPIC_HEADERS, *DOC_HEADERS),
    "collection": COLLECTION_HEADERS,
    "seed": SEED_HEADERS,
    "metric": METRIC_HEADERS,
    "gain": GAIN_HEADERS,
    "topic_group": GROUP_HEADERS,
}
"""Role of a column -> its headers."""
EXAMPLES = {
    "run": "run, system, model, method, ...",
    "topic": "topic, query, item, question, example, ...",
    "score": "score or value, or a metric",
}
"""Role of a column that a table needs -> some of its headers."""
TAKEN = "columns"
"""Beginning of a line about what columns were taken for."""
FRAME = "; or, for a data frame of runs x topics, pass {metric: data frame}; PyTerrier names topics with perquery=True"
Where = tuple[()] | tuple[PathLike | None, int | None]
"""File and line of a header, for messages."""


class ColumnOptions(TypedDict, total=False):
    """Columns of a table, where its header leaves open what they are."""

    run_column: str | None
    topic_column: str | None
    collection_column: str | None
    seed_column: str | None
    score_column: str | None
    topic_group_column: str | None


CHOSEN = tuple(name.removesuffix("_column") for name in ColumnOptions.__annotations__)
"""Roles whose column an option names: ``run_column``, ..."""


def chosen_columns(columns: ColumnOptions) -> dict[str, str]:
    """Return the chosen columns by role.

    Raises TypeError: Another argument.

    Examples
    --------
    >>> chosen_columns({"run_column": "model_id", "topic_column": None})
    {'run': 'model_id'}
    """
    if others := columns.keys() - {f"{role}_column" for role in CHOSEN}:
        raise TypeError(f"unexpected argument {min(others)!r}")
    return {role: name for role in CHOSEN if (name := columns.get(f"{role}_column")) is not None}  # type: ignore[misc]


def header_word(cell: str) -> str:
    """Return the header of a column in the spelling of `RUN_HEADERS`, `TOPIC_HEADERS`, ...

    Examples
    --------
    >>> header_word("Query-ID"), header_word("modelName"), header_word("question id")
    ('query_id', 'model_name', 'question_id')
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z]|ID\b|Id\b)", "_", cell.strip())
    return re.sub(r"[\s_-]+", "_", apart).lower()


@dataclass
class Taken:
    """What the columns of one table are taken for.

    header: Headers as written.
    at: Role -> its columns: one, or several of ``collection``; ``score`` where scores are in one column.
    values: Columns that may be metrics, where scores are not in one column.
    unread: Other column -> why it is not read, or ''.
    """

    header: Sequence[str]
    at: dict[str, list[int]]
    values: list[int] = field(default_factory=list)
    unread: dict[int, str] = field(default_factory=dict)

    @property
    def inner(self) -> str:
        """Role beside the run that tells repetitions apart: system, seed or ''."""
        return next((role for role in ("system", "seed") if role in self.at), "")

    def named(self, role: str) -> str:
        """Return the headers of a role as they are written."""
        return ", ".join(self.header[k] for k in self.at[role])


def take_columns(
    header: Sequence[str],
    metric: str | None,
    chosen: Mapping[str, str],
    where: Where = (),
    *,
    is_known: bool = False,
) -> Taken:
    """Return what the columns of a table of scores are taken for.

    header: Names of the columns.
    metric: The only metric to read; a column of this name where no column names metrics.
    chosen: Role, of `CHOSEN` -> name of its column.
    where: File and line, for messages.
    is_known: Whether all other columns are metrics, whatever their names.
    Raises BadInput: A column that is not there; no column, or several, for the run, the topic, ...

    Examples
    --------
    >>> taken = take_columns(["model", "question_id", "question", "accuracy"], None, {})
    >>> taken.at, taken.values
    ({'run': [0], 'topic': [1]}, [2, 3])
    """
    words = [header_word(cell) for cell in header]
    at = {role: [_place(header, name, role, where)] for role, name in chosen.items()}
    free = [k for k in range(len(header)) if [k] not in at.values()]
    for role, known in ROLES.items():
        if role not in at:
            at[role] = [k for k in free if words[k] in known and not is_known]
    if "run" not in chosen:
        at["run"] = at["run"] or [k for k in free if words[k] == PYTERRIER_RUN]
        if "seed" not in chosen and not is_known:
            _tell_systems(at, words)
    if "topic" not in chosen:
        _tell_topics(at, words, free)
    if at["metric"]:
        at.setdefault("score", [k for k in free if words[k] in SCORE_HEADERS])
    elif metric is not None:
        at.setdefault("score", _named(header, at, metric))
    for role, columns in at.items():
        if len(columns) > 1 and role != "collection":
            _refuse_several(role, [header[k] for k in columns], where)
    others = [k for k in free if not any(k in columns for columns in at.values())]
    counters = [k for k in others if words[k] in COUNTERS and not is_known]
    values = [] if "score" in at else [k for k in others if k not in counters]
    found = at | {"score": at.get("score", values)}
    for role in EXAMPLES:
        if not found[role]:
            _refuse_none(role, header, metric, where)
    return Taken(
        header,
        {role: columns for role, columns in at.items() if columns},
        values,
        {k: "" if "score" in at else "numbers lines" for k in others if k not in values},
    )


def _place(header: Sequence[str], name: str, role: str, where: Where) -> int:
    """Return the column that an option names: one spelled exactly so, or else alike."""
    exact = [k for k, cell in enumerate(header) if cell == name]
    found = exact or [k for k, cell in enumerate(header) if header_word(cell) == header_word(name)]
    if len(found) != 1:
        raise BadInput(
            f"{counted(len(found), 'column') if found else 'no column'} of the {role} ({option(f'{role}_column', name)}); "
            f"found {', '.join(header)[:200]}",
            *where,
        )
    return found[0]


def _named(header: Sequence[str], at: Mapping[str, list[int]], metric: str) -> list[int]:
    """Return the columns of a metric's name that have no role, exactly or else alike; without one, the column score."""
    free = [k for k in range(len(header)) if not any(k in columns for columns in at.values())]
    exact = [k for k in free if header[k] == metric]
    alike = [k for k in free if header_word(header[k]) == header_word(metric)]
    return exact or alike or [k for k in free if header_word(header[k]) in SCORE_HEADERS]


def _tell_systems(at: dict[str, list[int]], words: list[str]) -> None:
    """Let a column of systems stand beside one of runs, which tell their repetitions apart."""
    systems = [k for k in at["run"] if words[k] in SYSTEM_HEADERS]
    runs = [k for k in at["run"] if k not in systems]
    if len(systems) == len(runs) == 1:
        at["run"], at["system"], at["seed"] = runs, systems, []


def _tell_topics(at: dict[str, list[int]], words: list[str], free: list[int]) -> None:
    """Prefer the id of a topic to its text, and look for further headers if there is none."""
    ids = {words[k].replace("_", "") for k in at["topic"]}
    texts = {word for word in TOPICS if ids & {f"{word}id", f"{word}uid"}}
    texts |= {"query"} if "qid" in ids else set()
    at["topic"] = [k for k in at["topic"] if words[k] not in texts]
    for headers in LAST_TOPIC_HEADERS:
        at["topic"] = at["topic"] or [k for k in free if words[k] in headers]
    at["collection"] = [k for k in at["collection"] if k not in at["topic"]]


def _refuse_several(role: str, columns: list[str], where: Where) -> NoReturn:
    choose = (
        f"choose one: {option(f'{role}_column', columns[0])}"
        if role in CHOSEN and len(set(columns)) > 1
        else "keep one of them"
    )
    raise BadInput(
        f"{len(columns)} columns may be the {role}: {', '.join(columns)}; {choose}", *where
    )


def _refuse_none(role: str, header: Sequence[str], metric: str | None, where: Where) -> NoReturn:
    what = f"no column {metric}, and none" if role == "score" and metric else "no column"
    form = FRAME if where and where[0] is None else ""
    raise BadInput(
        f"the header has {what} for the {role} ({EXAMPLES[role]}); found {', '.join(header)[:200] or 'none'}; name the column with "
        f"{option(f'{role}_column')}{form}",
        *where,
    )

"""Columns of tables of scores: which headers name the run, the topic, and so on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypedDict

from scorecube.errors import BadInput, counted, option
from scorecube.ingest.files import PathLike


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYSTEMS = _words(
    "system systemid systemname model modelid modelname method methodname approach algorithm "
    "agent llm retriever ranker engine classifier classifiername"
)
"""Headers of runs that are those of systems if there is a column of runs, too."""
RUNS = SYSTEMS | {"run", "runid", "runtag", "runname", "submission"}
TOPICS = _words("topic query item question example sample instance")
"""Headers of topics that may hold their texts, where another column holds their ids."""
DOCUMENTS = _words("doc docid document documentid")
"""Headers of topics where a document is what is asked about; in judgements those of documents."""
TOPIC_IDS = _words(
    "topicid topicno qid queryid queryno itemid questionid exampleid sampleid instanceid"
)
LATER_TOPICS = (_words("taskid problem problemid promptid uid key"), _words("id"))
"""Headers of topics if there is no other, better ones first."""
SCORES = _words("score scores value")
ROLES: dict[str, frozenset[str]] = {
    "run": RUNS,
    "topic": TOPICS | TOPIC_IDS | DOCUMENTS,
    "collection": _words(
        "benchmark collection dataset datasetname corpus suite task taskname subset split"
    ),
    "seed": _words("seed randomseed repetition repeat replicate epoch trial"),
    "metric": _words("metric measure metricname measurename"),
    "gain": _words("gain"),
    "topic_group": _words(
        "topicgroup querygroup questiongroup conversation conversationid dialogue dialogueid"
    ),
}
"""Role of a column -> its headers, as of `header_word`."""
PYTERRIER_RUN = "name"
"""Column of the run of PyTerrier's ``Experiment(perquery=True)``, if there is no other."""
COUNTERS = _words("# id idx index level0 line no no. row unnamed:0") | {""}
"""Headers of columns that number the lines."""
EXAMPLES = {
    "run": "run, system, model, method, ...",
    "topic": "topic, query, item, question, example, ...",
    "score": "score or value, or a metric",
}
"""Role of a column that a table needs -> some of its headers."""
TAKEN = "columns"
"""Beginning of a line about what columns were taken for."""
FRAME = (
    "; or, for a data frame of runs x topics, pass {metric: data frame}; PyTerrier names topics "
    "with perquery=True"
)
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
    """
    if others := columns.keys() - {f"{role}_column" for role in CHOSEN}:
        raise TypeError(f"unexpected argument {min(others)!r}")
    given: dict[str, Any] = dict(columns)
    names = {role: given.get(f"{role}_column") for role in CHOSEN}
    return {role: name for role, name in names.items() if name is not None}


def header_word(cell: str) -> str:
    """Return a header as `ROLES` has it: without blanks, hyphens, low lines and capitals.

    Examples
    --------
    >>> header_word("Query-ID"), header_word("modelName"), header_word("question id")
    ('queryid', 'modelname', 'questionid')
    """
    return re.sub(r"[\s_-]+", "", cell).lower()


class Taken(NamedTuple):
    """What the columns of one table are taken for.

    header: Headers as written.
    at: Role -> its columns: one, or several of ``collection``; ``score`` where scores are in one
        column.
    values: Columns that may be metrics, where scores are not in one column.
    unread: Other column -> why it is not read, or ''.
    """

    header: Sequence[str]
    at: dict[str, list[int]]
    values: list[int]
    unread: dict[int, str]

    def named(self, role: str) -> str:
        """Return the headers of a role as they are written."""
        return ", ".join(self.header[k] for k in self.at[role])


def take_columns(
    header: Sequence[str], metric: str | None, chosen: Mapping[str, str], where: Where = ()
) -> Taken:
    """Return what the columns of a table of scores are taken for.

    header: Names of the columns.
    metric: The only metric to read; a column of this name where no column names metrics.
    chosen: Role, of `CHOSEN` -> name of its column.
    where: File and line, for messages.
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
    for role, spellings in ROLES.items():
        at.setdefault(role, [k for k in free if words[k] in spellings])
    if "run" not in chosen:
        at["run"] = at["run"] or [k for k in free if words[k] == PYTERRIER_RUN]
        systems = [k for k in at["run"] if words[k] in SYSTEMS]
        if len(systems) == 1 and len(at["run"]) == 2 and "seed" not in chosen:
            # runs of a system are its repetitions
            at["run"] = [k for k in at["run"] if k not in systems]
            at["system"], at["seed"] = systems, []
    if "topic" not in chosen:
        _take_topics(at, words, free)
    others = [k for k in free if not any(k in columns for columns in at.values())]
    scores = [k for k in others if words[k] in SCORES]
    if at["metric"]:
        at.setdefault("score", scores)
    elif metric is not None:
        exact = [k for k in others if header[k] == metric]
        alike = [k for k in others if words[k] == header_word(metric)]
        at.setdefault("score", exact or alike or scores)
    for role, columns in at.items():
        if len(columns) > 1 and role != "collection":
            _refuse_several(role, [header[k] for k in columns], where)
    others = [k for k in others if [k] != at.get("score")]
    values = [] if "score" in at else [k for k in others if words[k] not in COUNTERS]
    for role in EXAMPLES:
        if not at.get(role, values):
            _refuse_none(role, header, metric, where)
    unread = {k: "" if "score" in at else "numbers lines" for k in others if k not in values}
    return Taken(header, {role: columns for role, columns in at.items() if columns}, values, unread)


def _place(header: Sequence[str], name: str, role: str, where: Where) -> int:
    """Return the column that an option names: one spelled exactly so, or else alike."""
    exact = [k for k, cell in enumerate(header) if cell == name]
    places = exact or [k for k, cell in enumerate(header) if header_word(cell) == header_word(name)]
    if len(places) != 1:
        count = counted(len(places), "column") if places else "no column"
        raise BadInput(
            f"{count} of the {role} ({option(f'{role}_column', name)}); found "
            f"{', '.join(header)[:200]}",
            *where,
        )
    return places[0]


def _take_topics(at: dict[str, list[int]], words: list[str], free: list[int]) -> None:
    """Prefer the id of a topic to its text, and look for further headers if there is none."""
    ids = {words[k] for k in at["topic"]} & TOPIC_IDS
    texts = {word for word in TOPICS if f"{word}id" in ids or (word == "query" and "qid" in ids)}
    at["topic"] = [k for k in at["topic"] if words[k] not in texts]
    for headers in LATER_TOPICS:
        at["topic"] = at["topic"] or [k for k in free if words[k] in headers]
    if not at["topic"] and len(at["collection"]) == 1:  # data sets are what systems are compared on
        at["topic"], at["collection"] = at["collection"], []


def _refuse_several(role: str, columns: list[str], where: Where) -> NoReturn:
    is_chosen = role in CHOSEN and len(set(columns)) > 1
    choose = f"choose one: {option(f'{role}_column', columns[0])}"
    raise BadInput(
        f"{len(columns)} columns may be the {role}: {', '.join(columns)}; "
        f"{choose if is_chosen else 'keep one of them'}",
        *where,
    )


def _refuse_none(role: str, header: Sequence[str], metric: str | None, where: Where) -> NoReturn:
    what = f"no column {metric}, and none" if role == "score" and metric else "no column"
    form = FRAME if where and where[0] is None else ""
    raise BadInput(
        f"the header has {what} for the {role} ({EXAMPLES[role]}); found "
        f"{', '.join(header)[:200] or 'none'}; name the column with "
        f"{option(f'{role}_column')}{form}",
        *where,
    )

"""Columns of tables of scores: which headers name the run, the topic, and so on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest.files import PathLike
from scorecube.names import USUAL_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYSTEMS = _words(
    "system systemid systemname model modelid modelname method classifier classifiername llm agent"
)
"""Headers of runs that are those of systems if there is a column of runs, too."""
RUNS = SYSTEMS | {"run", "runid", "runtag", "runname"}
TOPICS = _words("topic query item question example sample instance")
"""Headers of topics that may hold their texts, where another column holds their ids."""
DOCUMENTS = _words("doc docid document documentid")
"""Headers of topics where a document is what is asked about; in judgements those of documents."""
TOPIC_IDS = _words("topicid topicno qid queryid itemid questionid exampleid sampleid instanceid")
LATER_TOPICS = (_words("taskid problem problemid"), _words("id"))
"""Headers of topics if there is no other, better ones first."""
SCORES = _words("score scores value")
ROLES: dict[str, frozenset[str]] = {
    "run": RUNS,
    "topic": TOPICS | TOPIC_IDS | DOCUMENTS,
    "collection": _words(
        "week benchmark collection dataset datasetname task taskname subset split"
    ),
    "seed": _words("seed repetition epoch trial"),
    "metric": _words("metric measure"),
    "gain": _words("gain"),
    "topic_group": _words("topicgroup conversation conversationid"),
}
"""Role of a column -> its headers, as of `header_word`."""
PYTERRIER_RUN = "name"
"""Column of the run of PyTerrier's ``Experiment(perquery=True)``, if there is no other."""
COUNTERS = _words("# id index level0 unnamed:0") | {""}
"""Headers of columns that number the lines."""
CHOSEN = ("run", "topic", "collection", "seed", "score")
"""Roles whose column an option names: ``run_column``, ..."""
NOUNS = {
    "run": _words("model system"),
    "topic": _words("item question sample example prompt"),
    "collection": _words("benchmark dataset task"),
    "seed": _words("seed epoch"),
}
"""Role -> headings that are words for what is in the column, perhaps before ``id`` or ``name``."""
TAKEN = "columns: "
"""Beginning of a line about what columns were taken for."""


def chosen_columns(columns: Mapping[str, str | None]) -> dict[str, str]:
    """Return role -> column of options such as ``run_column`` (TypeError for another argument)."""
    if others := columns.keys() - {f"{role}_column" for role in CHOSEN}:
        raise TypeError(f"unexpected argument {min(others)!r}")
    return {key.removesuffix("_column"): name for key, name in columns.items() if name is not None}


def no_table(chosen: Mapping[str, str], found: str) -> BadPlan:
    """Return the error about columns that are chosen of what is no table."""
    role, column = next(iter(chosen.items()))
    text = f"{option(f'{role}_column', column)} is about tables; found {found}"
    return BadPlan(text, option=f"{role}_column")


def header_word(cell: str) -> str:
    """Return a header as `ROLES` has it: without blanks, hyphens, low lines and capitals."""
    return re.sub(r"[\s_-]+", "", cell).lower()


class Taken(NamedTuple):
    """Columns of each role, and those that may be metrics."""

    at: dict[str, list[str]]
    values: list[str]

    @property
    def words(self) -> tuple[str, ...]:
        """What the headings call runs, topics, collections and repetitions."""
        found = []
        for usual, (role, nouns) in zip(USUAL_WORDS, NOUNS.items(), strict=True):
            noun = re.sub("(name|id)$", "", header_word(self.at.get(role, [""])[-1]))
            found.append(noun if noun in nouns else usual)
        return tuple(found)


def take_columns(
    header: Sequence[str], chosen: Mapping[str, str], path: PathLike | None = None
) -> Taken:
    """Return what the columns of a table of scores are taken for; roles may be `chosen`."""
    word_of = {name: header_word(name) for name in header}
    at = {role: _named(word_of, name) for role, name in chosen.items()}
    free = [name for name in header if [name] not in at.values()]
    for role, spellings in ROLES.items():
        at.setdefault(role, [name for name in free if word_of[name] in spellings])
    if "run" not in chosen:
        at["run"] = at["run"] or [name for name in free if word_of[name] == PYTERRIER_RUN]
        systems = [name for name in at["run"] if word_of[name] in SYSTEMS]
        if len(systems) == 1 and len(at["run"]) == 2 and "seed" not in chosen:
            # runs of a system are its repetitions
            at["run"] = [name for name in at["run"] if name not in systems]
            at["system"], at["seed"] = systems, []
    if "topic" not in chosen:
        _take_topics(at, word_of, free)
    values = [name for name in free if not any(name in columns for columns in at.values())]
    unread = [name for name in values if word_of[name] in COUNTERS]
    if at["metric"]:
        at["score"] = [name for name in values if word_of[name] in SCORES]
        unread = [name for name in values if name not in at["score"]]
    for role, columns in at.items():
        needed = role in ("run", "topic", "score", *chosen)
        if (needed and not columns) or (len(columns) > 1 and role != "collection"):
            found = f"{len(columns) or 'no'} column{'s' * (len(columns) > 1)}"
            settle = f"; choose it with {option(f'{role}_column')}" if role in CHOSEN else ""
            names = ", ".join(columns or header)[:200] or "nothing"
            text = f"{found} may be the {role}: found {names}{settle}"
            raise BadInput(text, path, None if path is None else 1)
    values = [name for name in values if name not in unread]
    return Taken({role: columns for role, columns in at.items() if columns}, values)


def _named(word_of: Mapping[str, str], name: str) -> list[str]:
    """Return the columns that an option names: one spelled exactly so, or else alike."""
    return [name] if name in word_of else [k for k in word_of if word_of[k] == header_word(name)]


def _take_topics(at: dict[str, list[str]], word_of: Mapping[str, str], free: list[str]) -> None:
    """Prefer the id of a topic to its text, and look for further headers if there is none."""
    ids = {word_of[name] for name in at["topic"]} & TOPIC_IDS
    texts = {word for word in TOPICS if f"{word}id" in ids or (word == "query" and "qid" in ids)}
    at["topic"] = [name for name in at["topic"] if word_of[name] not in texts]
    for headers in LATER_TOPICS:
        at["topic"] = at["topic"] or [name for name in free if word_of[name] in headers]
    if not at["topic"] and len(at["collection"]) == 1:  # data sets are what systems are compared on
        at["topic"], at["collection"] = at["collection"], []

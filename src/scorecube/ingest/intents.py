"""Judgements by intent, and probabilities of intents, in the forms of NTCIREVAL."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.judgements import Qrels
from scorecube.errors import BadInput, BadPlan, Note, counted, option
from scorecube.ingest.entries import Entries, field_lines, label_text, numbers_in, read_columns
from scorecube.ingest.input_files import PathLike, read_bytes
from scorecube.ingest.qrels import qrels_of

DQRELS = "topic intent document level"
IPROBS = "topic intent probability"
BETWEEN = " intent "
"""Between topic and intent, which have no blanks, in the name of an intent of a topic."""


def read_intents(path: PathLike) -> Qrels:
    """Read judgements by intent (Dqrels, and TREC's diversity judgements), as of topics.

    A topic is an intent of a topic, called ``"1 intent 2"``.
    """
    columns, numbers = read_columns(read_bytes(path), "Dqrels", DQRELS, path)
    topics, intents, documents, levels = (column.tolist() for column in columns)
    named = list(map(BETWEEN.encode().join, zip(topics, intents, strict=True)))
    return qrels_of(path, Entries(named, documents, levels, (), numbers))


def over_intents(by_intent: Qrels) -> Qrels:
    """Return judgements of topics: a document has its highest level over the intents."""
    topics = [name.split(BETWEEN)[0].encode() for name in by_intent.topics]
    best: dict[tuple[bytes, bytes], int] = {}
    for line in np.argsort(-by_intent.levels, kind="stable").tolist():
        best.setdefault((topics[by_intent.topic_of[line]], by_intent.documents[line]), line)
    lines = sorted(best.values())
    entries = Entries(
        [topics[by_intent.topic_of[line]] for line in lines],
        [by_intent.documents[line] for line in lines],
        [str(by_intent.levels[line]) for line in lines],
        (),
        [by_intent.numbers[line] for line in lines],
    )
    return qrels_of(by_intent.path, entries)


def read_probabilities(path: PathLike) -> dict[str, float]:
    """Read the probability of each intent of a topic; a fourth field (inf, nav) is not used."""
    content = read_bytes(path)
    _, first = next(field_lines(content), (0, []))
    line = IPROBS + " type" * (len(first) == 4)
    columns, numbers = read_columns(content, "probabilities", line, path)
    topics, intents, fields = (column.tolist() for column in columns[:3])
    values = numbers_in(fields, "probability", path, numbers)
    found: dict[str, float] = {}
    for topic, intent, value, number in zip(topics, intents, values, numbers, strict=True):
        name = label_text(BETWEEN.encode().join((topic, intent)), "intent", path, number)
        if name in found:
            raise BadInput(f"topic {name} has a second probability", path, number)
        if not 0.0 <= value < math.inf:
            raise BadInput(f"probability {value:g}; expected a number of at least 0", path, number)
        found[name] = float(value)
    return found


def with_intents(
    rankings: xr.Dataset,
    judged: Qrels,
    by_intent: Qrels,
    probabilities: PathLike | None,
    notify: Callable[[str], None],
) -> xr.Dataset:
    """Add the variables of `schema.INTENTS` to rankings.

    judged: The judgements of the rankings, which number the documents.
    probabilities: File; None for equally likely intents.
    notify: Called with a line on equal probabilities, and on intents that do not count.
    """
    probability_of = dict.fromkeys(by_intent.topics, 1.0)
    if probabilities is None:
        notify(
            Note(f"intents of a topic are equally likely, without {option('intent_probabilities')}")
        )
    else:
        probability_of = read_probabilities(probabilities)
    place_of = _places(by_intent)
    shape = len(judged.topics), 1 + max(place_of.values())
    levels = np.full((shape[0], rankings.sizes["document"], shape[1]), names.UNJUDGED, np.int8)
    relevant = set()
    for line, topic_of in enumerate(by_intent.topic_of.tolist()):
        name = by_intent.topics[topic_of]
        row, document = _row_and_document(judged, by_intent, line)
        levels[row, document, place_of[name]] = max(by_intent.levels[line], names.UNJUDGED)
        if by_intent.levels[line] > 0:
            relevant.add(name)
    probability = np.zeros(shape)
    for name in sorted(relevant):
        if name not in probability_of:
            problem = f"no probability of topic {name}, which has relevant documents"
            raise BadInput(f"{problem}; expected a line: {IPROBS}", probabilities)
        row = judged.number_of[name.split(BETWEEN)[0]]
        probability[row, place_of[name]] = probability_of[name]
    if without := {*by_intent.topics, *probability_of} - relevant:
        notify(f"{counted(len(without), 'intent')} without a relevant document left out")
    arrays = {names.INTENT_LEVEL: levels, names.INTENT_PROBABILITY: probability}
    added = rankings.assign({of.name: (of.dims, arrays[of.name]) for of in schema.INTENTS})
    return schema.annotate(added, schema.INTENTS)


def _places(by_intent: Qrels) -> dict[str, int]:
    """Return the number of each intent within its topic."""
    seen: dict[str, int] = {}
    place_of: dict[str, int] = {}
    for name in by_intent.topics:
        topic = name.split(BETWEEN)[0]
        place_of[name] = seen.get(topic, 0)
        seen[topic] = place_of[name] + 1
    return place_of


def _row_and_document(judged: Qrels, by_intent: Qrels, line: int) -> tuple[int, int]:
    """Return the numbers of a line's topic and document (BadInput for one not judged)."""
    topic = by_intent.topics[by_intent.topic_of[line]].split(BETWEEN)[0]
    document = by_intent.documents[line]
    row = judged.number_of.get(topic, -1)
    number = judged.document_numbers[row].get(document, -1) if row >= 0 else -1
    problem = ""
    if number < 0:
        problem = f"document {document.decode('utf-8', 'replace')!r} of topic {topic} is not judged"
    elif by_intent.levels[line] > judged.n_levels:
        problem = f"level {by_intent.levels[line]} is above {judged.n_levels}, the highest"
    if problem:
        advice = f"judge it there, or give this file as {option('qrels')}, too"
        where = f"{problem} in {judged.path}; {advice}"
        raise BadInput(where, by_intent.path, int(by_intent.numbers[line]))
    return row, number


def refuse_alone(intents: PathLike | None, probabilities: PathLike | None) -> None:
    """Refuse probabilities without judgements by intent (BadPlan)."""
    if intents is None and probabilities is not None:
        both = f"{option('intent_probabilities')} needs judgements by intent, {option('intents')}"
        raise BadPlan(both, option="intent_probabilities")

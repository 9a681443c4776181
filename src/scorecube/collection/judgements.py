"""Runs and judgements as read from files, and the levels of a run in rank order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from scorecube import names
from scorecube.errors import BadInput, option
from scorecube.kernels.run_lines import JUDGEMENT, SPARSE, enter

IntArray = np.ndarray[Any, np.dtype[np.int64]]
Int32Array = np.ndarray[Any, np.dtype[np.int32]]


def first_repeated(items: Iterable[Any]) -> int:
    """Return the place of the first item that stands there a second time."""
    first: dict[Any, int] = {}
    return next(place for place, item in enumerate(items) if first.setdefault(item, place) != place)


@dataclass(frozen=True, eq=False)
class RunLines:
    """The lines of one run.

    name, path: Name of the run, and its file or what messages name.
    topics: Topic ids in order of first appearance.
    topic_of: int32 (line,): index of the line's topic in `topics`.
    documents: Ids of the documents of lines as bytes: (line,).
    scores: float64 (line,).
    ranks: float64 (line,); empty if not read.
    numbers: Line numbers in the file, from 1.
    """

    name: str
    path: str
    topics: Sequence[str]
    topic_of: Int32Array
    documents: np.ndarray[Any, np.dtype[Any]]
    scores: np.ndarray[Any, np.dtype[np.float64]]
    ranks: np.ndarray[Any, np.dtype[np.float64]]
    numbers: Sequence[int]

    @cached_property
    def lines_of(self) -> list[IntArray]:
        """Lines of each topic, in the order of the file."""
        order = np.argsort(self.topic_of, kind="stable")
        counts = np.bincount(self.topic_of, minlength=len(self.topics))
        return np.split(order, np.cumsum(counts)[:-1])


class JudgedTable(NamedTuple):
    """Judged documents of all topics by hash.

    text: uint8: their ids.
    judgements: Of `scorecube.kernels.run_lines.JUDGEMENT`, by line.
    table: int32: places of judgements, -1 for none.
    """

    text: np.ndarray[Any, np.dtype[np.uint8]]
    judgements: np.ndarray[Any, np.dtype[Any]]
    table: Int32Array


@dataclass(frozen=True, eq=False)
class Qrels:
    """The lines of judgements.

    path, documents, numbers: See `RunLines`.
    topics: Judged topics, sorted.
    topic_of: int32 (line,): index of the line's topic in `topics`.
    levels: int16 (line,): relevance levels; negative for pooled but not judged.
    classes: int32 (topic, document): number of the equivalence class of an answer within the topic,
        -1 for none.
    """

    path: str
    topics: Sequence[str]
    topic_of: Int32Array
    documents: Sequence[bytes] | np.ndarray[Any, np.dtype[Any]]
    levels: np.ndarray[Any, np.dtype[np.int16]]
    numbers: Sequence[int]
    classes: Int32Array | None = None

    @property
    def n_levels(self) -> int:
        """Number of relevant levels: the highest level that occurs."""
        return max(0, int(self.levels.max(initial=0)))

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Index of each topic."""
        return {topic: k for k, topic in enumerate(self.topics)}

    @cached_property
    def document_numbers(self) -> list[dict[bytes, int]]:
        """Number of each document by topic, by id as bytes (BadInput for one judged twice)."""
        ids: list[list[bytes]] = [[] for _ in self.topics]
        for topic, document in zip(self.topic_of.tolist(), self.documents, strict=True):
            ids[topic].append(document)
        tables = [{document: k for k, document in enumerate(sorted(part))} for part in ids]
        if sum(map(len, tables)) < len(self.documents):
            line = first_repeated(zip(self.topic_of.tolist(), self.documents, strict=True))
            text = self.documents[line].decode("utf-8", "replace")
            topic = self.topic_of[line]
            problem = f"document {text!r} is judged twice in topic {self.topics[topic]}"
            advice = f"remove a line, or give judgements by intent as {option('intents')}, too"
            raise BadInput(f"{problem}; {advice}", self.path, int(self.numbers[line]))
        return tables

    @cached_property
    def document_of(self) -> Int32Array:
        """Number of each line's document in its topic: int32 (line,)."""
        tables = [self.document_numbers[topic] for topic in self.topic_of.tolist()]
        pairs = zip(tables, self.documents, strict=True)
        return np.fromiter((table[document] for table, document in pairs), np.int32)

    @cached_property
    def level_of_document(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """Level of each document, (topic, document); -1 if not judged, or behind the last."""
        shape = len(self.topics), int(self.document_of.max(initial=-1)) + 2
        levels = np.full(shape, names.UNJUDGED, np.int8)
        levels[self.topic_of, self.document_of] = np.maximum(self.levels, names.UNJUDGED)
        return levels

    @cached_property
    def table(self) -> JudgedTable | None:
        """The documents of all topics by hash; None where their ids collide."""
        ids = [bytes(document) for document in self.documents]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        text = np.frombuffer(b"".join(ids), np.uint8)
        judgements = np.zeros(len(ids), JUDGEMENT)
        judgements["document"] = np.cumsum(lengths) - lengths
        judgements["document_length"] = lengths
        judgements["topic"] = self.topic_of
        judgements["number"] = self.document_of
        table = np.full(1 << (SPARSE * len(ids)).bit_length(), -1, np.int32)
        return JudgedTable(text, judgements, table) if enter(text, judgements, table) else None

    def document_keys(self) -> IntArray:
        """Return hashes of the ids of documents, (topic, document); 0 behind the last."""
        keys = np.zeros((len(self.topics), int(self.document_of.max(initial=-1)) + 1), np.int64)
        key_of = {of: blake2b(of, digest_size=8).digest() for of in {*self.documents}}
        digests = b"".join(map(key_of.__getitem__, self.documents))
        keys[self.topic_of, self.document_of] = np.frombuffer(digests, "<i8")
        return keys

    def n_judged(self) -> IntArray:
        """Return the numbers of judged documents (topic, level); a class counts once.

        Its level is the highest of its documents; those that are not relevant are no answers.
        """
        counts = np.zeros((len(self.topics), self.n_levels + 1), np.int64)
        kept = self.levels >= 0
        levels = self.levels
        if self.classes is not None:
            class_of = self.classes[self.topic_of, self.document_of]
            # By descending level, so that the first line of a class has its highest level.
            order = np.argsort(-levels, kind="stable")
            _, first = np.unique(
                np.stack([self.topic_of, class_of])[:, order], axis=1, return_index=True
            )
            kept &= (class_of < 0) | (levels == 0) | np.isin(np.arange(len(levels)), order[first])
        np.add.at(counts, (self.topic_of[kept], levels[kept]), 1)
        return counts

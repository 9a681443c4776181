"""Runs and judgements as read from files, and the levels of a run in rank order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from scorecube import names
from scorecube.errors import BadInput

IntArray = np.ndarray[Any, np.dtype[np.int64]]
Int32Array = np.ndarray[Any, np.dtype[np.int32]]


class Texts(Sequence[bytes]):
    """Many short texts, such as ids of documents, as parts of one.

    whole: The text, with at least `SPARE` zero bytes behind it.
    starts, stops: int64 (text,): first byte of each, and the byte behind its last.
    """

    def __init__(self, whole: bytes, starts: IntArray, stops: IntArray) -> None:
        self.whole, self.starts, self.stops = whole, starts, stops

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Texts:
        """Return texts as parts of one."""
        if isinstance(texts, Texts):
            return texts
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        stops = np.cumsum(lengths)
        return cls(b"".join([*texts, bytes(SPARE)]), stops - lengths, stops)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice | np.ndarray):
            part = Texts(self.whole, self.starts[at], self.stops[at])
            if "hashes" in self.__dict__:
                part.hashes = self.hashes[at]
            return part
        return self.whole[self.starts[at] : self.stops[at]]

    def words(self, number: int) -> Any:
        """Return eight bytes of each text from byte 8 `number` on, as one integer.

        Zeros behind its end: uint64 (text,).
        """
        every = np.ndarray(len(self.whole) - 7, "<u8", self.whole, strides=(1,))
        left = np.clip(self.stops - self.starts - 8 * number, 0, 8)
        return every[np.where(left > 0, self.starts + 8 * number, 0)] & FIRST_BYTES[left]

    @cached_property
    def hashes(self) -> Any:
        """Hash of each text: uint64 (text,); equal texts have equal hashes."""
        lengths = self.stops - self.starts
        values = lengths.astype(np.uint64) * FACTOR
        for number in range(-(-min(int(lengths.max(initial=0)), LONG) // 8)):
            mixed = (values ^ self.words(number)) * FACTOR
            values = np.where(lengths > 8 * number, mixed ^ (mixed >> np.uint64(29)), values)
        return values

    def equal(self, other: Texts) -> Any:
        """Return whether texts are equal to others, or each to one other: bool (text,)."""
        lengths = self.stops - self.starts
        same = lengths == other.stops - other.starts
        for number in range(-(-min(int(lengths.max(initial=0)), LONG) // 8)):
            same &= self.words(number) == other.words(number)
        for k in np.flatnonzero(same & (lengths > LONG)).tolist():
            same[k] = self[k] == other[k if len(other) > 1 else 0]
        return same


SPARE = 16
LONG = 64
"""Bytes of a text that are hashed, and compared at once."""
FACTOR = np.uint64(0x9E3779B97F4A7C15)
FIRST_BYTES = np.array([2 ** (8 * k) - 1 for k in range(9)], np.uint64)
"""Masks of the first 0, 1, ..., 8 bytes of a word."""


@dataclass(frozen=True, eq=False)
class RunLines:
    """The lines of one run.

    name, path: Name of the run, and its file or what messages name.
    topics: Topic ids in order of first appearance.
    topic_of: int32 (line,): index of the line's topic in `topics`.
    documents: Ids of the documents of lines.
    scores: float64 (line,).
    ranks: float64 (line,); empty if not read.
    numbers: Line numbers in the file, from 1.
    """

    name: str
    path: str
    topics: Sequence[str]
    topic_of: Int32Array
    documents: Texts
    scores: np.ndarray[Any, np.dtype[np.float64]]
    ranks: np.ndarray[Any, np.dtype[np.float64]]
    numbers: Sequence[int]

    @cached_property
    def lines_of(self) -> list[IntArray]:
        """Lines of each topic, in the order of the file."""
        order = np.argsort(self.topic_of, kind="stable")
        counts = np.bincount(self.topic_of, minlength=len(self.topics))
        return np.split(order, np.cumsum(counts)[:-1])


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
    documents: Sequence[bytes]
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
            self._refuse_repeated()
        return tables

    def _refuse_repeated(self) -> None:
        seen = set()
        for line, row in enumerate(zip(self.topic_of.tolist(), self.documents, strict=True)):
            if row in seen:
                document, topic = row[1].decode("utf-8", "replace"), self.topics[row[0]]
                problem = f"document {document!r} is judged twice in topic {topic}"
                raise BadInput(problem, self.path, int(self.numbers[line]))
            seen.add(row)

    @cached_property
    def _tables(self) -> list[tuple[Any, Texts, IntArray]]:
        """Sorted hashes of the documents of each topic, the documents, and their numbers."""
        tables = []
        for numbers in self.document_numbers:
            texts = Texts.of(list(numbers))
            order = np.argsort(texts.hashes, kind="stable")
            tables.append((texts.hashes[order], texts[order], order))
        return tables

    def look_up(self, topic: int, documents: Texts) -> Int32Array:
        """Return the numbers of documents in a topic, int32 (document,); -1 if not judged."""
        hashes, judged, numbers = self._tables[topic]
        places = np.minimum(np.searchsorted(hashes, documents.hashes), len(hashes) - 1)
        found = np.full(len(documents), -1, np.int32)
        hits = np.flatnonzero(hashes[places] == documents.hashes)
        same = documents[hits].equal(judged[places[hits]])
        found[hits[same]] = numbers[places[hits[same]]]
        for k in hits[~same].tolist():  # another document of the same hash
            found[k] = self.document_numbers[topic].get(documents[k], -1)
        return found

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

    def document_keys(self) -> IntArray:
        """Return hashes of the ids of documents, (topic, document); 0 behind the last."""
        keys = np.zeros((len(self.topics), int(self.document_of.max(initial=-1)) + 1), np.int64)
        digests = b"".join(blake2b(document, digest_size=8).digest() for document in self.documents)
        keys[self.topic_of, self.document_of] = np.frombuffer(digests, "<i8")
        return keys

    def n_judged(self) -> IntArray:
        """Return the numbers of judged documents (topic, level); a class counts once.

        Its level is the highest of its documents; those that are not relevant are no answers.
        """
        counts = np.zeros((len(self.topics), self.n_levels + 1), np.int64)
        kept, levels = self.levels >= 0, self.levels
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

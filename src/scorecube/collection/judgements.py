"""Runs and judgements as read from files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from scorecube import names
from scorecube.errors import BadInput
from scorecube.kernels.parsing import judge_run

IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class RunLines:
    """The lines of one run file.

    name, path: Name of the run and path of its file.
    text: uint8 (byte,): content of the file, padded.
    topics: Topic ids in order of first appearance.
    topic_of: int32 (line,): index of the line's topic in `topics`.
    documents: int32 (line, 2): start and end of the document id in `text`.
    scores: float64 (line,).
    ranks: float64 (line,); empty if not read.
    numbers: int32 (line,): line numbers in the file, from 1.
    """

    name: str
    path: str
    text: np.ndarray[Any, np.dtype[np.uint8]]
    topics: Sequence[str]
    topic_of: np.ndarray[Any, np.dtype[np.int32]]
    documents: np.ndarray[Any, np.dtype[np.int32]]
    scores: np.ndarray[Any, np.dtype[np.float64]]
    ranks: np.ndarray[Any, np.dtype[np.float64]]
    numbers: np.ndarray[Any, np.dtype[np.int32]]

    def document(self, line: int) -> str:
        """Return the document id of a line."""
        start, stop = self.documents[line]
        return self.text[start:stop].tobytes().decode("utf-8", "replace")


@dataclass(frozen=True, eq=False)
class Qrels:
    """The lines of a file of judgements.

    path, text, documents, numbers: As of `RunLines`.
    topics: Judged topics, sorted.
    topic_of: int32 (line,): index of the line's topic in `topics`.
    levels: int16 (line,): relevance levels; negative for pooled but not judged.
    classes: int32 (topic, document): equivalence class of an answer in the topic, -1 for none.
    """

    path: str
    text: np.ndarray[Any, np.dtype[np.uint8]]
    topics: Sequence[str]
    topic_of: np.ndarray[Any, np.dtype[np.int32]]
    documents: np.ndarray[Any, np.dtype[np.int32]]
    levels: np.ndarray[Any, np.dtype[np.int16]]
    numbers: np.ndarray[Any, np.dtype[np.int32]]
    classes: np.ndarray[Any, np.dtype[np.int32]] | None = None

    @property
    def n_levels(self) -> int:
        """Number of relevant levels: the highest level that occurs."""
        return max(0, int(self.levels.max(initial=0)))

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Index of each topic."""
        return {topic: k for k, topic in enumerate(self.topics)}

    @cached_property
    def tables(self) -> tuple[Any, Any]:
        """Hash tables of the judged documents: entries and bounds (BadInput for a document judged twice)."""
        entries, bounds, repeated = judge_run.judgement_tables(
            self.text, self.documents, self.topic_of, len(self.topics)
        )
        if repeated >= 0:
            document = self.document(repeated).decode("utf-8", "replace")
            topic = self.topics[self.topic_of[repeated]]
            raise BadInput(
                f"document {document!r} is judged twice in topic {topic}; remove one of the lines",
                self.path,
                int(self.numbers[repeated]),
            )
        return entries, bounds

    def document(self, line: int) -> bytes:
        """Return the document id of a line."""
        start, stop = self.documents[line]
        return self.text[start:stop].tobytes()

    @cached_property
    def document_of(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Number of each line's document in its topic, by id as bytes: int32 (line,)."""
        return judge_run.document_numbers(
            self.text, self.documents, self.topic_of, len(self.topics)
        )

    @property
    def _shape(self) -> tuple[int, int]:
        """Topics and documents of the topic with most of them."""
        return len(self.topics), int(self.document_of.max(initial=-1)) + 1

    def level_of_document(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """Return the level of each document, (topic, document); -1 if not judged."""
        levels = np.full(self._shape, names.UNJUDGED, np.int8)
        levels[self.topic_of, self.document_of] = np.maximum(self.levels, names.UNJUDGED)
        return levels

    def document_keys(self) -> IntArray:
        """Return hashes of the ids of documents, (topic, document); 0 behind the last document of a topic."""
        keys = np.zeros(self._shape, np.int64)
        digests = (blake2b(self.document(k), digest_size=8) for k in range(len(self.topic_of)))
        keys[self.topic_of, self.document_of] = np.frombuffer(
            b"".join(each.digest() for each in digests), "<i8"
        )
        return keys

    def n_judged(self) -> IntArray:
        """Return the numbers of judged documents (topic, level); a class counts once, at its highest level."""
        counts = np.zeros((len(self.topics), self.n_levels + 1), np.int64)
        kept, levels = self.levels >= 0, self.levels
        if self.classes is not None:
            class_of = self.classes[self.topic_of, self.document_of]
            order = np.argsort(-levels, kind="stable")
            pairs = np.stack([self.topic_of, class_of])[:, order]
            _, first = np.unique(pairs, axis=1, return_index=True)
            kept &= (class_of < 0) | np.isin(np.arange(len(levels)), order[first])
        np.add.at(counts, (self.topic_of[kept], levels[kept]), 1)
        return counts

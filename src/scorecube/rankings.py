"""Runs x judgements -> relevance levels in rank order, with teams.

Ordering decides ties and therefore scores; the choices and who uses them are in `Order`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names, schema
from scorecube.errors import BadInput
from scorecube.kernels import judging

IntArray = np.ndarray[Any, np.dtype[np.int64]]
NO_LIMIT = 2**31 - 1


class Order(StrEnum):
    """How documents of a topic are put in order."""

    SCORE = "score"
    """Score descending, then document id descending as bytes: trec_eval. Alias of score-docno-desc."""
    SCORE_DOCNO_DESC = "score-docno-desc"
    """The same."""
    SCORE_DOCNO_ASC = "score-docno-asc"
    """Score descending, then document id ascending."""
    SCORE_STABLE = "score-stable"
    """Score descending, then order of the file."""
    FILE = "file"
    """Order of the file: NTCIREVAL."""
    RANK = "rank"
    """Rank column ascending, then order of the file."""


_CODES = {
    Order.SCORE: judging.BY_SCORE_DESCENDING,
    Order.SCORE_DOCNO_DESC: judging.BY_SCORE_DESCENDING,
    Order.SCORE_DOCNO_ASC: judging.BY_SCORE_ASCENDING,
    Order.SCORE_STABLE: judging.BY_SCORE_STABLE,
    Order.RANK: judging.BY_RANK,
    Order.FILE: judging.BY_FILE,
}


class Duplicates(StrEnum):
    """What to do with a document that stands twice in a topic of a run."""

    ERROR = "error"
    """Refuse the file: trec_eval."""
    FIRST = "first"
    """The first line of the file counts."""
    NTCIREVAL = "ntcireval"
    """Both count, so that AP can exceed 1: NTCIREVAL."""


_REPEATS = {Duplicates.ERROR: judging.REFUSE, Duplicates.FIRST: judging.FIRST, Duplicates.NTCIREVAL: judging.KEEP}


class Precision(StrEnum):
    """Width of the scores that are compared: nearly equal scores become ties in single precision."""

    SINGLE = "single"
    """32 bits, as trec_eval up to 9 and all official results made with it."""
    DOUBLE = "double"
    """64 bits, as trec_eval 10."""


@dataclass(frozen=True, eq=False)
class RunLines:
    """The lines of one run, as places in its text.

    Parameters
    ----------
    name, path
        Of the run and its file.
    text
        uint8, the padded file.
    topics
        Topic ids in order of first appearance.
    topic_of
        int32 (line,): number of the line's topic in `topics`.
    documents
        int32 (line, 2): where the document ids stand.
    scores
        float64 (line,).
    ranks
        float64 (line,), or empty if not read.
    numbers
        int32 (line,): line numbers in the file, from 1.
    """

    name: str
    path: str
    text: np.ndarray[Any, np.dtype[np.uint8]]
    topics: Sequence[str]
    topic_of: np.ndarray[Any, np.dtype[np.int32]]
    documents: IntArray
    scores: np.ndarray[Any, np.dtype[np.float64]]
    ranks: np.ndarray[Any, np.dtype[np.float64]]
    numbers: np.ndarray[Any, np.dtype[np.int32]]

    def document(self, line: int) -> str:
        """Return the document id of a line."""
        start, stop = self.documents[line]
        return self.text[start:stop].tobytes().decode("utf-8", "replace")


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements, as places in their text; topics are sorted.

    Parameters
    ----------
    path, text, documents, numbers
        As of `RunLines`.
    topics
        Judged topics, sorted.
    topic_of
        int32 (line,).
    levels
        int16 (line,); a negative level means pooled but not judged.
    """

    path: str
    text: np.ndarray[Any, np.dtype[np.uint8]]
    topics: Sequence[str]
    topic_of: np.ndarray[Any, np.dtype[np.int32]]
    documents: IntArray
    levels: np.ndarray[Any, np.dtype[np.int16]]
    numbers: np.ndarray[Any, np.dtype[np.int32]]

    @property
    def n_levels(self) -> int:
        """Number of relevant levels: the highest level that occurs."""
        return max(0, int(self.levels.max(initial=0)))

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Topic -> its number."""
        return {topic: k for k, topic in enumerate(self.topics)}

    @cached_property
    def tables(self) -> tuple[Any, Any, Any]:
        """Hash tables of the judged documents: slots, hashes, bounds.

        Raises
        ------
        BadInput
            A document judged twice in a topic.
        """
        slots, hashes, bounds, repeated = judging.judgement_tables(
            self.text, self.documents, self.topic_of, len(self.topics)
        )
        if repeated >= 0:
            start, stop = self.documents[repeated]
            document = self.text[start:stop].tobytes().decode("utf-8", "replace")
            topic = self.topics[self.topic_of[repeated]]
            raise BadInput(
                f"document {document!r} is judged twice in topic {topic}; remove one of the lines",
                self.path, int(self.numbers[repeated]),
            )  # fmt: skip
        return slots, hashes, bounds

    def n_judged(self) -> IntArray:
        """Return the number of documents judged at each level, (topic, level)."""
        counts = np.zeros((len(self.topics), self.n_levels + 1), np.int64)
        judged = self.levels >= 0
        np.add.at(counts, (self.topic_of[judged], self.levels[judged]), 1)
        return counts


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """One run's levels in ranked order.

    Parameters
    ----------
    levels
        int8 (judged topic, rank), -1 for unjudged and behind the end.
    lengths
        int32 (judged topic,): documents returned.
    """

    name: str
    path: str
    levels: np.ndarray[Any, np.dtype[np.int8]]
    lengths: np.ndarray[Any, np.dtype[np.int32]]


def judge(
    run: RunLines,
    qrels: Qrels,
    *,
    order: str = Order.SCORE,
    precision: str = Precision.SINGLE,
    depth: int | None = None,
    duplicates: str = Duplicates.ERROR,
) -> JudgedRun:
    """Put a run's documents in order and look up their levels.

    Raises
    ------
    BadInput
        A document twice in a topic, naming the line.
    """
    chosen = Order(order)
    keys = -run.ranks if chosen is Order.RANK else run.scores
    if chosen is not Order.RANK and Precision(precision) is Precision.SINGLE:
        with np.errstate(over="ignore"):
            keys = keys.astype(np.float32).astype(np.float64)
    judged_topic = np.array([qrels.number_of.get(topic, -1) for topic in run.topics], np.int64)
    levels, lengths, repeated, first = judging.judge_run(
        run.text, run.documents, run.topic_of, keys, _CODES[chosen], _REPEATS[Duplicates(duplicates)], judged_topic, depth or NO_LIMIT,
        qrels.text, qrels.documents, qrels.levels, *qrels.tables,
    )  # fmt: skip
    if repeated >= 0:
        topic = run.topics[run.topic_of[repeated]]
        raise BadInput(
            f"document {run.document(repeated)!r} stands twice in topic {topic}, first in line {run.numbers[first]}; "
            "remove one of the lines", run.path, int(run.numbers[repeated]),
        )  # fmt: skip
    return JudgedRun(run.name, run.path, levels, lengths)


def build_rankings(
    runs: Iterable[JudgedRun],
    qrels: Qrels,
    teams: Mapping[str, str] | None = None,
    *,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Put judged runs together.

    Parameters
    ----------
    runs
        Names must differ.
    qrels
        Judgements; its topics are the collection's topics. Topics that only runs have are ignored.
    teams
        Run name -> team. A run without one becomes a team of its own.
    attrs
        How the runs were read.

    Returns
    -------
    rankings
        Dataset with `level_at_rank` (run, topic, rank) int8, `n_retrieved` (run, topic), `n_judged` (topic, level)
        and the coordinate `team` (run). Runs and topics are sorted.

    Raises
    ------
    BadInput
        Two runs of one name; no topic of any run is judged.
    """
    by_name: dict[str, JudgedRun] = {}
    for run in runs:
        if run.name in by_name:
            taken = by_name[run.name].path
            raise BadInput(
                f"run name {run.name!r} is already taken by {taken}; name runs by file (--run-name file)", run.path
            )
        by_name[run.name] = run
    ordered = [by_name[name] for name in sorted(by_name)]
    if not any(run.lengths.any() for run in ordered):
        known = ", ".join(qrels.topics[:3])
        raise BadInput(
            f"judges none of the topics of the {len(ordered)} runs; it has topics such as {known}", qrels.path
        )
    longest = max(run.levels.shape[1] for run in ordered)
    level_at_rank = np.full((len(ordered), len(qrels.topics), longest), names.UNJUDGED, np.int8)
    for k, run in enumerate(ordered):
        level_at_rank[k, :, : run.levels.shape[1]] = run.levels
    known_teams = teams or {}
    return rankings_dataset(
        level_at_rank, np.stack([run.lengths for run in ordered]), qrels.n_judged(),
        [run.name for run in ordered], qrels.topics, [known_teams.get(run.name, run.name) for run in ordered], attrs or {},
    )  # fmt: skip


def rankings_dataset(
    level_at_rank: np.ndarray[Any, np.dtype[np.int8]],
    n_retrieved: np.ndarray[Any, np.dtype[np.int32]],
    n_judged: IntArray,
    runs: Sequence[str],
    topics: Sequence[str],
    teams: Sequence[str],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """Label the arrays of `schema.RANKINGS`; runs and topics must be sorted."""
    dataset = xr.Dataset(
        {
            schema.LEVEL_AT_RANK: (schema.RANKINGS[0].dims, level_at_rank),
            names.N_RETRIEVED: (schema.RANKINGS[1].dims, n_retrieved),
            names.N_JUDGED: (schema.RANKINGS[2].dims, n_judged),
        },
        coords={
            names.RUN: schema.label_array(runs),
            names.TOPIC: schema.label_array(topics),
            names.TEAM: (names.RUN, schema.label_array(teams)),
            names.RANK: np.arange(1, level_at_rank.shape[2] + 1),
            names.LEVEL: np.arange(n_judged.shape[1]),
        },
        attrs=dict(attrs),
    )
    schema.check(dataset, schema.RANKINGS, "rankings")
    return schema.annotate(dataset, schema.RANKINGS)

"""Runs x judgements -> relevance levels in rank order, with teams.

Ordering decides ties and therefore scores; the choices and who uses them are in `Order`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from scorecube import names, schema
from scorecube.errors import BadInput
from scorecube.judgements import IntArray, Intents, Qrels, RunLines
from scorecube.kernels import judging
from scorecube.kernels.workspace import Workspace

Item = TypeVar("Item", bound=np.generic)
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
class JudgedRun:
    """One run's levels in ranked order.

    Parameters
    ----------
    levels
        int8 (judged topic, rank), -1 for unjudged and behind the end.
    lengths
        int32 (judged topic,): documents returned.
    documents
        int32 (judged topic, rank): number within the topic, -1 in the same sense; of no size if nobody asked for it.
    """

    name: str
    path: str
    levels: np.ndarray[Any, np.dtype[np.int8]]
    lengths: np.ndarray[Any, np.dtype[np.int32]]
    documents: np.ndarray[Any, np.dtype[np.int32]]


def judge(
    run: RunLines,
    qrels: Qrels,
    *,
    order: str = Order.SCORE,
    precision: str = Precision.SINGLE,
    depth: int | None = None,
    duplicates: str = Duplicates.ERROR,
    with_documents: bool = False,
    workspace: Workspace | None = None,
) -> JudgedRun:
    """Put a run's documents in order and look up their levels.

    Which judged document stands at each rank is told with `with_documents`, and where documents are judged by intent.
    `workspace` is memory to be used again.

    Raises
    ------
    BadInput
        A document twice in a topic, naming the line.
    """
    chosen, space, n_lines = Order(order), workspace or Workspace(), len(run.topic_of)
    single = chosen is not Order.RANK and Precision(precision) is Precision.SINGLE
    judged_topic = np.array([qrels.number_of.get(topic, -1) for topic in run.topics], np.int64)
    wanted = with_documents or qrels.intents is not None or qrels.classes is not None
    levels, documents, lengths, repeated, first = judging.judge_run(
        run.text, run.documents, run.topic_of, -run.ranks if chosen is Order.RANK else run.scores, single, _CODES[chosen],
        _REPEATS[Duplicates(duplicates)], judged_topic, depth or NO_LIMIT, qrels.text, qrels.documents, qrels.levels, *qrels.tables,
        qrels.document_of if wanted else np.empty(0, np.int32),
        space.array("grouped", n_lines, "int64"), space.array("document_hashes", n_lines, "uint64"),
    )  # fmt: skip
    if repeated >= 0:
        topic = run.topics[run.topic_of[repeated]]
        raise BadInput(
            f"document {run.document(repeated)!r} stands twice in topic {topic}, first in line {run.numbers[first]}; "
            "remove one of the lines", run.path, int(run.numbers[repeated]),
        )  # fmt: skip
    if qrels.classes is not None:
        judging.keep_first_of_class(levels, documents, qrels.classes)
    return JudgedRun(run.name, run.path, levels, lengths, documents)


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
        Dataset with `level_at_rank` (run, topic, rank) int8, `n_retrieved` (run, topic), `n_judged` (topic, level) and the
        coordinate `team` (run); with judgements by intent also `schema.INTENTS`. Runs and topics are sorted.

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
    known_teams = teams or {}
    dataset = rankings_dataset(
        _stacked([run.levels for run in ordered]), np.stack([run.lengths for run in ordered]), qrels.n_judged(),
        [run.name for run in ordered], qrels.topics, [known_teams.get(run.name, run.name) for run in ordered], attrs or {},
    )  # fmt: skip
    if qrels.intents is None:
        return dataset
    return with_intents(dataset, _stacked([run.documents for run in ordered]), qrels.intents)


def _stacked(rows: Sequence[np.ndarray[Any, np.dtype[Item]]]) -> np.ndarray[Any, np.dtype[Item]]:
    """Put arrays (topic, rank) of different depths together (run, topic, rank)."""
    longest = max(row.shape[1] for row in rows)
    result = np.full((len(rows), len(rows[0]), longest), names.UNJUDGED, rows[0].dtype)
    for k, row in enumerate(rows):
        result[k, :, : row.shape[1]] = row
    return result


def with_intents(
    rankings: xr.Dataset, document_at_rank: np.ndarray[Any, np.dtype[np.int32]], intents: Intents
) -> xr.Dataset:
    """Add the variables of `schema.INTENTS` to rankings."""
    arrays = (document_at_rank, intents.levels, intents.labels, intents.probability)
    found = {variable.name: (variable.dims, array) for variable, array in zip(schema.INTENTS, arrays, strict=True)}
    numbers = np.arange(1, intents.levels.shape[2] + 1)
    return schema.annotate(rankings.assign(found).assign_coords({names.INTENT: numbers}), schema.INTENTS)


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

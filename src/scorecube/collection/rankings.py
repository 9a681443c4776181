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

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.judgements import IntArray, Intents, Qrels, RunLines
from scorecube.errors import BadInput, BadPlan, option
from scorecube.kernels.parsing import judge_run
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
    Order.SCORE: judge_run.BY_SCORE_DESCENDING,
    Order.SCORE_DOCNO_DESC: judge_run.BY_SCORE_DESCENDING,
    Order.SCORE_DOCNO_ASC: judge_run.BY_SCORE_ASCENDING,
    Order.SCORE_STABLE: judge_run.BY_SCORE_STABLE,
    Order.RANK: judge_run.BY_RANK,
    Order.FILE: judge_run.BY_FILE,
}


class Duplicates(StrEnum):
    """What to do with a document that stands twice in a topic of a run."""

    ERROR = "error"
    """Refuse the file: trec_eval."""
    FIRST = "first"
    """The first line of the file counts."""
    NTCIREVAL = "ntcireval"
    """Both count, so that AP can exceed 1: NTCIREVAL."""


_REPEATS = {Duplicates.ERROR: judge_run.REFUSE, Duplicates.FIRST: judge_run.FIRST, Duplicates.NTCIREVAL: judge_run.KEEP}


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
    name
        Of the run.
    path
        File it was read from.
    levels
        int8 (judged topic, rank), -1 for unjudged and behind the end.
    lengths
        int32 (judged topic,): documents returned.
    documents
        int32 (judged topic, rank): number of the judged document within the topic, -1 in the same sense.
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
    workspace: Workspace | None = None,
) -> JudgedRun:
    """Put a run's documents in order and look up their levels and numbers.

    Parameters
    ----------
    run
        Lines of a run file.
    qrels
        Judgements.
    order, precision, depth, duplicates
        As of `scorecube.read_rankings`.
    workspace
        Memory to be used again.

    Returns
    -------
    judged
        The run's levels and documents, by judged topic and rank.

    Raises
    ------
    BadInput
        A document twice in a topic, naming the line.
    """
    chosen, space, n_lines = Order(order), workspace or Workspace(), len(run.topic_of)
    single = chosen is not Order.RANK and Precision(precision) is Precision.SINGLE
    judged_topic = np.array([qrels.number_of.get(topic, -1) for topic in run.topics], np.int64)
    keys = -run.ranks if chosen is Order.RANK else run.scores
    levels, documents, lengths, repeated, first = judge_run.judge_run(
        judge_run.RunColumns(run.text, run.documents, run.topic_of, keys),
        judged_topic,
        judge_run.JudgedDocuments(qrels.text, qrels.documents, qrels.levels, *qrels.tables, qrels.document_of),
        judge_run.RankingRules(single, _CODES[chosen], _REPEATS[Duplicates(duplicates)], depth or NO_LIMIT),
        space.array("grouped", n_lines, "int64"),
        space.array("document_hashes", n_lines, "uint64"),
    )
    if repeated >= 0:
        topic = run.topics[run.topic_of[repeated]]
        raise BadInput(
            f"document {run.document(repeated)!r} stands twice in topic {topic}, first in line {run.numbers[first]}; "
            "remove one of the lines", run.path, int(run.numbers[repeated]),
        )  # fmt: skip
    if qrels.classes is not None:
        judge_run.keep_first_of_class(levels, documents, qrels.classes)
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
        Dataset with `level_at_rank` and `document_at_rank` (run, topic, rank), `level_of_document` (topic, document),
        `n_retrieved` (run, topic), `n_judged` (topic, level) and the coordinate `team` (run); with judgements by intent also
        `schema.INTENTS`. Runs and topics are sorted; documents are numbered within their topic, ids sorted as bytes.

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
                f"run name {run.name!r} is already taken by {taken}; name runs by file ({option('run_name', 'file')})",
                run.path,
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
        (_stacked([run.documents for run in ordered]), qrels.level_of_document()),
    )  # fmt: skip
    return dataset if qrels.intents is None else with_intents(dataset, qrels.intents)


def _stacked(rows: Sequence[np.ndarray[Any, np.dtype[Item]]]) -> np.ndarray[Any, np.dtype[Item]]:
    """Put arrays (topic, rank) of different depths together (run, topic, rank)."""
    longest = max(row.shape[1] for row in rows)
    result = np.full((len(rows), len(rows[0]), longest), names.UNJUDGED, rows[0].dtype)
    for k, row in enumerate(rows):
        result[k, :, : row.shape[1]] = row
    return result


def with_intents(rankings: xr.Dataset, intents: Intents) -> xr.Dataset:
    """Add the variables of `schema.INTENTS` to rankings.

    Parameters
    ----------
    rankings
        Dataset over run, topic and rank, with documents.
    intents
        Levels of documents for the intents of their topics.

    Returns
    -------
    rankings
        A copy with the variables of `schema.INTENTS`.
    """
    arrays = (intents.levels, intents.labels, intents.probability)
    found = {variable.name: (variable.dims, array) for variable, array in zip(schema.INTENTS, arrays, strict=True)}
    numbers = np.arange(1, intents.levels.shape[2] + 1)
    return schema.annotate(rankings.assign(found).assign_coords({names.INTENT: numbers}), schema.INTENTS)


def with_rankings(cube: xr.Dataset, rankings: xr.Dataset) -> xr.Dataset:
    """Put the rankings that scores were made from beside them, as the analysis of teams that are left out needs it.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`; perhaps part of all runs and topics.
    rankings
        Dataset as from `read_rankings`, with all runs and topics of the cube.

    Returns
    -------
    cube
        The same scores, with the variables of the rankings for the cube's runs and topics.

    Raises
    ------
    BadPlan
        Rankings that lack a run or topic, or that do not tell which documents stand at ranks.

    Examples
    --------
    >>> from scorecube.collection.evaluation import evaluate
    >>> from scorecube.testing import simulate_rankings
    >>> rankings = simulate_rankings(n_runs=4)
    >>> sorted(with_rankings(evaluate(rankings, ["AP"]), rankings).data_vars)[:3]
    ['document_at_rank', 'level_at_rank', 'level_of_document']
    """
    check_documents(rankings)
    for dim in (names.RUN, names.TOPIC):
        missing = sorted(set(schema.labels_of(cube, dim)) - set(schema.labels_of(rankings, dim)))
        if missing:
            raise BadPlan(f"the rankings lack the {dim}s {', '.join(missing[:5])} of the scores")
    known = rankings.sel({dim: cube[dim].values for dim in (names.RUN, names.TOPIC)})
    variables = (*schema.RANKINGS, *schema.DOCUMENTS)
    teams = cube.assign_coords({names.TEAM: (names.RUN, known[names.TEAM].values)})
    return schema.annotate(teams.assign({each.name: known[each.name] for each in variables}), variables)


def check_documents(rankings: xr.Dataset) -> None:
    """Refuse what does not tell which documents stand at ranks.

    Parameters
    ----------
    rankings
        Dataset as from `read_rankings`, or a cube with rankings.

    Raises
    ------
    BadPlan
        Rankings without the variables of `schema.DOCUMENTS`.
    """
    if names.LEVEL_OF_DOCUMENT not in rankings:
        raise BadPlan(
            "it is not known which documents stand at ranks: the runs were evaluated by an earlier version, or there are only scores; "
            f"evaluate the runs again with {option('replace', True)}, or join scores and rankings with with_rankings(cube, rankings)"
        )
    schema.check(rankings, schema.DOCUMENTS, "rankings")


def rankings_dataset(
    level_at_rank: np.ndarray[Any, np.dtype[np.int8]],
    n_retrieved: np.ndarray[Any, np.dtype[np.int32]],
    n_judged: IntArray,
    runs: Sequence[str],
    topics: Sequence[str],
    teams: Sequence[str],
    attrs: Mapping[str, Any],
    documents: tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, np.dtype[np.int8]]] | None = None,
) -> xr.Dataset:
    """Label the arrays of `schema.RANKINGS` and, if documents are known, `schema.DOCUMENTS`; runs and topics must be sorted.

    Parameters
    ----------
    level_at_rank
        int8 (run, topic, rank).
    n_retrieved
        int32 (run, topic).
    n_judged
        (topic, level).
    runs, topics, teams
        Labels; one team for each run.
    attrs
        Attributes of the dataset.
    documents
        `document_at_rank` and `level_of_document`, if known.

    Returns
    -------
    rankings
        Dataset over run, topic and rank.
    """
    variables = schema.RANKINGS if documents is None else (*schema.RANKINGS, *schema.DOCUMENTS)
    arrays = (level_at_rank, n_retrieved, n_judged, *(documents or ()))
    dataset = xr.Dataset(
        {each.name: (each.dims, array) for each, array in zip(variables, arrays, strict=True)},
        coords={
            names.RUN: schema.label_array(runs),
            names.TOPIC: schema.label_array(topics),
            names.TEAM: (names.RUN, schema.label_array(teams)),
            names.RANK: np.arange(1, level_at_rank.shape[2] + 1),
            names.LEVEL: np.arange(n_judged.shape[1]),
        },
        attrs=dict(attrs),
    )
    schema.check(dataset, variables, "rankings")
    return schema.annotate(dataset, variables)

"""Rankings: relevance levels of the documents of runs in rank order, with teams.

The order decides ties and therefore scores; `Order` lists the choices and the programs that use them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.doubts import doubts_of, doubts_of_lines, with_doubts
from scorecube.collection.judgements import IntArray, Qrels, RunLines
from scorecube.collection.teams import discard, listed, teams_of
from scorecube.errors import BadInput, BadPlan, BadStudy, counted, natural_key, option
from scorecube.kernels.parsing import judge_run
from scorecube.kernels.workspace import Workspace

Item = TypeVar("Item", bound=np.generic)
TOPIC_WORDS = ("q", "t", "topic", "query", "qid", "mb", "ct")
"""Letters that some tools write before the number of a topic."""
LARGEST_RUN = 2**28
"""Cells (topic, rank) of one run in memory, of 5 bytes each."""
NO_LIMIT = 2**31 - 1
"""Depth of rankings that are not cut off."""


class Order(StrEnum):
    """Order of the documents of a topic."""

    SCORE = "score"
    """Score descending, then document id descending as bytes: trec_eval."""
    SCORE_DOCNO_ASC = "score-docno-asc"
    """Score descending, then document id ascending."""
    SCORE_STABLE = "score-stable"
    """Score descending, then order of the file."""
    FILE = "file"
    """Order of the file: NTCIREVAL."""
    RANK = "rank"
    """Rank column ascending, then order of the file."""


_ORDER_CODES = {
    Order.SCORE: judge_run.BY_SCORE_DESCENDING,
    Order.SCORE_DOCNO_ASC: judge_run.BY_SCORE_ASCENDING,
    Order.SCORE_STABLE: judge_run.BY_SCORE_STABLE,
    Order.RANK: judge_run.BY_RANK,
    Order.FILE: judge_run.BY_FILE,
}


class Duplicates(StrEnum):
    """Treatment of a document that is listed twice in a topic of a run."""

    ERROR = "error"
    """Refuse the file: trec_eval."""
    FIRST = "first"
    """Use the first line of the file."""
    NTCIREVAL = "ntcireval"
    """Use both lines, so that AP can exceed 1: NTCIREVAL."""


_DUPLICATE_CODES = {
    Duplicates.ERROR: judge_run.REFUSE,
    Duplicates.FIRST: judge_run.FIRST,
    Duplicates.NTCIREVAL: judge_run.KEEP,
}


class Precision(StrEnum):
    """Precision of scores in comparisons; single precision makes more ties."""

    SINGLE = "single"
    """32 bits: trec_eval up to version 9, and official results computed with it."""
    DOUBLE = "double"
    """64 bits: trec_eval 10."""


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The relevance levels of one run in rank order.

    Parameters
    ----------
    name
        Name of the run.
    path
        Path of the run file.
    levels
        int8 (judged topic, rank): relevance levels, -1 for unjudged and after the end of the list.
    lengths
        int32 (judged topic,): number of documents returned.
    documents
        int32 (judged topic, rank): number of the document within the topic, -1 for unjudged and after the end
        of the list.
    """

    name: str
    path: str
    levels: np.ndarray[Any, np.dtype[np.int8]]
    lengths: np.ndarray[Any, np.dtype[np.int32]]
    documents: np.ndarray[Any, np.dtype[np.int32]]
    unjudged: tuple[str, ...] = ()
    """Topics of the run that are not judged."""
    doubts: tuple[str, ...] = ()
    """Kinds of doubts about its scores, see `scorecube.collection.doubts`."""


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
    """Sort the documents of a run and look up their relevance levels and numbers.

    Parameters
    ----------
    run
        Lines of a run file.
    qrels
        Judgements.
    order, precision, depth, duplicates
        See `scorecube.read_rankings`.
    workspace
        Arrays to be reused.

    Returns
    -------
    judged
        Levels and documents of the run, by judged topic and rank.

    Raises
    ------
    BadInput
        A document is listed twice in a topic.
    """
    rule = Order(order)
    single = rule is not Order.RANK and Precision(precision) is Precision.SINGLE
    judged_topic = np.array([qrels.number_of.get(topic, -1) for topic in run.topics], np.int64)
    counts = np.bincount(run.topic_of, minlength=len(run.topics))
    _refuse_large(run, counts[judged_topic >= 0], qrels, depth or NO_LIMIT)
    keys = -run.ranks if rule is Order.RANK else run.scores
    levels, documents, lengths, repeated, first = judge_run.judge_run(
        judge_run.RunColumns(run.text, run.documents, run.topic_of, keys),
        counts,
        judged_topic,
        judge_run.JudgedDocuments(
            qrels.text, qrels.documents, qrels.levels, *qrels.tables, qrels.document_of
        ),
        judge_run.RankingRules(
            single,
            _ORDER_CODES[rule],
            _DUPLICATE_CODES[Duplicates(duplicates)],
            min(depth or NO_LIMIT, NO_LIMIT),
        ),
        workspace or Workspace(),
    )
    if repeated >= 0:
        topic = run.topics[run.topic_of[repeated]]
        raise BadInput(
            f"document {run.document(int(repeated))!r} stands twice in topic {topic}, first in line {run.numbers[first]}; "
            "remove one of the lines",
            run.path,
            int(run.numbers[repeated]),
        )
    if qrels.classes is not None:
        judge_run.keep_first_of_class(levels, documents, qrels.classes)
    unjudged = tuple(topic for topic in run.topics if topic not in qrels.number_of)
    by_score = rule not in (Order.RANK, Order.FILE)
    doubts = doubts_of_lines(run, single=single) if by_score else ()
    return JudgedRun(run.name, run.path, levels, lengths, documents, unjudged, doubts)


def _refuse_large(run: RunLines, counts: IntArray, qrels: Qrels, depth: int) -> None:
    """Refuse a run whose table of all judged topics and all ranks of its longest topic does not fit."""
    deepest = min(int(counts.max(initial=0)), depth)
    if deepest * len(qrels.topics) > LARGEST_RUN:
        raise BadInput(
            f"a topic with {deepest:,} documents beside {len(qrels.topics):,} judged topics: the table of both has more than "
            f"{LARGEST_RUN:,} cells; limit the ranks with {option('depth', LARGEST_RUN // len(qrels.topics))} or less",
            run.path,
            option="depth",
        )


def build_rankings(
    runs: Iterable[JudgedRun],
    qrels: Qrels,
    teams: Mapping[str, str] | None = None,
    *,
    attrs: Mapping[str, Any] | None = None,
    teams_path: str | None = None,
    notify: Callable[[str], None] = discard,
) -> xr.Dataset:
    """Combine judged runs into a dataset of rankings.

    Parameters
    ----------
    runs
        Runs with different names.
    qrels
        Judgements. The judged topics are the topics of the rankings; other topics of runs are ignored.
    teams
        Run name -> team. A run without a team is a team of its own.
    attrs
        Attributes of the dataset, e.g. the options of reading.
    teams_path
        The file that the teams come from, for messages.
    notify
        Called with a line of text about topics that only the runs or only the judgements have, runs without a judged document, and teams.

    Returns
    -------
    rankings
        Dataset with `level_at_rank` and `document_at_rank` (run, topic, rank), `level_of_document` (topic,
        document), `n_retrieved` (run, topic), `n_judged` (topic, level), `document_key` (topic, document) and the coordinate `team` (run). Runs and topics are sorted; documents are numbered within
        their topic, in the order of ids as bytes.

    Raises
    ------
    BadInput
        Two runs have the same name, no topic or no document of any run is judged, or the teams spell a run in another way.
    """
    by_name: dict[str, JudgedRun] = {}
    for run in runs:
        if run.name in by_name:
            raise BadInput(
                f"run name {run.name!r} is already taken by {by_name[run.name].path}; name runs by file "
                f"({option('run_name', 'file')})",
                run.path,
                option="run_name",
            )
        by_name[run.name] = run
    ordered = [by_name[name] for name in sorted(by_name)]
    _compare_topics(ordered, qrels, notify)
    _find_judged_documents(ordered, qrels, notify)
    keys = qrels.document_keys()
    dataset = rankings_dataset(
        _stacked([run.levels for run in ordered]),
        np.stack([run.lengths for run in ordered]),
        qrels.n_judged(),
        [run.name for run in ordered],
        qrels.topics,
        teams_of([run.name for run in ordered], teams, path=teams_path, notify=notify),
        attrs or {},
        (_stacked([run.documents for run in ordered]), qrels.level_of_document()),
    )
    dataset = schema.annotate(
        dataset.assign({names.DOCUMENT_KEY: (schema.KEYS[0].dims, keys)}), schema.KEYS
    )
    dataset = with_doubts(
        dataset, *(f"{kind} {run.name}" for run in ordered for kind in run.doubts)
    )
    for doubt in doubts_of(dataset):
        notify(doubt)
    return dataset


def _compare_topics(runs: Sequence[JudgedRun], qrels: Qrels, notify: Callable[[str], None]) -> None:
    """Name topics that only the judgements or only the runs have; refuse judgements of none of the runs' topics."""
    found = np.zeros(len(qrels.topics), bool)
    for run in runs:
        found |= run.lengths > 0
    unranked = [topic for topic, there in zip(qrels.topics, found, strict=True) if not there]
    unranked.sort(key=natural_key)
    unjudged = sorted({topic for run in runs for topic in run.unjudged}, key=natural_key)
    alike = alike_topics(unranked, unjudged)
    if not found.any():
        raise BadInput(
            f"judges none of the topics of the {counted(len(runs), 'run')}; it has topics such as "
            f"{', '.join(qrels.topics[:3])}, and the runs have {', '.join(unjudged[:3])}{alike}",
            qrels.path,
        )
    if unranked:
        notify(f"{counted(len(unranked), 'judged topic')} in no run: {listed(unranked)}")
    if unjudged:
        notify(
            f"{counted(len(unjudged), 'topic')} of the runs not judged, left out: {listed(unjudged)}{alike}"
        )


FEWEST = 100
"""Documents of all runs from which on it is no chance that none is judged."""


def _find_judged_documents(
    runs: Sequence[JudgedRun], qrels: Qrels, notify: Callable[[str], None]
) -> None:
    """Name runs none of whose documents is judged, which score 0; refuse judgements without a document of any run."""
    without = [run for run in runs if not ((run.levels >= 0).any() or (run.documents >= 0).any())]
    if len(without) == len(runs) and sum(int(run.lengths.sum()) for run in runs) >= FEWEST:
        raise BadInput(
            f"judges none of the documents of the {counted(len(runs), 'run')}, though some of their topics: runs and judgements are of different "
            "collections, or spell documents in different ways",
            qrels.path,
        )
    if without:
        notify(
            f"{counted(len(without), 'run')} without a judged document, which scores 0 on all topics: {listed([run.name for run in without])}; perhaps of "
            "another collection, or with other spellings of documents"
        )


def alike_topics(judged: Sequence[str], ranked: Sequence[str]) -> str:
    """Return a hint, as the end of a message, if topics are the same but for zeros, letters before numbers or case.

    Parameters
    ----------
    judged, ranked
        Topics that only the judgements have, and that only the runs have.

    Returns
    -------
    text
        About the first such topic; empty if there is none.

    Examples
    --------
    >>> alike_topics(["1", "2"], ["01", "02"])
    "; topic '1' of the judgements may be '01' of the runs: write topics in one way"
    >>> alike_topics(["1"], ["x"])
    ''
    """
    by_core: dict[str, str] = {}
    for topic in ranked:
        by_core.setdefault(_core(topic), topic)
    for topic in judged:
        if _core(topic) in by_core:
            other = by_core[_core(topic)]
            return f"; topic {topic!r} of the judgements may be {other!r} of the runs: write topics in one way"
    return ""


def _core(topic: str) -> str:
    """Return a topic without letter case, the zeros before its number, and what is not a letter or digit before it."""
    prefix, digits = re.fullmatch(r"(.*?)(\d*)", topic.casefold(), re.DOTALL).groups()  # type: ignore[union-attr]
    kept = "".join(letter for letter in prefix if letter.isalnum())
    return f"{'' if digits and kept in TOPIC_WORDS else kept}\0{digits.lstrip('0') or digits[-1:]}"


def _stacked(rows: Sequence[np.ndarray[Any, np.dtype[Item]]]) -> np.ndarray[Any, np.dtype[Item]]:
    """Stack arrays (topic, rank) of different depths as (run, topic, rank)."""
    depth = max(row.shape[1] for row in rows)
    result = np.full((len(rows), len(rows[0]), depth), names.UNJUDGED, rows[0].dtype)
    for k, row in enumerate(rows):
        result[k, :, : row.shape[1]] = row
    return result


def refuse_other_rankings(stored: xr.Dataset, new: xr.Dataset, what: str) -> None:
    """Refuse rankings that differ in judgements, options of reading or lists of runs from those of a collection.

    Parameters
    ----------
    stored, new
        Rankings of the collection, and others, perhaps of further runs.
    what
        Names the collection in messages.

    Raises
    ------
    BadStudy
        With what differs.
    """
    of_judgements = [
        name for name, array in stored.variables.items() if names.RUN not in array.dims
    ]
    differing = [
        str(name)
        for name in of_judgements
        if name != names.RANK and (name not in new or not stored[name].equals(new[name]))
    ]
    if differing or set(stored.variables) != set(new.variables):
        raise BadStudy(
            f"{what} was evaluated with other judgements or levels (they differ in {', '.join(differing) or 'their kind'}); give the same "
            f"judgements, all runs with {option('replace', True)}, or another {option('name')}"
        )
    settings = [
        key
        for key, value in stored.attrs.items()
        if key != names.DOUBTS and new.attrs.get(key) != value  # doubts are of the runs
    ]
    if settings:
        raise BadStudy(
            f"{what} was read with other options: {', '.join(f'{key}={stored.attrs[key]}, now {new.attrs.get(key)}' for key in settings)}; use the "
            f"same, give all runs with {option('replace', True)}, or another {option('name')}"
        )
    for run in set(schema.labels_of(stored, names.RUN)) & set(schema.labels_of(new, names.RUN)):
        one, other = (
            each[schema.LEVEL_AT_RANK].sel({names.RUN: run}).values for each in (stored, new)
        )
        depth = min(one.shape[-1], other.shape[-1])
        behind = (each[:, depth:] for each in (one, other))  # in collections of deeper runs
        if (one[:, :depth] != other[:, :depth]).any() or any(
            (rest != names.UNJUDGED).any() for rest in behind
        ):
            raise BadStudy(
                f"{what} has another run {run!r} than its file; use {option('replace', True)} to start over"
            )


def with_rankings(cube: xr.Dataset, rankings: xr.Dataset) -> xr.Dataset:
    """Add rankings to their scores, as required by the analysis `Teams`.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`, of all or some runs and topics.
    rankings
        Dataset as from `read_rankings`, with all runs and topics of the cube.

    Returns
    -------
    cube
        The same scores, with the variables of the rankings for the cube's runs and topics.

    Raises
    ------
    BadPlan
        The rankings lack a run or topic, or have no documents at ranks.

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
            raise BadPlan(f"the rankings lack {dim}s of the scores: {', '.join(missing[:5])}")
    selected = rankings.sel({dim: cube[dim].values for dim in (names.RUN, names.TOPIC)})
    keys = schema.KEYS if names.DOCUMENT_KEY in rankings else ()
    variables = (*schema.RANKINGS, *schema.DOCUMENTS, *keys)
    with_teams = cube.assign_coords({names.TEAM: (names.RUN, selected[names.TEAM].values)})
    return schema.annotate(
        with_teams.assign({item.name: selected[item.name] for item in variables}), variables
    )


def check_documents(rankings: xr.Dataset) -> None:
    """Refuse rankings without documents at ranks.

    Parameters
    ----------
    rankings
        Dataset as from `read_rankings`, or a cube with rankings.

    Raises
    ------
    BadPlan
        The variables of `schema.DOCUMENTS` are missing.
    """
    if names.LEVEL_OF_DOCUMENT not in rankings:
        raise BadPlan(
            "the documents at ranks are not known, as there are only scores; "
            f"evaluate the runs again with {option('replace', True)}, or use with_rankings(cube, rankings)"
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
    documents: tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, np.dtype[np.int8]]]
    | None = None,
) -> xr.Dataset:
    """Return a dataset of the arrays of `schema.RANKINGS` and `schema.DOCUMENTS`.

    Parameters
    ----------
    level_at_rank
        int8 (run, topic, rank): relevance levels.
    n_retrieved
        int32 (run, topic): number of documents returned.
    n_judged
        int64 (topic, level): number of documents judged at a level.
    runs, topics, teams
        Labels; runs and topics sorted, one team for each run.
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
        {item.name: (item.dims, array) for item, array in zip(variables, arrays, strict=True)},
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

"""Rankings: relevance levels of the documents of runs in rank order, with teams.

The order decides ties and therefore scores; `Order` lists the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.judgements import IntArray, Qrels, RunLines, first_repeated
from scorecube.collection.teams import listed, teams_of
from scorecube.errors import (
    BadInput,
    BadPlan,
    Note,
    counted,
    either,
    invisible_in,
    natural_key,
    option,
)

LevelArray = np.ndarray[Any, np.dtype[np.int8]]
CountArray = np.ndarray[Any, np.dtype[np.int32]]
FlagArray = np.ndarray[Any, np.dtype[np.bool_]]
LARGEST_RUN = 2**28
"""Cells (topic, rank) of one run in memory, of 5 bytes each."""
NO_LIMIT = 2**31 - 1
"""Depth of rankings that are not cut off."""
FEWEST = 100
"""From this number of documents of all runs on, it is no accident that none is judged."""


class Order(StrEnum):
    """Order of the documents of a topic."""

    SCORE = "score"  # descending, then document id descending as bytes: trec_eval
    SCORE_DOCNO_ASC = "score-docno-asc"  # score descending, then document id ascending
    SCORE_STABLE = "score-stable"  # score descending, then order of the file
    FILE = "file"  # order of the file: NTCIREVAL
    RANK = "rank"  # rank column ascending, then order of the file


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The relevance levels of one run in rank order.

    name, path: Name of the run and path of its file.
    levels: int8 (judged topic, rank), -1 for unjudged and after the end of the list.
    lengths: int32 (judged topic,): number of documents returned.
    documents: int32 (judged topic, rank): number of the document, or -1 as `levels`.
    own: bool (judged topic,): whether the run has the document with the id of the topic there.
    unjudged: Topics of the run that are not judged.
    """

    name: str
    path: str
    levels: LevelArray
    lengths: CountArray
    documents: CountArray
    own: FlagArray
    unjudged: tuple[str, ...] = ()


def judge(
    run: RunLines,
    qrels: Qrels,
    *,
    order: str = Order.SCORE,
    depth: int | None = None,
    ignore_identical: bool = False,
) -> JudgedRun:
    """Sort the documents of a run and look up their relevance levels and numbers.

    Scores are compared as 32-bit floats, as in trec_eval up to version 9.

    run, qrels: Lines of a run file, and judgements.
    order, depth, ignore_identical: As of `scorecube.read_rankings`.
    Raises BadInput: A document is listed twice in a topic.
    """
    rule = Order(order)
    own = np.zeros(len(qrels.topics), bool)
    with np.errstate(over="ignore"):
        keys = -run.ranks if rule is Order.RANK else run.scores.astype(np.float32)
    # The number of each topic among those that are judged; -1 of others.
    rows = np.array([qrels.number_of.get(topic, -1) for topic in run.topics], np.int32)
    lines_of = list(run.lines_of)
    for k, topic in enumerate(run.topics):
        has_id_of_topic = run.documents[lines_of[k]] == topic.encode()
        if rows[k] >= 0 and has_id_of_topic.any():
            own[rows[k]] = True
            if ignore_identical:
                lines_of[k] = lines_of[k][~has_id_of_topic]
    counts = np.fromiter(map(len, lines_of), np.int32, len(rows))
    numbers, lengths = empty_lists(run.path, qrels, rows, counts, depth)
    longest = numbers.shape[1]
    for lines, row in zip(lines_of, rows.tolist(), strict=True):
        if row < 0:
            continue
        ids = run.documents[lines].tolist()
        if len({*ids}) < len(ids):
            _refuse_repeated(run, lines, ids)
        number_of = qrels.document_numbers[row]
        judged_as = np.array([number_of.get(document, -1) for document in ids], np.int32)
        ranked = _ranked(keys[lines], ids, rule)[:longest]
        numbers[row, : len(ranked)] = judged_as[ranked]
    return with_levels(run.name, run.path, run.topics, qrels, numbers, lengths, own)


def empty_lists(
    path: str, qrels: Qrels, rows: CountArray, counts: CountArray, depth: int | None
) -> tuple[CountArray, CountArray]:
    """Return the numbers of documents to be filled, and the lengths of lists.

    rows: int32 (topic,): number of the judged topic of each topic of a run, -1 for others.
    counts: int32 (topic,): documents of each topic of a run.
    Returns numbers, lengths: int32 (judged topic, rank), of -1, and int32 (judged topic,).
    Raises BadInput: The lists would take too much memory.
    """
    is_judged = rows >= 0
    longest = min(depth or NO_LIMIT, int(counts[is_judged].max(initial=0)))
    if longest * len(qrels.topics) > LARGEST_RUN:
        least = option("depth", LARGEST_RUN // len(qrels.topics))
        problem = f"too many documents of a topic; limit the ranks with {least} or less"
        raise BadInput(problem, path, option="depth")
    lengths = np.zeros(len(qrels.topics), np.int32)
    lengths[rows[is_judged]] = np.minimum(counts[is_judged], longest)
    return np.full((len(qrels.topics), longest), -1, np.int32), lengths


def with_levels(
    name: str,
    path: str,
    topics: Sequence[str],
    qrels: Qrels,
    numbers: CountArray,
    lengths: CountArray,
    own: FlagArray,
) -> JudgedRun:
    """Return a run with the levels of its documents, whose numbers are known.

    topics: Those of the run, judged or not.
    own: See `JudgedRun`.
    numbers, lengths: See `empty_lists`.
    """
    # Number -1 is the last column, that of documents that are not judged.
    levels = qrels.level_of_document[np.arange(len(qrels.topics))[:, np.newaxis], numbers]
    if qrels.classes is not None:
        _keep_first_of_class(levels, numbers, qrels.classes)
    unjudged = tuple(topic for topic in topics if topic not in qrels.number_of)
    return JudgedRun(name, path, levels, lengths, numbers, own, unjudged)


def _ranked(keys: NDArray[Any], ids: Sequence[bytes], rule: Order) -> IntArray:
    """Return the places of the documents of a topic in rank order, largest keys first."""
    places = np.arange(len(ids))
    if rule is Order.FILE:
        return places
    by_id = rule in (Order.SCORE, Order.SCORE_DOCNO_ASC)
    if by_id and len(np.unique(keys)) < len(keys):
        places = np.array(sorted(places.tolist(), key=ids.__getitem__, reverse=rule is Order.SCORE))
    return places[np.argsort(-keys[places], kind="stable")]


def _refuse_repeated(run: RunLines, lines: IntArray, ids: Sequence[bytes]) -> None:
    """Refuse a document that stands twice in the lines of a topic."""
    line = lines[first_repeated(ids)]
    text = run.documents[line].decode("utf-8", "replace")
    topic = run.topics[run.topic_of[line]]
    problem = f"document {text!r} stands twice in topic {topic}"
    raise BadInput(problem, run.path, int(run.numbers[line]))


def _keep_first_of_class(
    levels: NDArray[Any], numbers: NDArray[Any], classes: NDArray[Any]
) -> None:
    """Set levels to 0, in place, where a relevant document of the class has an earlier rank."""
    for row, documents, class_of in zip(levels, numbers, classes, strict=True):
        relevant = np.flatnonzero(row > 0)
        class_at = class_of[documents[relevant]]
        with_class = np.flatnonzero(class_at >= 0)
        _, first_of_class = np.unique(class_at, return_index=True)
        later = np.setdiff1d(with_class, first_of_class)
        row[relevant[later]] = 0


def build_rankings(
    runs: Iterable[JudgedRun],
    qrels: Qrels,
    teams: Mapping[str, str] | None,
    *,
    attrs: Mapping[str, Any],
    teams_path: str | None,
    notify: Callable[[str], None],
) -> xr.Dataset:
    """Combine judged runs into a dataset of rankings.

    runs: With different names.
    qrels: Judgements, whose topics are those of the rankings; other topics of runs are ignored.
    teams: Run name -> team; a run without a team is a team of its own.
    attrs: Attributes of the dataset, e.g. the options of reading.
    teams_path: The file that the teams come from, for messages.
    notify: Called with a line of text about topics that only the runs or only the judgements have,
        runs without a judged document, and teams.
    Returns rankings: The variables of `schema.RANKINGS`, `DOCUMENTS` and `KEYS`, and the coordinate
        `team` (run). Runs and topics are sorted; documents are numbered within their topic, in the
        order of ids as bytes.
    Raises BadInput: Two runs have the same name, or no topic or no document of any run is judged.
    """
    by_name: dict[str, JudgedRun] = {}
    for run in runs:
        if run.name in by_name:
            taken = f"run name {run.name!r} is already taken by {by_name[run.name].path}"
            by_file = f"name runs by file ({option('run_name', 'file')})"
            raise BadInput(f"{taken}; {by_file}", run.path, option="run_name")
        by_name[run.name] = run
    labels = sorted(by_name)
    ordered = [by_name[name] for name in labels]
    _compare_labels(ordered, qrels, notify)
    _say_own_documents(ordered, notify, ignored="ignore_identical" in attrs)
    arrays = {
        schema.LEVEL_AT_RANK: _stacked([run.levels for run in ordered]),
        names.N_RETRIEVED: np.stack([run.lengths for run in ordered]),
        names.N_JUDGED: qrels.n_judged(),
        names.DOCUMENT_AT_RANK: _stacked([run.documents for run in ordered]),
        names.LEVEL_OF_DOCUMENT: qrels.level_of_document[:, :-1],
        names.DOCUMENT_KEY: qrels.document_keys(),
    }
    of_runs = teams_of(labels, teams, path=teams_path, notify=notify)
    return rankings_dataset(arrays, labels, qrels.topics, of_runs, attrs)


def rankings_dataset(
    arrays: Mapping[str, Any],
    runs: Sequence[str],
    topics: Sequence[str],
    teams: Sequence[str],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """Return a dataset of rankings.

    arrays: Of `schema.RANKINGS`, and perhaps of `schema.DOCUMENTS` and `KEYS`, by name.
    runs, topics, teams: Labels; runs and topics sorted, one team for each run.
    """
    variables = [
        item for item in (*schema.RANKINGS, *schema.DOCUMENTS, *schema.KEYS) if item.name in arrays
    ]
    dataset = xr.Dataset(
        {item.name: (item.dims, arrays[item.name]) for item in variables},
        {
            names.RUN: schema.label_array(runs),
            names.TOPIC: schema.label_array(topics),
            names.TEAM: (names.RUN, schema.label_array(teams)),
            names.RANK: np.arange(1, arrays[schema.LEVEL_AT_RANK].shape[2] + 1),
            names.LEVEL: np.arange(arrays[names.N_JUDGED].shape[1]),
        },
        dict(attrs),
    )
    schema.check(dataset, variables, "rankings")
    return schema.annotate(dataset, variables)


def _compare_labels(runs: Sequence[JudgedRun], qrels: Qrels, notify: Callable[[str], None]) -> None:
    """Name topics that one side lacks; refuse judgements of nothing that the runs have."""
    is_ranked = np.any([run.lengths > 0 for run in runs], axis=0)
    unranked = [topic for topic, has in zip(qrels.topics, is_ranked, strict=True) if not has]
    unjudged = {*chain.from_iterable(run.unjudged for run in runs)}
    without = [run.name for run in runs if not ((run.levels >= 0) | (run.documents >= 0)).any()]
    n_documents = sum(int(run.lengths.sum()) for run in runs)
    in_common = ""  # what runs and judgements should have in common, and have not
    if not is_ranked.any():
        in_common = "topics"
    if len(without) == len(runs) and n_documents >= FEWEST:
        in_common = "documents"
    if in_common:
        ids = ""
        if in_common == "topics" and unjudged:
            ids = f" (judged is {qrels.topics[0]!r}, ranked {min(unjudged)!r})"
        raise BadInput(
            f"judges none of the {in_common} of the {counted(len(runs), 'run')}{ids}: they are of "
            "different collections, spell ids in different ways, or have columns in another order",
            qrels.path,
        )
    for labels, text in (
        (sorted(unranked, key=natural_key), "judged topic{} in no run"),
        (sorted(unjudged, key=natural_key), "topic{} of the runs not judged, left out"),
        (without, "run{} without a judged document, which score 0 on all topics"),
    ):
        if labels:
            shown = [ascii(label) if invisible_in(label) else label for label in labels]
            notify(f"{len(labels)} {text.format('s' * (len(labels) > 1))}: {listed(shown)}")


def _say_own_documents(
    runs: Sequence[JudgedRun], notify: Callable[[str], None], *, ignored: bool
) -> None:
    """Say on how many topics a run has the document with the id of the topic."""
    own = np.any([run.own for run in runs], axis=0)
    if not own.any():
        return
    where = f"on {own.sum()} of {counted(len(own), 'topic')}"
    if ignored:
        notify(f"documents with the id of their topic left out, {where}")
        return
    leave = f"BEIR leaves it out: {option('ignore_identical', True)}"
    notify(Note(f"{where} a run has the document with the id of the topic; {leave}"))


def _stacked(rows: Sequence[Any]) -> Any:
    """Stack arrays (topic, rank) of different depths as (run, topic, rank)."""
    n_topics = len(rows[0])
    deepest = max(of_run.shape[1] for of_run in rows)
    result = np.full((len(rows), n_topics, deepest), names.UNJUDGED, rows[0].dtype)
    for k, of_run in enumerate(rows):
        result[k, :, : of_run.shape[1]] = of_run
    return result


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
    """Refuse rankings without documents at ranks (BadPlan)."""
    if names.LEVEL_OF_DOCUMENT not in rankings:
        raise BadPlan(
            "the documents at ranks are not known, as there are only scores; "
            + either("use sc.with_rankings(cube, rankings)", "evaluate the runs with --replace")
        )
    schema.check(rankings, schema.DOCUMENTS, "rankings")

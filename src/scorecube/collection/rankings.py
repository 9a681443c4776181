"""Rankings: relevance levels of the documents of runs in rank order, with teams.

The order decides ties and therefore scores; `Order` lists the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.judgements import IntArray, Qrels, RunLines
from scorecube.collection.teams import discard, listed, teams_of
from scorecube.errors import BadInput, BadPlan, BadStudy, counted, natural_key, option

Item = TypeVar("Item", bound=np.generic)
LevelArray = np.ndarray[Any, np.dtype[np.int8]]
CountArray = np.ndarray[Any, np.dtype[np.int32]]
LARGEST_RUN = 2**28
"""Cells (topic, rank) of one run in memory, of 5 bytes each."""
NO_LIMIT = 2**31 - 1
"""Depth of rankings that are not cut off."""
FEWEST = 100
"""Documents of all runs from which on it is no chance that none is judged."""


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


class Duplicates(StrEnum):
    """Treatment of a document that is listed twice in a topic of a run."""

    ERROR = "error"
    """Refuse the file: trec_eval."""
    FIRST = "first"
    """Use the first line of the file."""
    NTCIREVAL = "ntcireval"
    """Use both lines, so that AP can exceed 1: NTCIREVAL."""


class Precision(StrEnum):
    """Precision of scores in comparisons; single precision makes more ties."""

    SINGLE = "single"
    """32 bits: trec_eval up to version 9, and official results computed with it."""
    DOUBLE = "double"
    """64 bits: trec_eval 10."""


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The relevance levels of one run in rank order.

    name, path: Name of the run and path of its file.
    levels: int8 (judged topic, rank), -1 for unjudged and after the end of the list.
    lengths: int32 (judged topic,): number of documents returned.
    documents: int32 (judged topic, rank): number of the document, or -1 as `levels`.
    unjudged: Topics of the run that are not judged.
    """

    name: str
    path: str
    levels: LevelArray
    lengths: CountArray
    documents: CountArray
    unjudged: tuple[str, ...] = ()


def judge(
    run: RunLines,
    qrels: Qrels,
    *,
    order: str = Order.SCORE,
    precision: str = Precision.SINGLE,
    depth: int | None = None,
    duplicates: str = Duplicates.ERROR,
) -> JudgedRun:
    """Sort the documents of a run and look up their relevance levels and numbers.

    run, qrels: Lines of a run file, and judgements.
    order, precision, depth, duplicates: As of `scorecube.read_rankings`.
    Raises BadInput: A document is listed twice in a topic.
    """
    rule, repeats = Order(order), Duplicates(duplicates)
    single = rule is not Order.RANK and Precision(precision) is Precision.SINGLE
    keys = -run.ranks if rule is Order.RANK else run.scores
    if single:
        with np.errstate(over="ignore"):
            keys = keys.astype(np.float32)
    judged = [(k, qrels.number_of[t]) for k, t in enumerate(run.topics) if t in qrels.number_of]
    lines_of = [run.lines_of[k] for k, _ in judged]
    run.documents.hashes  # noqa: B018 - of all lines at once
    limit = depth or NO_LIMIT
    _refuse_large(run, np.array([len(lines) for lines in lines_of], np.int64), qrels, limit)
    longest = min(limit, max((len(lines) for lines in lines_of), default=0))
    numbers = np.full((len(qrels.topics), longest), -1, np.int32)
    lengths = np.zeros(len(qrels.topics), np.int32)
    for lines, (_, row) in zip(lines_of, judged, strict=True):
        texts = run.documents[lines]
        in_order = np.sort(texts.hashes)
        may_repeat = bool((in_order[1:] == in_order[:-1]).any())
        if may_repeat and repeats is not Duplicates.NTCIREVAL:
            kept = _first_lines(run, lines.tolist(), refuse=repeats is Duplicates.ERROR)
            lines, texts = lines[kept], texts[np.array(kept)]
        order_of = _ranked(keys[lines], texts, rule)[:limit]
        lengths[row] = len(order_of)
        numbers[row, : len(order_of)] = qrels.look_up(row, texts)[order_of]
    table = qrels.level_of_document
    # Number -1 is the last column, that of documents that are not judged.
    levels = table[np.arange(len(table))[:, np.newaxis], numbers]
    if qrels.classes is not None:
        _keep_first_of_class(levels, numbers, qrels.classes)
    unjudged = tuple(topic for topic in run.topics if topic not in qrels.number_of)
    return JudgedRun(run.name, run.path, levels, lengths, numbers, unjudged)


def _ranked(keys: Any, ids: Sequence[bytes], rule: Order) -> IntArray:
    """Return the places of the documents of a topic in rank order, largest keys first."""
    if rule is Order.FILE:
        return np.arange(len(ids))
    order = np.argsort(-keys, kind="stable")
    if rule not in (Order.SCORE, Order.SCORE_DOCNO_ASC):
        return order
    ranked = keys[order]
    tied = np.concatenate([[False], ranked[1:] == ranked[:-1], [False]])
    starts, stops = np.flatnonzero(~tied[:-1] & tied[1:]), np.flatnonzero(tied[:-1] & ~tied[1:])
    for start, stop in zip(starts.tolist(), (stops + 1).tolist(), strict=True):
        part = order[start:stop].tolist()
        order[start:stop] = sorted(part, key=ids.__getitem__, reverse=rule is Order.SCORE)
    return order


def _first_lines(run: RunLines, lines: Sequence[int], *, refuse: bool) -> list[int]:
    """Return the places of first lines of documents of a topic, or refuse a second."""
    first: dict[bytes, int] = {}
    for place, line in enumerate(lines):
        document = run.documents[line]
        if refuse and document in first:
            raise BadInput(
                f"document {document.decode('utf-8', 'replace')!r} stands twice in topic "
                f"{run.topics[run.topic_of[line]]}, first in line "
                f"{run.numbers[lines[first[document]]]}; "
                "remove one of the lines",
                run.path,
                int(run.numbers[line]),
            )
        first.setdefault(document, place)
    return list(first.values())


def _keep_first_of_class(levels: Any, numbers: Any, classes: Any) -> None:
    """Set levels to 0, in place, where a relevant document of the class has an earlier rank."""
    for row, found, class_of in zip(levels, numbers, classes, strict=True):
        relevant = np.flatnonzero(row > 0)
        of = class_of[found[relevant]]
        _, first = np.unique(of, return_index=True)
        repeated = np.setdiff1d(np.flatnonzero(of >= 0), first)
        row[relevant[repeated]] = 0


def _refuse_large(run: RunLines, counts: IntArray, qrels: Qrels, depth: int) -> None:
    """Refuse a run whose table of judged topics and ranks does not fit."""
    deepest = min(int(counts.max(initial=0)), depth)
    if deepest * len(qrels.topics) > LARGEST_RUN:
        most = LARGEST_RUN // len(qrels.topics)
        raise BadInput(
            f"a topic with {deepest:,} documents beside {len(qrels.topics):,} judged topics: the "
            f"table of both has more than {LARGEST_RUN:,} cells; limit the ranks with "
            f"{option('depth', most)} or less",
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
    Raises BadInput: Two runs have the same name, no topic or no document of any run is judged, or
        the teams spell a run in another way.
    """
    by_name: dict[str, JudgedRun] = {}
    for run in runs:
        if run.name in by_name:
            raise BadInput(
                f"run name {run.name!r} is already taken by {by_name[run.name].path}; name runs by "
                f"file ({option('run_name', 'file')})",
                run.path,
                option="run_name",
            )
        by_name[run.name] = run
    labels = sorted(by_name)
    ordered = [by_name[name] for name in labels]
    _compare_labels(ordered, qrels, notify)
    dataset = rankings_dataset(
        _stacked([run.levels for run in ordered]),
        np.stack([run.lengths for run in ordered]),
        qrels.n_judged(),
        labels,
        qrels.topics,
        teams_of(labels, teams, path=teams_path, notify=notify),
        attrs or {},
        (_stacked([run.documents for run in ordered]), qrels.level_of_document[:, :-1]),
    )
    keys = {names.DOCUMENT_KEY: (schema.KEYS[0].dims, qrels.document_keys())}
    return schema.annotate(dataset.assign(keys), schema.KEYS)


def _compare_labels(runs: Sequence[JudgedRun], qrels: Qrels, notify: Callable[[str], None]) -> None:
    """Name topics that one side lacks; refuse judgements of nothing that the runs have."""
    ranked = np.any([run.lengths > 0 for run in runs], axis=0)
    unranked = [topic for topic, there in zip(qrels.topics, ranked, strict=True) if not there]
    unjudged = sorted({topic for run in runs for topic in run.unjudged}, key=natural_key)
    without = [run.name for run in runs if not ((run.levels >= 0) | (run.documents >= 0)).any()]
    of_runs = counted(len(runs), "run")
    if not ranked.any():
        raise BadInput(
            f"judges none of the topics of the {of_runs}; it has topics such as "
            f"{', '.join(qrels.topics[:3])}, and the runs have {', '.join(unjudged[:3])}: write "
            "topics in one way",
            qrels.path,
        )
    if len(without) == len(runs) and sum(int(run.lengths.sum()) for run in runs) >= FEWEST:
        raise BadInput(
            f"judges none of the documents of the {of_runs}, though some of their topics: runs and "
            "judgements are of different collections, or spell documents in different ways",
            qrels.path,
        )
    for labels, text in (
        (sorted(unranked, key=natural_key), "judged topic{} in no run"),
        (unjudged, "topic{} of the runs not judged, left out"),
        (without, "run{} without a judged document, which score 0 on all topics"),
    ):
        if labels:
            ending = "" if len(labels) == 1 else "s"
            notify(f"{len(labels)} {text.format(ending)}: {listed(labels)}")


def _stacked(rows: Sequence[np.ndarray[Any, np.dtype[Item]]]) -> np.ndarray[Any, np.dtype[Item]]:
    """Stack arrays (topic, rank) of different depths as (run, topic, rank)."""
    depth = max(row.shape[1] for row in rows)
    result = np.full((len(rows), len(rows[0]), depth), names.UNJUDGED, rows[0].dtype)
    for k, row in enumerate(rows):
        result[k, :, : row.shape[1]] = row
    return result


def refuse_other_rankings(stored: xr.Dataset, new: xr.Dataset, what: str) -> None:
    """Refuse rankings that differ from those of a collection (BadStudy).

    stored, new: Rankings of the collection, and others.
    what: Names the collection in messages.
    """
    differing = [
        str(name)
        for name in {**stored.variables, **new.variables}
        if name not in stored or name not in new or not stored[name].equals(new[name])
    ]
    differing += [
        f"{key} (it was {value})"
        for key, value in stored.attrs.items()
        if new.attrs.get(key) != value
    ]
    if differing:
        raise BadStudy(
            f"{what} was evaluated with other runs, judgements or options (they differ in "
            f"{', '.join(differing)}); use the same, or {option('replace', True)}, or another "
            f"{option('name')}"
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
    """Refuse rankings without documents at ranks (BadPlan)."""
    if names.LEVEL_OF_DOCUMENT not in rankings:
        raise BadPlan(
            "the documents at ranks are not known, as there are only scores; evaluate the runs "
            f"again with {option('replace', True)}, or use with_rankings(cube, rankings)"
        )
    schema.check(rankings, schema.DOCUMENTS, "rankings")


def rankings_dataset(
    level_at_rank: LevelArray,
    n_retrieved: CountArray,
    n_judged: IntArray,
    runs: Sequence[str],
    topics: Sequence[str],
    teams: Sequence[str],
    attrs: Mapping[str, Any],
    documents: tuple[CountArray, LevelArray] | None = None,
) -> xr.Dataset:
    """Return a dataset of the arrays of `schema.RANKINGS` and perhaps `schema.DOCUMENTS`.

    level_at_rank, n_retrieved: (run, topic, rank) and (run, topic).
    n_judged: (topic, level).
    runs, topics, teams: Labels; runs and topics sorted, one team for each run.
    attrs: Attributes of the dataset.
    documents: `document_at_rank` and `level_of_document`.
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

"""Read files into labelled data: rankings, cubes of scores, collections of a study."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Unpack, overload

import xarray as xr

from scorecube import names
from scorecube.collection.arguments import MetricLike, labels, metric_names
from scorecube.collection.evaluation import evaluate
from scorecube.collection.growth import OtherCollection, merge_rankings
from scorecube.collection.metrics_of_tools import read_metric
from scorecube.collection.plausibility import doubts_of
from scorecube.collection.ranges import directed, read_ranges
from scorecube.collection.rankings import Order, build_rankings
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known, select
from scorecube.collection.teams import with_systems, with_topic_groups
from scorecube.declare.options import split_list
from scorecube.errors import BadPlan, Note, marked, option
from scorecube.execute.executor import Executor, Progress, default_workers, map_items
from scorecube.ingest.battles import cube_of_parts, is_of_battles
from scorecube.ingest.columns import chosen_columns
from scorecube.ingest.data_frames import read_run_labels, read_topic_groups
from scorecube.ingest.input_files import PathLike, expand, read_text
from scorecube.ingest.intents import over_intents, read_intents, refuse_alone, with_intents
from scorecube.ingest.objects import ColumnOptions, ScoresLike, read_objects
from scorecube.ingest.options import EVALUATE
from scorecube.ingest.qrels import read_judgements
from scorecube.ingest.runs import judged_run, run_sources
from scorecube.ingest.score_files import read_collections
from scorecube.ingest.scores import build_cubes, only_cube
from scorecube.metrics import Metric
from scorecube.storage import Study, check_collection_name

LOGGER = logging.getLogger("scorecube")
Notify = Callable[[str], None]
FilesLike = PathLike | Sequence[PathLike] | ScoresLike
"""Files, folders or patterns; or scores in memory."""
SCORING = ("metrics", "gains", "replace")
"""Options of `EVALUATE` that are arguments of `evaluate_into`; others are of `read_rankings`."""


def read_rankings(
    runs: object,
    qrels: object,
    teams: PathLike | Mapping[str, str] | None = None,
    *,
    topic_groups: PathLike | Mapping[str, str] | None = None,
    order: str = "score",
    depth: int | None = None,
    ignore_identical: bool = False,
    run_name: str = "tag",
    qrels_format: str = "auto",
    intents: PathLike | None = None,
    intent_probabilities: PathLike | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> xr.Dataset:
    """Read runs and judgements: files, or objects of other tools.

    Parameters
    ----------
    runs
        Run files, directories or globs; plain or gzip; NTCIREVAL's ranked lists (.res). Or in
        memory: ``{run: {topic: {document: score}}}``, records of ir_measures or data frames by run
        (or one frame with a column ``run``), Run objects of ranx.
    qrels
        Judgements: a file, or the folder of NTCIREVAL's .rel files. Or in memory:
        ``{topic: {document: level}}``, records of ir_measures, a data frame, Qrels of ranx.
    teams, topic_groups
        CSV files with the columns run, and team or system (whose repetition a run is) or both; and
        topic and topic_group (topics of one conversation, passage, ... are not independent).
        Or mappings from run to team, and from topic to group.
    order
        ``score`` (as trec_eval), ``score-docno-asc``, ``score-stable``, ``file`` or ``rank``;
        scores are compared as 32-bit floats, as in trec_eval up to 9.
    depth
        Ranks kept per topic, after ordering.
    ignore_identical
        Leaves the document whose id is the topic's out of its ranking, as BEIR does, where queries
        are documents; noted where there is such a document.
    run_name
        ``tag``: the name of a run is its last column; ``file``: the file name.
    qrels_format
        ``trec-classes`` reads the second column of judgements as classes of equivalent answers.
    intents, intent_probabilities
        Files of NTCIREVAL for metrics of topics with several intents: lines of topic, intent,
        document, level; and of topic, intent, probability (equal without). The same file as
        `qrels` gives each document its highest level.
    workers
        Files read concurrently, by default one per core.
    progress, notify
        Called with (files read, files in total); with notes on topics without runs or judgements,
        and on teams, which are logged by default.

    Returns
    -------
    rankings
        Dataset over run, topic and rank; see `scorecube.collection.rankings.build_rankings`.

    Raises
    ------
    BadInput, BadPlan
        Files that cannot be read or parsed, with file and line; an impossible argument.

    Examples
    --------
    >>> runs = {"mine": {"1": {"d1": 0.9, "d2": 0.5}}}
    >>> read_rankings(runs, {"1": {"d1": 2}})["level_at_rank"].values.tolist()
    [[[2, -1]]]
    """
    values = {
        "order": order,
        "depth": depth,
        "run_name": run_name,
        "qrels_format": qrels_format,
        "ignore_identical": ignore_identical,
    }
    for name, value in values.items():
        EVALUATE[name].checked(value)
    say = notify or LOGGER.warning
    refuse_alone(intents, intent_probabilities)
    by_intent = None if intents is None else read_intents(intents)
    if by_intent is not None and str(qrels) == str(intents):
        judged = over_intents(by_intent)
    else:
        judged = read_judgements(qrels, dialect=qrels_format)
    path = None
    systems = None
    if teams is None or isinstance(teams, Mapping):
        team_of = teams
    else:
        path = os.fspath(teams)
        team_of, systems = read_run_labels(path)
    judge_run = partial(
        judged_run,
        qrels=judged,
        run_name=run_name,
        order=order,
        depth=depth,
        ignore_identical=ignore_identical,
    )
    sources = run_sources(runs, judged.topics, with_ranks=order == Order.RANK)
    threads = Executor(workers=workers or default_workers())
    kept = map_items(threads, judge_run, sources, progress=progress)
    attrs = {"order": order, "depth": depth or 0, "qrels_format": qrels_format}
    if ignore_identical:
        attrs["ignore_identical"] = 1
    rankings = build_rankings(kept, judged, team_of, attrs=attrs, teams_path=path, notify=say)
    rankings = with_systems(rankings, systems, path=path, notify=say)
    if by_intent is not None:
        rankings = with_intents(rankings, judged, by_intent, intent_probabilities, say)
    return _grouped(rankings, topic_groups, say)


def _grouped(
    dataset: xr.Dataset, groups: PathLike | Mapping[str, str] | None, notify: Notify
) -> xr.Dataset:
    """Return a dataset with the topic groups of a file or mapping."""
    if groups is None or isinstance(groups, Mapping):
        return with_topic_groups(dataset, groups, notify=notify)
    labels = read_topic_groups(groups)
    return with_topic_groups(dataset, labels, path=os.fspath(groups), notify=notify)


def check_names(collection: str, metrics: Sequence[MetricLike]) -> None:
    """Refuse invalid names of a collection and of metrics before any file is read."""
    check_collection_name(collection)
    for metric in metric_names("metrics", metrics):
        read_metric(metric)


def arguments_of(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `read_rankings` and of `evaluate_into` for options of `EVALUATE`."""
    reading = {name: values.get(name, declared.default) for name, declared in EVALUATE.items()}
    scoring = {name: reading.pop(name) for name in SCORING}
    return reading, scoring


def evaluate_into(
    study: Study,
    name: str,
    rankings: xr.Dataset,
    metrics: Sequence[MetricLike],
    gains: Sequence[str],
    *,
    replace: bool = False,
    whole: bool = False,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> xr.Dataset:
    """Evaluate rankings into a collection, whose runs, metrics and gains are kept.

    Runs that are new get all metrics and gain settings of the collection; metrics that are new are
    computed of its stored rankings, too.

    replace: Whether rankings and scores of runs that are there are replaced.
    whole: Whether the collection has these runs afterwards, and, if replaced, nothing else.
    facts: JSON values to note with the collection.
    progress, notify: Called with (metrics done, all); with lines on what is outdated or replaced.
    Returns cube: That of the collection.
    """
    how: dict[str, Any] = {"facts": facts, "notify": notify, "grow": not whole, "replace": replace}
    if replace and not whole:
        how["replace"] = "cells"  # those of other runs are kept
    starts_anew = name not in study or (replace and whole)
    if starts_anew:
        cube = evaluate(rankings, metrics, gains, progress=progress)
        study.add(name, cube=cube, rankings=rankings, **how)
        return cube
    collection = study[name]
    stored = collection.cube
    evaluated = rankings
    if collection.head.rankings:
        what = f"{study.path}: collection {name!r}"
        try:
            joined = merge_rankings(collection.rankings, rankings, what, replace=replace)
        except OtherCollection:
            if not replace:
                raise
            stored = stored.isel(metric=[], gain=[])  # and all of it is replaced
            joined = rankings
    else:  # imported scores are kept; only scores that were evaluated can be evaluated again
        stored = stored.isel(metric=[], gain=[])
        joined = rankings
    known = labels_of(stored, names.METRIC)
    computed = [metric for metric in known if isinstance(parse_known(metric), Metric)]
    added = [str(read_metric(metric)) for metric in metric_names("metrics", metrics)]
    chosen = list(dict.fromkeys([*computed, *added]))
    settings = list(dict.fromkeys([*labels_of(stored, names.GAIN), *gains]))
    if len(chosen) > len(computed) or len(settings) > stored.sizes[names.GAIN]:
        evaluated = joined  # of all runs, as none may lack a metric
    cube = evaluate(evaluated, chosen, settings, progress=progress)
    study.add(name, cube=cube, rankings=rankings, **how)
    return study[name].cube


class ImportOptions(ColumnOptions, total=False):
    """Options of `import_scores` that do not decide what it returns."""

    metric: MetricLike | None
    teams: PathLike | None
    topic_groups: PathLike | Mapping[str, str] | None
    layout: str
    words: Sequence[str]
    lower_is_better: Sequence[MetricLike]
    ranges: str | Sequence[str] | Mapping[str, tuple[float, float]]
    items: PathLike | None
    no_score: Sequence[str]
    notify: Notify | None


@overload
def import_scores(
    files: FilesLike, *, collections: Literal[True], **options: Unpack[ImportOptions]
) -> dict[str, xr.Dataset]: ...
@overload
def import_scores(
    files: FilesLike, *, collections: Literal[False] = False, **options: Unpack[ImportOptions]
) -> xr.Dataset: ...
def import_scores(
    files: FilesLike,
    *,
    metric: MetricLike | None = None,
    teams: PathLike | None = None,
    topic_groups: PathLike | Mapping[str, str] | None = None,
    layout: str = "auto",
    words: Sequence[str] = (),
    lower_is_better: Sequence[MetricLike] = (),
    ranges: str | Sequence[str] | Mapping[str, tuple[float, float]] = (),
    items: PathLike | None = None,
    no_score: Sequence[str] = (),
    notify: Notify | None = None,
    collections: bool = False,
    **columns: str | None,
) -> xr.Dataset | dict[str, xr.Dataset]:
    """Read per-topic scores that other tools computed into a cube.

    Parameters
    ----------
    files
        Files, directories or globs, plain or gzip; or objects of other tools, see
        `cube_from_scores`.
    metric
        Metric of files that do not name it; of other files, the only one to read.
    teams, topic_groups, notify
        As of `read_rankings`; notes are about what the columns of a table were taken for, too.
    layout
        Format of the files, a name of ``scorecube list layouts``; ``auto`` detects it.
    lower_is_better
        Metrics whose smaller values are better, in the coordinate ``higher_is_better``.
    words
        What runs, topics, collections and repetitions are called, such as ``["model", "item",
        "benchmark", "seed"]``; by default as the headings of a table say.
    ranges
        Least and greatest score that there can be, such as ``{"f1": (0, 100)}`` or
        ``["f1=0,100"]``: limits stay within. Metrics of this package, scores that are all 0 or 1,
        and names that the field bounds, such as accuracy, have theirs.
    items
        File of the ids of all items, one a line, of files that list only those that a run solved.
    no_score
        Cells that are codes for no score, such as ``["-1"]``. A usual code outside of all other
        scores of a metric is refused without it, or a range.
    collections
        Whether the scores may be of several collections: a cube of each is returned by name.
    columns
        Columns of a table, as of `cube_from_scores`; of JSON, ``provider.id`` is the field id of
        the object provider, ``scores.0.value`` one of the first object of a list.

    Returns
    -------
    cube
        ``score[metric, gain, run, topic]``; missing scores are NaN. With `collections` the cubes by
        name, '' where no column names collections.

    Raises
    ------
    BadInput, BadPlan
        Files that cannot be read, with file and line; options that do not fit the files.

    Examples
    --------
    >>> scores = {"AP": {"a": {"401": 0.5, "402": 0.125}, "b": {"401": 0.25, "402": 1.0}}}
    >>> import_scores(scores).score.sel(metric="AP", run="a").values
    array([[0.5  , 0.125]])
    """
    if metric is not None:
        (metric,) = metric_names("metric", [metric])
        if len(split_list(metric)) > 1:
            text = f"{option('metric', metric)} names one metric: import the file once for each"
            raise BadPlan(text, option="metric")
    say = notify or LOGGER.warning
    chosen = chosen_columns(columns)
    inputs: Sequence[Any] = files if isinstance(files, list | tuple) else [files]
    are_paths = all(isinstance(path, str | os.PathLike) for path in inputs)
    if are_paths:
        paths = expand(inputs, "score files")
        lines = [] if items is None else read_text(items).split("\n")
        ids = [line.strip() for line in lines if line.strip()]
        parts = read_collections(paths, layout=layout, metric=metric, chosen=chosen, items=ids)
    else:
        parts = [read_objects(files, metric, chosen)]
    if any(is_of_battles(part.frame) for part in parts):
        of_battles = cube_of_parts(parts, say)
        return {"": of_battles} if collections else of_battles
    team_of = None
    systems = None
    if teams is not None:
        team_of, systems = read_run_labels(teams)
    cubes = build_cubes(
        parts,
        teams=team_of,
        systems=systems,
        path=teams,
        ranges=read_ranges(ranges),
        no_score=labels("no_score", no_score),
        notify=notify,
    )
    lower = metric_names("lower_is_better", lower_is_better)
    if words and len(words) != len(names.USUAL_WORDS):
        expected = f"expected words for {', '.join(names.USUAL_WORDS)}; found {len(words)}"
        raise BadPlan(f"{option('words')}: {expected}", option="words")
    for name, cube in cubes.items():
        if metric is not None and not are_paths:
            cube = select(cube, metrics=[metric])
        cube = cube.assign_attrs({names.WORDS: list(words)} if words else {})
        cubes[name] = _grouped(directed(cube, lower), topic_groups, say)
        for doubt in doubts_of(cubes[name]):
            say(Note(f"{name}: {marked(doubt)}") if len(cubes) > 1 else doubt)
    return cubes if collections else only_cube(cubes)


def refuse_unnamed(collections: Collection[str]) -> None:
    """Refuse names that no collection can have, and no name (BadPlan)."""
    if "" in collections:
        raise BadPlan(f"no column names the collection; expected {option('name')}", option="name")
    for name in collections:
        check_collection_name(name)

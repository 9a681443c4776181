"""Read files into labelled data: rankings, cubes of scores, collections of a study."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import xarray as xr

from scorecube import names
from scorecube.collection.about_metrics import directed, ranged, read_ranges
from scorecube.collection.arguments import labels, metric_names
from scorecube.collection.doubts import doubts_of
from scorecube.collection.evaluation import evaluate as evaluate_rankings
from scorecube.collection.metric_spellings import read_metric
from scorecube.collection.rankings import (
    Duplicates,
    Order,
    Precision,
    build_rankings,
    refuse_other_rankings,
)
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known, select
from scorecube.collection.teams import with_systems
from scorecube.collection.topic_groups import with_topic_groups
from scorecube.errors import BadPlan, BadStudy, check_choice, option
from scorecube.execute.executor import default_workers
from scorecube.execute.items import call_all
from scorecube.ingest.cubes import cubes_of, only_cube
from scorecube.ingest.files import PathLike, expand
from scorecube.ingest.formats import read_collections
from scorecube.ingest.labels import read_run_labels, read_topic_groups
from scorecube.ingest.objects import read_objects
from scorecube.ingest.options import EVALUATE
from scorecube.ingest.qrels import (
    Dialect,
    LevelMap,
    parse_level_map,
    print_level_map,
    read_judgements,
)
from scorecube.ingest.roles import ColumnOptions, chosen_columns
from scorecube.ingest.runs import FileJudge, good_runs, run_sources
from scorecube.ingest.tables import is_frame
from scorecube.metrics import Metric
from scorecube.storage import Study, check_collection_name, open_study

if TYPE_CHECKING:
    from distributed import Client

LOGGER = logging.getLogger("scorecube")
READING = (*("teams", "topic_groups", "order", "precision"), *("depth", "run_name", "duplicates"))
SCORING = ("metrics", "gains", "no_relevant", "missing_topic", "replace")
"""Options of the command evaluate that are arguments of `read_rankings` and of `evaluate_into`."""
Progress = Callable[[int, int], None]


def read_rankings(
    runs: Any,
    qrels: Any,
    teams: PathLike | Mapping[str, str] | None = None,
    *,
    topic_groups: PathLike | Mapping[str, str] | None = None,
    order: str = "score",
    precision: str = "single",
    depth: int | None = None,
    run_name: str = "tag",
    duplicates: str = "error",
    dialect: str = "auto",
    level_map: LevelMap | None = None,
    workers: int | None = None,
    client: Client | None = None,
    progress: Progress | None = None,
    notify: Callable[[str], None] | None = None,
) -> xr.Dataset:
    """Read runs and judgements: files, or objects of other tools.

    Parameters
    ----------
    runs
        Run files, directories or globs; plain or gzip. Or runs in memory:
        ``{run: {topic: {document: score}}}``, records of ir_measures or data frames by run (or one
        frame with a column ``run``), Run objects of ranx. NTCIREVAL's ranked lists (.res) are
        combined by run.
    qrels
        Judgements: a file, or the folder of NTCIREVAL's .rel files. Or in memory:
        ``{topic: {document: level}}``, records of ir_measures, a data frame, Qrels of ranx.
    teams
        CSV file with the columns run, and team or system or both, or a mapping from run to team.
        Runs of one system are its repetitions.
    topic_groups
        CSV file with the columns topic and topic_group, or a mapping from topic to group: topics of
        one conversation, passage, ... are not independent.
    order, precision
        ``score`` (as trec_eval), ``score-docno-asc``, ``score-stable``, ``file`` or ``rank``;
        scores as 32-bit floats (``single``, trec_eval up to 9) or 64-bit ones (``double``).
    depth
        Ranks kept per topic, after ordering.
    run_name
        ``tag``: the name of a run is its last column; ``file``: the file name.
    duplicates
        A document listed twice in a topic of a run: ``error``, ``first`` or ``ntcireval`` (both).
    dialect, level_map
        Format of the judgements, see `scorecube.ingest.qrels.Dialect`; level -> level to use.
    workers, client
        Files read concurrently, by default one per core, or on workers that have the files.
    progress
        Called with (files read, files in total).
    notify
        Called with notes, on topics without runs or judgements, and on teams; by default they are
        logged.

    Returns
    -------
    rankings
        Dataset over run, topic and rank; see `scorecube.collection.rankings.build_rankings`.

    Raises
    ------
    BadInput
        Files that cannot be read or parsed, with file and line.
    BadPlan
        A value that an argument cannot have.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run, qrels = Path(folder, "run"), Path(folder, "qrels")
    ...     _ = run.write_text("1 Q0 d1 1 0.9 mine")
    ...     _ = qrels.write_text("1 0 d1 2")
    ...     rankings = read_rankings(run, qrels)
    >>> rankings["level_at_rank"].sel(run="mine", topic="1").values.tolist()
    [2]
    """
    choices: dict[str, Any] = {"order": Order, "precision": Precision, "duplicates": Duplicates}
    choices |= {"dialect": Dialect, "run_name": ("tag", "file")}
    given = {"order": order, "precision": precision, "duplicates": duplicates}
    given |= {"dialect": dialect, "run_name": run_name}
    for argument, value in given.items():
        check_choice(argument, value, choices[argument])
    if depth is not None and depth < 0:
        raise BadPlan(f"{option('depth', depth)} must be at least 1", option="depth")
    judged = read_judgements(qrels, dialect=dialect, level_map=level_map)
    path: str | None = None
    team_of, systems = None, None
    if isinstance(teams, str | os.PathLike):
        path = os.fspath(teams)
        team_of, systems = read_run_labels(path)
    elif teams is not None:
        team_of = dict(teams)
    judge_file = FileJudge(judged, run_name, order, precision, depth, duplicates)
    sources = run_sources(runs, judged.topics, with_ranks=order == Order.RANK)
    count = workers or default_workers()
    judged_runs = good_runs(call_all(client, judge_file, sources, progress, count))
    attrs = {
        "order": order,
        "score_precision": precision,
        "depth": depth or 0,
        "duplicates": duplicates,
    }
    attrs |= {"level_map": print_level_map(level_map), "qrels_format": dialect}
    say = notify or LOGGER.warning
    rankings = build_rankings(
        judged_runs, judged, team_of, attrs=attrs, teams_path=path, notify=say
    )
    return _grouped(with_systems(rankings, systems, path=path, notify=say), topic_groups, say)


def _grouped(
    dataset: xr.Dataset, groups: PathLike | Mapping[str, str] | None, notify: Callable[[str], None]
) -> xr.Dataset:
    """Return a dataset with the topic groups of a file or mapping."""
    if groups is None or isinstance(groups, Mapping):
        return with_topic_groups(dataset, groups, notify=notify)
    labels = read_topic_groups(groups)
    return with_topic_groups(dataset, labels, path=os.fspath(groups), notify=notify)


def evaluate(
    rankings: Any,
    metrics: Iterable[Any],
    gains: Iterable[str] = (names.AUTO,),
    *,
    qrels: Any = None,
    missing_topic: Literal["zero", "nan"] = "zero",
    no_relevant: Literal["exclude", "zero"] = "exclude",
    progress: Progress | None = None,
) -> xr.Dataset:
    """Compute the scores of runs on topics, with all metrics and gain settings.

    Parameters
    ----------
    rankings
        Dataset (run, topic, rank), as from `read_rankings`; with `qrels`, runs as of it.
    metrics, gains, missing_topic, no_relevant, progress
        As of `scorecube.collection.evaluation.evaluate`. Metrics are names such as ``AP`` and
        ``nDCG@20``, or measures of ir_measures that are equal to one.
    qrels
        Judgements as of `read_rankings`, if `rankings` are runs.

    Returns
    -------
    cube
        Dataset with ``score[metric, gain, run, topic]`` and the coordinates team (run) and
        uses_gains (metric). A metric that uses no gains has equal scores at all gain settings.

    Raises
    ------
    BadName, BadInput, BadPlan
        As of `scorecube.collection.evaluation.evaluate` and `read_rankings`.

    Examples
    --------
    >>> runs = {"a": {"1": {"d1": 2.0, "d2": 1.0}}, "b": {"1": {"d1": 1.0, "d2": 2.0}}}
    >>> evaluate(runs, ["AP"], qrels={"1": {"d1": 1, "d2": 0}}).score.values.ravel().tolist()
    [1.0, 0.5]
    """
    if qrels is not None:
        rankings = read_rankings(rankings, qrels)
    return evaluate_rankings(
        rankings,
        metrics,
        gains,
        missing_topic=missing_topic,
        no_relevant=no_relevant,
        progress=progress,
    )


def check_names(collection: str, metrics: Sequence[Any]) -> None:
    """Refuse invalid names of a collection and of metrics before any file is read."""
    check_collection_name(collection)
    for metric in metric_names("metrics", metrics):
        read_metric(metric)


def condensed(metrics: Sequence[Any]) -> list[str]:
    """Return the names of metrics that are computed on rankings without unjudged documents.

    Examples
    --------
    >>> condensed(["AP", "nDCG(b=2)@10"])
    ['AP(judged_only=True)', 'nDCG(judged_only=True,b=2)@10']
    """
    return [
        str(dataclasses.replace(read_metric(metric), judged_only=True))
        for metric in metric_names("metrics", metrics)
    ]


def arguments_of(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `read_rankings` and of `evaluate_into` for options of `EVALUATE`."""
    options = {name: declared.default for name, declared in EVALUATE.items()} | dict(values)
    levels = options["levels"]
    reading = {name: options[name] for name in READING} | {
        "dialect": options["qrels_format"],
        "level_map": None if levels is None else parse_level_map(levels),
    }
    scoring = {name: options[name] for name in SCORING}
    if options["unjudged"] == "condense":
        scoring["metrics"] = condensed(options["metrics"])
    return reading, scoring


def evaluate_into(
    study: Study,
    name: str,
    rankings: xr.Dataset,
    metrics: Sequence[Any],
    gains: Sequence[str],
    *,
    replace: bool = False,
    facts: Mapping[str, Any] | None = None,
    **options: Any,
) -> xr.Dataset:
    """Evaluate rankings into a collection, whose metrics and gains are kept, and return its cube.

    study: Opened for writing.
    name: Name of the collection.
    rankings: As from `read_rankings`.
    metrics, gains: Metric names and gain settings to evaluate, in addition to those it has.
    replace: Whether the collection is replaced instead of extended.
    facts: JSON values to note with the collection.
    options: Other arguments of `scorecube.evaluate`.
    Returns cube: ``score[metric, gain, run, topic]`` as stored.
    """
    what = f"{study.path}: collection {name!r}"
    if name in study and not replace:
        # Imported scores are kept; only scores that were evaluated can be evaluated again.
        evaluated = study[name].contents()["rankings"]
        stored = study[name].cube if evaluated else study[name].cube.isel(metric=[], gain=[])
        if evaluated:
            refuse_other_rankings(study[name].rankings, rankings, what)
        refuse_other_conditions(stored.attrs, options, what)
        there = labels_of(stored, names.METRIC)
        evaluated_metrics = [label for label in there if isinstance(parse_known(label), Metric)]
        named = [str(read_metric(metric)) for metric in metric_names("metrics", metrics)]
        metrics = list(dict.fromkeys([*evaluated_metrics, *named]))
        gains = list(dict.fromkeys([*labels_of(stored, names.GAIN), *gains]))
        cube = evaluate_rankings(rankings, metrics, gains, **options)
        study.add(name, cube=cube, facts=facts)
    else:
        cube = evaluate_rankings(rankings, metrics, gains, **options)
        study.add(name, cube=cube, rankings=rankings, replace=replace, facts=facts)
    return cube


def refuse_other_conditions(
    stored: Mapping[str, Any], options: Mapping[str, Any], what: str
) -> None:
    """Refuse to add scores to those of other conditions (BadStudy)."""
    for key, default in (("missing_topic", "zero"), ("no_relevant", "exclude")):
        asked = options.get(key, default)
        before = stored.get(key, asked)  # imported scores have none
        if asked != before:
            raise BadStudy(
                f"{what} was evaluated with {option(key, before)}, and this asks for "
                f"{option(key, asked)}; give the same, or use {option('replace', True)} or another "
                f"{option('name')}"
            )


@overload
def import_scores(files: Any, *, study: PathLike | Study, **options: Any) -> Study: ...
@overload
def import_scores(
    files: Any, *, collections: Literal[True], **options: Any
) -> dict[str, xr.Dataset]: ...
@overload
def import_scores(files: Any, **options: Any) -> xr.Dataset: ...
def import_scores(
    files: Any,
    *,
    metric: Any = None,
    gain: str = names.AUTO,
    teams: PathLike | None = None,
    topic_groups: PathLike | Mapping[str, str] | None = None,
    layout: str = "auto",
    transpose: bool = False,
    lower_is_better: Sequence[str] = (),
    ranges: Sequence[str] = (),
    notify: Callable[[str], None] | None = None,
    collections: bool = False,
    study: PathLike | Study | None = None,
    **columns: Any,
) -> xr.Dataset | dict[str, xr.Dataset] | Study:
    r"""Read per-topic scores that other tools computed into a cube.

    Parameters
    ----------
    files
        Files, directories or globs, plain or gzip; or objects of other tools, see
        `cube_from_scores`.
    metric
        Metric of files that do not name it; of other files, the only metric to read.
    gain
        Gain setting of the scores; of files with a gain column, the only gain setting to read.
    teams, topic_groups
        CSV files as of `read_rankings`.
    layout, transpose
        See `scorecube.ingest.formats.read_collections`.
    lower_is_better
        Metrics whose smaller values are better, in the coordinate ``higher_is_better``.
    ranges
        Least and greatest score that there can be, such as ``["f1=0,100"]``: limits of means stay
        within. Metrics of ours, and scores that are all 0 or 1, have theirs.
    notify
        As of `read_rankings`, first about what the columns of a table were taken for.
    collections
        Whether the scores may be of several collections: a cube of each is returned by name.
    study
        Study, or its path or address, that the collections are added to; it is returned.
    columns
        Columns of a table, as of `cube_from_scores`.

    Returns
    -------
    cube
        ``score[metric, gain, run, topic]``; missing scores are NaN. With `collections` the cubes by
        name, '' where no column names collections.

    Raises
    ------
    BadInput
        Files that cannot be read or parsed, with file and line.
    BadPlan
        Options that do not fit the files; with `study`, scores whose collection no column names.
    BadStudy
        As of `open_study`; a collection of this name with other runs, topics or scores.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ap.csv")
    ...     _ = path.write_text("topic,a,b\n401,0.5,0.25\n402,0.125,1\n")
    ...     cube = import_scores([path])
    >>> cube.score.sel(metric="AP", run="a").values
    array([[0.5  , 0.125]])
    """
    if metric is not None:
        (metric,) = metric_names("metric", [metric])
    say, named = notify or LOGGER.warning, cast("ColumnOptions", columns)
    chosen, are_paths = chosen_columns(named), _are_paths(files)
    if are_paths:
        paths = expand(files, "score files")
        reading = read_collections(
            paths, layout=layout, metric=metric, transpose=transpose, chosen=chosen
        )
    else:
        for name, value, default in (("layout", layout, "auto"), ("transpose", transpose, False)):
            if value != default:
                raise BadPlan(f"{option(name, value)} is about files; leave it out", option=name)
        reading = read_objects(files, metric, chosen)
    if study is None and not collections:
        reading.only()
    of_runs = {} if teams is None else read_run_labels(teams)._asdict()
    cubes = cubes_of(reading, gain=gain, **of_runs, notify=notify, path=teams)
    lower = metric_names("lower_is_better", lower_is_better)
    declared = read_ranges(labels("ranges", ranges))
    for name, cube in cubes.items():
        if metric is not None and not is_frame(files) and not are_paths:
            cube = select(cube, metrics=[metric])
        cubes[name] = _grouped(ranged(directed(cube, lower), declared), topic_groups, say)
        for doubt in doubts_of(cubes[name]):
            say(f"{name}: {doubt}" if len(cubes) > 1 else doubt)
    if study is not None:
        refuse_unnamed(cubes)
        opened = study if isinstance(study, Study) else open_study(study, mode="a")
        for name, cube in cubes.items():
            opened.add(name, cube=cube)
        return opened
    return cubes if collections else only_cube(cubes)


def refuse_unnamed(collections: Iterable[str]) -> None:
    """Refuse names that no collection can have, and no name (BadPlan)."""
    for name in collections:
        if not name:
            raise BadPlan(
                f"no column names the collection; name it with {option('name')}, or its column "
                f"with {option('collection_column')}",
                option="name",
            )
        check_collection_name(name)


def _are_paths(files: Any) -> bool:
    """Return whether something is a path or a list of paths, perhaps an empty one."""
    if isinstance(files, str | os.PathLike):
        return True
    return isinstance(files, list | tuple) and all(
        isinstance(path, str | os.PathLike) for path in files
    )

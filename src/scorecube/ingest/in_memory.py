"""Scores in objects of other tools -> matrices: metric -> data frame of runs x topics, NaN for missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, Unpack, overload

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.teams import listed
from scorecube.collection.topic_groups import with_topic_groups
from scorecube.errors import BadInput, BadPlan, kind_of, option
from scorecube.ingest.cubes import LOGGER, Notify, cubes_of, only_cube
from scorecube.ingest.measure_names import (
    IR_COUNTS,
    IR_SHAPE,
    NO_MEASURES,
    from_ir_measures,
    from_trec_eval,
    is_measure,
)
from scorecube.ingest.one_run import matrices_of as matrices_of
from scorecube.ingest.one_run import matrices_of_rows
from scorecube.ingest.reading import Matrices as Matrices
from scorecube.ingest.reading import Reading
from scorecube.ingest.records import Records
from scorecube.ingest.roles import (
    RUN_HEADERS,
    TOPIC_HEADERS,
    ColumnOptions,
    chosen_columns,
    header_word,
)
from scorecube.ingest.tables import is_frame, table_of_frame
from scorecube.ingest.tool_objects import is_measure_object, scores_of_tools

NO_SCORES = "no score matrix"
SCORE_NAME = "score"
"""Metric of an array without a name."""
FORMS = (
    "a data frame of runs x topics for each metric, {metric: {run: {topic: value}}}, {run: {topic: {measure: value}}} "
    "(pytrec_eval), {run: {metric: {topic: value}}} (ranx), or {run: records with query_id, measure and value} (ir_measures)"
)


def to_matrices(scores: Any) -> Matrices:
    """Convert per-topic scores of any known form into matrices; the form is detected.

    Parameters
    ----------
    scores
        Metric -> data frame (unchanged); metric -> run -> topic -> value, as in ranx and plain programs;
        run -> topic -> measure -> value, as from pytrec_eval; run -> metric -> topic -> value, as ``Run.scores`` of
        ranx; run -> records with query_id, measure and value (or such triples), as from ``iter_calc`` of ir_measures;
        Run objects of ranx that have been evaluated, in a list or by name; or one data frame with a row for each score, or for those of a run on a topic, columns as of a long table or of PyTerrier's ``Experiment(perquery=True)``. Rows of a matrix may have two labels: system, and run or seed.
        Measures of other tools get the names of this package where they mean the same; counts are left out.

    Returns
    -------
    matrices
        Metric -> data frame with runs as index and topics as columns.

    Raises
    ------
    BadInput
        No scores, another form, a mixture of forms, or dictionaries without metrics on exactly one level.

    Examples
    --------
    >>> to_matrices({"a": {"401": {"map": 0.5, "num_ret": 100.0}}, "b": {"401": {"map": 0.25, "num_ret": 90.0}}})["AP"]
        401
    a  0.50
    b  0.25
    """
    scores = scores_of_tools(scores)
    if is_frame(scores):
        (scores,) = Records().read([table_of_frame(scores)]).only().values()
    if not isinstance(scores, Mapping):
        raise BadInput(f"scores are a {type(scores).__name__}; expected {FORMS}", option="scores")
    if not scores:
        raise BadInput(NO_SCORES, option="scores")
    values = list(scores.values())
    if all(isinstance(value, pd.DataFrame) for value in values):
        return {_label(metric): _runs_down(frame, metric) for metric, frame in scores.items()}
    if all(isinstance(value, Mapping) for value in values):
        return _by_level(scores)
    if not any(isinstance(value, str | bytes | Mapping | pd.DataFrame) for value in values) and all(
        isinstance(value, Iterable) for value in values
    ):
        records = [
            (str(run), *_record(record, run)) for run, items in scores.items() for record in items
        ]
        measures = [record for record in records if not IR_COUNTS.fullmatch(record[2])]
        return _collected(measures or records, from_ir_measures)
    kinds = ", ".join(sorted({type(value).__name__ for value in values}))
    raise BadInput(f"scores hold {kinds}; expected {FORMS}{_advice(scores)}", option="scores")


def _label(metric: Any) -> str:
    """Return the name of a metric that is a text, a metric here, or a measure of ir_measures."""
    return from_ir_measures(str(metric)) if is_measure_object(metric) else str(metric)


def with_axes(matrices: Matrices) -> Matrices:
    """Return matrices of runs x topics whose axes have names, so that their labels are not doubted."""
    return {
        metric: frame.rename_axis(columns=names.TOPIC)
        if frame.index.nlevels > 1
        else frame.rename_axis(index=names.RUN, columns=names.TOPIC)
        for metric, frame in matrices.items()
    }


def _runs_down(frame: pd.DataFrame, metric: object) -> pd.DataFrame:
    """Return a data frame with runs as index: names of its axes decide, else labels that look exchanged are refused."""
    if frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        return frame
    words = (header_word(str(axis.name)) for axis in (frame.index, frame.columns))
    down, across = (
        names.RUN if word in RUN_HEADERS else names.TOPIC if word in TOPIC_HEADERS else ""
        for word in words
    )
    if down == across != "":
        raise BadInput(
            f"both axes of the matrix of {metric} are called {down}; expected runs as index and topics as columns"
        )
    if down == names.TOPIC or across == names.RUN:
        return frame.T
    exchanged = _look_like_topics(frame.index) and not _look_like_topics(frame.columns)
    if exchanged and not down and not across:
        raise BadInput(
            f"the matrix of {metric} seems to have topics as index and runs as columns: the index is "
            f"{listed([str(label) for label in frame.index])} and the columns are "
            f"{listed([str(label) for label in frame.columns])}; transpose it (.T), or, if this is right, name its axes "
            "with .rename_axis(index='run', columns='topic')"
        )
    return frame


def _look_like_topics(labels: pd.Index[Any]) -> bool:
    """Return whether all labels are integers, as most ids of topics are and names of runs are not."""
    return len(labels) > 0 and all(str(label).isdecimal() for label in labels)


def _by_level(scores: Mapping[Any, Any]) -> Matrices:
    """Return the matrices of nested dictionaries with metrics on any level, and runs above topics."""
    paths: list[tuple[str, str, str, Any]] = []
    for first, middle in scores.items():
        for second, values in middle.items():
            if not isinstance(values, Mapping):
                problem = f"scores[{first!r}][{second!r}] is a {type(values).__name__}"
                raise BadInput(f"{problem}; expected {FORMS}{_advice(middle)}")
            above = _label(first), _label(second)
            paths += [(*above, _label(third), value) for third, value in values.items()]
    if not paths:
        raise BadInput(NO_SCORES, option="scores")
    levels = [sorted({path[k] for path in paths}) for k in range(3)]
    holding = [k for k in range(3) if any(map(is_measure, levels[k]))]
    if len(holding) != 1:
        found = " > ".join(", ".join(level[:3]) for level in levels)
        raise BadInput(
            f"metrics must be on one level of the dictionaries: known measures are on {len(holding)} of 3 levels, {found}; "
            "use a data frame of runs x topics for each metric"
        )
    metric = holding[0]
    run, topic = [k for k in range(3) if k != metric]
    return _collected(
        (
            (path[run], path[topic], path[metric], path[3])
            for path in paths
            if metric == 0 or not NO_MEASURES.fullmatch(path[metric])
        ),
        from_trec_eval,
    )


def _collected(
    records: Iterable[tuple[str, str, str, Any]], label: Callable[[str], str]
) -> Matrices:
    """Return the matrices of records: run, topic, measure, value."""
    label_of = cache(label)
    rows = [(run, topic, label_of(measure), value) for run, topic, measure, value in records]
    if not rows:
        raise BadInput(NO_SCORES, option="scores")
    return matrices_of_rows(rows)


def _advice(values: Mapping[Any, Any]) -> str:
    """Return the end of a message about measures without topics; '' if no key is a measure."""
    if not any(is_measure(str(name)) or IR_SHAPE.fullmatch(str(name)) for name in values):
        return ""
    if any(isinstance(value, np.ndarray) for value in values.values()):
        return "; an array has no topics: use Run.scores of ranx instead"
    return "; these look like means over all topics (as of calc_aggregate of ir_measures): use iter_calc instead"


def _record(record: Any, run: object) -> Iterator[Any]:
    """Yield topic, measure and value of a record."""
    if all(hasattr(record, name) for name in ("query_id", "measure", "value")):
        topic, measure, value = record.query_id, record.measure, record.value
    elif isinstance(record, tuple | list) and len(record) == 3:
        topic, measure, value = record
    else:
        raise BadInput(
            f"run {run!r} holds {record!r}, which is not a record of query_id, measure and value"
        )
    yield from (str(topic), str(measure), value)


class CubeOptions(ColumnOptions, total=False):
    """Options of `cube_from_scores` beside that which decides what is returned."""

    runs: Iterable[Any] | None
    topics: Iterable[Any] | None
    gain: str
    teams: Mapping[str, str] | None
    systems: Mapping[str, str] | None
    topic_groups: Mapping[str, str] | None
    notify: Notify | None


@overload
def cube_from_scores(
    scores: Any, *, collections: Literal[True], **options: Unpack[CubeOptions]
) -> dict[str, xr.Dataset]: ...
@overload
def cube_from_scores(
    scores: Any, *, collections: Literal[False] = ..., **options: Unpack[CubeOptions]
) -> xr.Dataset: ...
def cube_from_scores(
    scores: Any,
    *,
    runs: Iterable[Any] | None = None,
    topics: Iterable[Any] | None = None,
    gain: str = names.AUTO,
    teams: Mapping[str, str] | None = None,
    systems: Mapping[str, str] | None = None,
    topic_groups: Mapping[str, str] | None = None,
    notify: Notify | None = None,
    collections: bool = False,
    **columns: Unpack[ColumnOptions],
) -> xr.Dataset | dict[str, xr.Dataset]:
    """Return a cube of per-topic scores.

    Parameters
    ----------
    scores
        Metric name -> data frame with runs as index and topics as columns (or exchanged, with axes named ``topic`` and
        ``run``), missing cells NaN; or an object of pytrec_eval, ir_measures or ranx, or nested dictionaries, see
        `scorecube.ingest.in_memory.to_matrices`; or one data frame (of pandas, polars or pyarrow) with a row for each score, or for the scores of a
        run on a topic, see `scorecube.ingest.long.read_collections`; or an array of runs x topics for each metric, or for one, with `runs` and
        `topics`. Scores are at most 1e12, and the largest of a metric is 0 or at least 1e-12.
    runs, topics
        Labels of the rows and columns of arrays.
    gain
        Label of the gain axis, whose length is 1; of a frame with a column of gains, the only gain setting to take.
    teams
        Run -> team.
    systems
        Run -> system whose repetition it is, such as a model trained with several seeds; in data frames, rows may have the labels system and seed
        instead, and the runs are called ``system#seed``.
    topic_groups
        Topic -> group, such as a conversation: topics of one group are no independent draws.
    notify
        Called with a line of text about runs without a team and teams of other runs, and about the columns of a frame; a warning is logged by default.
    collections
        Whether a frame may hold several collections, such as benchmarks: a cube of each is returned by name.
    columns
        Columns of a frame, where its header leaves them open: ``run_column``, ``topic_column``, ``collection_column``, ``seed_column``, ``score_column``, ``topic_group_column``.

    Returns
    -------
    cube
        Dataset with `score` (metric, gain, run, topic), runs and topics in sorted order; with `collections` the cubes by name, '' where no column
        names collections.

    Raises
    ------
    BadInput
        Scores in another form, matrices that differ in runs or topics or have them exchanged, repeated labels, values that
        are no numbers or out of range, teams that spell a run in another way; of a frame, as of a long table.
    BadPlan
        Columns of scores that are no frame.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame([[0.1, 0.4], [0.3, 0.2]], index=["b", "a"], columns=["1", "2"])
    >>> cube_from_scores({"AP": frame}).score.sel(metric="AP", run="a").values
    array([[0.3, 0.2]])
    """
    scores = _labelled(scores, runs, topics)
    reading = read_objects(scores, chosen=chosen_columns(columns))
    cubes = cubes_of(reading, gain=gain, teams=teams, systems=systems, notify=notify)
    for name, cube in cubes.items():
        cubes[name] = with_topic_groups(cube, topic_groups, notify=notify or LOGGER.warning)
    return cubes if collections else only_cube(cubes)


def _labelled(scores: Any, runs: Iterable[Any] | None, topics: Iterable[Any] | None) -> Any:
    """Return arrays, or lists of rows, of runs x topics as a data frame for each metric, and other scores as they are.

    Raises BadInput: An array without labels, or with another shape; labels of scores that have their own.
    """
    by_metric = scores if isinstance(scores, Mapping) else {SCORE_NAME: scores}
    rows = [each for each in by_metric.values() if isinstance(each, np.ndarray | list)]
    if not rows or (runs is None and isinstance(rows[0], list)):
        if runs is not None or topics is not None:
            raise BadInput(
                f"{option('runs')} and {option('topics')} are labels of arrays; found {kind_of(scores)}"
            )
        return scores
    if runs is None or topics is None:
        missing = option("runs" if runs is None else "topics")
        raise BadInput(
            f"scores are arrays, which have no labels; add {missing}=[...]: names of the rows are runs, of the columns topics"
        )
    index, columns = list(map(str, runs)), list(map(str, topics))
    frames = {}
    for metric, values in by_metric.items():
        shape = np.shape(values)
        if shape != (len(index), len(columns)):
            raise BadInput(
                f"the array of {metric} has the shape {shape}; expected runs x topics, ({len(index)}, {len(columns)})"
            )
        frames[metric] = pd.DataFrame(values, index, columns)
    return with_axes(frames)


def read_objects(
    scores: Any, metric: str | None = None, chosen: Mapping[str, str] | None = None
) -> Reading:
    """Read the scores of a data frame with rows for scores, or of objects of other tools.

    Parameters
    ----------
    scores
        As of `cube_from_scores`.
    metric, chosen
        Of a frame, as of `scorecube.ingest.long.read_collections`.

    Returns
    -------
    reading
        Matrices by collection.

    Raises
    ------
    BadInput
        As of `cube_from_scores`.
    BadPlan
        Columns of scores that are no frame.
    """
    if is_frame(scores):
        return Records(metric, chosen).read([table_of_frame(scores)])
    for role, column in (chosen or {}).items():
        raise BadPlan(
            f"{option(f'{role}_column', column)} is about data frames with rows for scores, and scores are {kind_of(scores)}",
            option=f"{role}_column",
        )
    return Reading({"": {"": to_matrices(scores)}})

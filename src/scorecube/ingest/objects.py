"""Scores as other tools hold them in memory, in a tidy frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Unpack, overload

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.teams import listed, with_topic_groups
from scorecube.errors import BadInput, BadPlan, kind_of, option
from scorecube.ingest.cubes import LOGGER, Notify, cubes_of, only_cube
from scorecube.ingest.entries import RANX, package_of
from scorecube.ingest.files import PathLike
from scorecube.ingest.long import read_long
from scorecube.ingest.measure_names import (
    IR_COUNTS,
    NO_MEASURES,
    from_ir_measures,
    from_trec_eval,
    is_measure,
)
from scorecube.ingest.roles import ROLES, RUNS, ColumnOptions, chosen_columns, header_word
from scorecube.ingest.scores import (
    SCORE,
    Reading,
    Scores,
    collect,
    refuse_other_matrices,
    scores_of,
    scores_of_rows,
)
from scorecube.ingest.tables import is_frame, table_of_frame

NO_SCORES = "no score matrix"
FORMS = (
    "a data frame of runs x topics for each metric, {metric: {run: {topic: value}}}, "
    "{run: {topic: {measure: value}}} (pytrec_eval), {run: {metric: {topic: value}}} (ranx), "
    "{run: records with query_id, measure and value} (ir_measures), a data frame with a row "
    "for each score, or a DataArray or Dataset with the dims run and topic"
)


def read_objects(
    scores: Any, metric: str | None = None, chosen: Mapping[str, str] | None = None
) -> Reading:
    """Read scores in memory.

    scores: As of `cube_from_scores`; the form is detected.
    metric: Of a frame with rows for scores, the only metric to read.
    chosen: Role -> column of such a frame.
    Raises BadInput: No scores, another form, a mixture of forms, or dictionaries without metrics on
        exactly one level.
    Raises BadPlan: Columns of scores that are no frame.
    """
    if isinstance(scores, xr.DataArray | xr.Dataset):
        scores = _frame_of_arrays(scores)
    if is_frame(scores):
        return collect([read_long(table_of_frame(scores), metric, chosen)], metric=metric)
    if chosen:
        role, column = next(iter(chosen.items()))
        raise BadPlan(
            f"{option(f'{role}_column', column)} is about data frames with rows for scores, and "
            f"scores are {kind_of(scores)}",
            option=f"{role}_column",
        )
    scores = _of_ranx(scores)
    if not isinstance(scores, Mapping):
        raise BadInput(f"scores are {kind_of(scores)}; expected {FORMS}", option="scores")
    values = list(scores.values())
    if not values:
        raise BadInput(NO_SCORES, option="scores")
    if all(isinstance(value, pd.DataFrame) for value in values):
        parts = [_scores_of_matrix(_label(name), frame) for name, frame in scores.items()]
        refuse_other_matrices(parts)
        return collect(parts)
    if all(isinstance(value, Mapping) for value in values):
        return collect([scores_of_nested(scores)])
    if all(map(_are_records, values)):
        return collect([_scores_of_records(scores)])
    kinds = ", ".join(sorted({type(value).__name__ for value in values}))
    raise BadInput(f"scores hold {kinds}; expected {FORMS}; means have no topics", option="scores")


def _are_records(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(
        value, str | bytes | Mapping | pd.DataFrame
    )


def _frame_of_arrays(scores: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    """Return a frame with a row for each score of arrays with named dims.

    The variables of a Dataset are metrics, unless it has one called score.
    """
    if isinstance(scores, xr.DataArray):
        scores = scores.to_dataset(name=SCORE)
    if lacking := sorted({names.RUN, names.TOPIC} - set(scores.dims)):
        raise BadInput(
            f"the scores have no dim {listed(lacking)}; found {', '.join(map(str, scores.dims))}",
            option="scores",
        )
    variables = [SCORE] if SCORE in scores else list(scores.data_vars)
    frame = scores[variables].reset_coords(drop=True).to_dataframe().reset_index()
    if names.GAIN in frame:  # the one gain setting of all scores needs no name
        frame[names.GAIN] = frame[names.GAIN].where(frame[names.GAIN] != names.AUTO, "")
    return frame


def _scores_of_matrix(metric: str, frame: pd.DataFrame) -> Scores:
    """Return the scores of a frame of runs x topics, or exchanged if its axes say so."""
    words = (header_word(str(axis.name)) for axis in (frame.index, frame.columns))
    down, across = (
        names.RUN if word in RUNS else names.TOPIC if word in ROLES["topic"] else ""
        for word in words
    )
    if frame.index.nlevels > 1 or frame.columns.nlevels > 1 or down == across != "":
        raise BadInput(
            f"the axes of the matrix of {metric} are {down or 'not'} and {across or 'not'} named, "
            "or have several labels; expected runs as index and topics as columns"
        )
    matrix = frame.T if down == names.TOPIC or across == names.RUN else frame
    if not all(matrix.shape):
        raise BadInput(f"the matrix of {metric} has no {'topic' if len(matrix) else 'run'}")
    topics = pd.Index(map(str, matrix.columns))
    if not topics.is_unique:
        repeated = sorted(set(topics[topics.duplicated()]))
        raise BadInput(f"matrix of {metric}: repeated topic: {listed(repeated)}")
    cells = dict(zip(topics, matrix.to_numpy().T, strict=True))
    return scores_of({"run": list(matrix.index), "metric": metric}, cells, across="topic")


def _label(metric: Any) -> str:
    """Return the name of a metric that is a text, a metric here, or a measure of ir_measures."""
    is_measure_object = package_of(metric) == "ir_measures" and not isinstance(metric, Iterable)
    return from_ir_measures(str(metric)) if is_measure_object else str(metric)


def scores_of_nested(
    scores: Mapping[Any, Any], metric: str | None = None, path: PathLike | None = None
) -> Scores:
    """Return the scores of nested dictionaries: metrics on any of three levels, runs above topics.

    metric: The only one, by its name here or in the tool.
    path: The file that they are from.
    Raises BadInput: Another form; names of metrics on no level, or on several; no score of the
        metric.
    """
    rows: list[tuple[Any, ...]] = []
    for first, middle in scores.items():
        for second, values in middle.items():
            if not isinstance(values, Mapping):
                problem = f"scores[{first!r}][{second!r}] is {kind_of(values)}"
                raise BadInput(f"{problem}; expected {FORMS}; means have no topics")
            above = _label(first), _label(second)
            rows += [(*above, _label(third), value) for third, value in values.items()]
    if not rows:
        raise BadInput(NO_SCORES, option="scores")
    levels = [sorted({row[k] for row in rows}) for k in range(3)]
    holding = [k for k in range(3) if any(map(is_measure, levels[k]))]
    if len(holding) != 1:
        shown = " > ".join(", ".join(level[:3]) for level in levels)
        raise BadInput(
            "metrics must be on one level of the dictionaries: known measures are on "
            f"{len(holding)} of 3 levels, {shown}; use a data frame of runs x topics for each "
            "metric"
        )
    (of,) = holding
    roles = ["run", "topic"]
    roles.insert(of, "metric")
    columns = dict(zip((*roles, SCORE), zip(*rows, strict=True), strict=True))
    counts = NO_MEASURES if of else None
    return scores_of_rows(columns, metric, from_trec_eval, path, counts=counts)


def _scores_of_records(runs: Mapping[Any, Iterable[Any]]) -> Scores:
    """Return the scores of records of query_id, measure and value by run."""
    rows: list[tuple[Any, ...]] = []
    for run, records in runs.items():
        for record in records:
            if not isinstance(record, tuple | list) or len(record) != 3:
                what = "is not a record of query_id, measure and value"
                raise BadInput(f"run {run!r} holds {record!r}, which {what}")
            rows.append((run, record[0], str(record[1]), record[2]))
    if not rows:
        raise BadInput(NO_SCORES, option="scores")
    columns = dict(zip(("run", "topic", "metric", SCORE), zip(*rows, strict=True), strict=True))
    return scores_of_rows(columns, None, from_ir_measures, counts=IR_COUNTS)


def _of_ranx(scores: Any) -> Any:
    """Return evaluated runs of ranx as dictionaries, and anything else as it is."""
    runs = [scores] if package_of(scores) == RANX else scores
    if isinstance(runs, list | tuple) and all(package_of(run) == RANX for run in runs):
        runs = {getattr(run, "name", None): run for run in runs}
    if not isinstance(runs, Mapping) or all(package_of(run) != RANX for run in runs.values()):
        return scores
    if not all(name and getattr(run, "scores", None) for name, run in runs.items()):
        raise BadInput(
            "a Run of ranx has no name, or no scores of topics; call ranx.evaluate(qrels, run, "
            "metrics) first and pass the Run objects, or evaluate runs here: "
            "sc.read_rankings(runs, qrels)",
            option="scores",
        )
    return {
        name: {str(metric): dict(values) for metric, values in run.scores.items()}
        for name, run in runs.items()
    }


@overload
def cube_from_scores(
    scores: Any, *, collections: Literal[True], **options: Any
) -> dict[str, xr.Dataset]: ...


@overload
def cube_from_scores(scores: Any, **options: Any) -> xr.Dataset: ...


def cube_from_scores(  # type: ignore[misc]  # options of both are those below
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
) -> Any:
    """Return a cube of per-topic scores.

    Parameters
    ----------
    scores
        Metric name -> data frame with runs as index and topics as columns (or exchanged, with axes
        named ``topic`` and ``run``), missing cells NaN. Metric -> run -> topic -> value; run ->
        topic -> measure -> value, as from pytrec_eval; run -> metric -> topic -> value, or
        evaluated Run objects, as of ranx; run -> records with query_id, measure and value, as from
        ``iter_calc`` of ir_measures. One data frame (of pandas, polars or pyarrow) with a row for
        each score, or for those of a run on a topic, see `scorecube.ingest.long.read_long`. A
        DataArray or a Dataset with the dims run, topic and perhaps metric. An array of runs x
        topics for each metric, or for one, with `runs` and `topics`. Measures of other tools get
        the names of this package where they mean the same; counts are left out.
    runs, topics
        Labels of the rows and columns of arrays.
    gain
        Label of the gain axis, whose length is 1; of a frame with a column of gains, the only gain
        setting to take.
    teams
        Run -> team.
    systems
        Run -> system whose repetition it is, such as a model trained with several seeds; in
        tables with a column of seeds, runs are called ``system#seed``.
    topic_groups
        Topic -> group, such as a conversation: topics of one group are no independent draws.
    notify
        Called with a line of text about runs without a team and teams of other runs, and about the
        columns of a frame; a warning is logged by default.
    collections
        Whether a frame may hold several collections, such as benchmarks: a cube of each is returned
        by name.
    columns
        Columns of a frame, where its header leaves them open: ``run_column``, ``topic_column``,
        ``collection_column``, ``seed_column``, ``score_column``, ``topic_group_column``.

    Returns
    -------
    cube
        Dataset with `score` (metric, gain, run, topic), runs and topics in sorted order; with
        `collections` the cubes by name, '' where no column names collections.

    Raises
    ------
    BadInput
        Scores in another form, matrices that differ in runs or topics or have them exchanged,
        repeated labels, values that are no numbers or out of range, teams that spell a run in
        another way; of a frame, as of a long table.
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
    """Return arrays of runs x topics as a data frame for each metric, other scores as they are."""
    by_metric = scores if isinstance(scores, Mapping) else {SCORE: scores}
    arrays = [part for part in by_metric.values() if isinstance(part, np.ndarray | list)]
    if not arrays or (runs is None and isinstance(arrays[0], list)):
        if runs is not None or topics is not None:
            raise BadInput(
                f"{option('runs')} and {option('topics')} are labels of arrays; found "
                f"{kind_of(scores)}"
            )
        return scores
    if runs is None or topics is None:
        missing = option("runs" if runs is None else "topics")
        raise BadInput(
            f"scores are arrays, which have no labels; add {missing}=[...]: names of the rows "
            "are runs, of the columns topics"
        )
    axes = list(map(str, runs)), list(map(str, topics))
    frames = {}
    for metric, values in by_metric.items():
        try:
            frame = pd.DataFrame(values, *axes)
        except ValueError as error:
            problem = f"the array of {metric} is not of runs x topics: {error}"
            raise BadInput(problem, option="scores") from None
        frames[metric] = frame.rename_axis(index=names.RUN, columns=names.TOPIC)
    return frames

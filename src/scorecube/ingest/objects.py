"""Scores as other tools hold them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection import names_of_tools as measures
from scorecube.collection.arguments import CubeLike
from scorecube.collection.ranges import ranges_of, read_ranges
from scorecube.collection.teams import with_topic_groups
from scorecube.errors import BadInput, kind_of
from scorecube.ingest.columns import FILE, chosen_columns, no_table
from scorecube.ingest.data_frames import table_of_frame
from scorecube.ingest.delimited import KEYS, CellTable
from scorecube.ingest.formats import File
from scorecube.ingest.headings import ROLES, RUNS, are_ids, header_word
from scorecube.ingest.input_files import PathLike, name_in
from scorecube.ingest.json_rows import means_or_topics
from scorecube.ingest.score_tables import read_tables
from scorecube.ingest.scores import (
    DIMS,
    LOGGER,
    SCORE,
    Notify,
    ScorePart,
    build_cubes,
    only_cube,
    only_measures,
)

ScoresLike = pd.DataFrame | CubeLike | Mapping[Any, Any] | Sequence[Any] | npt.NDArray[Any]
"""Scores as tools hold them in memory, see `cube_from_scores`."""
LEVELS = ("level 0", "level 1", "level 2")
"""Columns of nested scores: of labels, called as no run and no topic is."""
FORMS = "one that the documentation of scorecube.cube_from_scores names"


def read_objects(
    scores: Any, metric: str | None = None, chosen: Mapping[str, str] | None = None
) -> ScorePart:
    """Read scores in a form of `cube_from_scores`.

    metric: Of a frame with rows for scores, the only metric to read.
    chosen: Role -> column of such a frame.
    """
    if isinstance(scores, xr.DataArray | xr.Dataset):
        array: Any = scores
        if isinstance(scores, xr.Dataset):  # the variable score, or all as metrics
            array = scores[SCORE] if SCORE in scores else scores.to_dataarray(names.METRIC)
        scores = array.reset_coords(drop=True).to_dataframe(SCORE).reset_index()
        if {names.RUN, names.TOPIC} <= {*array.dims} <= {*DIMS}:
            return ScorePart(
                scores if names.METRIC in scores else scores.assign(metric=SCORE), None
            )
    if isinstance(scores, pd.DataFrame):
        (part,) = read_tables([CellTable(table_of_frame(scores))], metric=metric, chosen=chosen)
        return part
    if chosen:
        raise no_table(chosen, kind_of(scores))
    values = list(scores.values()) if isinstance(scores, Mapping) else []
    if values and all(isinstance(value, pd.DataFrame) for value in values):
        return _of_frames(scores, metric)
    if values and all(hasattr(value, "scores") for value in values):  # of ranx
        return scores_of_nested({run: value.scores for run, value in scores.items()})
    if values and all(isinstance(value, Mapping) for value in values):
        return scores_of_nested(scores)
    if values and all(
        isinstance(value, Iterable) and not isinstance(value, str | np.ndarray) for value in values
    ):
        return _of_records(scores)
    raise BadInput(f"scores are {kind_of(scores)}; expected {FORMS}", option="scores")


def _by_role(rows: pd.DataFrame, metrics: str) -> pd.DataFrame:
    """Return scores with labels on three levels, runs above topics, and metrics on one, by role."""
    run, topic = (level for level in LEVELS if level != metrics)
    return rows.rename(columns={metrics: "metric", run: "run", topic: "topic"})


def _label(label: object) -> str:
    """Return the text of a label, the name here of a measure of ir_measures."""
    is_other = type(label).__module__.startswith("ir_measures")
    return measures.from_ir_measures(str(label)) if is_other else str(label)


def _of_frames(frames: Mapping[Any, pd.DataFrame], metric: str | None) -> ScorePart:
    """Return the scores of frames: of a metric each, or of a run with measures on a side."""
    if all(map(_has_topics_and_metrics, frames.values())):
        named = [frame.assign(run=str(run)) for run, frame in frames.items()]
        table = CellTable(table_of_frame(pd.concat(named, ignore_index=True)))
        (part,) = read_tables([table], metric=metric)
        return part
    upright = {_label(name): _upright(frame) for name, frame in frames.items()}
    rows = pd.concat(
        [
            pd.DataFrame(
                {
                    LEVELS[1]: np.tile(frame.index, frame.shape[1]),
                    LEVELS[2]: np.repeat(frame.columns, frame.shape[0]),
                    SCORE: frame.to_numpy().ravel("F"),  # melt takes a step of pandas a column
                    LEVELS[0]: name,
                }
            )
            for name, frame in upright.items()
        ]
    )
    rows.index.name = KEYS
    for level, side in ((LEVELS[2], "columns"), (LEVELS[1], "index")):
        if all(_is_by_metric(getattr(frame, side)) for frame in upright.values()):
            found = _by_role(rows, level)
            return only_measures(found, metric, measures.from_pyterrier, None, measures.NO_MEASURES)
    return ScorePart(_by_role(rows, LEVELS[0]), None)


def _has_topics_and_metrics(frame: pd.DataFrame) -> bool:
    """Return whether a frame has a column of topics and one of metrics, as of ir_measures."""
    words = {header_word(str(name)) for name in frame.columns}
    return bool(words & ROLES["topic"] and words & ROLES["metric"]) and not words & RUNS


def _is_by_metric(labels: pd.Index[Any]) -> bool:
    """Return whether labels are known measures, which are neither runs nor topics by name."""
    is_other = header_word(str(labels.name)) in RUNS | ROLES["topic"]
    return len(labels) > 0 and not is_other and all(map(measures.is_measure, labels))


def _upright(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with labels of text, and runs down where the names of its axes say topics."""
    down, across = (header_word(str(axis.name)) for axis in (frame.index, frame.columns))
    turned = frame.T if down in ROLES["topic"] or across in RUNS else frame
    return turned.rename(index=_label, columns=_label)


def scores_of_nested(
    scores: Mapping[Any, Any], metric: str | None = None, path: PathLike | None = None
) -> ScorePart:
    """Return scores of nested dictionaries: metrics on any of three levels, runs above topics."""
    columns: dict[str, list[Any]] = {name: [] for name in (*LEVELS, SCORE)}
    for first, middle in scores.items():
        for second, values in middle.items():
            if not isinstance(values, Mapping):
                problem = f"scores[{first!r}][{second!r}] is {kind_of(values)}"
                way = "of one run {'NAME': scores}; means have no topics"
                raise BadInput(f"{problem}; expected {FORMS}; {way}", path)
            for level, label in zip(LEVELS, (first, second), strict=False):
                columns[level] += [label] * len(values)
            columns[LEVELS[2]] += values
            columns[SCORE] += values.values()
    rows = pd.DataFrame(columns, dtype=object)
    rows.index.name = KEYS
    holding = []
    for level in LEVELS:
        named = {label: _label(label) for label in rows[level].unique()}
        rows[level] = rows[level].map(named)
        holding += [level] * any(map(measures.is_measure, named.values()))
    if len(holding) != 1:
        raise BadInput(
            "metrics must be on one level of the dictionaries: known measures are on "
            f"{len(holding)} of 3 levels; use a data frame of runs x topics for each metric",
            path,
        )
    counts = None if holding[0] == LEVELS[0] else measures.NO_MEASURES
    found = _by_role(rows, holding[0])
    return only_measures(found, metric, measures.from_trec_eval, path, counts)


def scores_of_file(file: File) -> ScorePart:
    """Return the scores of a run, which a file of dictionaries is named after, or of runs by name.

    Raises BadInput: Dictionaries of measures that may be means of systems, unless the run is
    chosen.
    """
    if file.asked.chosen not in ({}, {"run": FILE}):
        raise no_table(file.asked.chosen, "dictionaries of scores")
    parts = list(file.nested.values())
    if any(isinstance(value, dict) for part in parts for value in part.values()):
        return scores_of_nested(file.nested, file.asked.metric, file.path)
    inner = list(dict.fromkeys(name for part in parts for name in part))
    by_metric = [any(map(measures.is_measure, names)) for names in (file.nested, inner)]
    if not any(by_metric):
        text = "names on two levels, of which none is a known measure"
        way = "a run (topic, document, score) is scored by evaluate"
        raise BadInput(f"{text}; {way}", file.path)
    others = inner if by_metric[0] else list(file.nested)
    if not are_ids(others) and file.asked.chosen.get("run") != FILE:
        raise means_or_topics(others, file.path)
    runs = {name_in(file.path, r"\.[^.]*$"): file.nested}
    return scores_of_nested(runs, file.asked.metric, file.path)


def _of_records(runs: Mapping[Any, Iterable[Any]]) -> ScorePart:
    """Return the scores of records of query_id, measure and value by run."""
    rows = [(run, *record) for run, records in runs.items() for record in records]
    if not rows or any(len(row) != 4 for row in rows):
        text = "runs hold records of query_id, measure and value, as of ir_measures.iter_calc"
        raise BadInput(text, option="scores")
    frame = pd.DataFrame(rows, range(1, len(rows) + 1), [*LEVELS, SCORE], dtype=object)
    found = _by_role(frame, LEVELS[2])
    found["metric"] = found["metric"].map(str)
    return only_measures(found, None, measures.from_ir_measures, None, measures.IR_COUNTS)


class ColumnOptions(TypedDict, total=False):
    """Columns of a table of scores, by their names."""

    run_column: str | None
    topic_column: str | None
    collection_column: str | None
    seed_column: str | None
    group_column: str | None
    score_column: str | None


class ScoresOptions(ColumnOptions, total=False):
    """Options of `cube_from_scores` that do not decide what it returns."""

    runs: Iterable[object] | None
    topics: Iterable[object] | None
    teams: Mapping[str, str] | None
    systems: Mapping[str, str] | None
    topic_groups: Mapping[str, str] | None
    ranges: Mapping[str, tuple[float, float]] | None
    notify: Notify | None


@overload
def cube_from_scores(
    scores: ScoresLike, *, collections: Literal[True], **options: Unpack[ScoresOptions]
) -> dict[str, xr.Dataset]: ...
@overload
def cube_from_scores(
    scores: ScoresLike, *, collections: Literal[False] = False, **options: Unpack[ScoresOptions]
) -> xr.Dataset: ...
def cube_from_scores(
    scores: ScoresLike,
    *,
    runs: Iterable[object] | None = None,
    topics: Iterable[object] | None = None,
    teams: Mapping[str, str] | None = None,
    systems: Mapping[str, str] | None = None,
    topic_groups: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    notify: Notify | None = None,
    collections: bool = False,
    **columns: str | None,
) -> xr.Dataset | dict[str, xr.Dataset]:
    """Return a cube of per-topic scores.

    Parameters
    ----------
    scores
        Metric name -> data frame with runs as index and topics as columns (or exchanged, with axes
        named ``topic`` and ``run``), missing cells NaN. Dictionaries of metric, run and topic, as
        of pytrec_eval and ranx, runs above topics; evaluated Runs of ranx by name; run -> records
        with query_id, measure and value, as of ``iter_calc`` of ir_measures. One data frame with a
        row for each score, or for those of a run on a topic. A DataArray or a Dataset with the dims
        run, topic and perhaps metric. An array of runs x topics for each metric, or for one, with
        `runs` and `topics`. Run -> data frame with a row a score and columns query_id, measure and
        value, of ir_measures. Measures of other tools get the names of this package where they mean
        the same; counts are left out.
    runs, topics
        Labels of the rows and columns of arrays.
    teams
        Run -> team.
    systems
        Run -> system whose repetition it is; with a column of seeds, runs are ``system#seed``.
    topic_groups
        Topic -> group, such as a conversation.
    ranges
        Metric -> least and greatest score that there can be, such as ``{"f1": (0, 1)}``. Metrics of
        this package, scores that are all 0 or 1, and names that the field bounds have theirs.
    notify
        Called with a line about teams, ranges, and columns of a frame; logged by default.
    collections
        Whether a frame may hold several collections: a cube of each is returned by name.
    columns
        Of a frame: ``run_column``, ``topic_column``, ``collection_column``, ``seed_column`` and
        ``score_column``.

    Returns
    -------
    cube
        Dataset with `score` (metric, gain, run, topic), runs and topics in sorted order; with
        `collections` the cubes by name, '' where no column names collections.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame([[0.1, 0.4], [0.3, 0.2]], index=["b", "a"], columns=["1", "2"])
    >>> cube_from_scores({"AP": frame}).score.sel(metric="AP", run="a").values
    array([[0.3, 0.2]])
    """
    if runs is not None and topics is not None:
        index = pd.Index(list(map(str, runs)), name=names.RUN)
        columns_of = pd.Index(list(map(str, topics)), name=names.TOPIC)
        arrays: Mapping[Any, Any] = scores if isinstance(scores, Mapping) else {SCORE: scores}
        scores = {
            metric: pd.DataFrame(values, index, columns_of, copy=False)
            for metric, values in arrays.items()
        }
    part = read_objects(scores, chosen=chosen_columns(columns))
    known = ranges_of(scores) | read_ranges(ranges or {})
    cubes = build_cubes([part], teams=teams, systems=systems, ranges=known, notify=notify)
    for name, cube in cubes.items():
        cubes[name] = with_topic_groups(cube, topic_groups, notify=notify or LOGGER.warning)
    return cubes if collections else only_cube(cubes)

"""Rankings x metrics x gain settings -> score cube; score matrices -> score cube; selection and digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import xarray as xr
from scipy.special import ndtr

from scorecube import names, schema
from scorecube.errors import BadInput, BadName, nearest
from scorecube.metrics import Metric, gain_values, parse_metric, score_by_intent
from scorecube.scores import to_matrices
from scorecube.summaries import SUMMARY, summarise, summary_of

Item = TypeVar("Item")
USES_GAINS = "uses_gains"
EXCLUDED = "topics_without_relevant"
"""Attribute of a cube: judged topics left out because no document is relevant."""


def evaluate(
    rankings: xr.Dataset,
    metrics: Iterable[str],
    gains: Iterable[str] = (names.AUTO,),
    *,
    missing_topic: Literal["zero", "nan"] = "zero",
    no_relevant: Literal["exclude", "zero"] = "exclude",
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Score every run on every topic with all metrics under all gain settings.

    Parameters
    ----------
    rankings
        Dataset as from `read_rankings` (run, topic, rank).
    metrics
        Metric names, e.g. ``["AP", "nDCG@20", "P+"]``.
    gains
        Gain settings, highest level first, e.g. ``["2:1", "1:1"]``; ``auto`` is gain = level.
    missing_topic
        Score of a run that lacks a judged topic: 0 (as ``trec_eval -c``) or NaN.
    no_relevant
        Topics without a relevant document: left out and named in the cube's attributes, or scored 0 (as trec_eval).
        A metric with ``rel=`` above 1 is NaN, or 0, on topics without a document of that level.
    progress
        Called with (metrics done, metrics in all).

    Returns
    -------
    cube
        Dataset with ``score[metric, gain, run, topic]`` in float64 and the coordinates team (run) and uses_gains
        (metric). A metric that uses no gains has equal scores at all gain settings.

    Raises
    ------
    BadName
        An unknown metric, or a gain setting that does not fit the number of levels.
    BadInput
        A diversity metric where documents are not judged by intent.

    Examples
    --------
    >>> from scorecube.testing import simulate_rankings
    >>> cube = evaluate(simulate_rankings(n_runs=4, seed=1), ["AP", "nDCG@10"], ["3:2:1", "1:1:1"])
    >>> dict(cube.sizes)
    {'metric': 2, 'gain': 2, 'run': 4, 'topic': 50}
    """
    schema.check(rankings, schema.RANKINGS, "rankings")
    parsed = _distinct([parse_metric(text) for text in metrics], "metric")
    gain_labels = _distinct(list(gains), "gain setting")
    judged = rankings[names.N_JUDGED].values
    gain_table = np.stack([gain_values(text, judged.shape[1] - 1) for text in gain_labels])
    kept = np.ones(len(judged), bool) if no_relevant == "zero" else judged[:, 1:].sum(axis=1) > 0
    if not kept.any():
        raise BadInput("no topic has a relevant document: nothing can be evaluated")
    intents = _intents(rankings, next((metric for metric in parsed if metric.definition.by_intent), None), kept)
    levels = rankings[schema.LEVEL_AT_RANK].values[:, kept]
    retrieved = rankings[names.N_RETRIEVED].values[:, kept]
    scores = np.empty((len(parsed), len(gain_labels), *levels.shape[:2]))
    for i, metric in enumerate(parsed):
        table = gain_table if metric.definition.uses_gains else gain_table[:1]
        if metric.definition.by_intent:
            documents, by_intent, probability = intents
            scores[i] = score_by_intent(metric, documents, by_intent, probability, table)
        else:
            scores[i] = metric.score(levels[np.newaxis], judged[kept], table[:, np.newaxis, np.newaxis])
        if progress is not None:
            progress(i + 1, len(parsed))
    if no_relevant == "zero":
        scores = np.nan_to_num(scores, nan=0.0)
    if missing_topic == "nan":
        scores[..., retrieved == 0] = np.nan
    topics = np.array(schema.labels_of(rankings, names.TOPIC), object)
    attrs = dict(rankings.attrs) | {
        "missing_topic": missing_topic,
        "no_relevant": no_relevant,
        EXCLUDED: [str(topic) for topic in topics[~kept]],
    }
    return cube_dataset(
        scores, parsed, gain_labels, schema.labels_of(rankings, names.RUN), topics[kept].tolist(),
        [str(team) for team in rankings[names.TEAM].values], attrs,
    )  # fmt: skip


def _intents(rankings: xr.Dataset, metric: Metric | None, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> list[Any]:
    """Return documents at ranks, levels by intent and probabilities of the topics that are kept, if a metric needs them."""
    if metric is None:
        return []
    if names.INTENT_LEVEL not in rankings:
        raise BadInput(
            f"metric {metric} needs documents judged by intent, and these rankings have none; "
            "read such judgements with --qrels-format trec-intents (from Python, dialect='trec-intents')"
        )
    schema.check(rankings, (schema.DOCUMENTS[0], *schema.INTENTS), "rankings")
    chosen = (names.DOCUMENT_AT_RANK, names.INTENT_LEVEL, names.INTENT_PROBABILITY)
    return [rankings[name].isel({names.TOPIC: kept}).values for name in chosen]


def cube_dataset(
    scores: np.ndarray[Any, np.dtype[np.float64]],
    metrics: Sequence[Metric | str],
    gains: Sequence[str],
    runs: Sequence[str],
    topics: Sequence[str],
    teams: Sequence[str] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Label a score array (metric, gain, run, topic); runs and topics are put in sorted order.

    Parameters
    ----------
    scores
        float64 (metric, gain, run, topic), NaN for missing.
    metrics, gains, runs, topics
        Labels, in the order of the array.
    teams
        One for each run; a run is its own team by default.
    attrs
        Attributes of the dataset.

    Returns
    -------
    cube
        Dataset with `score` (metric, gain, run, topic) and the coordinate `team` (run).
    """
    run_order, topic_order = np.argsort(np.array(runs, object)), np.argsort(np.array(topics, object))
    gained = [isinstance(metric, str) or metric.definition.uses_gains for metric in metrics]
    coords = {
        names.METRIC: schema.label_array(str(metric) for metric in metrics),
        names.GAIN: schema.label_array(gains),
        names.RUN: schema.label_array(runs[i] for i in run_order),
        names.TOPIC: schema.label_array(topics[i] for i in topic_order),
        names.TEAM: (names.RUN, schema.label_array((teams or runs)[i] for i in run_order)),
        USES_GAINS: (names.METRIC, np.array(gained)),
        SUMMARY: (names.METRIC, schema.label_array(summary_of(str(each)) for each in metrics)),
    }
    ordered = np.ascontiguousarray(scores[:, :, run_order][..., topic_order], dtype=np.float64)
    cube = xr.Dataset({names.SCORE: (schema.CUBE[0].dims, ordered)}, coords=coords, attrs=dict(attrs or {}))
    schema.check(cube, schema.CUBE, "cube")
    return schema.annotate(cube, schema.CUBE)


def cube_from_scores(
    scores: Mapping[str, Any], *, gain: str = names.AUTO, teams: Mapping[str, str] | None = None
) -> xr.Dataset:
    """Make a cube of per-topic scores.

    Parameters
    ----------
    scores
        Metric name -> data frame with runs as index and topics as columns, missing cells NaN; or what other tools
        return (pytrec_eval, ir_measures, ranx, nested dictionaries), see `scorecube.scores.to_matrices`.
    gain
        Label of the gain axis, which is 1 long.
    teams
        Run -> team.

    Returns
    -------
    cube
        Dataset with `score` (metric, gain, run, topic), runs and topics in sorted order.

    Raises
    ------
    BadInput
        Scores in another form, matrices that differ in runs or topics, repeated labels, values that are not numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame([[0.1, 0.4], [0.3, 0.2]], index=["b", "a"], columns=["1", "2"])
    >>> cube_from_scores({"AP": frame}).score.sel(metric="AP", run="a").values
    array([[0.3, 0.2]])
    """
    matrices = to_matrices(scores)
    arrays: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    runs: list[str] = []
    topics: list[str] = []
    for metric, frame in matrices.items():
        ordered = frame.rename(index=str, columns=str).sort_index(axis=0).sort_index(axis=1)
        found_runs, found_topics = list(ordered.index), list(ordered.columns)
        schema.check_labels(found_runs, names.RUN, f"matrix of {metric}")
        schema.check_labels(found_topics, names.TOPIC, f"matrix of {metric}")
        if arrays and (found_runs != runs or found_topics != topics):
            raise BadInput(f"matrix of {metric} has other runs or topics than that of {next(iter(matrices))}")
        runs, topics = found_runs, found_topics
        try:
            arrays.append(ordered.to_numpy(dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise BadInput(f"matrix of {metric} holds what is not a number: {error}") from None
    stacked = np.stack(arrays)[:, np.newaxis]
    known = teams or {}
    return cube_dataset(stacked, list(matrices), [gain], runs, topics, [known.get(run, run) for run in runs])


def select(
    cube: xr.Dataset,
    *,
    metrics: Sequence[str] | None = None,
    gains: Sequence[str] | None = None,
    runs: Sequence[str] | None = None,
    topics: Sequence[str] | None = None,
    top_runs: int | None = None,
    by: str | None = None,
    drop_missing: bool = False,
) -> xr.Dataset:
    """Return part of a cube; None keeps a dim whole.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`.
    metrics, gains, runs, topics
        Labels to keep.
    drop_missing
        Leave out the topics on which any of the kept scores is missing.
    top_runs, by
        Keep the runs with the highest mean of metric `by` (first metric by default, first gain setting); ties by run name.

    Returns
    -------
    cube
        The part of it, in its order.

    Raises
    ------
    BadName
        Naming a label that the cube has not, and the nearest ones it has.
    """
    wanted = {
        names.METRIC: None if metrics is None else [str(parse_known(metric)) for metric in metrics],
        names.GAIN: gains, names.RUN: runs, names.TOPIC: topics,
    }  # fmt: skip
    result = cube
    if top_runs is not None:
        result = _keep_top_runs(cube, top_runs, by)
    for dim, labels in wanted.items():
        if labels is None:
            continue
        if not labels:
            raise BadName(f"no {dim} given: name some, or leave the choice out to take all")
        has = schema.labels_of(result, dim)
        for label in labels:
            if label not in has:
                raise BadName(f"no {dim} {label!r} in the cube; nearest: {nearest(label, has)}")
        # Runs and topics stay sorted whatever order they were asked for in.
        ordered = (
            [label for label in has if label in set(labels)]
            if dim in (names.RUN, names.TOPIC)
            else list(dict.fromkeys(labels))
        )
        result = result.sel({dim: ordered})
    if drop_missing:
        complete = result[names.SCORE].notnull().all([names.METRIC, names.GAIN, names.RUN]).values
        result = result.isel(topic=np.flatnonzero(complete))
    return result


def _keep_top_runs(cube: xr.Dataset, count: int, by: str | None) -> xr.Dataset:
    metric = str(parse_known(by)) if by else schema.labels_of(cube, names.METRIC)[0]
    if metric not in schema.labels_of(cube, names.METRIC):
        raise BadName(f"no metric {metric!r} in the cube to choose the top runs by")
    means = summarise(cube).sel(metric=metric).isel(gain=0).values
    best = sorted(zip(-means, schema.labels_of(cube, names.RUN), strict=True))[:count]
    return cube.sel(run=sorted(run for _, run in best))


def parse_known(text: str) -> Metric | str:
    """Read a metric name, or keep it as it is where an imported matrix has a name of its own."""
    try:
        return parse_metric(text)
    except BadName:
        return text


def cells(cube: xr.Dataset) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the distinct (metric, gain) cells of a cube, so that metrics without gains are computed once.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic).

    Returns
    -------
    scores
        float64 (cell, run, topic).
    cell_of
        int64 (metric, gain): which cell holds the scores of a metric and gain setting.
    """
    distinct, cell_of = _distinct_cells(cube)
    return cube.variables[names.SCORE].values[distinct].astype(np.float64, copy=False), cell_of


def n_cells(cube: xr.Dataset) -> int:
    """Return the number of distinct cells."""
    return int(_distinct_cells(cube)[0].sum())


def _distinct_cells(cube: xr.Dataset) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return which (metric, gain) have scores of their own, and which cell holds those of each."""
    distinct = np.ones((cube.sizes[names.METRIC], cube.sizes[names.GAIN]), bool)
    distinct[:, 1:] = uses_gains(cube)[:, np.newaxis]
    return distinct, (np.cumsum(distinct) - 1).reshape(distinct.shape)


def standardise(
    cube: xr.Dataset,
    method: Literal["std-AB", "std-CDF", "z"] = "std-AB",
    *,
    reference_runs: Sequence[str] | None = None,
) -> xr.Dataset:
    """Standardise scores per topic against known runs, so that hard and easy topics weigh alike.

    Parameters
    ----------
    cube
        Scores of any metrics.
    method
        ``z``: (x - mean) / sd of the reference runs on the topic, 0 where they are all equal. ``std-CDF``: the normal
        distribution function of z (Webber, Moffat and Zobel 2008). ``std-AB``: 0.15 z + 0.5 with z cut off at 3 (Sakai 2016).
    reference_runs
        The known runs, at least two; all runs of the cube by default.

    Returns
    -------
    cube
        Of the same shape; metrics are called ``std-AB:AP``; the reference runs are in the attributes.

    Raises
    ------
    BadName, BadInput
        A run that the cube has not, an unknown method, fewer than two reference runs.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> standard = standardise(simulate_cube(n_runs=5))
    >>> standard.metric.values.tolist(), float(standard.score.mean().round(6))
    (['std-AB:AP', 'std-AB:nDCG@10'], 0.5)
    """
    if method not in ("std-AB", "std-CDF", "z"):
        raise BadName(f"no standardisation {method!r}; known: std-AB, std-CDF, z")
    reference = select(cube, runs=reference_runs)
    if reference.sizes[names.RUN] < 2:
        raise BadInput("standardisation needs at least 2 reference runs")
    known = reference[names.SCORE]
    spread = known.std(names.RUN, ddof=1)
    z = ((cube[names.SCORE] - known.mean(names.RUN)) / spread.where(spread > 0)).where(spread > 0, 0.0)
    if method == "std-AB":
        z = 0.15 * z.clip(-3.0, 3.0) + 0.5
    elif method == "std-CDF":
        z = xr.apply_ufunc(ndtr, z)
    labels = schema.label_array(f"{method}:{metric}" for metric in schema.labels_of(cube, names.METRIC))
    result = cube.assign({names.SCORE: z.transpose(*schema.CUBE[0].dims)}).assign_coords({names.METRIC: labels})
    runs = schema.labels_of(reference, names.RUN)
    return schema.annotate(result.assign_attrs(standardisation=method, reference_runs=runs), schema.CUBE)


def uses_gains(cube: xr.Dataset) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which metrics depend on the gain setting (metric,); all, where the cube does not say."""
    if USES_GAINS in cube.coords:
        return np.asarray(cube.variables[USES_GAINS].values, bool)
    return np.ones(cube.sizes[names.METRIC], bool)


def _distinct(items: list[Item], what: str) -> list[Item]:
    if not items:
        raise BadName(f"no {what} given")
    for item in items:
        if items.count(item) > 1:
            raise BadName(f"{what} {item} is given twice")
    return items

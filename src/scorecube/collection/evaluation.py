"""Evaluation of rankings by metrics under gain settings: the score cube."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.arguments import MetricLike, check_dataset, labels, metric_names
from scorecube.collection.metrics_of_tools import OtherMetric, read_metric
from scorecube.errors import BadInput, BadName, option
from scorecube.metrics import IntentLists, Metric, gain_values, score_by_intent
from scorecube.metrics.common import judged_lists, lists_where

Item = TypeVar("Item")
EXCLUDED = "topics_without_relevant"
"""Attribute of a cube: judged topics without a relevant document, left out."""


def evaluate(
    rankings: xr.Dataset,
    metrics: Iterable[MetricLike],
    gains: Iterable[str] = (names.AUTO,),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Compute the scores of runs on topics, with all metrics and gain settings.

    Parameters
    ----------
    rankings
        Dataset (run, topic, rank), as from `read_rankings`.
    metrics
        Names such as ``AP`` and ``nDCG@20``, or measures of ir_measures that are equal to one.
    gains
        Gain settings, such as ``3:2:1``, highest level first.
    progress
        Called with (metrics done, metrics in total).

    Returns
    -------
    cube
        ``score[metric, gain, run, topic]`` on the topics with a relevant document; a run without
        one of them scores 0 there. Coordinates are team (run) and uses_gains (metric). A metric
        that uses no gains has equal scores at all gain settings; one with ``rel=`` above 1 is NaN
        on topics without such a document.

    Raises
    ------
    BadName, BadInput, BadPlan
        Unknown metrics, a gain setting without a value for each level; no topic with a relevant
        document; a single text instead of a list.

    Examples
    --------
    >>> from scorecube.testing import simulate_rankings
    >>> cube = evaluate(simulate_rankings(n_runs=4, seed=1), ["AP", "nDCG@10"], ["3:2:1", "1:1:1"])
    >>> dict(cube.sizes)
    {'metric': 2, 'gain': 2, 'run': 4, 'topic': 50}
    """
    check_dataset(rankings, "rankings", "read_rankings")
    schema.check(rankings, schema.RANKINGS, "rankings")
    named = metric_names("metrics", metrics)
    parsed = _distinct([read_metric(text) for text in named], "metric", "metrics")
    gain_labels = _distinct(labels("gains", gains), "gain setting", "gains")
    judged = rankings[names.N_JUDGED].values
    gain_table = np.stack([gain_values(text, judged.shape[1] - 1) for text in gain_labels])
    kept = np.any(judged[:, 1:], axis=1)
    if not kept.any():
        raise BadInput("no topic has a relevant document: nothing can be evaluated")
    levels = rankings[schema.LEVEL_AT_RANK].values[:, kept]
    retrieved = rankings[names.N_RETRIEVED].values[:, kept]
    by_intent = _lists_by_intent(rankings, kept, parsed)
    scores = np.empty((len(parsed), len(gain_labels), *levels.shape[:2]))
    lists = judged_lists(levels)
    with_negative = lists
    if names.DOCUMENT_AT_RANK in rankings:
        is_judged = rankings[names.DOCUMENT_AT_RANK].values[:, kept] >= 0
        with_negative = lists_where(is_judged, levels)
    for i, metric in enumerate(parsed):
        if isinstance(metric, OtherMetric):
            scores[i] = metric.score_runs(with_negative, judged[kept], retrieved)
        elif by_intent is not None and metric.definition.by_intent:
            table = gain_table if metric.definition.uses_gains else gain_table[:1]
            scores[i] = score_by_intent(metric, by_intent, table)
        else:
            table = gain_table if metric.definition.uses_gains else gain_table[:1]
            scores[i] = metric.score_lists(lists, judged[kept], table[:, np.newaxis, np.newaxis])
        if progress is not None:
            progress(i + 1, len(parsed))
    topics = np.array(schema.labels_of(rankings, names.TOPIC), object)
    attrs = rankings.attrs | {EXCLUDED: [str(topic) for topic in topics[~kept]]}
    runs, teams = (schema.labels_of(rankings, dim) for dim in (names.RUN, names.TEAM))
    cube = cube_dataset(scores, parsed, gain_labels, runs, topics[kept].tolist(), teams, attrs)
    of_cube = rankings.coords.to_dataset().sel(
        {dim: cube[dim].values for dim in (names.RUN, names.TOPIC)}
    )
    of_labels = {names.SYSTEM, names.TOPIC_GROUP} & {*rankings.coords}
    return cube.assign_coords({name: of_cube[name].variable for name in sorted(of_labels)})


def _lists_by_intent(
    rankings: xr.Dataset, kept: NDArray[np.bool_], metrics: Sequence[Metric]
) -> IntentLists | None:
    """Return lists with judgements by intent on the topics that are kept, if a metric needs any."""
    needing = [metric for metric in metrics if metric.definition.by_intent]
    if not needing:
        return None
    if names.INTENT_LEVEL not in rankings:
        problem = f"metric {needing[0]} needs documents judged by intent, and these are not"
        raise BadInput(f"{problem}; give the file as {option('intents')}", option="metrics")
    needed = names.DOCUMENT_AT_RANK, names.INTENT_LEVEL, names.INTENT_PROBABILITY
    return IntentLists(*(rankings[name].isel({names.TOPIC: kept}).values for name in needed))


def cube_dataset(
    scores: np.ndarray[Any, np.dtype[np.float64]],
    metrics: Sequence[Metric | str],
    gains: Sequence[str],
    runs: Sequence[str],
    topics: Sequence[str],
    teams: Sequence[str] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Return a score cube of an array (metric, gain, run, topic), runs and topics sorted.

    scores: float64, NaN for missing.
    metrics, gains, runs, topics: Labels, in the order of the array.
    teams: Team of each run; by default each run is its own team.
    attrs: Attributes of the dataset.
    """
    run_order, topic_order = (np.argsort(np.array(order, object)) for order in (runs, topics))
    ordered = np.ascontiguousarray(scores[:, :, run_order][..., topic_order], np.float64)
    uses_gains = [isinstance(metric, str) or metric.definition.uses_gains for metric in metrics]
    coords = {
        names.METRIC: schema.label_array(map(str, metrics)),
        names.GAIN: schema.label_array(gains),
        names.RUN: schema.label_array(runs[k] for k in run_order),
        names.TOPIC: schema.label_array(topics[k] for k in topic_order),
        names.TEAM: (names.RUN, schema.label_array((teams or runs)[k] for k in run_order)),
        names.USES_GAINS: (names.METRIC, np.array(uses_gains)),
    }
    cube = xr.Dataset({names.SCORE: (schema.CUBE[0].dims, ordered)}, coords, dict(attrs or {}))
    schema.check(cube, schema.CUBE, "cube")
    return schema.annotate(cube, schema.CUBE)


def _distinct(items: list[Item], noun: str, argument: str) -> list[Item]:
    if not items:
        raise BadName(f"no {noun}: {option(argument)} is empty", option=argument)
    for item in items:
        if items.count(item) > 1:
            raise BadName(f"{noun} {item} is repeated in {option(argument)}", option=argument)
    return items

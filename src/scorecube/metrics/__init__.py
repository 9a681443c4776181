"""Evaluation measures: functions of one ranking's relevance levels and gains.

Importing this package registers its metrics; a metric in a file of your own is registered by
importing that file, see `metric`.
"""

from scorecube.metrics import binary, blended, cascade, cumulative_gain, reciprocal, utility  # noqa: F401
from scorecube.metrics.diversity import IntentLists, score_by_intent
from scorecube.metrics.gain_settings import gain_values
from scorecube.metrics.parameters import Parameter
from scorecube.metrics.parsing import parse_metric
from scorecube.metrics.registry import DEFINITIONS, Definition, Metric, metric

__all__ = [
    "DEFINITIONS",
    "Definition",
    "IntentLists",
    "Metric",
    "Parameter",
    "gain_values",
    "metric",
    "parse_metric",
    "score_by_intent",
]

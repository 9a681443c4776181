"""Evaluation measures: functions of one ranking's relevance levels and gains.

Importing this package registers its metrics; a metric in a file of your own is registered by importing that file, see `metric`.
"""

from scorecube.metrics import binary, blended, cascade, diversity, incomplete, reciprocal, utility
from scorecube.metrics import cumulative_gain as gain
from scorecube.metrics.gain_settings import gain_values
from scorecube.metrics.intents import score_by_intent
from scorecube.metrics.registry import (
    DEFINITIONS,
    Definition,
    Metric,
    Parameter,
    metric,
    parse_metric,
)

__all__ = [
    "DEFINITIONS",
    "Definition",
    "Metric",
    "Parameter",
    "binary",
    "blended",
    "cascade",
    "diversity",
    "gain",
    "gain_values",
    "incomplete",
    "metric",
    "parse_metric",
    "reciprocal",
    "score_by_intent",
    "utility",
]

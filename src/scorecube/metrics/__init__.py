"""Evaluation measures: functions of one ranking's relevance levels and gains. Importing this registers them all."""

from scorecube.metrics import binary, blended, cascade, diversity, gain, incomplete, reciprocal, utility
from scorecube.metrics.gains import gain_values
from scorecube.metrics.intents import score_by_intent
from scorecube.metrics.metric import DEFINITIONS, Definition, Metric, Parameter, metric, parse_metric

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

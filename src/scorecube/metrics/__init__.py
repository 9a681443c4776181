"""Evaluation measures: functions of one ranking's relevance levels and gains.

Importing this package registers its metrics; a metric in a file of your own is registered by
importing that file, see `metric`.
"""

from scorecube.metrics import binary, blended, cascade, incomplete, reciprocal
from scorecube.metrics import cumulative_gain as gain
from scorecube.metrics.gain_settings import gain_values
from scorecube.metrics.parsing import parse_metric
from scorecube.metrics.registry import DEFINITIONS, Definition, Metric, Parameter, metric

__all__ = [
    "DEFINITIONS",
    "Definition",
    "Metric",
    "Parameter",
    "binary",
    "blended",
    "cascade",
    "gain",
    "gain_values",
    "incomplete",
    "metric",
    "parse_metric",
    "reciprocal",
]

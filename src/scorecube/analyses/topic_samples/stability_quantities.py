"""What results of `Stability` hold."""

from __future__ import annotations

from scorecube import names
from scorecube.collection.schema import Variable

_CELL = (names.METRIC, names.GAIN, names.SIZE, names.FUZZINESS)
_PAIRS = (*_CELL, names.PAIR)
VARIABLES = (
    Variable(
        "first_better",
        _PAIRS,
        "i",
        "trials",
        "topic samples on which the pair's first run is better",
        role="count",
    ),
    Variable(
        "second_better",
        _PAIRS,
        "i",
        "trials",
        "topic samples on which the pair's second run is better",
        role="count",
    ),
    Variable(
        "equal",
        _PAIRS,
        "i",
        "trials",
        "topic samples on which both are equal within the fuzziness",
        role="count",
    ),
    Variable(
        "error_rate",
        _CELL,
        "f",
        "1",
        "share of comparisons that contradict the majority of their pair",
        role="share",
    ),
    Variable(
        "ties",
        _CELL,
        "f",
        "1",
        "share of comparisons that are equal within the fuzziness",
        role="share",
    ),
)

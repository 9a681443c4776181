"""What results of `Stability` hold."""

from scorecube import names
from scorecube.collection.schema import variables

_CELL = (names.METRIC, names.GAIN, names.SIZE, names.FUZZINESS)
_PAIRS = (*_CELL, names.PAIR)
VARIABLES = (
    *variables(
        *(_PAIRS, "count", "trials", "i"),
        first_better="topic samples on which the pair's first run is better",
        second_better="topic samples on which the pair's second run is better",
        equal="topic samples on which both are equal within the fuzziness",
    ),
    *variables(
        *(_CELL, "share"),
        error_rate="share of comparisons that contradict the majority of their pair",
        ties="share of comparisons that are equal within the fuzziness",
    ),
)

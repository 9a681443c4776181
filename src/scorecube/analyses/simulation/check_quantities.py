"""What results of `Check` hold."""

from scorecube import names
from scorecube.collection.schema import limits, variables

_CLAIM = (names.METRIC, names.GAIN, names.CLAIM)
VARIABLES = (
    *variables(
        *(_CLAIM, "estimate"),
        truth="value in the population; that of a set: its smallest size",
        estimate="mean over samples of what is printed; of a set: its mean size",
        bias="mean of estimate - truth",
        error="root of the mean square of estimate - truth",
        width="median width of the intervals that have two ends",
    ),
    *variables(*(_CLAIM, "share"), held="share of samples whose interval or set holds the truth"),
    *limits("held", _CLAIM, "1", "{} limit (95 %, Wilson) of this share over samples"),
    *variables(
        *(_CLAIM, "count", "samples"),
        n_below="samples whose interval lies below the truth",
        n_above="samples whose interval lies above the truth",
        n_held="samples that hold the truth (of shares of runs: rounded)",
        n_judged="samples with an interval or a set",
        n_estimated="samples with an estimate",
    ),
)

"""What results of `Check` hold."""

from scorecube import names
from scorecube.collection.schema import Variable

_CLAIM = (names.METRIC, names.GAIN, names.CLAIM)
VARIABLES = tuple(
    Variable(name, _CLAIM, *rest)
    for name, *rest in (
        (
            "truth",
            "f",
            "1",
            "value in the population; that of a set: its smallest size",
            "estimate",
        ),
        (
            "estimate",
            "f",
            "1",
            "mean over samples of what is printed; of a set: its mean size",
            "estimate",
        ),
        ("bias", "f", "1", "mean of estimate - truth", "estimate"),
        ("error", "f", "1", "root of the mean square of estimate - truth", "estimate"),
        ("width", "f", "1", "median width of the intervals that have two ends", "estimate"),
        ("held", "f", "1", "share of samples whose interval or set holds the truth", "share"),
        (
            "held_low",
            "f",
            "1",
            "lower limit (95 %, Wilson) of this share over samples",
            "low",
            "held",
        ),
        (
            "held_high",
            "f",
            "1",
            "upper limit (95 %, Wilson) of this share over samples",
            "high",
            "held",
        ),
        ("n_below", "iu", "samples", "samples whose interval lies below the truth", "count"),
        ("n_above", "iu", "samples", "samples whose interval lies above the truth", "count"),
        (
            "n_held",
            "iu",
            "samples",
            "samples that hold the truth (of shares of runs: rounded)",
            "count",
        ),
        ("n_judged", "iu", "samples", "samples with an interval or a set", "count"),
        ("n_estimated", "iu", "samples", "samples with an estimate", "count"),
    )
)

"""What results of `Check` hold, and what follows from them."""

from scorecube import names
from scorecube.collection.schema import derived, limits, variables

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
DERIVED = (
    derived(
        lambda result: result["n_judged"].clip(min=result["n_estimated"]),
        *(_CLAIM, "count", "samples"),
        n_claimed="samples with an interval, a set or an estimate",
    ),
    derived(
        lambda result: (result["n_judged"] > 0) | (result["n_estimated"] > 0),
        *(_CLAIM, "flag"),
        is_claimed="whether any sample has one of them",
    ),
    derived(
        lambda result: result["held"] - result["nominal"],
        *(_CLAIM, "estimate"),
        excess="share of samples that hold the truth, minus the nominal one",
    ),
    derived(lambda result: abs(result["bias"]), *(_CLAIM, "estimate"), bias_size="absolute bias"),
)

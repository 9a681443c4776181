"""The range in which each analysis is exact: ``python -m tests.ranges > docs/reference/ranges.md``.

Limits are constants of the source, or measured: each analysis runs on scores of about 1 of which some are made larger, until it refuses.
"""

from __future__ import annotations

import logging
import math
import sys
from typing import Any

import numpy as np

from scorecube.analyses import registry
from scorecube.analyses.leave_out.kernel import UNITS
from scorecube.collection.score_range import LARGEST_SCORE, SMALLEST_MAXIMUM
from scorecube.errors import BadPlan
from scorecube.statistics.integer_scores import ALIKE, BLIND, DIGITS
from tests.analyses.test_score_ranges import N_RUNS, drawn, result_of

PAIRS = "differences of runs on each topic; sums over resamples"
SAMPLES = "means of topic samples"
ORDERS = "the order of means of topic samples"
MEANS = "means over resampled topics, for each run by itself"
FLOATS = "sums in double precision, of scores less their means"
ABOUT_ONE = f"scores of metrics, which are computed from rankings: means in units of 2^-{math.log2(UNITS):.0f}"
UNIT_SCORES = "scores from 0 to 1; others are refused"
COMPUTES_ON = {
    "leaderboard": f"{PAIRS}; intervals of means, for each run by itself",
    "board": f"{PAIRS} of each collection; intervals of means, for each run by itself",
    "ranks": PAIRS,
    "swap": f"{SAMPLES}, in bins",
    "stability": SAMPLES,
    "bootstrap": PAIRS,
    "randomisation": PAIRS,
    "tukey": PAIRS,
    "maxt": PAIRS,
    "unpaired": MEANS,
    "paired": "differences of runs on each topic",
    "correlate": ORDERS,
    "splits": ORDERS,
    "reliability": FLOATS,
    "agreement": ORDERS,
    "judges": f"{ORDERS}; corrected means: {FLOATS}",
    "teams": ABOUT_ONE,
    "errors": UNIT_SCORES,
    "check": UNIT_SCORES,
}
"""What an analysis computes on."""
WITHOUT_SCORES = ("teams", "errors", "check")
"""Analyses that take no scores of any size."""
SIZES = (50, 1000)
LARGEST = round(np.log10(LARGEST_SCORE))


def largest_power(name: str, n: int, runs: Any) -> int:
    """Return the largest power of ten that some runs may have more on a topic before an analysis refuses."""
    sets = drawn(name, n, 1, 0.0)
    for power in range(LARGEST, 0, -1):
        more = np.zeros((N_RUNS, n))
        more[runs, 3] = 0.9 * 10.0**power
        try:
            result_of(name, [each + more for each in sets])
        except BadPlan:
            continue
        return power
    return 0


def row(name: str) -> str:
    """Return the row of an analysis."""
    if name in WITHOUT_SCORES:
        limits = ["-"] * (2 * len(SIZES))
    else:
        powers = [largest_power(name, n, runs) for runs in (slice(None), 0) for n in SIZES]
        limits = [f"1e{power}" for power in powers]
    return " | ".join([f"| `{name}`", COMPUTES_ON[name], *limits]) + " |"


def page() -> str:
    """Return the page."""
    columns = [f"{what}, {n:,} topics" for what in ("all runs", "one run") for n in SIZES]
    return "\n".join(
        [
            "# Range in which each analysis is exact",
            "",
            f"Scores lie between -{LARGEST_SCORE:g} and {LARGEST_SCORE:g}, and the largest of a metric is 0 or at least {SMALLEST_MAXIMUM:g}; others are refused when they are read.",
            "This page is made by `python -m tests.ranges` from constants of the source and by running each analysis; `tests/test_ranges.py` fails if it is out of date.",
            "",
            f"- **Unit.** Scores times a power of two, from {SMALLEST_MAXIMUM:g} to {LARGEST_SCORE:g}, give the same decisions, ranks, rates and p-values, with 12 to 100,000 topics (`tests/analyses/test_score_ranges.py`);",
            "  tests of pairs are compared with SciPy and exact fractions up to 1,000,000 topics (`tests/analyses/pair_tests/test_score_ranges.py`). Bins of `swap` are in units of the score.",
            f"- **Rounding.** Decimals of up to nine digits and common fractions are exact. Others are rounded, by at most {100 * BLIND:g} % of the standard error of a mean where the range is as large as in the table, and by far less with usual scores;",
            f"  differences on a topic below {ALIKE:g} of a usual one, or below {1 / DIGITS:.0e} of a usual score, count as none.",
            "- **Refusal.** Where sums of some huge scores and of usual ones do not fit into one number, an analysis refuses and says so. The table has the largest size of such scores beside differences of 0.1, on one topic:",
            "  of all runs, which changes no difference, or of one run.",
            "",
            f"| analysis | computes on | {' | '.join(columns)} |",
            f"|{'---|' * (2 + len(columns))}",
            *map(row, registry.names()),
            "",
            "`unpaired` compares runs on topics of their own, so that a huge score of a topic is noise in it; `reliability` and `judges` count it as variance of topics.",
            "Sums in double precision lose 2e-16 of the largest score: with 1e9 + x, where x is about 0.1, variances are right to about 1e-5 (`tests/analyses/reliability/test_reliability.py`).",
            "Scores beyond 1e12 have less than four digits left for differences of 0.1 in double precision, so wider limits at reading would admit nothing that can be analysed.",
            "",
        ]
    )


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    sys.stdout.write(page())

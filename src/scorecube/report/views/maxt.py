"""View of the step-down max-T test."""

from __future__ import annotations

from scorecube.report.tables import pairs
from scorecube.report.views import pair_tests
from scorecube.report.views.view import Table

VIEW = pair_tests.pair_test_view(
    "maxt",
    "Step-down max-T test",
    "Topics are resampled with replacement, with the differences of every pair centred, so that no pair differs. The largest t statistic (moderated: with the median "
    "variance of all pairs beside the pair's own) over all "
    "pairs is kept, and after the clearest pairs are decided, the largest over the others. The adjusted p-value of a pair is the share "
    "of resamples in which that maximum reaches the pair's t. If some pairs do not differ in their means over infinitely many topics, one or more of them "
    "are to be significant with probability alpha at most; measured at alpha = 0.05, 0.05 to 0.08 on 50 topics of real collections with equal means, so that a p-value just below "
    "alpha is weak evidence. Unlike Tukey's test it does not assume that runs without a difference can be exchanged for "
    "each other: one run that varies more than the others does no harm.",
    tables={
        "power": Table(pairs.power),
        "pairs": Table(pairs.simultaneous_pairs, pair_tests.PAIR_ROWS),
        "curve": Table(pairs.curve, pair_tests.PAIR_ROWS),
    },
    joint=True,
)

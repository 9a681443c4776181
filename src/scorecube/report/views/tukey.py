"""View of the randomised Tukey HSD test."""

from __future__ import annotations

from scorecube.report.views.pair_tests import TABLES, pair_test_view

VIEW = pair_test_view(
    "tukey",
    "Randomised Tukey HSD test",
    "The scores of all runs are shuffled within each topic, and the largest difference between any two run means is kept. The p-value "
    "of a pair is the share of shuffles in which that largest difference is at least the pair's. It accounts for all pairs together: "
    "if no run differed from any other, one or more pairs would be significant with probability alpha.",
    tables=TABLES,
    joint=True,
)

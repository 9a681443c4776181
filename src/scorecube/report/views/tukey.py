"""View of the randomised Tukey HSD test."""

from __future__ import annotations

from scorecube.report.tables import pairs
from scorecube.report.views.pair_tests import PAIR_ROWS, TABLES, pair_test_view
from scorecube.report.views.view import Table

VIEW = pair_test_view(
    "tukey",
    "Randomised Tukey HSD test",
    "The scores of all runs are shuffled within each topic, and the largest difference between any two run means is kept. The p-value "
    "of a pair is the share of shuffles in which that largest difference is at least the pair's. It accounts for all pairs together if "
    "runs that do not differ can be exchanged for each other: then one or more of their pairs are significant with probability alpha. Where runs "
    "vary differently, the probability is larger: measured at alpha = 0.05, 0.05 to 0.12 on real scores with equal means, and 0.34 with one "
    "run of 30 that varies seven times as much as the others. The max-T test (scorecube maxt) needs no such condition; in the same simulations it erred less and found more pairs.",
    tables=TABLES | {"pairs": Table(pairs.joint_pairs, PAIR_ROWS)},
    joint=True,
)

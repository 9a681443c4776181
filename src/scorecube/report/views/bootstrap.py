"""View of the bootstrap test."""

from __future__ import annotations

from scorecube.report.tables import pairs
from scorecube.report.views.pair_tests import (
    ADJUSTED,
    PAIR_ROWS,
    TABLES,
    estimated_differences,
    pair_test_view,
)
from scorecube.report.views.questions import DIFFERENCE
from scorecube.report.views.view import Table

VIEW = pair_test_view(
    "bootstrap",
    "Bootstrap test",
    "Every pair of runs is compared on topics drawn anew with replacement. The achieved significance level (ASL) is the share of draws "
    "in which chance alone makes a t statistic as large as the observed one. A metric's discriminative power is the share of pairs "
    "with an ASL below alpha. Sakai's estimated difference is the largest, over all pairs, that chance alone reaches with probability alpha in that pair; "
    "a pair with a smaller difference can be significant. As the largest of many estimates it is too large on average, and no interval for it is known to hold. Pairs are tested one by one: of many "
    "pairs without any difference, a share of about alpha is expected to be significant (measured at 0.05 in simulations: 0.06 to 0.07 with 25 topics, 0.06 with 50).",
    tables=TABLES | {"pairs": Table(pairs.asl_pairs, PAIR_ROWS)} | ADJUSTED,
    answers={DIFFERENCE: estimated_differences},
)

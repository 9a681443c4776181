"""View of the randomisation test."""

from __future__ import annotations

from scorecube.report.views.pair_tests import pair_test_view

VIEW = pair_test_view(
    "randomisation",
    "Randomisation test",
    "If two runs did not differ, their scores on a topic could be exchanged. The p-value is the share of random exchanges that "
    "make the mean difference at least as large as the observed one. Pairs are tested one by one.",
)

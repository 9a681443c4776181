"""What people see of the randomisation test."""

from __future__ import annotations

from scorecube.report.views.pair_tests import pair_test_view

VIEW = pair_test_view(
    "randomisation",
    "Randomisation test",
    "If two runs were alike, their scores on a topic could as well be exchanged. The p-value is the share of random exchanges that "
    "make the mean difference at least as large as it was observed. Pairs are tested one by one.",
)

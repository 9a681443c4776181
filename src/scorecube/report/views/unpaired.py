"""View of the unpaired bootstrap test."""

from __future__ import annotations

from scorecube.report.views.pair_tests import pair_test_view

VIEW = pair_test_view(
    "unpaired",
    "Unpaired bootstrap test",
    "Each run's scores are drawn anew on their own, as if the two runs of a pair had different topics. The p-value is the share of "
    "draws in which chance alone makes the difference (for means, Welch's t) as large as the observed one. The test is less powerful "
    "than the paired one, but also serves summaries other than the mean: geometric means and area measures.",
)

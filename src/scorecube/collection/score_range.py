"""The range of scores, for readers that load no arrays until they need them."""

LARGEST_SCORE = 1e12
"""Largest absolute value of a score: sums of a million of them, their squares and what is divided by these are finite."""
SMALLEST_MAXIMUM = 1e-12
"""Smallest maximum of the absolute scores of a metric, unless all are 0: a metric whose scores are all smaller has lost its digits where it was written."""

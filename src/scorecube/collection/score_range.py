"""The range of scores, for readers that load no arrays until they need them."""

LARGEST_SCORE = 1e12
"""Largest absolute value of a score: squares of sums of a million of them are finite."""
SMALLEST_MAXIMUM = 1e-12
"""Smallest maximum of the scores of a metric, unless all are 0: smaller ones lost their digits."""

"""What results of tests of pairs of runs hold."""

from __future__ import annotations

from scorecube.analyses.variables import read_variables

_MOMENTS = """
    [metric gain run]
    mean | estimate | score | mean score of a run
    [metric gain pair]
    mean_difference | estimate | score | difference of means, first minus second run
    standard_error | standard_error:mean_difference | score | standard error of the difference
    t | statistic | 1 | t statistic, first run minus second; NaN for equal scores
    difference_low | low:mean_difference | score | lower 95 % limit of the difference
    difference_high | high:mean_difference | score | upper 95 % limit of the difference
    effect_size | estimate | 1 | difference / residual standard deviation (Sakai 2014)
    d_z | estimate | 1 | difference / standard deviation of the pair's differences over topics
    [metric gain]
    residual_variance | estimate | score^2 | residual variance of runs and topics
    n_tested | count | pairs | pairs that have a p-value
    degenerate_pairs = pairs with equal scores | count | pairs | no difference on any topic
    constant_pairs = pairs with a constant difference | count | pairs | one difference on all topics
"""
"""Of every test."""
_DECISIONS = """
    [metric gain{0} pair]
    p_value | p_value | 1 | p-value; with the bootstrap, achieved significance level
    p_value_holm | p_value | 1 | adjusted for the number of pairs (Holm 1979: family-wise error)
    p_value_bh | p_value | 1 | adjusted (Benjamini and Hochberg 1995: false discovery rate)
    [metric gain{0} alpha]
    significant = significant pairs | count | pairs | pairs with a p-value below alpha
    share = share of pairs | share | 1 .1% | discriminative power: share of pairs with p < alpha
    significant_better | count | runs | runs that are significantly better than the baseline
    significant_worse | count | runs | runs that are significantly worse than the baseline
    [metric gain{0} adjustment alpha]
    adjusted_significant | count | pairs | pairs with an adjusted p-value below alpha
    adjusted_share = share of pairs | share | 1 .1% | share of pairs with adjusted p < alpha
"""
"""Of one test, or of several along a dim."""
_TRIALS = """
    [metric gain pair]
    reached | count/i | trials | trials with a statistic at least as extreme as the observed one
    p_single | p_value | 1 | p-value of the pair by itself, by Student's t, two-sided
    moderated_error | standard_error:mean_difference | score | moderated standard error
    [metric gain alpha]
    estimated_difference | estimate | score .2f | largest difference at rank B alpha
    critical_value | statistic | 1 | moderated |t| that is exceeded with probability alpha
    critical_difference | estimate | score | range of means exceeded with probability alpha
    own_error_pairs | count | pairs | pairs that only their own errors would separate (t, Holm)
"""
"""Of tests that resample."""
_EQUIVALENCE = """
    [metric gain pair]
    equivalence_p_value | p_value | 1 | p-value of a difference of the margin or more
    difference_p_value | p_value | 1 | p-value of no difference: two-sided paired t test
    [metric gain alpha pair]
    verdict_on_pair | label/O | 1 | equivalent, different or inconclusive, by itself
    [metric gain adjustment alpha verdict]
    verdict_pairs | count | pairs | pairs of each verdict under each adjustment
"""
"""Of results with a margin."""
VARIABLES = read_variables(_MOMENTS + _DECISIONS.format("") + _TRIALS)
PAIRED = read_variables(_MOMENTS + _DECISIONS.format(" test") + _EQUIVALENCE)

"""What results of `Correlation` hold."""

from scorecube import names
from scorecube.collection.schema import CELL, limits, variables

METRIC_A, GAIN_A, METRIC_B, GAIN_B = "metric_a", "gain_a", "metric_b", "gain_b"
"""Coordinates along the dim comparison."""
QUARTILE = "quartile"
_PAIR = (names.COMPARISON,)
_PLACES = (names.GAIN, names.SYSTEM)
VARIABLES = (
    *variables(
        *(_PAIR, "estimate"), tau="Kendall's tau-a: (concordant - discordant) / all pairs of runs"
    ),
    *limits(
        *("tau", _PAIR, "1"),
        "{} limit of the tau to be expected between rankings from as many other topics",
        name="topics",
    ),
    *variables(
        *(_PAIR, "estimate"),
        tau_b="Kendall's tau-b, corrected for ties",
        tau_ap="AP correlation with the first ranking as the truth, mean over orders of ties",
        spearman="Spearman's rho with average ranks",
    ),
    *variables(_PAIR, "statistic", z="|tau| / its standard error between unrelated rankings"),
    *variables(
        *(_PAIR, "p_value"),
        p_value="two-sided p-value of z, normal distribution",
        p_exact="two-sided exact p-value; missing with ties or more than 60 runs",
    ),
    *limits("tau", _PAIR, "1", "{} limit of the interval by the null variance"),
    *variables(
        *(_PAIR, "flag"),
        exceeds_one="whether the interval by the null variance leaves the range of tau",
        marked="whether tau is marked, by the rule of the analysis",
        of_metrics="whether two metrics are compared at one gain setting",
        of_gains="whether two gain settings of a metric are compared",
    ),
    *variables(
        *(_PAIR, "count", "pairs"),
        concordant="pairs of runs in the same order in both rankings",
        discordant="pairs of runs in opposite orders in the two rankings",
        tied_pairs="pairs of runs tied in either ranking",
    ),
    *variables((*CELL, names.RUN), "estimate", "score", mean="mean score of a run"),
    *variables(_PLACES, "label", sorted_run="run at a place in the order of the first metric"),
    *variables(
        *((names.GAIN, names.METRIC, names.SYSTEM), "estimate", "score"),
        sorted_mean="mean score of the run at a place in the order of the first metric",
    ),
    *variables(
        *((names.GAIN, names.METRIC), "count", "runs"),
        swops='rises between neighbours in the order of the first metric (Sakai 2004: "swops")',
    ),
    *variables(*((*CELL, QUARTILE), "estimate", "score"), mean_quartile="quartiles of the means"),
)

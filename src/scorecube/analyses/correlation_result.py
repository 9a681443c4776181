"""What results of `Correlation` hold beside coefficients: runs in order, and why limits miss."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.analyses.table import Table
from scorecube.analyses.units import IntArray
from scorecube.collection.schema import read_variables

MOST_NAMED = 6
"""Comparisons that a note names."""
COMPARED = METRIC_A, GAIN_A, METRIC_B, GAIN_B = "metric_a", "gain_a", "metric_b", "gain_b"
"""Coordinates along the dim comparison."""
VARIABLES = read_variables("""
    [comparison]
    tau | estimate | 1 | Kendall's tau-a: (concordant - discordant) / all pairs of runs
    tau_b | estimate | 1 | Kendall's tau-b, corrected for ties
    tau_ap | estimate | 1 | AP correlation, the first ranking as truth, mean over orders of ties
    spearman | estimate | 1 | Spearman's rho with average ranks
    z | statistic | 1 | |tau| / its standard error between unrelated rankings
    p_value | p_value | 1 | two-sided p-value of z, normal distribution
    p_exact | p_value | 1 | two-sided exact p-value; missing with ties or more than 60 runs
    topics | limits:tau | 1 | limit of the tau from as many other topics
    tau | limits:tau | 1 | limit of the interval by the null variance
    exceeds_one | flag | 1 | whether the interval by the null variance leaves the range of tau
    marked | flag | 1 | whether tau is marked, by the rule of the analysis
    of_metrics | flag | 1 | whether two metrics are compared at one gain setting
    of_gains | flag | 1 | whether two gain settings of a metric are compared
    concordant | count | pairs | pairs of runs in the same order in both rankings
    discordant | count | pairs | pairs of runs in opposite orders in the two rankings
    tied_pairs | count | pairs | pairs of runs tied in either ranking
    [metric gain run]
    mean | estimate | score | mean score of a run
    [gain system]
    sorted_run | label | 1 | run at a place in the order of the first metric
    [gain metric system]
    sorted_mean | estimate | score | mean score of the run at that place
    [gain metric]
    swops | count | runs | rises between neighbours in that order
""")


def in_order(table: Table, above: IntArray) -> dict[str, Any]:
    """Return means, also in the order of the first metric, with swops (Sakai 2004)."""
    order = np.argsort(above[table.cell_of[0]], axis=-1, kind="stable")  # (gain, place)
    means, ranks = (of_cells[table.cell_of] for of_cells in (table.means, above))
    sorted_ranks = np.take_along_axis(ranks, order[np.newaxis], axis=-1)
    return {
        "mean": table.means,
        "sorted_run": np.array(table.runs, object)[order],
        "sorted_mean": np.take_along_axis(means, order[np.newaxis], axis=-1).swapaxes(0, 1),
        "swops": (np.diff(sorted_ranks, axis=-1) < 0).sum(axis=-1).T,
    }


def about_limits(table: Table, unlimited: list[Any]) -> list[str]:
    """Return why limits over topics are missing, by the labels of comparisons without any."""
    if not len(unlimited[0]):
        return []
    if not len(table.tables_left_out):
        return [f"{table.sizes.size} topics are too few for limits of tau over topics."]
    named = [
        f"{a} and {b}" if a != b else f"{a} with gains {g} and {h}"
        for a, g, b, h in zip(*unlimited, strict=True)
    ]
    shown = list(dict.fromkeys(named))
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return [
        "No limits over topics where tau is 1 or -1 with all or some of the topics: "
        f"{', '.join(shown[:MOST_NAMED])}{more}."
    ]

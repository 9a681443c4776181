"""Rank correlation between metrics and between gain settings.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document", section 4.1 and Tables 2 and 5; Sakai and Shang 2016, "On estimating variances for topic
set size design", ScoreTable 2; Sakai 2004, "New performance metrics based on multigrade relevance",
Tables 3 to 12 and section 4 (swops).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.pairs import above_by_cell
from scorecube.analyses.protocol import Analysis, Totals
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import IntArray
from scorecube.declare import (
    BEST_RUNS,
    OF_2007,
    Preset,
    Variable,
    View,
    along,
    limits_of,
    option_field,
)
from scorecube.errors import BadPlan
from scorecube.kernels.ranks import concordance, spearman, tau_ap
from scorecube.methods.correlate.view import VIEW
from scorecube.statistics.agreement import exact_p, null_error

MIN_RUNS = 3
"""Smallest number of runs for which correlations are computed."""
VARIABLES = (
    *along(
        ("comparison",),
        Variable(
            "tau", "estimate", "Kendall's tau-a: (concordant - discordant) / all pairs of runs"
        ),
        Variable("tau_b", "estimate", "Kendall's tau-b, corrected for ties", form=".2f"),
        Variable(
            "tau_ap",
            "estimate",
            "AP correlation, the first ranking as truth, mean over orders of ties",
            form=".2f",
            heading="tau_AP",
        ),
        Variable("spearman", "estimate", "Spearman's rho with average ranks", form=".2f"),
        Variable("z", "statistic", "size of tau / its standard error between unrelated rankings"),
        Variable("p_value", "p_value", "two-sided p-value of z, normal distribution"),
        Variable(
            "p_exact", "p_value", "two-sided exact p-value; missing with ties or more than 60 runs"
        ),
        limits_of("topics", "limit of the tau from as many other topics", of="tau"),
        limits_of("tau", "limit of the interval by the null variance"),
        Variable(
            "exceeds_one",
            "flag",
            "whether the interval by the null variance leaves the range of tau",
        ),
        Variable("of_metrics", "flag", "whether two metrics are compared at one gain setting"),
        Variable("of_gains", "flag", "whether two gain settings of a metric are compared"),
        Variable(
            "discordant", "count", "pairs of runs in opposite orders in the two rankings", "pairs"
        ),
        Variable("tied_pairs", "count", "pairs of runs tied in either ranking", "pairs"),
    ),
    *along(
        ("gain", "metric", "system"),
        Variable("sorted_mean", "estimate", "mean score of the run at that place", "score"),
    ),
    *along(
        ("gain", "metric"),
        Variable("swops", "count", "rises between neighbours in that order", "runs"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Correlation(Analysis):
    """Rank correlation between metrics, or between gains such as 3:2:1, with intervals.

    Equal means are ties. ``topics_low`` and ``topics_high`` are 95 % limits of the tau to be
    expected between both rankings of these runs from as many other topics (jackknife), not of the
    true rankings. ``tau_low`` and ``tau_high`` are the papers', by the variance between unrelated
    rankings, and may exceed 1.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> result = analyse(testing.simulate_cube(n_runs=12, seed=3), Correlation())
    >>> result["tau"].round(2).values.tolist()
    [0.94]
    """

    name: ClassVar[str] = "correlate"
    in_demo: ClassVar[Mapping[str, Any] | None] = {}
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("kendall1938", "yilmaz2008", "sakai2016")
    presets: ClassVar[Mapping[str, Preset]] = {
        "sakai-2007": Preset(gains=OF_2007, best_runs=BEST_RUNS),
        "sakai-shang-2016": Preset(gains=("3:1",)),
    }
    resamples: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("--every-gain",)

    every_gain: bool = option_field(
        False, "Compare gains in pairs, as Sakai 2004 does, not each with the first alone."
    )

    def notes(self, table: ScoreTable) -> list[str]:
        self.comparisons(table)
        runs = f"{len(table.runs)} {table.nouns.runs}"
        few = f"{runs} are too few for rank correlations: all are missing"
        return [*table.notes, *([few] if len(table.runs) < MIN_RUNS else [])]

    def comparisons(self, table: ScoreTable) -> IntArray:
        """Return positions of metric, gain, metric, gain: int64 (comparison, 4); metrics first."""
        n_gains = len(table.gains)
        of_metrics = list(combinations(range(len(table.metrics)), 2))
        of_gains = list(combinations(range(n_gains), 2))[: None if self.every_gain else n_gains - 1]
        with_gains = np.flatnonzero(table.uses_gains).tolist()
        compared = [(i, gain, j, gain) for gain, (i, j) in product(range(n_gains), of_metrics)]
        compared += [(metric, a, metric, b) for metric, (a, b) in product(with_gains, of_gains)]
        if not compared:
            has = f"{', '.join(table.metrics)} at gain setting {', '.join(table.gains)}"
            raise BadPlan(
                f"nothing to correlate: two metrics or gain settings are needed; found {has}"
            )
        return np.array(compared, np.int64)

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        compared = self.comparisons(table)
        above = above_by_cell(table)
        values = coefficients(table, above, compared)
        for array in values.values():
            if len(table.runs) < MIN_RUNS and array.dtype.kind == "f":
                array[:] = np.nan
        values["exceeds_one"] = values["tau_high"] > 1
        values["of_metrics"] = compared[:, 0] != compared[:, 2]
        values["of_gains"] = ~values["of_metrics"]
        compared_names = "metric_a", "gain_a", "metric_b", "gain_b"
        of_dims = [np.array(labels, object) for labels in (table.metrics, table.gains) * 2]
        coords: dict[str, Any] = {
            name: (names.COMPARISON, labels[places])
            for name, labels, places in zip(compared_names, of_dims, compared.T, strict=True)
        }
        notes = list[str]()
        if (np.isnan(values["topics_low"]) & ~np.isnan(values["tau"])).any():
            topics = table.nouns.topics
            notes.append(
                f"No limits of tau where it is 1 without some {topics}, or {topics} are few."
            )
        attrs = {"trials": 0, "confidence": jackknife.CONFIDENCE, "sorted_by": table.metrics[0]}
        coords[names.SYSTEM] = np.arange(len(table.runs)) + 1
        values |= in_order(table, above)
        return table.dataset(VARIABLES, values, coords, attrs | {"notes": notes})


def coefficients(table: ScoreTable, above: IntArray, compared: IntArray) -> dict[str, Any]:
    """Return coefficients with limits, and counts of pairs of runs, (comparison,) each."""
    from scipy.special import ndtr

    at = tuple(table.cell_of[compared[:, k], compared[:, k + 1]] for k in (0, 2))
    pairs = concordance(above)
    n_runs = len(table.runs)
    tau = pairs.tau_a()[at]
    untied = pairs.untied[at]
    difference = pairs.difference[at]
    left_out = [concordance(above_by_cell(part)).tau_a()[at] for part in table.tables_left_out]
    low, high = jackknife.limits(tau, np.array(left_out), "atanh")
    discordant = (untied - difference) // 2
    orders = zip((untied - discordant).tolist(), discordant.tolist(), strict=True)
    error = null_error(n_runs)
    z = np.abs(tau) / error
    margin = NormalDist().inv_cdf((1 + jackknife.CONFIDENCE) / 2) * error
    return {
        "tau": tau,
        "topics_low": low,
        "topics_high": high,
        "tau_b": pairs.tau_b()[at],
        "tau_ap": np.array([tau_ap(above[a], above[b]) for a, b in zip(*at, strict=True)]),
        "spearman": spearman(above)[at],
        "z": z,
        "p_value": 2 * ndtr(-z),
        "p_exact": np.array([exact_p(n_runs, *order) for order in orders]),
        "tau_low": tau - margin,
        "tau_high": tau + margin,
        "discordant": discordant,
        "tied_pairs": pairs.n_pairs - untied,
    }


def in_order(table: ScoreTable, above: IntArray) -> dict[str, Any]:
    """Return means in the order of the first metric, with swops (Sakai 2004)."""
    order = np.argsort(above[table.cell_of[0]], axis=-1, kind="stable")  # (gain, place)
    means, ranks = (of_cells[table.cell_of] for of_cells in (table.means, above))
    sorted_ranks = np.take_along_axis(ranks, order[np.newaxis], axis=-1)
    return {
        "sorted_mean": np.take_along_axis(means, order[np.newaxis], axis=-1).swapaxes(0, 1),
        "swops": (np.diff(sorted_ranks, axis=-1) < 0).sum(axis=-1).T,
    }

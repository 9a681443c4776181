"""Rank correlation between metrics and between gain settings.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document", section 4.1 and Tables 2 and 5; Sakai and Shang 2016, "On estimating variances for topic
set size design", Table 2; Sakai 2004, "New performance metrics based on multigrade relevance",
Tables 3 to 12 and section 4 (swops).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.correlation_result import COMPARED, VARIABLES, about_limits, in_order
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Analysis, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.units import IntArray
from scorecube.errors import BadPlan, counted
from scorecube.kernels.ranks import concordance, ranks_above, spearman, tau_ap
from scorecube.statistics.kendall_tau import exact_p, null_error

MIN_RUNS = 3
"""Smallest number of runs for which correlations are computed."""


@dataclass(frozen=True, kw_only=True)
class Correlation(Analysis):
    """Rank correlation between metrics, and between gain settings, with intervals.

    Equal means are ties. ``topics_low`` and ``topics_high`` are limits of the tau to be expected
    between both rankings of these runs from as many other topics (jackknife), not of the true
    rankings. ``tau_low`` and ``tau_high`` are the papers', by the variance between unrelated
    rankings, and may exceed 1.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=12, seed=3), Correlation())
    >>> result["tau"].round(2).values.tolist()
    [0.94]
    """

    name: ClassVar[str] = "correlate"
    resamples: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("--confidence 0.9",)

    every_gain: bool = option_field(
        False, "Compare every two gain settings, as Sakai 2004 does, not each with the first alone."
    )
    confidence: float = option_field(0.95, "Confidence level of all intervals.", above=0, below=1)
    bold: float | None = option_field(
        None, "Mark values of tau above it; by default those whose interval exceeds 1."
    )

    def notes(self, table: Table) -> list[str]:
        self.comparisons(table)
        few = f"{len(table.runs)} runs are too few for rank correlations: all are missing"
        return [*table.notes, *([few] if len(table.runs) < MIN_RUNS else [])]

    def comparisons(self, table: Table) -> IntArray:
        """Return positions of metric, gain, metric, gain: int64 (comparison, 4); metrics first."""
        n_metrics, n_gains = len(table.metrics), len(table.gains)
        of_metrics, of_gains = (list(combinations(range(n), 2)) for n in (n_metrics, n_gains))
        if not self.every_gain:
            of_gains = of_gains[: n_gains - 1]
        with_gains = np.flatnonzero(table.uses_gains).tolist()
        compared = [(i, gain, j, gain) for gain in range(n_gains) for i, j in of_metrics]
        compared += [(metric, a, metric, b) for metric in with_gains for a, b in of_gains]
        if not compared:
            raise BadPlan(
                f"nothing to correlate: found {counted(n_metrics, 'metric')}, {len(with_gains)} of "
                f"them with gains, and {counted(n_gains, 'gain setting')}; "
                "add metrics or gain settings"
            )
        return np.array(compared, np.int64)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        compared, above = self.comparisons(table), above_by_cell(table)
        values = self.coefficients(table, above, compared)
        for array in values.values():
            if len(table.runs) < MIN_RUNS and array.dtype.kind == "f":
                array[:] = np.nan
        values["exceeds_one"] = values["tau_high"] > 1
        values["marked"] = values["exceeds_one"] if self.bold is None else values["tau"] > self.bold
        values["of_metrics"] = compared[:, 0] != compared[:, 2]
        values["of_gains"] = ~values["of_metrics"]
        of_dims = [np.array(labels, object) for labels in (table.metrics, table.gains) * 2]
        coords: dict[str, Any] = {
            name: (names.COMPARISON, labels[places])
            for name, labels, places in zip(COMPARED, of_dims, compared.T, strict=True)
        }
        unlimited = np.isnan(values["topics_low"]) & ~np.isnan(values["tau"])
        notes = about_limits(table, [coords[name][1][unlimited] for name in COMPARED])
        attrs = {"trials": 0, "confidence": self.confidence, "sorted_by": table.metrics[0]}
        coords[names.SYSTEM] = np.arange(len(table.runs)) + 1
        values |= in_order(table, above)
        return table.dataset(VARIABLES, values, coords, attrs | {"notes": notes})

    def coefficients(self, table: Table, above: IntArray, compared: IntArray) -> dict[str, Any]:
        """Return coefficients with limits, and counts of pairs of runs, (comparison,) each."""
        from scipy.special import ndtr

        at = tuple(table.cell_of[compared[:, k], compared[:, k + 1]] for k in (0, 2))
        pairs, n_runs = concordance(above), len(table.runs)
        tau, untied, difference = pairs.tau_a()[at], pairs.untied[at], pairs.difference[at]
        left_out = [concordance(above_by_cell(part)).tau_a()[at] for part in table.tables_left_out]
        low, high = jackknife.limits(tau, np.array(left_out), "atanh", self.confidence)
        concordant, discordant = (untied + difference) // 2, (untied - difference) // 2
        orders = zip(concordant.tolist(), discordant.tolist(), strict=True)
        error = null_error(n_runs)
        z = np.abs(tau) / error
        margin = NormalDist().inv_cdf((1 + self.confidence) / 2) * error
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
            "concordant": concordant,
            "discordant": discordant,
            "tied_pairs": pairs.n_pairs - untied,
        }


def above_by_cell(table: Table) -> IntArray:
    """Return the number of runs with a better mean than each run, int64 (cell, run).

    Sums that differ by up to a unit of the grid a topic are ties.
    """
    sums = table.units.sum(axis=-1) * np.where(table.higher, 1.0, -1.0)[:, np.newaxis]
    return ranks_above(sums, table.sizes.size)

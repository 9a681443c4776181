"""Rank correlation between metrics and between gain settings.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document", section 4.1
and Tables 2 and 5; Sakai and Shang 2016, "On estimating variances for topic set size design", Table 2; Sakai 2004,
"New performance metrics based on multigrade relevance", Tables 3 to 12 and section 4 (swops).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.correlation_quantities import (
    GAIN_A,
    GAIN_B,
    METRIC_A,
    METRIC_B,
    QUARTILE,
    VARIABLES,
)
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.protocol import Part, TableAnalysis, Totals
from scorecube.analyses.sorted_means import QUARTILES, in_order
from scorecube.analyses.table import Table
from scorecube.errors import BadPlan, counted
from scorecube.kernels.ranks import Concordance, concordance, ranks_above, spearman, tau_ap
from scorecube.statistics.kendall_tau import exact_p, normal_p, null_error

IntArray = NDArray[np.int64]
MIN_RUNS = 3
"""Smallest number of runs for which correlations are computed."""


@dataclass(frozen=True, kw_only=True)
class Correlation(TableAnalysis):
    """Rank correlation between metrics, and between gain settings, with intervals.

    The coefficients are Kendall's tau, tau-b, tau-AP and Spearman's rho. Pairs of runs with equal means are ties.
    Estimand of ``topics_low`` and ``topics_high``: the tau to be expected between both rankings of these runs from as
    many other topics (delete-group jackknife on the scale of atanh), not that of the true rankings. ``tau_low`` and
    ``tau_high`` are the papers' limits by the variance between unrelated rankings, and may exceed 1.

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
    confidence: float = level_field(
        names.CONFIDENCE, 0.95, "Confidence level of all intervals.", finalize=True
    )
    bold: float | None = option_field(
        None,
        "Mark values of tau above it; by default those whose interval exceeds 1.",
        detail="Sakai 2007, Table 5 marks values above 0.8, Sakai 2004 above 0.99; the default is that of Sakai and "
        "Shang 2016, Table 2, about intervals by the null variance.",
        finalize=True,
    )

    def notes(self, table: Table) -> list[str]:
        self.comparisons(table)
        few = f"{len(table.runs)} runs are too few for rank correlations: all are missing"
        return [*table.notes, *([few] if len(table.runs) < MIN_RUNS else [])]

    def comparisons(self, table: Table) -> IntArray:
        """Return positions of metric, gain, metric, gain: int64 (comparison, 4), those between metrics first."""
        n_metrics, n_gains = len(table.metrics), len(table.gains)
        metrics, gains = (
            list(combinations(range(n_metrics), 2)),
            list(combinations(range(n_gains), 2)),
        )
        if not self.every_gain:
            gains = gains[: n_gains - 1]
        found = [(i, g, j, g) for g in range(n_gains) for i, j in metrics]
        found += [(i, a, i, b) for i in range(n_metrics) if table.uses_gains[i] for a, b in gains]
        if not found:
            raise BadPlan(
                f"nothing to correlate: found {counted(n_metrics, 'metric')}, {int(table.uses_gains.sum())} of them "
                f"with gains, and {counted(n_gains, 'gain setting')}; add metrics or gain settings"
            )
        return np.array(found, np.int64)

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return {}

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        compared = self.comparisons(table)
        first, second = (table.cell_of[compared[:, k], compared[:, k + 1]] for k in (0, 2))
        above = above_by_cell(table)
        found = concordance(above)
        without = [concordance(above_by_cell(each)) for each in table.tables_left_out]
        tau = found.tau_a()[first, second]
        replicates = np.array([each.tau_a()[first, second] for each in without])
        low, high = jackknife.limits(tau, replicates, "atanh", self.confidence)
        values: dict[str, Any] = {
            "tau": tau,
            "topics_low": low,
            "topics_high": high,
            "tau_b": found.tau_b()[first, second],
            "tau_ap": np.array(
                [tau_ap(above[a], above[b]) for a, b in zip(first, second, strict=True)]
            ),
            "spearman": spearman(above)[first, second],
            **self.by_null_variance(tau, len(table.runs)),
        }
        counts = counts_of(found, first, second)
        values["p_exact"] = np.array(
            [
                exact_p(len(table.runs), int(a), int(b))
                for a, b in zip(counts["concordant"], counts["discordant"], strict=True)
            ]
        )
        if len(table.runs) < MIN_RUNS:
            values = {name: np.full(len(tau), np.nan) for name in values}
        values["exceeds_one"] = values["tau_high"] > 1
        values["marked"] = values["exceeds_one"] if self.bold is None else values["tau"] > self.bold
        values["of_metrics"] = compared[:, 0] != compared[:, 2]
        values["of_gains"] = ~values["of_metrics"]
        coords = comparison_labels(table, compared)
        coords |= {QUARTILE: list(QUARTILES), names.SYSTEM: np.arange(len(table.runs)) + 1}
        attrs = {"trials": 0, "confidence": self.confidence, "sorted_by": table.metrics[0]}
        return table.dataset(VARIABLES, values | counts | in_order(table, above), coords, attrs)

    def by_null_variance(self, tau: Any, n_runs: int) -> dict[str, Any]:
        """Return z, its p-value and the papers' limits, (comparison,) each."""
        error, quantile = null_error(n_runs), NormalDist().inv_cdf((1 + self.confidence) / 2)
        z = np.abs(tau) / error
        margin = quantile * error
        return {"z": z, "p_value": normal_p(z), "tau_low": tau - margin, "tau_high": tau + margin}


def above_by_cell(table: Table) -> IntArray:
    """Return the number of runs with a better mean than each run, int64 (cell, run); sums that differ by up to a unit of the grid a topic are ties."""
    sums = table.units.sum(axis=-1) * np.where(table.higher, 1.0, -1.0)[:, np.newaxis]
    return ranks_above(sums, table.sizes.size)


def counts_of(found: Concordance, first: IntArray, second: IntArray) -> dict[str, IntArray]:
    """Return the numbers of pairs of runs of each kind, int64 (comparison,)."""
    untied, difference = found.untied[first, second], found.difference[first, second]
    return {
        "concordant": (untied + difference) // 2,
        "discordant": (untied - difference) // 2,
        "tied_pairs": found.n_pairs - untied,
    }


def comparison_labels(table: Table, compared: IntArray) -> dict[str, Any]:
    """Return the labels of comparisons as coordinates."""
    labels = (table.metrics, table.gains, table.metrics, table.gains)
    columns = zip((METRIC_A, GAIN_A, METRIC_B, GAIN_B), labels, compared.T, strict=True)
    return {
        name: (names.COMPARISON, np.array(of_dim, object)[place]) for name, of_dim, place in columns
    }

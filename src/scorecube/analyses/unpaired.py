"""Unpaired two-sample bootstrap test, also of geometric means and areas.

References: Sakai 2006, "Evaluating evaluation metrics based on the bootstrap", section 3.2; Sakai
2007, section 4.3, footnote; Efron and Tibshirani 1993, chapter 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import CONFIDENCE, RunPairs, scale_of
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Totals
from scorecube.analyses.single_tests import SingleTest, squared_t
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import LOG_UNITS, area_measures
from scorecube.analyses.units import FloatArray
from scorecube.collection.topic_means import log_scores
from scorecube.errors import BadPlan
from scorecube.kernels.random.draws import Sampling, topic_counts, topic_samples
from scorecube.kernels.tails import ROUNDING, largest
from scorecube.names import Purpose
from scorecube.statistics.grid import EQUAL


@dataclass(frozen=True, kw_only=True)
class Unpaired(SingleTest):
    """Unpaired bootstrap test of all pairs of runs, also of geometric means and areas.

    The scores of both runs are shifted to a common summary and resampled with separate draws of
    topics. The statistic is Welch's t for means, and the difference for geometric means (shifted on
    the logarithmic scale) and area measures.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Unpaired(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "unpaired"
    examples: ClassVar[tuple[str, ...]] = ("--summary geo --seed 1",)

    summary: Literal["mean", "geo", "area"] = option_field(
        "mean",
        "Of the scores of a run: mean, geometric mean (of scores of at least 1e-5), or area, that "
        "of the worst quarter of its topics.",
    )

    def notes(self, table: Table) -> list[str]:
        if self.summary != "mean" and table.n_topics != table.sizes.size:
            raise BadPlan("only means are defined of topics in groups or bags", option="summary")
        return super().notes(table)

    def resampled(self, table: Table, cell: int) -> Any:
        """Return the summaries of the runs of a cell, in both samples of each trial.

        Returns values: float64 (half, run, trial): less the observed one.
        Returns centres, scales: float64 (run,): observed; by those of both runs, differences of
            values are multiplied.
        Returns units: of values, and of the differences that are wanted.
        Returns spreads: Of means, sums of squares (half, run, trial) and (run,), and their units.
        """
        n, key, kind = table.sizes.size, table.key(Purpose.UNPAIRED_TOPICS), Sampling.REPLACEMENT
        drawn = table.once("halves", lambda: topic_counts(key, int(kind), n, n, 0, table.trials))
        counts, scores, x = drawn.swapaxes(1, 2), table.values[cell], table.units[cell]
        one, least = np.ones(len(scores)), EQUAL * scale_of(table, cell)
        if self.summary == "mean":
            total, sums, units = x.sum(axis=1), x @ counts, (table.grids[cell].unit / n, least)
            of_trials, spread = (x * x) @ counts - sums * sums / n, (x * x).sum(axis=1)
            spreads = of_trials, spread - total * total / n, n
            return sums - total[:, np.newaxis], total, one, units, spreads
        if self.summary == "geo":
            logs = np.rint(log_scores(scores) * LOG_UNITS)
            total = logs.sum(axis=1)
            values = np.exp((logs @ counts - total[:, np.newaxis]) / (LOG_UNITS * n))
            centres = np.exp(total / (LOG_UNITS * n))
            return values, centres, np.sqrt(centres), (1.0, least), None
        centres = areas(scores, np.ones((n, 1)))[:, 0]
        values = np.stack([areas(scores, half) for half in counts]) - centres[:, np.newaxis]
        return values, centres, one, (1.0, least), None

    def tail(self, resampled: Any, pairs: RunPairs, ranks: Any, needed: FloatArray) -> Any:
        values, centres, scales, (unit, least), spreads = resampled
        a, b = pairs
        moved = np.abs(values[0, a] - values[1, b]) * (scales[a] * scales[b])[:, np.newaxis]
        statistics, edges = moved, np.abs(centres[a] - centres[b])
        if spreads is None:
            edges = edges - least
        else:
            of_trials, spread, n = spreads
            statistics = squared_t(moved, of_trials[0, a] + of_trials[1, b], n)
            edges = squared_t(edges, spread[a] + spread[b], n) * (1 - ROUNDING)
        for level, kth in enumerate(largest(statistics, ranks)):
            trial = (statistics == kth[:, np.newaxis]).argmax(axis=1)
            wanted = moved[np.arange(len(a)), trial].max() * unit
            needed[level] = max(needed[level], np.rint(wanted / least))
        return (edges <= statistics.T).sum(axis=0)

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        least = [[EQUAL * scale_of(table, cell)] for cell in range(len(table.scores))]
        return {"estimated_difference": totals["needed"] * np.array(least)}

    def estimates(self, table: Table) -> dict[str, Any]:
        from scipy.special import stdtrit

        (a, b), values, n = self.pairs(table), super().estimates(table), table.sizes.size
        still, variances = np.ptp(table.values, axis=-1) == 0, np.full(table.means.shape, np.nan)
        if self.summary == "mean":
            variances = np.where(still, 0.0, table.values.var(axis=-1, ddof=1) / n)
        elif self.summary == "geo":
            values["mean"] = np.exp(log_scores(table.values).mean(axis=-1))
        else:
            values["mean"] = np.stack([areas(x, np.ones((n, 1)))[:, 0] for x in table.values])
        difference = values["mean"][:, a] - values["mean"][:, b]
        error = np.sqrt(variances[:, a] + variances[:, b])
        margin = stdtrit(n - 1, (1 + CONFIDENCE) / 2) * error
        with np.errstate(divide="ignore", invalid="ignore"):
            t = difference / error
        del values["d_z"]  # is of paired differences
        return values | {
            "mean_difference": difference,
            "standard_error": error,
            "t": t,
            "difference_low": difference - margin,
            "difference_high": difference + margin,
            "effect_size": values["effect_size"] + 0 * margin,
            "constant_pairs": (still[:, a] & still[:, b] & (difference != 0)).sum(axis=1),
        }

    def drawn(self, table: Table) -> xr.Dataset:
        n, key = table.sizes.size, table.key(Purpose.UNPAIRED_TOPICS)
        positions = topic_samples(key, int(Sampling.REPLACEMENT), n, n, 0, table.trials)
        dims = names.TRIAL, names.HALF, names.DRAW
        return xr.Dataset({names.TOPIC_SAMPLE: (dims, positions)})


def areas(scores: FloatArray, drawn: FloatArray) -> FloatArray:
    """Return the area measures of samples, (run, sample), of scores (run, unit).

    drawn: float64 (unit, sample): how often a unit is in a sample.
    """
    return np.stack([area_measures(row, drawn, len(drawn)) for row in scores])

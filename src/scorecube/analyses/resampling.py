"""Paired bootstrap and randomisation tests of pairs of runs.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document", section 4.3; Efron and Tibshirani 1993, chapter 16; Fisher 1935; Smucker, Allan and
Carterette 2007, "A comparison of statistical significance tests for information retrieval
evaluation".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import RunPairs
from scorecube.analyses.few_topics import FEW_TOPICS, binary_notes
from scorecube.analyses.maxima import drawn_counts
from scorecube.analyses.single_tests import SingleTest, squared_t
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.random.draws import bootstrap_samples, sign_columns
from scorecube.kernels.tails import ROUNDING, absolute, differences_at, largest, studentised, widest


@dataclass(frozen=True, kw_only=True)
class Bootstrap(SingleTest):
    """Bootstrap test of all pairs of runs, with the estimated required difference.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs. With w
    the centred per-topic differences of a pair, t* is the t statistic of w on the drawn topics; the
    achieved significance level (ASL) is the share of trials with ``|t*| >= |t|`` (Sakai 2007,
    Figures 5 and 6). The estimated difference at alpha is the largest, over pairs, of the absolute
    mean difference in the trial with the (B alpha)-th largest ``|t*|`` (Sakai 2007, Figure 7).

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Bootstrap(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "bootstrap"
    examples: ClassVar[tuple[str, ...]] = ("--trials 1000 --alpha 0.05,0.01 --seed 1",)

    def notes(self, table: Table) -> list[str]:
        notes, n = binary_notes(table), table.sizes.size
        if n < FEW_TOPICS:
            notes.append(
                f"{n} topics are few for a bootstrap test: with 10 topics and skewed differences "
                "it rejected a true hypothesis in 6% to 60% of simulated tests at alpha 0.05; the "
                "randomisation test is exact where two runs are exchangeable"
            )
        return notes

    def resampled(self, table: Table, cell: int) -> tuple[FloatArray, ...]:
        """Return the scores, how often units are drawn, and the sums of the scores drawn."""
        counts = table.once("counts", lambda: drawn_counts(table, 0, table.trials)[0])
        return table.units[cell], counts, self.sums(table, cell, counts)

    def tail(self, resampled: Any, pairs: RunPairs, ranks: Any, needed: FloatArray) -> Any:
        units, counts, sums = resampled
        z, n = units[pairs[0]] - units[pairs[1]], float(len(counts))
        totals, squares, statistics = z.sum(axis=1), (z * z).sum(axis=1), (z * z) @ counts
        spread = squares - totals * totals / n
        spread[spread <= ROUNDING * squares] = 0.0
        edges = squared_t(totals, spread, n) * (1 - ROUNDING)
        reached, most = np.empty(len(z), np.int32), np.empty(len(z))
        studentised(pairs, sums, (totals, edges), n, statistics, reached)
        widest(pairs, sums, totals, most)
        # In no trial of the other pairs is the difference as large.
        beyond = np.flatnonzero(most > needed.min())
        if len(beyond):
            chosen = pairs[0][beyond], pairs[1][beyond]
            apart, rows = np.empty(len(beyond)), statistics[beyond]
            for level, kth in enumerate(largest(rows, ranks)):
                differences_at(chosen, sums, totals[beyond], rows, kth, apart)
                needed[level] = max(needed[level], apart.max())
        return reached

    def drawn(self, table: Table) -> xr.Dataset:
        key, n = table.key(names.Purpose.BOOTSTRAP_TOPICS), table.sizes.size
        positions = bootstrap_samples(key, n, 0, table.trials)[:, 0]
        return xr.Dataset({names.TOPIC_SAMPLE: ((names.TRIAL, names.DRAW), positions)})


@dataclass(frozen=True, kw_only=True)
class Randomisation(SingleTest):
    """Paired randomisation (sign-flip) test of all pairs of runs.

    A trial draws a sign for each topic, shared by all metrics, gain settings and pairs; the p-value
    is the share of trials in which the mean difference with these signs is at least as large as the
    observed one. The t statistic gives the same test, as the sum of squares does not change.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> analyse(cube, Randomisation(), trials=200)["significant"].shape
    (2, 1, 2)
    """

    name: ClassVar[str] = "randomisation"
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --seed 1",)

    def resampled(self, table: Table, cell: int) -> tuple[FloatArray, ...]:
        """Return the scores, and their sums with the signs of each trial."""
        signs = table.once("signs", lambda: drawn_signs(table).astype(float))
        return table.units[cell], self.sums(table, cell, signs)

    def tail(self, resampled: Any, pairs: RunPairs, ranks: Any, needed: FloatArray) -> Any:
        units, sums = resampled
        # A difference of sums of at most n units is a tie.
        edges = np.abs((units[pairs[0]] - units[pairs[1]]).sum(axis=1)) - units.shape[1]
        statistics, reached = np.empty((len(edges), sums.shape[1])), np.empty(len(edges), np.int32)
        absolute(pairs, sums, edges, statistics, reached)
        # The statistic is the difference.
        np.maximum(needed, largest(statistics, ranks).max(axis=1), out=needed)
        return reached

    def drawn(self, table: Table) -> xr.Dataset:
        signs = drawn_signs(table).T.astype(np.int8)
        return xr.Dataset({names.TOPIC_SIGN: ((names.TRIAL, "unit"), signs)})


def drawn_signs(table: Table) -> Any:
    """Return the sign of each unit in each trial, (unit, trial)."""
    return sign_columns(table.key(names.Purpose.TOPIC_SIGNS), table.sizes.size, 0, table.trials)

"""Paired bootstrap hypothesis test.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document", section 4.3; Efron and Tibshirani 1993, chapter 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_results import Pairs
from scorecube.analyses.pairs import TILE, PairTest, drawn_counts
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.random.draws import bootstrap_samples
from scorecube.kernels.tails import ROUNDING, differences_at, largest, studentised, widest

FEW_TOPICS = 25
"""Topics below which a warning is printed."""


@dataclass(frozen=True, kw_only=True)
class Bootstrap(PairTest):
    """Bootstrap test of all pairs of runs, with the estimated required difference.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs. With w
    the centred per-topic differences of a pair, t* is the t statistic of w on the drawn topics; the
    achieved significance level (ASL) is the share of trials with ``|t*| >= |t|`` (Sakai 2007,
    Figures 5 and 6). The estimated difference at alpha is the largest, over pairs, of the absolute
    mean difference in the trial with the (B alpha)-th largest ``|t*|`` (Sakai 2007, Figure 7).

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> test = Bootstrap(alphas=(0.05,))
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), test, trials=200, seed=1)
    >>> result["p_value"].sel(metric="AP").shape
    (1, 15)
    """

    name: ClassVar[str] = "bootstrap"
    few_binary: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 1000 --alpha 0.05,0.01 --seed 1",)

    def notes(self, table: Table) -> list[str]:
        few = table.sizes.size < FEW_TOPICS
        text = (
            f"{table.sizes.size} topics are few for a bootstrap test: with 10 topics and skewed "
            "differences it rejected a true hypothesis in 6% to 60% of simulated tests at alpha "
            "0.05; the randomisation test is exact where two runs are exchangeable"
        )
        return [*super().notes(table), *([text] if few else [])]

    def tails(
        self, table: Table, cell: int, pairs: Pairs, ranks: Any, counted_in: tuple[Any, Any]
    ) -> None:
        units, (reached, needed) = table.units[cell], counted_in
        counts = table.once("counts", lambda: drawn_counts(table, 0, table.trials)[0])
        n, sums = float(units.shape[1]), self.sums(table, cell, counts)
        # Pairs that vary most first: their trials decide what is needed.
        order = np.argsort(-np.var(units[pairs[0]] - units[pairs[1]], axis=1), kind="stable")
        room = np.empty((min(TILE, len(order)), counts.shape[1]))
        for low in range(0, len(order), TILE):
            place = order[low : low + TILE]
            tile = pairs[0][place], pairs[1][place]
            z = units[tile[0]] - units[tile[1]]
            totals, squares, statistics = z.sum(axis=1), z * z, room[: len(z)]
            np.matmul(squares, counts, out=statistics)
            edges = observed(totals, squares.sum(axis=1), n) * (1 - ROUNDING)
            of_tile, most = np.empty(len(z), np.int32), np.empty(len(z))
            studentised(tile, sums, (totals, edges), n, statistics, of_tile)
            reached[place] = of_tile
            widest(tile, sums, totals, most)
            # In no trial of the other pairs is the difference as large.
            beyond = np.flatnonzero(most > needed.min())
            if len(beyond):
                chosen = tile[0][beyond], tile[1][beyond]
                moved, rows = np.empty(len(beyond)), statistics[beyond]
                for level, kth in enumerate(largest(rows, ranks)):
                    differences_at(chosen, sums, totals[beyond], rows, kth, moved)
                    needed[level] = max(needed[level], moved.max())

    def drawn(self, table: Table) -> xr.Dataset:
        key, n = table.key(names.Purpose.BOOTSTRAP_TOPICS), table.sizes.size
        positions = bootstrap_samples(key, n, 0, table.trials)[:, 0]
        return xr.Dataset({names.TOPIC_SAMPLE: ((names.TRIAL, names.DRAW), positions)})


def observed(totals: FloatArray, squares: FloatArray, n: float) -> FloatArray:
    """Return the observed squared t of pairs, up to a factor.

    0 for equal means, infinite for a constant difference.
    """
    moved = np.where(np.abs(totals) > n, totals, 0.0)
    spread = squares - totals * totals / n
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = moved * moved / np.where(spread <= ROUNDING * squares, 0.0, spread)
    return np.where(moved == 0.0, 0.0, statistic)

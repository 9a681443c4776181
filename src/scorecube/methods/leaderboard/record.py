"""Leaderboards: means of runs with limits, rank sets, groups, a baseline; sets of estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from scorecube import names
from scorecube.analyses.pairs import binary_notes, check_pairs, pairs_of
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Part, Totals
from scorecube.analyses.step_down import (
    bytes_of_families,
    critical_value,
    families_of,
    maxima_block,
)
from scorecube.analyses.table import ScoreTable, by_cell
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.schema import label_array
from scorecube.declare import Variable, View, along, limits_of, option_field
from scorecube.errors import BadPlan
from scorecube.kernels.random.philox import stream_key
from scorecube.methods.leaderboard import rows as rows_of
from scorecube.methods.leaderboard.view import RUNS_OF_ONE
from scorecube.statistics.rank_sets import competition_ranks, normal_step_down, rank_limits

VARIABLES = (
    *along(
        ("metric", "gain", "run"),
        Variable("mean", "estimate", "mean score of a run", "score"),
        limits_of("mean", "limit of the mean, of this run by itself", "score"),
        Variable(
            "limits_reason",
            "label",
            "why the mean has no limits; empty where it has some",
            kinds="O",
        ),
        Variable("leads", "flag", "whether no run has a better mean"),
        Variable(
            "rank",
            "estimate",
            "rank of the mean, 1 for the best; the best rank of ties",
            kinds="iu",
        ),
        Variable("rank_low", "low", "best rank of the confidence set", of="rank", kinds="iu"),
        Variable("rank_high", "high", "worst rank of the confidence set", of="rank", kinds="iu"),
        Variable(
            "groups",
            "label",
            "groups of a run: letters, or numbers where there are more than letters",
        ),
        Variable("difference", "estimate", "mean minus that of the baseline", "score"),
        limits_of(
            "joint",
            "simultaneous limit of the difference, of all runs together",
            "score",
            of="difference",
        ),
        limits_of("difference", "95 % limit of the difference of the run by itself", "score"),
        Variable("p_baseline", "p_value", "adjusted p-value of the difference from the baseline"),
        Variable("better", "flag", "whether a run is significantly better than the baseline"),
        Variable("worse", "flag", "whether a run is significantly worse than the baseline"),
        Variable(
            "mean_rank", "estimate", "mean of the ranks in the collections (Borda); no limits hold"
        ),
    ),
    *along(
        ("metric", "gain"),
        limits_of(
            "leader",
            "limit of the mean of whichever run leads, chosen by its mean",
            "score",
            of="mean",
        ),
        Variable(
            "separated_neighbours",
            "count",
            "neighbours in the order of means that are separated",
            "pairs",
        ),
        Variable(
            "own_error_pairs",
            "count",
            "pairs that only their own errors would separate (t, Holm)",
            "pairs",
        ),
    ),
    *along(
        ("metric", "gain", "collection", "run"),
        Variable("collection_mean", "estimate", "mean score in a collection", "score"),
        limits_of("collection_mean", "limit of the mean in a collection", "score"),
    ),
    *along(("collection",), Variable("weight", "share", "weight of a collection")),
)


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Analysis):
    """Leaderboard: runs, best first, with limits of means, rank sets, and groups.

    Estimands: the mean score of each run over infinitely many topics like these, the rank of that
    mean, and the pairs of runs whose means differ. Limits of means hold for each run by itself;
    ``leader_low`` and ``leader_high`` for whichever run leads (the largest t of all runs). Rank
    sets hold together (step-down max-T over all pairs): a set begins after the runs that are found
    better, and ends before those that are found worse. Runs that share a group are not separated.
    Against a baseline: differences with limits of each and of all together, and adjusted
    p-values.

    References: Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1); Romano
    and Wolf 2005, Journal of the American Statistical Association 100.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> result = analyse(testing.simulate_cube(n_runs=6, seed=3), Leaderboard(), trials=200)
    >>> result["rank_low"].dims
    ('metric', 'gain', 'run')
    """

    name: ClassVar[str] = "leaderboard"
    in_demo: ClassVar[Mapping[str, Any] | None] = {}
    view: ClassVar[View] = RUNS_OF_ONE
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("mogstad2024",)
    default_trials: ClassVar[int] = 10_000
    examples: ClassVar[tuple[str, ...]] = ("--seed 1", "--baseline RUN --seed 1")

    alpha: float = option_field(0.05, "1 - confidence of rank sets and limits.", above=0, below=1)
    baseline: str | None = option_field(
        None, "Run that all others are compared with; none by default."
    )

    def table(self, cube: xr.Dataset) -> ScoreTable:
        return check_pairs(make_table(cube), self.name, self.baseline, least_units=1)

    def notes(self, table: ScoreTable) -> list[str]:
        # Pairs that differ on fewer than 8 units are never separated: no number is refused.
        return binary_notes(table, refuse=False) + rows_of.few_notes(table)

    def bytes_needed(self, table: ScoreTable, threads: int) -> int:
        return super().bytes_needed(table, threads) + bytes_of_families(table, threads)

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        families = families_of(table, dict.fromkeys([None, self.baseline]))
        return maxima_block(table, families, start, stop, rows_of.largest_of_means)

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        values = self.values(table, totals)
        attrs = {} if self.baseline is None else {"baseline": self.baseline}
        teams = {names.TEAM: (names.RUN, label_array(table.teams or table.runs))}
        return table.dataset(VARIABLES, values, teams, {"alpha": self.alpha, **attrs})

    def values(self, table: ScoreTable, totals: Totals) -> dict[str, Any]:
        """Return all variables, by cell."""
        rows = []
        families = families_of(table, dict.fromkeys([None, self.baseline]))
        for cell, (every, *against) in enumerate(families):
            reached = totals["reached"][cell]
            n_pairs = len(every.first)
            p = (every.adjusted_counts(reached[:n_pairs], table.trials) + 1) / (table.trials + 1)
            critical = critical_value(totals["largest_t"][cell], self.alpha)
            row = rows_of.means(table, cell, critical, self.alpha)
            # A run whose mean has no limits may have any rank.
            unknown = np.isnan(row["mean_low"])
            p = np.where(unknown[every.first] | unknown[every.second], 1.0, p)
            row |= rows_of.ranks(table, cell, every, p, self.alpha)
            for family in against:
                critical = critical_value(totals["largest"][cell, 1], self.alpha)
                counts = family.adjusted_counts(reached[n_pairs:], table.trials)
                p = (counts + 1) / (table.trials + 1)
                row |= rows_of.baseline(table, cell, family, critical, p, self.alpha)
            rows.append(row)
        return by_cell(rows)


def rank_sets(
    estimates: pd.Series[float] | Sequence[float] | FloatArray,
    covariance: ArrayLike,
    *,
    alpha: float = 0.05,
    trials: int = 10_000,
    seed: int = 1,
) -> xr.Dataset:
    """Return the rank sets of systems with normal estimates, such as those of a leaderboard.

    The estimand is the rank of each system's true value, 1 for the largest. The method is step-down
    max-T over all differences (Mogstad, Romano, Shaikh and Wilhelm 2024, with known covariance).

    Parameters
    ----------
    estimates
        (system,): mean scores; systems have the labels of a pandas Series, else numbers from 1.
    covariance
        (system, system): covariance of the estimates; or (system,): their standard errors, if they
        are independent.
    alpha
        1 - confidence of all sets together.
    trials, seed
        Of the simulation of the largest statistic.

    Returns
    -------
    sets
        ``estimate``, ``rank``, ``rank_low`` and ``rank_high`` along ``run``, in the given order.

    Raises
    ------
    BadPlan, ValueError
        Estimates that are not finite, negative errors; a covariance of another shape, or not
        symmetric and positive semidefinite.

    Examples
    --------
    >>> sets = rank_sets([0.9, 0.5, 0.45], [0.02, 0.05, 0.05])
    >>> sets["rank_low"].values.tolist(), sets["rank_high"].values.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    values = np.asarray(estimates, float)
    matrix = np.asarray(covariance, float)
    n = len(estimates)
    independent = matrix.ndim == 1
    if not 0 < alpha < 1 or not np.isfinite(values).all():
        raise BadPlan("rank sets need finite estimates, and an alpha between 0 and 1")
    if len(matrix) != n or (independent and not (matrix >= 0).all()):
        raise BadPlan(f"covariance: expected {n} standard errors from 0, or a matrix of {n} x {n}")
    random = np.random.Generator(np.random.Philox(key=stream_key(seed, names.Purpose.ESTIMATES)))
    if independent:
        errors = matrix[:, np.newaxis] * random.standard_normal((trials, n)).T
        matrix = np.diag(matrix**2)
    else:
        errors = random.multivariate_normal(np.zeros(n), matrix, trials, check_valid="raise").T
    first, second = pairs_of(range(n))
    differences = values[first] - values[second]
    variances = matrix[first, first] + matrix[second, second] - 2 * matrix[first, second]
    decided = normal_step_down(first, second, differences, variances, errors, alpha)
    low, high = rank_limits(first[decided], second[decided], differences[decided], n)
    ranks = {"rank": competition_ranks(values), "rank_low": low, "rank_high": high}
    about = {variable.name: variable.attrs() for variable in VARIABLES}
    labels = list(estimates.index if isinstance(estimates, pd.Series) else range(1, n + 1))
    coords = {names.RUN: label_array(map(str, labels))}
    sets = {name: (names.RUN, array, about[name]) for name, array in ranks.items()}
    sets |= {"estimate": (names.RUN, values, {})}
    return xr.Dataset(sets, coords, {"alpha": alpha, "trials": trials})

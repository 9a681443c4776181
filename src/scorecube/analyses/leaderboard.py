"""Leaderboards of one collection, boards of the weighted mean over several, and rank sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import binary_notes, check_pairs, pair_positions
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import ALL_COLLECTIONS, Analysis, Part, Totals
from scorecube.analyses.step_down import Family, critical_value, families_of, maxima_block
from scorecube.analyses.table import Table
from scorecube.collection.judgement_sets import NOT_COMMON
from scorecube.collection.many_collections import OTHER_RANGES
from scorecube.collection.schema import label_array, labels_of, read_variables
from scorecube.collection.selection import standardise as standardised
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.intervals import mean_limits
from scorecube.statistics.rank_sets import (
    competition_ranks,
    groups_in_order,
    normal_step_down,
    rank_limits,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SYMMETRIC = 1e-8
"""Relative difference up to which a covariance matrix is symmetric, and share of its largest
eigenvalue up to which a negative one is rounding: matrices are often printed with eight digits."""
VARIABLES = read_variables("""
    [metric gain run]
    mean | estimate | score | mean score of a run
    mean | limits:mean | score | limit of the mean
    leads | flag | 1 | whether the run leads: its limits hold although it was chosen by its mean
    rank | estimate/iu | 1 | rank of the mean, 1 for the best; the best rank of ties
    rank_low | low/iu:rank | 1 | best rank of the confidence set
    rank_high | high/iu:rank | 1 | worst rank of the confidence set
    groups | label | 1 | groups of a run: letters, or numbers where there are more than letters
    difference | estimate | score | mean minus that of the baseline
    difference_low | low:difference | score | simultaneous lower limit of the difference
    difference_high | high:difference | score | simultaneous upper limit of the difference
    p_baseline | p_value | 1 | adjusted p-value of the difference from the baseline
    better | flag | 1 | whether a run is significantly better than the baseline
    worse | flag | 1 | whether a run is significantly worse than the baseline
    mean_rank | estimate | 1 | mean of the ranks in the collections (Borda); no limits hold
    [metric gain]
    separated_neighbours | count | pairs | neighbours in the order of means that are separated
    own_error_pairs | count | pairs | pairs that only their own errors would separate (t, Holm)
    [metric gain collection run]
    collection_mean | estimate | score | mean score in a collection
    collection_mean | limits:collection_mean | score | limit of the mean in a collection
    [collection]
    weight | share | 1 | weight of a collection
""")


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Analysis):
    """Leaderboard: runs, best first, with limits of means, rank sets, and groups.

    Estimands: the mean score of each run over infinitely many topics like these, the rank of that
    mean, and the pairs of runs whose means differ. Limits of means hold for each run by itself,
    those of the leader for whichever run leads (the largest t of all runs). Rank sets hold together
    (step-down max-T over all pairs): a set begins after the runs that are found better, and ends
    before those that are found worse. Runs that share a group are not separated. Against a
    baseline: differences with simultaneous limits and adjusted p-values.

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
    default_trials: ClassVar[int] = 10_000
    examples: ClassVar[tuple[str, ...]] = ("--seed 1", "--baseline RUN --seed 1")

    alpha: float = option_field(0.05, "1 - confidence of rank sets and limits.", above=0, below=1)
    baseline: str | None = option_field(
        None, "Run that all others are compared with; none by default."
    )

    def table(self, cube: xr.Dataset) -> Table:
        table = make_table(cube)
        check_pairs(table, self.name, self.baseline)
        return table

    def notes(self, table: Table) -> list[str]:
        return binary_notes(table)

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        families = families_of(table, dict.fromkeys([None, self.baseline]))
        return maxima_block(table, families, start, stop, means=True)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        values = self.values(table, totals)
        attrs: dict[str, Any] = {"alpha": self.alpha}
        attrs |= {} if self.baseline is None else {"baseline": self.baseline}
        teams = {names.TEAM: (names.RUN, label_array(table.teams or table.runs))}
        return table.dataset(VARIABLES, values, teams, attrs)

    def values(self, table: Table, totals: Totals) -> dict[str, Any]:
        """Return all variables, by cell."""
        rows = []
        families = families_of(table, dict.fromkeys([None, self.baseline]))
        for cell, (every, *against) in enumerate(families):
            reached, n_pairs = totals["reached"][cell], len(every.first)
            p = (every.adjusted_counts(reached[:n_pairs], table.trials) + 1) / (table.trials + 1)
            row = mean_rows(table, cell, totals["largest_t"][cell], self.alpha)
            row |= rank_rows(table, cell, every, p, self.alpha)
            for family in against:
                critical = critical_value(totals["largest"][cell, 1], self.alpha)
                counts = family.adjusted_counts(reached[n_pairs:], table.trials)
                p = (counts + 1) / (table.trials + 1)
                row |= baseline_rows(table, cell, family, critical, p, self.alpha, row["rank"])
            rows.append(row)
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


@dataclass(frozen=True, kw_only=True)
class Board(Leaderboard):
    """Board: one ranking from many collections, with limits, rank sets, and groups.

    Estimand: the weighted mean over these collections of each run's mean score over infinitely many
    topics of each; topics are drawn within each collection. Runs that a collection lacks are named,
    and left out. The mean of a run's ranks in the collections (Borda) has no limits.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cubes = {name: testing.simulate_cube(n_runs=6, seed=len(name)) for name in ("web", "news")}
    >>> analyse(cubes, Board(weights=("web=2",)), trials=200)["weight"].values.round(3).tolist()
    [0.333, 0.667]
    """

    name: ClassVar[str] = "board"
    n_collections: ClassVar[int] = ALL_COLLECTIONS
    examples = ("--seed 1", "--collections nq,fiqa --weights nq=2 --baseline RUN --seed 1")

    collections: tuple[str, ...] = ()
    weights: tuple[str, ...] = option_field(
        (), "Weights of collections, such as nq=2,fiqa=0.5; 1 for others."
    )
    standardise: Literal["none", "z", "std-AB", "rank"] = option_field(
        "none",
        "Scores of each topic relative to those of all runs: z, std-AB (0.15 z + 0.5), or rank, "
        "the share of other runs with a lower score; or none.",
    )

    def table(self, cube: xr.Dataset) -> Table:
        weights, scores = read_weights(self.weights), cube
        for name in weights.keys() - set(np.unique(cube.coords.get(names.COLLECTION, ""))):
            raise BadPlan(f"{option('weights')}: no collection {name!r}", option="weights")
        if self.standardise == "rank":
            scores = rank_shares(cube)
        elif self.standardise != "none":
            scores = standardised(cube, self.standardise)
        elif other := cube.attrs.get(OTHER_RANGES):
            raise BadPlan(
                f"the range of {other[0]} differs between collections; average its ranks or "
                f"standardised scores, by {option('standardise', 'rank')}, or declare one range",
                option="standardise",
            )
        table = make_table(scores, weights=weights)
        check_pairs(table, self.name, self.baseline)
        return replace(table, notes=(*cube.attrs.get(NOT_COMMON, []), *table.notes))

    def values(self, table: Table, totals: Totals) -> dict[str, Any]:
        return super().values(table, totals) | collection_values(table, self.alpha)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        labels = [part.name for part in table.strata]
        result = super().result(table, totals).assign_coords(collection=label_array(labels))
        facts = {"weights": list(self.weights), "standardise": self.standardise}
        return result.assign_attrs(collections=labels, **facts)


def mean_rows(table: Table, cell: int, largest: Any, alpha: float) -> dict[str, Any]:
    """Return means of runs with limits, those of leaders by the largest t over runs, (trial,)."""
    mean, samples, ends = table.means[cell], table.samples(table.scores[cell]), table.ranges[cell]
    leads = competition_ranks(mean if table.higher[cell] else -mean) == 1
    single = mean_limits(samples, ends, 1 - alpha)
    simultaneous = mean_limits(samples, ends, 1 - alpha / len(mean), critical_value(largest, alpha))
    low, high = np.where(leads, simultaneous, single)
    return {"mean": mean, "mean_low": low, "mean_high": high, "leads": leads}


def rank_rows(table: Table, cell: int, family: Family, p: Any, alpha: float) -> dict[str, Any]:
    """Return ranks, rank sets and groups of the runs of a cell."""
    sign = 1.0 if table.higher[cell] else -1.0
    ahead = sign * family.difference
    decided = (p < alpha) & (ahead != 0)
    better, worse = ordered(family.first, family.second, ahead, decided)
    low, high = rank_limits(better, worse, len(table.runs))
    # On the grid: equal scores have equal means.
    means = sign * sum(
        part.weight * table.units[cell][:, part.units].sum(axis=1) / part.size()
        for part in table.strata
    )
    order = np.argsort(-means, kind="stable")
    begin, end = groups_in_order(order, better, worse)
    spans = list(zip(begin.tolist(), end.tolist(), strict=True))
    groups = [LETTERS[first - 1 : last] for first, last in spans]
    if end.max() > len(LETTERS):
        groups = [f"{first}-{last}" if first < last else f"{first}" for first, last in spans]
    return {
        "rank": competition_ranks(means),
        "rank_low": low,
        "rank_high": high,
        "groups": np.array(groups, object),
        "separated_neighbours": np.int32((begin[order[1:]] > end[order[:-1]]).sum()),
        "own_error_pairs": np.int32(family.own_error_pairs(alpha, decided)),
    }


def ordered(first: Any, second: Any, ahead: Any, decided: Any) -> tuple[Any, Any]:
    """Return the better and the worse runs of decided pairs, by how far the first are ahead."""
    better, worse = np.where(ahead > 0, first, second), np.where(ahead > 0, second, first)
    return better[decided], worse[decided]


def baseline_rows(
    table: Table, cell: int, family: Family, critical: float, p: Any, alpha: float, rank: Any
) -> dict[str, Any]:
    """Return differences from the baseline, with simultaneous limits, of pairs with it."""
    base, others = family.second[0], family.first
    margin = np.sqrt(critical) * np.sqrt(family.variance + family.added) * table.grids[cell].unit
    difference, low, high, p_baseline = np.full((4, len(table.runs)), np.nan)
    difference[others] = table.means[cell, others] - table.means[cell, base]
    low[others] = difference[others] - np.where(family.varied, margin, np.nan)
    high[others] = difference[others] + np.where(family.varied, margin, np.nan)
    p_baseline[others] = p
    return {
        "difference": difference,
        "difference_low": low,
        "difference_high": high,
        "p_baseline": p_baseline,
        "better": (p_baseline < alpha) & (rank < rank[base]),
        "worse": (p_baseline < alpha) & (rank > rank[base]),
    }


def collection_values(table: Table, alpha: float) -> dict[str, Any]:
    """Return the means of runs in each collection with limits, by cell; weights and sizes."""
    from scipy.stats import rankdata  # takes long to import

    means = np.stack([table.means_in(part) for part in table.strata], axis=1)
    samples = [table.samples(scores) for scores in table.scores]
    cells = zip(samples, table.ranges, strict=True)
    limits = np.array(
        [[mean_limits([of], ends, 1 - alpha) for of in every] for every, ends in cells]
    )
    weights = np.array([part.weight for part in table.strata])
    ranks = rankdata(np.where(table.higher, -1.0, 1.0)[:, np.newaxis, np.newaxis] * means, axis=-1)
    return {
        "collection_mean": means,
        "collection_mean_low": limits[:, :, 0],
        "collection_mean_high": limits[:, :, 1],
        "mean_rank": np.average(ranks, axis=1, weights=weights),
        "weight": weights,
    }


def rank_shares(cube: xr.Dataset) -> xr.Dataset:
    """Return the share of other runs with a lower score on a topic, in place of scores."""
    from scipy.stats import rankdata  # takes long to import

    scores, n_metrics = cube[names.SCORE], cube.sizes[names.METRIC]
    ranks = rankdata(scores.values, axis=scores.get_axis_num(names.RUN))
    labels = [f"rank:{metric}" for metric in labels_of(cube, names.METRIC)]
    about: dict[str, Any] = {names.METRIC: label_array(labels)}
    about[names.SCORE_LOW] = (names.METRIC, np.zeros(n_metrics))
    about[names.SCORE_HIGH] = (names.METRIC, np.ones(n_metrics))
    shares = (scores.dims, (ranks - 1) / (cube.sizes[names.RUN] - 1))
    return cube.assign({names.SCORE: shares}).assign_coords(about)


def read_weights(words: Sequence[str]) -> dict[str, float]:
    """Return weights of collections from words such as ``nq=2``; BadPlan for others."""
    weights = {}
    for word in words:
        name, _, number = word.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            name = ""
        if not (name and 0 < weights[name] < np.inf):
            wanted = "expected a collection and a number above 0, such as nq=2"
            raise BadPlan(f"{option('weights', word)}: {wanted}", option="weights")
    return weights


def rank_sets(
    estimates: Any, covariance: Any, *, alpha: float = 0.05, trials: int = 10_000, seed: int = 1
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
    BadPlan
        Estimates that are not finite, or a covariance of another shape, not symmetric, or not
        positive semidefinite.

    Examples
    --------
    >>> sets = rank_sets([0.9, 0.5, 0.45], [0.02, 0.05, 0.05])
    >>> sets["rank_low"].values.tolist(), sets["rank_high"].values.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    from scipy.special import ndtri

    values, n = np.asarray(estimates, float), len(estimates)
    if not 0 < alpha < 1:
        raise BadPlan(f"alpha: expected a number between 0 and 1; found {alpha}", option="alpha")
    matrix, factor = covariance_of(values, np.asarray(covariance, float))
    first, second = pair_positions(n)
    variances = matrix[first, first] + matrix[second, second] - 2 * matrix[first, second]
    errors, differences = np.sqrt(np.maximum(variances, 0.0)), values[first] - values[second]
    tested, decided = np.flatnonzero(errors > 0), (errors == 0) & (differences != 0)
    statistics = np.abs(differences[tested]) / errors[tested]
    # Standard normal numbers by inversion of addressed words.
    key, words = stream_key(seed, names.Purpose.ESTIMATES), np.empty((trials, n), np.uint64)
    for trial in range(trials):
        words[trial] = np.random.Philox(counter=[0, trial, 0, 0], key=key).random_raw(n)
    replicates = factor @ ndtri(((words >> np.uint64(11)) + 0.5) * 2.0**-53).T.copy()
    decided[tested] = normal_step_down(
        first[tested], second[tested], statistics, errors[tested], replicates, alpha
    )
    low, high = rank_limits(*ordered(first, second, differences, decided), n)
    found = {"rank": competition_ranks(values), "rank_low": low, "rank_high": high}
    about = {variable.name: variable.attrs() for variable in VARIABLES}
    sets = {name: (names.RUN, array, about[name]) for name, array in found.items()}
    index = getattr(estimates, "index", None)  # a method of lists
    labels: Any = index if hasattr(index, "tolist") else range(1, n + 1)
    return xr.Dataset(
        {"estimate": (names.RUN, values)} | sets,
        {names.RUN: label_array(map(str, labels))},
        {"alpha": alpha, "trials": trials},
    )


def covariance_of(values: Any, covariance: Any) -> tuple[Any, Any]:
    """Return the covariance of estimates as a matrix, and a factor F of it, F F'; or BadPlan."""
    n = len(values)
    if n < 2 or not np.isfinite(values).all():
        raise BadPlan("rank sets need 2 or more estimates, all of them finite")
    if covariance.shape == (n,) and (covariance >= 0).all():
        return np.diag(covariance**2), np.diag(covariance)
    if covariance.shape == (n, n) and np.isfinite(covariance).all():
        apart = np.abs(covariance - covariance.T).max()
        roots, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        if apart <= SYMMETRIC * np.abs(covariance).max() and roots[0] >= -SYMMETRIC * roots[-1] * n:
            return covariance, vectors * np.sqrt(np.maximum(roots, 0.0))
    raise BadPlan(
        f"covariance: expected {n} standard errors, or a positive semidefinite matrix of {n} x {n}"
    )

"""Leaderboard: the table of runs, best first, with what is known of means (bootstrap-t, Student's t), ranks and differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.base import count_bounds, expand_cells, p_values, plus_one_field
from scorecube.analyses.pair_tests.bounds import KNOWN, bounds_field, bounds_of_cells, check_bounds
from scorecube.analyses.pair_tests.family import Pairs, family, family_size
from scorecube.analyses.pair_tests.gaussian import GAUSSIAN, Seen, own_values
from scorecube.analyses.pair_tests.moderated import Moderated
from scorecube.analyses.pair_tests.pair_scores import score_rounding
from scorecube.analyses.pair_tests.repetitions import OverRepetitions
from scorecube.analyses.pair_tests.step_down import Replicates
from scorecube.analyses.rank_sets.leaderboard_quantities import VARIABLES
from scorecube.analyses.rank_sets.ranks import RankSets, ranked_result
from scorecube.collection.rows import row_parts
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import cell_of_settings, cells, n_cells
from scorecube.collection.topic_groups import FREEDOM
from scorecube.kernels.linalg.panel_product import product
from scorecube.kernels.pairs.running_maximum import Drawn, Resampled
from scorecube.statistics.bounded_means import (
    LEAST_VARIED,
    at_bounds,
    bounded_limits,
    mid_p_limits,
    n_varied,
    unit_scores,
)
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, rank_limits
from scorecube.statistics.winner_limits import error_of_choice, may_lead, winner_limits


@dataclass(frozen=True, kw_only=True)
class Leaderboard(RankSets):
    """Leaderboard: runs, best first, with intervals of means, rank sets, and groups.

    Estimands: the mean score of each run over infinitely many topics (bootstrap-t interval, for each run by itself), the rank of that mean
    (rank sets for all runs together, as of `Ranks`), and the pairs of runs whose means differ (step-down max-T, all pairs together).
    Against a baseline: the difference of each other run from it (step-down max-T over these pairs, with simultaneous intervals).

    Notes
    -----
    A group is a largest set of runs that follow each other in the order of means, no two of which are separated. ``best`` is the
    share of trials in which a run has the largest mean; it is no probability that the run is the best of infinitely many topics.

    References: Efron and Tibshirani 1993, chapter 12 (bootstrap-t); others as of `Ranks` and `MaxT`.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Leaderboard(baseline="team01-run1"), trials=200, seed=1)
    >>> sorted(set(result.data_vars) - {"mean", "rank"})[:4]
    ['best', 'difference', 'difference_high', 'difference_low']
    """

    name: ClassVar[str] = "leaderboard"
    subject: ClassVar[str] = "a leaderboard"
    examples: ClassVar[tuple[str, ...]] = ("--seed 1", "--baseline RUN --top 1,3,10 --seed 1")

    baseline: str | None = option_field(
        None, "Run that all others are compared with; none by default."
    )
    bounds: tuple[float, ...] | Literal["known"] = bounds_field()
    winner: bool = option_field(
        True,
        "No limits of the mean of the run that leads which hold although it was chosen by its mean.",
        detail="Limits of the mean of the run that leads, which hold although it was chosen by its mean.",
        flag="--no-winner",
        finalize=True,
    )
    plus_one: bool = plus_one_field()

    def check(self, prepared: Prepared) -> list[str]:
        remarks = super().check(prepared)
        check_bounds(self.bounds, lambda: cells(prepared.cube)[0], bool(self.by_system))
        return remarks

    def n_compared(self, cube: xr.Dataset) -> int:
        with_baseline = 0 if self.baseline is None else family_size(cube, self.baseline)
        return family_size(cube, None) + with_baseline

    def families(self, cube: xr.Dataset) -> Sequence[Pairs]:
        every = family(cube, None)
        return [every] if self.baseline is None else [every, family(cube, self.baseline)]

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        inputs = super().inputs(prepared, trials, seed)
        if self.resampling == GAUSSIAN:
            return inputs
        every = zip(cells(prepared.cube)[0], self.statistics(prepared), strict=True)
        for cell, (scores, statistic) in enumerate(every):
            own, start = [], 0
            for units in statistic.grids:
                stop = start + units.n_topics
                own.append(own_values(scores[:, start:stop], units))
                start = stop
            if any(
                values is not units.values
                for values, units in zip(own, statistic.grids, strict=True)
            ):
                inputs[f"own_{cell}"] = np.concatenate(own, axis=1)
        return inputs

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        cube = prepared.cube
        count, n_runs = n_cells(cube), cube.sizes[names.RUN]
        return (
            *super().outputs(prepared),
            Output("run_t", (count, n_runs), Combine.CONCAT, "float32"),
            Output("best", (count, n_runs), Combine.ADD, least=0, most=1),
        )

    def room(self, inputs: Inputs, n_trials: int) -> Arrays:
        count, n_runs = int(inputs["n_cells"]), len(inputs["sums_0"])
        return {
            "run_t": np.empty((count, n_runs, n_trials), np.float32),
            "best": np.zeros((count, n_runs), np.int64),
        }

    def observe(self, inputs: Inputs, replicates: Replicates, out: Arrays) -> None:
        cell, scores, errors, trials, place = replicates
        if isinstance(scores, Drawn):
            n_runs = len(inputs[f"sums_{cell}"])
            deviations = scores.sums[:n_runs, slice(*trials)]
            spread = inputs[f"variances_of_means_{cell}"][:, np.newaxis]
            if errors is not None:
                deviations = deviations + errors.shifts[:, slice(*trials)]
                spread = spread + errors.own[:, slice(*trials)]
            means = inputs[f"levels_{cell}"][:, np.newaxis] + deviations
            keep_means(out, cell, place, means, deviations, spread)
            return
        n_runs, n = scores.centred.shape
        chosen = (slice(n_runs), slice(*trials))
        means = scores.sums[chosen] + n * inputs[f"sums_{cell}"][:, np.newaxis]
        own = inputs.get(f"own_{cell}")
        totals, spread = sums_and_spreads(
            scores
            if own is None
            else Resampled(own, scores.weights, product(own, scores.weights), 0),
            trials,
        )
        # Centred scores are n times too large: total / n is n times the error of the mean.
        deviations = totals / n * math.sqrt(n * (n - 1))
        if errors is not None:
            deviations += errors.shifts[chosen]
            # The interval of a mean is about its system only, whatever the others are.
            spread += errors.own[chosen]
            means = means + errors.shifts[chosen] * math.sqrt(n / (n - 1))
        keep_means(out, cell, place, means, deviations, spread)

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        cell_of, statistics = cell_of_settings(cube), self.statistics(prepared)
        families, rows = self.families(cube), list[dict[str, Any]]()
        counts = self.counts(prepared, totals["reached"], trials)
        bounds = self.known_bounds(prepared)
        means = [self.own_means(prepared, cell) for cell in range(len(statistics))]
        for cell, row in enumerate(counts):
            statistic = statistics[cell]
            rows.append(self.ranks(statistic.units, families[0], row[0], trials))
            run_t, own_means = totals["run_t"][cell], means[cell]
            rows[-1] |= mean_limits(own_means, run_t, self.alpha)
            if self.bounds == KNOWN:
                # What does not vary at hand may vary elsewhere.
                for side in ("mean_low", "mean_high", "t_low", "t_high"):
                    rows[-1][side][own_means.flat] = np.nan
            if (known := bounds[cell]) is not None:
                sides = rows[-1]["mean_low"], rows[-1]["mean_high"]
                found = own_means.join(*sides, known, self.alpha / 2)
                rows[-1] |= dict(zip(("mean_low", "mean_high"), found, strict=True))
            if self.winner:
                largest = totals["largest"][cell, 0]
                rows[-1] |= self.winner_limits(own_means, run_t, statistic, largest, known)
            if prepared.shared is None and self.winner:
                own = statistic.separated_by_own_errors(families[0], self.alpha)
                found = row[0] < count_bounds(trials, (self.alpha,), False)[0]
                rows[-1]["own_error_pairs"] = np.int32((own & ~found).sum())
            if self.baseline is not None:
                largest = totals["largest"][cell, 1]
                rows[-1] |= self.differences(cube, statistic, row[1], largest)
        by_cell = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        by_cell |= {
            "mean": np.stack([each.mean for each in means]),
            "best": totals["best"] / trials,
        }
        attrs: dict[str, Any] = {
            "trials": trials,
            "alpha": self.alpha,
            "top": list(self.top),
            **self.facts(),
        }
        if self.baseline is not None:
            attrs["baseline"] = self.baseline
        values = {name: expand_cells(each, cell_of) for name, each in by_cell.items()}
        return ranked_result(prepared, VARIABLES, values, attrs)

    def known_bounds(self, prepared: Prepared) -> list[tuple[float, float] | None]:
        """Return `bounds_of_cells`."""
        kinds = [each.kind for each in self.seen(prepared)]
        # A board looks at each collection of a cell.
        of_cells: Any = np.reshape(kinds, (n_cells(prepared.cube), -1, 2)).all(axis=1).tolist()
        return bounds_of_cells(self.bounds, prepared.cube, bool(self.by_system), of_cells)

    def own_means(self, prepared: Prepared, cell: int) -> OwnMeans:
        """Return the means of a cell's runs, with their standard errors."""
        rows, statistic = self.rows(prepared)[cell], self.statistics(prepared)[cell]
        seen = self.seen(prepared)[cell]
        freedom = prepared.cube.attrs.get(FREEDOM)
        return OwnMeans(rows, seen, *means_and_errors(seen, rows.n_topics, statistic, freedom))

    def winner_limits(
        self, own: OwnMeans, run_t: Any, statistic: Moderated, largest: Any, bounds: Any
    ) -> dict[str, Any]:
        """Return limits of the mean of a cell's leader."""
        means, errors = own.mean, own.error
        leader = int(np.argmax(means))
        (critical,) = self.critical_values(statistic, largest, (error_of_choice(self.alpha),))
        runs = np.arange(len(means), dtype=np.int32)
        with_leader = runs, np.full_like(runs, leader)
        chosen = may_lead(means, critical * statistic.moderated_errors(with_leader))
        low, high = winner_limits(means, errors, run_t, chosen, self.alpha)
        if bounds is not None:
            error = (self.alpha - error_of_choice(self.alpha)) / 2
            leaders = own.of(slice(leader, leader + 1))
            safe_low, safe_high = leaders.join([low], [high], bounds, error / chosen.sum())
            if (safe_low[0], safe_high[0]) != (low, high):
                low = safe_low[0]
                # The best of these runs is as good as the leader: its own limit is right.
                high = own.of(chosen).bounded(bounds, error)[1].max()
        return {"winner_low": low, "winner_high": high}

    def ranks(self, units: Any, pairs: Pairs, counts: Any, trials: int) -> dict[str, Any]:
        """Return ranks, rank sets and groups of the runs of a cell."""
        n_runs = len(units.sums)
        winners, losers = self.decided(units, pairs, counts, trials)
        low, high = rank_limits(winners, losers, n_runs)
        order = np.argsort(-units.totals, kind="stable")
        begin, end = groups_in_order(order, winners, losers)
        return {
            "rank": competition_ranks(units.totals),
            "rank_low": low,
            "rank_high": high,
            "group_first": begin,
            "group_last": end,
        }

    def differences(
        self, cube: xr.Dataset, statistic: Moderated, counts: Any, largest: Any
    ) -> dict[str, Any]:
        """Return the differences of the runs of a cell from the baseline, with p-values, limits, wins, ties and losses."""
        units, pairs = statistic.units, family(cube, self.baseline)
        base, others = labels_of(cube, names.RUN).index(str(self.baseline)), pairs[0]
        (critical,) = self.critical_values(statistic, largest, (self.alpha,))
        difference = (units.sums - units.sums[base]) / (units.n_topics * units.per_score)
        p, margin = np.full((2, len(difference)), np.nan)
        p[others] = p_values(counts, len(largest), self.plus_one)
        error = statistic.moderated_errors(pairs)
        unknown = math.nan if self.bounds == KNOWN else 0.0
        margin[others] = np.where(error > 0, critical * error, unknown)
        wins, ties, losses = np.zeros((3, len(difference)), np.int32)
        for grid in statistic.grids:
            for part in row_parts(len(difference), grid.n_topics):
                topics = grid.whole_of(part) - grid.whole_of(slice(base, base + 1))
                equal = np.abs(topics) <= score_rounding(grid)
                wins[part] += ((topics > 0) & ~equal).sum(axis=1)
                ties[part] += equal.sum(axis=1)
                losses[part] += ((topics < 0) & ~equal).sum(axis=1)
        difference[base] = np.nan
        return {
            "difference": difference,
            "difference_low": difference - margin,
            "difference_high": difference + margin,
            "p_baseline": p,
            "wins": wins,
            "ties": ties,
            "losses": losses,
        }

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cost, cube = super().cost(prepared, trials), prepared.cube
        numbers = n_cells(cube) * cube.sizes[names.RUN]
        few = self.alpha / 2 * (trials + 1) < 1  # for limits by t*: all are by betting
        betting = 2e-6 * few * numbers * cube.sizes[names.TOPIC]
        return replace(
            cost,
            seconds=cost.seconds + 3e-9 * numbers + 5e-11 * numbers * self.topics_of_trials(cube),
            bytes=cost.bytes + 4.0 * numbers,
            result_bytes=cost.result_bytes + 16.0 * numbers * trials,
            result_seconds=cost.result_seconds + betting + 2e-8 * numbers * trials,  # sorting t*
        )


CANCELLED = 1e-9
"""Share that is left of a sum of squares less that of the mean below which squared deviations are added instead."""


def sums_and_spreads(scores: Resampled, trials: tuple[int, int]) -> tuple[Any, Any]:
    """Return sums and sums of squared deviations over resamples, float64 (run, trial) each.

    scores: Of the runs.
    trials: First of the trials in `scores`, and the one after the last.
    """
    n_runs, n = scores.centred.shape
    chosen = (slice(n_runs), slice(*trials))
    totals, squares = scores.sums[chosen], product(scores.centred**2, scores.weights)[chosen]
    spread = np.maximum(squares - totals * totals / n, 0.0)
    few = spread < CANCELLED * squares
    if few.any():
        counts = scores.weights.transpose(1, 0, 2).reshape(n, -1)[:, chosen[1]]
        for run in np.flatnonzero(few.any(axis=1)):
            places = np.flatnonzero(few[run])
            deviations = n * scores.centred[run, :, np.newaxis] - totals[run, places]
            exact = (counts[:, places] * (deviations / n) ** 2).sum(axis=0)
            # Without any, what rounding leaves is kept.
            spread[run, places] = np.where(exact > 0, exact, spread[run, places])
    return totals, spread


def keep_means(
    out: Arrays, cell: int, place: slice, means: Any, deviations: Any, spread: Any
) -> None:
    """Keep the studentised errors of means in some trials, and count how often each is the largest.

    means, deviations, spread: float64 (run, trial): means, their errors, and the estimated variances of these.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = deviations / np.sqrt(spread)
    out["run_t"][cell, :, place] = np.where(deviations == 0.0, 0.0, t)
    out["best"][cell] += (means == means.max(axis=0)).sum(axis=1)


@dataclass(frozen=True, eq=False)
class OwnMeans:
    """The means of the runs of one cell, each by itself.

    scores: By run.
    seen: What is known of them.
    mean, error: float64 (run,): with their standard errors.
    freedom: Degrees of freedom of these, of all runs or (run,).
    """

    scores: Any
    seen: Any
    mean: Any
    error: Any
    freedom: Any

    @property
    def flat(self) -> Any:
        """Which runs have equal scores on all topics: bool (run,)."""
        return np.asarray(self.seen.least == self.seen.greatest)

    def binary(self, bounds: Any) -> Any:
        """Return which runs are known to have no scores but the bounds, 0 and 1: bool (run,)."""
        return self.seen.at_bounds & (tuple(bounds) == (0.0, 1.0))

    def of(self, runs: Any) -> OwnMeans:
        """Return those of some runs."""
        seen = Seen(*(each[runs] for each in self.seen))
        own = self.mean[runs], self.error[runs], self.freedom
        return OwnMeans(self.scores.of(runs), seen, *own)

    def vary(self, bounds: Any) -> Any:
        """Return which runs vary by more than rare topics, and not only from bound to bound: bool (run,); of those of which enough is known, scores are not read."""
        ends = unit_scores(np.stack([self.seen.least, self.seen.greatest]), bounds)
        inner = ((ends > 0.0) & (ends < 1.0)).any(axis=0) | (tuple(bounds) == (0.0, 1.0))
        binary = self.binary(bounds)
        found = self.seen.varied & inner & ~binary
        if (other := np.flatnonzero(~(found | binary))).size:
            own = self.of(other).scores
            parts = own.each(
                lambda part: (
                    (n_varied(own[part]) >= LEAST_VARIED)
                    & ~at_bounds(unit_scores(own[part], bounds))
                )
            )
            found[other] = np.concatenate(parts)
        return found

    def join(self, low: Any, high: Any, bounds: Any, error: float) -> tuple[Any, Any]:
        """Return other limits where they can be trusted, and those of `bounded` elsewhere.

        low, high: float64 (run,): limits that need spread, such as bootstrap-t.
        bounds: Least and greatest score that there can be.
        error: Of each side.
        Returns low, high: The limits given where both are finite and within the bounds, and the run varies.
        """
        low, high = (np.array(limit, float) for limit in (low, high))
        with np.errstate(invalid="ignore"):
            within = (low >= bounds[0]) & (high <= bounds[1])
        if (other := np.flatnonzero(~(within & self.vary(bounds)))).size:
            low[other], high[other] = self.of(other).bounded(bounds, error, within[other])
        return low, high

    def bounded(self, bounds: Any, error: float, within: Any = False) -> tuple[Any, Any]:
        """Return `bounded_means.bounded_limits`.

        within: Which runs have other limits within the bounds: bool (run,).
        """
        low, high = np.empty((2, len(self.mean)))
        binary = self.binary(bounds)
        successes = (self.seen.total / self.seen.per_score)[binary]
        low[binary], high[binary] = mid_p_limits(successes, self.scores.n_topics, error)
        if not binary.all():
            own = self.scores.of(np.flatnonzero(~binary))
            found = own.each(lambda part: bounded_limits(own[part], bounds, error))
            low[~binary], high[~binary] = np.concatenate(found, axis=1)
        return np.minimum(low, self.mean), np.maximum(high, self.mean)


def means_and_errors(
    seen: Seen, n: int, statistic: Moderated, known_freedom: float | None = None
) -> tuple[Any, Any, Any]:
    """Return the means of runs, their standard errors and the degrees of freedom.

    seen: Of the scores.
    n: Number of topics.
    statistic: Of the same cell: where systems have repetitions, it has their variances.
    known_freedom: Degrees of freedom; None for those of the scores.
    """
    mean, error, freedom = seen.mean, seen.deviation / math.sqrt(n), n - 1
    if isinstance(statistic, OverRepetitions):
        error, freedom = statistic.errors_of_means(error)
    return mean, error, known_freedom or freedom


def mean_limits(own: OwnMeans, run_t: Any, alpha: float) -> dict[str, Any]:
    """Return bootstrap-t and t intervals of the means of runs.

    own: The means.
    run_t: float32 (run, trial): t* of each trial, infinite without spread.
    alpha: 1 - confidence.
    """
    from scipy.special import stdtrit

    trials, mean, error = run_t.shape[1], own.mean, own.error
    below = math.floor(alpha / 2 * (trials + 1))
    margin = stdtrit(own.freedom, 1 - alpha / 2) * error
    low, high = np.full((2, len(mean)), np.nan)
    if below:
        ordered = np.sort(run_t, axis=1)
        with np.errstate(invalid="ignore"):
            low = mean - ordered[:, trials - below] * error
            high = mean - ordered[:, below - 1] * error
    # Without enough trials, or topics that differ, there is no finite limit: NaN; without spread the interval is a point.
    low, high = (np.where(np.isfinite(limit), limit, np.nan) for limit in (low, high))
    low, high = (np.where(error > 0, limit, mean) for limit in (low, high))
    return {"mean_low": low, "mean_high": high, "t_low": mean - margin, "t_high": mean + margin}

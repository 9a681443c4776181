"""What all resampling tests of pairs of runs share: blocks of pairs, p-values, discriminative power, degenerate pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Combine, Cost, Output, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.pairwise_complete import (
    NOT_TESTED,
    PAIRWISE,
    Group,
    describe_pairs,
    groups,
    mean_scores,
    runs_of,
    sizes_of,
    whole_cells,
)
from scorecube.analyses.pair_tests.pairwise_complete import VARIABLES as OF_MISSING
from scorecube.collection.run_pairs import pair_labels, pair_positions
from scorecube.collection.schema import Variable
from scorecube.collection.selection import cells, n_cells, uses_gains
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, option
from scorecube.kernels.pairs.pair_order import SIDE, pair_order, pair_place
from scorecube.kernels.pairs.tail_counts import observed_t
from scorecube.kernels.threads import on_threads
from scorecube.statistics.integer_scores import Units, centred_units

PAIR = (names.METRIC, names.GAIN, names.PAIR)
CELL = (names.METRIC, names.GAIN)
LEVEL = (*CELL, names.ALPHA)
TILE = 128
"""Pairs that are worked on together."""
TILE_BYTES = 2**25
SUMS_BYTES = 2**28
"""Of the sums over resamples of the runs that a block needs."""


def alphas_field(*, finalize: bool = False) -> tuple[float, ...]:
    """Declare the significance levels of a test."""
    return option_field((0.05, 0.01), "Significance levels.", flag="--alpha", finalize=finalize)


def plus_one_field() -> bool:
    """Declare how a test makes p-values of counts."""
    return option_field(False, "p = (count + 1) / (B + 1) instead of count / B.", finalize=True)


@dataclass(frozen=True, kw_only=True)
class PairTest(Analysis):
    """A two-run test by resampling; a subclass says what is resampled and what the statistic is.

    Parameters
    ----------
    alphas
        Significance levels: a pair is significant if p < alpha.
    sided
        2, or 1 for the alternative that the first run (in label order) is better.
    plus_one
        p = (count + 1) / (B + 1) instead of count / B.
    only_significant
        The estimated difference is the largest over significant pairs instead of all pairs.
    """

    unit: ClassVar[str] = "pairs"
    means_only: ClassVar[bool] = True
    """Whether metrics that sum topics up otherwise are refused."""
    bytes_per_draw: ClassVar[float] = 16.0
    """Of a block, for each topic and trial."""
    seconds_per_draw: ClassVar[float] = 4e-9
    """Of a block, likewise."""

    alphas: tuple[float, ...] = alphas_field()
    sided: int = option_field(2, "2; or 1: the first run in label order is the better one.", minimum=1, maximum=2)
    plus_one: bool = plus_one_field()
    only_significant: bool = option_field(False, "Estimated difference over significant pairs only.", finalize=True)

    def check(self, prepared: Prepared) -> list[str]:
        """See `Analysis.check`."""
        check_alphas(self.alphas)
        check_runs(prepared.cube, f"the {self.name} test", means_only=self.means_only, missing=self.missing_scores())
        if self.sided not in (1, 2):
            raise BadPlan(f"{option('sided', self.sided)}: a test is one-sided (1) or two-sided (2)", option="sided")
        return []

    def missing_scores(self) -> str | None:
        """Return what becomes of missing scores; None if there is no choice."""
        return None

    def is_pairwise(self) -> bool:
        """Whether missing scores are left out pair by pair."""
        return self.missing_scores() == PAIRWISE

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of pairs of runs."""
        return n_pairs(prepared.cube)

    def output_positions(self, prepared: Prepared) -> np.ndarray[Any, Any]:
        """See `Analysis.output_positions`: pairs are computed square by square and kept in label order."""
        n_runs = prepared.cube.sizes[names.RUN]
        return pair_place(*pair_order(n_runs), n_runs)

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        """See `Analysis.outputs`: trials that count, difference of the K-th largest replicate, degenerate replicates."""
        count = n_cells(prepared.cube)
        return (
            Output("reached", (count,), Combine.CONCAT, "int32"),
            Output("kth", (count, len(self.alphas)), Combine.CONCAT, "float64"),
            Output("degenerate", (count, 2), Combine.ADD),
        )

    def finalize(self, prepared: Prepared, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """See `Analysis.finalize`; the variables are described in `VARIABLES`."""
        reached = totals["reached"]

        def largest_of(cell: int) -> list[float]:
            """Return the largest difference over pairs for each level, row by row: no second array of all pairs is made."""
            tested, found = reached[cell] != NOT_TESTED, []
            for row, bound in zip(totals["kth"][cell], bounds(trials, self.alphas, self.plus_one), strict=True):
                counted = tested & (reached[cell] < bound) if self.only_significant else tested
                found.append(row.max(initial=-math.inf, where=counted))
            return found

        largest = np.array(on_threads(largest_of, range(len(reached)), reached.size))
        largest[~np.isfinite(largest)] = np.nan
        values = {
            "kth_difference": totals["kth"], "estimated_difference": largest,
            "undefined_replicates": totals["degenerate"][:, 0], "infinite_replicates": totals["degenerate"][:, 1],
        }  # fmt: skip
        facts: dict[str, Any] = {"trials": trials, "sided": self.sided, "plus_one": int(self.plus_one)}
        if self.is_pairwise():
            facts["missing"] = PAIRWISE
        return pair_result(prepared.cube, reached, values, self.alphas, facts)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """See `Analysis.cost`; with missing scores, draws are made for each number of topics, one after the other."""
        cube = prepared.cube
        count, n_topics = n_cells(cube), cube.sizes[names.TOPIC]
        block = trials * (self.bytes_per_draw * n_topics + 8.0 * (2 * SIDE + 3)) + 2 * min(
            TILE_BYTES, 8 * TILE * trials
        )
        sizes = len(sizes_of(cube)) if self.is_pairwise() else 1
        return Cost(
            seconds=trials * count * self.seconds_per_trial(n_topics), bytes=20.0 * count, fixed_bytes=block,
            fixed_seconds=self.seconds_per_draw * trials * n_topics * sizes,
            result_bytes=count * n_pairs(cube) * (28.0 + 8 * len(self.alphas)),
            max_units=max(SIDE, int(SUMS_BYTES / (8 * trials)) * SIDE // 4),
        )  # fmt: skip

    def seconds_per_trial(self, n_topics: int) -> float:
        """Return what one trial of one pair and cell costs."""
        return 4e-9 + 6e-11 * n_topics


def observe(scores: np.ndarray[Any, Any], first: Any, second: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the t statistics of pairs of runs, first minus second, on their common topics.

    Returns
    -------
    t
        float64 (cell, pair): NaN for equal scores or too few topics, infinite for a constant difference.
    odd
        int64 (cell, 2): pairs with equal scores, and with the same difference on all topics.
    """
    found = groups(whole_cells(scores), first, second)
    shape = (len(scores), len(first))
    whole = sum(isinstance(group.pairs, slice) for group in found) == len(scores)
    t = np.empty(shape) if whole else np.full(shape, np.nan)

    def observe_group(group: Group) -> Any:
        units, row = group.units, t[group.cell]
        out = row[group.pairs] if isinstance(group.pairs, slice) else np.empty(len(group.first))
        counted = observed_t(units.values, units.sums, group.first, group.second, units.snap, out)
        if out.base is None:
            row[group.pairs] = out
        return counted

    odd = np.zeros((len(scores), 2), np.int64)
    for group, counted in zip(found, on_threads(observe_group, found, t.size), strict=True):
        odd[group.cell] += counted
    return t, odd


def spread(by_cell: np.ndarray[Any, Any], cell_of: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values by metric and gain setting; the same memory where every cell serves one."""
    if np.array_equal(cell_of.ravel(), np.arange(len(by_cell))):
        return by_cell.reshape(*cell_of.shape, *by_cell.shape[1:])
    return np.asarray(by_cell[cell_of])


def block_runs(inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Any:
    """Return the runs that a block of pairs needs, and first and second run of each pair as places among them."""
    return runs_of(inputs["first"][start:stop], inputs["second"][start:stop], int(inputs["second"].max()) + 1)


def cell_units(cube: xr.Dataset) -> list[Units]:
    """Return the scores of each cell as integers."""
    return [centred_units(cell) for cell in cells(cube)[0]]


def n_pairs(cube: xr.Dataset) -> int:
    """Return the number of pairs of runs."""
    return cube.sizes[names.RUN] * (cube.sizes[names.RUN] - 1) // 2


def check_alphas(alphas: tuple[float, ...]) -> None:
    """Refuse levels that are none."""
    if not alphas or not all(0 < alpha < 1 for alpha in alphas):
        values = ", ".join(map(str, alphas)) or "without a number"
        raise BadPlan(f"alpha {values}: give numbers between 0 and 1", option="alphas")


def check_runs(cube: xr.Dataset, what: str, *, means_only: bool = True, missing: str | None = None) -> None:
    """Refuse a cube of too few runs or topics, with missing scores, or with metrics that are no means.

    `missing` is the value of the option of that name, None where there is none.
    """
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    if n_runs < 2 or n_topics < 2:
        raise BadPlan(f"{what} needs 2 runs and 2 topics, found {n_runs} runs and {n_topics} topics")
    scores = cube.variables[names.SCORE].values
    odd = ~np.isfinite(scores)
    if odd.any() and missing != PAIRWISE:
        choice = (
            ""
            if missing is None
            else f"test each pair on the topics that both runs have with {option('missing', PAIRWISE)}, "
        )
        raise BadPlan(
            f"{int(odd.sum())} scores are missing or infinite; leave their topics out with {option('drop_missing', True)}, {choice}or choose other runs, "
            "topics or metrics"
        )
    if odd.any() and np.isinf(scores).any():
        raise BadPlan(f"{int(np.isinf(scores).sum())} scores are infinite; choose other runs, topics or metrics")
    if means_only:
        refuse_other_summaries(cube, what)


@cache
def exact_level(alpha: float) -> Fraction:
    """Return the decimal number that a level was written as."""
    return Fraction(str(alpha))


def rank_of(alpha: float, trials: int) -> int:
    """Return K, the rank of the replicate that bounds a level: B alpha rounded up, at least 1 (Sakai 2007, Figure 7).

    Examples
    --------
    >>> rank_of(0.05, 1000), rank_of(0.07, 100), rank_of(0.05, 999), rank_of(0.01, 50)
    (50, 7, 50, 1)
    """
    return max(1, math.ceil(exact_level(alpha) * trials))


def p_values(reached: Any, trials: int, plus_one: bool, out: Any = None) -> Any:
    """Return count / B, or (count + 1) / (B + 1)."""
    return np.divide(reached + 1, trials + 1, out=out) if plus_one else np.divide(reached, trials, out=out)


def bounds(trials: int, alphas: tuple[float, ...], plus_one: bool) -> list[int]:
    """Return, for each level, the least count whose p-value is not below alpha, in exact arithmetic."""
    exact = [exact_level(alpha) for alpha in alphas]
    return [math.ceil(alpha * (trials + 1) - 1 if plus_one else alpha * trials) for alpha in exact]


def n_significant(
    reached: np.ndarray[Any, Any], trials: int, alphas: tuple[float, ...], plus_one: bool
) -> np.ndarray[Any, Any]:
    """Return the number of pairs with p < alpha: (..., alpha)."""
    return np.stack(
        [((reached < bound) & (reached != NOT_TESTED)).sum(axis=-1) for bound in bounds(trials, alphas, plus_one)],
        axis=-1,
    )


def pair_result(
    cube: xr.Dataset,
    reached: np.ndarray[Any, Any],
    values: Mapping[str, np.ndarray[Any, Any]],
    alphas: tuple[float, ...],
    facts: Mapping[str, Any],
) -> xr.Dataset:
    """Return the labelled result of a test of all pairs.

    Parameters
    ----------
    reached
        int (cell, pair): trials that count against the pair, of `facts["trials"]`.
    values
        Further variables of `VARIABLES` by cell.
    facts
        Attributes: trials, plus_one and others.
    """
    scores, cell_of = cells(cube)
    trials, plus_one = int(facts["trials"]), bool(facts["plus_one"])
    first, second = pair_positions(cube.sizes[names.RUN])
    t, odd = observe(scores, first, second)
    p = np.empty(reached.shape)

    def read(cell: int) -> Any:
        p_values(reached[cell], trials, plus_one, out=p[cell])
        return n_significant(reached[cell], trials, alphas, plus_one)

    significant = np.stack(on_threads(read, range(len(reached)), reached.size))
    by_cell = {"reached": reached, "p_value": p, "t": t, "degenerate_pairs": odd[:, 0], "constant_pairs": odd[:, 1]}
    tested: Any = n_pairs(cube)
    if "missing" in facts:
        described, untested = describe_pairs(scores, first, second)
        p[untested] = np.nan
        tested = n_pairs(cube) - untested.sum(axis=-1)[:, np.newaxis]
        by_cell |= described
    with np.errstate(invalid="ignore"):
        by_cell |= {"significant": significant, "share": significant / tested, "mean": mean_scores(scores)} | dict(
            values
        )
    coords = pair_coords(cube, alphas)
    few = [alpha for alpha in alphas if exact_level(alpha) * trials < 1]
    sizes = {
        "n_runs": cube.sizes[names.RUN],
        "n_topics": cube.sizes[names.TOPIC],
        "notes": [
            f"{trials} trials are too few for alpha {alpha:g}: no p-value lies between 0 and it" for alpha in few
        ],
    }
    arrays = {
        each.name: (each.dims, spread(by_cell.pop(each.name), cell_of), each.attrs())
        for each in (*VARIABLES, *OF_MISSING)
        if each.name in by_cell
    }
    return xr.Dataset(arrays, coords, dict(facts) | sizes)


def pair_coords(cube: xr.Dataset, alphas: tuple[float, ...]) -> xr.Coordinates:
    """Return the coordinates of a result: what a cube says of metrics, gain settings and runs, levels, and pairs.

    They are put together from what the cube has: an index is dearer than most of what stands in a small result.
    """
    known, indexes, found = cube.variables, dict(cube.xindexes), dict[Any, Any]()
    for dim in (names.METRIC, names.GAIN, names.RUN):
        found[dim] = known[dim]
        found |= {name: known[name] for name in cube.coords if known[name].dims == (dim,)}
    levels = xr.indexes.PandasIndex(np.array(alphas), names.ALPHA)
    found |= {names.USES_GAINS: xr.Variable((names.METRIC,), uses_gains(cube))} | levels.create_variables()
    found |= pair_labels(known[names.RUN])
    indexed = {name: index for name, index in indexes.items() if name in found}
    return xr.Coordinates(found, indexed | {names.ALPHA: levels})


VARIABLES = (
    Variable("reached", PAIR, "i", "trials", "trials whose statistic is at least as extreme as the observed one; -1 not tested"),
    Variable("p_value", PAIR, "f", "1", "p-value; with the bootstrap, achieved significance level"),
    Variable("t", PAIR, "f", "1", "t statistic of the pair, first run minus second; NaN for equal scores"),
    Variable(
        "kth_difference", (*CELL, names.ALPHA, names.PAIR), "f", "score",
        "absolute difference of means in the trial with the (B alpha)-th largest statistic",
    ),
    Variable("significant", LEVEL, "iu", "pairs", "pairs with a p-value below alpha"),
    Variable("share", LEVEL, "f", "1", "discriminative power: share of pairs with a p-value below alpha"),
    Variable("estimated_difference", LEVEL, "f", "score", "difference needed for significance: largest over pairs"),
    Variable("mean", (*CELL, names.RUN), "f", "score", "mean score of a run"),
    Variable("degenerate_pairs", CELL, "iu", "pairs", "pairs with equal scores on all topics"),
    Variable("constant_pairs", CELL, "iu", "pairs", "pairs with the same difference on all topics: p = 0"),
    Variable("undefined_replicates", CELL, "iu", "pairs x trials", "replicates without t: no difference and no spread"),
    Variable("infinite_replicates", CELL, "iu", "pairs x trials", "replicates with infinite t: a difference without spread"),
)  # fmt: skip

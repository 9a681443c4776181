"""Base of resampling tests of pairs of runs, p-values and discriminative power.

A cell is one metric under one gain setting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Array, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pair_tests.family import (
    Pairs,
    baseline_field,
    check_baseline,
    family,
    family_size,
)
from scorecube.analyses.pair_tests.pair_quantities import VARIABLES
from scorecube.analyses.pair_tests.pair_scores import (
    Group,
    compact_runs,
    comparable,
    pair_groups,
    whole_cells,
)
from scorecube.collection.rows import score_blocks
from scorecube.collection.run_pairs import pair_labels
from scorecube.collection.schema import Variable
from scorecube.collection.selection import cell_of_settings, cells, n_cells, uses_gains
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, counted, option
from scorecube.kernels.pairs.pair_order import SIDE, pair_place
from scorecube.kernels.pairs.tail_counts import EQUAL, observed_t
from scorecube.kernels.threads import on_threads
from scorecube.statistics.integer_scores import Units, in_units

TILE = 128
"""Number of pairs in a tile, the unit of work of the compiled kernels."""
TILE_BYTES = 2**25
"""Largest size of a tile's array (pair, trial)."""
TIED_ROUNDINGS = 4
"""Relative roundings in the comparison of two squared statistics: those of both differences, each of which counts twice."""
REFUSED_BINARY, FEW_BINARY = 5, 10
"""Numbers of topics up to which scores 0 and 1 are refused, and warned of."""
MAX_SUMS_BYTES = 2**28
"""Largest size of the array (run, trial) of sums over resamples in a block."""


def alphas_field(*, finalize: bool = False, family_wise: bool = False) -> tuple[float, ...]:
    """Declare the significance levels of a test."""
    rule = "They are those of all pairs together (family-wise error rate). " * family_wise
    return level_field(
        names.ALPHA,
        (0.05, 0.01),
        "Significance levels.",
        detail=f"{rule}A pair is significant if p < alpha.",
        flag="--alpha",
        finalize=finalize,
    )


def plus_one_field() -> bool:
    """Declare whether p-values count the observed statistic as a replicate."""
    return option_field(
        True,
        "p = count / B, as in the papers, instead of (count + 1) / (B + 1), which is never 0.",
        detail="p = (count + 1) / (B + 1), which is never 0, instead of the papers' count / B.",
        flag="--no-plus-one",
        finalize=True,
    )


@dataclass(frozen=True, kw_only=True)
class PairTest(Analysis):
    """Base of tests of pairs of runs by resampling."""

    unit: ClassVar[str] = "pairs"
    default_trials: ClassVar[int] = 10_000
    means_only: ClassVar[bool] = True
    """Whether metrics with a summary other than the mean over topics are refused."""
    bytes_per_draw: ClassVar[float] = 16.0
    """Memory of a block for each topic and trial."""
    seconds_per_draw: ClassVar[float] = 4e-9
    """Time of a block for each topic and trial."""
    seconds_out_of_cache: ClassVar[float] = 5e-8
    """The same, in addition, of 100,000 topics, as counts in no order are then not in the cache."""
    seconds_per_score: ClassVar[float] = 0.0
    """Time of a block for each trial and score of a tile's runs."""

    alphas: tuple[float, ...] = alphas_field()
    plus_one: bool = plus_one_field()
    baseline: str | None = baseline_field()

    def check(self, prepared: Prepared) -> list[str]:
        check_runs(prepared.cube, f"the {self.name} test", means_only=self.means_only)
        check_baseline(prepared.cube, self.baseline)
        return []

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of pairs of runs."""
        return family_size(prepared.cube, self.baseline)

    def block_pairs(self, cube: xr.Dataset) -> Pairs:
        """Return first and second run of the pairs in the order of blocks."""
        return family(cube, self.baseline, by_squares=True)

    def pair_inputs(self, cube: xr.Dataset, trials: int, key: Array) -> Arrays:
        """Return the arrays of `inputs` beside scores: pairs, trials, ranks of replicates, and the key of what is drawn."""
        first, second = self.block_pairs(cube)
        return {
            "first": first,
            "second": second,
            "trials": np.array(trials),
            "ranks": np.array([replicate_rank(alpha, trials) for alpha in self.alphas]),
            "key": key,
        }

    def output_positions(self, prepared: Prepared) -> Array | None:
        cube = prepared.cube
        if self.baseline is not None:
            return None
        return pair_place(*self.block_pairs(cube), cube.sizes[names.RUN])

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        count = n_cells(prepared.cube)
        return (
            Output("reached", (count,), Combine.CONCAT, "int32", least=0),
            Output("kth", (count, len(self.alphas)), Combine.CONCAT, "float64"),
            Output("degenerate", (count, 2), Combine.ADD, least=0),
        )

    def sums_hold(self, prepared: Prepared, block: Inputs, n_units: int, trials: int) -> bool:
        return bool((block["reached"] <= trials).all())

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        largest = totals["kth"].max(axis=-1)
        largest[~np.isfinite(largest)] = np.nan
        values = {
            "kth_difference": totals["kth"],
            "estimated_difference": largest,
            "undefined_replicates": totals["degenerate"][:, 0],
            "infinite_replicates": totals["degenerate"][:, 1],
        }
        attrs: dict[str, Any] = {"trials": trials, "plus_one": int(self.plus_one)}
        return pair_result(
            prepared.cube, totals["reached"], values, self.alphas, attrs, self.baseline
        )

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        count, n_runs, n_topics = n_cells(cube), cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        out_of_cache = self.seconds_out_of_cache * min(n_topics / 1e5, 1.0)
        block = trials * (self.bytes_per_draw * n_topics + 8.0 * (2 * SIDE + 3)) + 2 * min(
            TILE_BYTES, 8 * TILE * trials
        )
        n_tested = family_size(cube, self.baseline)
        # Pairs with a baseline need the sums of one more run each.
        sums_bytes = 0.0 if self.baseline is None else 8.0 * trials
        at_once = int(MAX_SUMS_BYTES / (8 * trials))
        return Cost(
            seconds=trials * count * self.seconds_per_trial(n_topics),
            bytes=20.0 * count + sums_bytes,
            fixed_bytes=block,
            fixed_seconds=trials
            * n_topics
            * (
                self.seconds_per_draw
                + out_of_cache
                + self.seconds_per_score * count * min(n_runs, SIDE)
            ),
            result_bytes=pair_result_bytes(cube, len(self.alphas), n_tested),
            result_seconds=count * (4e-7 * n_tested + 8e-8 * n_runs * n_topics),
            input_bytes=16.0 * n_tested
            + 10.0 * trials * n_topics
            + 40.0 * count * n_runs * n_topics,
            input_seconds=5e-8 * count * n_runs * n_topics,
            max_units=max(SIDE, at_once * SIDE // 4 if self.baseline is None else at_once),
        )

    def seconds_per_trial(self, n_topics: int) -> float:
        """Return the time of one trial of one pair in one cell, in seconds."""
        return 4e-9 + 6e-11 * n_topics


def observed_statistics(scores: Array, first: Any, second: Any) -> tuple[Array, Array]:
    """Return the t statistics of pairs of runs.

    scores: float64 (cell, run, topic).
    first, second: int (pair,): indices of the runs.
    Returns t: float64 (cell, pair): NaN for equal scores, infinite for a constant difference.
    Returns irregular: int64 (cell, 2): numbers of pairs with equal scores, and with the same difference on all topics.
    """
    groups, t = pair_groups(whole_cells(scores), first, second), np.empty((len(scores), len(first)))

    def observe_group(group: Group) -> Any:
        units, out = group.units, t[group.cell]
        return observed_t(units.values, units.sums, group.first, group.second, units.snap, out)

    return t, np.array(on_threads(observe_group, groups, t.size), np.int64)


def expand_cells(by_cell: Array, cell_of: Array) -> Array:
    """Return values by metric and gain setting; a view if settings share no cell."""
    if np.array_equal(cell_of.ravel(), np.arange(len(by_cell))):
        return by_cell.reshape(*cell_of.shape, *by_cell.shape[1:])
    return np.asarray(by_cell[cell_of])


def block_runs(inputs: Inputs, start: int, stop: int) -> Any:
    """Return the runs of a block, and its pairs as indices into them."""
    return compact_runs(
        inputs["first"][start:stop], inputs["second"][start:stop], inputs["scores"].shape[1]
    )


def cell_units(cube: xr.Dataset) -> list[Units]:
    """Return the scores of each cell as integers."""
    return [in_units(*comparable(cell)) for cell in cells(cube)[0]]


def n_pairs(cube: xr.Dataset) -> int:
    """Return the number of pairs of runs."""
    return family_size(cube, None)


def check_runs(
    cube: xr.Dataset, subject: str, *, means_only: bool = True, finite: bool = False
) -> None:
    """Refuse a cube that a test of pairs of runs cannot use.

    subject: Name of the analysis in messages.
    means_only: Whether all metrics must be summarised by their mean.
    finite: Whether all scores are known to be there.
    """
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    if n_runs < 2 or n_topics < 2:
        raise BadPlan(
            f"{subject} needs 2 runs and 2 topics; found {counted(n_runs, 'run')} and {counted(n_topics, 'topic')}"
        )
    lost = 0 if finite else sum(int((~np.isfinite(each)).sum()) for each in score_blocks(cube))
    if lost:
        raise BadPlan(
            f"{lost} scores are missing or infinite; leave their topics out with {option('drop_missing', True)}, "
            "or choose other runs, topics or metrics"
        )
    if means_only:
        refuse_other_summaries(cube, subject)


def few_binary_topics(cube: xr.Dataset, subject: str) -> list[str]:
    """Refuse scores 0 and 1 of up to `REFUSED_BINARY` topics, and return a warning of up to `FEW_BINARY`: a difference that is the same on all of few topics is no rare event, and has an infinite t.

    subject: Name of the analysis in messages.
    """
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    if n_topics > FEW_BINARY:
        return []
    scores = cells(cube)[0]
    # A metric that is 0 for all runs has no difference to get wrong.
    varied = scores.min((1, 2)) < scores.max((1, 2))
    if not (varied & ((scores == 0.0) | (scores == 1.0)).all((1, 2))).any():
        return []
    if n_topics <= REFUSED_BINARY:
        raise BadPlan(
            f"{subject} of scores 0 and 1 needs more than {REFUSED_BINARY} topics, found {n_topics}: some pair of many equal runs differs on all of so few; "
            "the randomisation and the sign test are exact, and find nothing at 0.05 there"
        )
    share = min(n_runs * (n_runs - 1) * 0.25**n_topics, 1.0)
    return [
        f"scores 0 and 1 of {n_topics} topics: of {n_runs} equal runs with mean 0.5 some pair differs on every topic, and is called different, with "
        f"probability of about {share:.2g}"
    ]


@cache
def exact_level(alpha: float) -> Fraction:
    """Return a significance level as the exact decimal number of its shortest text."""
    return Fraction(str(alpha))


def tie_widths(differences: Any, rounding: float) -> Any:
    """Return the relative differences up to which squared statistics of pairs tie with the observed ones.

    differences: float64 (pair,): absolute differences of sums.
    rounding: Largest difference of sums that rounding of scores alone can cause.
    """
    return EQUAL + TIED_ROUNDINGS * rounding / np.maximum(differences, 1.0)


def replicate_rank(alpha: float, trials: int) -> int:
    """Return the rank K of a replicate: B alpha rounded up, at least 1 (Sakai 2007).

    Examples
    --------
    >>> replicate_rank(0.05, 1000), replicate_rank(0.07, 100), replicate_rank(0.05, 999), replicate_rank(0.01, 50)
    (50, 7, 50, 1)
    """
    return max(1, math.ceil(exact_level(alpha) * trials))


def p_values(reached: Any, trials: int, plus_one: bool, out: Any = None) -> Any:
    """Return the p-values count / B, or (count + 1) / (B + 1)."""
    return (
        np.divide(reached + 1, trials + 1, out=out)
        if plus_one
        else np.divide(reached, trials, out=out)
    )


def count_bounds(trials: int, alphas: tuple[float, ...], plus_one: bool) -> list[int]:
    """Return the smallest count of each level with a p-value of at least alpha."""
    exact = [exact_level(alpha) for alpha in alphas]
    return [math.ceil(alpha * (trials + 1) - 1 if plus_one else alpha * trials) for alpha in exact]


def n_significant(reached: Array, trials: int, alphas: tuple[float, ...], plus_one: bool) -> Array:
    """Return the number of pairs with p < alpha: (..., alpha)."""
    return np.stack(
        [(reached < bound).sum(axis=-1) for bound in count_bounds(trials, alphas, plus_one)],
        axis=-1,
    )


def pair_result_bytes(
    cube: xr.Dataset, n_levels: int, n_tested: int, *, of_scores: bool = True
) -> float:
    """Return the memory of making a result of pairs and of its outputs.

    n_levels: Number of significance levels with a difference for each pair.
    n_tested: Number of pairs.
    of_scores: Whether all scores are read together.
    """
    count, n_settings = n_cells(cube), cube.sizes[names.METRIC] * cube.sizes[names.GAIN]
    copies = count if n_settings == count else count + n_settings
    score_bytes = 8 * count * cube.sizes[names.RUN] * cube.sizes[names.TOPIC] * of_scores
    return n_tested * (40.0 + copies * (22 + 8 * n_levels)) + 3.5 * score_bytes


def pair_result(
    cube: xr.Dataset,
    reached: Array,
    values: Inputs,
    alphas: tuple[float, ...],
    attrs: Mapping[str, Any],
    baseline: str | None = None,
    more: Sequence[Variable] = (),
) -> xr.Dataset:
    """Return the labelled result of a test of pairs.

    reached: int (cell, pair): number of trials at least as extreme as the pair's observed statistic.
    values: Other variables of `VARIABLES`, or of `more`, by cell.
    attrs: Attributes of the result: trials, plus_one and others.
    baseline: Run of all pairs, which stand in the order of `family`; None for all pairs.
    """
    cell_of = cell_of_settings(cube)
    trials, plus_one = int(attrs["trials"]), bool(attrs["plus_one"])
    first, second = family(cube, baseline)
    p = np.empty(reached.shape)

    def count_significant(cell: int) -> Any:
        p_values(reached[cell], trials, plus_one, out=p[cell])
        return n_significant(reached[cell], trials, alphas, plus_one)

    significant = np.stack(on_threads(count_significant, range(len(reached)), reached.size))
    by_cell = {"reached": reached, "p_value": p, **values}
    if not {"t", "residual_variance"} <= values.keys():
        scores = cells(cube)[0]
        by_cell = {
            "mean": scores.mean(axis=-1),
            "residual_variance": residual_variances(scores),
        } | by_cell
    if "t" not in values:
        by_cell["t"], irregular = observed_statistics(scores, first, second)
        by_cell |= {"degenerate_pairs": irregular[:, 0], "constant_pairs": irregular[:, 1]}
    by_cell |= {"significant": significant, "share": significant / len(first)}
    coords = pair_coords(cube, alphas, (first, second))
    unreachable = [alpha for alpha in alphas if exact_level(alpha) * trials < 1]
    facts: dict[str, Any] = {} if baseline is None else {"baseline": baseline}
    facts |= {
        "n_runs": cube.sizes[names.RUN],
        "n_topics": cube.sizes[names.TOPIC],
        "notes": [
            f"{counted(trials, 'trial')}: too few for alpha {alpha:g}; no p-value lies between 0 and {alpha:g}"
            for alpha in unreachable
        ],
    }
    arrays = {
        variable.name: (
            variable.dims,
            expand_cells(by_cell.pop(variable.name), cell_of),
            variable.attrs(),
        )
        for variable in (*VARIABLES, *more)
        if variable.name in by_cell
    }
    return xr.Dataset(arrays, coords, dict(attrs) | facts)


def residual_variances(scores: Any) -> Any:
    """Return the residual variance V_E2 of each cell's two-way ANOVA without replication (Sakai 2014, SIGIR Forum 48(1)).

    Parameters
    ----------
    scores
        float64 (cell, run, topic).
    """
    residuals = scores - scores.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=2, keepdims=True)
    _, n_runs, n_topics = scores.shape
    return (residuals**2).sum(axis=(1, 2)) / ((n_runs - 1) * (n_topics - 1))


def pair_coords(cube: xr.Dataset, alphas: tuple[float, ...], pairs: Pairs) -> xr.Coordinates:
    """Return the coordinates of a result: those of the cube, levels, and pairs.

    The cube's indexes are reused: building an index costs more than the rest of a small result.
    """
    variables, coords = cube.variables, dict[Any, Any]()
    for dim in (names.METRIC, names.GAIN, names.RUN):
        coords[dim] = variables[dim]
        coords |= {name: variables[name] for name in cube.coords if variables[name].dims == (dim,)}
    levels = xr.indexes.PandasIndex(np.array(alphas), names.ALPHA)
    coords |= {
        names.USES_GAINS: xr.Variable((names.METRIC,), uses_gains(cube))
    } | levels.create_variables()
    coords |= pair_labels(variables[names.RUN], pairs)
    indexes = {name: index for name, index in cube.xindexes.items() if name in coords}
    return xr.Coordinates(coords, indexes | {names.ALPHA: levels})

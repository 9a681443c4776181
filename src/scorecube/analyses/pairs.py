"""Tests of pairs of runs: options, differences with limits, and the one table of results.

A test says in how many trials each pair is at least as extreme as observed, and what it has beside.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Concat, Part, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.collection.schema import LARGEST_SCORE, label_array, read_variables
from scorecube.errors import BadName, BadPlan, counted
from scorecube.kernels.arrays import Int32Array1
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Estimate, difference_limits, estimate, guarded_estimate
from scorecube.statistics.paired_tests import adjusted, classical_p_values, welch_p_values

RunPairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""
AT_ONCE, CONFIDENCE = 2**21, 0.95
"""About the most differences that are in memory at a time; of limits."""
REFUSED_BINARY, FEW_BINARY = 5, 10
"""Numbers of units up to which scores 0 and 1 are refused, and noted: a difference on all of so few
is no rare event, and has an infinite t."""
DIFFERENCES = """
    [metric gain run]
    mean | estimate | score | mean score of a run
    [metric gain pair]
    mean_difference | estimate | score | difference of means, first minus second run
    t | statistic | 1 | t statistic, first run minus second; NaN for equal scores
    difference | limits:mean_difference | score | 95 % limit of the difference
    effect_size | estimate | 1 | difference / residual standard deviation (Sakai 2014)
    d_z | estimate | 1 | difference / standard deviation of the pair's differences over topics
    [metric gain]
    n_tested | count | pairs | pairs that have a p-value
    [metric gain{0} pair]
    p_value | p_value | 1 | p-value; with the bootstrap, achieved significance level
    p_value_holm | p_value | 1 | adjusted for the number of pairs (Holm 1979: family-wise error)
    p_value_bh | p_value | 1 | adjusted (Benjamini and Hochberg 1995: false discovery rate)
    [metric gain{0} alpha]
    significant = significant pairs | count | pairs | pairs with a p-value below alpha
    share = share of pairs | share | 1 .1% | discriminative power: share of pairs with p < alpha
    [metric gain pair]
    reached | count/i | trials | trials with a statistic at least as extreme as the observed one
    p_single | p_value | 1 | p-value of the pair by itself, by Student's t, two-sided
    equivalence_p_value | p_value | 1 | p-value of a difference of the margin or more
    [metric gain alpha]
    estimated_difference | estimate | score .2f | largest difference at rank B alpha
    own_error_pairs | count | pairs | pairs that only their own errors would separate (t, Holm)
    [metric gain alpha pair]
    verdict_on_pair | label/O | 1 | equivalent, different or inconclusive, by itself
"""
VARIABLES, OF_TESTS = (read_variables(DIFFERENCES.format(along)) for along in ("", " test"))
"""Of one test, and of several along a dim."""
VERDICTS = np.array(["equivalent", "different", "inconclusive"], object)


@dataclass(frozen=True, kw_only=True)
class PairTest(Analysis):
    """Base of tests of pairs of runs."""

    variables: ClassVar = VARIABLES
    alphas: tuple[float, ...] = option_field(
        (0.05, 0.01), "Significance levels.", flag="--alpha", above=0, below=1
    )
    baseline: str | None = option_field(
        None, "Compare this run with every other one; all pairs by default."
    )

    def table(self, cube: xr.Dataset) -> Table:
        table = make_table(cube, bags=self.resamples)
        check_pairs(table, self.name, self.baseline)
        return table

    def pairs(self, table: Table) -> RunPairs:
        """Return first and second runs of the pairs that are tested."""
        base = None if self.baseline is None else table.runs.index(self.baseline)
        return pair_positions(len(table.runs), base)

    def decided(self, p: FloatArray, safe: Any) -> dict[str, Any]:
        """Return p-values (cell, ..., pair), how many are significant, and `safe` ones adjusted."""
        significant = np.stack([(p < alpha).sum(axis=-1) for alpha in self.alphas], axis=-1)
        values = {"p_value": p, "significant": significant, "share": significant / p.shape[-1]}
        for method in ("holm", "bh") if safe is not None else ():
            values[f"p_value_{method}"] = np.apply_along_axis(adjusted, -1, safe, method)
        return values

    def labelled(
        self, table: Table, values: Mapping[str, Any], attrs: Mapping[str, Any], **coords: Any
    ) -> xr.Dataset:
        """Return a result with labels of pairs and levels, and further coordinates."""
        labels = pair_labels(table.runs, self.pairs(table)) | coords
        labels[names.ALPHA] = np.array(self.alphas)
        facts = {} if self.baseline is None else {"baseline": self.baseline}
        return table.dataset(self.variables, values, labels, {**facts, **attrs})


@dataclass(frozen=True, kw_only=True)
class ResampledTest(PairTest):
    """Base of tests by resampling."""

    default_trials: ClassVar[int] = 10_000
    joint: ClassVar[bool] = False
    """Whether p-values are of all pairs together, and need no adjustment for their number."""
    plus_one: bool = option_field(
        True,
        "p = (count + 1) / (B + 1), never 0; or, turned off, count / B, as in the papers.",
        flag="--no-plus-one",
    )

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        trials, reached = table.trials, self.counts(table, totals)
        safe = (reached + 1) / (trials + 1)
        p = safe if self.plus_one else reached / trials
        values = described(table, *differences(table, self.pairs(table)))
        values |= self.decided(p, None if self.joint else safe)
        values["reached"] = reached.astype(np.int32)
        values |= self.more(table, totals, values)
        attrs = {names.TEST: self.name, "plus_one": int(self.plus_one)}
        return self.labelled(table, values, attrs)

    @abstractmethod
    def counts(self, table: Table, totals: Totals) -> Any:
        """Return how many trials are at least as extreme as observed, int64 (cell, pair)."""

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the test has beside, or in place of, the other values."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Paired(PairTest):
    """Paired t, Wilcoxon and sign tests of all pairs of runs.

    All are two-sided and computed with SciPy; differences that are closer than 1e-9 of the range of
    the scores are ties. Limits of differences are Student's t, with two pseudo-topics at plus and
    minus the range where fewer than 8 topics differ and for scores of 0 and 1. With a margin, two
    one-sided t tests (Schuirmann 1987) give each pair a verdict at each alpha: ``equivalent`` if
    both reject a difference of the margin or more; otherwise ``different`` if the two-sided t test
    finds a difference; otherwise ``inconclusive``. Estimand: the difference of both means over
    infinitely many topics.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Paired())["p_value"].dims
    ('metric', 'gain', 'test', 'pair')
    """

    name: ClassVar[str] = "paired"
    unit: ClassVar[str] = "pairs"
    resamples: ClassVar[bool] = False
    variables: ClassVar = OF_TESTS
    examples: ClassVar[tuple[str, ...]] = ("--tests t,wilcoxon",)

    tests: tuple[Literal["t", "wilcoxon", "sign", "unpaired"], ...] = option_field(
        ("t",), "Some of t, wilcoxon, sign, unpaired."
    )
    margin: float | None = option_field(
        None,
        "Also test whether the means differ by less than this margin, in units of the score "
        "(two one-sided t tests).",
        above=0,
        maximum=LARGEST_SCORE,
    )

    def notes(self, table: Table) -> list[str]:
        return binary_notes(table) if "t" in self.tests else list(table.notes)

    def n_units(self, table: Table) -> int:
        return len(self.pairs(table)[0])

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        p = np.empty((len(table.scores), len(self.tests), stop - start))
        first, second = (runs[start:stop] for runs in self.pairs(table))
        for cell, scores in enumerate(table.values):
            x, y, least = scores[first], scores[second], EQUAL * scale_of(table, cell)
            z = np.rint((x - y) / least) * least  # what differs by less is tied
            for place, test in enumerate(self.tests):
                unpaired = test == "unpaired"
                p[cell, place] = welch_p_values(x, y) if unpaired else classical_p_values(test, z)
        return {"p": Concat(p)}

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        plain, guarded = differences(table, self.pairs(table))
        values = described(table, plain, guarded) | self.decided(totals["p"], totals["p"])
        attrs: dict[str, Any] = {"trials": 0}
        if self.margin is not None:
            values |= self.equivalence(plain, guarded, self.margin)
            attrs["margin"] = self.margin
        return self.labelled(table, values, attrs, **{names.TEST: list(self.tests)})

    def equivalence(self, plain: Estimate, guarded: Estimate, margin: float) -> dict[str, Any]:
        """Return the p-values of the tests of equivalence, and verdicts."""
        from scipy.special import stdtr

        freedom, size = plain.freedom, np.abs(guarded.mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            outside = stdtr(freedom, (size - margin) / guarded.error)
            unequal = 2 * stdtr(freedom, -np.abs(plain.mean) / plain.error)
        inside = np.where(guarded.error > 0, outside, np.where(size < margin, 0.0, 1.0))
        apart = np.where(plain.error > 0, unequal, 1.0 * (plain.mean == 0))
        levels = np.array(self.alphas)[:, np.newaxis]
        near, far = (of[:, np.newaxis] < levels for of in (inside, apart))
        verdicts = VERDICTS[np.where(near, 0, np.where(far, 1, 2))]
        return {"equivalence_p_value": inside, "verdict_on_pair": verdicts}


def pair_positions(n_runs: int, base: int | None = None) -> RunPairs:
    """Return first and second runs of all pairs, in label order; or of all others with one."""
    first, second = np.triu_indices(n_runs, 1)
    if base is not None:
        first, second = np.delete(np.arange(n_runs), base), np.full(n_runs - 1, base)
    return first.astype(np.int32), second.astype(np.int32)


def pair_labels(runs: Sequence[str], pairs: RunPairs) -> dict[str, Any]:
    """Return the coordinates `run_a` and `run_b` of pairs of runs."""
    first, second = (label_array(runs)[places] for places in pairs)
    return {names.RUN_A: (names.PAIR, first), names.RUN_B: (names.PAIR, second)}


def check_pairs(table: Table, name: str, baseline: str | None = None) -> None:
    """Refuse fewer than 2 runs or units of a collection, and an unknown baseline."""
    n_runs, n_units = len(table.runs), fewest_units(table)
    if n_runs < 2 or n_units < 2:
        raise BadPlan(
            f"{name} needs 2 runs and 2 topics of each collection; "
            f"found {counted(n_runs, 'run')} and {counted(n_units, 'topic')}"
        )
    if baseline is not None and baseline not in table.runs:
        raise BadName(f"no run {baseline!r} in the scores", option="baseline")


def fewest_units(table: Table) -> int:
    """Return the number of units of the smallest collection."""
    return min(part.size() for part in table.strata)


def binary_notes(table: Table) -> list[str]:
    """Refuse scores 0 and 1 of up to 5 units, and return the notes, with one of up to 10."""
    n_units, varied = fewest_units(table), np.ptp(table.scores, axis=(1, 2)) > 0
    topics = counted(n_units, "topic")
    text = f"scores 0 and 1 of {topics}: some pair of many equal runs differs on all of so few"
    if n_units > FEW_BINARY or not (table.binary & varied).any():
        return list(table.notes)
    if n_units <= REFUSED_BINARY:
        raise BadPlan(text)
    return [*table.notes, text]


def differences(table: Table, pairs: RunPairs) -> tuple[Estimate, Estimate]:
    """Return mean differences with standard errors, (cell, pair): plain, and with pseudo-units."""
    plain, guarded = np.zeros((2, 2, len(table.scores), len(pairs[0])))
    step = max(1, AT_ONCE // table.sizes.size)
    for cell, scores in enumerate(table.scores):
        mean, width, binary = table.means[cell], width_of(table, cell), bool(table.binary[cell])
        least = EQUAL * scale_of(table, cell)
        for low in range(0, len(pairs[0]), step):
            place = slice(low, low + step)
            first, second = pairs[0][place], pairs[1][place]
            z = scores[first] - scores[second]
            samples, still = table.samples(z), np.ptp(z, axis=1) <= least
            padded = guarded_estimate(samples, width, binary=binary)
            error = np.where(still, 0.0, estimate(samples).error)
            plain[:, cell, place] = mean[first] - mean[second], error
            guarded[:, cell, place] = padded.mean, error if width is None else padded.error
        for means, _ in (plain, guarded):
            means[cell][np.abs(means[cell]) <= least] = 0.0
    guarded[1][(guarded == 0.0).all(axis=0)] = np.nan
    freedom = table.sizes.size - 1.0
    return Estimate(plain[0], plain[1], freedom), Estimate(guarded[0], guarded[1], freedom)


def width_of(table: Table, cell: int) -> float | None:
    """Return the width of the range of a cell's scores; None where it is unknown."""
    ends = table.ranges[cell]
    return None if ends is None else ends[1] - ends[0]


def scale_of(table: Table, cell: int) -> float:
    """Return the width of a cell's range, else of its scores; 1 of equal scores."""
    return width_of(table, cell) or float(np.ptp(table.scores[cell])) or 1.0


def described(table: Table, plain: Estimate, guarded: Estimate) -> dict[str, Any]:
    """Return means, differences with limits of each pair by itself, and effect sizes, by cell."""
    (_, n_runs, n_units), scores = table.values.shape, table.values
    residuals = scores - scores.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=2, keepdims=True)
    # V_E2 of the two-way ANOVA without replication (Sakai 2014, SIGIR Forum 48(1)).
    squares = (residuals**2).sum(axis=(1, 2))
    residual = table.in_bag * (squares / ((n_runs - 1) * (n_units - 1)))
    widths: Any = np.array([[width_of(table, cell) or np.inf] for cell in range(len(table.scores))])
    low, high = difference_limits(guarded, widths, CONFIDENCE)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(plain.error > 0, plain.mean / plain.error, np.inf * plain.mean)
        effect = plain.mean / np.sqrt(residual)[:, np.newaxis]
    return {
        "mean": table.means,
        "mean_difference": plain.mean,
        "t": t,
        "difference_low": low,
        "difference_high": high,
        "effect_size": effect,
        "d_z": t / math.sqrt(n_units * table.in_bag),
        "n_tested": np.full(len(t), t.shape[1]),
    }

"""Classical tests of pairs of runs, without resampling: t, Wilcoxon and sign test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Array, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.base import (
    alphas_field,
    check_runs,
    few_binary_topics,
    residual_variances,
)
from scorecube.analyses.pair_tests.bounds import (
    KNOWN,
    bounds_field,
    bounds_of_cells,
    check_bounds,
    within_bounds,
)
from scorecube.analyses.pair_tests.classical_quantities import VARIABLES
from scorecube.analyses.pair_tests.equivalence import (
    Moments,
    check_levels,
    equivalence,
    equivalence_field,
    moments_over_topics,
)
from scorecube.analyses.pair_tests.family import (
    Pairs,
    baseline_field,
    by_system_field,
    check_baseline,
    family,
    family_size,
)
from scorecube.analyses.pair_tests.pair_scores import (
    comparable,
    differences_bytes,
    pair_groups,
    pairs_at_once,
    score_differences,
    score_rounding,
    whole_cells,
)
from scorecube.analyses.pair_tests.repetitions import (
    MEASURED_T,
    Repetitions,
    moments_over_repetitions,
    systems_by_default,
    systems_of,
    with_repetitions,
)
from scorecube.collection import schema
from scorecube.collection.run_pairs import pair_labels
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import cells, n_cells, uses_gains
from scorecube.collection.topic_groups import FREEDOM
from scorecube.errors import BadPlan, option
from scorecube.statistics.integer_scores import in_units, single_scores

T = "t"
TESTS: tuple[Literal["t", "wilcoxon", "sign"], ...] = ("t", "wilcoxon", "sign")
SECONDS_PER_PAIR = {"t": (5e-7, 3e-8), "wilcoxon": (3e-6, 2e-7), "sign": (3e-7, 5e-9)}
"""Of each pair, and for each of its topics."""
MAX_EXACT, MAX_PERMUTED = 50, 13
"""Largest numbers of topics for exact p-values: without and with ties (as SciPy)."""


@dataclass(frozen=True, kw_only=True)
class Paired(Analysis):
    """Paired t, Wilcoxon and sign tests of all pairs of runs.

    All are two-sided and computed with SciPy. With a margin, two one-sided t tests also give each pair a verdict at each alpha:
    ``equivalent`` if both reject a difference of the margin or more, so that the 1 - 2 alpha interval of the difference lies
    between -margin and margin; otherwise ``different`` if the two-sided t test finds a difference; otherwise ``inconclusive``.
    Estimand: the difference of both means over infinitely many topics; by system, of both expected scores over infinitely many topics and
    infinitely many repetitions of each system.

    Notes
    -----
    Measured error rates by system: see docs/believe/ranks.md.

    Measured share of pairs called equivalent at alpha = .05 whose means differ by exactly the margin (tests/analyses/pair_tests/
    test_equivalence.py): .050 for normal differences (25 and 50 topics); for topics drawn from real collections of 50 topics, mean of 60
    pairs, .050 (adhoc8 AP), .047 (web2013 AP) and .049 (web2013 RR). Single pairs have .014 to .118, as the t test has with skewed
    differences: too many on one side of zero, too few on the other.

    References
    ----------
    Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15, for the test of equivalence; Satterthwaite 1946, Biometrics
    Bulletin 2, for its degrees of freedom and those of the t test by system.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Paired(tests=("t",)))["p_value"].dims
    ('metric', 'gain', 'test', 'pair')
    """

    name: ClassVar[str] = "paired"
    unit: ClassVar[str] = "pairs"
    resamples: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("--tests t,wilcoxon",)

    tests: tuple[Literal["t", "wilcoxon", "sign"], ...] = option_field(
        TESTS,
        "Some of t, wilcoxon, sign.",
        detail="``wilcoxon`` is without zero differences, and exact for few topics without ties; ``sign`` is binomial, on the topics with "
        "different scores.",
    )
    alphas: tuple[float, ...] = alphas_field(finalize=True)
    baseline: str | None = baseline_field()
    equivalence: float | None = equivalence_field()
    by_system: bool | None = by_system_field(
        "The t test alone is made, with the variance over repetitions in its standard error and the degrees of freedom of Satterthwaite "
        "1946. Wilcoxon's and the sign test, which know topics only, are left out."
    )
    bounds: tuple[float, ...] | Literal["known"] = bounds_field()

    @property
    def uses_systems(self) -> bool:
        return bool(self.by_system)

    def of_cube(self, cube: xr.Dataset) -> tuple[Self, list[str]]:
        return systems_by_default(self, cube)

    @property
    def tests_done(self) -> tuple[str, ...]:
        """The tests of the result: of systems the t test alone."""
        return (T,) if self.by_system else self.tests

    def prepare(self, cube: xr.Dataset) -> Prepared:
        return Prepared(*systems_of(cube), source=cube) if self.by_system else Prepared(cube)

    def check(self, prepared: Prepared) -> list[str]:
        remarks = self.check_systems(prepared) if self.by_system else []
        check_runs(prepared.cube, "a paired test")
        if len(set(self.tests)) < len(self.tests):
            raise BadPlan(
                f"{option('tests', self.tests)}: choose one or more of {', '.join(TESTS)}, each once",
                option="tests",
            )
        check_baseline(prepared.cube, self.baseline)
        check_levels(self.equivalence, self.alphas)
        self.check_bounds(prepared)
        return remarks + (few_binary_topics(prepared.cube, "the t test") if T in self.tests else [])

    def check_bounds(self, prepared: Prepared) -> None:
        """Raise BadPlan for bounds that are none, or of which nothing here makes use."""
        check_bounds(self.bounds, lambda: cells(prepared.cube)[0], bool(self.by_system))
        if self.bounds in ((), KNOWN):
            return
        given = option("bounds", ",".join(f"{each:g}" for each in self.bounds))
        if self.equivalence is None:
            raise BadPlan(f"{given} needs {option('equivalence', 'MARGIN')}", option="bounds")

    def check_systems(self, prepared: Prepared) -> list[str]:
        """Raise BadPlan for options that comparisons of systems do not have; return warnings."""
        by_system = option("by_system", True)
        if T not in self.tests:
            raise BadPlan(
                f"{by_system} has the t test only: Wilcoxon's and the sign test know topics, and nothing of repetitions",
                option="tests",
            )
        repetitions: Repetitions = prepared.shared
        left_out = [test for test in self.tests if test != T]
        remarks = []
        if left_out:
            remarks = [
                f"systems are compared by the t test alone, without {' and '.join(left_out)}"
            ]
        return remarks + repetitions.remarks(labels_of(prepared.cube, names.RUN), MEASURED_T)

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of pairs of runs."""
        return family_size(prepared.cube, self.baseline)

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        cube, repetitions = prepared.cube, prepared.shared
        first, second = family(cube, self.baseline)
        form = single_scores if repetitions is None else comparable
        inputs = whole_cells(cells(cube)[0], form) | {"first": first, "second": second}
        if FREEDOM in cube.attrs:
            inputs["freedom"] = np.array([cube.sizes[names.TOPIC] - 1, cube.attrs[FREEDOM]])
        if repetitions is not None:
            inputs |= {"repetitions": repetitions.counts, "variances": repetitions.variances}
        return inputs

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        shape = (n_cells(prepared.cube), len(self.tests_done))
        return (Output("p", shape, Combine.CONCAT, "float64", 0, 1),)

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        if "repetitions" in inputs:
            pairs = (inputs["first"][start:stop], inputs["second"][start:stop])
            return {"p": moments_of_systems(inputs, pairs).unequal()[:, np.newaxis]}
        p = np.empty((len(inputs["whole"]), len(self.tests), stop - start))
        for group in pair_groups(inputs, inputs["first"][start:stop], inputs["second"][start:stop]):
            scores, rounding = group.units.whole, score_rounding(group.units)
            group_p = p[group.cell]
            step = pairs_at_once(group.units.n_topics)
            for low in range(0, len(group.first), step):
                part = slice(low, low + step)
                differences = score_differences(
                    scores, rounding, group.first[part], group.second[part]
                )
                for k, test in enumerate(self.tests):
                    group_p[k, part] = classical_p_values(test, differences, rounding)
            if T in self.tests and "freedom" in inputs:
                group_p[self.tests.index(T)] = _moved(
                    group_p[self.tests.index(T)], *inputs["freedom"]
                )
        return {"p": p}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        scores, cell_of = cells(cube)
        p = totals["p"]
        significant = np.stack(
            [(p < float(Fraction(str(alpha)))).sum(axis=-1) for alpha in self.alphas], axis=-1
        )
        first, second = family(cube, self.baseline)
        values = {"p_value": p, "significant": significant, "mean": scores.mean(axis=-1)}
        values["residual_variance"] = residual_variances(scores)
        attrs: dict[str, Any] = {
            "trials": 0,
            "n_runs": cube.sizes[names.RUN],
            "n_topics": cube.sizes[names.TOPIC],
            "notes": [],
        }
        if self.baseline is not None:
            attrs["baseline"] = self.baseline
        if self.equivalence is not None:
            attrs["equivalence"] = self.equivalence
        values |= self.values_of_differences(prepared, (first, second))
        values["share"] = significant / p.shape[-1]
        coords = {
            names.METRIC: cube[names.METRIC],
            names.GAIN: cube[names.GAIN],
            names.RUN: cube[names.RUN],
            names.USES_GAINS: (names.METRIC, uses_gains(cube)),
            names.ALPHA: np.array(self.alphas),
            names.TEST: schema.label_array(self.tests_done),
            **pair_labels(cube[names.RUN], (first, second)),
        }
        arrays = {
            variable.name: (variable.dims, values[variable.name][cell_of], variable.attrs())
            for variable in VARIABLES
            if variable.name in values
        }
        if self.by_system:
            attrs["by_system"] = 1
        return with_repetitions(xr.Dataset(arrays, coords, attrs), prepared)

    def values_of_differences(self, prepared: Prepared, pairs: Pairs) -> dict[str, Any]:
        """Return the variables of a test of equivalence, and of systems the standard errors, by cell."""
        if not self.by_system and self.equivalence is None:
            return {}
        values: dict[str, Any] = {}
        if self.by_system:
            moments = moments_of_systems(self.inputs(prepared, 0, 0), pairs)
            values = {"standard_error": moments.error, "degrees_of_freedom": moments.freedom}
        else:
            freedom = prepared.cube.attrs.get(FREEDOM)
            moments = moments_over_topics(cells(prepared.cube)[0], pairs, freedom)
        if self.equivalence is None:
            return values
        known = not self.bounds
        values |= equivalence(moments, self.equivalence, self.alphas, certain=known)
        scores = cells(prepared.cube)[0]
        bounds = bounds_of_cells(self.bounds, prepared.cube, bool(self.by_system))
        return values | within_bounds(values, scores, pairs, self.equivalence, self.alphas, bounds)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        count = n_cells(cube)
        n_topics = cube.sizes[names.TOPIC]
        n_settings = cube.sizes[names.METRIC] * cube.sizes[names.GAIN]
        score_bytes = 8.0 * count * cube.sizes[names.RUN] * cube.sizes[names.TOPIC]
        n_tested = family_size(cube, self.baseline)
        columns = 8 * len(self.tests_done) + (16 if self.by_system else 0)
        columns += 0 if self.equivalence is None else 16 * (2 + len(self.alphas))
        return Cost(
            seconds=count * seconds_per_pair(self.tests_done, n_topics),
            bytes=8.0 * count,
            fixed_bytes=differences_bytes(n_topics, n_tested),
            result_bytes=n_tested * (40.0 + columns * (count + n_settings)) + score_bytes,
            input_bytes=16.0 * n_tested + 2 * score_bytes,
        )


def moments_of_systems(inputs: Inputs, pairs: Pairs) -> Moments:
    """Return the moments of pairs of systems, of the arrays of `Paired.inputs`."""
    grids = zip(inputs["whole"], inputs["per_score"], inputs["rounded"], strict=True)
    units = [in_units(whole, float(grid), bool(rounded)) for whole, grid, rounded in grids]
    return moments_over_repetitions(units, inputs["repetitions"], inputs["variances"], pairs)


def seconds_per_pair(tests: Sequence[str], n_topics: int) -> float:
    """Return the time that tests of a pair take."""
    return sum(fixed + each * n_topics for fixed, each in map(SECONDS_PER_PAIR.__getitem__, tests))


def classical_p_values(test: str, differences: Array, rounding: float = 0.0) -> Array:
    """Return the two-sided p-values of pairs of runs.

    test: One of `TESTS`.
    differences: float64 (pair, topic): differences of scores.
    rounding: Largest rounding error of a difference.
    Returns p: float64 (pair,); 1 for pairs without a difference.
    """
    equal = ~differences.any(axis=1)
    p = np.ones(len(differences))
    unequal = differences[~equal]
    if not len(unequal):
        return p
    if test == "sign":
        ahead, behind = (unequal > 0).sum(axis=1), (unequal < 0).sum(axis=1)
        p[~equal] = np.minimum(
            1.0, 2 * scipy.stats.binom.cdf(np.minimum(ahead, behind), ahead + behind, 0.5)
        )
    elif test == "wilcoxon":
        p[~equal] = signed_rank_p_values(unequal)
    else:
        varying = np.ptp(unequal, axis=1) > 2 * rounding
        values = np.zeros(len(unequal))  # t of a constant difference is infinite
        if varying.any():
            values[varying] = scipy.stats.ttest_1samp(unequal[varying], 0.0, axis=1).pvalue
        p[~equal] = values
    return p


def signed_rank_p_values(differences: Array) -> Array:
    """Return the p-values of Wilcoxon's test of differences (pair, topic).

    Zero differences are left out. The p-value is exact for up to 50 topics without ties and zeros, and for up
    to 13 topics with them; otherwise it is that of the normal approximation. SciPy chooses one method for all
    pairs of a call, so pairs are divided here.
    """
    n = differences.shape[1]
    ordered = np.sort(np.abs(differences), axis=1)
    distinct = (ordered[:, 0] > 0) & (np.diff(ordered, axis=1) > 0).all(axis=1)
    p = np.empty(len(differences))
    if n > MAX_EXACT:
        return np.asarray(scipy.stats.wilcoxon(differences, axis=1, method="asymptotic").pvalue)
    if distinct.any():
        p[distinct] = scipy.stats.wilcoxon(differences[distinct], axis=1, method="exact").pvalue
    if not distinct.all():
        tied = differences[~distinct]
        p[~distinct] = (
            scipy.stats.wilcoxon(tied, axis=1, method="asymptotic").pvalue
            if n > MAX_PERMUTED
            else exact_p_values(tied)
        )
    return p


def exact_p_values(differences: Array) -> Array:
    """Return exact p-values of the signed-rank test with ties, over all signs."""
    zero = differences == 0
    ranks = np.rint(
        2
        * scipy.stats.rankdata(
            np.where(zero, np.nan, np.abs(differences)), axis=1, nan_policy="omit"
        )
    )
    twice = np.where(zero, 0, np.nan_to_num(ranks)).astype(
        np.int64
    )  # doubled: ties have half ranks
    observed = np.where(differences > 0, twice, 0).sum(axis=1)
    largest = int(twice.sum(axis=1).max())
    n_vectors = np.zeros((len(differences), largest + 1))
    n_vectors[:, 0] = 1.0
    rank_sums = np.arange(largest + 1)
    for rank in twice.T:
        before = rank_sums - rank[:, np.newaxis]
        n_vectors += np.where(
            before >= 0, np.take_along_axis(n_vectors, np.maximum(before, 0), axis=1), 0.0
        )
    upper = np.where(rank_sums >= observed[:, np.newaxis], n_vectors, 0.0).sum(axis=1)
    lower = np.where(rank_sums <= observed[:, np.newaxis], n_vectors, 0.0).sum(axis=1)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(upper, lower) / 2.0 ** differences.shape[1]))


def _moved(p: Any, freedom: float, other: float) -> Any:
    """Return two-sided p-values of t tests with other degrees of freedom than those they were made with."""
    from scipy.special import stdtr, stdtrit

    return np.where(p > 0, 2 * stdtr(other, stdtrit(freedom, p / 2)), p)

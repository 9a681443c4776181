"""Classical tests of pairs of runs, as quick references beside resampling: t, Wilcoxon's signed ranks, sign.

All three are SciPy's; nothing is resampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from scipy.stats import binom, rankdata, ttest_1samp, wilcoxon

from scorecube import names
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Output, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.base import alphas_field, check_alphas, check_runs, n_pairs
from scorecube.analyses.pair_tests.pairwise_complete import (
    REFUSE,
    describe_pairs,
    groups,
    mean_scores,
    missing_field,
    whole_cells,
)
from scorecube.analyses.pair_tests.pairwise_complete import VARIABLES as OF_MISSING
from scorecube.collection import schema
from scorecube.collection.run_pairs import pair_labels, pair_positions
from scorecube.collection.schema import Variable
from scorecube.collection.selection import cells, n_cells, uses_gains
from scorecube.errors import BadPlan

TESTS = ("t", "wilcoxon", "sign")
SECONDS = {"t": 2e-6, "wilcoxon": 3e-5, "sign": 1e-6}
AT_ONCE = 4096
MOST_EXACT, MOST_PERMUTED = 50, 13
"""Topics up to which Wilcoxon's test is exact: without ties and zero differences, and with them (SciPy's choice)."""


@dataclass(frozen=True, kw_only=True)
class Paired(Analysis):
    """Paired t, Wilcoxon and sign tests of all pairs of runs, as quick references.

    All are two-sided and SciPy's.

    Parameters
    ----------
    tests
        Some of ``t``, ``wilcoxon`` (zero differences are left out, exact for few topics without ties) and ``sign``
        (binomial on the topics that differ).
    alphas
        Significance levels: a pair is significant if p < alpha.
    missing
        ``refuse`` missing scores; or ``pairwise``: test each pair on the topics on which both runs have scores, see `Bootstrap`.

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

    missing: str = missing_field()
    tests: tuple[str, ...] = option_field(TESTS, "Some of t, wilcoxon, sign.", choices=TESTS)
    alphas: tuple[float, ...] = alphas_field(finalize=True)

    def check(self, prepared: Prepared) -> list[str]:
        """See `Analysis.check`."""
        check_alphas(self.alphas)
        check_runs(prepared.cube, "a paired test", missing=self.missing)
        if not self.tests or len(set(self.tests)) < len(self.tests):
            given = ", ".join(self.tests) or "without a name"
            raise BadPlan(f"tests {given}: choose some of {', '.join(TESTS)}, each once", option="tests")
        return []

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of pairs of runs."""
        return n_pairs(prepared.cube)

    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """Refuse: nothing is drawn."""
        raise BadPlan("classical tests take no samples")

    def inputs(self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None) -> Arrays:
        """See `Analysis.inputs`; scores become integers where they can, so that equal differences are equal."""
        cube = prepared.cube
        first, second = pair_positions(cube.sizes[names.RUN])
        return whole_cells(cells(cube)[0]) | {"first": first, "second": second}

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        """See `Analysis.outputs`."""
        return (Output("p", (n_cells(prepared.cube), len(self.tests)), Combine.CONCAT, "float64"),)

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`."""
        p = np.full((len(inputs["whole"]), len(self.tests), stop - start), np.nan)
        for group in groups(inputs, inputs["first"][start:stop], inputs["second"][start:stop]):
            scores, rounding = group.units.uncentred, 2.0 if group.units.rounded else 0.0
            found = np.empty((len(self.tests), len(group.first)))
            for low in range(0, len(group.first), AT_ONCE):
                part = slice(low, low + AT_ONCE)
                differences = scores[group.first[part]] - scores[group.second[part]]
                differences[np.abs(differences) <= rounding] = 0.0
                for k, test in enumerate(self.tests):
                    found[k, part] = p_of(test, differences, rounding)
            p[group.cell][:, group.pairs] = found
        return {"p": p}

    def finalize(self, prepared: Prepared, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """See `Analysis.finalize`."""
        cube = prepared.cube
        scores, cell_of = cells(cube)
        p = totals["p"]
        significant = np.stack([(p < float(Fraction(str(alpha)))).sum(axis=-1) for alpha in self.alphas], axis=-1)
        first, second = pair_positions(cube.sizes[names.RUN])
        values = {"p_value": p, "significant": significant, "mean": mean_scores(scores)}
        facts: dict[str, Any] = {
            "trials": 0, "n_runs": cube.sizes[names.RUN], "n_topics": cube.sizes[names.TOPIC], "notes": [],
        }  # fmt: skip
        tested: Any = p.shape[-1]
        if self.missing != REFUSE:
            described, untested = describe_pairs(scores, first, second)
            tested = p.shape[-1] - untested.sum(axis=-1)[:, np.newaxis, np.newaxis]
            values |= described
            facts["missing"] = self.missing
        with np.errstate(invalid="ignore"):
            values["share"] = significant / tested
        coords = {
            names.METRIC: cube[names.METRIC], names.GAIN: cube[names.GAIN], names.RUN: cube[names.RUN],
            names.USES_GAINS: (names.METRIC, uses_gains(cube)), names.ALPHA: np.array(self.alphas),
            names.TEST: schema.label_array(self.tests),
            **pair_labels(cube[names.RUN]),
        }  # fmt: skip
        arrays = {
            each.name: (each.dims, values[each.name][cell_of], each.attrs())
            for each in (*VARIABLES, *OF_MISSING)
            if each.name in values
        }
        return xr.Dataset(arrays, coords, facts)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """See `Analysis.cost`."""
        cube = prepared.cube
        count = n_cells(cube)
        seconds = count * sum(SECONDS[test] for test in self.tests)
        results = 8.0 * count * len(self.tests) * n_pairs(cube)
        return Cost(
            seconds=seconds,
            bytes=8.0 * count,
            fixed_bytes=60.0 * AT_ONCE * cube.sizes[names.TOPIC],
            result_bytes=results,
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Refuse: nothing is drawn."""
        raise BadPlan("classical tests draw no samples")


def p_of(test: str, differences: np.ndarray[Any, Any], rounding: float = 0.0) -> np.ndarray[Any, Any]:
    """Return the two-sided p-values of differences (pair, topic) that may be off by `rounding`; 1 where all are zero."""
    equal = ~differences.any(axis=1)
    p = np.ones(len(differences))
    some = differences[~equal]
    if not len(some):
        return p
    if test == "sign":
        ahead, behind = (some > 0).sum(axis=1), (some < 0).sum(axis=1)
        p[~equal] = np.minimum(1.0, 2 * binom.cdf(np.minimum(ahead, behind), ahead + behind, 0.5))
    elif test == "wilcoxon":
        p[~equal] = signed_ranks(some)
    else:
        varying = np.ptp(some, axis=1) > 2 * rounding
        values = np.zeros(len(some))  # a constant difference has infinite t
        if varying.any():
            values[varying] = ttest_1samp(some[varying], 0.0, axis=1).pvalue
        p[~equal] = values
    return p


def signed_ranks(differences: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return p-values of Wilcoxon's test of differences (pair, topic), each as SciPy gives it for the pair alone.

    Zero differences are left out. The p-value is exact for up to 50 topics without ties and zeros, and for up to 13 with them,
    else that of the normal approximation. Given many pairs at once, SciPy would choose one way for all of them.
    """
    n = differences.shape[1]
    ordered = np.sort(np.abs(differences), axis=1)
    plain = (ordered[:, 0] > 0) & (np.diff(ordered, axis=1) > 0).all(axis=1)
    p = np.empty(len(differences))
    if n > MOST_EXACT:
        return np.asarray(wilcoxon(differences, axis=1, method="asymptotic").pvalue)
    if plain.any():
        p[plain] = wilcoxon(differences[plain], axis=1, method="exact").pvalue
    if not plain.all():
        rest = differences[~plain]
        p[~plain] = wilcoxon(rest, axis=1, method="asymptotic").pvalue if n > MOST_PERMUTED else every_sign(rest)
    return p


def every_sign(differences: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return exact p-values of the signed-rank test: the distribution of the rank sum over all signs, ties and zeros and all."""
    zero = differences == 0
    ranks = np.rint(2 * rankdata(np.where(zero, np.nan, np.abs(differences)), axis=1, nan_policy="omit"))
    twice = np.where(zero, 0, np.nan_to_num(ranks)).astype(np.int64)  # ranks that are halved by ties, doubled
    observed = np.where(differences > 0, twice, 0).sum(axis=1)
    most = int(twice.sum(axis=1).max())
    ways = np.zeros((len(differences), most + 1))
    ways[:, 0] = 1.0
    places = np.arange(most + 1)
    for rank in twice.T:
        before = places - rank[:, np.newaxis]
        ways += np.where(before >= 0, np.take_along_axis(ways, np.maximum(before, 0), axis=1), 0.0)
    reached = np.where(places >= observed[:, np.newaxis], ways, 0.0).sum(axis=1)
    not_passed = np.where(places <= observed[:, np.newaxis], ways, 0.0).sum(axis=1)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(reached, not_passed) / 2.0 ** differences.shape[1]))


_CELL = (names.METRIC, names.GAIN, names.TEST)
VARIABLES = (
    Variable("p_value", (*_CELL, names.PAIR), "f", "1", "p-value, two-sided"),
    Variable("significant", (*_CELL, names.ALPHA), "iu", "pairs", "pairs with a p-value below alpha"),
    Variable("share", (*_CELL, names.ALPHA), "f", "1", "share of pairs with a p-value below alpha"),
    Variable("mean", (names.METRIC, names.GAIN, names.RUN), "f", "score", "mean score of a run"),
)

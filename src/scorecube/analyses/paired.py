"""Classical tests of pairs of runs, on the scores as they are: t, Wilcoxon, sign, Welch's t."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_quantities import PAIRED
from scorecube.analyses.pair_results import (
    VERDICTS,
    Moments,
    adjustments,
    decisions,
    differences,
    estimates,
    moments,
    verdicts,
)
from scorecube.analyses.pairs import OfPairs, alphas_field, baseline_field, binary_notes
from scorecube.analyses.protocol import Concat, Part, Totals
from scorecube.analyses.table import Table
from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadPlan, option
from scorecube.statistics.paired_tests import classical_p_values, welch_p_values

PAIRS_AT_ONCE = 1024
"""Pairs whose differences are in memory at a time."""


@dataclass(frozen=True, kw_only=True)
class Paired(OfPairs):
    """Paired t, Wilcoxon and sign tests of all pairs of runs.

    All are two-sided and computed with SciPy; differences that are closer than 1e-9 of the range of
    the scores are ties. Limits of differences are Student's t, with two pseudo-topics at plus and
    minus the range where fewer than 8 topics differ and for scores of 0 and 1. With a margin, two
    one-sided t tests of the same estimates give each pair a verdict at each alpha: ``equivalent``
    if both reject a difference of the margin or more; otherwise ``different`` if the two-sided t
    test finds a difference; otherwise ``inconclusive``. Estimand: the difference of both means over
    infinitely many topics.

    References
    ----------
    Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15, for equivalence.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Paired(tests=("t", "sign")))["p_value"].dims
    ('metric', 'gain', 'test', 'pair')
    """

    name: ClassVar[str] = "paired"
    unit: ClassVar[str] = "pairs"
    resamples: ClassVar[bool] = False
    bags: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("--tests t,wilcoxon",)

    tests: tuple[Literal["t", "wilcoxon", "sign", "unpaired"], ...] = option_field(
        ("t",),
        "Some of t, wilcoxon, sign, unpaired.",
        detail="``wilcoxon`` is without zero differences, and exact for few topics without ties; "
        "``sign`` is binomial, on the topics with different scores; ``unpaired`` is Welch's t "
        "test, as if the runs had other topics.",
    )
    alphas: tuple[float, ...] = alphas_field()
    baseline: str | None = baseline_field()
    margin: float | None = option_field(
        None,
        "Also test whether the means differ by less than this margin, in units of the score "
        "(two one-sided t tests).",
        detail="It is the largest difference of means that does not matter.",
        above=0,
        maximum=LARGEST_SCORE,
        finalize=True,
    )

    def notes(self, table: Table) -> list[str]:
        if len(set(self.tests)) < len(self.tests):
            raise BadPlan(f"{option('tests', self.tests)}: name each test once", option="tests")
        if self.margin is not None and max(self.alphas) >= 0.5:
            raise BadPlan(
                f"{option('margin', self.margin)} needs every alpha below 0.5: a pair is "
                "equivalent if its interval of confidence 1 - 2 alpha lies within",
                option="alphas",
            )
        return [*table.notes, *(binary_notes(table) if "t" in self.tests else [])]

    def n_units(self, table: Table) -> int:
        return len(self.pairs(table)[0])

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        p = np.empty((len(table.scores), len(self.tests), stop - start))
        first, second = self.pairs(table)
        for low in range(start, stop, PAIRS_AT_ONCE):
            high = min(low + PAIRS_AT_ONCE, stop)
            pairs, here = (first[low:high], second[low:high]), slice(low - start, high - start)
            for cell, values in enumerate(table.values):
                z = differences(table, cell, pairs)
                for k, test in enumerate(self.tests):
                    p[cell, k, here] = (
                        welch_p_values(values[pairs[0]], values[pairs[1]])
                        if test == "unpaired"
                        else classical_p_values(test, z)
                    )
        return {"p": Concat(p, least=0, most=1)}

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        found, p = moments(table, self.pairs(table)), totals["p"]
        values = estimates(table, found) | {"p_value": p}
        values |= decisions(table, p, found.mean[:, np.newaxis], self.alphas, self.baseline)
        values |= adjustments(p, self.alphas, p)
        attrs: dict[str, Any] = {"trials": 0}
        coords: dict[str, Any] = {names.TEST: list(self.tests)}
        if self.margin is not None:
            values |= self.equivalence(table, found, self.margin)
            attrs["margin"] = self.margin
            coords[names.VERDICT] = VERDICTS
        return self.labelled(table, values, attrs, PAIRED, coords)

    def equivalence(self, table: Table, found: Moments, margin: float) -> dict[str, Any]:
        """Return the p-values of the tests of equivalence and of a difference, and verdicts."""
        from scipy.special import stdtr

        freedom, size = table.sizes.size - 1, np.abs(found.guarded_mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            outside = stdtr(freedom, (size - margin) / found.guarded_error)
            unequal = 2 * stdtr(freedom, -np.abs(found.mean) / found.error)
        inside = np.where(found.guarded_error > 0, outside, np.where(size < margin, 0.0, 1.0))
        apart = np.where(found.error > 0, unequal, 1.0 * (found.mean == 0))
        p_values = {"equivalence_p_value": inside, "difference_p_value": apart}
        return {**p_values, **verdicts(inside, apart, self.alphas)}

    def counts(self, table: Table, totals: Totals) -> Any:
        raise BadPlan("a paired test has no trials")

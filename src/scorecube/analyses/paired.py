"""Classical tests of pairs of runs, without resampling, on the scores as they are: t, Wilcoxon, sign, and Welch's t of unpaired scores."""

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
    decided,
    differences,
    estimates,
    moments,
    verdicts,
)
from scorecube.analyses.pairs import (
    OfPairs,
    alphas_field,
    baseline_field,
    binary_notes,
    check_pairs,
)
from scorecube.analyses.protocol import Concat, Part, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadPlan, option
from scorecube.statistics.paired_tests import classical_p_values, welch_p_values

PAIRS_AT_ONCE = 1024
"""Pairs whose differences are in memory at a time."""
UNPAIRED = "unpaired"


@dataclass(frozen=True, kw_only=True)
class Paired(OfPairs):
    """Paired t, Wilcoxon and sign tests of all pairs of runs.

    All are two-sided and computed with SciPy; differences that are closer than 1e-9 of the range of the scores are ties. Limits of differences are Student's t, with two
    pseudo-topics at plus and minus the range where fewer than 8 topics differ and for scores of 0 and 1. With a margin, two one-sided t tests of the same estimates give
    each pair a verdict at each alpha: ``equivalent`` if both reject a difference of the margin or more; otherwise ``different`` if the two-sided t test finds a difference;
    otherwise ``inconclusive``. Estimand: the difference of both means over infinitely many topics.

    References
    ----------
    Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15, for the test of equivalence.

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
    examples: ClassVar[tuple[str, ...]] = ("--tests t,wilcoxon",)

    tests: tuple[Literal["t", "wilcoxon", "sign", "unpaired"], ...] = option_field(
        ("t",),
        "Some of t, wilcoxon, sign, unpaired.",
        detail="``wilcoxon`` is without zero differences, and exact for few topics without ties; ``sign`` is binomial, on the topics with different scores; "
        "``unpaired`` is Welch's t test, as if the runs had other topics.",
    )
    alphas: tuple[float, ...] = alphas_field(finalize=True)
    baseline: str | None = baseline_field()
    margin: float | None = option_field(
        None,
        "Also test whether the means differ by less than this margin, in units of the score (two one-sided t tests).",
        detail="It is the largest difference of means that does not matter.",
        above=0,
        maximum=LARGEST_SCORE,
        unit="score",
        finalize=True,
    )

    def table(self, cube: xr.Dataset) -> Table:
        table = make_table(cube, bags=None)
        check_pairs(table, "a paired test", self.baseline)
        return table

    def notes(self, table: Table) -> list[str]:
        if len(set(self.tests)) < len(self.tests):
            raise BadPlan(f"{option('tests', self.tests)}: name each test once", option="tests")
        if self.margin is not None and max(self.alphas) >= 0.5:
            raise BadPlan(
                f"{option('margin', self.margin)} needs every alpha below 0.5: a pair is equivalent if its interval of confidence 1 - 2 alpha lies within",
                option="alphas",
            )
        return [*table.notes, *(binary_notes(table) if "t" in self.tests else [])]

    def n_units(self, table: Table) -> int:
        return len(self.pairs(table)[0])

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        p = np.empty((len(table.scores), len(self.tests), stop - start))
        first, second = self.pairs(table)
        for low in range(start, stop, PAIRS_AT_ONCE):
            place = slice(low, min(low + PAIRS_AT_ONCE, stop))
            here = slice(place.start - start, place.stop - start)
            pairs = first[place], second[place]
            for cell, values in enumerate(table.values):
                z = differences(table, cell, pairs)
                for k, test in enumerate(self.tests):
                    p[cell, k, here] = (
                        welch_p_values(values[pairs[0]], values[pairs[1]])
                        if test == UNPAIRED
                        else classical_p_values(test, z)
                    )
        return {"p": Concat(p, least=0, most=1)}

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        pairs = self.pairs(table)
        found, p = moments(table, pairs), totals["p"]
        values = estimates(table, found)
        better = found.mean * np.where(table.higher, 1, -1)[:, np.newaxis]
        values |= decided(p, better[:, np.newaxis], self.alphas, self.baseline)
        values |= adjustments(p, self.alphas, p)
        attrs: dict[str, Any] = {"trials": 0}
        coords: dict[str, Any] = {names.TEST: list(self.tests)}
        if self.margin is not None:
            values |= self.equivalence(table, found)
            attrs["margin"] = self.margin
            coords[names.VERDICT] = VERDICTS
        return self.labelled(table, values, attrs, PAIRED, coords)

    def equivalence(self, table: Table, found: Moments) -> dict[str, Any]:
        """Return the p-values of the tests of equivalence and of a difference, and what they decide."""
        from scipy.special import stdtr

        freedom, within = table.sizes.size - 1, np.abs(found.guarded_mean) < self.margin
        with np.errstate(divide="ignore", invalid="ignore"):
            outside = stdtr(
                freedom, (np.abs(found.guarded_mean) - self.margin) / found.guarded_error
            )
            unequal = 2 * stdtr(freedom, -np.abs(found.mean) / found.error)
        inside = np.where(found.guarded_error > 0, outside, np.where(within, 0.0, 1.0))
        apart = np.where(found.error > 0, unequal, 1.0 * (found.mean == 0))
        decisions = verdicts(inside, apart, self.alphas)
        return {"equivalence_p_value": inside, "difference_p_value": apart, **decisions}

    def counts(self, table: Table, totals: Totals) -> Any:
        raise BadPlan("a paired test has no trials")

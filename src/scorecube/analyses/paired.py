"""Classical tests of pairs of runs, on the scores as they are: t, Wilcoxon, sign, Welch's t."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import (
    DIFFERENCES,
    PairTest,
    binary_notes,
    described,
    differences,
    scale_of,
)
from scorecube.analyses.protocol import Concat, Part, Totals
from scorecube.analyses.table import Table
from scorecube.collection.schema import LARGEST_SCORE, read_variables
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Estimate
from scorecube.statistics.paired_tests import classical_p_values, welch_p_values

VERDICTS = np.array(["equivalent", "different", "inconclusive"], object)
VARIABLES = read_variables(
    DIFFERENCES.format(" test")
    + """
    [metric gain pair]
    equivalence_p_value | p_value | 1 | p-value of a difference of the margin or more
    [metric gain alpha pair]
    verdict_on_pair | label/O | 1 | equivalent, different or inconclusive, by itself
    """
)


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
    variables: ClassVar = VARIABLES
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

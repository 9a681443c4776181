"""Paired t, Wilcoxon, sign and unpaired tests of pairs of runs, and tests of equivalence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube.analyses.differences import differences, scale_of, single_p_values
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import OF_TESTS, PairTest, binary_notes
from scorecube.analyses.protocol import Arrays, Concat, Part, Totals
from scorecube.analyses.table import Table
from scorecube.collection.schema import LARGEST_SCORE
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.paired_tests import adjusted, classical_p_values, welch_p_values


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
        facts = {"trials": 0} | ({} if self.margin is None else {"margin": self.margin})
        result = super().result(table, totals)
        return result.assign_coords(test=list(self.tests)).assign_attrs(facts)

    def tested(self, table: Table, totals: Totals, values: Arrays) -> Arrays:
        tested = {"p_value": totals["p"], **adjusted(totals["p"])}
        if self.margin is None:
            return tested
        from scipy.special import stdtr

        *_, guarded = differences(table, self.pairs(table))
        size = np.abs(guarded.mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            outside = stdtr(guarded.freedom, (size - self.margin) / guarded.error)
        inside = np.where(guarded.error > 0, outside, np.where(size < self.margin, 0.0, 1.0))
        apart = single_p_values(values["t"], guarded.freedom)
        levels = np.array(self.alphas)[:, np.newaxis]
        near, far = (p[:, np.newaxis] < levels for p in (inside, apart))
        verdicts = np.where(near, "equivalent", np.where(far, "different", "inconclusive"))
        return tested | {"equivalence_p_value": inside, "verdict_on_pair": verdicts.astype(object)}

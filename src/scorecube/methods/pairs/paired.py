"""Paired t, Wilcoxon, sign and unpaired tests of pairs of runs, and tests of equivalence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube.analyses.differences import least_of
from scorecube.analyses.pairs import binary_notes
from scorecube.analyses.protocol import Array, Arrays, Concat, Part, Totals
from scorecube.analyses.table import ScoreTable
from scorecube.collection.schema import LARGEST_SCORE, variable_of
from scorecube.declare import Variable, View, option_field
from scorecube.errors import counted
from scorecube.methods.pairs.tests import OF_TESTS, PairTest
from scorecube.methods.pairs.view import PAIRED, view_of_test
from scorecube.statistics.intervals import one_sided_p
from scorecube.statistics.paired_tests import adjusted, classical_p_values, welch_p_values

STUDENT = "t"
"""The test whose p-values and limits come from one estimate."""


VIEW = view_of_test(
    "paired",
    "Classical tests",
    "Paired t test, Wilcoxon's signed-rank test and the sign test of every pair; the latter "
    "two separate equal means too often where differences are skewed. Limits are those of t, "
    "which has pseudo-topics at plus and minus the range where few topics differ and for "
    "scores of 0 and 1; p < .05 where they do not hold 0. With a margin, two "
    "one-sided t tests find pairs whose means differ by less (equivalent).",
    tables=PAIRED,
    conditions=("tests", "alphas"),
    overview=None,
)


@dataclass(frozen=True, kw_only=True)
class Paired(PairTest):
    """Paired t, Wilcoxon and sign tests of all pairs of runs.

    All are two-sided. P-values and 95 % limits of Student's t come from one estimate, so that p is
    below .05 where the limits do not hold 0: with two pseudo-topics at plus and minus the range
    where fewer than 8 topics differ and for scores of 0 and 1. Without a range, such few topics
    have neither. The other tests are SciPy's; differences that are closer than 1e-9 of the range of
    the scores are ties. With a margin, two
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
    view: ClassVar[View] = VIEW
    references: ClassVar[tuple[str, ...]] = ("smucker2007",)
    unit: ClassVar[str] = "pairs"
    resamples: ClassVar[bool] = False
    unused: ClassVar[tuple[str, ...]] = ("bags",)
    variables: ClassVar[tuple[Variable, ...]] = OF_TESTS
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

    def notes(self, table: ScoreTable) -> list[str]:
        if STUDENT not in self.tests:
            return list(table.notes)
        notes = binary_notes(table)
        guarded = self.differences(table).has_pseudo_units
        if guarded.any():
            topics = table.nouns.topics
            notes.append(
                f"Student's t of {guarded.sum():,} of {counted(guarded.size, 'pair')} counts two "
                f"{topics} more, which differ by the whole range, one either way: fewer than 8 "
                f"{topics} differ there, or scores are 0 and 1; p-values are larger, limits wider."
            )
        return notes

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        p = np.full((len(table.scores), len(self.tests), stop - start), np.nan)
        first, second = self.pairs(table)
        a = first[start:stop]
        b = second[start:stop]
        for cell, scores in enumerate(table.values):
            # Differences that are closer than the least are tied.
            least = least_of(table, cell) or 1.0
            for place, test in enumerate(self.tests):
                if test == "unpaired":
                    p[cell, place] = welch_p_values(scores[a], scores[b])
                elif test != STUDENT:
                    tied = np.rint((scores[a] - scores[b]) / least) * least
                    p[cell, place] = classical_p_values(test, tied)
        return {"p": Concat(p)}

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        facts: dict[str, Any] = {"trials": 0}
        if self.margin is not None:
            facts["margin"] = self.margin
        result = super().result(table, totals).assign_attrs(facts)
        return result.assign_coords(test=variable_of("test", self.tests))

    def tested(self, table: ScoreTable, totals: Totals, values: Arrays) -> Arrays:
        p = totals["p"]
        of_t = values.pop("p_single")
        for place in [place for place, test in enumerate(self.tests) if test == STUDENT]:
            p[:, place] = of_t
        tested = {"p_value": p, **adjusted(p)}
        if self.margin is None:
            return tested
        guarded = self.differences(table).guarded
        inside = one_sided_p(guarded._replace(mean=np.abs(guarded.mean)), self.margin)
        return tested | {
            "equivalence_p_value": inside,
            "verdict_on_pair": self.verdicts(inside, of_t),
        }

    def verdicts(self, inside: Array, apart: Array) -> Array:
        """Return verdicts on pairs, object (cell, alpha, pair).

        inside, apart: float64 (cell, pair): p-values of a difference of the margin or more, and of
            no difference; NaN where there are no limits.
        """
        levels = np.array(self.alphas)[:, np.newaxis]
        near = inside[:, np.newaxis] < levels
        far = apart[:, np.newaxis] < levels
        words = np.where(near, "equivalent", np.where(far, "different", "inconclusive"))
        return words.astype(object)

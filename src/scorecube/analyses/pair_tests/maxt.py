"""Step-down max-T test of pairs of runs by the bootstrap.

References: Romano and Wolf 2005, "Exact and approximate stepdown methods for multiple hypothesis testing", Journal of the
American Statistical Association 100, Algorithms 3.1 and 4.1; Westfall and Young 1993, "Resampling-based multiple testing".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube.analyses.base import Inputs, Prepared
from scorecube.analyses.pair_tests.base import (
    alphas_field,
    expand_cells,
    pair_result,
    plus_one_field,
)
from scorecube.analyses.pair_tests.family import Pairs, baseline_field, family
from scorecube.analyses.pair_tests.joint_quantities import MAXT_VARIABLES
from scorecube.analyses.pair_tests.moderated import Moderated
from scorecube.analyses.pair_tests.repetitions import OverRepetitions, with_repetitions
from scorecube.analyses.pair_tests.step_down import StepDown
from scorecube.collection.selection import cell_of_settings


@dataclass(frozen=True, kw_only=True)
class MaxT(StepDown):
    """Step-down max-T test of all pairs together, also of runs that vary differently.

    It controls the family-wise error rate without assuming that runs are exchangeable.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs, and computes ``|t*|`` of the centred
    per-topic differences of every pair; t is moderated, see `StepDown`. The adjusted p-value of a pair is the share of trials in which the largest ``|t*|`` over
    this pair and all pairs with a smaller ``|t|`` reaches ``|t|``, or that of a pair with a larger ``|t|`` if it is larger. The estimand is
    the set of pairs whose means over infinitely many topics differ; the probability that any pair without a difference
    is among the significant ones is at most alpha, for large n.

    Notes
    -----
    Pairs with equal scores on all topics (p = 1) and pairs with the same difference on all topics (p = 0) stay out of the
    maximum. A replicate in which all differences of a pair are the same has an infinite t*: it counts for this pair only. Such
    a pair differs on few topics, and its ``|t|`` is too small to be ever significant: with equal differences on k of n topics
    ``|t| = sqrt(k (n - 1) / (n - k))``.

    Measured family-wise error rates at alpha = .05: see docs/believe/ranks.md.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), MaxT(), trials=200, seed=1)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "maxt"

    alphas: tuple[float, ...] = alphas_field(finalize=True, family_wise=True)
    baseline: str | None = baseline_field()
    plus_one: bool = plus_one_field()

    def families(self, cube: xr.Dataset) -> Sequence[Pairs]:
        return [family(cube, self.baseline)]

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        (tested,), statistics = self.families(cube), self.statistics(prepared)
        counts = self.counts(prepared, totals["reached"], trials)
        reached = np.stack([each for (each,) in counts])
        attrs: dict[str, Any] = {"trials": trials, "plus_one": int(self.plus_one), **self.facts()}
        values, more = over_repetitions(prepared, statistics, tested)
        if self.reads_by_run:
            values["mean"] = np.array([each.mean for each in self.seen(prepared)])
            values["residual_variance"] = np.array([each.residual_variance for each in statistics])
        result = pair_result(cube, reached, values, self.alphas, attrs | more, self.baseline)
        cell_of = cell_of_settings(cube)
        by_cell = {
            "standard_error": [each.standard_errors(tested) for each in statistics],
            "moderated_error": [each.moderated_errors(tested) for each in statistics],
            "critical_value": [
                self.critical_values(each, largest[0], self.alphas)
                for each, largest in zip(statistics, totals["largest"], strict=True)
            ],
        }
        result = with_repetitions(result, prepared)
        return result.assign(
            {
                variable.name: (
                    variable.dims,
                    expand_cells(np.asarray(by_cell[variable.name]), cell_of),
                    variable.attrs(),
                )
                for variable in MAXT_VARIABLES
            }
        )


def over_repetitions(
    prepared: Prepared, statistics: Sequence[Moderated], pairs: Pairs
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what differs in a result where systems have repetitions, or errors are drawn: variables by cell, and attributes; else nothing."""
    if not isinstance(statistics[0], OverRepetitions):
        return {}, {}
    rows = []
    for each in statistics:
        totals, squares = each.sums(pairs)
        constant = each.spread(pairs, squares) == 0
        with np.errstate(divide="ignore", invalid="ignore"):
            t = totals / (each.units.n_topics * each.units.per_score) / each.standard_errors(pairs)
        rows.append((t, (constant & (totals == 0)).sum(), (constant & (totals != 0)).sum()))
    names_of = ("t", "degenerate_pairs", "constant_pairs")
    more = {} if prepared.shared is None else {"by_system": 1}
    return dict(zip(names_of, map(np.array, zip(*rows, strict=True)), strict=True)), more

"""Tests of pairs of runs: options, pairs, and the one table of results.

A test says in how many trials each pair is at least as extreme as observed, and what it has beside.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import differences
from scorecube.analyses.few_topics import check_pairs
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Analysis, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.analyses.units import FloatArray
from scorecube.collection.run_pairs import pair_labels, pair_positions
from scorecube.collection.schema import read_variables
from scorecube.errors import BadPlan, counted
from scorecube.statistics.multiple_testing import METHODS

TRIALS = """
    [metric gain pair]
    reached | count/i | trials | trials with a statistic at least as extreme as the observed one
    p_single | p_value | 1 | p-value of the pair by itself, by Student's t, two-sided
    moderated_error | standard_error:mean_difference | score | moderated standard error
    [metric gain alpha]
    estimated_difference | estimate | score .2f | largest difference at rank B alpha
    critical_value | statistic | 1 | moderated |t| that is exceeded with probability alpha
    critical_difference | estimate | score | range of means exceeded with probability alpha
    own_error_pairs | count | pairs | pairs that only their own errors would separate (t, Holm)
"""
VARIABLES = read_variables(differences.VARIABLES + differences.DECISIONS.format("") + TRIALS)


plus_one_field = partial(
    option_field,
    True,
    "p = count / B, as in the papers, instead of (count + 1) / (B + 1), which is never 0.",
    flag="--no-plus-one",
)
baseline_field = partial(
    option_field, None, "Compare this run with every other one; all pairs by default."
)
alphas_field = partial(
    option_field, (0.05, 0.01), "Significance levels.", flag="--alpha", above=0, below=1
)


class PairTest(Analysis):
    """Base of tests of pairs of runs, with the option `alphas`, and perhaps `baseline`."""

    variables: ClassVar = VARIABLES
    alphas: tuple[float, ...]
    baseline: str | None = None

    def table(self, cube: xr.Dataset) -> Table:
        table = make_table(cube, bags=self.resamples)
        check_pairs(table, self.name, self.baseline)
        if len(table.strata) > 1:
            raise BadPlan(f"{self.name} tests one collection at a time; board takes several")
        return table

    def pairs(self, table: Table) -> differences.RunPairs:
        """Return first and second runs of the pairs that are tested."""
        if self.baseline is None:
            return pair_positions(len(table.runs))
        base = table.runs.index(self.baseline)
        others = np.delete(np.arange(len(table.runs), dtype=np.int32), base)
        return others, np.full(len(others), base, np.int32)

    def estimates(self, table: Table) -> dict[str, Any]:
        """Return means, differences with limits and effect sizes, by cell."""
        return differences.described(table, *differences.differences(table, self.pairs(table)))

    def better(self, table: Table, difference: FloatArray) -> FloatArray | None:
        """Return by how much runs are better than the baseline, (cell, pair); None without one."""
        return None if self.baseline is None else (difference.T * np.where(table.higher, 1, -1)).T

    def labelled(
        self, table: Table, values: Mapping[str, Any], attrs: Mapping[str, Any], **coords: Any
    ) -> xr.Dataset:
        """Return a result with labels of pairs and levels, and further coordinates."""
        runs = xr.Variable(names.RUN, list(table.runs))
        labels: dict[str, Any] = {**pair_labels(runs, self.pairs(table)), **coords}
        labels[names.ALPHA] = np.array(self.alphas)
        if "adjusted_share" in values:
            labels[names.ADJUSTMENT] = list(METHODS)
        facts = {} if self.baseline is None else {"baseline": self.baseline}
        return table.dataset(self.variables, values, labels, {**facts, **attrs})


class ResampledTest(PairTest):
    """Base of tests by resampling, with the option `plus_one`."""

    default_trials: ClassVar[int] = 10_000
    joint: ClassVar[bool] = False
    """Whether p-values are of all pairs together, and need no adjustment for their number."""
    plus_one: bool

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        trials, reached, values = table.trials, self.counts(table, totals), self.estimates(table)
        safe = (reached + 1) / (trials + 1)
        p = safe if self.plus_one else reached / trials
        better = self.better(table, values["mean_difference"])
        values |= differences.decide(p, None if self.joint else safe, better, self.alphas)
        values["reached"] = reached.astype(np.int32)
        del reached, safe, p
        values |= self.more(table, totals, values)
        too_few = [
            f"{counted(trials, 'trial')}: too few for alpha {alpha:g}; "
            f"no p-value lies between 0 and {alpha:g}"
            for alpha in self.alphas
            if Fraction(str(alpha)) * trials < 1
        ]
        attrs = {names.TEST: self.name, "plus_one": int(self.plus_one), "notes": too_few}
        return self.labelled(table, values, attrs)

    @abstractmethod
    def counts(self, table: Table, totals: Totals) -> Any:
        """Return how many trials are at least as extreme as observed, int64 (cell, pair)."""

    @abstractmethod
    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the test has beside, or in place of, the other values."""

"""Base of tests of pairs of runs: options, pairs, and the one table of results.

A test adds how often resamples reach what is observed, and perhaps limits of its own.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pair_quantities import VARIABLES
from scorecube.analyses.pair_results import (
    Pairs,
    adjustments,
    decisions,
    estimates,
    moments,
    single_p_values,
)
from scorecube.analyses.protocol import Analysis, Arrays, Concat, Max, Part, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.analyses.units import FloatArray
from scorecube.collection.run_pairs import pair_labels, pair_positions
from scorecube.collection.schema import Variable
from scorecube.errors import BadName, BadPlan, counted, nearest
from scorecube.kernels.random.draws import bootstrap_samples, multiplicities
from scorecube.statistics.multiple_testing import METHODS

REFUSED_BINARY, FEW_BINARY = 5, 10
"""Numbers of units up to which scores 0 and 1 are refused, and noted."""
TILE = 24
"""Pairs that are tested together; results do not depend on it."""
KEPT_BYTES = 2**28
"""Most memory of sums that blocks share."""
PAIR_BYTES, VALUE_BYTES = 180, 136
"""Memory of making the result, for each pair and for each pair and cell; measured."""


def alphas_field(*, finalize: bool = True, family_wise: bool = False) -> tuple[float, ...]:
    """Declare the significance levels of a test."""
    rule = "They are those of all pairs together (family-wise error rate). " * family_wise
    detail = f"{rule}A pair is significant if p < alpha."
    declared = {"flag": "--alpha", "detail": detail, "finalize": finalize}
    return level_field(names.ALPHA, (0.05, 0.01), "Significance levels.", **declared)


def plus_one_field() -> bool:
    """Declare whether p-values count the observed statistic as a resample."""
    return option_field(
        True,
        "p = count / B, as in the papers, instead of (count + 1) / (B + 1), which is never 0.",
        detail="p = (count + 1) / (B + 1), never 0, instead of the papers' count / B.",
        flag="--no-plus-one",
        finalize=True,
    )


def baseline_field() -> str | None:
    """Declare the run that all others are compared with."""
    return option_field(
        None,
        "Compare this run with every other one; all pairs by default.",
        detail="With one, p - 1 pairs are tested.",
    )


class OfPairs(Analysis):
    """Base of all that compares pairs of runs.

    Subclasses have an option `alphas`, and perhaps `plus_one` and `baseline`.
    """

    default_trials: ClassVar[int] = 10_000
    joint: ClassVar[bool] = False
    """Whether p-values are of all pairs together, and need no adjustment for their number."""
    strata: ClassVar[bool] = False
    """Whether several collections are tested together."""
    few_binary: ClassVar[bool] = False
    """Whether scores 0 and 1 of few topics are refused: a difference on all of them is no rare
    event, and has an infinite t."""
    bags: ClassVar[bool] = True
    """Whether very many topics are drawn in bags."""
    alphas: tuple[float, ...]
    plus_one: bool
    baseline: str | None = None

    def table(self, cube: xr.Dataset) -> Table:
        table = make_table(cube, bags=self.bags)
        check_pairs(table, self.name, self.baseline)
        if len(table.strata) > 1 and not self.strata:
            raise BadPlan(
                f"{self.name} tests one collection at a time; maxt and board take several"
            )
        return table

    def notes(self, table: Table) -> list[str]:
        return [*table.notes, *(binary_notes(table) if self.few_binary else [])]

    def pairs(self, table: Table) -> Pairs:
        """Return first and second runs of the pairs that are tested."""
        n_runs = len(table.runs)
        if self.baseline is None:
            return pair_positions(n_runs)
        return pairs_with(table.runs.index(self.baseline), n_runs)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        pairs, trials = self.pairs(table), table.trials
        reached = self.counts(table, totals)
        values = self.estimates(table, pairs)
        safe = (reached + 1) / (trials + 1)
        p = safe if self.plus_one else reached / trials
        values |= {"p_value": p, "reached": reached.astype(np.int32)}
        values |= decisions(table, p, values["mean_difference"], self.alphas, self.baseline)
        if self.joint:
            values["p_single"] = single_p_values(values["t"], table.sizes.size - 1)
        else:
            values |= adjustments(p, self.alphas, safe)
        values |= self.more(table, totals, values)
        too_few = [
            f"{counted(trials, 'trial')}: too few for alpha {alpha:g}; "
            f"no p-value lies between 0 and {alpha:g}"
            for alpha in self.alphas
            if Fraction(str(alpha)) * trials < 1
        ]
        return self.labelled(table, values, {"plus_one": int(self.plus_one), "notes": too_few})

    def estimates(self, table: Table, pairs: Pairs) -> dict[str, Any]:
        """Return means, differences, limits and effect sizes, by cell."""
        return estimates(table, moments(table, pairs))

    @abstractmethod
    def counts(self, table: Table, totals: Totals) -> Any:
        """Return how many trials are at least as extreme as observed, int64 (cell, pair)."""

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the test has beside, or in place of, the other values."""
        return {}

    def result_bytes(self, table: Table, combined: float) -> float:
        of_pair = PAIR_BYTES + VALUE_BYTES * len(table.scores)
        return float(of_pair * len(self.pairs(table)[0])) + 2.0 * table.nbytes

    def labelled(
        self,
        table: Table,
        values: Mapping[str, Any],
        attrs: Mapping[str, Any],
        declared: Sequence[Variable] = VARIABLES,
        coords: Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """Return a result with labels of pairs and levels, and further coordinates."""
        runs = xr.Variable(names.RUN, list(table.runs))
        labels: dict[str, Any] = {**pair_labels(runs, self.pairs(table)), **(coords or {})}
        labels[names.ALPHA] = np.array(self.alphas)
        if "adjusted_share" in values:
            labels[names.ADJUSTMENT] = list(METHODS)
        facts = {} if self.baseline is None else {"baseline": self.baseline}
        facts |= {} if names.TEST in labels else {names.TEST: self.name}
        return table.dataset(declared, values, labels, {**facts, **attrs})


@dataclass(frozen=True, kw_only=True)
class PairTest(OfPairs):
    """Base of tests of each pair by itself, by resampling.

    A unit of a block is a pair with all its trials.
    """

    unit: ClassVar[str] = "pairs"

    alphas: tuple[float, ...] = alphas_field(finalize=False)
    plus_one: bool = plus_one_field()
    baseline: str | None = baseline_field()

    def n_units(self, table: Table) -> int:
        return len(self.pairs(table)[0])

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        """Return the trials that reach the statistic of each pair, and the largest differences.

        Returns reached: int32 (cell, pair).
        Returns needed: int64 (cell, alpha): the largest difference, in units, over pairs in the
            trial with the (B alpha)-th largest statistic.
        """
        first, second = self.pairs(table)
        n_cells = len(table.scores)
        reached = np.zeros((n_cells, stop - start), np.int32)
        needed = np.zeros((n_cells, len(self.alphas)))
        if start < stop:
            ranks = np.array([replicate_rank(alpha, table.trials) for alpha in self.alphas])
            pairs = first[start:stop], second[start:stop]
            for cell in range(n_cells):
                self.tails(table, cell, pairs, ranks, (reached[cell], needed[cell]))
        return {"reached": Concat(reached, least=0), "needed": Max(needed.astype(np.int64))}

    def adds_up(self, table: Table, parts: Arrays, n_units: int) -> bool:
        return bool((parts["reached"] <= table.trials).all())

    @abstractmethod
    def tails(
        self, table: Table, cell: int, pairs: Pairs, ranks: Any, counted_in: tuple[Any, Any]
    ) -> None:
        """Write what `block` returns of a cell.

        counted_in: reached, int32 (pair,), and needed, float64 (rank,), which holds 0.
        """

    def sums(self, table: Table, cell: int, drawn: FloatArray) -> FloatArray:
        """Return sums of scores over resamples, float64 (run, trial): of all blocks if few.

        drawn: float64 (unit, trial): how often a unit is drawn, or its sign.
        """
        if 8.0 * table.scores.shape[0] * len(table.runs) * table.trials > KEPT_BYTES:
            return np.asarray(table.units[cell] @ drawn)
        return table.once(f"sums {cell}", lambda: np.asarray(table.units[cell] @ drawn))

    def unit_of_needed(self, table: Table) -> FloatArray:
        """Return the size of a difference of 1 in `needed`, float64 (cell,)."""
        return table.grid_units / table.sizes.size

    def counts(self, table: Table, totals: Totals) -> Any:
        return totals["reached"].astype(np.int64)

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        needed = totals["needed"] * self.unit_of_needed(table)[:, np.newaxis]
        return {"estimated_difference": needed}

    def block_bytes(self, table: Table) -> float:
        n_units, trials = table.sizes.size, table.trials
        return 8.0 * trials * (n_units + len(table.runs) + 3 * TILE) + 4.0 * table.nbytes


def pairs_with(run: int, n_runs: int) -> Pairs:
    """Return the pairs of every other run with one."""
    others = np.delete(np.arange(n_runs, dtype=np.int32), run)
    return others, np.full(len(others), run, np.int32)


def check_pairs(table: Table, name: str, baseline: str | None) -> None:
    """Refuse fewer than 2 runs or units of a collection, and an unknown baseline."""
    n_units = min(part.size() for part in table.strata)
    if len(table.runs) < 2 or n_units < 2:
        found = f"{counted(len(table.runs), 'run')} and {counted(n_units, 'topic')}"
        raise BadPlan(f"{name} needs 2 runs and 2 topics of each collection; found {found}")
    if baseline is not None and baseline not in table.runs:
        runs = nearest(baseline, list(table.runs))
        raise BadName(f"no run {baseline!r} in the scores; nearest: {runs}", option="baseline")


def binary_notes(table: Table) -> list[str]:
    """Refuse scores 0 and 1 of up to 5 units, and return a note of up to 10."""
    n_units = min(part.size() for part in table.strata)
    varied = np.ptp(table.scores, axis=(1, 2)) > 0
    if n_units > FEW_BINARY or not (table.binary & varied).any():
        return []
    topics = counted(n_units, "topic")
    text = f"scores 0 and 1 of {topics}: some pair of many equal runs differs on all of so few"
    if n_units <= REFUSED_BINARY:
        raise BadPlan(text)
    return [text]


def drawn_counts(table: Table, start: int, stop: int) -> list[FloatArray]:
    """Return how often some trials of the bootstrap draw each unit of each collection.

    Returns counts: float64 (unit, trial), one for each collection.
    """
    counts = []
    for stratum, part in enumerate(table.strata):
        key, n = table.key(names.Purpose.BOOTSTRAP_TOPICS, stratum), part.size()
        counts.append(multiplicities(bootstrap_samples(key, n, start, stop), n)[0].T)
    return counts


def replicate_rank(alpha: float, trials: int) -> int:
    """Return the rank K of a resample: B alpha rounded up, at least 1 (Sakai 2007).

    Examples
    --------
    >>> replicate_rank(0.05, 1000), replicate_rank(0.07, 100), replicate_rank(0.05, 999)
    (50, 7, 50)
    """
    return max(1, math.ceil(Fraction(str(alpha)) * trials))

"""Tests of pairs of runs: their options, and the one table of their results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import (
    AT_ONCE,
    PairDifferences,
    RunPairs,
    described,
    pair_differences,
)
from scorecube.analyses.options import option_field
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Arrays, Totals
from scorecube.analyses.table import Table
from scorecube.collection.schema import label_array, read_variables
from scorecube.errors import BadName, BadPlan, counted
from scorecube.statistics.paired_tests import adjusted

REFUSED_BINARY, FEW_BINARY = 5, 10
"""Numbers of units up to which scores 0 and 1 are refused, and noted: a difference on all of so few
is no rare event, and has an infinite t."""
BYTES_OF_PAIR = 360
"""Of all that a result holds, and that is made for it, of a pair of runs in a cell (measured)."""
DIFFERENCES = """
    [metric gain run]
    mean | estimate | score | mean score of a run
    [metric gain pair]
    mean_difference | estimate | score | difference of means, first minus second run
    t | statistic | 1 | t without pseudo-topics, first run minus second; NaN without a spread
    difference | limits:mean_difference | score | 95 % limit of the difference of the pair by itself
    joint | limits:mean_difference | score | 95 % limit of the difference, of all pairs together
    limits_reason | label/O | 1 | why the difference has no limits; empty where it has some
    effect_size | estimate | 1 | difference / residual standard deviation (Sakai 2014)
    d_z | estimate | 1 | difference / standard deviation of the pair's differences over topics
    [metric gain]
    n_tested | count | pairs | pairs of runs
    [metric gain{0} pair]
    p_value | p_value | 1 | p-value; with the bootstrap, achieved significance level
    p_value_holm | p_value | 1 | adjusted for the number of pairs (Holm 1979: family-wise error)
    p_value_bh | p_value | 1 | adjusted (Benjamini and Hochberg 1995: false discovery rate)
    [metric gain{0} alpha]
    significant = significant pairs | count | pairs | pairs with a p-value below alpha
    share = share of pairs | share | 1 .1% | discriminative power: share of pairs with p < alpha
    [metric gain pair]
    reached | count/i | trials | trials with a statistic at least as extreme as the observed one
    p_single | p_value | 1 | p-value of the pair by itself, by Student's t, as its limits
    equivalence_p_value | p_value | 1 | p-value of a difference of the margin or more
    [metric gain alpha]
    estimated_difference | estimate | score .2f | largest difference at rank B alpha
    own_error_pairs | count | pairs | pairs that only their own errors would separate (t, Holm)
    [metric gain alpha pair]
    verdict_on_pair | label/O | 1 | equivalent, different or inconclusive, by itself
"""
VARIABLES, OF_TESTS = (read_variables(DIFFERENCES.format(along)) for along in ("", " test"))
"""Of one test, and of several along a dim."""


@dataclass(frozen=True, kw_only=True)
class PairTest(Analysis):
    """Base of tests of pairs of runs."""

    variables: ClassVar = VARIABLES
    alphas: tuple[float, ...] = option_field(
        (0.05, 0.01), "Significance levels.", flag="--alpha", above=0, below=1
    )
    baseline: str | None = option_field(
        None, "Compare this run with every other one; all pairs by default."
    )

    def table(self, cube: xr.Dataset) -> Table:
        return check_pairs(make_table(cube, bags=self.resamples), self.name, self.baseline)

    def bytes_needed(self, table: Table, threads: int) -> int:
        n_pairs = len(self.pairs(table)[0])
        of_pairs = BYTES_OF_PAIR * len(table.scores) * n_pairs
        # Differences of some pairs on all units, and some six arrays that are made of them.
        at_once = 6 * 8 * min(AT_ONCE, n_pairs * table.sizes.size)
        return super().bytes_needed(table, threads) + of_pairs + at_once

    def pairs(self, table: Table) -> RunPairs:
        """Return first and second runs of the pairs that are tested."""
        return pairs_of(table.runs, self.baseline)

    def n_units(self, table: Table) -> int:
        return len(self.pairs(table)[0]) if self.unit == "pairs" else super().n_units(table)

    def differences(self, table: Table) -> PairDifferences:
        """Return the differences of the pairs that are tested; made once."""
        name = f"differences {self.baseline}"
        make = partial(pair_differences, table, self.pairs(table))
        found: PairDifferences = table.once(name, make)
        return found

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        values = described(table, self.differences(table))
        values |= self.tested(table, totals, values)
        p = values["p_value"]
        significant = np.stack([(p < alpha).sum(axis=-1) for alpha in self.alphas], axis=-1)
        values |= {"significant": significant, "share": significant / p.shape[-1]}
        labels = pair_labels(table.runs, self.pairs(table))
        labels[names.ALPHA] = np.array(self.alphas)
        facts = {} if self.baseline is None else {"baseline": self.baseline}
        return table.dataset(self.variables, values, labels, facts)

    @abstractmethod
    def tested(self, table: Table, totals: Totals, values: Arrays) -> Arrays:
        """Return p-values (cell, ..., pair) and what a test has beside or in place of `values`."""


@dataclass(frozen=True, kw_only=True)
class ResampledTest(PairTest):
    """Base of tests by resampling."""

    default_trials: ClassVar[int] = 10_000
    joint: ClassVar[bool] = False
    """Whether p-values are of all pairs together, and need no adjustment for their number."""
    plus_one: bool = option_field(
        True,
        "p = (count + 1) / (B + 1), never 0; or, turned off, count / B and limits of Student's t "
        "without pseudo-topics, as in the papers.",
        flag="--no-plus-one",
    )

    def differences(self, table: Table) -> PairDifferences:
        found = super().differences(table)
        return found if self.plus_one else found.plain()

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        facts = {names.TEST: self.name, "plus_one": int(self.plus_one)}
        return super().result(table, totals).assign_attrs(facts)

    def tested(self, table: Table, totals: Totals, values: Arrays) -> Arrays:
        trials, reached = table.trials, self.counts(table, totals)
        safe = (reached + 1) / (trials + 1)
        p = safe if self.plus_one else reached / trials
        tested = {"p_value": p, "reached": reached.astype(np.int32)}
        if self.joint:
            return tested
        del values["p_single"]
        return tested | adjusted(safe)

    def counts(self, table: Table, totals: Totals) -> Any:
        """Return how many trials are at least as extreme as observed, integers (cell, pair)."""
        return totals["reached"]


def pairs_of(runs: Sequence[Any], baseline: str | None = None) -> RunPairs:
    """Return first and second runs of all pairs, in label order; or of all others with one."""
    first, second = np.triu_indices(len(runs), 1)
    if baseline is not None:
        base = runs.index(baseline)
        first, second = np.delete(np.arange(len(runs)), base), np.full(len(runs) - 1, base)
    return first.astype(np.int32), second.astype(np.int32)


def pair_labels(runs: Sequence[str], pairs: RunPairs) -> dict[str, Any]:
    """Return the coordinates `run_a` and `run_b` of pairs of runs."""
    first, second = (label_array(runs)[places] for places in pairs)
    return {names.RUN_A: (names.PAIR, first), names.RUN_B: (names.PAIR, second)}


def check_pairs(
    table: Table, name: str, baseline: str | None = None, *, least_units: int = 2
) -> Table:
    """Return the table; refuse fewer than 2 runs, or units, and no such baseline."""
    n_runs, n_units = len(table.runs), table.sizes.size
    if n_runs < 2 or n_units < least_units:
        raise BadPlan(
            f"{name} needs 2 runs and {counted(least_units, 'topic')}; "
            f"found {counted(n_runs, 'run')} and {counted(n_units, 'topic')}"
        )
    if baseline is not None and baseline not in table.runs:
        raise BadName(f"no run {baseline!r} in the scores", option="baseline")
    return table


def fewest_units(table: Table) -> int:
    """Return the number of units of the smallest collection."""
    return min(part.size() for part in table.strata)


def binary_notes(table: Table, *, refuse: bool = True) -> list[str]:
    """Return the notes, with one on scores 0 and 1 of up to 10 units; perhaps refuse up to 5."""
    varied = np.ptp(table.scores, axis=(1, 2)) > 0
    if not (table.binary & varied).any():
        return list(table.notes)
    notes = list(table.notes)
    for part in table.strata:
        topics = counted(part.size(), "topic")
        text = f"scores 0 and 1 of {topics}: some pair of many equal runs differs on all of so few"
        if refuse and table.sizes.size <= REFUSED_BINARY:
            raise BadPlan(text)
        if 1 < part.size() <= FEW_BINARY:
            notes.append(f"{part.name}: {text}" if len(table.strata) > 1 else text)
    return notes

"""Tests of pairs of runs: their options, and the one table of their results."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.differences import (
    AT_ONCE,
    PairDifferences,
    RunPairs,
    described,
    pair_differences,
)
from scorecube.analyses.pairs import check_pairs, pair_labels, pairs_of
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Arrays, Concat, Max, Part, Totals
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.schema import CELL
from scorecube.declare import Variable, along, limits_of, option_field
from scorecube.statistics.paired_tests import adjusted

TILE = 24
"""Pairs that are tested together; results do not depend on it."""
BYTES_OF_PAIR = 360
"""Of all that a result holds, and that is made for it, of a pair of runs in a cell (measured)."""


OF_PAIRS = (
    *along((*CELL, "run"), Variable("mean", "estimate", "mean score of a run", "score")),
    *along(
        (*CELL, "pair"),
        Variable(
            "mean_difference", "estimate", "difference of means, first minus second run", "score"
        ),
        Variable(
            "t", "statistic", "without pseudo-topics, first run minus second; NaN without a spread"
        ),
        limits_of("difference", "95 % limit, of the pair by itself", "score", of="mean_difference"),
        limits_of("joint", "95 % limit, of all pairs together", "score", of="mean_difference"),
        Variable("limits_reason", "label", "why there are no limits, or empty", kinds="O"),
        Variable(
            "effect_size", "estimate", "difference / residual standard deviation (Sakai 2014)"
        ),
        limits_of("effect_size", "95 % limit over topics (jackknife) of the effect size"),
        Variable("d_z", "estimate", "difference / standard deviation of differences", form=".2f"),
    ),
    *along(CELL, Variable("n_tested", "count", "pairs of runs", "pairs")),
)


def of_each_test(*tests: str) -> tuple[Variable, ...]:
    """Return what each test says: of one, or of several along their dim."""
    return (
        *along(
            (*CELL, *tests, "pair"),
            Variable("p_value", "p_value", "p-value; with the bootstrap, the ASL of Sakai 2007"),
            Variable("p_value_holm", "p_value", "adjusted (Holm 1979: family-wise error)"),
            Variable(
                "p_value_bh", "p_value", "adjusted (Benjamini, Hochberg 1995: false discovery rate)"
            ),
        ),
        *along(
            (*CELL, *tests, "alpha"),
            Variable(
                "significant", "count", "p-value below alpha", "pairs", heading="significant pairs"
            ),
            Variable(
                "share", "share", "discriminative power", form=".1%", heading="share of pairs"
            ),
        ),
    )


OF_RESAMPLES = (
    *along(
        (*CELL, "pair"),
        Variable("reached", "count", "trials at least as extreme as the data", "trials", kinds="i"),
        Variable("p_single", "p_value", "p-value of the pair by itself, by Student's t"),
        Variable("equivalence_p_value", "p_value", "p-value of a difference of the margin or more"),
    ),
    *along(
        (*CELL, "alpha"),
        Variable("estimated_difference", "estimate", "largest at rank B alpha", "score", ".2f"),
        Variable("own_error_pairs", "count", "separated by their own errors alone", "pairs"),
    ),
    *along(
        (*CELL, "alpha", "pair"),
        Variable("verdict_on_pair", "label", "equivalent, different or inconclusive", kinds="O"),
    ),
)
VARIABLES = (*OF_PAIRS, *of_each_test(), *OF_RESAMPLES)
OF_TESTS = (*OF_PAIRS, *of_each_test(names.TEST), *OF_RESAMPLES)
"""Of one test, and of several along a dim."""


@dataclass(frozen=True, kw_only=True)
class PairTest(Analysis):
    """Base of tests of pairs of runs."""

    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    alphas: tuple[float, ...] = option_field(
        (0.05, 0.01), "Significance levels.", flag="--alphas --alpha", above=0, below=1
    )
    baseline: str | None = option_field(
        None, "Compare this run with every other one; all pairs by default."
    )

    def table(self, cube: xr.Dataset) -> ScoreTable:
        return check_pairs(make_table(cube, bags=self.resamples), self.name, self.baseline)

    def bytes_needed(self, table: ScoreTable, threads: int) -> int:
        n_pairs = len(self.pairs(table)[0])
        of_pairs = BYTES_OF_PAIR * len(table.scores) * n_pairs
        # Differences of some pairs on all units, and two arrays that are made of them.
        at_once = 3 * 8 * min(AT_ONCE, n_pairs * table.sizes.size)
        return super().bytes_needed(table, threads) + of_pairs + at_once

    def pairs(self, table: ScoreTable) -> RunPairs:
        """Return first and second runs of the pairs that are tested."""
        return pairs_of(table.runs, self.baseline)

    def n_units(self, table: ScoreTable) -> int:
        return len(self.pairs(table)[0]) if self.unit == "pairs" else super().n_units(table)

    def differences(self, table: ScoreTable) -> PairDifferences:
        """Return the differences of the pairs that are tested; made once."""
        name = f"differences {self.baseline}"
        make = partial(pair_differences, table, self.pairs(table))
        found: PairDifferences = table.once(name, make)
        return found

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        values = described(table, self.pairs(table), self.differences(table))
        values |= self.tested(table, totals, values)
        p = values["p_value"]
        significant = np.stack([(p < alpha).sum(axis=-1) for alpha in self.alphas], axis=-1)
        values |= {"significant": significant, "share": significant / p.shape[-1]}
        labels = pair_labels(table.runs, self.pairs(table))
        labels[names.ALPHA] = np.array(self.alphas)
        facts = {} if self.baseline is None else {"baseline": self.baseline}
        return table.dataset(self.variables, values, labels, facts)

    @abstractmethod
    def tested(self, table: ScoreTable, totals: Totals, values: Arrays) -> Arrays:
        """Return p-values (cell, ..., pair) and what a test has beside or in place of `values`."""


@dataclass(frozen=True, kw_only=True)
class ResampledTest(PairTest):
    """Base of tests by resampling."""

    default_trials: ClassVar[int] = 10_000
    joint: ClassVar[bool] = False
    """Whether p-values are of all pairs together, and need no adjustment for their number."""
    plus_one: bool = option_field(
        True,
        "Turned off, p = count / B of B trials and limits of Student's t without pseudo-topics, as "
        "in the papers; else p = (count + 1) / (B + 1), never 0.",
        flag="--no-plus-one",
    )

    def differences(self, table: ScoreTable) -> PairDifferences:
        found = super().differences(table)
        return found if self.plus_one else found.plain()

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        facts = {names.TEST: self.name, "plus_one": int(self.plus_one)}
        return super().result(table, totals).assign_attrs(facts)

    def tested(self, table: ScoreTable, totals: Totals, values: Arrays) -> Arrays:
        trials = table.trials
        reached = self.counts(table, totals)
        safe = (reached + 1) / (trials + 1)
        p = safe if self.plus_one else reached / trials
        tested = {"p_value": p, "reached": reached.astype(np.int32)}
        if self.joint:
            return tested
        del values["p_single"]
        return tested | adjusted(safe)

    def counts(self, table: ScoreTable, totals: Totals) -> Any:
        """Return how many trials are at least as extreme as observed, integers (cell, pair)."""
        return totals["reached"]


Counts = NDArray[np.signedinteger[Any]]
"""In how many trials pairs reach something."""


class Resamples(NamedTuple):
    """All resamples of one cell.

    drawn: float64 (unit, trial): how often each unit is drawn, or its sign.
    sums: float64 (run, trial): sums of the scores of what is drawn.
    room: float64 (3, pair, trial): arrays to compute a tile of pairs in.
    """

    drawn: FloatArray
    sums: FloatArray
    room: FloatArray


@dataclass(frozen=True, kw_only=True)
class SingleTest(ResampledTest):
    """Base of tests of each pair by itself: a unit of a block is a pair with all its trials."""

    unit: ClassVar[str] = "pairs"

    def bytes_needed(self, table: ScoreTable, threads: int) -> int:
        # What is drawn, sums of each run and cell, and the room of each thread, see `Resamples`.
        n_sums = len(table.scores) * len(table.runs)
        of_trial = 8 * (2 * table.sizes.size + n_sums + 3 * TILE * threads)
        return super().bytes_needed(table, threads) + table.trials * of_trial

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        """Return the trials that reach each pair's statistic, and the largest difference needed."""
        first, second = (runs[start:stop] for runs in self.pairs(table))
        reached = np.zeros((len(table.scores), stop - start), np.int32)
        needed = np.zeros((len(table.scores), len(self.alphas)))
        for cell, units in enumerate(table.units if start < stop else ()):
            drawn = table.once("drawn", lambda: self.draws(table))
            sums = table.once(f"sums {cell}", partial(np.matmul, units, drawn))
            # Workers of dask give freed memory back at once: a new array for each tile takes
            # longer than what is computed in it.
            resamples = Resamples(drawn, sums, np.empty((3, TILE, drawn.shape[1])))
            # Pairs that vary most first: their trials decide what is needed.
            order = np.argsort(-np.var(units[first] - units[second], axis=1), kind="stable")
            for low in range(0, len(order), TILE):
                place = order[low : low + TILE]
                pairs = first[place], second[place]
                reached[cell, place] = self.tail(units, resamples, pairs, needed[cell])
        return {"reached": Concat(reached), "needed": Max(needed.astype(np.int64))}

    @abstractmethod
    def draws(self, table: ScoreTable) -> FloatArray:
        """Return how often units are drawn in each trial, or their signs, (unit, trial)."""

    @abstractmethod
    def tail(
        self, units: FloatArray, resamples: Resamples, pairs: RunPairs, needed: FloatArray
    ) -> Counts:
        """Return in how many trials each pair reaches its statistic; raise `needed`, (alpha,)."""


def replicate_rank(alpha: float, trials: int) -> int:
    """Return the rank K of a resample: B alpha rounded up, at least 1 (Sakai 2007)."""
    return max(1, math.ceil(round(alpha * trials, 9)))

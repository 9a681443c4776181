"""Paired bootstrap hypothesis test: which pairs of runs differ, and how large a difference that takes.

References: S1 = Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document", section 4.3;
Efron and Tibshirani 1993, chapter 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from scorecube import names
from scorecube.analyses.base import Arrays, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.base import TILE, TILE_BYTES, PairTest, rank_of
from scorecube.analyses.pair_tests.pairwise_complete import (
    NOT_TESTED,
    Group,
    groups,
    is_complete,
    missing_field,
    whole_cells,
)
from scorecube.analyses.replayed_samples import labelled_samples, sample_positions
from scorecube.collection.selection import cells
from scorecube.errors import BadPlan, option
from scorecube.kernels.intrinsics import has_wide_registers
from scorecube.kernels.linalg.panel_product import in_panels, product
from scorecube.kernels.pairs.pair_order import pair_order
from scorecube.kernels.pairs.tail_counts import (
    EQUAL,
    Comparison,
    Levels,
    ObservedPairs,
    Resamples,
    Tails,
    observed_ratios,
    tail_differences,
)
from scorecube.kernels.pairs.tiled_tail import tail_tiles
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples, count_draws

PRECISIONS = {"double": np.float64, "mixed": np.float32}


@dataclass(frozen=True, kw_only=True)
class Bootstrap(PairTest):
    """Bootstrap test of all pairs of runs: discriminative power, difference it takes.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs. With w the centred per-topic
    differences of a pair, t* is the t statistic of w on the drawn topics; the achieved significance level (ASL) is the share
    of trials with |t*| >= |t| (S1 Figures 5 and 6). The estimated difference at alpha is the largest, over pairs, of the
    absolute mean difference in the trial with the (B alpha)-th largest |t*| (S1 Figure 7).

    Parameters
    ----------
    alphas, sided, plus_one, only_significant
        See `PairTest`.
    missing
        ``refuse`` missing scores; or ``pairwise``: test each pair on the topics on which both runs have scores, drawing as many
        topics as these are, as if the cube were of these two runs and topics. Pairs then differ in their topics: use it
        where runs failed on a few topics and dropping these topics for all runs would drop too many.
    studentised
        Whether the statistic is t (S1) or the difference of means.
    precision
        Of the sums of squares: ``double``; or ``mixed``: single, and what that leaves open is decided in double. Results are equal.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Bootstrap(alphas=(0.05,)), trials=200, seed=1)
    >>> result["p_value"].sel(metric="AP").shape
    (1, 15)
    """

    name: ClassVar[str] = "bootstrap"
    examples: ClassVar[tuple[str, ...]] = ("--trials 1000 --alpha 0.05,0.01 --seed 1",)
    bytes_per_draw: ClassVar[float] = 14.0
    seconds_per_draw: ClassVar[float] = 1.5e-9

    missing: str = missing_field()
    studentised: bool = option_field(
        True, "The statistic is the difference of means instead of t.", flag="--unstudentised"
    )
    precision: str = option_field(
        "double",
        "double, or mixed: faster for many topics, with equal results.",
        choices=tuple(PRECISIONS),
        finalize=True,
    )

    def missing_scores(self) -> str | None:
        """See `PairTest.missing_scores`."""
        return self.missing

    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """See `Analysis.replay`."""
        cube, n = prepared.cube, prepared.cube.sizes[names.TOPIC]
        refuse_gaps(cube, "samples")
        return {"counts": counts_of(sample_positions(samples, cube, n, halves=1)[:trials], n)}

    def inputs(self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None) -> Arrays:
        """See `Analysis.inputs`; `counts` is (topic, trial): how often a trial draws a topic, unless scores are missing."""
        cube = prepared.cube
        first, second = pair_order(cube.sizes[names.RUN])
        n, key = cube.sizes[names.TOPIC], stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS)
        inputs = whole_cells(cells(cube)[0]) | {
            "first": first, "second": second, "ranks": np.array([rank_of(alpha, trials) for alpha in self.alphas]),
            "key": key, "trials": np.array(trials),
        }  # fmt: skip
        if samples is not None:
            inputs |= samples
        elif is_complete(cube):
            inputs["counts"] = counts_of(bootstrap_samples(key, n, 0, trials), n)
        return inputs

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`; pairs with the same topics together, tile by tile."""
        n_cells, trials = len(inputs["whole"]), int(inputs["trials"])
        out = {
            "reached": np.full((n_cells, stop - start), NOT_TESTED, np.int32),
            "kth": np.full((n_cells, len(self.alphas), stop - start), np.nan),
            "degenerate": np.zeros((n_cells, 2), np.int64),
        }  # fmt: skip
        draws: Draws | None = None
        for group in groups(inputs, inputs["first"][start:stop], inputs["second"][start:stop]):
            n = group.units.n_topics
            if draws is None or len(draws.counts) != n:
                draws = None  # those of another number of topics are needed no more
                given = inputs.get("counts")
                drawn = counts_of(bootstrap_samples(inputs["key"], n, 0, trials), n) if given is None else given
                draws = Draws.of(drawn, PRECISIONS[self.precision])
            reached, totals = np.empty(len(group.first), np.int32), np.empty((len(self.alphas), len(group.first)))
            if self.studentised:
                self.studentise(group, draws, inputs["ranks"], reached, totals, out["degenerate"][group.cell])
            else:
                self.compare_differences(group, draws, inputs["ranks"], reached, totals)
            out["reached"][group.cell, group.pairs] = reached
            out["kth"][group.cell][:, group.pairs] = np.abs(totals) * group.units.to_mean
        return out

    def studentise(self, group: Group, draws: Draws, ranks: Any, reached: Any, totals: Any, degenerate: Any) -> None:
        """Test pairs by t, tile by tile."""
        units, first, second = group.units, group.first, group.second
        n, trials = draws.counts.shape
        tile = max(8, min(TILE, TILE_BYTES // (8 * trials), len(first)))
        # Half a unit for each of n sums, for squares, products, S1 and the ratio, and for what it is compared with.
        guard = (n + 8) * float(np.finfo(draws.weights.dtype).eps) / 2
        observed, exact = np.empty(len(first)), np.empty(len(first))
        observed_ratios(units.values, units.sums, first, second, units.snap, self.sided, observed, exact)
        differences = n * np.abs(units.sums[first] - units.sums[second])
        ties = EQUAL + 4 * n * units.snap / np.maximum(differences, 1.0)
        quantile = stdtrit(n - 1, 1.0 - np.minimum(ranks / trials, 0.999) / self.sided)
        guesses = n * quantile * np.abs(quantile) / (n - 1 + quantile**2)
        tail_tiles(
            tile,
            draws.weights,
            Resamples(units.values, product(units.values, draws.exact), draws.counts),
            ObservedPairs(first, second, observed, exact, ties),
            Comparison(guard, units.snap, self.sided),
            Levels(ranks, guesses),
            Tails(reached, totals, degenerate),
        )

    def compare_differences(self, group: Group, draws: Draws, ranks: Any, reached: Any, totals: Any) -> None:
        """Test pairs by their difference of means."""
        units, (n, trials) = group.units, draws.counts.shape
        sums = np.ascontiguousarray(product(units.values, draws.exact)[: len(units.values), :trials])
        difference = n * (units.sums[group.first] - units.sums[group.second])
        observed = np.abs(difference) if self.sided == 2 else difference
        edges = observed - EQUAL * np.abs(observed) - 2 * units.snap_sum
        levels = Levels(ranks, np.full(len(self.alphas), sums.std() * 2.0))
        tail_differences(sums, group.first, group.second, edges, units.snap_sum, self.sided, levels, reached, totals)

    def seconds_per_trial(self, n_topics: int) -> float:
        """See `PairTest.seconds_per_trial`."""
        base, each = (1.6e-9, 4.2e-11) if self.precision == "double" else (1.3e-9, 2.2e-11)
        return base + each * n_topics / (2 if has_wide_registers() else 1)

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``, the topic labels that a run draws; one half."""
        refuse_gaps(cube, "samples to be kept")
        key = stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS)
        return labelled_samples(bootstrap_samples(key, cube.sizes[names.TOPIC], 0, trials), cube)


@dataclass(frozen=True)
class Draws:
    """All trials' samples of some number of topics.

    Parameters
    ----------
    counts
        Unsigned integers (topic, trial): how often a trial draws a topic.
    exact, weights
        The same as panels, see `kernels.product`: in double precision, and in that of the sums of squares.
    """

    counts: Any
    exact: Any
    weights: Any

    @classmethod
    def of(cls, counts: Any, kind: Any) -> Draws:
        """Return the same samples in all forms."""
        exact = in_panels(counts, np.float64)
        return cls(counts, exact, exact if kind is np.float64 else in_panels(counts, kind))


def counts_of(drawn: Any, n_topics: int) -> Any:
    """Return how often each topic stands in each sample, (topic, trial), in few bytes."""
    counts = np.empty((n_topics, len(drawn)), np.uint16 if n_topics < 2**16 else np.uint32)
    count_draws(drawn, counts)
    return counts


def refuse_gaps(cube: xr.Dataset, what: str) -> None:
    """Refuse samples of all topics where pairs have not all topics."""
    if not is_complete(cube):
        raise BadPlan(
            f"{what} are of all topics of the cube, and some runs have no scores on some: with {option('missing', 'pairwise')} each pair draws "
            f"as many topics as it has; leave such topics out with {option('drop_missing', True)}, or do without given or kept samples"
        )

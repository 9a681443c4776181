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
from scipy.stats import t as student

from scorecube import names
from scorecube.analyses.analysis import Arrays
from scorecube.analyses.pairs import TILE, TILE_BYTES, PairTest, block_runs, cell_units, rank_of
from scorecube.analyses.samples import labelled_samples, sample_positions
from scorecube.errors import BadPlan
from scorecube.kernels.exceed import EQUAL, observed_ratios, tail_differences, tail_studentised
from scorecube.kernels.pairs import pair_order, squared_differences
from scorecube.kernels.resampling import bootstrap_samples, multiplicity_columns
from scorecube.kernels.streams import stream_key

PRECISIONS = {"double": np.float64, "mixed": np.float32}


@dataclass(frozen=True, kw_only=True)
class Bootstrap(PairTest):
    """Paired bootstrap test of all pairs of runs: achieved significance levels, discriminative power, estimated difference.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs. With w the centred per-topic
    differences of a pair, t* is the t statistic of w on the drawn topics; the achieved significance level (ASL) is the share
    of trials with |t*| >= |t| (S1 Figures 5 and 6). The estimated difference at alpha is the largest, over pairs, of the
    absolute mean difference in the trial with the (B alpha)-th largest |t*| (S1 Figure 7).

    Parameters
    ----------
    alphas, sided, plus_one, only_significant
        See `PairTest`.
    studentised
        Whether the statistic is t (S1) or the difference of means.
    precision
        Of the sums of squares: ``double``; or ``mixed``: single, and what that leaves open is decided in double. Results are equal.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Bootstrap(alphas=(0.05,)), trials=200, seed=1)
    >>> result["p_value"].sel(metric="AP").shape
    (1, 15)
    """

    name: ClassVar[str] = "bootstrap"
    reading: ClassVar[frozenset[str]] = PairTest.reading | {"precision"}

    studentised: bool = True
    precision: str = "double"

    def check(self, cube: xr.Dataset) -> list[str]:
        """See `Analysis.check`."""
        if self.precision not in PRECISIONS:
            raise BadPlan(f"precision {self.precision!r} is not one of {', '.join(PRECISIONS)}")
        return super().check(cube)

    def prepare(self, cube: xr.Dataset, trials: int, seed: int, samples: xr.Dataset | None) -> Arrays:
        """See `Analysis.prepare`; `counts` is (topic, trial): how often a trial draws a topic."""
        units = cell_units(cube)
        first, second = pair_order(cube.sizes[names.RUN])
        n = cube.sizes[names.TOPIC]
        ranks = np.array([rank_of(alpha, trials) for alpha in self.alphas])
        quantile = student.isf(np.minimum(ranks / trials, 0.999) / self.sided, n - 1)
        if samples is None:
            drawn = bootstrap_samples(stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS), n, 0, trials)
        else:
            drawn = sample_positions(samples, cube, n, halves=1)[:trials]
        return {
            "centred": np.stack([each.values for each in units]), "sums": np.stack([each.sums for each in units]),
            "snap": np.array([each.snap for each in units]), "to_mean": np.array([each.to_mean for each in units]),
            "first": first, "second": second, "ranks": ranks,
            "guesses": n * quantile * np.abs(quantile) / (n - 1 + quantile**2),
            "counts": multiplicity_columns(drawn, n).astype(np.uint16 if n < 2**16 else np.uint32),
        }  # fmt: skip

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`; each cell's scores of the runs that the block needs, then tile by tile."""
        n_cells, _, n = inputs["centred"].shape
        length = stop - start
        counts, kind = inputs["counts"].astype(np.float64), PRECISIONS[self.precision]
        weights = counts if kind is np.float64 else inputs["counts"].astype(kind)
        runs, first, second = block_runs(inputs, start, stop)
        out = {
            "reached": np.empty((n_cells, length), np.int32), "kth": np.empty((n_cells, len(self.alphas), length)),
            "degenerate": np.zeros((n_cells, 2), np.int64),
        }  # fmt: skip
        for cell in range(n_cells):
            centred = np.ascontiguousarray(inputs["centred"][cell, runs])
            sums, scores, snap = centred @ counts, inputs["sums"][cell, runs], float(inputs["snap"][cell])
            reached, totals = out["reached"][cell], np.empty((len(self.alphas), length))
            if self.studentised:
                given = (inputs["ranks"], inputs["guesses"].copy(), reached, totals, out["degenerate"][cell])
                self.studentise(centred, scores, sums, inputs["counts"], weights, first, second, snap, *given)
            else:
                difference = n * (scores[first] - scores[second])
                observed = np.abs(difference) if self.sided == 2 else difference
                edges = observed - EQUAL * np.abs(observed) - 2 * n * snap
                guesses = np.full(len(self.alphas), sums.std() * 2.0)
                tail_differences(
                    sums, first, second, edges, n * snap, self.sided, inputs["ranks"], guesses, reached, totals
                )
            out["kth"][cell] = np.abs(totals) * inputs["to_mean"][cell]
        return out

    def studentise(
        self, centred: Any, scores: Any, sums: Any, counts: Any, weights: Any, first: Any, second: Any, snap: float,
        ranks: Any, guesses: Any, reached: Any, totals: Any, degenerate: Any,
    ) -> None:  # fmt: skip
        """Test the pairs of a block in tiles: one matrix product gives the sums of squares of all trials of a tile."""
        n, trials = counts.shape
        tile = max(8, min(TILE, TILE_BYTES // (8 * trials)))
        squares, products = np.empty((tile, n), weights.dtype), np.empty((tile, trials), weights.dtype)
        # Half a unit for each of n sums, for squares, products, S1 and the ratio, and for what it is compared with.
        guard = (n + 8) * float(np.finfo(weights.dtype).eps) / 2
        observed, exact = np.empty(len(first)), np.empty(len(first))
        observed_ratios(centred, scores, first, second, snap, self.sided, observed, exact)
        differences = n * np.abs(scores[first] - scores[second])
        ties = EQUAL + 4 * n * snap / np.maximum(differences, 1.0)
        for low in range(0, len(first), tile):
            part = slice(low, min(low + tile, len(first)))
            a, b = first[part], second[part]
            squared_differences(centred, a, b, snap, squares)
            np.matmul(squares[: len(a)], weights, out=products[: len(a)])
            tail_studentised(
                products, sums, centred, counts, a, b, observed[part], exact[part], ties[part], guard, snap, self.sided,
                ranks, guesses, reached[part], totals[:, part], degenerate,
            )  # fmt: skip

    def seconds_per_trial(self, n_topics: int) -> float:
        """See `PairTest.seconds_per_trial`."""
        return 2.3e-9 + 4.2e-11 * n_topics if self.precision == "double" else 1.6e-9 + 2.2e-11 * n_topics

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``, the topic labels that a run draws; one half."""
        key = stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS)
        return labelled_samples(bootstrap_samples(key, cube.sizes[names.TOPIC], 0, trials), cube)

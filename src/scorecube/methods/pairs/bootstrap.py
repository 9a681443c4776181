"""Bootstrap test of each pair of runs by itself.

Geometric means and areas are tested unpaired: runs are moved to one summary, geometric means by a
factor, areas by a difference.

References: Sakai 2007, section 4.3; Efron and Tibshirani 1993, chapter 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import RunPairs, least_of
from scorecube.analyses.pairs import binary_notes
from scorecube.analyses.printed import printed
from scorecube.analyses.protocol import Arrays, Concat, Part, Totals
from scorecube.analyses.step_down import drawn_counts
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_samples import summaries
from scorecube.analyses.topic_units import FloatArray
from scorecube.declare import BEST_RUNS, OF_2007, Preset, View, option_field
from scorecube.errors import BadPlan
from scorecube.kernels.random.draws import Sampling, bootstrap_samples, topic_counts, topic_samples
from scorecube.kernels.tails import ROUNDING, differences_at, largest, studentised, widest
from scorecube.methods.pairs.tests import TILE, Counts, Resamples, SingleTest, replicate_rank
from scorecube.methods.pairs.view import ONE_BY_ONE, PAIRS, POWER, power_as_printed, view_of_test

WITH_REPLACEMENT = int(Sampling.REPLACEMENT)
OF_MEANS = ("t", "difference_low", "difference_high", "effect_size", "d_z")
"""What geometric means and areas lack."""
UNPAIRED = "Geometric means and areas are tested unpaired: each run of a pair draws its own topics."


VIEW = view_of_test(
    "bootstrap",
    "Bootstrap test",
    "Topics are drawn anew with replacement. The p-value is the share of draws in which chance "
    "alone makes a pair's t statistic as large as the observed one; Sakai's estimated "
    f"difference is what it reaches with probability alpha in some pair. {ONE_BY_ONE}",
    card=3,
    tables={"power": POWER, "pairs": PAIRS, "sakai-2007": printed(power_as_printed)},
)


@dataclass(frozen=True, kw_only=True)
class Bootstrap(SingleTest):
    """Bootstrap test of all pairs of runs, with the estimated required difference.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs. With w
    the centred per-topic differences of a pair, t* is the t statistic of w on the drawn topics; the
    achieved significance level (ASL) is the share of trials with ``|t*| >= |t|`` (Sakai 2007,
    Figures 5 and 6). The estimated difference at alpha is the largest, over pairs, of the absolute
    mean difference in the trial with the (B alpha)-th largest ``|t*|`` (Sakai 2007, Figure 7).

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Bootstrap(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "bootstrap"
    view: ClassVar[View] = VIEW
    references: ClassVar[tuple[str, ...]] = ("sakai2006",)
    presets: ClassVar[Mapping[str, Preset]] = {
        "sakai-2007": Preset(
            {"plus_one": False, "alphas": (0.05,), "trials": 1000}, OF_2007[:1], BEST_RUNS
        )
    }
    examples: ClassVar[tuple[str, ...]] = ("--trials 1000 --alphas 0.05,0.01 --seed 1",)

    summary: Literal["mean", "geo", "area"] = option_field(
        "mean",
        "Of the scores of a run; geometric means and areas (of its worst quarter of topics) are "
        "tested unpaired: each run draws topics of its own.",
    )

    def notes(self, table: ScoreTable) -> list[str]:
        notes = binary_notes(table)
        if self.summary == "mean":
            return notes
        if table.n_topics != table.sizes.size:
            raise BadPlan("only means are defined of topics in groups or bags", option="summary")
        return [*notes, UNPAIRED]

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        if self.summary == "mean":
            return super().block(table, start, stop)
        first, second = self.pairs(table)
        pairs = first[start:stop], second[start:stop]
        return {"reached": Concat(unpaired_counts(table, pairs, self.summary))}

    def draws(self, table: ScoreTable) -> FloatArray:
        return drawn_counts(table, 0, table.trials)[0]

    def tail(
        self, units: FloatArray, resamples: Resamples, pairs: RunPairs, needed: FloatArray
    ) -> Counts:
        drawn, sums, room = resamples
        z = units[pairs[0]] - units[pairs[1]]
        n = float(len(drawn))
        totals = z.sum(axis=1)
        squares = (z * z).sum(axis=1)
        statistics = np.matmul(z * z, drawn, out=room[0, : len(z)])
        spread = squares - totals * totals / n
        spread[spread <= ROUNDING * squares] = 0.0
        # A difference of sums of at most n units is a tie; one without a spread has an infinite t.
        moved = np.where(np.abs(totals) > n, totals, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            edges = np.where(moved != 0.0, moved * moved / spread, 0.0) * (1 - ROUNDING)
        reached = np.empty(len(z), np.int32)
        most = np.empty(len(z))
        studentised(pairs, sums, (totals, edges), n, statistics, reached)
        widest(pairs, sums, totals, most)
        # In no trial of the other pairs is the difference as large.
        beyond = np.flatnonzero(most > needed.min())
        if len(beyond):
            ranks = np.array([replicate_rank(alpha, sums.shape[1]) for alpha in self.alphas])
            chosen = pairs[0][beyond], pairs[1][beyond]
            apart = np.empty(len(beyond))
            rows, top = room[1:, : len(beyond)]
            np.take(statistics, beyond, axis=0, out=rows, mode="clip")
            for level, kth in enumerate(largest(rows, ranks, top)):
                differences_at(chosen, sums, totals[beyond], rows, kth, apart)
                needed[level] = max(needed[level], apart.max())
        return reached

    def tested(self, table: ScoreTable, totals: Totals, values: Arrays) -> Arrays:
        tested = super().tested(table, totals, values)
        if self.summary != "mean":
            n = table.sizes.size
            ones = np.ones((table.sizes.size, 1))
            of_cells = [summaries(self.summary, scores, ones, n) for scores in table.values]
            of_runs = np.stack(of_cells)[..., 0]
            apart = np.subtract(*(of_runs[:, runs] for runs in self.pairs(table)))
            missing = dict.fromkeys(OF_MEANS, np.full(apart.shape, np.nan))
            reasons = np.full(apart.shape, "only of means", object)
            values_of = {"mean": of_runs, "mean_difference": apart, "limits_reason": reasons}
            return tested | missing | values_of
        unit = table.grid_units / table.sizes.size
        return tested | {"estimated_difference": totals["needed"] * unit[:, np.newaxis]}

    def drawn(self, table: ScoreTable) -> xr.Dataset:
        n = table.sizes.size
        dims = (names.TRIAL, names.HALF, names.DRAW)
        if self.summary != "mean":
            key = table.key(names.Purpose.UNPAIRED_TOPICS)
            samples = topic_samples(key, WITH_REPLACEMENT, n, n, 0, table.trials)
            return xr.Dataset({names.TOPIC_SAMPLE: (dims, samples)})
        samples = bootstrap_samples(table.key(names.Purpose.BOOTSTRAP_TOPICS), n, 0, table.trials)
        return xr.Dataset({names.TOPIC_SAMPLE: (dims, samples)}).isel({names.HALF: 0})


def unpaired_counts(table: ScoreTable, pairs: RunPairs, summary: str) -> Any:
    """Return in how many trials runs moved to one summary differ as much, int32 (cell, pair)."""
    n = table.sizes.size
    first, second = pairs
    counts = np.zeros((len(table.scores), len(first)), np.int32)
    key = table.key(names.Purpose.UNPAIRED_TOPICS)
    draw = partial(topic_counts, key, WITH_REPLACEMENT, n, n, 0, table.trials)
    for cell, scores in enumerate(table.values if len(first) else ()):
        centres = summaries(summary, scores, np.ones((n, 1)), n)[:, 0]
        samples = [summaries(summary, scores, of.T, n) for of in table.once("halves", draw)]
        scales = np.sqrt(centres) if summary == "geo" else np.ones(len(centres))
        move: Any = np.divide if summary == "geo" else np.subtract
        moved = [move(of, centres[:, np.newaxis]) for of in samples]
        for low in range(0, len(first), TILE):
            a = first[low : low + TILE]
            b = second[low : low + TILE]
            apart = np.abs(moved[0][a] - moved[1][b]) * (scales[a] * scales[b])[:, np.newaxis]
            edges = np.abs(centres[a] - centres[b]) - least_of(table, cell)
            counts[cell, low : low + TILE] = (apart >= edges[:, np.newaxis]).sum(axis=1)
    return counts

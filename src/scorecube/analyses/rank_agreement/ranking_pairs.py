"""Pairs of rankings, the values that rank runs, and correlation coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests.pair_scores import comparable
from scorecube.analyses.rank_agreement.correlation_quantities import (
    ALONG_NAME,
    GAIN_A,
    GAIN_B,
    METRIC_A,
    METRIC_B,
)
from scorecube.collection import schema
from scorecube.collection.selection import cell_kinds, cells, uses_gains
from scorecube.collection.topic_means import log_scores
from scorecube.errors import BadPlan, counted
from scorecube.kernels.rank.concordance import Concordance, pairs_of, spearman, tau_a, tau_b
from scorecube.metrics.registry import GEOMETRIC
from scorecube.statistics.integer_scores import SNAP, in_units

IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Comparisons:
    """Pairs of rankings; the first of each pair is the reference of tau-AP.

    first, second: int64 (comparison,): indices of distinct cells, see `collection.selection.cells`.
    settings: int64 (comparison, 4): indices of metric and gain setting of the first and of the second ranking.
    along: "metric" or "gain" for each comparison.
    """

    first: IntArray
    second: IntArray
    settings: IntArray
    along: tuple[str, ...]

    def coords(self, cube: xr.Dataset) -> dict[str, Any]:
        """Return the labels of the comparisons as coordinates of a result."""
        labels = {
            dim: np.array(schema.labels_of(cube, dim), object) for dim in (names.METRIC, names.GAIN)
        }
        dims = (names.METRIC, names.GAIN, names.METRIC, names.GAIN)
        columns = zip((METRIC_A, GAIN_A, METRIC_B, GAIN_B), dims, self.settings.T, strict=True)
        coords: dict[str, Any] = {
            name: (names.COMPARISON, labels[dim][index]) for name, dim, index in columns
        }
        return coords | {ALONG_NAME: (names.COMPARISON, schema.label_array(self.along))}


def list_comparisons(cube: xr.Dataset, *, every_gain: bool = False) -> Comparisons:
    """Return the comparisons between metrics and between gain settings.

    Along metric: all pairs of metrics at each gain setting. Along gain: each metric that uses gains, at the
    first setting and at every other; with `every_gain`, at every two.

    Raises BadPlan: There is no such pair.
    """
    n_metrics, n_gains = cube.sizes[names.METRIC], cube.sizes[names.GAIN]
    uses, cell_of = uses_gains(cube), cells(cube)[1]
    settings = [
        (i, g, j, g)
        for g in range(n_gains)
        for i in range(n_metrics)
        for j in range(i + 1, n_metrics)
    ]
    n_metric_pairs = len(settings)
    settings += [
        (i, first, i, g)
        for i in range(n_metrics)
        if uses[i]
        for first in range(n_gains if every_gain else 1)
        for g in range(first + 1, n_gains)
    ]
    if not settings:
        raise BadPlan(
            f"nothing to correlate: found {counted(n_metrics, 'metric')}, {int(uses.sum())} of them "
            f"with gains, and {counted(n_gains, 'gain setting')}; add metrics or gain settings"
        )
    table = np.array(settings, np.int64)
    first, second = cell_of[table[:, 0], table[:, 1]], cell_of[table[:, 2], table[:, 3]]
    return Comparisons(
        first,
        second,
        table,
        ("metric",) * n_metric_pairs + ("gain",) * (len(settings) - n_metric_pairs),
    )


def ranking_values(cube: xr.Dataset) -> tuple[Any, Any, Any]:
    """Return the values that rank runs, as integers if possible, for exact ties.

    Returns units: float64 (cell, run, topic): integer scores; for geometric means their logarithms.
    Returns sums: float64 (cell, run): sums of the units over topics.
    Returns tolerances: float64 (cell,): largest difference of sums that rounding alone can cause.
    """
    scores = cells(cube)[0]
    units, sums, tolerances = (
        np.zeros(scores.shape),
        np.empty(scores.shape[:2]),
        np.empty(len(scores)),
    )
    for k, kind in enumerate(cell_kinds(cube)):
        centred = in_units(*comparable(log_scores(scores[k]) if kind == GEOMETRIC else scores[k]))
        units[k], sums[k] = centred.whole, centred.totals
        tolerances[k] = SNAP * centred.n_topics if centred.rounded else 0.0
    return units, sums, tolerances


def coefficients(counts: Concordance, first: Any, second: Any, n_runs: int) -> Any:
    """Return the correlation coefficients of comparisons.

    counts: Concordance of the rankings in some trials.
    first, second: int64 (comparison,): indices of the rankings.
    Returns coefficients: float64 (statistic, trial, comparison), in the order of `STATISTICS`.
    """
    pairs = pairs_of(n_runs)
    tied_a, tied_b = counts.tied[:, first], counts.tied[:, second]
    return np.stack(
        [
            tau_a(counts.concordant, counts.discordant, pairs),
            tau_b(counts.concordant, counts.discordant, pairs, tied_a, tied_b),
            counts.ap_accuracy,
            counts.ap_agreement,
            spearman(
                counts.rank_products, counts.rank_squares[:, first], counts.rank_squares[:, second]
            ),
        ]
    )

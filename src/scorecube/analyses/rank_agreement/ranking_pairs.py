"""Which rankings are correlated with which, by what values, and the coefficients of what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.selection import cell_kinds, cells, uses_gains
from scorecube.collection.topic_means import area_weights, log_scores
from scorecube.errors import BadPlan
from scorecube.kernels.rank.concordance import Concordance, pairs_of, spearman, tau_a, tau_b
from scorecube.metrics.registry import AREA, GEOMETRIC
from scorecube.statistics.integer_scores import centred_units

ALONG = ("metric", "gain")
STATISTICS = ("tau", "tau_b", "tau_ap", "tau_ap_b", "spearman")
METRIC_A, GAIN_A, METRIC_B, GAIN_B, ALONG_WHAT = "metric_a", "gain_a", "metric_b", "gain_b", "along"
"""Coordinates along comparison."""
IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Comparisons:
    """Pairs of rankings, the first of each the truth of tau-AP.

    Parameters
    ----------
    first, second
        int64 (comparison,): distinct cells of the cube, see `cube.cells`.
    places
        int64 (comparison, 4): metric and gain setting of the first, and of the second ranking.
    along
        `ALONG` of each.
    """

    first: IntArray
    second: IntArray
    places: IntArray
    along: tuple[str, ...]

    def coords(self, cube: xr.Dataset) -> dict[str, Any]:
        """Return the labels of the comparisons as coordinates."""
        labels = {dim: np.array(schema.labels_of(cube, dim), object) for dim in (names.METRIC, names.GAIN)}
        dims = (names.METRIC, names.GAIN, names.METRIC, names.GAIN)
        found = zip((METRIC_A, GAIN_A, METRIC_B, GAIN_B), dims, self.places.T, strict=True)
        coords: dict[str, Any] = {name: (names.COMPARISON, labels[dim][places]) for name, dim, places in found}
        return coords | {ALONG_WHAT: (names.COMPARISON, schema.label_array(self.along))}


def comparisons_of(cube: xr.Dataset, along: Sequence[str]) -> Comparisons:
    """Return all pairs of metrics at each gain setting, and each metric that uses gains at the first and every other setting.

    Raises
    ------
    BadPlan
        Nothing to compare.
    """
    n_metrics, n_gains = cube.sizes[names.METRIC], cube.sizes[names.GAIN]
    uses, cell_of = uses_gains(cube), cells(cube)[1]
    places: list[tuple[int, int, int, int]] = []
    if "metric" in along:
        places += [(i, g, j, g) for g in range(n_gains) for i in range(n_metrics) for j in range(i + 1, n_metrics)]
    n_first = len(places)
    if "gain" in along:
        places += [(i, 0, i, g) for i in range(n_metrics) if uses[i] for g in range(1, n_gains)]
    if not places:
        raise BadPlan(
            f"nothing to correlate along {' and '.join(along) or 'nothing'}: found {n_metrics} metrics, {int(uses.sum())} of them with gains, "
            f"and {n_gains} gain settings"
        )
    table = np.array(places, np.int64)
    first, second = cell_of[table[:, 0], table[:, 1]], cell_of[table[:, 2], table[:, 3]]
    return Comparisons(first, second, table, ("metric",) * n_first + ("gain",) * (len(places) - n_first))


def ranking_values(cube: xr.Dataset) -> tuple[Any, Any, Any]:
    """Return what runs are ranked by, as integers, so that equal means are equal.

    Returns
    -------
    units
        float64 (cell, run, topic): scores in units; of geometric means their logarithms; of area measures, which are no sums, zeros.
    sums
        float64 (cell, run): their sums; of area measures the values.
    tolerances
        float64 (cell,): differences of sums that rounding alone can cause.
    """
    scores = cells(cube)[0]
    units, sums, tolerances = np.zeros(scores.shape), np.empty(scores.shape[:2]), np.empty(len(scores))
    for k, kind in enumerate(cell_kinds(cube)):
        if kind == AREA:
            weights = area_weights(scores.shape[2])
            found = centred_units((np.sort(scores[k], axis=-1)[:, : len(weights)] @ weights)[:, np.newaxis])
            sums[k] = found.uncentred[:, 0]
        else:
            found = centred_units(log_scores(scores[k]) if kind == GEOMETRIC else scores[k])
            units[k], sums[k] = found.uncentred, found.sums
        tolerances[k] = 2.0 * found.n_topics if found.rounded else 0.0
    return units, sums, tolerances


def coefficients(found: Concordance, first: Any, second: Any, n_runs: int, copies: Any = None) -> Any:
    """Return all coefficients: float64 (statistic, trial, comparison), in the order of `STATISTICS`.

    Parameters
    ----------
    found
        Counts of some trials.
    first, second
        Rankings of each comparison.
    n_runs
        Number of runs.
    copies
        int64 (trial,): pairs of copies of one run, which are no pairs, nor does tau-AP count them; None if runs are no sample.
    """
    pairs = pairs_of(n_runs)
    tied_a, tied_b = found.tied[:, first], found.tied[:, second]
    distinct = pairs if copies is None else pairs - copies[:, np.newaxis]
    return np.stack([
        tau_a(found.concordant, found.discordant, distinct),
        tau_b(found.concordant, found.discordant, pairs, tied_a, tied_b),
        found.ap_accuracy if copies is None else found.ap_strict,
        found.ap_agreement,
        spearman(found.rank_products, found.rank_squares[:, first], found.rank_squares[:, second]),
    ])  # fmt: skip


def copies_of(runs: Any) -> IntArray:
    """Return how many pairs of each sample (trial, draw) are copies of one run.

    Examples
    --------
    >>> copies_of(np.array([[0, 1, 2, 3], [0, 2, 2, 2], [1, 1, 3, 3]])).tolist()
    [0, 3, 2]
    """
    ordered = np.sort(runs, axis=-1)
    place = np.arange(ordered.shape[-1])
    begins = np.diff(ordered, axis=-1, prepend=-1) != 0
    start = np.maximum.accumulate(np.where(begins, place, 0), axis=-1)
    copies: IntArray = (place - start).sum(axis=-1, dtype=np.int64)
    return copies

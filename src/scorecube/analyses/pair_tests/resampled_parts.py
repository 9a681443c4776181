"""Largest statistics of trials over pairs, where a difference is a sum of parts that are resampled independently, such as collections, and errors of repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scorecube.analyses.pair_tests.repetitions import RepetitionErrors
from scorecube.kernels.linalg.panel_product import multiply, room_for_product
from scorecube.kernels.pairs.running_maximum import TILE, Family, Resampled
from scorecube.kernels.pairs.tail_counts import EQUAL
from scorecube.kernels.pairs.tiled_tail import squared_differences
from scorecube.kernels.registers import ROWS


class Part(NamedTuple):
    """Some trials of one collection.

    scores: Resampled scores.
    of_difference, of_variance: What a sum of centred scores adds to a mean, and their sum of squared deviations to its
        squared standard error, in the units of the statistic.
    """

    scores: Resampled
    of_difference: float
    of_variance: float


def largest_of_parts(
    parts: Sequence[Part],
    errors: RepetitionErrors | None,
    trials: tuple[int, int],
    family: Family,
    moderation: tuple[float, float],
    reached: Any,
) -> Any:
    """Return the largest finite statistic of each trial over the pairs of a family, and count the trials that reach each pair.

    parts: Of the same trials.
    errors: Of the same trials; None without repetitions.
    trials, family, reached: As of `kernels.pairs.running_maximum.step_down`; the statistic is the squared moderated t.
    moderation: Weight, and what it adds to sums of squares.
    """
    chosen, (weight, added) = slice(*trials), moderation
    largest = np.zeros(trials[1] - trials[0])
    rooms = [
        (room_for_product(TILE, part.scores.weights), part.scores.centred.shape[1])
        for part in parts
    ]
    squares = [np.zeros((len(products), n)) for products, n in rooms]
    for low in range(0, len(family.first), TILE):
        tile = slice(low, low + TILE)
        pair = family.first[tile], family.second[tile]
        differences, spread = np.zeros((2, len(pair[0]), len(largest)))
        for part, room, (products, _) in zip(parts, squares, rooms, strict=True):
            _add_part(part, pair, chosen, room, products, differences, spread)
        pooled = (spread + added) / (1.0 + weight)
        if errors is not None:
            first, second = pair
            shifts, variances = errors.shifts[:, chosen], errors.variances[:, chosen]
            differences = differences + (shifts[first] - shifts[second])
            pooled = pooled + variances[first] + variances[second]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = differences * differences / pooled
        ratios[np.isnan(ratios)] = 0.0
        maxima = np.where(np.isfinite(ratios), ratios, 0.0)
        maxima[0] = np.maximum(maxima[0], largest)
        maxima = np.maximum.accumulate(maxima, axis=0)
        edges = family.edges[tile, np.newaxis]
        reached[tile] += ((maxima >= edges) | (ratios >= edges)).sum(axis=1)
        largest = maxima[-1]
    return largest


def _add_part(
    part: Part, pair: Any, chosen: slice, squares: Any, products: Any, differences: Any, spread: Any
) -> None:
    """Add what a part has to the differences and squared standard errors of some pairs in some trials."""
    (first, second), scores = pair, part.scores
    n = scores.centred.shape[1]
    squared_differences(scores.centred, first, second, scores.snap, squares)
    rows = -(-len(first) // ROWS) * ROWS
    multiply(squares[:rows], scores.weights, products[:rows])
    sum_of_squares, sums = products[: len(first), chosen], scores.sums[:, chosen]
    totals = sums[first] - sums[second]
    totals[np.abs(totals) <= n * scores.snap] = 0.0
    own = sum_of_squares - totals * totals / n
    own[own <= EQUAL * sum_of_squares] = 0.0
    differences += totals * part.of_difference
    spread += own * part.of_variance

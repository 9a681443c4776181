"""The difference that other topics confirm with a stated confidence, from swap counts by bin.

Two rules. That of the papers (`suffix`) takes the lowest bin from which on no swap rate is too
high; a single bin with few comparisons moves it by many bins. The isotonic rule takes the first bin
whose rate is low enough in the weighted isotonic regression of the rates, not increasing with the
difference, with comparisons as weights (Barlow, Bartholomew, Bremner and Brunk 1972, "Statistical
inference under order restrictions").

Limits of rates are over trials, within which comparisons depend on each other (Kish 1965, "Survey
sampling", section 5.4; Wilson 1927, "Probable inference", JASA).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BATCHES = 20
"""Batches of trials: trial t belongs to batch t % 20."""
FEW = 5
"""Batches with an event below which the variance between batches is too poor an estimate."""
ROUNDING = 1e-12
"""Excess of a rate that comes of rounding."""


class Required(NamedTuple):
    """Required differences of swap curves (...).

    fitted: float64 (..., bin): isotonic regression of the swap rates, NaN for empty bins.
    isotonic, suffix: int64 (..., confidence): bin that either rule requires, -1 for none.
    smooth: float64 (..., confidence): where the fitted curve reaches the accepted rate, in bins.
    """

    fitted: FloatArray
    isotonic: IntArray
    suffix: IntArray
    smooth: FloatArray


def required_differences(
    count: IntArray, swaps: IntArray, confidence: Sequence[float], n_closed: int
) -> Required:
    """Return the required differences of curves, for levels of 1 - accepted swap rate.

    count, swaps: int64 (..., bin): comparisons and swaps by absolute difference.
    n_closed: Bins with an upper limit; an open bin is no answer of the isotonic rule.
    """
    highest = np.round(1 - np.asarray(confidence, float), 12)[:, np.newaxis] + ROUNDING
    filled = count > 0
    accepted = highest[:, 0] - ROUNDING
    rate = np.divide(swaps, count, out=np.full(count.shape, np.nan), where=filled)
    fitted = _fitted(count, rate)
    # Comparisons with NaN, of empty bins, are false.
    low_enough = fitted[..., np.newaxis, :] <= highest
    isotonic = _first_bin(low_enough & (np.arange(count.shape[-1]) < n_closed))
    holds = (rate[..., np.newaxis, :] <= highest) | ~filled[..., np.newaxis, :]
    from_here = np.logical_and.accumulate(holds[..., ::-1], axis=-1)[..., ::-1]
    suffix = _first_bin(from_here & filled[..., np.newaxis, :])
    return Required(fitted, isotonic, suffix, _crossing(fitted, isotonic, accepted))


def share_beyond(count: IntArray, widths: FloatArray | IntArray) -> FloatArray:
    """Return the share of comparisons with at least a difference, spread evenly within bins.

    count: int64 (..., bin).
    widths: float64 (..., confidence): differences in bin widths, NaN for none, whose share is 0.
    """
    at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
    at_least = np.concatenate([at_least, np.zeros_like(at_least[..., :1])], axis=-1)
    place = np.nan_to_num(widths, nan=float(count.shape[-1]))
    lower = np.minimum(place.astype(np.int64), count.shape[-1] - 1)
    part = np.clip(place - lower, 0.0, 1.0)
    reached = np.take_along_axis(at_least, lower, axis=-1)
    beyond = np.take_along_axis(at_least, lower + 1, axis=-1)
    return np.asarray(((1 - part) * reached + part * beyond) / np.maximum(at_least[..., :1], 1))


def _first_bin(chosen: NDArray[np.bool_]) -> IntArray:
    """Return the first chosen bin (...,) of bool (..., bin) beside bin 0, -1 for none."""
    place = np.argmax(chosen[..., 1:], axis=-1) + 1
    return np.where(chosen[..., 1:].any(axis=-1), place, -1)


def _fitted(count: IntArray, rate: FloatArray) -> FloatArray:
    """Return the isotonic regression of rates, by comparisons, float64 (..., bin); NaN if empty."""
    fitted = np.full(count.shape, np.nan)
    for curve in np.ndindex(count.shape[:-1]):
        filled = count[curve] > 0
        if filled.any():
            weights = count[curve][filled].astype(float)
            fitted[curve][filled] = isotonic(rate[curve][filled], weights)
    return fitted


def isotonic(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the isotonic regression, not increasing, of values (bin,), bit for bit as SciPy's.

    Neighbours that increase are one block (Busing 2022, "Monotone regression", algorithm 1); the
    import of scipy.optimize takes longer than all fits of an analysis.
    """
    rest = list(zip(values.tolist(), weights.tolist(), strict=True))  # the last one first
    blocks: list[_Block] = []
    while rest:
        level, weight = rest.pop()
        length = 1
        total = weight * level
        if blocks and blocks[-1].level >= level:
            before = blocks.pop()
            length += before.length
            total = before.weight * before.level + total
            weight += before.weight
            level = total / weight
            while rest and level >= rest[-1][0]:
                following, its_weight = rest.pop()
                length += 1
                total += its_weight * following
                weight += its_weight
                level = total / weight
            while blocks and blocks[-1].level >= level:
                before = blocks.pop()
                length += before.length
                total += before.weight * before.level
                weight += before.weight
                level = total / weight
        blocks.append(_Block(level, weight, length))
    return np.repeat([block.level for block in blocks], [block.length for block in blocks])[::-1]


class _Block(NamedTuple):
    """Neighbours with one fitted value."""

    level: float
    weight: float
    length: int


def _crossing(fitted: FloatArray, bins: IntArray, accepted: FloatArray) -> FloatArray:
    """Return where curves between middles of filled bins reach rates, in bin widths, or NaN."""
    filled = np.where(np.isnan(fitted), -1, np.arange(fitted.shape[-1]))
    above = np.maximum(bins, 1)
    below = np.take_along_axis(np.maximum.accumulate(filled, axis=-1), above - 1, axis=-1)
    below = np.maximum(below, 0)
    low = np.take_along_axis(fitted, above, axis=-1)
    high = np.take_along_axis(fitted, below, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        between = below + 0.5 + (high - accepted) / (high - low) * (above - below)
    return np.where(bins < 0, np.nan, np.where(high > accepted + ROUNDING, between, above))


def rate_limits(
    count: IntArray, events: IntArray, trials: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return 95 % limits of events / count: Wilson's, by the effective number of comparisons.

    That is the number of independent comparisons whose rate would vary as that of the batches, at
    most all; at most the number of trials where few batches have an event, or none without one.

    count, events: int64 (batch, ...): comparisons and events in each batch.
    trials: int64 (...): trials with a comparison.
    Returns low, high: float64 (...), NaN without comparisons.
    """
    from scipy.special import stdtrit

    n_batches = len(count)
    total = count.sum(axis=0)
    sum_events = events.sum(axis=0)
    z = stdtrit(n_batches - 1, 0.975)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = sum_events / total
        errors = ((events - rate * count) ** 2).sum(axis=0) * n_batches / (n_batches - 1)
        size = np.where(errors > 0, rate * (1 - rate) * total**2.0 / errors, np.inf)
        few = np.minimum((events > 0).sum(axis=0), (events < count).sum(axis=0)) < FEW
        size = np.minimum(size, np.where(few, np.minimum(trials, total), total))
        centre = (rate + z * z / (2 * size)) / (1 + z * z / size)
        spread = np.sqrt(rate * (1 - rate) / size + z * z / (4 * size**2))
        half = z * spread / (1 + z * z / size)
    # At rates of 0 and 1 terms that rounding leaves do not cancel.
    low = np.where((sum_events == 0) & (total > 0), 0.0, centre - half)
    high = np.where((sum_events == total) & (total > 0), 1.0, centre + half)
    return low, high

"""Exponential decay of swap rates with topic set size, for extrapolation.

Errors of the extrapolation were measured in bins with at least 1 % of the comparisons, with curves fitted to rates at 5
to 25 topics (tests/analyses/topic_samples/test_swap_extrapolation.py). At 50 topics, curves of all topics are too low
by .006 to .019 on average (root mean square .012 to .024). Of 50 topics alone, the error of single rates is .018
(robust2004), .029 (web2004) and .050 (mq2007), of which .014 to .041 exist at 25 topics already, as other topics have
other rates. Beyond twice the largest size errors are larger: at 100 topics small differences of robust2004 swap 1.4 to
2.8 times as often as predicted.

Reference: Voorhees and Buckley 2002, "The effect of topic set size on retrieval experiment error", SIGIR.
"""

import numpy as np
from numpy.typing import NDArray

FEWEST_SIZES = 3
"""Sizes needed for a fit of two parameters."""
SLOWEST, FASTEST = 1e-5, 5.0
"""Positive decay rates that are tried: from a change of 1 % over 1000 topics to one that a single topic completes."""
DECIDED_BY_TIES = 0.5
"""Share of exact ties above which a bin is left out of fits over sizes."""
DECAYS = np.concatenate([[0.0], np.geomspace(SLOWEST, FASTEST, 400)])
"""Grid of decay rates, per topic."""
STEPS = 60
"""Steps of the golden-section search: the bracket shrinks by 0.618**60 = 3e-13, which is less than the rates are known by."""

FloatArray = NDArray[np.float64]


def fit_decay(sizes: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit rate = height * exp(-decay * size) by least squares.

    For a given decay the best height has a closed form, so only the decay is searched: on a grid, then by golden
    section between the neighbours of the best grid point. Missing rates (empty bins) are left out.

    sizes: float64 (size,): topic set sizes.
    rates: float64 (..., size): swap rates, NaN for missing.
    Returns height, decay: float64 (...): rate at size 0, decay per topic; NaN with fewer than three rates, or fewer
        than two positive rates.

    Examples
    --------
    >>> sizes = np.array([5.0, 10.0, 15.0, 20.0])
    >>> height, decay = fit_decay(sizes, 0.4 * np.exp(-0.1 * sizes))
    >>> float(height.round(6)), float(decay.round(6))
    (0.4, 0.1)
    """
    curves = rates.reshape(-1, rates.shape[-1])
    known = np.isfinite(curves)
    enough = (known.sum(axis=1) >= FEWEST_SIZES) & ((curves > 0).sum(axis=1) >= 2)
    height, decay = np.full(len(curves), np.nan), np.full(len(curves), np.nan)
    if enough.any():
        weights, points = known[enough].astype(float), np.where(known, curves, 0.0)[enough]
        _, explained = _best_height(
            sizes, points, weights, np.broadcast_to(DECAYS, (len(points), len(DECAYS)))
        )
        best = np.argmax(explained, axis=1)
        low, high = DECAYS[np.maximum(best - 1, 0)], DECAYS[np.minimum(best + 1, len(DECAYS) - 1)]
        shrink = (np.sqrt(5.0) - 1) / 2
        for _ in range(STEPS):
            inner = np.stack([high - shrink * (high - low), low + shrink * (high - low)], axis=1)
            _, explained = _best_height(sizes, points, weights, inner)
            left = explained[:, 0] >= explained[:, 1]
            low, high = np.where(left, low, inner[:, 0]), np.where(left, inner[:, 1], high)
        chosen = np.stack([DECAYS[best], (low + high) / 2], axis=1)
        heights, explained = _best_height(sizes, points, weights, chosen)
        better = np.argmax(explained, axis=1)
        rows = np.arange(len(points))
        height[enough], decay[enough] = heights[rows, better], chosen[rows, better]
    return height.reshape(rates.shape[:-1]), decay.reshape(rates.shape[:-1])


def _best_height(
    sizes: FloatArray, points: FloatArray, weights: FloatArray, decays: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the best height for each decay, and the sum of squares that it explains.

    Points and weights are (curve, size), decays and results (curve, decay).
    """
    shapes = np.exp(-decays[:, :, np.newaxis] * (sizes - sizes.min()))
    along = np.einsum("cds,cs->cd", shapes, points)
    norm = np.einsum("cds,cds,cs->cd", shapes, shapes, weights)
    height = along / norm
    return height * np.exp(decays * sizes.min()), height * along


def without_ties(rates: FloatArray, tie_share: FloatArray) -> FloatArray:
    """Return swap rates without those of bins that are decided by exact ties; NaN for these.

    Examples
    --------
    >>> without_ties(np.array([0.9, 0.4]), np.array([0.8, 0.1])).tolist()
    [nan, 0.4]
    """
    return np.where(tie_share > DECIDED_BY_TIES, np.nan, rates)


def lack_of_fit(
    sizes: FloatArray, rates: FloatArray, height: FloatArray, decay: FloatArray
) -> FloatArray:
    """Return the root mean square of the differences between rates and their fit.

    sizes, rates: As of `fit_decay`.
    height, decay: Its results.
    Returns error: float64 (...), NaN without a fit.

    Examples
    --------
    >>> sizes = np.array([5.0, 10.0, 15.0])
    >>> round(float(lack_of_fit(sizes, np.array([0.3, 0.2, 0.1]), *fit_decay(sizes, np.array([0.3, 0.2, 0.1])))), 4)
    0.0115
    """
    fitted = height[..., np.newaxis] * np.exp(-decay[..., np.newaxis] * sizes)
    known = np.isfinite(rates)
    squares = np.where(known, (rates - fitted) ** 2, 0.0).sum(axis=-1)
    return np.asarray(np.sqrt(squares / np.maximum(known.sum(axis=-1), 1)))


def sizes_beyond(sizes: FloatArray) -> FloatArray:
    """Return sizes up to twice the largest at which to draw the extrapolation.

    The step is that between the two largest sizes; there are none for fewer than three sizes.

    Examples
    --------
    >>> sizes_beyond(np.array([5, 10, 15])).tolist()
    [20, 25, 30]
    """
    if len(sizes) < FEWEST_SIZES:
        return sizes[:0]
    return np.arange(sizes[-1] + (sizes[-1] - sizes[-2]), 2 * sizes[-1] + 1, sizes[-1] - sizes[-2])

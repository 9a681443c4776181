"""Margins fitted to the scores of one system over a sample of topics, and chosen by AIC.

References: Urbano and Nagler 2018, "Stochastic simulation of test collections: evaluation scores", SIGIR 2018; Chen 1999, "Beta kernel
estimators for density functions", Computational Statistics & Data Analysis 31; Wang and van Ryzin 1981, "A class of smooth estimators for
discrete distributions", Biometrika 68.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy

from scorecube.statistics.margins import NEWTON_STEPS, STEEPEST, FloatArray, Margin, at_ascending

LEAST_SIGMA = 0.05
"""Smallest standard deviation of a normal margin before it is truncated."""
MOST_LOG_SIGMA = 5.0
"""Largest logarithm of it: the density is then that of a uniform distribution."""
LEAST_SHAPE = 1.0
"""Smallest shape of a beta margin and of a distortion: no density is infinite."""
MOST_SHAPE = 500.0
"""Largest shape of a beta margin."""
SHAPE_STEP = 1e-7
"""Change of a shape at which the search for the most likely shapes ends."""
EDGE = 1e-6
"""Scores nearer to 0 or 1 count as that far from it in fits of beta densities, which may be 0 at 0 and 1."""
MULTIPLIERS = (1.0, 2.0, 5.0, 10.0)
"""Of the cross-validated bandwidth of smoothed probabilities; each makes one candidate."""
DISCRETE_SHARE = 0.1
"""Scores with at most this many distinct values, as a share of their number, are discrete."""
MOST_DIGITS = 5
"""Decimals of the finest grid of scores."""
AT_ONCE = 2**21
"""Kernels between pairs of numbers that are held at a time: a few arrays of 16 MB."""
FIT_STEPS = {"xatol": 1e-4, "fatol": 1e-4}
"""Changes of parameters and of log-likelihood at which a fit ends."""


@dataclass(frozen=True)
class Candidate:
    """A fitted margin before it is put on the grid.

    kind, parameters, aic: As of `Margin`.
    below: The distribution function, at ascending numbers between scores.
    """

    kind: str
    parameters: tuple[float, ...]
    aic: float
    below: Callable[[FloatArray], FloatArray]

    def on(self, support: FloatArray) -> Margin:
        """Return the margin on a grid: probabilities are those of scores that are rounded to its points."""
        below = self.below((support[:-1] + support[1:]) / 2)
        return _on_grid(self.kind, self.parameters, self.aic, support, below)


Fitted = TypeVar("Fitted", Margin, Candidate)


@dataclass(frozen=True)
class ScoreGrid:
    """Scores that a metric can have.

    support: float64 (point,): ascending.
    discrete: Whether these are the values of a metric with few values, such as P@10 or RR; else decimals.
    """

    support: FloatArray
    discrete: bool


def score_grid(scores: FloatArray, digits: int = MOST_DIGITS) -> ScoreGrid:
    """Return the grid of the scores of one metric.

    scores: float64, any shape, in [0, 1]: scores of all systems.
    digits: Most decimals of continuous scores.

    Examples
    --------
    >>> score_grid(np.tile([0.0, 0.1, 0.3, 1.0], 25)).support.tolist()
    [0.0, 0.1, 0.3, 1.0]
    """
    values = np.unique(scores)
    if len(values) <= max(2.0, DISCRETE_SHARE * scores.size):
        step = _tenths(values)
        return ScoreGrid(values if step is None else step, discrete=True)
    decimals = next((d for d in range(1, digits) if (np.round(values, d) == values).all()), digits)
    return ScoreGrid(np.round(np.arange(10**decimals + 1) / 10**decimals, decimals), discrete=False)


def _tenths(values: FloatArray) -> FloatArray | None:
    """Return 0, 1/k, ..., 1 for the scores of a precision at k of up to 100, else None."""
    for k in range(2, 101):
        points = np.arange(k + 1) / k
        if len(values) > (k + 1) / 2 and np.isin(values, points).all():
            return points
    return None


def margin_seconds(n_topics: int) -> float:
    """Return the estimated time of `fit_margin`, whose kernels are between all pairs of scores."""
    return 3e-3 + 7e-5 * n_topics + 4e-8 * n_topics**2


def in_portions(function: Callable[[Any], FloatArray], rows: Any, width: int) -> FloatArray:
    """Return a function of many rows, of which each takes an array of a width, some at a time, which bounds the memory."""
    portions = np.array_split(rows, 1 + len(rows) * width // AT_ONCE)
    return np.concatenate([function(some) for some in portions])


def fit_margin(scores: FloatArray, grid: ScoreGrid) -> Margin:
    """Return the margin with the smallest AIC.

    scores: float64 (topic,): scores of one system.
    grid: Of `score_grid` for all systems.
    """
    if np.ptp(scores) == 0.0:
        return constant_margin(float(scores[0]), grid.support)
    if grid.discrete:
        return min(_finite(_discrete(scores, grid.support)), key=lambda margin: margin.aic)
    step = float(np.diff(grid.support).min())
    return min(_finite(_continuous(scores, step)), key=lambda each: each.aic).on(grid.support)


def _finite(candidates: Iterable[Fitted]) -> list[Fitted]:
    return [each for each in candidates if np.isfinite(each.aic)]


def _continuous(scores: FloatArray, step: float) -> Iterator[Candidate]:
    """Yield fitted margins of decimals; `step` is that of the grid."""
    yield _normal(scores)
    yield _beta(scores)
    yield _kernel(scores, step)
    yield _beta_kernel(scores)


def constant_margin(score: float, support: FloatArray) -> Margin:
    """Return the margin of a system with the same score on all topics."""
    nearest = support[np.argmin(np.abs(support - score))]
    return Margin("constant", (score,), 0.0, support, (support >= nearest).astype(float))


def _on_grid(
    kind: str, parameters: Sequence[float], aic: float, support: FloatArray, below: FloatArray
) -> Margin:
    """Return a margin from its distribution function between the points."""
    cumulative = np.append(np.maximum.accumulate(np.clip(below, 0.0, 1.0)), 1.0)
    return Margin(kind, tuple(map(float, parameters)), float(aic), support, cumulative)


def _log_mass(mu: float, sigma: float) -> float:
    """Return the logarithm of a normal variable's probability of [0, 1], for a mean in it."""
    return math.log(scipy.special.ndtr((1.0 - mu) / sigma) - scipy.special.ndtr(-mu / sigma))


def _within(parameters: Sequence[float]) -> tuple[float, float]:
    """Return the nearest allowed mean and standard deviation to a mean and the logarithm of a standard deviation."""
    sigma = max(math.exp(min(parameters[1], MOST_LOG_SIGMA)), LEAST_SIGMA)
    return min(max(float(parameters[0]), 0.0), 1.0), sigma


def _normal(scores: FloatArray) -> Candidate:
    """Normal, truncated. Its mean before that stays in [0, 1]: far outside the likelihood is flat, and the density one of an exponential."""
    n, mean, second = len(scores), scores.mean(), (scores**2).mean()

    def loss(parameters: Sequence[float]) -> float:
        mu, sigma = _within(parameters)
        squares = (second - 2.0 * mu * mean + mu * mu) / (2.0 * sigma**2)
        return float(n * (squares + math.log(sigma) + _log_mass(mu, sigma)))

    start = (mean, math.log(max(scores.std(), LEAST_SIGMA)))
    best = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=FIT_STEPS)
    mu, sigma = _within(best.x)
    aic = 4.0 + 2.0 * loss((mu, math.log(sigma))) + n * math.log(2.0 * math.pi)
    first, last = scipy.special.ndtr(-mu / sigma), scipy.special.ndtr((1.0 - mu) / sigma)

    def below(edges: FloatArray) -> FloatArray:
        return np.asarray((scipy.special.ndtr((edges - mu) / sigma) - first) / (last - first))

    return Candidate("normal", (mu, sigma), float(aic), below)


def _beta(scores: FloatArray) -> Candidate:
    inner = np.clip(scores, EDGE, 1.0 - EDGE)
    n, first, second = len(scores), np.log(inner).mean(), np.log1p(-inner).mean()

    mean, variance = inner.mean(), inner.var()
    total = max(mean * (1.0 - mean) / variance - 1.0, 2.0)
    start = np.array([total * mean, total * (1.0 - mean)])
    a, b = map(float, _likely_shapes(first, second, start.clip(LEAST_SHAPE + 0.01, MOST_SHAPE)))
    aic = 4.0 + 2.0 * n * _beta_loss((a, b), first, second)
    return Candidate(
        "beta",
        (a, b),
        aic,
        lambda edges: at_ascending(lambda some: scipy.special.betainc(a, b, some), edges),
    )


def _beta_loss(shapes: Sequence[float] | FloatArray, first: float, second: float) -> float:
    """Return minus the mean log-likelihood of beta shapes, given the means of log(score) and log(1 - score)."""
    a, b = shapes
    return float(scipy.special.betaln(a, b) - (a - 1.0) * first - (b - 1.0) * second)


def _likely_shapes(first: float, second: float, start: FloatArray) -> FloatArray:
    """Return the most likely beta shapes between `LEAST_SHAPE` and `MOST_SHAPE`: the loss is convex, so Newton's method finds them."""
    at, least = start, _beta_loss(start, first, second)
    for _ in range(NEWTON_STEPS):
        digamma, trigamma = scipy.special.psi, scipy.special.polygamma
        slope = digamma(at) - digamma(at.sum()) - (first, second)
        stuck = ((at <= LEAST_SHAPE) & (slope > 0)) | ((at >= MOST_SHAPE) & (slope < 0))
        curve = np.diag(trigamma(1, at)) - trigamma(1, at.sum())
        if stuck.all():
            break
        if stuck.any():
            step = np.where(stuck, 0.0, -slope / np.diag(curve))
        else:
            (a, b), (_, d) = curve
            determinant = a * d - b**2
            step = (
                np.array([b * slope[1] - d * slope[0], b * slope[0] - a * slope[1]]) / determinant
            )
        while True:
            new = (at + step).clip(LEAST_SHAPE, MOST_SHAPE)
            loss = _beta_loss(new, first, second)
            if loss <= least or np.abs(new - at).max() < SHAPE_STEP:
                break
            step = step / 2.0
        ended = np.abs(new - at).max() < SHAPE_STEP
        if loss <= least:
            at, least = new, loss
        if ended:
            break
    return at


def _kernel(scores: FloatArray, step: float) -> Candidate:
    """Gaussian kernels, reflected at 0 and 1, with Silverman's bandwidth."""
    quartiles = np.subtract(*np.quantile(scores, (0.75, 0.25))) / 1.34
    deviation = scores.std(ddof=1)
    spread = min(deviation, quartiles) if quartiles > 0 else deviation
    h = max(0.9 * spread * len(scores) ** -0.2, 0.5 * step)
    images = np.concatenate([scores, -scores, 2.0 - scores])

    def kernels(x: FloatArray) -> FloatArray:
        z = (x[:, np.newaxis] - images) / h
        return np.asarray(np.exp(-0.5 * z * z).sum(axis=1))

    def density(x: FloatArray) -> FloatArray:
        total = in_portions(kernels, x, len(images))
        return np.asarray(total / (len(scores) * h * math.sqrt(2 * math.pi)))

    at = density(scores)
    own = (1 + np.exp(-2 * (scores / h) ** 2) + np.exp(-2 * ((1 - scores) / h) ** 2)) / (
        h * math.sqrt(2 * math.pi)
    )
    aic = 2.0 * (own / at).mean() - 2.0 * np.log(at).sum()

    def below(edges: FloatArray) -> FloatArray:
        coarse = np.linspace(0.0, 1.0, 2001)
        heights = density(coarse)
        area = np.append(0.0, np.cumsum((heights[1:] + heights[:-1]) / 2))
        return np.asarray(np.interp(edges, coarse, area / area[-1]))

    return Candidate("kernel", (h,), float(aic), below)


def _beta_kernel(scores: FloatArray) -> Candidate:
    """Beta kernels (Chen 1999) with bandwidth n^(-2/5)."""
    inner = np.clip(scores, EDGE, 1.0 - EDGE)
    b = len(scores) ** -0.4
    first, second = np.log(inner), np.log1p(-inner)

    def kernels(x: FloatArray) -> FloatArray:
        p = x[:, np.newaxis] / b
        q = 1.0 / b - p
        return np.asarray(np.exp(p * first + q * second - scipy.special.betaln(p + 1.0, q + 1.0)))

    coarse = np.linspace(0.0, 1.0, 2001)
    heights = in_portions(lambda some: kernels(some).mean(axis=1), coarse, len(inner))
    area = np.append(0.0, np.cumsum((heights[1:] + heights[:-1]) / 2)) / (len(coarse) - 1)

    def means_and_own(some: Any) -> FloatArray:
        each = kernels(inner[some])
        return np.stack([each.mean(axis=1), each[np.arange(len(some)), some]], axis=1)

    at, own = in_portions(means_and_own, np.arange(len(inner)), len(inner)).T
    aic = 2.0 * (own / at).mean() - 2.0 * np.log(at / area[-1]).sum()
    return Candidate(
        "beta kernel", (b,), float(aic), lambda edges: np.interp(edges, coarse, area / area[-1])
    )


def _discrete(scores: FloatArray, support: FloatArray) -> Iterator[Margin]:
    """Yield fitted margins on a discrete support."""
    counts = np.bincount(np.searchsorted(support, scores), minlength=len(support)).astype(float)
    if np.ptp(np.diff(support)) < EDGE:
        yield _beta_binomial(counts, support)
    best = _bandwidth(counts)
    for multiplier in MULTIPLIERS:
        if multiplier * best <= 1.0:
            yield _smoothed(counts, multiplier * best, support)


def _beta_binomial(counts: FloatArray, support: FloatArray) -> Margin:
    k = len(support) - 1
    points = np.arange(k + 1)
    ways = (
        scipy.special.gammaln(k + 1)
        - scipy.special.gammaln(points + 1)
        - scipy.special.gammaln(k - points + 1)
    )

    def logs(parameters: Sequence[float]) -> FloatArray:
        a, b = np.exp(np.clip(parameters, -7.0, 9.0))
        return np.asarray(
            ways + scipy.special.betaln(points + a, k - points + b) - scipy.special.betaln(a, b)
        )

    best = scipy.optimize.minimize(
        lambda each: -float(counts @ logs(each)),
        (0.0, 0.0),
        method="Nelder-Mead",
        options=FIT_STEPS,
    )
    cumulative = np.cumsum(np.exp(logs(best.x)))
    shapes = np.exp(np.clip(best.x, -7.0, 9.0))
    return _on_grid("beta-binomial", shapes, 4.0 + 2.0 * best.fun, support, cumulative[:-1])


def _spread(counts: FloatArray, bandwidth: float) -> FloatArray:
    """Return counts that are smoothed by Wang and van Ryzin's kernel."""
    points = np.arange(len(counts))

    def smoothed(some: Any) -> FloatArray:
        distance = np.abs(np.subtract.outer(some, points))
        away = 0.5 * (1.0 - bandwidth) * bandwidth**distance
        return np.asarray(np.where(distance == 0, 1.0 - bandwidth, away) @ counts)

    return in_portions(smoothed, points, len(points))


def _bandwidth(counts: FloatArray) -> float:
    """Return the bandwidth with the smallest cross-validated squared error."""
    n = counts.sum()

    def loss(bandwidth: float) -> float:
        smooth = _spread(counts, bandwidth)
        others = (counts * (smooth - (1.0 - bandwidth))).sum() / (n * (n - 1.0))
        return float(((smooth / n) ** 2).sum() - 2.0 * others)

    tried = np.linspace(0.0, 0.95, 20)
    best = float(tried[np.argmin([loss(each) for each in tried])])
    near = scipy.optimize.minimize_scalar(
        loss, bounds=(max(best - 0.05, 0.0), best + 0.05), method="bounded"
    )
    return float(near.x) if near.fun < loss(best) else best


def _smoothed(counts: FloatArray, bandwidth: float, support: FloatArray) -> Margin:
    smooth = _spread(counts, bandwidth)
    smooth /= smooth.sum()
    freedom = (counts * (1.0 - bandwidth) / np.maximum(smooth, STEEPEST)).sum() / counts.sum()
    seen = counts > 0
    aic = 2.0 * freedom - 2.0 * float(counts[seen] @ np.log(smooth[seen]))
    return _on_grid("smoothed", (bandwidth,), aic, support, np.cumsum(smooth)[:-1])

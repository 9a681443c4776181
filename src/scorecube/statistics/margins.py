"""Distributions of one system's scores over topics.

A margin is a distribution on the grid of the metric's scores: cumulative probabilities at ascending scores. So its mean and variance are
sums, and simulated scores have no digits that the sample's scores cannot have. `scorecube.statistics.margin_fits` fits margins to samples.

References: Urbano and Nagler 2018, "Stochastic simulation of test collections: evaluation scores", SIGIR 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
LARGEST_EXPONENT = 1e4
"""Largest shape of a distortion that moves a mean; wanted means beyond it are out of reach."""
STEEPEST = 1e-12
"""Smallest density: its logarithm is finite."""
LOG_SHAPES = (-3.0, 5.0)
"""Limits of the logarithms of shapes that give a margin a mean and a variance."""
COARSE_POINTS = 1000
"""Points of the margin on which these shapes are sought."""
FINE_POINTS, FINE_STEP, FINE_ENDS = 4096, 16, 64
"""On longer grids, beta distribution functions are computed at every 16th point, and at 64 at each end; between them they are interpolated,
monotone and with continuous slopes."""
MOMENT_STEPS = {"xatol": 1e-6, "fatol": 1e-12, "maxiter": 600}
"""Changes of shapes and of misses at which the search for a mean and a variance ends, where Newton's method finds no shapes, and its most steps."""
NEWTON_STEPS, CROSSING_STEPS = 25, 200
"""Most steps of Newton's method for shapes, and for an exponent."""
LARGEST_STEP = 1.0
"""Largest change of the logarithm of a shape in one of them."""
SLOPE_STEP = 1e-5
"""Change of the logarithm of a shape that measures slopes."""
MOMENTS_REACHED = 1e-9
"""Distance from a wanted mean, in standard deviations, and from the logarithm of a wanted variance at which these steps end."""
EXPONENT_STEP = 2e-14
"""Change of the logarithm of an exponent at which the search for a mean ends."""
MOMENT_TOLERANCE = 1e-10
"""Largest distance between the wanted and the reached mean."""


@dataclass(frozen=True)
class Margin:
    """A distribution of scores on a grid.

    kind: ``normal``, ``beta``, ``kernel``, ``beta kernel``, ``beta-binomial`` or ``smoothed``.
    parameters: Of the fit: mean and standard deviation before truncation; shapes; bandwidth.
    aic: Akaike's information criterion of the fit.
    support: float64 (point,): ascending scores.
    cumulative: float64 (point,): probability of a score up to each point; the last is 1.
    """

    kind: str
    parameters: tuple[float, ...]
    aic: float
    support: FloatArray
    cumulative: FloatArray

    @property
    def probabilities(self) -> FloatArray:
        """Probability of each point."""
        return np.diff(self.cumulative, prepend=0.0)

    @property
    def mean(self) -> float:
        """Expected score."""
        return float(self.support[-1] - (self.cumulative[:-1] * np.diff(self.support)).sum())

    @property
    def variance(self) -> float:
        """Variance of the score."""
        return float((self.probabilities * (self.support - self.mean) ** 2).sum())

    def distorted(self, a: float, b: float) -> Margin:
        """Return the margin whose distribution function is that of a Beta(a, b) variable at this one's."""
        if b == 1.0:
            cumulative = self.cumulative**a
        elif a == 1.0:
            cumulative = 1.0 - (1.0 - self.cumulative) ** b
        else:
            cumulative = at_ascending(
                lambda below: scipy.special.betainc(a, b, below), self.cumulative
            )
        # Of some shapes the beta distribution is a rounding error above 1.
        return replace(self, cumulative=np.append(np.minimum(cumulative[:-1], 1.0), 1.0))

    def shapes_for(self, mean: float) -> tuple[float, float]:
        """Return the shapes a, b >= 1 of the distortion to a wanted mean: one of them is 1.

        Raises ValueError: No distortion reaches the mean.
        """
        gaps, below = np.diff(self.support), self.cumulative[:-1]
        upper = mean > self.mean
        with np.errstate(divide="ignore"):
            logs = np.log(below) if upper else np.log1p(-below)
        whole, side = (self.support[-1], 1.0) if upper else (self.support[0], -1.0)
        seen = np.isfinite(logs)  # elsewhere the power is 0
        gaps, logs = gaps[seen], logs[seen]

        def beyond(t: float) -> tuple[float, float]:
            """Return the reached mean less the wanted one, and its slope, for the logarithm of an exponent."""
            exponent = math.exp(t)
            terms = gaps * np.exp(exponent * logs)
            slope = -side * exponent * float((terms * logs).sum())
            return float(whole - side * terms.sum() - mean), slope

        first, last = beyond(0.0), beyond(math.log(LARGEST_EXPONENT))
        if abs(first[0]) <= MOMENT_TOLERANCE:
            return 1.0, 1.0
        if first[0] * last[0] > 0:
            raise ValueError(f"no distortion of a margin with mean {self.mean:g} has mean {mean:g}")
        exponent = math.exp(_crossing(beyond, first, math.log(LARGEST_EXPONENT)))
        return (exponent, 1.0) if upper else (1.0, exponent)

    def moved(self, mean: float) -> Margin:
        """Return this margin distorted to a wanted mean; ValueError if that is impossible."""
        return self.distorted(*self.shapes_for(mean))

    def calibrated(self, mean: float, variance: float) -> Margin:
        """Return this margin distorted by Beta(a, b), a, b > 0, to a mean and a variance; to the mean only if no shapes have both."""
        if variance <= 0.0:
            return self.moved(mean)
        few = self._coarse()

        def misses(logs: Sequence[float] | FloatArray) -> FloatArray:
            found = few.distorted(*np.exp(np.clip(logs, *LOG_SHAPES)))
            ratio = max(found.variance / variance, STEEPEST)
            return np.array([(found.mean - mean) / math.sqrt(variance), math.log(ratio)])

        shapes = _newton(misses)
        if shapes is None:
            shapes = scipy.optimize.minimize(
                lambda logs: float((misses(logs) ** 2).sum()),
                (0.0, 0.0),
                method="Nelder-Mead",
                options=MOMENT_STEPS,
            ).x
        found = self.distorted(*np.exp(np.clip(shapes, *LOG_SHAPES)))
        try:
            return found.moved(mean)
        except ValueError:
            return self.moved(mean)

    def _coarse(self) -> Margin:
        """Return nearly the same margin with fewer points."""
        step = -(-len(self.support) // COARSE_POINTS)
        if step == 1:
            return self
        last = np.arange(step - 1, len(self.support) + step - 1, step).clip(
            max=len(self.support) - 1
        )
        middle = (last - (step - 1) / 2).astype(int)
        return replace(self, support=self.support[middle], cumulative=self.cumulative[last])


def at_ascending(function: Callable[[FloatArray], FloatArray], at: FloatArray) -> FloatArray:
    """Return an increasing function at ascending numbers; of many only some are computed, see `FINE_POINTS`."""
    n = len(at)
    if n <= FINE_POINTS:
        return np.asarray(function(at))
    inner = np.arange(FINE_ENDS, n - FINE_ENDS, FINE_STEP)
    knots = np.concatenate([np.arange(FINE_ENDS), inner, np.arange(n - FINE_ENDS, n)])
    values = np.maximum.accumulate(function(at[knots]))
    with np.errstate(over="ignore", under="ignore"):  # slopes between the smallest numbers are 0
        between = scipy.interpolate.PchipInterpolator(knots, values)
    return np.asarray(between(np.arange(n)))


def _crossing(
    beyond: Callable[[float], tuple[float, float]], first: tuple[float, float], last: float
) -> float:
    """Return the zero of a monotone function between 0 and `last`, by Newton's method within a shrinking range.

    beyond: Returns the value and the slope.
    first: Its result for 0.
    last: Where the function has the other sign.
    """
    low, high, t, (value, slope) = 0.0, last, 0.0, first
    for _ in range(CROSSING_STEPS):
        step = t - value / slope if slope else math.inf
        new = step if low < step < high else (low + high) / 2.0
        if abs(new - t) <= EXPONENT_STEP:
            break
        t = new
        value, slope = beyond(t)
        if (value > 0) == (first[0] > 0):
            low = t
        else:
            high = t
    return t


def _newton(misses: Callable[[FloatArray], FloatArray]) -> FloatArray | None:
    """Return the logarithms of two shapes without misses, by Newton's method from (0, 0) with measured slopes; None if it ends elsewhere."""
    at = np.zeros(2)
    now = misses(at)
    for _ in range(NEWTON_STEPS):
        if np.abs(now).max() <= MOMENTS_REACHED:
            return at
        slopes = np.stack([(misses(at + SLOPE_STEP * e) - now) / SLOPE_STEP for e in np.eye(2)]).T
        (a, b), (c, d) = slopes
        determinant = a * d - b * c
        if determinant == 0.0:
            return None
        step = np.array([d * now[0] - b * now[1], a * now[1] - c * now[0]]) / -determinant
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), STEEPEST))
        while not np.abs(after := misses(at + step)).max() < np.abs(now).max():
            step /= 2.0
            if np.abs(step).max() < SLOPE_STEP:
                return None
        at, now = at + step, after
        if not (LOG_SHAPES[0] < at.min() and at.max() < LOG_SHAPES[1]):
            return None
    return None

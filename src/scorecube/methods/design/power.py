"""Power of the analysis of variance, exact and as in Sakai's spreadsheet, and sizes by it.

The noncentrality of n topics is n D^2 / (2 variance). D is the difference between the best and the
worst of m systems, with all others in the middle, which is the least favourable case.

References: Sakai and Shang 2016, section 3; Sakai 2017, equations 1 and 2; Nagata 2003 (constants,
approximate power).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from scorecube.errors import BadPlan
from scorecube.methods.design.parameters import MOST_TOPICS

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
NAGATA = {
    (0.01, 0.10): (10.439, 5.213),
    (0.01, 0.20): (7.736, 4.551),
    (0.05, 0.10): (6.903, 4.285),
    (0.05, 0.20): (4.860, 3.584),
}
"""(alpha, beta) -> (a, b); the noncentrality is about a + b sqrt(m - 1)."""
TOLERANCE = 1e-12
"""Of a power and of a relative width: the size for the difference that n topics detect is n."""
MOST = 1e15
"""Largest noncentrality; the power is 1 for much smaller ones."""


def exact_noncentrality(systems: Any, alpha: Any, beta: Any) -> FloatArray:
    """Return the noncentrality at which a chi-square test of m systems has power 1 - beta.

    systems, alpha, beta: Numbers or arrays, which broadcast.
    """
    degrees = np.asarray(systems) - 1.0
    critical = scipy.special.chdtri(degrees, alpha)
    return np.asarray(scipy.special.chndtrinc(critical, degrees, beta))


def tool_noncentrality(systems: Any, alpha: Any, beta: Any) -> FloatArray:
    """Return the noncentrality by Nagata's constants; the exact one for other alpha and beta.

    systems, alpha, beta: Numbers or arrays, which broadcast.
    """
    found = exact_noncentrality(systems, alpha, beta)
    for (alpha_of, beta_of), (constant, slope) in NAGATA.items():
        same = np.isclose(alpha, alpha_of, rtol=1e-9, atol=0)
        same &= np.isclose(beta, beta_of, rtol=1e-9, atol=0)
        found = np.where(same, constant + slope * np.sqrt(np.asarray(systems) - 1.0), found)
    return found


@dataclass(frozen=True)
class Anova:
    """Analysis of variance of the means of m systems.

    systems, alpha, beta: Arrays of one shape.
    paired: Whether all systems have the same topics (two-way); of two this is the paired t test.
    tool: Whether first estimate, power and its rounding are those of Sakai's spreadsheet.
    """

    systems: Any
    alpha: Any
    beta: Any
    paired: bool = False
    tool: bool = False

    def power(self, n: Any, noncentrality: Any) -> FloatArray:
        """Return the power P(F' > critical F); the tool's is Patnaik's and Fisher's."""
        between = self.systems - 1.0
        within = (between if self.paired else self.systems) * (n - 1.0)
        critical = scipy.special.fdtri(between, within, 1 - self.alpha)
        if not self.tool:
            bounded = np.minimum(noncentrality, MOST)
            missed = scipy.special.ncfdtr(between, within, bounded, critical)
            return np.asarray(1.0 - np.nan_to_num(missed, nan=0.0))  # NaN where it underflows
        scale = (between + 2.0 * noncentrality) / (between + noncentrality) / between
        patnaik = (between + noncentrality) ** 2 / (between + 2.0 * noncentrality)
        distance = np.sqrt(critical / within * (2.0 * within - 1.0))
        distance = distance - np.sqrt(scale * (2.0 * patnaik - 1.0))
        return np.asarray(scipy.special.ndtr(-distance / np.sqrt(scale + critical / within)))

    def enough(self, n: Any, per_topic: Any) -> Any:
        """Return whether n topics have power 1 - beta; the tool rounds to two decimals."""
        power = self.power(n, n * per_topic)
        return (np.round(power, 2) if self.tool else power) >= 1 - self.beta - TOLERANCE

    def first(self, per_topic: Any) -> FloatArray:
        """Return the first estimate of the number of topics, for the noncentrality of one."""
        noncentrality = tool_noncentrality if self.tool else exact_noncentrality
        with np.errstate(divide="ignore", over="ignore"):
            size = np.ceil(noncentrality(self.systems, self.alpha, self.beta) / per_topic)
        return np.asarray(np.maximum(size, 2.0))

    def topics(self, variance: Any, difference: Any) -> FloatArray:
        """Return the smallest number of topics that detects a difference; the tool's from n0 on."""
        per_topic = noncentrality_per_topic(variance, difference)
        first = self.first(per_topic)
        least = first if self.tool else np.full_like(first, 2.0)
        return smallest(lambda n: self.enough(n, per_topic), least, first)

    def difference(self, n: Any, variance: Any) -> FloatArray:
        """Return the smallest difference that n topics detect; the tool's steps are 0.001."""
        if not self.tool:
            return np.asarray(np.sqrt(2.0 * variance * self.noncentrality(n) / n))

        def enough(steps: Any) -> Any:
            per_topic = noncentrality_per_topic(variance, steps / 1000)
            return (self.first(per_topic) <= n) & self.enough(n, per_topic)

        guess = np.ceil(4000 * np.sqrt(2.0 * variance / n))
        steps = smallest(enough, np.ones_like(guess), guess, 1e12)
        return np.where(variance > 0, steps / 1000, 0.0)

    def noncentrality(self, n: Any) -> FloatArray:
        """Return the noncentrality at which n topics have power 1 - beta, by bisection."""
        high = exact_noncentrality(self.systems, self.alpha, self.beta) + 0.0 * n
        low = np.zeros_like(high)
        while (short := self.power(n, high) < 1 - self.beta).any():
            low = np.where(short, high, low)
            high = np.where(short, 2 * high, high)
        for _ in range(60):
            middle = (low + high) / 2
            short = self.power(n, middle) < 1 - self.beta
            low = np.where(short, middle, low)
            high = np.where(short, high, middle)
        return np.asarray(high)


def noncentrality_per_topic(variance: Any, difference: Any) -> FloatArray:
    """Return the noncentrality of one topic; `MOST` for a variance of 0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(np.fmin(difference**2 / (2.0 * variance), MOST))


def smallest(
    enough: Callable[[FloatArray], Any], least: Any, guess: Any, most: float = MOST_TOPICS
) -> FloatArray:
    """Return the smallest whole number from `least` on that is enough, as is every larger one.

    Raises BadPlan: A number above `most`.

    Examples
    --------
    >>> smallest(lambda n: n * n >= np.array([50, 9]), np.array([1, 5]), np.array([2, 5])).tolist()
    [8.0, 5.0]
    """
    low = np.asarray(least) - 1.0
    high = np.minimum(np.maximum(guess, least), most)
    while not (reached := enough(high)).all():
        if (~reached & (high >= most)).any():
            raise BadPlan(
                f"more than {most:,.0f} topics are needed: use a larger difference or width"
            )
        low = np.where(reached, low, high)
        high = np.where(reached, high, np.fmin(2 * high, most))
    while (high - low > 1.0).any():
        middle = np.ceil((low + high) / 2.0)  # the upper one of two neighbours
        reached = enough(middle)
        low = np.where(reached, low, middle)
        high = np.where(reached, middle, high)
    return np.asarray(high)


def unit_width(n: Any, alpha: Any) -> FloatArray:
    """Return the expected width of a t interval, 2 t c4(n) / sqrt(n) (Sakai 2017, section 2).

    It is for sigma = 1; c4 = sqrt(2 / (n - 1)) Gamma(n / 2) / Gamma((n - 1) / 2) is E[s] / sigma.

    Examples
    --------
    >>> round(float(unit_width(50, 0.05)) * (2 * 0.0368) ** 0.5, 4)
    0.1534
    """
    degrees = np.asarray(n) - 1.0
    c4 = np.sqrt(2.0 / degrees) * scipy.special.poch(degrees / 2.0, 0.5)
    t = -scipy.special.stdtrit(degrees, np.asarray(alpha) / 2.0)
    return np.asarray(2.0 * t * c4 / np.sqrt(n))

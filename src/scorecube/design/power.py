"""Power of ANOVA and of the paired t test: exact, and by Sakai's tools.

The noncentrality of n topics is n g with g = D^2 / (2 variance). D is the difference to be detected: between
the best and the worst of m systems (ANOVA, with all other systems in the middle, the least favourable case),
or between two systems (t).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from scorecube.design.search import TOLERANCE, BoolArray, FloatArray, root

NAGATA: Mapping[tuple[float, float], tuple[float, float]] = {
    (0.01, 0.10): (10.439, 5.213),
    (0.01, 0.20): (7.736, 4.551),
    (0.05, 0.10): (6.903, 4.285),
    (0.05, 0.20): (4.860, 3.584),
}
"""(alpha, beta) -> (a, b); the noncentrality is a + b sqrt(m - 1) (Nagata 2003)."""
DECIMALS = 2
"""Decimals of the power in Sakai's ANOVA tool; reproduces all of Sakai and Shang 2016, Table 3."""
SAME_RATE = 1e-9
"""Relative difference up to which alpha and beta are those of a table: they may have been computed, as 1 - 0.8."""
MAX_NONCENTRALITY = 1e15
"""Power is 1 from here on for every valid alpha; SciPy may return NaN."""


@dataclass(frozen=True)
class PowerModel(ABC):
    """A test of differences of means; arrays have one shape.

    alpha, beta: Probabilities of a type I and a type II error.
    """

    alpha: FloatArray
    beta: FloatArray

    @property
    def target(self) -> FloatArray:
        """Required power, 1 - beta."""
        return 1.0 - self.beta

    @abstractmethod
    def power(self, n: FloatArray, noncentrality: FloatArray) -> FloatArray:
        """Return the exact power with n topics."""

    def tool_power(self, n: FloatArray, noncentrality: FloatArray) -> FloatArray:
        """Return the power with n topics of Sakai's tool; by default exact."""
        return self.power(n, noncentrality)

    def accepts(self, power: FloatArray) -> BoolArray:
        """Return whether a power is at least 1 - beta."""
        return np.asarray(power >= self.target - TOLERANCE, bool)

    def tool_accepts(self, power: FloatArray) -> BoolArray:
        """Return whether Sakai's tool accepts a power as 1 - beta."""
        return self.accepts(power)

    @abstractmethod
    def start(self, *, tool: bool) -> tuple[FloatArray, FloatArray]:
        """Return (a, b) of the first estimate n0 = a / g + b of the size."""


@dataclass(frozen=True)
class Anova(PowerModel):
    """Analysis of variance of m systems: one-way, or two-way without replication.

    alpha, beta: See `PowerModel`.
    systems: Number of systems m, at least 2.
    paired: Whether systems are compared on the same topics: the variance between topics is an effect of its own, with n
        - 1 degrees of freedom (two-way).
    References: Sakai and Shang 2016, section 3; Sakai 2017, equation 2.
    """

    systems: FloatArray
    paired: bool = False

    def power(self, n: FloatArray, noncentrality: FloatArray) -> FloatArray:
        """Return P(F' > w) of the noncentral F distribution."""
        return _f_power(*self._degrees_and_critical(n), noncentrality)

    def tool_power(self, n: FloatArray, noncentrality: FloatArray) -> FloatArray:
        """Return the power by Patnaik's and Fisher's approximations.

        References
        ----------
        Nagata 2003 and Sakai 2016, as in SPEC B.8.
        """
        between, within, critical = self._degrees_and_critical(n)
        scale = (between + 2.0 * noncentrality) / (between + noncentrality)
        degrees = _patnaik_degrees(between, noncentrality)
        distance = np.sqrt(critical / within) * np.sqrt(2.0 * within - 1.0)
        distance -= np.sqrt(scale / between) * np.sqrt(2.0 * degrees - 1.0)
        normal = distance / np.sqrt(scale / between + critical / within)
        return np.asarray(scipy.special.ndtr(-normal), np.float64)

    def _degrees_and_critical(self, n: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return degrees of freedom between and within systems, and the critical F."""
        between = self.systems - 1.0
        within = (between if self.paired else self.systems) * (n - 1.0)
        return between, within, scipy.special.fdtri(between, within, 1.0 - self.alpha)

    def tool_accepts(self, power: FloatArray) -> BoolArray:
        """Return whether the rounded power is at least 1 - beta (rule A of SPEC B.8)."""
        return np.asarray(np.round(power, DECIMALS) >= self.target - TOLERANCE, bool)

    def start(self, *, tool: bool) -> tuple[FloatArray, FloatArray]:
        # n0 = lambda0 / g (Sakai 2017, equation 2).
        lambda0 = (tool_noncentrality if tool else exact_noncentrality)(
            self.systems, self.alpha, self.beta
        )
        return lambda0, np.zeros_like(lambda0)


@dataclass(frozen=True)
class PairedT(PowerModel):
    """Paired t test of two systems; differences have twice the variance.

    The papers do not describe the approximation of Sakai's tool, so its power is taken to be exact.

    alpha, beta: See `PowerModel`.
    """

    def power(self, n: FloatArray, noncentrality: FloatArray) -> FloatArray:
        """Return P(|t'| > t) of the noncentral t.

        The square of t' is a noncentral F of 1 and n - 1 degrees of freedom.
        """
        degrees = n - 1.0
        critical = scipy.special.stdtrit(degrees, self.alpha / 2.0) ** 2
        return _f_power(np.ones_like(degrees), degrees, critical, noncentrality)

    def start(self, *, tool: bool) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        # (z_alpha + z_beta)^2 / g + z_alpha^2 / 2.
        z_alpha = -scipy.special.ndtri(self.alpha / 2)
        return (z_alpha - scipy.special.ndtri(self.beta)) ** 2, z_alpha**2 / 2.0


def exact_noncentrality(systems: FloatArray, alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """Return the noncentrality at which a chi-square test has power 1 - beta.

    Parameters
    ----------
    systems
        Number m of systems to be compared, >= 2.
    alpha, beta
        Probabilities of errors of type I and II, between 0 and 1.

    Returns
    -------
    noncentrality
        Of the arguments' common shape.

    Examples
    --------
    >>> float(exact_noncentrality(np.array(10.0), np.array(0.05), np.array(0.2)).round(3))
    15.65
    """
    shape = np.broadcast_shapes(np.shape(systems), np.shape(alpha), np.shape(beta))
    degrees = np.broadcast_to(systems - 1.0, shape)
    critical = scipy.special.chdtri(degrees, alpha)

    def power(noncentrality: FloatArray) -> FloatArray:
        return np.asarray(1.0 - scipy.special.chndtr(critical, degrees, noncentrality), np.float64)

    return root(power, np.broadcast_to(1.0 - beta, shape).astype(np.float64))


def tool_noncentrality(systems: FloatArray, alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """Return Nagata's approximate lambda0; the exact value for other alpha and beta.

    Parameters
    ----------
    systems
        Number m of systems to be compared, >= 2.
    alpha, beta
        Probabilities of errors of type I and II, between 0 and 1.

    Returns
    -------
    noncentrality
        Of the arguments' common shape.

    References
    ----------
    Sakai 2017, Figure 1 (linear in the square root of phi, not in phi as printed there).

    Examples
    --------
    >>> float(tool_noncentrality(np.array(10.0), np.array(0.05), np.array(0.2)).round(3))
    15.612
    """
    root_degrees = np.sqrt(systems - 1.0)
    noncentrality = np.full(
        np.broadcast_shapes(np.shape(systems), np.shape(alpha), np.shape(beta)), np.nan
    )
    for (known_alpha, known_beta), (constant, slope) in NAGATA.items():
        matches = np.isclose(alpha, known_alpha, rtol=SAME_RATE) & np.isclose(
            beta, known_beta, rtol=SAME_RATE
        )
        noncentrality = np.where(matches, constant + slope * root_degrees, noncentrality)
    if np.isnan(noncentrality).any():
        exact = exact_noncentrality(systems, alpha, beta)
        noncentrality = np.where(np.isnan(noncentrality), exact, noncentrality)
    return noncentrality


def has_constants(alpha: Any, beta: Any) -> bool:
    """Return whether Nagata's constants exist for all these alpha and beta."""
    pairs = np.broadcast(np.asarray(alpha, np.float64), np.asarray(beta, np.float64))
    return all(
        any(np.allclose(pair, known, rtol=SAME_RATE, atol=0.0) for known in NAGATA)
        for pair in pairs
    )


def _patnaik_degrees(degrees: FloatArray, noncentrality: FloatArray) -> FloatArray:
    """Return the degrees of freedom of Patnaik's central approximation (1949)."""
    return (degrees + noncentrality) ** 2 / (degrees + 2.0 * noncentrality)


def _f_power(
    between: FloatArray, within: FloatArray, critical: FloatArray, noncentrality: FloatArray
) -> FloatArray:
    """Return the probability that a noncentral F exceeds the critical value."""
    # stats.ncf.sf returns -0.95 at noncentrality 0 (SciPy 1.17.1).
    bounded = np.minimum(noncentrality, MAX_NONCENTRALITY)
    power = np.asarray(1.0 - scipy.special.ncfdtr(between, within, bounded, critical), np.float64)
    if np.isnan(power).any():
        # SciPy returns NaN where 1 - power underflows; Patnaik's approximation returns 1 there.
        degrees = _patnaik_degrees(between, bounded)
        central = scipy.special.fdtrc(degrees, within, critical * between / (between + bounded))
        power = np.where(np.isnan(power), central, power)
    return power

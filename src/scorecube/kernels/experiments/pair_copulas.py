"""Copulas of two systems: likelihoods, choice by AIC, and random points.

Families: independence, Gaussian, Clayton, Gumbel, Frank, Joe and both asymmetric Gumbel copulas with one further parameter (Tawn 1988,
"Bivariate extreme value theory: models and estimation", Biometrika 75); all but the first two and Frank's also rotated. Under the last, the
difference of two systems with the same margin is not symmetric about its mean, which tests of ranks and signs do not allow for.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from scorecube.kernels.arrays import Float64Array1, Float64Array2, Int32Array1, Int32Array2
from scorecube.kernels.jit import compiled, inlined


class Family(IntEnum):
    """Families of copulas of two variables."""

    INDEPENDENT = 0
    GAUSSIAN = 1
    CLAYTON = 2
    GUMBEL = 3
    FRANK = 4
    JOE = 5
    TAWN_FIRST = 6
    TAWN_SECOND = 7


N_FAMILIES = len(Family)
ROTATED = 10
"""A copula is stored as family + ROTATED * quarter turns."""
WORDS = 6
"""Random words of one point."""
COLUMNS = 5
"""Functions of u that likelihoods read: u, log u, log(1 - u), log(-log u), the normal quantile."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
NARROW = 0.004
"""Width, on the searched scale from 0 to 1, at which a search of a parameter ends."""
NOT_ZERO = 1e-7
"""Added to the parameter of Frank's copula, whose density is no number at 0."""
ROUNDS = 3
"""Alternations between the two parameters of an asymmetric copula."""
FIRST, SECOND = np.int64(0), np.int64(1)
"""Which parameter is sought. numba would compile a helper once for each literal number."""
_TO_UNIT = 2.0**-53


@inlined
def parameter(family: int, t: float) -> float:
    """Return the first parameter of a family at a position t of the search, 0 < t < 1."""
    if family == 1:
        return 1.98 * t - 0.99
    if family == 2:
        return math.exp(7.0 * t - 4.0)  # .018 to 20
    if family == 4:
        return 60.0 * t - 30.0 + NOT_ZERO
    return 1.0 + math.exp(8.0 * t - 5.0)  # 1.007 to 21


@inlined
def log_density(
    family: int, a: float, b: float, first: Float64Array1, second: Float64Array1
) -> float:
    """Return the logarithm of a copula's density at a point.

    family: A `Family` but `INDEPENDENT`, not rotated.
    a, b: Parameters; b is the weight of the asymmetric families.
    first, second: float64 (COLUMNS,): functions of u and of v.
    """
    if family == 1:
        x, y, rest = first[4], second[4], 1.0 - a * a
        squares = a * a * (x * x + y * y) - 2.0 * a * x * y
        return float(-0.5 * math.log(rest) - squares / (2.0 * rest))
    if family == 2:
        total = math.exp(-a * first[1]) + math.exp(-a * second[1]) - 1.0
        logs = (1.0 + a) * (first[1] + second[1]) + (2.0 + 1.0 / a) * math.log(total)
        return float(math.log1p(a) - logs)
    if family == 4:
        e = 1.0 - math.exp(-a)
        inner = e - (1.0 - math.exp(-a * first[0])) * (1.0 - math.exp(-a * second[0]))
        return float(math.log(a * e) - a * (first[0] + second[0]) - 2.0 * math.log(abs(inner)))
    if family == 5:
        p, q = math.exp(a * first[2]), math.exp(a * second[2])
        s = p + q - p * q
        logs = (1.0 / a - 2.0) * math.log(s) + (a - 1.0) * (first[2] + second[2])
        return float(logs + math.log(a - 1.0 + s))
    weight_x = b if family == 6 else 1.0
    weight_y = b if family == 7 else 1.0
    p = math.exp(a * (math.log(weight_x) + first[3]))
    q = math.exp(a * (math.log(weight_y) + second[3]))
    s = p + q
    root = s ** (1.0 / a)
    x, y = -first[1], -second[1]
    along_x = 1.0 - weight_x + root / s * p / x
    along_y = 1.0 - weight_y + root / s * q / y
    mixed = (a - 1.0) * root / (s * s) * p * q / (x * y)
    exponent = (1.0 - weight_x) * x + (1.0 - weight_y) * y + root
    return float(x + y - exponent + math.log(along_x * along_y + mixed))


@inlined
def _likelihood(
    family: int, a: float, b: float, table: Float64Array2, first: Int32Array1, second: Int32Array1
) -> float:
    total = 0.0
    for k in range(first.shape[0]):
        total += log_density(family, a, b, table[first[k]], table[second[k]])
    return total


@inlined
def _best(
    family: int,
    which: np.int64,
    t: float,
    s: float,
    table: Float64Array2,
    first: Int32Array1,
    second: Int32Array1,
) -> tuple[float, float]:
    """Return the best position of one parameter, and its likelihood: golden section."""
    low, high = 0.001, 0.999
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    value_left = value_right = -np.inf
    known_left = known_right = False
    while high - low > NARROW:
        if not known_left:
            value_left = _likelihood(
                family,
                parameter(family, left if which == FIRST else t),
                s if which == FIRST else left,
                table,
                first,
                second,
            )
        if not known_right:
            value_right = _likelihood(
                family,
                parameter(family, right if which == FIRST else t),
                s if which == FIRST else right,
                table,
                first,
                second,
            )
        if value_left > value_right:
            high, right, value_right = right, left, value_left
            left, known_left, known_right = high - GOLDEN * (high - low), False, True
        else:
            low, left, value_left = left, right, value_right
            right, known_left, known_right = low + GOLDEN * (high - low), True, False
    if value_left > value_right:
        return left, value_left
    return right, value_right


@compiled
def fit_pairs(
    ranks: Int32Array2,
    pairs: Int32Array2,
    table: Float64Array2,
    copulas: Int32Array1,
    parameters: Float64Array2,
    likelihoods: Float64Array1,
) -> None:
    """Choose the copula with the smallest AIC for each pair of systems.

    ranks: int32 (system, topic): ranks of scores, 1 .. n without ties.
    pairs: int32 (pair, 2): systems.
    table: float64 (rank, COLUMNS): functions of rank / (n + 1); the first row is not read.
    copulas, parameters, likelihoods: int32 (pair,), float64 (pair, 2) and (pair,), written: family + ROTATED * quarter
        turns, its parameters, and log-likelihood.
    """
    n = ranks.shape[1]
    first, second = np.empty(n, np.int32), np.empty(n, np.int32)
    for pair in range(pairs.shape[0]):
        x, y = ranks[pairs[pair, 0]], ranks[pairs[pair, 1]]
        covariance = 0.0
        for k in range(n):
            covariance += table[x[k], 4] * table[y[k], 4]
        best_aic = 0.0  # of independence
        copulas[pair], parameters[pair, 0], parameters[pair, 1], likelihoods[pair] = (
            0,
            0.0,
            1.0,
            0.0,
        )
        for turns in range(4):
            # Odd turns reflect the first system: dependence is then negative.
            for k in range(n):
                first[k] = n + 1 - x[k] if turns == 1 or turns == 2 else x[k]
                second[k] = n + 1 - y[k] if turns == 2 or turns == 3 else y[k]
            for family in range(1, N_FAMILIES):
                symmetric = family == 1 or family == 4
                if symmetric:
                    if turns > 0:
                        continue
                elif (turns % 2 == 0) != (covariance > 0.0):
                    continue
                t, s = 0.5, 1.0
                if family < 6:
                    t, value = _best(family, FIRST, t, s, table, first, second)
                else:
                    s, value = 0.6, -np.inf
                    for _ in range(ROUNDS):
                        t, value = _best(family, FIRST, t, s, table, first, second)
                        s, value = _best(family, SECOND, t, s, table, first, second)
                aic = (2.0 if family < 6 else 4.0) - 2.0 * value
                if aic < best_aic:
                    best_aic = aic
                    copulas[pair] = family + ROTATED * turns
                    parameters[pair, 0], parameters[pair, 1] = parameter(family, t), s
                    likelihoods[pair] = value


@inlined
def unit(word: np.uint64) -> float:
    """Return a number between 0 and 1, both excluded."""
    return (np.float64(word >> np.uint64(11)) + 0.5) * _TO_UNIT


@inlined
def normal_share(z: float) -> float:
    """Return the standard normal distribution function."""
    return 0.5 * math.erfc(-z * math.sqrt(0.5))


@inlined
def _sibuya(a: float, u: float) -> float:
    """Return a Sibuya variable (Hofert 2011, "Efficiently sampling nested Archimedean copulas", proposition 3.2)."""
    if u <= a:
        return 1.0
    lower = math.exp(-(math.log(1.0 - u) + math.lgamma(1.0 - a)) / a)
    if lower > 1e15:
        return lower
    whole = math.floor(lower)
    log_beta = (
        math.lgamma(whole) + math.lgamma(1.0 - a) - math.lgamma(whole + 1.0 - a)
        if whole > 0
        else -np.inf
    )
    if whole > 0 and 1.0 - u < math.exp(-math.log(whole) - log_beta):
        return math.ceil(lower)
    return max(whole, 1.0)


@inlined
def point(copula: int, a: float, b: float, w: Float64Array1) -> tuple[float, float]:
    """Return a random point of a copula.

    copula, a, b: As `fit_pairs` writes them.
    w: float64 (WORDS,): independent uniform numbers.
    """
    family, turns = copula % ROTATED, copula // ROTATED
    u, v = w[0], w[1]
    if family == 1:
        length, angle = math.sqrt(-2.0 * math.log(w[0])), 2.0 * math.pi * w[1]
        z = length * math.cos(angle)
        u, v = (
            normal_share(z),
            normal_share(a * z + math.sqrt(1.0 - a * a) * length * math.sin(angle)),
        )
    elif family == 2:
        v = ((w[1] ** (-a / (1.0 + a)) - 1.0) * u ** (-a) + 1.0) ** (-1.0 / a)
    elif family == 4:
        e = math.exp(-a * u)
        v = -math.log1p(w[1] * math.expm1(-a) / (w[1] * (1.0 - e) + e)) / a
    elif family == 5:
        frailty = _sibuya(1.0 / a, w[2])
        u = 1.0 - (-math.expm1(math.log(w[0]) / frailty)) ** (1.0 / a)
        v = 1.0 - (-math.expm1(math.log(w[1]) / frailty)) ** (1.0 / a)
    elif family >= 3 and family != 4:
        # Gumbel: a positive stable frailty (Kanter 1975); asymmetric: the larger of it and an independent value (Khoudraji 1995).
        alpha, angle = 1.0 / a, math.pi * w[2]
        log_stable = (
            math.log(math.sin(alpha * angle))
            - a * math.log(math.sin(angle))
            + (a - 1.0) * (math.log(math.sin((1.0 - alpha) * angle)) - math.log(-math.log(w[3])))
        )
        x = math.exp(alpha * (math.log(-math.log(w[0])) - log_stable))
        y = math.exp(alpha * (math.log(-math.log(w[1])) - log_stable))
        if family == 6:
            x = min(x / b, -math.log(w[4]) / (1.0 - b))
        elif family == 7:
            y = min(y / b, -math.log(w[4]) / (1.0 - b))
        u, v = math.exp(-x), math.exp(-y)
    if turns == 1 or turns == 2:
        u = 1.0 - u
    if turns == 2 or turns == 3:
        v = 1.0 - v
    return u, v

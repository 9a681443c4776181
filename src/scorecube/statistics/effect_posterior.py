"""True means of systems under two metrics, given observed means: draws by empirical Bayes.

Model. System j has the true means theta_j = (a_j, b_j) under two metrics, which are independent draws from a bivariate normal distribution
with covariance P. Observed means are theta_j plus an error that the sample of topics causes. Means that topics shift equally for all systems
do not matter. E is the covariance of the two metrics' errors, averaged over systems: residuals of the two-way tables (system, topic) over n.
P is the covariance of observed means less E, and the linear estimate of theta_j is m + P (P + E)^-1 (observed_j - m). A draw adds the error
of this estimate: with theta* drawn from the prior and error* from the errors of topic samples, which are correlated between systems,
theta = theta* + P (P + E)^-1 (observed - theta* - error*).

P is not known. Each draw has its own P, from the inverse Wishart distribution of the covariance of observed means; where it is no covariance
(a correlation beyond 1), the nearest one with correlation 1 is taken, in which both metrics order all systems alike.

No real metrics are bivariate normal over systems. `MODELS` are three versions of the model that differ where they are not: ``linear`` as
above; ``rank``, with the correlation of observed means that has their Kendall's tau, sin(pi tau / 2), which few very bad systems do not
decide; ``matched``, with the means of both metrics mapped to the same distribution by cubic polynomials and errors multiplied by the slopes,
so that two metrics whose true means are any smooth increasing functions of each other can have correlation 1. Systems far from all others
(`FAR`) have no part in any of these covariances and polynomials: one broken run would decide all of them.

All three take the systems for one kind. Where there are two, such as lexical and neural systems, the difference of the kinds makes the metrics agree more than they do
within a kind, and the correlation is too large for its pairs. The same models are therefore also fitted to the differences from the centre of a system's kind, as `kinds_of`
tells them; centres are those observed, and ``matched`` is ``linear``. Without two kinds they are `MODELS`. The kinds are a mixture of two normal distributions of the
observed means, with one covariance; the likelihood is maximised by EM from several cuts along the sum of both standardised metrics.

References: Robinson 1991, "That BLUP is a good thing", Statistical Science 6 (linear estimates of random effects, and their errors); Efron and
Morris 1973 (empirical Bayes); Gelman et al. 2013, "Bayesian data analysis", section 3.6 (inverse Wishart); Smith and Hocking 1972, AS 53
(Bartlett's decomposition); Srivastava 2005, "Some tests concerning the covariance matrix in high dimensional data" (tr C^2 from few topics);
McLachlan and Peel 2000, "Finite mixture models"; Schwarz 1978, "Estimating the dimension of a model", Annals of Statistics 6 (BIC).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from scorecube.statistics.kendall_tau import tau_b

Floats = NDArray[np.float64]
MODELS = ("linear", "rank", "matched")
"""Models of true means, see above."""
N_COVARIANCE = 3
"""Uniform numbers of a draw that its covariance takes; two more follow for each system."""
LEAST_FREEDOM = 2.5
"""Smallest degrees of freedom of an inverse Wishart distribution: both chi-squared variables have more than one."""
DEGREE = 3
"""Degree of the polynomials that match distributions; a smaller one where slopes fall below `LEAST_SLOPE`."""
LEAST_SLOPE = 0.1
FAR = 4.0
"""Distance from the median, in standard deviations as estimated by the median absolute deviation, beyond which a mean is far."""
MAD_OF_NORMAL = 0.6745
SMALLEST_RATIO = 1e-9
"""Part of a variance that is no more than rounding: two metrics whose means and errors differ by less are the same metric."""


@dataclass(frozen=True)
class Effects:
    """Observed means of systems under two metrics, with the covariances of means and of errors.

    means: float64 (2, system): observed means less their mean over systems.
    spread: (variance of the first, covariance, variance of the second) of the observed means.
    error: The same of the errors of these means.
    freedom: Degrees of freedom of `spread` in the direction in which it exceeds `error` least.
    slopes: float64 (2, system): factors of the errors.
    centres: float64 (2, system): what is added to the true means; `means` are less this.
    """

    means: Floats
    spread: tuple[float, float, float]
    error: tuple[float, float, float]
    freedom: float
    slopes: Floats
    centres: Floats

    @property
    def root(self) -> tuple[float, float, float]:
        """The Cholesky factor of `spread`, by rows."""
        first, both, second = self.spread
        left = np.sqrt(first)
        low = both / left if left > 0 else 0.0
        return left, low, np.sqrt(max(second - low**2, 0.0))

    @property
    def same(self) -> bool:
        """Whether both metrics have the same means and errors but for their scale."""
        return all(
            first * second - both**2 <= SMALLEST_RATIO * first * second
            for first, both, second in (self.spread, self.error)
        )


def fit_effects(first: Floats, second: Floats, model: str = "linear") -> Effects:
    """Return observed means and covariances of two metrics.

    first, second: float64 (system, topic): scores, at least 3 systems and 3 topics.
    model: One of `MODELS`.
    """
    observed = np.array([scores.mean(axis=1) for scores in (first, second)])
    near = _near(observed)
    n_systems, n_topics = int(near.sum()), first.shape[1]
    means, slopes = observed - observed[:, near].mean(axis=1, keepdims=True), np.ones_like(observed)
    if model == "matched":
        means, slopes = _matched(means, near)
    residuals = []
    for scores, mean, slope in zip((first, second), observed, slopes, strict=True):
        rest = (slope[:, np.newaxis] * (scores - mean[:, np.newaxis]))[near]
        residuals.append(rest - rest.mean(axis=0))
    among = np.ascontiguousarray(means[:, near])
    spread = _covariance(among[0], among[1], n_systems - 1)
    error = _covariance(residuals[0], residuals[1], (n_systems - 1) * (n_topics - 1) * n_topics)
    if model == "rank":
        tau = tau_b(among[0], among[1])
        correlation = math.sin(math.pi / 2 * tau) if math.isfinite(tau) else 0.0
        spread = (spread[0], correlation * math.sqrt(spread[0] * spread[2]), spread[2])
    weights, excess = _least_excess(spread, error)
    noise = weights[0] * residuals[0] + weights[1] * residuals[1]
    independent = min(_independent_systems(noise), n_systems - 1.0)
    # Variances add: of errors, which are correlated between systems, and of true means, which are not.
    freedom = (1 + excess) ** 2 / (1 / independent + excess * (excess + 2) / (n_systems - 1))
    freedom = min(max(freedom, LEAST_FREEDOM), max(n_systems - 1.0, LEAST_FREEDOM))
    return Effects(means, spread, error, freedom, slopes, np.zeros_like(means))


def fit_models(first: Floats, second: Floats) -> list[Effects]:
    """Return `fit_effects` by each of `MODELS`, and by each of two kinds, which are the same where there are not two kinds."""
    plain = [fit_effects(first, second, model) for model in MODELS]
    observed = np.array([scores.mean(axis=1) for scores in (first, second)])
    kinds = kinds_of(observed, _near(observed))
    if not kinds.any():
        return plain + plain
    return plain + [_fit_kinds(first, second, model, observed, kinds) for model in MODELS]


def _fit_kinds(
    first: Floats, second: Floats, model: str, observed: Floats, kinds: NDArray[np.int64]
) -> Effects:
    """Return `fit_effects` of the differences from the centres of two kinds."""
    centres = np.empty_like(observed)
    for kind in (0, 1):
        centres[:, kinds == kind] = observed[:, kinds == kind].mean(axis=1, keepdims=True)
    fitted = fit_effects(
        first - centres[0, :, np.newaxis],
        second - centres[1, :, np.newaxis],
        "linear" if model == "matched" else model,
    )
    n = observed.shape[1]
    more = (n - 1) / (n - 2)  # two centres are estimated instead of one
    return replace(
        fitted,
        spread=(more * fitted.spread[0], more * fitted.spread[1], more * fitted.spread[2]),
        freedom=max(fitted.freedom - 1, LEAST_FREEDOM),
        centres=centres - centres.mean(axis=1, keepdims=True),
    )


class Stacked(NamedTuple):
    """`Effects` of several pairs of metrics, with axes for draws.

    means, slopes, centres: float64 (2, pair, 1, system).
    spread, root, error: float64 (3, pair, 1); the root is the Cholesky factor of `spread`, by rows.
    freedom: float64 (pair, 1).
    same: bool (pair,).
    """

    means: Floats
    slopes: Floats
    centres: Floats
    spread: Floats
    root: Floats
    error: Floats
    freedom: Floats
    same: NDArray[np.bool_]


def stacked(effects: Sequence[Effects]) -> Stacked:
    """Return the effects of pairs of the same systems for `draw_effects`."""

    def of_pairs(name: str) -> Floats:
        return np.array([getattr(each, name) for each in effects]).T[..., np.newaxis]

    means, slopes, centres = (
        np.stack([getattr(each, name) for each in effects], axis=1)[:, :, np.newaxis]
        for name in ("means", "slopes", "centres")
    )
    same = np.array([each.same for each in effects])
    spread, root, error, freedom = map(of_pairs, ("spread", "root", "error", "freedom"))
    return Stacked(means, slopes, centres, spread, root, error, freedom, same)


def draw_effects(effects: Stacked, uniforms: Floats, errors: Floats) -> Floats:
    """Draw true means of systems.

    effects: Of `stacked`.
    uniforms: float64 (draw, `N_COVARIANCE` + 2 * system): in 0 .. 1, both excluded; the same for all pairs.
    errors: float64 (2, pair, draw, system): errors of means of topic samples.
    Returns true: float64 (2, pair, draw, system). Where the drawn correlation is 1 or -1, the second is a multiple of
        the first.
    """
    prior = _draw_prior(effects, uniforms[:, :N_COVARIANCE])
    first, both, second = prior
    e_first, e_both, e_second = effects.error
    normals = scipy.special.ndtri(uniforms[:, N_COVARIANCE:]).reshape(len(uniforms), 2, -1)
    deviation = np.sqrt(first)
    slope = _ratio(both, deviation)
    rest = np.sqrt(np.maximum(second - slope**2, 0.0))
    degenerate = both**2 >= first * second * (1 - SMALLEST_RATIO)
    drawn = np.array(
        [
            deviation[..., np.newaxis] * normals[:, 0],
            slope[..., np.newaxis] * normals[:, 0]
            + np.where(degenerate, 0.0, rest)[..., np.newaxis] * normals[:, 1],
        ]
    )
    missed = effects.means - drawn - effects.slopes * errors
    # P (P + E)^-1, whose second factor is a matrix of two rows.
    t_first, t_both, t_second = first + e_first, both + e_both, second + e_second
    determinant = t_first * t_second - t_both**2
    inverse = [_ratio(part, determinant)[..., np.newaxis] for part in (t_second, -t_both, t_first)]
    solved = np.array(
        [
            inverse[0] * missed[0] + inverse[1] * missed[1],
            inverse[1] * missed[0] + inverse[2] * missed[1],
        ]
    )
    first, both, second = (part[..., np.newaxis] for part in prior)
    drawn[0] += first * solved[0] + both * solved[1]
    drawn[1] += both * solved[0] + second * solved[1]
    multiple = np.sign(both) * np.sqrt(_ratio(second, first))
    np.copyto(drawn[1], multiple * drawn[0], where=degenerate[..., np.newaxis])
    drawn += effects.centres
    return drawn


def _draw_prior(effects: Stacked, uniforms: Floats) -> tuple[Floats, Floats, Floats]:
    """Return variance, covariance and variance of true means, (pair, draw) each."""
    freedom = effects.freedom
    left, low, right = effects.root
    # W = T T' is Wishart with the identity, T lower triangular; the draw is freedom x L W^-1 L'.
    top = np.sqrt(scipy.special.chdtri(freedom, uniforms[:, 0]))
    bottom = np.sqrt(scipy.special.chdtri(freedom - 1, uniforms[:, 1]))
    corner = -scipy.special.ndtri(uniforms[:, 2]) / (top * bottom)
    rows = ((left / top, left * corner), (low / top, low * corner + right / bottom))
    e_first, e_both, e_second = effects.error
    var_first = np.maximum(freedom * (rows[0][0] ** 2 + rows[0][1] ** 2) - e_first, 0.0)
    var_second = np.maximum(freedom * (rows[1][0] ** 2 + rows[1][1] ** 2) - e_second, 0.0)
    covariance = freedom * (rows[0][0] * rows[1][0] + rows[0][1] * rows[1][1]) - e_both
    limit = np.sqrt(var_first * var_second)
    return var_first, np.clip(covariance, -limit, limit), var_second


def _near(means: Floats) -> NDArray[np.bool_]:
    """Return which systems are not `FAR` from the others under both metrics: bool (system,); all where most are equal."""
    distance = np.abs(means - np.median(means, axis=1, keepdims=True))
    deviation = np.median(distance, axis=1, keepdims=True) / MAD_OF_NORMAL
    return np.asarray(((distance <= FAR * deviation) | (deviation == 0)).all(axis=0))


def _matched(means: Floats, near: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the means of two metrics mapped to the mean of their distributions, and the slopes there: (2, system)."""
    deviations = np.sqrt((means[:, near] ** 2).mean(axis=1, keepdims=True))
    if not (np.ptp(means[:, near], axis=1) > 0).all():  # a deviation may be rounding alone
        return means, np.ones_like(means)
    scaled = means / deviations
    target = np.sort(scaled[:, near], axis=1).mean(axis=0)
    mapped, slopes = np.empty_like(means), np.empty_like(means)
    for side, x in enumerate(scaled):
        ordered = np.sort(x[near])
        inside = np.clip(x, ordered[0], ordered[-1])
        for degree in range(DEGREE, 0, -1):
            # Normal equations of sums: the last digits of a matrix decomposition depend on the number of threads.
            powers = ordered ** np.arange(degree + 1)[:, np.newaxis]
            normal = [[(row * column).sum() for column in powers] for row in powers]
            try:
                terms = np.linalg.solve(normal, [(row * target).sum() for row in powers])
            except np.linalg.LinAlgError:  # too few different means for this degree
                continue
            slope = sum(k * terms[k] * inside ** (k - 1) for k in range(1, degree + 1))
            if degree == 1 or (slope > LEAST_SLOPE).all():
                break
        mapped[side] = sum(term * inside**k for k, term in enumerate(terms)) + slope * (x - inside)
        slopes[side] = slope / deviations[side]
    return mapped - mapped[:, near].mean(axis=1, keepdims=True), slopes


def _covariance(first: Floats, second: Floats, freedom: int) -> tuple[float, float, float]:
    products = (first * first, first * second, second * second)
    a, b, c = (float(np.ascontiguousarray(each).sum()) / freedom for each in products)
    return a, b, c


def _least_excess(
    spread: tuple[float, float, float], error: tuple[float, float, float]
) -> tuple[tuple[float, float], float]:
    """Return the combination of both metrics whose means vary least against their errors, and (variance - error) / error.

    This combination shows how far the correlation of the true means is from 1.
    """
    (s1, s12, s2), (e1, e12, e2) = spread, error
    determinant = e1 * e2 - e12**2
    if determinant <= SMALLEST_RATIO * e1 * e2:
        return (1.0, 0.0), max(s1 / e1 - 1, 0.0) if e1 > 0 else 0.0
    # Eigenvalues of E^-1 S: those of a matrix of two rows.
    trace = (s1 * e2 + s2 * e1 - 2 * s12 * e12) / determinant
    product = (s1 * s2 - s12**2) / determinant
    least = trace / 2 - np.sqrt(max(trace**2 / 4 - product, 0.0))
    rows = ((s1 - least * e1, s12 - least * e12), (s12 - least * e12, s2 - least * e2))
    x, y = max(rows, key=lambda row: abs(row[0]) / np.sqrt(e1) + abs(row[1]) / np.sqrt(e2))
    length = np.sqrt(y**2 * e1 - 2 * x * y * e12 + x**2 * e2)
    if not length > 0:
        return (1.0, 0.0), max(float(least) - 1, 0.0)
    return (float(-y / length), float(x / length)), max(float(least) - 1, 0.0)


def _independent_systems(residuals: Floats) -> float:
    """Return tr(C)^2 / tr(C^2) of the covariance C of systems, (system, topic): systems with independent, equal errors."""
    n_topics = residuals.shape[1]
    few = residuals if len(residuals) <= n_topics else residuals.T
    # Not a matrix product: its last digits depend on the number of threads.
    gram = np.einsum("ik,jk->ij", few, few) / (n_topics - 1)
    trace, squares = float(np.trace(gram)), float((gram**2).sum())
    unbiased = (
        (n_topics - 1) ** 2
        / ((n_topics - 2) * (n_topics + 1))
        * (squares - trace**2 / (n_topics - 1))
    )
    return trace**2 / unbiased if unbiased > 0 else float(len(residuals))


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return quotients, 0 where the divisor is 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


FEWEST_SYSTEMS, LEAST_OF_KIND = 12, 4.0
"""Fewest systems that are divided, and the fewest of a kind."""
STEPS = 200
"""Most steps of the fit of two kinds."""
SETTLED = 1e-8
"""Largest change of a probability of belonging to a kind at which it ends."""
SMALLEST_VARIANCE = 1e-6
"""Added to variances of standardised means, which may all be on one line."""
N_CUTS = 3
MORE_PARAMETERS = 3
"""Of two kinds beside one: another mean under both metrics, and a share."""


def kinds_of(means: Floats, near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the kind of each system, 0 or 1: int64 (system,); all 0 where one normal distribution has the better BIC.

    means: float64 (2, system): observed means.
    near: bool (system,): systems that the mixture is fitted to; others belong to the kind whose centre is nearest.
    """
    one_kind = np.zeros(means.shape[1], np.int64)
    chosen = means[:, near]
    deviation = chosen.std(axis=1, keepdims=True)
    n = chosen.shape[1]
    if n < FEWEST_SYSTEMS or not (np.ptp(chosen, axis=1) > 0).all():
        return one_kind
    x = (chosen - chosen.mean(axis=1, keepdims=True)) / deviation
    alone = _log_densities(x, np.ones((1, 1, n)))
    total = x.sum(axis=0)
    above = np.where(total > _cuts(total)[:, np.newaxis], 0.99, 0.01)
    likelihoods, shares = _em(x, np.stack([above, 1.0 - above], axis=1))
    best = int(np.argmax(likelihoods))
    if not 2.0 * (likelihoods[best] - float(alone.sum())) > MORE_PARAMETERS * np.log(n):
        return one_kind
    inside = (shares[best, 1] > 0.5).astype(np.int64)
    if not 0 < inside.sum() < n:
        return one_kind
    kinds = one_kind
    kinds[near] = inside
    centres = np.array([chosen[:, inside == kind].mean(axis=1) for kind in (0, 1)])
    for system in np.flatnonzero(~near):
        distance = (np.abs(means[:, system] - centres) / deviation[:, 0]).sum(axis=1)
        kinds[system] = int(np.argmin(distance))
    return kinds


def _cuts(total: Floats) -> Floats:
    """Return where systems are divided at first: at the widest gaps, and at the median."""
    ordered, least = np.sort(total), int(LEAST_OF_KIND) - 1
    gaps = np.diff(ordered)[least : len(ordered) - 1 - least]
    widest = least + np.argsort(-gaps, kind="stable")[:N_CUTS]
    return np.append((ordered[widest] + ordered[widest + 1]) / 2, np.median(total))


def _em(x: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return log-likelihoods (cut,) and the shares of kinds (cut, kind, system), from those to begin with.

    All cuts take a step at once; one that is settled or has too few of a kind takes no more.
    """
    likelihoods, going = np.zeros(len(shares)), np.arange(len(shares))
    for _ in range(STEPS):
        few = shares[going].sum(axis=2).min(axis=1) < LEAST_OF_KIND
        likelihoods[going[few]] = -np.inf
        going = going[~few]
        if not going.size:
            break
        logs = _log_densities(x, shares[going])
        most = logs.max(axis=1)
        total = most + np.log(np.exp(logs - most[:, np.newaxis]).sum(axis=1))
        likelihoods[going] = total.sum(axis=1)
        new = np.exp(logs - total[:, np.newaxis])
        moving = np.abs(new - shares[going]).max(axis=(1, 2)) >= SETTLED
        going = going[moving]
        shares[going] = new[moving]
    return likelihoods, shares


def _log_densities(x: Floats, shares: Floats) -> Floats:
    """Return the logarithms of the weighted densities of kinds (cut, kind, system), fitted with these shares."""
    # Sums, not matrix products: their last digits depend on the number of threads.
    n, weights = x.shape[1], shares.sum(axis=2, keepdims=True)
    centres = (shares[:, :, np.newaxis] * x).sum(axis=3) / weights
    one, two = np.moveaxis(x - centres[..., np.newaxis], 2, 0)
    products = np.array([one * one, two * two, one * two])
    sums = (shares * products).reshape(3, len(shares), 1, -1).sum(axis=3, keepdims=True)
    first, second, both = sums / n + SMALLEST_VARIANCE * np.array([1, 1, 0]).reshape(3, 1, 1, 1)
    determinant = first * second - both * both
    squares = second * products[0] + first * products[1] - 2 * both * products[2]
    constant = np.log(2 * np.pi * np.sqrt(determinant))
    return np.asarray(np.log(weights / n) - constant - squares / (2 * determinant))

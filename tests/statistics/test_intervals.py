"""Limits of means and differences beside plain formulas."""

from __future__ import annotations

import math
import statistics as plain
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scorecube.statistics.intervals import (
    Estimate,
    Sample,
    difference_limits,
    estimate,
    guarded_estimate,
    mean_limits,
    n_differing,
    one_sided_p,
    two_sided_p,
)

CHANCE = np.random.default_rng(1)
SCORES = CHANCE.beta(2, 3, 30).round(3)


def of(scores: Any, weight: float = 1.0) -> Sample:
    """Return topics as units."""
    return Sample(weight, np.array(scores, float), np.ones(len(scores)))


def t_limits(values: list[float], freedom: int) -> tuple[float, float]:
    """Return the limits of Student's t with the standard error of some values, in plain Python."""
    mean, error = plain.mean(values), plain.stdev(values) / math.sqrt(len(values))
    margin = stats.t.ppf(0.975, freedom) * error
    return mean - margin, mean + margin


def test_scores_without_a_range_have_the_limits_of_t() -> None:
    found = mean_limits([of(SCORES)], None, 0.95)
    assert found == pytest.approx(tuple(stats.ttest_1samp(SCORES, 0).confidence_interval(0.95)))


def test_bounded_scores_have_the_limits_of_t_on_the_logit_scale() -> None:
    mean, error = plain.mean(SCORES), plain.stdev(SCORES) / math.sqrt(30)
    margin = stats.t.ppf(0.975, 29) * error / (mean * (1 - mean))
    logit = math.log(mean / (1 - mean))
    expected = tuple(1 / (1 + math.exp(-(logit + sign * margin))) for sign in (-1, 1))
    assert mean_limits([of(SCORES)], (0, 1), 0.95) == pytest.approx(expected)
    of_percent = mean_limits([of(100 * SCORES)], (0, 100), 0.95)
    assert of_percent == pytest.approx([100 * limit for limit in expected])


@pytest.mark.parametrize("n_zero", [0, 1, 7])
def test_scores_that_hardly_differ_have_pseudo_units_at_both_ends(n_zero: int) -> None:
    scores = [1.0] * (28 - n_zero) + [0.0] * n_zero
    low, high = t_limits([*scores, 0.0, 1.0], 27)
    assert mean_limits([of(scores)], (0, 1), 0.95) == pytest.approx((low, min(high, 1.0)))


@pytest.mark.parametrize("n_runs", [10, 100])
@pytest.mark.parametrize(("n", "p"), [(25, 0.8), (50, 0.9), (200, 0.95), (200, 0.98)])
def test_the_mean_of_one_of_many_is_within_its_limits(n_runs: int, n: int, p: float) -> None:
    """Scores 0 and 1 of which few differ, by exact enumeration: misses of all runs together (Bonferroni) in at most .03; with one pseudo-unit at each end .52."""
    missed = 0.0
    for k in (*range(8), *range(n - 7, n + 1)):
        scores = np.arange(n) < k
        low, high = mean_limits([of(scores)], (0.0, 1.0), 1 - 0.05 / n_runs)
        missed += stats.binom.pmf(k, n, p) * (not low <= p <= high)
    assert n_runs * missed <= 0.03


def test_groups_have_the_cluster_robust_standard_error() -> None:
    sizes = CHANCE.integers(1, 9, 12)
    scores: list[Any] = [CHANCE.random(m) for m in sizes]
    every = np.concatenate(scores)
    residuals = [(x - every.mean()).sum() for x in scores]
    error = math.sqrt(12 / 11 * sum(r * r for r in residuals)) / len(every)
    found = estimate([Sample(1.0, np.array([x.sum() for x in scores]), sizes.astype(float))])
    assert found == pytest.approx((every.mean(), error, 11))


def test_units_that_differ_are_counted_beside_those_that_are_alike() -> None:
    """Within a thousandth of the range, as in plain Python, for one and for many, up to 8."""
    few = [[0.1 + 0.2, 0.3, 0.5, 0.3], [1.0, 2.0, 3.0, 4.0], [0.0, 0.0004, 0.0008, 0.0012]]
    assert n_differing(np.array(few), 0.001).tolist() == [1, 3, 1]
    for width, n in ((1.0, 12), (100.0, 30), (1.0, 6)):
        rows = width * CHANCE.choice([0.0, 0.0005, 0.001, 0.3], (40, n), p=[0.4, 0.2, 0.2, 0.2])
        counts = [n - max(sum(x <= y <= x + 0.001 * width for y in row) for x in row) for row in rows.tolist()]  # fmt: skip
        assert n_differing(rows, 0.001 * width).tolist() == [min(count, 8) for count in counts]
        together = Sample(1.0, rows, np.ones(n))
        found = guarded_estimate([together], width, binary=False)
        guarded = [guarded_estimate([of(row)], width, binary=False) for row in rows]
        assert found.error == pytest.approx([float(each.error) for each in guarded])


def test_differences_are_guarded_where_few_differ_and_of_binary_scores_always() -> None:
    few, many = np.array([0.5] * 3 + [0.0] * 22), CHANCE.normal(0, 0.1, 25)
    for differences, binary in ((few, False), (many, True)):
        low, high = t_limits([*differences, -1.0, 1.0], 24)
        guarded = guarded_estimate([of(differences)], 1.0, binary=binary)
        assert difference_limits(guarded, 1.0, 0.95) == pytest.approx((low, high))
    assert guarded_estimate([of(many)], 1.0, binary=False) == estimate([of(many)])
    # Without a range nothing bounds what was not seen.
    assert np.isnan(guarded_estimate([of(few)], None, binary=False).error)
    assert guarded_estimate([of(many)], None, binary=False) == estimate([of(many)])


def test_a_small_collection_among_several_that_is_alike_has_the_error_of_two_pseudo_units() -> None:
    """Of 4 equal items beside 25 that vary; 4 items that vary have their own."""
    many, equal, varied = CHANCE.normal(0, 0.1, 25), np.zeros(4), np.array([-0.2, 0.1, 0.3, 0.0])
    for small, scores in ((equal, [0.0] * 4 + [-1.0, 1.0]), (varied, varied)):
        samples = [Sample(0.5, each, np.ones(len(each))) for each in (many, small)]
        error = math.hypot(stats.sem(many), stats.sem(scores)) / 2
        assert guarded_estimate(samples, 1.0, binary=False).error == pytest.approx(error)


def test_p_is_below_alpha_where_limits_do_not_hold_0_and_never_0() -> None:
    for row in CHANCE.normal(0.1, 0.2, (50, 12)):
        found = guarded_estimate([of(row)], 2.0, binary=False)
        assert two_sided_p(found) == pytest.approx(stats.ttest_1samp(row, 0).pvalue)
        low, high = difference_limits(found, 2.0, 0.95)
        assert (two_sided_p(found) < 0.05) == (low > 0 or high < 0)
        less = stats.ttest_1samp(row, 0.3, alternative="less").pvalue
        assert one_sided_p(found, 0.3) == pytest.approx(less)
    sure = Estimate(np.array([0.5, -0.5]), np.array([1e-9, 1e-9]), 4999.0)
    assert (two_sided_p(sure) > 0).all()
    assert (one_sided_p(sure, 1.0) > 0).all()


def test_what_was_not_seen_is_a_topic_also_where_topics_are_in_bags() -> None:
    """20,000 items of 0 and 1 that differ on 2 %: limits are those of the items, and not of bags of 20 that no one saw (1.7 times as wide)."""
    items = np.zeros(20_000)
    items[::50], items[25::50] = 1.0, -1.0
    sums = CHANCE.permutation(items).reshape(1000, 20).sum(axis=1)
    bags = Sample(1.0, sums, np.full(1000, 20.0), 20.0)
    low, high = difference_limits(guarded_estimate([bags], 1.0, binary=True), 1.0, 0.95)
    plain = guarded_estimate([of(items)], 1.0, binary=True)
    own = difference_limits(plain, 1.0, 0.95)
    assert (high - low) / (own[1] - own[0]) == pytest.approx(1.0, abs=0.08)
    one = mean_limits([Sample(1.0, np.full(1000, 20.0), np.full(1000, 20.0), 20.0)], (0.0, 1.0), 0.95)  # fmt: skip
    topics = mean_limits([of(np.ones(20_000))], (0.0, 1.0), 0.95)
    assert one == pytest.approx(topics, abs=1e-5)


def test_weighted_means_have_the_degrees_of_freedom_of_satterthwaite() -> None:
    weights, sizes = (0.5, 0.25, 0.25), (40, 15, 300)
    scores = [CHANCE.normal(k / 10, 0.1 * (k + 1), n) for k, n in enumerate(sizes)]
    found = estimate([of(x, w) for x, w in zip(scores, weights, strict=True)])
    variances = [w * w * x.var(ddof=1) / len(x) for x, w in zip(scores, weights, strict=True)]
    freedom = sum(variances) ** 2 / sum(v * v / (n - 1) for v, n in zip(variances, sizes, strict=True))  # fmt: skip
    mean = sum(w * x.mean() for x, w in zip(scores, weights, strict=True))
    assert found == pytest.approx((mean, math.sqrt(sum(variances)), freedom))
    assert difference_limits(Estimate(0.9, 0.5, 8), 1.0, 0.95)[1] == 1.0

"""Decisions of tests about experiments, against SciPy and plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.stats

from scorecube import names
from scorecube.analyses.simulation.decisions import TESTS, classical, resample_weights, resampling
from scorecube.analyses.simulation.errors import LEVELS
from scorecube.kernels.experiments.paired_decisions import decide_tails
from scorecube.kernels.random.philox import stream_key

UNITS = 10_000
NEAR = 1e-9
"""Relative distance from a level within which rounding may decide."""


def counts_of(p_one: list[float], p_two: list[float], totals: list[int]) -> np.ndarray:
    """Return the counts of p-values by level."""
    counts = np.zeros((3, len(LEVELS) + 2), np.int64)
    for one, two, total in zip(p_one, p_two, totals, strict=True):
        for row, p in ((0, one), (1, two), (2, two)):
            if row == 2 and total >= 0:
                continue
            reached = [k for k, level in enumerate(LEVELS) if p <= level * (1 + NEAR)]
            counts[row, len(LEVELS) + 1 if np.isnan(p) else min(reached, default=len(LEVELS))] += 1
    return counts


def experiments(n: int, kind: str, count: int = 150) -> np.ndarray:
    random = np.random.default_rng(n)
    if kind == "tenths":
        found = random.integers(-4, 6, (count, n)) * 1000
        found[0] = 0
        found[1] = 1000
        return np.asarray(found, np.int32)
    shift = random.normal(0, 600, (count, 1))
    return np.asarray(np.rint(random.normal(300, 2000, (count, n)) + shift), np.int32)


def decided(test: str, differences: np.ndarray) -> np.ndarray:
    counts = np.zeros((1, 3, len(LEVELS) + 2), np.int64)
    classical((test,), differences, differences.shape[1], UNITS, LEVELS, counts)
    return np.asarray(counts[0])


@pytest.mark.parametrize("kind", ["fine", "tenths"])
@pytest.mark.parametrize("n", [10, 25, 60])
def test_t(n: int, kind: str) -> None:
    differences = experiments(n, kind)
    one, two = [], []
    for row in differences:
        if np.ptp(row) == 0:
            p = (np.nan, np.nan) if row[0] == 0 else (0.0, 0.0)
        else:
            p = tuple(
                scipy.stats.ttest_1samp(row / UNITS, 0, alternative=side).pvalue
                for side in ("greater", "two-sided")
            )
        one.append(p[0])
        two.append(p[1])
    expected = counts_of(one, two, differences.sum(axis=1).tolist())
    np.testing.assert_array_equal(decided("t", differences), expected)


@pytest.mark.parametrize("kind", ["fine", "tenths"])
@pytest.mark.parametrize("n", [10, 25, 60])
def test_sign(n: int, kind: str) -> None:
    differences = experiments(n, kind)
    one, two = [], []
    for row in differences:
        ahead, behind = int((row > 100).sum()), int((row < -100).sum())
        if ahead + behind == 0:
            one.append(np.nan)
            two.append(np.nan)
            continue
        one.append(scipy.stats.binomtest(ahead, ahead + behind, alternative="greater").pvalue)
        two.append(scipy.stats.binomtest(ahead, ahead + behind).pvalue)
    expected = counts_of(one, two, differences.sum(axis=1).tolist())
    np.testing.assert_array_equal(decided("sign", differences), expected)


@pytest.mark.parametrize("kind", ["fine", "tenths"])
@pytest.mark.parametrize("n", [10, 25, 60])
def test_wilcoxon(n: int, kind: str) -> None:
    differences = experiments(n, kind)
    one, two = [], []
    for row in differences:
        used = row[row != 0]
        if not len(used):
            one.append(np.nan)
            two.append(np.nan)
            continue
        exact = n < 50 and len(used) == n and len(np.unique(np.abs(row))) == n
        for found, side in ((one, "greater"), (two, "two-sided")):
            test = scipy.stats.wilcoxon(
                used,
                alternative=side,
                method="exact" if exact else "asymptotic",
                correction=not exact,
            )
            found.append(test.pvalue)
    expected = counts_of(one, two, differences.sum(axis=1).tolist())
    np.testing.assert_array_equal(decided("wilcoxon", differences), expected)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("kind", ["fine", "tenths"])
@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_resampling_counts_tails_one_by_one(test: str, kind: str, half: bool) -> None:
    differences, resamples = experiments(12, kind, 40), 1500
    key = stream_key(4, names.Purpose.EXPERIMENT_SIGNS)
    weights = resample_weights(test, key, 3, 12, resamples)
    counts = np.zeros((3, len(LEVELS) + 2), np.int64)
    resampling(test, differences, weights, LEVELS, counts, half=half)
    one, two = [], []
    for row in differences.astype(int):
        total = int(row.sum())
        sums = [
            int(row @ weights[:, k].astype(int)) - (total if test == "bootstrap" else 0)
            for k in range(resamples)
        ]
        above = sum(
            1.0 if each > total else 0.5 if each == total and half else each == total
            for each in sums
        )
        both = sum(
            1.0
            if abs(each) > abs(total)
            else 0.5
            if abs(each) == abs(total) and half
            else abs(each) == abs(total)
            for each in sums
        )
        one.append(above / resamples if total > 0 else 1.0)
        two.append(both / resamples if total != 0 else 1.0)
    np.testing.assert_array_equal(counts, counts_of(one, two, differences.sum(axis=1).tolist()))


def test_weights_are_signs_and_multiplicities() -> None:
    key = stream_key(1, names.Purpose.EXPERIMENT_TOPICS)
    signs = resample_weights("permutation", key, 0, 9, 400)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    drawn = resample_weights("bootstrap", key, 0, 9, 400)
    assert (drawn.sum(axis=0) == 9).all()
    assert (resample_weights("bootstrap", key, 1, 9, 400) != drawn).any()


def test_permutation_is_that_of_all_signs() -> None:
    """With many resamples the share of decisions is that of the exact distribution over 2^8 signs."""
    differences = experiments(8, "fine", 60)
    exact = []
    for row in differences.astype(int):
        sums = [
            abs(sum(s * d for s, d in zip(signs, row, strict=True)))
            for signs in product((-1, 1), repeat=8)
        ]
        exact.append(np.mean([each >= abs(int(row.sum())) for each in sums]))
    weights = resample_weights(
        "permutation", stream_key(2, names.Purpose.EXPERIMENT_SIGNS), 0, 8, 40_000
    )
    counts = np.zeros((3, len(LEVELS) + 2), np.int64)
    resampling("permutation", differences, weights, LEVELS, counts)
    reached = counts[1, :-2].cumsum()
    for k, level in enumerate(LEVELS):
        error = 5 * (level * (1 - level) / 40_000) ** 0.5
        low, high = (sum(p <= level + sign * error for p in exact) for sign in (-1, 1))
        assert low <= reached[k] <= high


def test_all_tests_are_decided() -> None:
    assert TESTS == ("t", "wilcoxon", "sign", "bootstrap", "permutation")


def test_tails_decide_by_the_number_of_resamples_in_them() -> None:
    most, totals = [2, 5, 9], range(-2, 3)
    tails = [
        (above, below, total) for above in range(12) for below in range(12) for total in totals
    ]
    expected = np.zeros((3, 4), np.int64)
    for above, below, total in tails:
        # p-values against: nothing of one side for a sum of 0 or less, nothing at all for one of 0.
        one = next((k for k in range(3) if above <= most[k] and total > 0), 3)
        two = next((k for k in range(3) if above + below <= most[k] and total != 0), 3)
        expected[0, one] += 1
        expected[1, two] += 1
        expected[2, two] += total < 0
    counts = np.zeros((3, 4), np.int64)
    columns = np.array(tails)
    decide_tails(
        np.ascontiguousarray(columns[:, :2], np.int32), columns[:, 2].copy(), np.array(most), counts
    )
    np.testing.assert_array_equal(counts, expected)

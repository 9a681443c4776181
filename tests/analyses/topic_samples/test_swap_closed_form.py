"""The swap analysis where theory gives the answer, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations, product

import numpy as np
import pytest
import xarray as xr

from scorecube import Swap
from tests.analyses.topic_samples.test_swap_oracle import make_cube, paper_swap
from tests.given_samples import analyse_given

Trials = Sequence[Sequence[Sequence[int]]]
"""Trial, half, draw: topic positions."""


def opposed(n: int, k: int) -> xr.Dataset:
    """Return two runs that differ by +1 on k topics and by -1 on the other n - k."""
    better = [1.0] * k + [0.0] * (n - k)
    return make_cube([better, [1.0 - score for score in better]])


def replay(cube: xr.Dataset, swap: Swap, trials: Trials) -> xr.Dataset:
    """Analyse given samples of topic positions; the result has no metric, gain and size dims."""
    return analyse_given(cube, swap, trials).isel(metric=0, gain=0, size=0)


@pytest.mark.parametrize(
    ("n", "k", "replacement", "disjoint"), [(4, 2, 0.5, 2 / 3), (10, 7, 0.42, 7 / 15), (5, 5, 0, 0), (7, 1, 12 / 49, 2 / 7)]
)  # fmt: skip
def test_all_samples_of_one_topic_give_the_exact_rate(
    n: int, k: int, replacement: float, disjoint: float
) -> None:
    cube = opposed(n, k)
    apart = [((first,), (second,)) for first, second in permutations(range(n), 2)]
    any_two = [((first,), (second,)) for first, second in product(range(n), repeat=2)]
    for sampling, trials, rate in (
        ("replacement", any_two, replacement),
        ("independent", any_two, replacement),
        ("disjoint", apart, disjoint),
    ):
        result = replay(cube, paper_swap(sampling=sampling, size=1), trials)
        assert result["count"].values.tolist() == [0] * 20 + [len(trials)]
        assert float(result["swap_rate"][20]) == pytest.approx(rate, abs=1e-15)
    assert replacement == pytest.approx(2 * k / n * (1 - k / n))
    assert disjoint == pytest.approx(2 * k * (n - k) / (n * (n - 1)))


@pytest.mark.parametrize(("rule", "in_first_bin"), [("s0", 0), ("s1", 4)])
def test_all_halvings_of_four_opposed_topics(rule: str, in_first_bin: int) -> None:
    halvings = [(half, tuple(set(range(4)) - set(half))) for half in combinations(range(4), 2)]
    result = replay(opposed(4, 2), paper_swap(size=2, rule=rule), halvings)
    assert result["count"].values.tolist() == [4] + [0] * 19 + [2]
    assert result["swaps"].values.tolist() == [in_first_bin] + [0] * 19 + [2]


@pytest.mark.parametrize(("rule", "in_first_bin"), [("s0", 64), ("s1", 128)])
def test_all_resamples_of_two_from_four_opposed_topics(rule: str, in_first_bin: int) -> None:
    drawn = list(product(range(4), repeat=2))
    result = replay(
        opposed(4, 2),
        paper_swap(sampling="replacement", size=2, rule=rule),
        list(product(drawn, repeat=2)),
    )
    # The sum of two signs is +2, 0, -2 with chance 1/4, 1/2, 1/4: three quarters disagree with a given +2 or -2.
    assert result["count"].values.tolist() == [128] + [0] * 19 + [128]
    assert result["swaps"].values.tolist() == [in_first_bin] + [0] * 19 + [96]


def test_a_difference_of_zero_is_never_required() -> None:
    scores = [0.25, 0.5, 0.75, 1.0]
    result = replay(make_cube([scores, scores]), paper_swap(size=1), [((0,), (1,))])
    assert float(result["swap_rate"][0]) == 0
    assert np.isnan(result["required_difference"].values).all()


def test_a_rate_equal_to_the_accepted_one_is_accepted() -> None:
    cube = make_cube([[0.05, 0.00, 0.05], [0.00, 0.05, 0.00]])
    # One swap in 10 trials is a rate of 10 %, and 1 - 0.9 in floats is less than 0.1.
    trials = [((0,), (1,))] + [((0,), (2,))] * 9
    result = replay(cube, paper_swap(size=1, confidence=(0.9, 0.91)), trials)
    np.testing.assert_array_equal(result["required_difference"], [0.05, np.nan])

"""Options of the swap method beside those of the papers, and the stability method, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.analyses import Stability, Swap
from scorecube.analyses.table import make_table
from scorecube.errors import BadPlan
from scorecube.kernels.random.draws import Sampling
from scorecube.names import Purpose
from scorecube.workflow.api import analyse, cube_from_scores, table
from tests.analyses.topic_samples.papers import paper_swap, stated_bins
from tests.analyses.topic_samples.test_swap_closed_form import make_cube, opposed
from tests.analyses.topic_samples.test_swap_oracle import (
    GRID,
    Case,
    as_cube,
    cases,
    sample_positions,
)
from tests.given_samples import analyse_given
from tests.kernels.random.test_draws import plain_samples
from tests.oracles.swap import SwapCounts, count_orders, count_swaps


def changed(case: Case, **options: Any) -> Swap:
    return paper_swap(**{key: getattr(case.swap, key) for key in case.swap.options()} | options)


def drawn_samples(case: Case, cube: xr.Dataset) -> list[tuple[list[int], list[int]]]:
    found: Any = sample_positions(cube, case.swap, case.seed, case.trials)
    return list(found)


def assert_counts(result: xr.Dataset, expected: SwapCounts, swap: Swap) -> None:
    assert result["count"].values.tolist() == expected.count
    assert result["swaps"].values.tolist() == (
        expected.swaps_s0 if swap.rule == "s0" else expected.swaps_s1
    )
    assert int(result["both_zero"]) == expected.both_zero
    assert float(result["max_performance"]) == pytest.approx(
        float(expected.max_performance), abs=GRID
    )
    assert float(result["max_difference"]) == pytest.approx(
        float(expected.max_difference), abs=GRID
    )


def own_samples(swap: Swap, n_runs: int, n_topics: int, trials: int, seed: int) -> dict[Any, Any]:
    """Draw the samples of every pair with NumPy's generator: counter (2**32 * pair, trial) before the first word."""
    key = np.array([seed, 2**32 + int(Purpose.SWAP_PAIRS)], np.uint64)
    kind = Sampling[swap.sampling.upper()]
    (size,) = swap.sizes(make_table(cube_of(n_runs, n_topics)))
    samples = {}
    for y in range(n_runs):
        for x in range(y):
            counters = [[(y * (y - 1) // 2 + x) << 32, trial, 0, 0] for trial in range(trials)]
            words = [
                np.random.Philox(key=key, counter=counter).random_raw(2 * size)
                for counter in counters
            ]
            samples[x, y] = [halves(kind, n_topics, [int(word) for word in each]) for each in words]
    return samples


def cube_of(n_runs: int, n_topics: int) -> xr.Dataset:
    return make_cube([[0.0] * n_topics] * n_runs)


def halves(kind: Sampling, n_topics: int, words: list[int]) -> list[list[int]]:
    """Turn words into two samples: Fisher-Yates from one pool, or multiply-shift, or one pool each."""
    shared = list(range(n_topics))
    pools = [shared, shared if kind is Sampling.DISJOINT else list(range(n_topics))]
    samples: list[list[int]] = [[], []]
    for k, word in enumerate(words):
        half, done = k % 2, k if kind is Sampling.DISJOINT else k // 2
        if kind is Sampling.REPLACEMENT:
            samples[half].append(word * n_topics >> 64)
            continue
        pool, other = pools[half], done + (word * (n_topics - done) >> 64)
        pool[done], pool[other] = pool[other], pool[done]
        samples[half].append(pool[done])
    return samples


def test_this_file_draws_as_the_other_oracle_does() -> None:
    key = np.array([4, 2**32 + int(Purpose.SWAP_TOPICS)], np.uint64)
    words = [int(word) for word in np.random.Philox(key=key, counter=[0, 9, 0, 0]).random_raw(6)]
    for kind in Sampling:
        assert halves(kind, 7, words) == plain_samples(kind, 7, 3, 9, 4)


@settings(max_examples=40)
@given(case=cases())
def test_samples_of_every_pair_are_exact(case: Case) -> None:
    cube, swap = as_cube(case.tables), changed(case, share="none")
    n_runs, n_topics = cube.sizes["run"], cube.sizes["topic"]
    samples = own_samples(swap, n_runs, n_topics, case.trials, case.seed)
    result = analyse(cube, swap, trials=case.trials, seed=case.seed, workers=1, block_units=5)
    for metric, scores in case.tables.items():
        expected = count_swaps(scores, samples, Fraction(str(swap.bin_width)), stated_bins(swap))
        assert_counts(result.sel(metric=metric, gain="auto").isel(size=0), expected, swap)
    trials = [[set(half) for half in trial] for each in samples.values() for trial in each]
    assert float(result["unique"].isel(size=0)) == pytest.approx(
        np.mean([len(half) for trial in trials for half in trial])
    )
    assert float(result["common"].isel(size=0)) == pytest.approx(
        np.mean([len(first & second) for first, second in trials])
    )


def test_samples_of_every_pair_have_the_same_expectation() -> None:
    trials, rate = 20_000, 7 / 15
    result = analyse(
        opposed(10, 7), paper_swap(size=1, share="none"), trials=trials, seed=2, workers=1
    )
    found = float(result["swap_rate"].isel(metric=0, gain=0, size=0, bin=20))
    assert abs(found - rate) < 4 * math.sqrt(rate * (1 - rate) / trials)


@settings(max_examples=100)
@given(case=cases(), fuzziness=st.sampled_from([(0.05,), (0.0, 0.1), (0.5, 0.25, 0.2)]))
def test_orders_are_exact(case: Case, fuzziness: tuple[float, ...]) -> None:
    cube = as_cube(case.tables)
    stability = Stability(sampling=case.swap.sampling, size=case.swap.size, fuzziness=fuzziness)
    # The trials are those of the swap method with the same seed.
    samples = [first for first, _ in drawn_samples(case, cube)]
    result = analyse(cube, stability, trials=case.trials, seed=case.seed, workers=1, block_units=5)
    runs = [str(run) for run in cube["run"].values]
    for metric, scores in case.tables.items():
        for share in fuzziness:
            at = result.sel(metric=metric, gain="auto", fuzziness=share).isel(size=0)
            expected = count_orders(scores, samples, Fraction(str(share)))
            for k in range(at.sizes["pair"]):
                pair = at.isel(pair=k)
                x, y = runs.index(str(pair["run_a"].item())), runs.index(str(pair["run_b"].item()))
                found = tuple(
                    int(pair[name]) for name in ("first_better", "second_better", "equal")
                )
                assert found == expected[x, y]
            orders = list(expected.values())
            total = case.trials * len(orders)
            assert float(at["error_rate"]) == pytest.approx(
                sum(min(a, b) for a, b, _ in orders) / total
            )
            assert float(at["ties"]) == pytest.approx(sum(equal for _, _, equal in orders) / total)


def test_a_difference_of_exactly_the_fuzzy_share_is_no_tie() -> None:
    cube = make_cube([[0.95, 0.96], [1.0, 1.0]])
    result = analyse_given(cube, Stability(size=1), [[[0], [1]]])
    assert int(result["second_better"].sum()) == 1
    turned = analyse_given(cube, Stability(size=1), [[[1], [0]]])
    assert int(turned["equal"].sum()) == 1


@pytest.mark.parametrize("fuzziness", [(), (1.0,), (-0.1,), (math.nan,)])
def test_impossible_fuzziness_is_refused(fuzziness: tuple[float, ...]) -> None:
    with pytest.raises(BadPlan, match="fuzziness"):
        analyse(opposed(4, 2), Stability(fuzziness=fuzziness), trials=3, seed=0, workers=1)


def test_many_runs_and_few_give_alike_counts() -> None:
    random = np.random.default_rng(1)
    scores = np.round(random.beta(1.2, 2, (300, 20)), 1)
    names = [f"r{k:03d}" for k in range(300)]
    whole = analyse(
        cube_from_scores({"AP": pd.DataFrame(scores, index=names)}),
        paper_swap(),
        trials=3,
        seed=2,
        workers=1,
    )
    total = np.zeros((2, 21), np.int64)
    # Every pair of 300 runs once: 15 groups of 20, all pairs of groups; pairs inside a group are met 14 times.
    groups = np.split(np.arange(300), 15)
    for i in range(15):
        for j in range(i + 1, 15):
            total += counts_of(scores, names, np.concatenate([groups[i], groups[j]]))
        total -= 13 * counts_of(scores, names, groups[i])
    np.testing.assert_array_equal(whole["count"].values.ravel(), total[0])
    np.testing.assert_array_equal(whole["swaps"].values.ravel(), total[1])


def counts_of(
    scores: np.ndarray[Any, Any], names: list[str], chosen: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    frame = pd.DataFrame(scores[chosen], index=[names[k] for k in chosen])
    part = analyse(cube_from_scores({"AP": frame}), paper_swap(), trials=3, seed=2, workers=1)
    return np.stack([part["count"].values.ravel(), part["swaps"].values.ravel()])


def test_tables_tell_the_support() -> None:
    cube = make_cube([[0.05, 0.10, 0.00, 0.15], [0.00, 0.00, 0.10, 0.00]])
    trials = [[[0], [3]], [[1], [2]], [[3], [0]], [[3], [1]]]
    row = table(analyse_given(cube, paper_swap(size=1), trials)).iloc[0]
    assert row["required_difference"] == 0.15
    assert (row["support"], round(row["max_difference"], 9), row["size"]) == (0.15, 0.15, 1)

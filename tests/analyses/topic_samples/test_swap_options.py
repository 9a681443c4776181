"""Options of the swap method beside those of the papers, and the stability method, against exact arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube import Stability, Swap
from scorecube.analyses.table import make_table
from scorecube.kernels.random.draws import Sampling
from scorecube.names import Purpose
from scorecube.workflow.api import analyse
from tests.analyses.topic_samples.papers import stated_bins
from tests.analyses.topic_samples.test_swap_closed_form import make_cube
from tests.analyses.topic_samples.test_swap_oracle import (
    Case,
    as_cube,
    assert_agrees,
    cases,
    sample_positions,
)
from tests.given_samples import analyse_given
from tests.kernels.random.test_draws import plain_samples
from tests.oracles.swap import count_orders, count_swaps


def own_samples(swap: Swap, cube: xr.Dataset, trials: int, seed: int) -> dict[Any, Any]:
    """Draw the samples of every pair with NumPy's generator, each pair from a stream of its own."""
    n_runs, n_topics = cube.sizes["run"], cube.sizes["topic"]
    kind, (size,) = Sampling[swap.sampling.upper()], swap.sizes(make_table(cube))
    pairs = [(x, y) for y in range(n_runs) for x in range(y)]
    purpose = int(Purpose.SWAP_PAIRS)
    return {
        pair: [plain_samples(kind, n_topics, size, t, seed, purpose, k) for t in range(trials)]
        for k, pair in enumerate(pairs)
    }


@settings(max_examples=40)
@given(case=cases())
def test_samples_of_every_pair_are_exact(case: Case) -> None:
    cube, swap = as_cube(case.tables), replace(case.swap, share="none")
    samples = own_samples(swap, cube, case.trials, case.seed)
    result = analyse(cube, swap, trials=case.trials, seed=case.seed, workers=1, block_units=5)
    for metric, scores in case.tables.items():
        expected = count_swaps(scores, samples, Fraction(str(swap.bin_width)), stated_bins(swap))
        assert_agrees(result.sel(metric=metric, gain="auto").isel(size=0), expected, swap)
    trials = [[set(half) for half in trial] for each in samples.values() for trial in each]
    assert float(result["unique"].isel(size=0)) == pytest.approx(
        np.mean([len(half) for trial in trials for half in trial])
    )
    assert float(result["common"].isel(size=0)) == pytest.approx(
        np.mean([len(first & second) for first, second in trials])
    )


@settings(max_examples=100)
@given(case=cases(), fuzziness=st.sampled_from([(0.05,), (0.0, 0.1), (0.5, 0.25, 0.2)]))
def test_orders_are_exact(case: Case, fuzziness: tuple[float, ...]) -> None:
    cube = as_cube(case.tables)
    stability = Stability(sampling=case.swap.sampling, size=case.swap.size, fuzziness=fuzziness)
    # The trials are those of the swap method with the same seed.
    drawn = sample_positions(cube, case.swap, case.seed, case.trials)
    samples = [first for first, _ in drawn]
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

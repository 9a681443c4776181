"""Several sample sizes in one run: each is what a run of its own gives, and what theory says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube import Stability
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse
from tests.analyses.topic_samples.papers import paper_swap
from tests.analyses.topic_samples.test_swap_closed_form import make_cube, opposed
from tests.given_samples import analyse_given


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=6, metrics=("AP", "P@10"), seed=4)


def numbers(result: xr.Dataset) -> xr.Dataset:
    return result.drop_attrs()


@pytest.mark.parametrize(
    "options",
    [
        {"sampling": "disjoint"},
        {"sampling": "replacement"},
        {"sampling": "independent"},
        {"sampling": "disjoint", "share": "none"},
        {"sampling": "replacement", "share": "none"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_every_size_is_that_of_its_own_run(cube: xr.Dataset, options: dict[str, Any]) -> None:
    several = analyse(
        cube, paper_swap(size=(3, 10, 25), **options), trials=40, seed=8, workers=1, block_units=7
    )
    for size in (3, 10, 25):
        alone = analyse(cube, paper_swap(size=size, **options), trials=40, seed=8, workers=1)
        xr.testing.assert_identical(numbers(several.sel(size=[size])), numbers(alone))


def test_all_resamples_of_two_hold_all_resamples_of_one() -> None:
    cube = opposed(4, 2)
    drawn = list(product(range(4), repeat=2))
    trials = np.array(list(product(drawn, repeat=2)))
    swap = paper_swap(sampling="replacement", size=(1, 2))
    result = analyse_given(cube, swap, trials).isel(metric=0, gain=0)
    # Of one topic: 2 (k/n) (1 - k/n) with n = 4, k = 2. Of two: 3/4 of the samples disagree with a given +2 or -2.
    assert result["swap_rate"].isel(bin=20).values.tolist() == [0.5, 0.75]
    assert result["count"].isel(bin=20).values.tolist() == [256, 128]
    np.testing.assert_allclose(result["unique"], [1, 4 * (1 - (3 / 4) ** 2)], rtol=1e-15)
    np.testing.assert_allclose(result["common"], [1 / 4, 4 * (1 - (3 / 4) ** 2) ** 2], rtol=1e-15)


def test_equal_sizes_are_one_plan() -> None:
    assert paper_swap(size=[25, 5, 5, 10]) == paper_swap(size=(5, 10, 25))
    assert paper_swap(size=(7,)) == paper_swap(size=7)
    assert paper_swap(size=(25, 20, 15, 10, 5)).options()["size"] == [5, 10, 15, 20, 25]


def test_sizes_of_stability_are_those_of_their_own_runs(cube: xr.Dataset) -> None:
    several = analyse(cube, Stability(size=(3, 25)), trials=30, seed=8, workers=1, block_units=7)
    for size in (3, 25):
        alone = analyse(cube, Stability(size=size), trials=30, seed=8, workers=1)
        xr.testing.assert_identical(numbers(several.sel(size=[size])), numbers(alone))


def test_one_topic_more_than_half_is_too_many() -> None:
    cube = make_cube([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    with pytest.raises(BadPlan, match="use size=1 or less"):
        make_plan(cube, paper_swap(size=(1, 2)))

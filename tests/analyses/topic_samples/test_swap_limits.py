"""Limits over topics of the swap method: what is left out, what they hold, and where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import jackknife
from scorecube.analyses.table import make_table
from scorecube.statistics.required_difference import share_beyond
from scorecube.testing import simulate_cube

NAMES = ("required", "share", "share_behind", "tau")


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=10, metrics=("AP", "P@10"), seed=4)


def test_limits_are_those_of_analyses_without_groups_of_topics(cube: xr.Dataset) -> None:
    whole = sc.analyse(cube, sc.Swap(size=20), trials=300, seed=5)
    table = make_table(cube)
    smooth, share, tau = [], [], []
    for part in table.tables_left_out:
        kept = [(table.scores[0, 0] == score).argmax() for score in part.scores[0, 0]]
        places = [
            k
            for k in range(50)
            if any((table.scores[:, :, k] == part.scores[:, :, j]).all() for j in range(45))
        ]
        assert len(places) == len(kept) == 45
        without = sc.analyse(cube.isel(topic=places), sc.Swap(size=18), trials=30, seed=5)
        smooth.append(without["required_difference_smooth"].values)
        share.append(share_beyond(without["count"].values, smooth[-1] / 0.01))
        tau.append(without["tau"].values)
    low, high = jackknife.limits(
        whole["required_difference_smooth"].values, np.array(smooth), "log"
    )
    required = whole["required_difference"].values
    np.testing.assert_allclose(whole["required_low"], np.minimum(low, required), rtol=1e-9)
    np.testing.assert_allclose(whole["required_high"], np.clip(high, required, 1.0), rtol=1e-9)
    low, high = jackknife.limits(whole["tau"].values, np.array(tau), "atanh")
    np.testing.assert_allclose(whole["tau_low"], low, rtol=1e-9)
    np.testing.assert_allclose(whole["tau_high"], high, rtol=1e-9)


@pytest.mark.parametrize("sampling", ["disjoint", "replacement", "independent"])
def test_limits_hold_their_estimates(cube: xr.Dataset, sampling: Any) -> None:
    result = sc.analyse(cube, sc.Swap(sampling=sampling), trials=200, seed=1)
    for low, estimate, high in (
        ("required_low", "required_difference", "required_high"),
        ("share_low", "share", "share_high"),
        ("tau_low", "tau", "tau_high"),
    ):
        assert (result[low] <= result[estimate]).all(), estimate
        assert (result[estimate] <= result[high]).all(), estimate
    assert float(result["share_behind"].min()) == 0


def test_the_suffix_rule_has_no_limits(cube: xr.Dataset) -> None:
    result = sc.analyse(cube, sc.Swap(required="suffix"), trials=100, seed=1)
    for name in NAMES[:3]:
        assert result[f"{name}_low"].isnull().all()
    assert result["tau_low"].notnull().all()


def test_few_topics_have_no_limits(cube: xr.Dataset) -> None:
    result = sc.analyse(cube.isel(topic=slice(0, 4)), sc.Swap(), trials=100, seed=1)
    for name in NAMES:
        assert result[f"{name}_low"].isnull().all()


def test_samples_of_each_pair_have_the_limits_of_shared_samples(cube: xr.Dataset) -> None:
    shared, apart = (
        sc.analyse(cube, sc.Swap(share=share), trials=200, seed=1) for share in ("all", "none")
    )
    widths = [np.log(each["required_high"] / each["required_low"]) for each in (shared, apart)]
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.25)

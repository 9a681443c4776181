"""What the report says and draws of several sample sizes and the stability method."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.report.drawing import drawn
from scorecube.report.page_parts import picture
from scorecube.report.swap import swap_rates
from scorecube.testing import simulate_cube


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    cube = simulate_cube(n_runs=6, seed=2, metrics=("AP", "RR"), gains=("3:2:1", "1:1:1"))
    return sc.analyse(cube, sc.Swap(sampling="replacement"), trials=50, seed=1).assign_attrs(
        collection="c"
    )


def test_several_sizes_are_drawn_against_size() -> None:
    cube = simulate_cube(n_runs=6, seed=2, metrics=("AP", "RR"))
    several = sc.analyse(cube, sc.Swap(size=(5, 10, 15)), trials=200, seed=1).assign_attrs(
        collection="c"
    )
    required, first, second = sc.figure(several).axes[:3]
    for metric, line in zip(("AP", "RR"), required.get_lines(), strict=True):
        expected = (
            several["required_difference"].sel(metric=metric, confidence=0.95).isel(gain=0).values
        )
        np.testing.assert_array_equal(line.get_ydata(), expected)
    rates = several["swap_rate"].isel(gain=0)
    for metric, axes in (("AP", first), ("RR", second)):
        assert axes.get_yscale() == "log"
        assert axes.get_lines()
        for line in axes.get_lines():
            assert list(line.get_xdata()) == [5, 10, 15]
            at = np.isclose(several["lower"], float(str(line.get_label())))
            rate = rates.sel(metric=metric).isel(bin=np.flatnonzero(at)[0]).values
            np.testing.assert_array_equal(line.get_ydata(), np.where(rate > 0, rate, np.nan))
    assert "<svg" in picture(sc.figure(several), "d")


def test_one_size_is_drawn_against_difference(result: xr.Dataset) -> None:
    assert sc.figure(result).axes[0].get_xlabel() == drawn(swap_rates, result).axes[0].get_xlabel()


def test_errors_and_ties_are_those_of_the_table() -> None:
    cube = simulate_cube(n_runs=6, seed=2, metrics=("AP", "RR"))
    stability = sc.analyse(
        cube, sc.Stability(size=(5, 25), fuzziness=(0.05, 0.1)), trials=50, seed=1
    )
    frame = sc.table(stability)
    lines = sc.figure(stability).axes[0].get_lines()
    for line, (metric, fuzziness) in zip(
        lines, ((each, part) for each in ("AP", "RR") for part in (0.05, 0.1)), strict=True
    ):
        rows = frame[(frame["metric"] == metric) & (frame["fuzziness"] == fuzziness)].sort_values(
            "size"
        )
        np.testing.assert_allclose(line.get_xdata(), 100 * rows["ties"])
        np.testing.assert_allclose(line.get_ydata(), 100 * rows["error_rate"])

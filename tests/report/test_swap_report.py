"""What the report says and draws of several sample sizes and the stability method."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import Analysis
from scorecube.report.figures.canvas import drawn
from scorecube.report.page.html import picture
from scorecube.report.results import headline
from scorecube.report.swap import swap_rates
from scorecube.report.views import view_of
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


@pytest.mark.parametrize(
    "analysis", [sc.Swap(size=(5, 10, 15)), sc.Swap(size=9), sc.Stability(size=(5, 9))]
)
def test_every_result_has_a_reading_a_title_and_a_caption(analysis: Analysis) -> None:
    cube = simulate_cube(n_runs=6, seed=2, metrics=("AP", "RR"))
    result = sc.analyse(cube, analysis, trials=200, seed=1).assign_attrs(collection="c")
    view = view_of(analysis.name)
    assert "topics" in view.title(analysis.options())
    assert "50 topics" in view.caption(result)
    of_swap = analysis.name == "swap"
    assert len(headline(result)) == 1 + of_swap + (of_swap and result.sizes["size"] > 1)
    frames = {name: table.make(result) for name, table in view.tables.items()}
    assert all(len(frame) for _, frame in view.page_tables(frames))


def test_empty_bins_at_the_end_are_told() -> None:
    cube = simulate_cube(n_runs=6, seed=2, metrics=("AP",))
    result = sc.analyse(cube, sc.Swap(bins=101), trials=20, seed=1).assign_attrs(collection="c")
    assert "No difference of 1.00 or more was observed: the highest bin begins at 0." in view_of(
        "swap"
    ).caption(result)

"""Pictures show the numbers of their results, and the page shows the pictures unchanged."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.report.drawing import PAGE_HEIGHT, STYLE, drawn
from scorecube.report.page_parts import picture
from scorecube.report.swap import sensitivity_bars, swap_rates
from scorecube.testing import simulate_cube


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    cube = simulate_cube(n_runs=6, seed=2, metrics=("AP", "RR"), gains=("3:2:1", "1:1:1"))
    return sc.analyse(
        cube, sc.Swap(sampling="replacement", bins=21), trials=50, seed=1
    ).assign_attrs(collection="c")


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>\s*([^<]*?)\s*</text>", svg)


@pytest.mark.parametrize("kind", ["rates", "bars"])
def test_words_and_numbers_of_a_picture_reach_the_page(result: xr.Dataset, kind: str) -> None:
    pair = [result, result.assign_attrs(collection="d")]
    figure = drawn(swap_rates, result) if kind == "rates" else drawn(sensitivity_bars, pair)
    raw = io.StringIO()
    with rc_context(STYLE):
        figure.savefig(raw, format="svg")
    assert texts(picture(figure, "d")) == texts(raw.getvalue()) != []


@pytest.mark.parametrize("analysis", [sc.Swap(size=20), sc.Stability(size=20), sc.Bootstrap()])
def test_a_figure_of_one_panel_is_drawn_into_given_axes(analysis: object) -> None:
    cube = simulate_cube(n_runs=4, seed=2, metrics=("AP", "RR"))
    result = sc.analyse(cube, analysis, trials=30, seed=1)  # type: ignore[arg-type]
    own = Figure()
    left, right = own.subplots(1, 2)
    assert sc.figure(result, ax=left) is left
    assert type(own) is Figure
    assert left.get_xlabel() == sc.figure(result).axes[0].get_xlabel() != ""
    assert len(left.get_children()) > len(right.get_children())
    assert not own.legends
    part: Any = own.subfigures()
    within = part.add_subplot()
    assert sc.figure(result, ax=within) is within


def test_the_first_metric_is_drawn_and_others_where_they_are_named() -> None:
    cube = simulate_cube(n_runs=4, seed=2, metrics=("AP", "RR"))
    result = sc.analyse(cube, sc.Leaderboard(), trials=30, seed=1)
    title = sc.figure(result).get_suptitle()
    assert "AP" in title
    assert "RR" not in title
    assert sc.figure(result, metrics=["RR"]).get_suptitle().startswith("RR,")
    with pytest.raises(BadPlan, match="about one metric"):
        sc.figure(result, metrics=["RR", "AP"])


def test_a_figure_is_at_most_a_page_high_and_says_what_it_leaves_out() -> None:
    result = sc.analyse(
        simulate_cube(n_runs=70, metrics=("AP",)), sc.Leaderboard(), trials=30, seed=1
    )
    drawn = sc.figure(result)
    assert drawn.get_size_inches()[1] <= PAGE_HEIGHT
    assert "the first 60 of 70 runs" in drawn.get_suptitle()
    assert len(drawn.axes[0].get_yticks()) == 60


def test_a_figure_of_panels_does_not_fit_into_axes(result: xr.Dataset) -> None:
    cube = simulate_cube(n_runs=4, seed=2)
    leaders = sc.analyse(cube, sc.Leaderboard(), trials=30, seed=1)
    axes = Figure().add_subplot()
    with pytest.raises(BadPlan, match="the figure of leaderboard is made of panels"):
        sc.figure(leaders, ax=axes)
    with pytest.raises(BadPlan, match="size is that of the figure of ax"):
        sc.figure(result, ax=axes, size=(3, 3))
    with pytest.raises(BadPlan, match="expected matplotlib Axes, found Figure"):
        sc.figure(result, ax=Figure())
    assert len(sc.figure(result).axes) == 1


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

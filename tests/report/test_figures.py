"""Pictures show the numbers of their results, and the page shows the pictures unchanged."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text

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


def test_numbers_to_be_read_keep_their_decimals() -> None:
    figure = Figure()
    figure.add_subplot().set_xticks([0.0, 1.0], ["0.025", "1.00375"])
    assert {"0.025", "1.00375"} <= set(texts(picture(figure, "d")))


def test_curves_are_the_swap_rates(result: xr.Dataset) -> None:
    for gain in ("3:2:1", "1:1:1"):
        lines = {
            line.get_label(): line
            for line in drawn(swap_rates, result.sel(gain=[gain])).axes[0].get_lines()
        }
        for metric in ("AP", "RR"):
            expected = result["swap_rate"].sel(metric=metric, gain=gain).isel(size=0).values
            np.testing.assert_array_equal(lines[metric].get_ydata(), expected)


def test_bars_are_the_shares_in_percent(result: xr.Dataset) -> None:
    pair = [result, result.assign_attrs(collection="d")]
    heights = [bar.get_height() for bar in drawn(sensitivity_bars, pair).axes[0].patches]  # type: ignore[attr-defined]
    expected = 100 * result["share"].sel(gain="3:2:1", confidence=0.95).isel(size=0).fillna(0.0)
    np.testing.assert_allclose(heights, np.repeat(expected.values, 2))


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
    parts = sc.figure(result, metrics=["RR", "AP"]).subfigs
    assert [part.get_suptitle().split()[0] for part in parts] == ["RR,", "AP,"]


def test_a_figure_is_at_most_a_page_high_and_says_what_it_leaves_out() -> None:
    result = sc.analyse(
        simulate_cube(n_runs=70, metrics=("AP",)), sc.Leaderboard(), trials=30, seed=1
    )
    drawn = sc.figure(result)
    assert drawn.get_size_inches()[1] <= PAGE_HEIGHT
    assert "the first 60 of 70 runs" in drawn.get_suptitle()
    assert len(drawn.axes[0].get_yticks()) == 60


def test_a_figure_of_some_metrics_of_a_correlation(tmp_path: Path) -> None:
    cube = simulate_cube(n_runs=6, metrics=("AP", "RR", "nDCG@10"))
    result = sc.analyse(cube, sc.Correlation(), trials=30, seed=1)
    labels = {text.get_text() for text in sc.figure(result, metrics=["AP", "RR"]).findobj(Text)}
    assert {"AP", "RR"} <= labels
    assert "nDCG@10" not in labels


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

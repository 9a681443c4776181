"""Curves of the figures are the numbers of the calculators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.lines import Line2D

import scorecube as sc
from scorecube.analyses.design_curves import CONDITIONS, four_z_squared
from scorecube.design import topic_set_size
from scorecube.design.power import tool_noncentrality
from scorecube.report.design import noncentrality_curves, tool_curves
from scorecube.report.drawing import drawn


def xs(line: Line2D) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(line.get_xdata(), np.float64)


def ys(line: Line2D) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(line.get_ydata(), np.float64)


def test_figure_1_of_s2() -> None:
    axes = drawn(noncentrality_curves).axes[0]
    lines = axes.get_lines()
    m = np.arange(2.0, 31.0)
    np.testing.assert_allclose(ys(lines[6]), tool_noncentrality(m, np.array(0.05), np.array(0.2)))
    flat = {round(float(ys(line)[0]), 3) for line in lines if line.get_linestyle() == "--"}
    assert flat == {15.366, 26.540}
    points = {
        (float(xs(line)[0]), float(ys(line)[0])) for line in lines if line.get_marker() == "o"
    }
    assert {x for x, _ in points} == {float(systems) for _, _, systems in CONDITIONS.values()}
    # (a) to (d) lie near the lines.
    assert all(
        min(abs(y / four_z_squared(alpha) - 1) for alpha in (0.01, 0.05)) < 0.02 for _, y in points
    )


@pytest.mark.parametrize("mode", ["sakai", "exact"])
def test_figure_2_of_s2(mode: str) -> None:
    figure = drawn(tool_curves, [0.0182, 0.1145], mode)
    for axes, variance in zip(figure.axes, (0.0182, 0.1145), strict=True):
        intervals, anova = axes.get_lines()
        x = xs(anova)
        np.testing.assert_array_equal(ys(anova), topic_set_size(variance, x, mode=mode)["topics"])
        np.testing.assert_array_equal(
            ys(intervals), topic_set_size(variance, width=x, method="ci")["topics"]
        )
        # The curves are surrogates of each other (S2 section 3): at most two topics or 2 % apart.
        assert (np.abs(ys(anova) - ys(intervals)) <= np.maximum(2, 0.02 * ys(intervals))).all()


@pytest.mark.parametrize("method", ["anova", "t", "ci"])
def test_sizes_by_difference(method: str) -> None:
    asked: dict[str, Any] = {"width": 0.1} if method == "ci" else {"min_diff": 0.1}
    result = topic_set_size([0.04, 0.08], method=method, **asked)
    axes = sc.figure(result).axes[0]
    curves, points = axes.get_lines()[::2], axes.get_lines()[1::2]
    for k, n in enumerate(result["topics"].values):
        assert curves[k].get_label() == f"variance {[0.04, 0.08][k]}"
        assert (xs(points[k]).tolist(), ys(points[k]).tolist()) == ([0.1], [n])
        x, y = xs(curves[k]), ys(curves[k])
        assert x.min() < 0.1 < x.max()
        assert (np.diff(y) <= 0).all()
        assert abs(np.interp(0.1, x, y) - n) <= 2

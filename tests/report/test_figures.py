"""Pictures show the numbers of their results, and the page shows the pictures unchanged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.report.drawing import PAGE_HEIGHT
from scorecube.report.study_tables import draw
from scorecube.testing import simulate_cube, simulate_rankings


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
    assert "60 of 70" in drawn.get_suptitle()
    assert len(drawn.axes[0].get_yticks()) == 60


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> sc.Study:
    cube = sc.evaluate(simulate_rankings(n_runs=5, seed=4), ["Q", "nDCG@10"], ["3:2:1", "1:1:1"])
    study = sc.open_study(tmp_path_factory.mktemp("panels") / "study.zarr", mode="a")
    study.add("one", cube=cube)
    swap = sc.Swap(size=(10, 20), sampling=("disjoint", "replacement"))
    entries = [sc.Entry(swap, trials=40, seed=1), sc.Entry(sc.Correlation(), seed=1)]
    sc.sweep(entries, study, workers=1)
    return study


def test_samplings_are_curves_of_one_panel(study: sc.Study) -> None:
    (axes,) = draw(study, "swap", by="sampling", form="curves").axes
    labels = [f"{m} ({s})" for s in ("disjoint", "replacement") for m in ("Q", "nDCG@10")]
    curves = {str(line.get_label()): line for line in axes.lines if line.get_label() in labels}
    assert list(curves) == labels
    assert len({str(line.get_color()) for line in curves.values()}) == len(labels)
    rates = study["one"].result("swap")["swap_rate"].isel(gain=0, size=-1)
    for label, line in curves.items():
        metric, _, sampling = label.rstrip(")").partition(" (")
        expected = rates.sel(metric=metric, sampling=sampling).values
        np.testing.assert_array_equal(np.asarray(line.get_ydata()), expected)


def test_gain_settings_are_curves_of_one_panel(study: sc.Study) -> None:
    (axes,) = draw(study, "correlate", by="gain", form="curves").axes
    assert "gains" not in axes.get_title(loc="left")
    lines = [line for line in axes.lines if str(line.get_label())[0] != "_"]
    highest = max(np.max(np.asarray(line.get_ydata())) for line in lines)
    means = study["one"].result("correlate")["sorted_mean"]
    assert axes.get_ylim()[1] > highest == pytest.approx(float(means.max()))
    ends = {"3:2:1)": 2, "1:1:1)": 2}
    assert Counter(str(line.get_label()).rpartition("(")[2] for line in lines) == ends


def test_shares_are_bars_by_value_for_each_confidence(study: sc.Study) -> None:
    result = study["one"].result("swap")
    shares = 100 * result["share"].sel(gain="3:2:1", size=20).fillna(0)
    levels = sorted(result["confidence"].values.tolist(), reverse=True)
    panels = draw(study, "swap", by="sampling", form="bars").axes
    for axes, level in zip(panels, levels, strict=True):
        assert f"{level:.0%}" in axes.get_ylabel()
        assert [text.get_text() for text in axes.get_xticklabels()] == ["disjoint", "replacement"]
        for bars, metric in zip(axes.containers, ("Q", "nDCG@10"), strict=True):
            expected = shares.sel(metric=metric, confidence=level).values
            assert [bar.get_height() for bar in bars] == pytest.approx(expected)
    with pytest.raises(BadPlan, match="no bars"):
        draw(study, "correlate", by="gain", form="bars")


def test_mean_scores_of_collections_are_sorted_curves(tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "study.zarr", mode="a")
    cubes = {f"c{k}": simulate_cube(n_runs=6 + k, seed=k) for k in range(3)}
    for name, cube in cubes.items():
        study.add(name, cube=cube)
    (axes,) = draw(study, "scores", metrics=["AP"]).axes
    assert [str(line.get_label()) for line in axes.lines] == list(cubes)
    for line, cube in zip(axes.lines, cubes.values(), strict=True):
        means = cube["score"].sel(metric="AP").isel(gain=0).mean("topic").values
        assert np.asarray(line.get_ydata()) == pytest.approx(np.sort(means)[::-1])

"""Figures of each gain setting, size or value of an option, and of collections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.report.study import draw
from scorecube.testing import simulate_cube, simulate_rankings


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> sc.Study:
    cube = sc.evaluate(simulate_rankings(n_runs=5, seed=4), ["Q", "nDCG@10"], ["3:2:1", "1:1:1"])
    study = sc.open_study(Path(tmp_path_factory.mktemp("panels"), "study.zarr"), mode="a")
    study.add("one", cube=cube)
    analyses = [
        *(sc.Swap(size=(10, 20), sampling=sampling) for sampling in ("disjoint", "replacement")),
        sc.Correlation(),
    ]
    sc.sweep([sc.Entry(each, trials=40, seed=1) for each in analyses], study, workers=1)
    return study


def test_conditions_are_curves_of_one_panel(study: sc.Study) -> None:
    (axes,) = draw(study, "swap", by="sampling", form="curves").axes
    labels = [f"{m} ({s})" for s in ("disjoint", "replacement") for m in ("Q", "nDCG@10")]
    curves = {str(line.get_label()): line for line in axes.lines if line.get_label() in labels}
    assert list(curves) == labels  # samplings in the papers' order
    assert len({str(line.get_color()) for line in curves.values()}) == len(labels)
    for result in study["one"].results("swap"):
        for metric in ("Q", "nDCG@10"):
            line = curves[f"{metric} ({result.attrs['sampling']})"]
            expected = result["swap_rate"].isel(gain=0, size=-1).sel(metric=metric).values
            np.testing.assert_array_equal(np.asarray(line.get_ydata()), expected)


def test_gain_settings_are_curves_of_one_panel(study: sc.Study) -> None:
    (axes,) = draw(study, "correlate", by="gain", form="curves").axes
    result = study["one"].result("correlate")
    lines = [line for line in axes.lines if str(line.get_label())[0] != "_"]
    assert len(lines) == 4
    highest = max(np.max(np.asarray(line.get_ydata())) for line in lines)
    assert axes.get_ylim()[1] > highest == pytest.approx(float(result["mean"].max()))
    assert {str(line.get_label()).rpartition("(")[2] for line in lines} == {"3:2:1)", "1:1:1)"}


def test_shares_are_bars_by_value_for_each_confidence(study: sc.Study) -> None:
    drawn = draw(study, "swap", by="sampling", form="bars")
    result = study["one"].results("swap")[0]
    levels = sorted(result["confidence"].values.tolist(), reverse=True)
    assert [f"{level:.0%}" in axes.get_ylabel() for level, axes in zip(levels, drawn.axes, strict=True)] == [True] * len(levels)  # fmt: skip
    for axes, level in zip(drawn.axes, levels, strict=True):
        assert [text.get_text() for text in axes.get_xticklabels()] == ["disjoint", "replacement"]
        frames = {each.attrs["sampling"]: sc.table(each) for each in study["one"].results("swap")}
        for bars, metric in zip(axes.containers, ("Q", "nDCG@10"), strict=True):
            for bar, sampling in zip(bars, ("disjoint", "replacement"), strict=True):
                frame = frames[sampling]
                of_bar = (
                    (frame["metric"] == metric) & (frame["gain"] == "3:2:1") & (frame["size"] == 20)
                )
                rows = frame[of_bar & np.isclose(frame["confidence"], level)]
                (row,) = rows.to_dict("records")
                assert bar.get_height() == pytest.approx(100 * np.nan_to_num(row["share"]))
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

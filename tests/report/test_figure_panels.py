"""Figures with a panel for each gain setting, size or value of an option."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.report.study_overview import draw
from scorecube.testing import simulate_rankings


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> sc.Study:
    cube = sc.evaluate(simulate_rankings(n_runs=5, seed=4), ["Q", "nDCG@10"], ["3:2:1", "1:1:1"])
    study = sc.open_study(Path(tmp_path_factory.mktemp("panels"), "study.zarr"), mode="a")
    study.add("one", cube=cube)
    analyses = [
        *(sc.Swap(size=(10, 20), sampling=sampling) for sampling in ("disjoint", "replacement")),
        sc.Correlation(),
    ]
    sc.sweep(study, [sc.Entry(each, trials=40, seed=1) for each in analyses], workers=1)
    return study


@pytest.mark.parametrize(
    ("by", "values"),
    [
        ("gain", ("3:2:1", "1:1:1")),
        ("size", ("10", "20")),
        ("sampling", ("disjoint", "replacement")),
    ],
)
def test_each_value_has_a_panel(study: sc.Study, by: str, values: tuple[str, ...]) -> None:
    drawn = draw(study, "swap", by=by)
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert [title.splitlines()[0] for title in titles] == [f"{by} {value}" for value in values]
    assert len({axes.get_xlim() for axes in drawn.axes}) == 1
    curves = [
        [list(np.asarray(line.get_ydata())) for line in axes.lines[:2]] for axes in drawn.axes
    ]
    assert curves[0] != curves[1]


def test_panels_are_those_of_the_results(study: sc.Study) -> None:
    (first, _) = draw(study, "swap", by="sampling", metrics=["Q"]).axes
    (result,) = (
        each for each in study["one"].results("swap") if each.attrs["sampling"] == "disjoint"
    )
    expected = result["swap_rate"].isel(gain=0, size=-1).sel(metric="Q").values
    assert np.asarray(first.lines[0].get_ydata()) == pytest.approx(expected, nan_ok=True)


def test_what_has_no_panels_is_refused(study: sc.Study) -> None:
    with pytest.raises(BadPlan, match=r"takes at least two different values of it; swap has: s0$"):
        draw(study, "swap", by="rule")
    with pytest.raises(BadPlan, match=r"expected gain, or an option of swap: .*sampling"):
        draw(study, "swap", by="colour")


def test_figures_of_several_panels_stand_below_each_other(study: sc.Study) -> None:
    parts = draw(study, "correlate", by="gain").subfigs
    assert [part.get_suptitle().split(": ")[0] for part in parts] == ["gain 3:2:1", "gain 1:1:1"]
    assert all(part.get_axes() or part.subfigs for part in parts)

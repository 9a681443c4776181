"""What new users try in Python: it works, or the message says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput, BadName, BadPlan
from scorecube.testing import simulate_cube

if TYPE_CHECKING:
    from tests.conftest import Cli


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=6)


@pytest.fixture(scope="module")
def leaders(cube: xr.Dataset) -> xr.Dataset:
    return sc.analyse(cube, sc.Leaderboard(baseline="team01-run1"), trials=100, seed=1)


def test_public_names_are_listed_and_typos_answered() -> None:
    assert {"report", "latex", "markdown"} <= set(dir(sc))
    with pytest.raises(AttributeError, match="Did you mean 'Leaderboard'"):
        _ = sc.leaderboard


def test_variances_go_into_topic_set_size_and_widths(cube: xr.Dataset) -> None:
    found = sc.variances(cube)
    sizes = sc.topic_set_size(found, min_diff=0.1)
    (value,) = found["residual_variance"].sel(metric="AP").values
    alone = sc.topic_set_size(value, min_diff=0.1, paired=True)
    assert int(sizes["topics"].sel(metric="AP").item()) == int(alone["topics"])
    assert sc.wcw(found, 50)["width"].dims == ("metric", "gain")
    with pytest.raises(BadPlan, match=r"variances\(cube\)"):
        sc.topic_set_size(cube, min_diff=0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda cube: sc.analyse(cube, sc.Bootstrap(), trials=20, seed=1)["p_value"].values,
        lambda cube: cube.scorecube.swap(size=20, trials=20, seed=1)["swap_rate"].values,
        lambda cube: sc.select(cube, top_runs=2)["score"].values,
        lambda cube: sc.variances(cube)["variance"].values,
        lambda cube: sc.standardise(cube)["score"].values,
        lambda cube: sc.table(cube, "means")["mean"].to_numpy(),
        lambda cube: sc.topic_set_size(sc.variances(cube), 0.1)["topics"].values,
    ],
)
def test_one_metric_or_gain_setting_without_its_dim(
    cube: xr.Dataset, call: Callable[[xr.Dataset], Any]
) -> None:
    whole = call(cube.sel(metric=["AP"]))
    for part in (cube.sel(metric="AP"), cube.sel(metric="AP").isel(gain=0)):
        np.testing.assert_array_equal(call(part), whole)


def test_one_metric_in_a_study_and_in_figures(cube: xr.Dataset, tmp_path: Path) -> None:
    study = sc.open_study(str(tmp_path / "study.zarr"), mode="a")
    study.add("one", cube=cube.sel(metric="AP"))
    assert study["one"].cube["metric"].values.tolist() == ["AP"]
    assert sc.figure(cube.sel(metric="AP")).axes
    scores = cube["score"]
    assert sc.analyse(scores, sc.Swap(size=20), trials=5, seed=1).sizes["metric"] == 2


def test_arrays_with_labels() -> None:
    values = np.arange(6.0).reshape(2, 3) / 10
    labels: dict[str, Any] = {"runs": ["b", "a"], "topics": range(1, 4)}
    one = sc.cube_from_scores(values, **labels)
    assert one["score"].sel(run="b").values.ravel().tolist() == values[0].tolist()
    assert one["topic"].values.tolist() == ["1", "2", "3"]
    both = sc.cube_from_scores({"AP": values, "Q": values.tolist()}, **labels)
    assert both["metric"].values.tolist() == ["AP", "Q"]
    with pytest.raises(
        BadInput, match=r"scores are arrays, which have no labels; add runs=\[...\]"
    ):
        sc.cube_from_scores({"AP": values})
    with pytest.raises(BadInput, match=r"array of AP is not of runs x topics"):
        sc.cube_from_scores({"AP": values}, runs="ab", topics="12")
    frame = pd.DataFrame(values, ["a", "b"], list("123"))
    with pytest.raises(BadInput, match="runs and topics are labels of arrays"):
        sc.cube_from_scores({"AP": frame}, **labels)


def test_reports_of_what_is_in_memory(
    cube: xr.Dataset, leaders: xr.Dataset, tmp_path: Path
) -> None:
    alone = Path(sc.report(cube, str(tmp_path / "cube.html"))).read_text()
    assert "How many topics are needed?" in alone
    both = Path(sc.report([cube, leaders], str(tmp_path / "both.html"))).read_text()
    assert "Leaderboard" in both
    with pytest.raises(
        BadInput, match=r"about one cube; found 0 cubes and 1 results: report\(\[cube"
    ):
        sc.report(leaders, str(tmp_path / "result.html"))


def test_a_study_or_frame_in_place_of_a_result_is_answered(
    cube: xr.Dataset, leaders: xr.Dataset, tmp_path: Path
) -> None:
    study: Any = sc.open_study(str(tmp_path / "study.zarr"), mode="a")
    study.add("one", cube=cube)
    with pytest.raises(BadInput, match=r"found a Collection; take its \.cube, or \.result"):
        sc.analyse(study["one"], sc.Swap(size=20), trials=5)
    with pytest.raises(BadInput, match=r"found a Study; take study\[name\]"):
        sc.table(study)
    frame: Any = sc.table(leaders)
    for call in (sc.table, sc.latex, sc.markdown, sc.figure, sc.variances):
        with pytest.raises(BadInput, match=r"expected an xarray Dataset.*; found a DataFrame"):
            call(frame)


def test_columns_that_do_not_exist_or_are_no_list(leaders: xr.Dataset) -> None:
    with pytest.raises(BadName, match=r"no column 'mena'; the table has: .*rank_set"):
        sc.latex(leaders, columns=["run", "mena"])
    with pytest.raises(BadPlan, match=r"columns: expected a list, such as \['run', 'mean'\]"):
        sc.latex(leaders, columns="run, mean")
    with pytest.raises(BadName, match="no metric 'nDCG@11' in the result"):
        sc.markdown(leaders, metrics=["nDCG@11"])


def test_a_table_for_a_paper(leaders: xr.Dataset) -> None:
    text = sc.latex(leaders, columns=["run", "mean", "rank_set"], top=3, metrics=["AP"])
    lines = text.splitlines()
    assert lines[0] == r"\begin{table}"
    assert lines[5] == r"run & mean & rank set \\"
    rows = lines[7:-3]
    expected = sc.table(leaders).query("metric == 'AP'").head(3)
    assert [row.split(" & ")[0] for row in rows] == expected["run"].tolist()
    assert [row.split(" & ")[2] for row in rows] == [
        f"{low}--{high} \\\\"
        for low, high in zip(expected["rank_low"], expected["rank_high"], strict=True)
    ]
    for word in ("6 runs", "50 topics", "100 trials", "seed 1", "metric AP"):
        assert word in lines[2]


def test_a_matrix_says_what_its_marks_mean(leaders: xr.Dataset) -> None:
    text = sc.latex(leaders, "matrix", top=2, metrics=["nDCG@10", "AP"])
    assert r"run & nDCG@10 & AP \\" in text
    first = sc.table(leaders).query("metric == 'nDCG@10'")["run"].tolist()[:2]
    rows = text.partition("\\midrule\n")[2].splitlines()[:2]
    assert [row.split(" & ")[0] for row in rows] == first
    caption = text.splitlines()[2]
    assert (
        r"\textsuperscript{\dag} (\textsuperscript{\ddag}): significantly better (worse)" in caption
    )


@pytest.mark.parametrize(
    "analysis",
    [sc.Paired(), sc.Bootstrap(), sc.Randomisation(), sc.Tukey(), sc.MaxT()],
    ids=lambda each: each.name,
)
def test_pairs_have_the_same_columns_in_all_tests(cube: xr.Dataset, analysis: Any) -> None:
    result = sc.analyse(cube, analysis, trials=200, seed=1)
    frame = sc.table(result, "pairs").query("metric == 'AP'")
    shared = {"mean_difference", "difference_low", "difference_high", "effect_size"}
    assert shared <= {*frame}
    adjusted = {"p_value_holm", "p_single"} & {*frame}
    assert len(adjusted) == 1
    scores = cube["score"].sel(metric="AP").isel(gain=0)
    residuals = scores - scores.mean("run") - scores.mean("topic") + scores.mean()
    variance = float((residuals**2).sum()) / (5 * 49)
    for row in frame.to_dict("records"):
        x = (scores.sel(run=row["run_a"]) - scores.sel(run=row["run_b"])).values
        assert row["effect_size"] == pytest.approx(x.mean() / variance**0.5, abs=1e-5)
        assert row["d_z"] == pytest.approx(x.mean() / x.std(ddof=1), abs=1e-5)
        if analysis.name in ("paired", "bootstrap", "randomisation"):
            expected = scipy.stats.ttest_1samp(x, 0.0).confidence_interval(0.95)
            assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(expected))
        if analysis.name in ("tukey", "maxt"):
            assert row["p_single"] == pytest.approx(
                scipy.stats.ttest_1samp(x, 0.0).pvalue, abs=1e-5
            )


def test_limits_of_tukeys_test_agree_with_its_p_values(cube: xr.Dataset) -> None:
    result = sc.analyse(cube, sc.Tukey(alphas=(0.05,)), trials=500, seed=1)
    frame = sc.table(result, "pairs")
    without_zero = (frame["difference_low"] > 0) | (frame["difference_high"] < 0)
    assert (without_zero == (frame["p_value"] < 0.05)).all()
    assert without_zero.any()
    assert not without_zero.all()


def test_limits_of_differences_that_do_not_vary() -> None:
    """Equal scores have no known spread; a constant difference has none."""
    values = np.random.default_rng(1).random(8)
    matrix = np.array([values, values, values / 2, values / 2 + 0.25])
    cube = sc.cube_from_scores(matrix, runs="abcd", topics=range(8))
    frame = sc.table(sc.analyse(cube, sc.Bootstrap(), trials=50, seed=1), "pairs")
    equal, constant = frame.iloc[0], frame.iloc[-1]
    assert np.isnan(equal["difference_low"])
    assert (constant["difference_low"], constant["difference_high"]) == pytest.approx(
        (-0.25, -0.25)
    )


def test_a_metric_of_a_table_is_the_column_of_its_name(scorecube: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        "model,item,accuracy,score,benchmark\na,1,1,0.3,x\na,2,0,0.4,x\nb,1,1,0.5,x\nb,2,1,0.6,x\n"
    )
    study = tmp_path / "s.zarr"
    scorecube("import", study, tmp_path / "s.csv", "--metric", "accuracy").succeeded()
    cells = sc.table(sc.open_study(study)["x"].cube, "cells")
    assert cells["metric"].unique().tolist() == ["accuracy"]
    assert cells["score"].tolist() == [1, 0, 1, 1]


def test_editors_know_the_choices_of_options() -> None:
    assert set(get_args(get_type_hints(sc.Swap)["sampling"])) >= {"disjoint", "replacement"}

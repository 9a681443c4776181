"""What new users try in Python: it works, or the message says what to write instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput, BadPlan
from scorecube.testing import simulate_cube

if TYPE_CHECKING:
    from tests.conftest import Cli


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=6)


def test_variances_go_into_topic_set_size_and_widths(cube: xr.Dataset) -> None:
    found = sc.variances(cube)
    sizes = sc.topic_set_size(found, min_diff=0.1)
    (value,) = found["paired_variance"].sel(metric="AP").values
    alone = sc.topic_set_size(value, min_diff=0.1, variance_of="paired")
    assert int(sizes["topics"].sel(metric="AP").item()) == int(alone["topics"])
    assert sc.wcw(found, 50)["width"].dims == ("metric", "gain")
    with pytest.raises(BadPlan, match=r"variances\(cube\)"):
        sc.topic_set_size(cube, min_diff=0.1)


def test_arrays_with_labels() -> None:
    values = np.arange(6.0).reshape(2, 3) / 10
    labels: dict[str, Any] = {"runs": ["b", "a"], "topics": range(1, 4)}
    one = sc.cube_from_scores(values, **labels)
    assert one["score"].sel(run="b").values.ravel().tolist() == values[0].tolist()
    assert one["topic"].values.tolist() == ["1", "2", "3"]
    both = sc.cube_from_scores({"AP": values, "Q": values.tolist()}, **labels)
    assert both["metric"].values.tolist() == ["AP", "Q"]
    others: list[dict[str, Any]] = [{}, {"runs": "ab", "topics": "12"}]
    for wrong in others:
        with pytest.raises((BadInput, ValueError)):
            sc.cube_from_scores({"AP": values}, **wrong)


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
            assert "joint_low" not in row
        expected = scipy.stats.ttest_1samp(x, 0.0).confidence_interval(0.95)
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(expected))
        if analysis.name in ("tukey", "maxt"):
            assert row["p_single"] == pytest.approx(
                scipy.stats.ttest_1samp(x, 0.0).pvalue, abs=1e-5
            )


def test_limits_of_tukeys_test_agree_with_its_p_values(cube: xr.Dataset) -> None:
    result = sc.analyse(cube, sc.Tukey(alphas=(0.05,)), trials=500, seed=1)
    frame = sc.table(result, "pairs")
    without_zero = (frame["joint_low"] > 0) | (frame["joint_high"] < 0)
    assert (without_zero == (frame["p_value"] < 0.05)).all()
    assert without_zero.any()
    assert not without_zero.all()


def test_limits_of_differences_that_do_not_vary() -> None:
    """With a range they have a width, within it, in every test; without one they are missing."""
    values = np.random.default_rng(1).random(12) / 2
    matrix = np.array([values, values, values / 2, values / 2 + 0.25])
    for name, known in (("AP", True), ("my score", False)):
        cube = sc.cube_from_scores({name: pd.DataFrame(matrix, list("abcd"))})
        for analysis in (sc.Bootstrap(), sc.Tukey(), sc.MaxT()):
            frame = sc.table(sc.analyse(cube, analysis, trials=99, seed=1), "pairs")
            still = frame.iloc[[0, -1]]  # equal scores, and a constant difference
            width = still["difference_high"] - still["difference_low"]
            assert (width.between(0.1, 2) if known else width.isna()).all()
            if analysis.name == "tukey":
                width = still["joint_high"] - still["joint_low"]
                assert (width.between(0.1, 2) if known else width.isna()).all()
            assert still[["t", "d_z"]].isna().all(axis=None)
            assert (frame["difference_low"].dropna().min() >= -1) or not known


def test_limits_of_tukeys_test_stay_within_the_range_of_0_and_1() -> None:
    right = np.random.default_rng(1).random((4, 20)) < 0.7
    scores = np.vstack([np.zeros(20), np.ones(20), right]) * 1.0
    frame = sc.table(sc.analyse(sc.cube_from_scores({"accuracy": pd.DataFrame(scores)}), sc.Tukey(), trials=200, seed=1), "pairs")  # fmt: skip
    assert (frame["joint_low"] >= -1).all()
    assert (frame["joint_high"] <= 1).all()
    assert (frame["joint_high"] - frame["joint_low"] > 0.05).all()
    # They hold those of each pair by itself.
    assert (frame["joint_low"] <= frame["difference_low"]).all()
    assert (frame["joint_high"] >= frame["difference_high"]).all()


def test_a_papers_setting_has_plain_limits_and_counts(tmp_path: Path, scorecube: Cli) -> None:
    chance = np.random.default_rng(1)
    right = chance.random((2, 60)) < np.array([[0.3], [0.9]])
    cube = sc.cube_from_scores({"accuracy": pd.DataFrame(right * 1.0, ["a", "b"])})
    sc.open_study(tmp_path / "s", mode="a").add("c", cube=cube)
    scorecube("bootstrap", tmp_path / "s", "--as", "sakai-2007").succeeded()
    text = scorecube("show", tmp_path / "s", "bootstrap", "--table", "pairs").succeeded().stdout
    assert "<0.001" in text
    row = json.loads(scorecube("show", tmp_path / "s", "bootstrap", "--table", "pairs", "--format", "json").succeeded().stdout)[0]  # fmt: skip
    difference = right[0] * 1.0 - right[1]
    expected = scipy.stats.ttest_1samp(difference, 0.0).confidence_interval(0.95)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(expected))
    assert row["p_value"] == 0
    guarded = sc.table(sc.analyse(cube, sc.Bootstrap(), trials=99), "pairs").iloc[0]
    assert guarded["difference_high"] > row["difference_high"]


def test_terminals_print_the_limits_of_a_pair_beside_t_alone(
    tmp_path: Path, scorecube: Cli, cube: xr.Dataset
) -> None:
    sc.open_study(tmp_path / "s", mode="a").add("c", cube=cube)
    shown = {}
    for words in (["paired", "--tests", "t,sign"], ["bootstrap", "--trials", "99"], ["tukey", "--trials", "99"]):  # fmt: skip
        scorecube(words[0], tmp_path / "s", *words[1:]).succeeded()
        columns = "test,run_a,run_b,mean_difference" + ",joint_limits" * (words[0] == "tukey")
        shown[words[0]] = scorecube("show", tmp_path / "s", words[0], "--table", "pairs", "--columns", columns).succeeded().stdout  # fmt: skip
    rows = [line for line in shown["paired"].splitlines() if "team" in line]
    assert rows
    assert all(("(" in row) == (" t " in row) for row in rows)
    assert {"(" in row for row in rows} == {True, False}
    assert "(" not in shown["bootstrap"]
    row = sc.table(sc.open_study(tmp_path / "s")["c"].result("tukey"), "pairs").iloc[0]
    assert f"({row['joint_low']:.2f} to {row['joint_high']:.2f})" in shown["tukey"]

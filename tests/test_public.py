"""What new users try in Python: it works, or the message says what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput, BadPlan
from scorecube.testing import simulate_cube


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
    for wrong in ({}, {"runs": "ab", "topics": "12"}):
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

"""The table of pairs of each test: variables, adjusted p-values, a baseline, and what is refused."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.multitest import multipletests

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.analyses.topic_units import groups_left_out
from scorecube.errors import BadPlan
from scorecube.methods import index
from scorecube.testing import simulate_cube

CUBE = simulate_cube(n_runs=7, seed=8).isel(topic=slice(12))
ALPHAS = (0.05, 0.3)
MADE: dict[str, Any] = {
    "bootstrap": sc.Bootstrap(alphas=ALPHAS),
    "count / B": sc.Bootstrap(alphas=ALPHAS, plus_one=False),
    "randomisation": sc.Randomisation(alphas=ALPHAS),
    "tukey": sc.Tukey(alphas=ALPHAS),
    "maxt": sc.MaxT(alphas=ALPHAS),
    "paired": sc.Paired(alphas=ALPHAS, margin=0.05, tests=("t", "sign")),
}
BY_PAIR = ("p_value", "reached", "t", "equivalence_p_value", "difference_low")


@pytest.mark.parametrize("name", MADE)
def test_variables_are_as_declared_and_follow_from_p_values(name: str) -> None:
    result = sc.analyse(CUBE, MADE[name], trials=60, seed=1)
    declared = {each.name: each for each in index.load(result.attrs["analysis"]).variables}
    for variable, array in result.data_vars.items():
        known = declared[str(variable)]
        assert (array.dims, array.attrs["role"]) == (known.dims, known.role), variable
        assert array.dtype.kind in known.kinds, variable
    p = result["p_value"]
    for alpha in ALPHAS:
        at = result.sel(alpha=alpha)
        np.testing.assert_array_equal(at["significant"], (p < alpha).sum("pair"))
        np.testing.assert_array_equal(at["share"], (p < alpha).mean("pair"))
    assert ("p_value_holm" in result) == (name not in ("tukey", "maxt"))
    if "p_value_holm" in result:
        safe = (result["reached"] + 1) / 61 if "reached" in result else p
        for name, method in (("holm", "holm"), ("bh", "fdr_bh")):
            expected = [multipletests(p, method=method)[1] for p in safe.values.reshape(-1, 21)]
            found = result[f"p_value_{name}"].values.reshape(-1, 21)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def with_last(position: int) -> tuple[xr.Dataset, str]:
    """Return a cube whose last run stands at a position in the order of labels, and its name."""
    runs = [f"run{k}" for k in range(7)]
    order = [*range(position), 6, *range(position, 6)]
    cube = CUBE.isel(run=order).assign_coords(run=runs)
    return cube, runs[position]


@pytest.mark.parametrize("position", [0, 3, 6])
@pytest.mark.parametrize("name", ["bootstrap", "count / B", "randomisation", "paired"])
def test_a_baseline_tests_the_pairs_of_the_last_run(name: str, position: int) -> None:
    """The pairs with the last label are (other, last) without a baseline, so signs agree, too."""
    options = {key: getattr(MADE[name], key) for key in MADE[name].options()}
    expected = sc.analyse(with_last(6)[0], MADE[name], trials=60, seed=3)
    expected = expected.isel(pair=expected["run_b"].values == "run6")
    moved, baseline = with_last(position)
    analysis = type(MADE[name])(**{**options, "baseline": baseline})
    found = sc.analyse(moved, analysis, trials=60, seed=3)
    assert set(found["run_b"].values) == {baseline}
    assert found["run_a"].values.tolist() == [f"run{k}" for k in range(7) if k != position]
    for variable in set(BY_PAIR) & set(expected.data_vars):
        np.testing.assert_array_equal(found[variable], expected[variable], str(variable))
    below = found["p_value"] < found["alpha"]
    np.testing.assert_array_equal(found["significant"], below.sum("pair").transpose(..., "alpha"))


@pytest.mark.parametrize("analysis", [sc.MaxT(), sc.Leaderboard(), sc.Bootstrap(), sc.Paired()])
def test_binary_scores_of_few_topics_are_refused_or_noted(analysis: Any) -> None:
    """Families of pairs of runs with equal means erred in .22 to .88 with 3 to 5 topics."""
    binary = np.random.default_rng(2).integers(0, 2, (6, 11)).astype(float)
    labels = [f"r{k}" for k in range(6)], [f"t{k}" for k in range(11)]
    cube = sc.cube_from_scores({"Success@5": pd.DataFrame(binary, *labels)})
    for n_topics in (3, 5):
        few = cube.isel(topic=slice(n_topics))
        if isinstance(analysis, sc.Leaderboard):  # of a board, one collection may be small
            assert any(str(n_topics) in note for note in make_plan(few, analysis).warnings)
            continue
        with pytest.raises(BadPlan, match=str(n_topics)):
            make_plan(few, analysis)
    noted, silent = (make_plan(cube.isel(topic=slice(n)), analysis).warnings for n in (10, 11))
    assert len(noted) == len(silent) + 1


def test_the_estimated_difference_of_tukey_is_what_separates_pairs() -> None:
    """Sakai 2012: the range of rank B alpha, from plain permutations of the runs within topics."""
    cube = simulate_cube(n_runs=6, seed=4, metrics=("AP",))
    test = sc.Tukey(alphas=(0.3, 0.05))
    result = sc.analyse(cube, test, trials=200, seed=3).isel(metric=0, gain=0)
    places = sc.samples(cube, test, trials=200, seed=3)["run_permutation"]
    scores = cube["score"].values[0, 0]
    ranges = []
    for order in places.transpose("trial", "unit", "run").values:
        means = [float(np.mean([scores[order[t][r], t] for t in range(50)])) for r in range(6)]
        ranges.append(max(means) - min(means))
    ranges.sort(reverse=True)
    for k, alpha in enumerate(test.alphas):
        needed = float(result["estimated_difference"][k])
        assert needed == pytest.approx(ranges[round(alpha * 200) - 1], abs=1e-6)
        apart = np.abs(result["mean_difference"].values)
        separated = result["p_value"].values < alpha
        assert apart[separated].min() > needed >= apart[~separated].max()


def test_limits_of_effect_sizes_are_those_of_a_plain_jackknife() -> None:
    """Ten groups of topics, each left out of means and of the residual deviation (V_E2 of Sakai 2014)."""
    cube = simulate_cube(n_runs=5, seed=8, metrics=("AP",))
    scores = cube["score"].values[0, 0]
    group = groups_left_out([scores.shape[1]])

    def effect(kept: np.ndarray[Any, Any], a: int, b: int) -> float:
        part = scores[:, kept]
        k, n = part.shape
        rest = part - part.mean(axis=0) - part.mean(axis=1, keepdims=True) + part.mean()
        return float((part[a] - part[b]).mean() / math.sqrt((rest**2).sum() / ((k - 1) * (n - 1))))

    found = sc.analyse(cube, sc.Paired()).isel(metric=0, gain=0)
    for pair, (a, b) in enumerate(combinations(range(5), 2)):
        each = [effect(group != k, a, b) for k in range(10)]
        whole = effect(group >= 0, a, b)
        half = stats.t.ppf(0.975, 9) * math.sqrt(
            0.9 * sum((one - np.mean(each)) ** 2 for one in each)
        )
        of_pair = found.isel(pair=pair)
        ends = of_pair["effect_size_low"].item(), of_pair["effect_size_high"].item()
        assert ends == pytest.approx((whole - half, whole + half), rel=1e-9)
    few = sc.analyse(cube.isel(topic=slice(4)), sc.Paired())
    assert few["effect_size_low"].isnull().all()

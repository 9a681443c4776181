"""What follows from results of tests of pairs of runs, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.analyses.protocol import Analysis
from scorecube.testing import simulate_cube

CUBE = simulate_cube(n_runs=8, seed=4, metrics=("AP", "RR")).isel(topic=slice(12))
BASELINE = "team02-run1"
ALPHAS = (0.05, 0.3)
MADE: dict[str, tuple[xr.Dataset, Analysis]] = {
    "bootstrap": (CUBE, sc.Bootstrap(alphas=ALPHAS)),
    "baseline": (CUBE, sc.Bootstrap(alphas=ALPHAS, baseline=BASELINE)),
    "tukey": (CUBE, sc.Tukey(alphas=ALPHAS)),
    "maxt": (CUBE, sc.MaxT(alphas=ALPHAS)),
    "paired": (CUBE, sc.Paired(alphas=ALPHAS)),
    "margin": (CUBE, sc.Paired(alphas=ALPHAS, margin=0.1)),
    "margin, baseline": (CUBE, sc.Paired(alphas=ALPHAS, margin=0.1, baseline=BASELINE)),
}
ADJUSTED = ("bootstrap", "baseline", "paired", "margin, baseline")


@pytest.fixture(scope="module")
def results() -> dict[str, xr.Dataset]:
    return {
        name: sc.analyse(cube, analysis, trials=60, seed=1)
        for name, (cube, analysis) in MADE.items()
    }


def holm(p: Sequence[float]) -> list[float]:
    """Holm 1979: the k-th smallest of m times m - k + 1, at most 1, never less than one before it; NaN is no test."""
    known = sorted((value, k) for k, value in enumerate(p) if not math.isnan(value))
    found, least = [math.nan] * len(p), 0.0
    for smaller, (value, k) in enumerate(known):
        least = max(least, min(1.0, (len(known) - smaller) * value))
        found[k] = least
    return found


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg 1995: the k-th smallest of m times m / k, never more than one behind it; NaN is no test."""
    known = sorted((value, k) for k, value in enumerate(p) if not math.isnan(value))
    found, most = [math.nan] * len(p), 1.0
    for rank in range(len(known), 0, -1):
        value, k = known[rank - 1]
        most = min(most, value * len(known) / rank)
        found[k] = most
    return found


ORACLES: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "none": list,
    "holm": holm,
    "bh": benjamini_hochberg,
}


def rows(*arrays: xr.DataArray) -> list[tuple[Any, ...]]:
    """Return the values of pairs of each metric, gain setting and test."""
    count = math.prod(arrays[0].shape[:-1])
    return list(zip(*(each.values.reshape(count, -1).tolist() for each in arrays), strict=True))


@pytest.mark.parametrize("name", MADE)
def test_what_follows_is_there_with_its_dims_and_role(
    results: dict[str, xr.Dataset], name: str
) -> None:
    result = results[name]
    known = {each.name: each for each in registry.variables(result.attrs["analysis"])}
    for variable in map(str, result.data_vars):
        array, declared = result[variable], known[variable]
        assert array.dims == declared.dims, variable
        assert array.dtype.kind in declared.kinds, variable
        assert (array.attrs["role"], array.attrs["units"]) == (declared.role, declared.units)


@pytest.mark.parametrize("name", ADJUSTED)
@pytest.mark.parametrize("method", ["holm", "bh"])
def test_adjusted_p_values_are_arrays(
    results: dict[str, xr.Dataset], name: str, method: str
) -> None:
    result = results[name]
    found = result[f"p_value_{method}"]
    assert isinstance(found, xr.DataArray)
    assert found.attrs["role"] == "p_value"
    assert found.dims == result["p_value"].dims
    plain = result["p_value"]
    if "reached" in result:
        plain = ((result["reached"] + 1) / 61).where(plain.notnull())
    for before, after in rows(plain, found):
        assert after == pytest.approx(ORACLES[method](before), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["tukey", "maxt"])
def test_p_values_of_all_pairs_together_are_not_adjusted_again(
    results: dict[str, xr.Dataset], name: str
) -> None:
    assert not {"p_value_holm", "p_value_bh", "adjusted_share"} & set(results[name].data_vars)


@pytest.mark.parametrize("name", ADJUSTED)
def test_significant_pairs_are_counted_under_each_adjustment(
    results: dict[str, xr.Dataset], name: str
) -> None:
    result = results[name]
    assert result["adjustment"].values.tolist() == ["none", "holm", "bh"]
    tested = result["p_value"].notnull().sum("pair")
    first = {"test": 0} if "test" in tested.dims else {}
    np.testing.assert_array_equal(result["n_tested"], tested.isel(first))
    for method, suffix in (("none", ""), ("holm", "_holm"), ("bh", "_bh")):
        for alpha in ALPHAS:
            count = (result[f"p_value{suffix}"] < alpha).sum("pair")
            at = result.sel(adjustment=method, alpha=alpha)
            np.testing.assert_array_equal(at["adjusted_significant"], count)
            np.testing.assert_array_equal(at["adjusted_share"], count / tested)
    np.testing.assert_array_equal(
        result["adjusted_significant"].sel(adjustment="none"), result["significant"]
    )
    np.testing.assert_array_equal(result["adjusted_share"].sel(adjustment="none"), result["share"])


def test_tukey_has_simultaneous_limits_and_effect_sizes(results: dict[str, xr.Dataset]) -> None:
    """Those of max-T are in `test_maxt.py`."""
    result = results["tukey"]
    runs = (result["mean"].sel(run=result[name].values) for name in ("run_a", "run_b"))
    difference = next(runs).values - next(runs).values
    np.testing.assert_array_equal(result["mean_difference"], difference)
    effect = difference / np.sqrt(result["residual_variance"].values)[..., np.newaxis]
    np.testing.assert_allclose(result["effect_size"], effect)
    half = result["critical_difference"].sel(alpha=0.05).values[..., np.newaxis]
    for end, sign in (("low", -1), ("high", 1)):
        np.testing.assert_allclose(result[f"difference_{end}"], difference + sign * half)


@pytest.mark.parametrize("name", ["baseline", "margin, baseline"])
def test_runs_that_are_better_and_worse_than_the_baseline(
    results: dict[str, xr.Dataset], name: str
) -> None:
    result = results[name]
    better = worse = 0
    for alpha in ALPHAS:
        significant = result["p_value"] < alpha
        for side, right in (("better", 1), ("worse", -1)):
            expected = (significant & (right * result["mean_difference"] > 0)).sum("pair")
            found = result[f"significant_{side}"].sel(alpha=alpha)
            np.testing.assert_array_equal(found, expected)
        better += int(result["significant_better"].sel(alpha=alpha).sum())
        worse += int(result["significant_worse"].sel(alpha=alpha).sum())
    assert better + worse


@pytest.mark.parametrize("name", ["margin", "margin, baseline"])
def test_verdicts_and_their_counts(results: dict[str, xr.Dataset], name: str) -> None:
    result = results[name]
    assert result["verdict"].values.tolist() == ["equivalent", "different", "inconclusive"]
    for method, oracle in ORACLES.items():
        for alpha in result["alpha"].values:
            at = result.sel(alpha=alpha)
            verdicts = list[list[str]]()
            for within, unequal in rows(at["equivalence_p_value"], at["difference_p_value"]):
                equal = [p < alpha for p in oracle(within)]
                differ = [p < alpha for p in oracle(unequal)]
                verdicts.append(
                    [
                        "equivalent" if same else "different" if other else "inconclusive"
                        for same, other in zip(equal, differ, strict=True)
                    ]
                )
            counts = at["verdict_pairs"].sel(adjustment=method)
            for verdict in result["verdict"].values:
                expected = [row.count(verdict) for row in verdicts]
                assert counts.sel(verdict=verdict).values.ravel().tolist() == expected
            if method == "none":
                assert [list(row) for (row,) in rows(at["verdict_on_pair"])] == verdicts

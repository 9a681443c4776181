"""Declared tables against loops, and what quantities say of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.analyses.quantities import quantity
from scorecube.analyses.teams import Teams
from scorecube.collection.schema import Variable
from scorecube.errors import BadName
from scorecube.report.tables import declared
from scorecube.testing import simulate_cube, simulate_rankings


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    cube = simulate_cube(n_runs=5, seed=3)
    found = sc.analyse(cube, sc.Swap(size=(5, 10, 20)), trials=7, seed=1)
    return found.assign_attrs(collection="made")


def test_rows_are_the_positions_along_the_dims(result: xr.Dataset) -> None:
    columns = "metric size trial mean=tau tau_of_trial sampling"
    table = declared("metric gain -size trial", columns, long=True)
    expected = []
    for i, metric in enumerate(result["metric"].values):
        for j in range(result.sizes["gain"]):
            for k in reversed(range(3)):
                at = result.isel(metric=i, gain=j, size=k)
                for trial in range(7):
                    expected.append(
                        {
                            "collection": "made",
                            "metric": str(metric),
                            "size": int(at["size"]),
                            "trial": trial,
                            "mean": float(at["tau"]),
                            "tau_of_trial": float(at["tau_of_trial"][trial]),
                            "sampling": "disjoint",
                        }
                    )
    found = table.make(result)
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected), check_dtype=False)
    assert len(found) == table.rows(result)


def test_equal_rows_keep_their_order(result: xr.Dataset) -> None:
    table = declared("metric -size", "metric size trials", sort="trials -size")
    found = table.make(result.isel(gain=0))
    assert found["size"].tolist() == sorted(found["size"], reverse=True)
    metrics = list(map(str, result["metric"].values))
    assert found["metric"].tolist() == metrics * 3


def test_rows_are_sorted_within_the_first_dims(result: xr.Dataset) -> None:
    columns, dims = "metric size trial tau", "metric gain size trial"
    found = declared(dims, columns, sort="-tau", within=3).make(result)
    plain = declared(dims, columns).make(result)
    places = [each.to_dict("records") for _, each in plain.groupby(np.arange(len(plain)) // 7)]
    expected = [sorted(each, key=lambda row: -row["tau"]) for each in places]
    assert found.drop(columns="collection").to_dict("records") == [
        {name: row[name] for name in columns.split()} for each in expected for row in each
    ]


def test_a_dim_in_braces_is_spread_over_columns(result: xr.Dataset) -> None:
    table = declared("metric gain", "metric tau@{size}=tau n_topics")
    found = table.make(result)
    assert list(found) == ["collection", "metric", "tau@5", "tau@10", "tau@20", "n_topics"]
    np.testing.assert_array_equal(found["tau@10"], result["tau"].sel(size=10).values.ravel())
    none = table.make(result.isel(size=slice(0)))
    assert list(none) == ["collection", "metric", "n_topics"]


def test_parts_columns_for_labels_and_rows_that_are_known() -> None:
    cube = simulate_cube(n_runs=4, seed=3)
    result = sc.analyse(cube, sc.Paired(tests=("sign", "t"), alphas=(0.05, 0.3), margin=0.1))
    table = declared(
        "metric gain pair",
        "metric alpha p_{test}=p_value share_{test}=share none?=nothing",
        part=lambda result: result.isel(alpha=1),
        long="pair metric",
    )
    frame = table.make(result)
    columns = ("collection", "metric", "alpha", "p_sign", "share_sign", "p_t", "share_t")
    assert frame.columns.tolist() == [*columns]
    for test in ("sign", "t"):
        assert (
            frame[f"p_{test}"].tolist() == result["p_value"].sel(test=test).values.ravel().tolist()
        )
    assert set(frame["alpha"]) == {0.3}
    share = result["share"].sel(alpha=0.3, test="t").values
    assert frame["share_t"].tolist() == np.repeat(share.ravel(), 6).tolist()
    assert table.rows(result) == 6 * result.sizes["metric"] == len(frame)
    some = result.assign(p_value=result["p_value"].where(result["p_value"] > 0.1))
    kept = declared("metric test pair", "metric p_value", only="p_value")
    assert len(kept.make(some.isel(gain=0))) == int((some["p_value"] > 0.1).sum())


def test_limits_and_parts_of_a_quantity_are_columns() -> None:
    result = sc.analyse(simulate_cube(n_runs=4, seed=3), sc.Reliability())
    columns = "metric phi~=value~[phi] some~?=value~[none]"
    found = declared("metric gain n_topics", columns).make(result)
    assert found.columns.tolist() == ["collection", "metric", "phi", "phi_low", "phi_high"]
    expected = result["value_low"].sel(coefficient="phi").transpose("metric", "gain", "n_topics")
    assert found["phi_low"].tolist() == expected.values.ravel().tolist()


def test_what_follows_from_a_result(result: xr.Dataset) -> None:
    with pytest.raises(BadName, match="no quantity 'tau_z' of swap"):
        quantity(result, "tau_z")


@pytest.mark.parametrize("name", registry.names())
def test_every_quantity_has_a_role(name: str) -> None:
    stored, derived = registry.variables(name), [each.variable for each in registry.derived(name)]
    every = [*stored, *derived]
    known = {each.name for each in every}
    # A derived quantity may stand in for a variable that only some results have.
    for some in (stored, derived):
        assert len({each.name for each in some}) == len(some)
    for each in every:
        assert each.role, each.name
        assert (each.role in ("low", "high", "standard_error")) == (each.of in known), each.name


def with_teams() -> xr.Dataset:
    rankings = simulate_rankings(n_runs=6, n_teams=3, depth=10, seed=3)
    return sc.with_rankings(sc.evaluate(rankings, ["AP", "P@5"], ["3:2:1", "1:1:1"]), rankings)


@pytest.mark.parametrize(
    "analysis",
    [
        sc.Stability(),
        sc.Swap(size=(2, 3, 4)),
        sc.Leaderboard(baseline="team01-run1"),
        Teams(topic_sizes=(5,)),
        sc.Bootstrap(),
        sc.Randomisation(),
        sc.Tukey(),
        sc.MaxT(),
        sc.Unpaired(),
        sc.Paired(margin=0.1),
        sc.Correlation(),
        sc.Reliability(),
    ],
    ids=lambda analysis: str(analysis.name),
)
def test_what_follows_is_as_declared(analysis: Any) -> None:
    found = sc.analyse(with_teams(), analysis, trials=4, seed=1)
    whole = sc.complete(found)
    assert [name for name in whole.data_vars if not whole[name].attrs.get("role")] == []
    assert all(whole[name].attrs["heading"] for name in whole.data_vars)
    for variable in registry.variables(analysis.name):
        if variable.name in found:
            assert found[variable.name].dims == variable.dims, variable.name
            assert found[variable.name].dtype.kind in variable.kinds, variable.name
    for each in registry.derived(analysis.name):
        if each.variable.name not in whole:
            assert each.needs or each.unless, each.variable.name
            continue
        values, variable = whole[each.variable.name], each.variable
        assert values.dims == variable.dims, variable.name
        assert values.dtype.kind in variable.kinds, variable.name
        assert set(values.dims) - set(found.dims) <= set(values.coords), variable.name


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(ValueError, match="no role 'mean'"):
        Variable("a", (), "f", "1", "b", role="mean")

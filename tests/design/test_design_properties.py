"""What must hold for all numbers, labels of results, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from scorecube.design import topic_set_size, wcw
from scorecube.design.power import smallest
from scorecube.errors import BadPlan
from tests.design.powers import power_of

VARIANCE = st.floats(1e-4, 0.25)
DIFFERENCE = st.floats(0.02, 0.8)
RISK = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.2])
HOW = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["anova", "t"]),
        "mode": st.sampled_from(["exact", "sakai"]),
        "alpha": RISK,
    }
)


def size(variance: Any, difference: Any, **how: Any) -> int:
    return int(topic_set_size(variance, difference, **how)["topics"])


@given(VARIANCE, DIFFERENCE, RISK, HOW, st.floats(1.0, 3.0))
def test_more_is_needed_for_more_variance_power_and_smaller_differences(
    variance: float, difference: float, beta: float, how: dict[str, Any], factor: float
) -> None:
    base = size(variance, difference, beta=beta, **how)
    assert size(variance * factor, difference, beta=beta, **how) >= base
    assert size(variance, difference * factor, beta=beta, **how) <= base
    if how["mode"] == "exact":  # rule A starts from another approximation at each beta
        assert size(variance, difference, beta=beta / factor, **how) >= base


@given(VARIANCE, DIFFERENCE, RISK, HOW)
def test_sizes_are_the_smallest_with_enough_power(
    variance: float, difference: float, beta: float, how: dict[str, Any]
) -> None:
    found = topic_set_size(variance, difference, beta=beta, **(how | {"mode": "exact"}))
    n = int(found["topics"])
    assert float(found["power"]) >= 1 - beta - 1e-12
    if n > 2:
        less = power_of(variance, difference, n - 1, alpha=how["alpha"], method=how["method"])
        assert less < 1 - beta


@given(VARIANCE, st.integers(2, 5000), RISK, RISK, st.sampled_from(["exact", "sakai"]))
def test_a_difference_from_topics_asks_for_these_topics(
    variance: float, n: int, alpha: float, beta: float, mode: str
) -> None:
    route = {"exact": "anova-exact", "sakai": "anova-tool"}[mode]
    difference = float(wcw(variance, n, route=route, alpha=alpha, beta=beta)["width"])
    how = {"alpha": alpha, "beta": beta, "mode": mode}
    if mode == "exact":
        assert size(variance, difference, **how) == n
        power = power_of(variance, difference, n, alpha=alpha)
        assert power == pytest.approx(1 - beta, abs=1e-9)
    else:
        assert size(variance, difference, **how) <= n
        if difference > 0.001:
            assert size(variance, round(difference - 0.001, 3), **how) > n


@given(VARIANCE, st.integers(2, 100_000), RISK)
def test_a_width_from_topics_asks_for_these_topics(variance: float, n: int, alpha: float) -> None:
    width = float(wcw(variance, n, alpha=alpha)["width"])
    assert int(topic_set_size(variance, width=width, alpha=alpha, method="ci")["topics"]) == n


@given(VARIANCE, DIFFERENCE, st.floats(0.01, 1000.0))
def test_the_unit_of_scores_does_not_matter(
    variance: float, difference: float, unit: float
) -> None:
    plain, scaled = (
        float(wcw(each, 30, route="anova-exact")["width"])
        for each in (variance, variance * unit**2)
    )
    assert scaled == pytest.approx(unit * plain, rel=1e-9)
    assert size(variance * unit**2, difference * unit) == size(variance, difference)


@pytest.mark.parametrize("how", [{"systems": 2}, {"systems": 10}, {"systems": 40}, {"method": "t"}])
@pytest.mark.parametrize("alpha", [0.001, 0.2])
def test_exact_power_grows_from_alpha_to_one(how: dict[str, Any], alpha: float) -> None:
    # SciPy's noncentral F is NaN for some noncentralities, e.g. 3067 with 9 and 10 degrees of freedom.
    difference = np.logspace(-5, 6, 4401)
    power = power_of(0.01, difference, [2, 5, 30, 1000], alpha=alpha, **how)
    assert np.isfinite(power).all()
    assert (np.diff(power, axis=0) >= -1e-9).all()
    np.testing.assert_allclose(power[0], alpha, rtol=0.02)
    np.testing.assert_allclose(power[-1], 1.0)


def test_arrays_are_single_numbers_side_by_side() -> None:
    variance = np.linspace(0.001, 0.2, 7)
    for how in ({}, {"mode": "sakai"}, {"method": "t"}):
        together = topic_set_size(variance, [0.05, 0.2], **how)  # type: ignore[arg-type]
        assert together["topics"].dims == ("variance", "min_diff")
        alone = [[size(float(v), d, **how) for d in (0.05, 0.2)] for v in variance]
        assert together["topics"].values.tolist() == alone
    single = topic_set_size(0.044, 0.1)
    assert single["topics"].dims == ()
    for name in (*single.data_vars, *single.coords):
        assert {"long_name", "units"} <= single[name].attrs.keys(), name


@pytest.mark.parametrize("mode", ["exact", "sakai"])
@pytest.mark.parametrize("how", [{}, {"method": "t"}, {"method": "ci", "width": 0.1}])
def test_no_variance_needs_two_topics_and_says_so(mode: str, how: dict[str, Any]) -> None:
    found = topic_set_size([0.0, 0.05], mode=mode, **how)
    assert found["topics"].values[0] == 2
    assert found["topics"].values[1] == topic_set_size(0.05, mode=mode, **how)["topics"]
    assert any("variance of 0" in note for note in found.attrs["notes"])
    for route in ("ci", "anova-tool", "anova-exact"):
        assert float(wcw(0.0, 50, route=route)["width"]) == 0.0


REFUSED: list[dict[str, Any]] = [
    {"variance": -0.1},
    {"variance": float("nan")},
    {"variance": "0.1"},
    {"variance": []},
    {"variance": np.ones((2, 2))},
    {"variance": xr.Dataset({"other": 0.1})},
    {"variance": xr.DataArray([0.1, np.nan], {"metric": ["AP", "RR"]}, "metric")},
    {"min_diff": 0.0},
    {"systems": 1},
    {"systems": 2.5},
    {"alpha": 0.0},
    {"alpha": 1.0},
    {"beta": 1.5},
    {"beta": 0.95},
    {"method": "z"},
    {"mode": "excel"},
    {"width": 0.1},
    {"min_diff": 0.1, "method": "ci"},
    {"min_diff": 1e-5},
    {"min_diff": 1e-200, "method": "t"},
    {"width": 1e-200, "method": "ci"},
]


@pytest.mark.parametrize("wrong", REFUSED)
def test_impossible_requests_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadPlan):
        topic_set_size(**({"variance": 0.05} | wrong))


@pytest.mark.parametrize(
    "wrong", [{"topics": 1}, {"route": "z"}, {"route": []}, {"route": ["ci", "ci"]}]
)
def test_impossible_widths_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadPlan):
        wcw(0.05, **({"topics": 50} | wrong))


@given(
    st.lists(
        st.tuples(st.integers(1, 50), st.integers(0, 3000), st.integers(-40, 3000)),
        min_size=1,
        max_size=8,
    )
)
def test_search_finds_the_smallest(cases: list[tuple[int, int, int]]) -> None:
    floor, answer, guess = (np.array(column, float) for column in zip(*cases, strict=True))
    found = smallest(lambda n: n >= answer, floor, guess, 10_000)
    assert found.tolist() == np.maximum(floor, answer).tolist()

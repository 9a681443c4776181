"""What columns of tables say of themselves: digits by uncertainty, forms, and what has a mean over collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

import scorecube as sc
from scorecube.collection.schema import Variable, limits, variables
from scorecube.report.columns import decimals_of, describe_columns, intervals_of
from scorecube.report.tables import averages
from scorecube.report.text_formats import render
from scorecube.testing import simulate_cube

KNOWN = (
    *variables((), "estimate", "1", mean="mean", needed="topics"),
    *variables((), "low", "1", of="mean", mean_low="lower limit"),
    *variables((), "high", "1", of="mean", mean_high="upper limit"),
    *variables((), "standard_error", "1", of="needed", error="its standard error"),
    *variables((), "p_value", "1", p="p-value"),
    *variables((), "share", "1", form=".0%", share="share"),
    *variables((), "condition", "1", form=".2f", alpha="level"),
)


def described(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    known: dict[str, Variable] = {each.name: each for each in KNOWN}
    return describe_columns(pd.DataFrame(rows), known, {})


@pytest.mark.parametrize(
    ("half", "decimals"),
    [(0.0354, 3), (0.0356, 2), (0.00949, 3), (0.0096, 3), (9.6, 0), (3.1, 1), (120.0, 0)],
)
def test_decimals_follow_the_rule_of_the_particle_data_group(half: float, decimals: int) -> None:
    assert decimals_of(half) == decimals


def test_estimates_and_limits_have_the_digits_that_these_allow() -> None:
    rows: list[dict[str, Any]] = [
        {"mean": 0.68912, "mean_low": 0.6141, "mean_high": 0.7639, "needed": 107.31, "error": 14.2},
        {"mean": 0.00012, "mean_low": -0.0204, "mean_high": 0.0206, "needed": 5.0, "error": None},
    ]
    lines = render(described(rows), "markdown").splitlines()[2:]
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in lines] == [
        ["0.69", r"\[0.61, 0.76\]", "107", "14"],
        ["0.000", r"\[-0.020, 0.021\]", "5.0000", "-"],
    ]
    assert "0.68912" in render(described(rows), "csv")


def test_limits_belong_to_the_estimate_at_the_same_label() -> None:
    known = {
        each.name: each
        for each in (
            *variables(("coefficient",), "estimate", value="coefficient"),
            *limits("value", ("coefficient",), "1", "{} limit"),
        )
    }
    rows = [{"a": 0.91432, "a_low": 0.78, "a_high": 0.98, "b": 0.5, "b_low": 0.1, "b_high": 0.9}]
    ends = ("", "_low", "_high")
    named = {f"{k}{end}": f"value{end}[coefficient={k}]" for k in "ab" for end in ends}
    spread = {f"{{coefficient}}_of{end}": f"value{end}" for end in ends}
    frame = describe_columns(pd.DataFrame(rows), known, named)
    assert intervals_of(frame) == {
        "a_limits": ("a", "a_low", "a_high"),
        "b_limits": ("b", "b_low", "b_high"),
    }
    assert render(frame, "markdown").splitlines()[2].split("|")[1].strip() == "0.91"
    of = {f"{k}_of{end}": [0.5] for k in "ab" for end in ends}
    frame = describe_columns(pd.DataFrame(of), known, spread)
    assert frame.attrs["of"] == {f"{k}_of{end}": f"{k}_of" for k in "ab" for end in ends[1:]}


def test_numbers_without_limits_have_the_form_of_their_quantity() -> None:
    rows = [{"alpha": 0.05, "p": 1e-7, "share": 0.0}, {"alpha": 0.005, "p": 0.25, "share": 0.256}]
    lines = render(described(rows), "markdown").splitlines()[2:]
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in lines] == [
        ["0.05", r"\<0.0001", "0%"],
        ["0.005", "0.2500", "26%"],
    ]


def test_limits_and_p_values_have_no_mean_over_collections() -> None:
    rows = [
        {"collection": name, "alpha": 0.05, "mean": mean, "mean_low": 0.1, "p": 0.5, "share": 0.5}
        for name, mean in (("a", 0.25), ("b", 0.75))
    ]
    found = averages(described(rows))
    assert found.to_dict("records") == [
        {"collection": "mean of 2", "alpha": 0.05, "mean": 0.5, "share": 0.5}
    ]


def test_tables_can_be_written_as_parquet_and_keep_what_columns_are() -> None:
    frame = sc.table(sc.analyse(simulate_cube(n_runs=4), sc.Swap(), trials=20, seed=1), "halves")
    role = frame.sort_values("tau_low").drop(columns="trials").attrs["role"]
    assert (role["tau_low"], role["tau"]) == ("low", "estimate")
    assert frame.attrs["of"]["tau_low"] == "tau"
    assert all(isinstance(each, str) for facts in frame.attrs.values() for each in facts.values())

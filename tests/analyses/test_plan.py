"""Plans: which changes give other blocks, which only another result, and what cannot be planned."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube import Swap
from scorecube.analyses.plan import Plan, make_plan
from scorecube.testing import simulate_cube

BASE = Swap(size=10)


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=4, seed=5)


def plan(cube: xr.Dataset, swap: Swap = BASE, **changes: Any) -> Plan:
    return make_plan(cube, swap, **{"trials": 30, "seed": 7, **changes})


def test_equal_plans_have_equal_digests_and_more_trials_the_same_blocks(cube: xr.Dataset) -> None:
    first, second = plan(cube), plan(cube.copy(deep=True).chunk({"run": 1}), Swap(size=10))
    assert (first.digest, first.work_digest) == (second.digest, second.work_digest)
    others = [first, *(plan(cube, trials=trials) for trials in (1, 31, 10**12))]
    assert {other.work_digest for other in others} == {first.work_digest}
    assert len({other.digest for other in others}) == 4


def test_systems_and_groups_are_in_the_digest(cube: xr.Dataset) -> None:
    grouped = {"topic_group": ("topic", ["a", "b"] * 25)}
    others = [{}, {"system": ("run", ["x", "x", "y", "z"])}, grouped]
    assert len({plan(cube.assign_coords(of), Swap(size=1)).digest for of in others}) == 3


def test_whatever_changes_the_result_changes_both_digests(cube: xr.Dataset) -> None:
    other_score = cube.copy(deep=True)
    other_score["score"][1, 0, 2, 3] += 1e-12
    changes: dict[str, Any] = {"sampling": "replacement", "size": 11, "bins": 20, "rule": "s1"}
    plans = [plan(cube), plan(cube, seed=8), plan(other_score)]
    plans += [plan(cube, replace(BASE, **{key: value})) for key, value in changes.items()]
    plans += [plan(cube.isel(part)) for part in ({"run": [0, 1]}, {"topic": slice(1, None)})]
    plans += [plan(cube.isel(metric=part)) for part in ([1], [1, 0])]
    plans += [plan(cube.assign_coords(run=["a", "b", "c", "d"]))]
    assert len({each.work_digest for each in plans}) == len(plans)
    assert len({each.digest for each in plans}) == len(plans)


def test_the_record_is_json_that_holds_the_whole_plan(cube: xr.Dataset) -> None:
    made = Swap(size=10, confidence=(0.9, 0.8))
    record = plan(cube, made, seed=2**64 - 1).record()
    assert json.loads(json.dumps(record)) == record
    # The seed is a text: readers of JSON in other languages keep 53 bits of a number.
    expected = {"analysis": "swap", "trials": 30, "seed": "18446744073709551615"}
    assert record | expected == record
    assert Swap(**record["options"]) == made


def test_numbers_of_numpy_are_those_of_python(cube: xr.Dataset) -> None:
    same = plan(cube, seed=np.uint64(7), trials=np.int32(30))
    assert same.digest == plan(cube, seed=7, trials=30).digest
    several: list[Any] = [[5, 10], np.array([5, 10]), range(5, 11, 5), (10, 5)]
    assert [Swap(size=size) for size in several] == [Swap(size=(5, 10))] * 4

"""Plans: which changes give other blocks, which only another result, and what cannot be planned."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube import Swap
from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.analyses.plan import Plan, make_plan
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube

BASE = Swap(size=10)
READ_LATER = {
    "swap": {"rule", "confidence", "required"}, "stability": set(), "bootstrap": {"plus_one"},
    "randomisation": {"plus_one"}, "tukey": {"alphas", "plus_one"}, "maxt": {"alphas", "plus_one"}, "leaderboard": {"alpha"}, "board": {"alpha"},
    "paired": {"alphas", "margin"}, "reliability": {"topic_sizes", "target"}, "correlate": {"confidence", "bold"},
    "teams": set(), "judges": set(),
}  # fmt: skip
"""Options that only `finalize` reads: digests of stored blocks leave them out."""


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=4, seed=5)


def plan(cube: xr.Dataset, swap: Swap = BASE, **changes: Any) -> Plan:
    return make_plan(cube, swap, **{"trials": 30, "seed": 7, **changes}).plan


def test_equal_plans_have_equal_digests(cube: xr.Dataset) -> None:
    first, second = plan(cube), plan(cube.copy(deep=True), Swap(size=10))
    assert (first.digest, first.work_digest) == (second.digest, second.work_digest)
    assert first.digest != first.work_digest


def test_ways_of_reading_the_counts_share_blocks_but_no_result(cube: xr.Dataset) -> None:
    others = [plan(cube, trials=trials) for trials in (1, 31, 10**12)]
    others += [plan(cube, replace(BASE, rule="s1")), plan(cube, replace(BASE, confidence=(0.9,)))]
    assert {other.work_digest for other in others} == {plan(cube).work_digest}
    assert len({other.digest for other in [*others, plan(cube)]}) == 6


def test_systems_and_groups_that_are_shared_are_in_the_digest(cube: xr.Dataset) -> None:
    grouped = {"topic_group": ("topic", ["a", "b"] * 25)}
    shared = [{"system": ("run", ["x", "x", "y", "z"])}, grouped]
    digests = {plan(cube.assign_coords(of), Swap(size=1)).digest for of in ({}, *shared)}
    assert len(digests) == 3
    alone = cube.assign_coords(system=("run", list("wxyz")))
    assert plan(alone).digest == plan(cube).digest


def test_a_lazy_cube_has_the_digest_of_the_loaded_one(cube: xr.Dataset) -> None:
    assert plan(cube.chunk({"run": 1})).digest == plan(cube).digest


def test_whatever_changes_the_counts_changes_both_digests(cube: xr.Dataset) -> None:
    other_score = cube.copy(deep=True)
    other_score["score"][1, 0, 2, 3] += 1e-12
    plans = [
        plan(cube),
        plan(cube, seed=8),
        plan(cube, replace(BASE, size=11)),
        plan(cube, replace(BASE, size=None)),
        plan(cube, replace(BASE, sampling="replacement")),
        plan(cube, replace(BASE, sampling="independent")),
        plan(cube, replace(BASE, bins=20)),
        plan(cube, replace(BASE, bin_width=0.02)),
        plan(cube, replace(BASE, share="none")),
        plan(cube, replace(BASE, summary="geo")),
        plan(cube, replace(BASE, size=(5, 10))),
        plan(other_score),
        plan(cube.isel(run=[0, 1, 2])),
        plan(cube.isel(topic=slice(1, None))),
        plan(cube.isel(metric=[1])),
        plan(cube.isel(metric=[1, 0])),
        plan(cube.assign_coords(run=["a", "b", "c", "d"])),
    ]
    assert len({each.work_digest for each in plans}) == len(plans)
    assert len({each.digest for each in plans}) == len(plans)


def test_every_option_is_known_to_count_or_to_be_read_later() -> None:
    counted = {"sampling", "size", "summary", "bin_width", "bins", "share"}
    later = {
        name: {key for key, option in options_of(registry.load(name)).items() if option.finalize}
        for name in registry.names()
    }
    assert set(options_of(Swap)) == counted | later["swap"]
    assert later == READ_LATER


def test_the_record_is_json_that_holds_the_whole_plan(cube: xr.Dataset) -> None:
    record = plan(cube, Swap(size=10, confidence=(0.9, 0.8)), seed=2**64 - 1).record()
    assert json.loads(json.dumps(record)) == record
    assert record["analysis"] == "swap"
    assert record["trials"] == 30
    # Text: readers of JSON in other languages keep 53 bits of a number.
    assert record["seed"] == "18446744073709551615"
    assert record["options"] == {
        "sampling": "disjoint", "size": 10, "summary": "mean", "rule": "s0", "confidence": [0.9, 0.8], "bin_width": 0.01, "bins": "auto",
        "share": "all", "required": "isotonic",
    }  # fmt: skip
    assert Swap(
        **{**record["options"], "confidence": tuple(record["options"]["confidence"])}
    ) == Swap(size=10, confidence=(0.9, 0.8))


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_seeds_at_the_limits_are_taken(cube: xr.Dataset, seed: int) -> None:
    assert plan(cube, seed=seed).record()["seed"] == str(seed)


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", -1), ("seed", 2**64), ("seed", 1.5), ("seed", True), ("trials", 0), ("trials", 2.0)],
)
def test_seeds_and_trials_out_of_range_are_refused(cube: xr.Dataset, name: str, value: Any) -> None:
    with pytest.raises(BadPlan, match=f"^{name}: expected .*; found {value}$") as caught:
        plan(cube, **{name: value})
    assert caught.value.option == name


def test_numbers_of_numpy_are_those_of_python(cube: xr.Dataset) -> None:
    same = plan(cube, seed=np.uint64(7), trials=np.int32(30))
    assert same.digest == plan(cube, seed=7, trials=30).digest
    several: list[Any] = [[5, 10], np.array([5, 10]), range(5, 11, 5), (10, 5)]
    sizes = [Swap(size=size) for size in several]
    assert sizes == [Swap(size=(5, 10))] * 4
    number: Any = np.int64(25)
    assert Swap(size=number).options() == Swap(size=25).options()


def test_impossible_options_are_refused(cube: xr.Dataset) -> None:
    with pytest.raises(BadPlan, match="26 topics need 52 topics, but there are only 50"):
        plan(cube, Swap(size=26))

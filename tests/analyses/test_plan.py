"""Plans: which changes give other blocks, which only another result, and what cannot be planned."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube import Swap
from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.analyses.plan import Plan, make_plan
from scorecube.errors import BadInput, BadPlan
from scorecube.testing import simulate_cube

BASE = Swap(size=10)
READ_LATER = {
    "swap": {"rule", "confidence", "required"}, "stability": set(), "bootstrap": {"plus_one"},
    "randomisation": {"plus_one"}, "tukey": {"alphas", "plus_one"}, "maxt": {"alphas", "plus_one"}, "leaderboard": {"alpha"}, "board": {"alpha"}, "unpaired": {"plus_one"},
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


@pytest.mark.parametrize(
    "other",
    [
        Swap(size=10, rule="s1"),
        Swap(size=10, confidence=(0.9,)),
        Swap(size=10, confidence=(0.8, 0.9, 0.95)),
    ],
)
def test_ways_of_reading_the_counts_share_blocks_but_no_result(
    cube: xr.Dataset, other: Swap
) -> None:
    assert plan(cube, other).work_digest == plan(cube).work_digest
    assert plan(cube, other).digest != plan(cube).digest


@pytest.mark.parametrize("trials", [1, 31, 10**12])
def test_other_numbers_of_trials_share_blocks_but_no_result(cube: xr.Dataset, trials: int) -> None:
    assert plan(cube, trials=trials).work_digest == plan(cube).work_digest
    assert plan(cube, trials=trials).digest != plan(cube).digest


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


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range_are_refused(cube: xr.Dataset, seed: int) -> None:
    with pytest.raises(BadPlan, match=r"seed: expected a whole number from 0 to 2\*\*64 - 1"):
        plan(cube, seed=seed)


@pytest.mark.parametrize("value", [1.5, True, "2.5", 2.0])
@pytest.mark.parametrize("name", ["seed", "trials"])
def test_seeds_and_trials_of_another_type_are_refused(
    cube: xr.Dataset, name: str, value: Any
) -> None:
    with pytest.raises(
        BadPlan, match=rf"{name}: expected a whole number .*; found {re.escape(repr(value))}$"
    ) as caught:
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


@pytest.mark.parametrize(
    ("analysis", "text"),
    [
        ("swap", r"expected an analysis with its options, such as Swap\(\); found 'swap'"),
        ("bootstrap", r"such as Bootstrap\(\); found 'bootstrap'"),
        (Swap, r"such as Swap\(\); found the class Swap"),
        ("swop", r"such as Swap\(\); found 'swop'"),
        (None, r"such as Swap\(\); found None"),
        ({"name": "swap"}, "found a dict"),
    ],
)
def test_what_is_no_analysis_is_refused(cube: xr.Dataset, analysis: Any, text: str) -> None:
    with pytest.raises(BadPlan, match=rf"analysis: .*{text}"):
        make_plan(cube, analysis, trials=10, seed=1)


@pytest.mark.parametrize("trials", [0, -5])
def test_no_trials_are_refused(cube: xr.Dataset, trials: int) -> None:
    with pytest.raises(BadPlan, match="trials: expected a whole number of at least 1"):
        plan(cube, trials=trials)


def test_impossible_options_are_refused(cube: xr.Dataset) -> None:
    with pytest.raises(
        BadPlan, match="disjoint samples of 26 topics need 52 topics, but there are only 50"
    ):
        plan(cube, Swap(size=26))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda cube: cube.rename(score="scores"),
            "the cube has no variable 'score'; found scores",
        ),
        (lambda cube: cube.astype("int64"), "score has dtype int64"),
        (lambda cube: cube.isel(topic=[0, 0, 1]), "the topic '001' is repeated in the cube"),
    ],
)
def test_something_that_is_no_cube_is_refused(cube: xr.Dataset, change: Any, text: str) -> None:
    with pytest.raises(BadInput, match=text):
        plan(change(cube), Swap(size=1))

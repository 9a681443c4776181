"""Limits for other training runs, in `compare` and `gate`: a plain oracle, one estimate for p and limits, and what is refused or said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadPlan
from tests.oracles import retrained as oracle

if TYPE_CHECKING:
    from tests.conftest import Cli

Scores = np.ndarray[Any, np.dtype[np.float64]]
Sides = dict[str, Scores]
SYSTEMS = ("ours", "base")


def simulated(seed: int, runs: tuple[int, int], n: int, shift: float, mean: float = 0.05) -> Sides:
    """Return scores (run, topic) of two systems, whose training runs shift all topics together."""
    chance = np.random.default_rng(seed)
    topics = chance.normal(0.5, 0.2, n)
    sides = {}
    for system, k, better in zip(SYSTEMS, runs, (mean, 0.0), strict=True):
        moved = np.random.default_rng(k + 7).normal(0, shift, (k, 1))  # the same in all collections
        sides[system] = topics + better + moved + chance.normal(0, 0.1, (k, n))
    return sides


def cube_of(sides: Sides, seeds: tuple[str, ...] = ("a", "b", "c", "d", "e")) -> xr.Dataset:
    rows = [
        {"model": system, "seed": seed, "item": f"t{k:04d}", "score": score}
        for system, scores in sides.items()
        for seed, of in zip(seeds, scores, strict=False)
        for k, score in enumerate(of)
    ]
    return sc.cube_from_scores(pd.DataFrame(rows))


@pytest.mark.parametrize("shift", [0.0, 0.05])
@pytest.mark.parametrize("runs", [(2, 2), (3, 5), (1, 3), (4, 1)])
@pytest.mark.parametrize("sizes", [(40,), (30, 70, 25)])
def test_limits_are_those_of_the_oracle(
    sizes: tuple[int, ...], runs: tuple[int, int], shift: float
) -> None:
    collections = {f"c{k}": simulated(k, runs, n, shift) for k, n in enumerate(sizes)}
    cubes = {name: cube_of(sides) for name, sides in collections.items()}
    found = sc.compare(cubes, *SYSTEMS, retrained=True).isel(metric=0, gain=0)
    groups = {name: [sides] for name, sides in collections.items()}
    if len(sizes) > 1:
        groups[""] = list(collections.values())
    for name, of in groups.items():
        tables = [(each["ours"].tolist(), each["base"].tolist()) for each in of]
        row = found.sel(collection=name)
        numbers = [row[key].item() for key in ("difference", "low", "high", "p_value")]
        np.testing.assert_allclose(numbers, oracle.difference(tables), rtol=1e-9)


def test_p_and_limits_come_from_one_estimate_within_the_range() -> None:
    """Of 0/1 items, with few of them and many, near the end of the range and not."""
    chance = np.random.default_rng(5)
    seen = set()
    for n in (8, 30, 400):
        for share in (0.5, 0.95):
            for shift in (0.0, 0.1, 0.3):
                ability = np.clip(share + chance.normal(0, shift, (2, 3, 1)), 0.01, 1)
                items = (chance.random((2, 3, n)) < ability) * 1.0
                cube = cube_of(dict(zip(SYSTEMS, items, strict=True)))
                found = sc.compare(cube, *SYSTEMS, retrained=True)
                low, high, p = (found[key].item() for key in ("low", "high", "p_value"))
                assert (low > 0 or high < 0) == (p < 0.05)
                assert -1 <= low < high <= 1
                seen.add(p < 0.05)
                mean = sc.gate(cube, "ours", at_least=0.5, retrained=True)
                ends = [mean[key].item() + 0.5 for key in ("low", "high")]
                assert 0 <= ends[0] < ends[1] <= 1
                outside = ends[0] > 0.5 or ends[1] < 0.5
                assert outside == (mean["p_value"].item() < 0.05)
    assert seen == {True, False}


def test_training_runs_that_differ_widen_limits_and_may_turn_a_pass() -> None:
    """Without shifts the limits are nearly those of topics; with shifts they are not."""
    widths = {}
    for shift in (0.0, 0.05):
        cube = cube_of(simulated(1, (5, 5), 2000, shift, mean=-0.05))
        plain, more = (sc.compare(cube, *SYSTEMS, retrained=of) for of in (False, True))
        widths[shift] = float(more["smallest_shown"].item() / plain["smallest_shown"].item())
        assert plain["difference"].item() == more["difference"].item()
    assert 1 <= widths[0.0] < 2 < 4 < widths[0.05]
    margin = -(plain["low"].item() + more["low"].item()) / 2
    judged = [sc.gate(cube, *SYSTEMS, margin=margin, retrained=of) for of in (False, True)]
    assert [of.attrs["verdict"] for of in judged] == ["pass", "no verdict"]


def test_topics_in_groups_are_units_of_training_runs_too() -> None:
    """Groups of two equal topics are one topic each."""
    sides = simulated(3, (3, 3), 50, 0.03)
    once = sc.compare(cube_of(sides), *SYSTEMS, retrained=True)
    twice = cube_of({name: of.repeat(2, axis=1) for name, of in sides.items()})
    groups = [f"g{k // 2:03d}" for k in range(100)]
    found = sc.compare(twice.assign_coords(topic_group=("topic", groups)), *SYSTEMS, retrained=True)
    for name in ("difference", "low", "high", "p_value"):
        assert found[name].item() == pytest.approx(once[name].item(), rel=1e-9)


def test_what_is_refused_and_what_is_missing() -> None:
    alone = cube_of(simulated(1, (1, 1), 30, 0.0))
    with pytest.raises(BadPlan, match="seed_column"):
        sc.compare(alone, *SYSTEMS, retrained=True)
    with pytest.raises(BadPlan, match="seed_column"):
        sc.gate(alone, *SYSTEMS, margin=0.1, retrained=True)
    sides = simulated(1, (2, 2), 30, 0.0)
    both = {"x": cube_of(sides), "y": alone}
    found = sc.compare(both, *SYSTEMS, retrained=True).isel(metric=0, gain=0)
    assert np.isfinite(found["low"].values).tolist() == [True, False, False]
    others = {"x": cube_of(sides), "y": cube_of(sides, ("b", "c"))}
    found = sc.compare(others, *SYSTEMS, retrained=True).isel(metric=0, gain=0)
    assert np.isfinite(found["low"].values).tolist() == [True, True, False]
    assert "differ" in found["reason"].values[-1]


def test_commands_say_what_limits_are_over(tmp_path: Path, scorecube: Cli) -> None:
    path = tmp_path / "study"
    opened = sc.open_study(path, mode="a")
    opened.add("a", cube=cube_of(simulated(1, (3, 1), 60, 0.05)))
    plain = scorecube("compare", path, *SYSTEMS).succeeded()
    assert "items and" not in plain.stdout + plain.stderr
    more = scorecube("compare", path, *SYSTEMS, "--retrained").succeeded()
    assert "limits are over items and seeds" in more.stderr
    assert "base has one seed: the variance between the 3 seeds of ours serves both" in more.stderr
    assert "other items and other seeds" in more.stdout
    words = ("--run", "ours", "--baseline", "base", "--margin", "0.5", "--retrained")
    document = json.loads(scorecube("gate", path, *words, "--format", "json").stdout)
    expected = sc.gate(opened["a"].cube, *SYSTEMS, margin=0.5, retrained=True)
    assert document["rows"][0]["low"] == pytest.approx(expected["low"].item())
    assert document["retrained"] is True

"""The protocol of analyses: any cut of blocks, groups of topics left out, tables with trials and seed."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.jackknife import limits
from scorecube.analyses.plan import Plan, make_plan
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import totals_of
from scorecube.collection.arguments import as_cube
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.execute.run import Combined, Compute, combine
from scorecube.methods import index
from scorecube.testing import simulate_cube, simulate_rankings
from tests.methods import own


def random_cube(n_runs: int, n_topics: int, seed: int) -> xr.Dataset:
    """Return scores of two metrics."""
    scores = np.random.default_rng(seed).random((2, 1, n_runs, n_topics)).round(4)
    coords = {
        "metric": ["AP", "nDCG@10"],
        "gain": ["3:2:1"],
        "run": [f"r{k}" for k in range(n_runs)],
        "topic": [f"t{k:03}" for k in range(n_topics)],
    }
    return as_cube(xr.DataArray(scores, coords, ("metric", "gain", "run", "topic")))


def subject(name: str) -> xr.Dataset:
    """Return a small cube that an analysis takes."""
    if make := own(name, "CUBE"):
        made: xr.Dataset = make()
        return made
    if index.load(name).uses_rankings:
        rankings = simulate_rankings(n_runs=8, n_teams=3, seed=7)
        return sc.with_rankings(sc.evaluate(rankings, ["nDCG@1", "nDCG@2"], ["3:2:1"]), rankings)
    if name == "judges":
        first, second = (simulate_cube(n_runs=8, seed=seed) for seed in (1, 2))
        return judgement_sets({"truth": first, "judge": second})
    return simulate_cube(n_runs=8, seed=1)


def in_blocks(plan: Plan, cuts: list[int], seed: int, together: int = 1) -> xr.Dataset:
    """Return the result of blocks between cuts that come in a random order, some of them joined."""
    edges = [0, *cuts, plan.n_units]
    intervals = list(pairwise(edges))
    compute = Compute(plan.analysis, plan.table)
    blocks = [
        compute(intervals[k]) for k in np.random.default_rng(seed).permutation(len(intervals))
    ]
    combined = Combined(plan.declared, plan.n_units)
    for low in range(0, len(blocks), together):
        combined.add(combine(blocks[low : low + together]))
    totals = totals_of(plan.analysis, plan.table, combined.arrays)
    return plan.analysis.result(plan.table, totals)


@pytest.mark.parametrize("options", [{}, {"baseline": "team01-run1"}], ids=["", "baseline"])
@pytest.mark.parametrize("name", index.names())
def test_blocks_in_any_order_and_grouping_make_one_result(
    name: str, options: dict[str, Any]
) -> None:
    kind = index.load(name)
    if options and "baseline" not in kind.__dataclass_fields__:
        pytest.skip("compares no baseline")
    plan = make_plan(subject(name), kind(**options), trials=24 if kind.resamples else None, seed=3)
    expected = in_blocks(plan, [], 0)
    for seed in range(3):
        random = np.random.default_rng(seed)
        inside = np.arange(1, plan.n_units)
        cuts = np.sort(random.choice(inside, min(6, len(inside)), replace=False)).tolist()
        for together in (1, 3):
            xr.testing.assert_identical(in_blocks(plan, cuts, seed, together), expected)


@pytest.mark.parametrize(("n_topics", "groups"), [(50, 10), (23, 10), (7, 7), (5, 5), (4, 0)])
def test_groups_left_out_part_the_topics(n_topics: int, groups: int) -> None:
    table = make_table(random_cube(n_runs=3, n_topics=n_topics, seed=1))
    tables = list(table.tables_left_out)
    assert len(tables) == groups
    sizes = [n_topics - each.n_topics for each in tables]
    assert sum(sizes) == (n_topics if groups else 0)
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
    left = sum(table.units.sum(axis=2) - each.units.sum(axis=2) for each in tables)
    if groups:
        np.testing.assert_array_equal(left, table.units.sum(axis=2))


def test_groups_left_out_are_of_each_collection() -> None:
    cube = random_cube(n_runs=3, n_topics=40, seed=1)
    cube = cube.assign_coords(collection=("topic", ["a"] * 30 + ["b"] * 10))
    for each in make_table(cube).tables_left_out:
        assert [part.size() for part in each.strata] == [27, 9]


def test_limits_of_means_are_those_of_the_formula() -> None:
    scores = np.array([0.2, 0.4, 0.9, 0.5, 0.3, 0.8, 0.1, 0.6])
    replicates = np.array([np.delete(scores, k).mean() for k in range(len(scores))])
    low, high = limits(np.array(scores.mean()), replicates)
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    assert (low, high) == pytest.approx(
        (scores.mean() - 2.3646 * error, scores.mean() + 2.3646 * error), abs=1e-4
    )


@pytest.mark.parametrize(("scale", "impossible"), [("log", 0.0), ("logit", 1.0), ("atanh", 1.0)])
def test_no_limits_where_a_replicate_has_none(scale: Any, impossible: float) -> None:
    low, high = limits(np.array([0.5, 0.5]), np.array([[0.4, 0.4], [0.6, impossible]]), scale)
    assert np.isfinite([low[0], high[0]]).all()
    assert np.isnan([low[1], high[1]]).all()

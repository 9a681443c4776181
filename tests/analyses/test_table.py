"""The one road in: the same table from any form of a cube; means, gaps, groups, bags and ranges beside plain NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.plan import cube_digest
from scorecube.analyses.preparation import make_table
from scorecube.analyses.table import ScoreTable
from scorecube.collection.arguments import cubes_of
from scorecube.collection.plausibility import doubts_of
from scorecube.errors import BadInput, BadPlan
from scorecube.testing import simulate_cube

CHANCE = np.random.default_rng(2)
CUBE = simulate_cube(n_runs=5, seed=4)


def scores_of(values: Any, metric: str = "utility", **coords: Any) -> xr.Dataset:
    """Return a cube of one metric, with runs r0, r1, ... and topics t0000, ..."""
    n_runs, n_topics = np.shape(values)
    runs, topics = [f"r{k}" for k in range(n_runs)], [f"t{k:05d}" for k in range(n_topics)]
    return sc.cube_from_scores({metric: values}, runs=runs, topics=topics).assign_coords(coords)


def same(first: ScoreTable, second: ScoreTable) -> None:
    """Check that two tables have the same labels, and the same scores to the bit."""
    for name in ("metrics", "gains", "runs", "ranges", "notes"):
        assert getattr(first, name) == getattr(second, name)
    for name in ("cell_of", "scores", "sizes", "higher", "binary", "units"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


FORMS: dict[str, Callable[[xr.Dataset], Any]] = {
    "transposed": lambda cube: cube.transpose("topic", "gain", "run", "metric"),
    "reversed runs": lambda cube: cube.isel(run=slice(None, None, -1)),
    "shuffled topics": lambda cube: cube.isel(topic=CHANCE.permutation(cube.sizes["topic"])),
    "lazy": lambda cube: cube.chunk({"topic": 7}),
    "array": lambda cube: cube["score"].assign_coords(uses_gains=cube["uses_gains"]),
    "array without gain": lambda cube: cube["score"].isel(gain=0),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_cube_does_not_matter(form: str) -> None:
    same(make_table(FORMS[form](CUBE)), make_table(CUBE))


def test_collections_come_in_a_dict_a_tree_or_a_dim() -> None:
    parts = {"nq": CUBE, "fiqa": CUBE.isel(topic=slice(0, 20), run=slice(1, 5))}
    joined = xr.concat(list(parts.values()), xr.Variable("collection", list(parts)), join="outer")
    for form in (parts, xr.DataTree.from_dict(parts), joined):
        cubes = cubes_of(form)
        assert cubes.keys() == parts.keys()
        for name, part in parts.items():
            same(make_table(cubes[name]), make_table(part))
    assert cubes_of(CUBE).keys() == {""}


def test_metrics_without_gains_have_one_cell() -> None:
    cube = xr.concat([CUBE, CUBE.assign_coords(gain=["1:1:1"])], "gain")
    cube["score"][{"metric": 1, "gain": 1}] *= 0.5
    table = make_table(cube.assign_coords(uses_gains=CUBE["uses_gains"]))
    assert table.cell_of.tolist() == [[0, 0], [1, 2]]
    assert table.scores.shape[0] == 3


def test_repetitions_become_their_mean_on_each_topic() -> None:
    values = CHANCE.random((5, 30))
    systems = ["b", "a", "a", "b", "a"]
    table = make_table(scores_of(values, system=("run", systems)))
    assert table.runs == ("a", "b")
    np.testing.assert_allclose(table.scores[0, 0], values[[1, 2, 4]].mean(axis=0), rtol=1e-15)
    assert len(table.notes) == 1
    assert re.findall(r"\d", table.notes[0])[:2] == ["2", "3"]
    chosen = make_table(scores_of(values, system=("run", systems)), runs=["b"])
    assert chosen.runs == ("b",)
    by_run = make_table(scores_of(values, system=("run", systems)), runs=["r1", "r2"])
    assert by_run.runs == ("r1", "r2")


def test_gaps_are_refused_or_dropped_with_a_note() -> None:
    values = CHANCE.random((3, 20))
    values[2, [4, 5]] = np.nan
    cube = scores_of(values)
    with pytest.raises(BadPlan, match="missing"):
        make_table(cube)
    table = make_table(cube, missing="drop")
    np.testing.assert_array_equal(table.scores[0], np.delete(values, [4, 5], axis=1))
    assert "18 of 20" in table.notes[0]
    assert make_table(cube, runs=["r0", "r1"]).n_topics == 20
    with pytest.raises(BadPlan, match="missing"):
        make_table(scores_of(np.where(np.arange(3)[:, None] == 1, np.nan, values)), missing="drop")  # fmt: skip


@pytest.mark.parametrize("n_groups", [4, 15])
def test_topics_of_a_group_are_one_unit(n_groups: int) -> None:
    values, group = CHANCE.random((4, 60)), CHANCE.integers(0, n_groups, 60)
    group[:n_groups] = np.arange(n_groups)
    table = make_table(scores_of(values, topic_group=("topic", [f"g{g:02d}" for g in group])))
    assert table.scores.shape[2] == n_groups
    assert table.n_topics == 60
    np.testing.assert_allclose(table.means[0], values.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(table.values.mean(axis=2)[0], values.mean(axis=1), rtol=1e-14)
    means = values.mean(axis=1, keepdims=True)
    residuals = np.stack([(values - means)[:, group == g].sum(axis=1) for g in range(n_groups)], 1)
    error = np.sqrt(n_groups / (n_groups - 1) * (residuals**2).sum(axis=1)) / 60
    np.testing.assert_allclose(
        table.values[0].std(axis=1, ddof=1) / np.sqrt(n_groups), error, rtol=1e-12
    )
    assert np.ptp(table.units) <= 2_520_000


def test_many_topics_become_bags_with_the_same_means_and_standard_errors() -> None:
    values = CHANCE.beta(2, 3, (3, 20_011))
    table = make_table(scores_of(values))
    assert table.scores.shape[2] == 1_000
    assert set(table.sizes) == {20, 21}
    np.testing.assert_allclose(table.means[0], values.mean(axis=1), rtol=1e-13)
    ratio = table.values[0].std(axis=1, ddof=1) / np.sqrt(1_000)
    ratio /= values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    assert np.abs(ratio - 1).max() < 0.08
    same(make_table(scores_of(values).isel(topic=slice(None, None, -1))), table)


@pytest.mark.parametrize(("n_topics", "n_units"), [(1_400, 1_400), (1_401, 1_000)])
def test_bags_begin_where_second_moments_end(n_topics: int, n_units: int) -> None:
    table = make_table(scores_of(CHANCE.random((2, n_topics)), "AP"))
    assert table.units.shape[2] == n_units
    z = table.units[0, 0] - table.units[0, 1]
    assert (z @ z, z.sum()) == (sum(int(x) ** 2 for x in z), sum(map(int, z)))


KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "topics": lambda _: {},
    "groups": lambda n: {"topic_group": ("topic", [f"g{k // 3:03d}" for k in range(n)])},
    "strata": lambda n: {"collection": ("topic", ["x"] * (n // 3) + ["y"] * (n - n // 3))},
    "range": lambda _: {"score_low": ("metric", [-3.0]), "score_high": ("metric", [1e3])},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_sums_and_second_moments_of_units_are_integers_however_they_are_added(
    kind: str, seed: int
) -> None:
    """In any order of topics and runs, split, and product, of scores of all digits."""
    chance = np.random.default_rng(seed)
    n_runs, n_topics = int(chance.integers(3, 6)), int(chance.integers(20, 300))
    cube = scores_of(chance.random((n_runs, n_topics)), **KINDS[kind](n_topics))
    units = make_table(cube).units[0]
    n_units = units.shape[1]
    counts = chance.multinomial(n_units, np.full(n_units, 1 / n_units), size=3).T.astype(float)
    sums = [[sum(int(x) * int(c) for x, c in zip(row, column, strict=True)) for column in counts.T] for row in units]  # fmt: skip
    moments = [[sum(int(x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in units] for a in units]  # fmt: skip
    assert max(map(max, moments)) < 2**53
    shuffled = cube.isel(topic=chance.permutation(n_topics), run=chance.permutation(n_runs))
    np.testing.assert_array_equal(make_table(shuffled).units[0], units)
    for order in (np.arange(n_units), chance.permutation(n_units)):
        x, c, cut = units[:, order], counts[order], n_units // 3
        for product in (x @ c, np.asfortranarray(x).dot(c), x[:, :cut] @ c[:cut] + x[:, cut:] @ c[cut:], np.einsum("ij,jk->ik", x, c)):  # fmt: skip
            assert product.tolist() == sums
        z = x[:, np.newaxis] - x
        assert (z * z).sum(axis=2).tolist() == np.einsum("abk,abk->ab", z, z).tolist() == moments


def test_groups_go_into_bags_whole() -> None:
    values = CHANCE.random((2, 6_000))
    labels = [f"g{k // 3:04d}" for k in range(6_000)]
    table = make_table(scores_of(values, topic_group=("topic", labels)).assign_attrs(bags=500))
    assert table.scores.shape[2] == 500
    assert set(table.sizes) == {12}


def test_ranges_are_declared_by_the_cube_or_the_metric() -> None:
    values = CHANCE.random((3, 12)).round(3)
    known = {"AP": (0, 1), "Recall@10": (0, 1), "P+": (0, 1), "Hit@5": (0, 1), "nDCG(b=2)@10": (0, 1)}  # fmt: skip
    for metric in known:
        assert make_table(scores_of(values, metric)).ranges == (known[metric],)
    for metric, most in {"WRR": 2, "WRR(beta=1.25:2)": 5, "WRR(beta=3:4)": 1.5}.items():
        assert make_table(scores_of(values, metric)).ranges == ((0, most),)
    assert make_table(scores_of(values)).ranges == (None,)
    assert make_table(scores_of((values > 0.5).astype(float))).ranges == ((0, 1),)
    declared = scores_of(100 * values, score_low=("metric", [0.0]), score_high=("metric", [100.0]))
    assert make_table(declared).ranges == ((0, 100),)
    with pytest.raises(BadInput, match="between 0"):
        make_table(scores_of(100 * values, "Recall@10"))


def test_the_grid_of_a_metric_does_not_depend_on_a_third_run() -> None:
    values = CHANCE.random((3, 25))
    cube = scores_of(values, "AP")
    two = make_table(cube, runs=["r0", "r1"])
    np.testing.assert_array_equal(two.units[0], make_table(cube).units[0, :2])


def test_a_selection_chooses_bags() -> None:
    values = np.random.default_rng(3).random((2, 1_500))
    cube = scores_of(values)
    sizes: dict[int | Literal["none"], int] = {1_000: 1_000, 200: 200, "none": 1_500}
    for bags, n_units in sizes.items():
        chosen = sc.select(cube, bags=bags)
        assert make_table(chosen).sizes.size == n_units
        digest = cube_digest(chosen)
        assert (digest == cube_digest(cube)) == (bags == 1_000)


def test_a_refusal_names_the_metric_that_lacks_scores() -> None:
    """No document of topic 2 has level 2: the metric has no score there, and is named when read and when refused."""
    runs = {name: {"1": {"d1": 2.0, "d2": one}, "2": {"d1": 1.0}} for name, one in (("a", 1.0), ("b", 3.0))}  # fmt: skip
    qrels = {"1": {"d1": 2, "d2": 1}, "2": {"d1": 1}}
    cube = sc.evaluate(sc.read_rankings(runs, qrels), ["AP", "AP(rel=2)"])
    (doubt,) = [line for line in doubts_of(cube) if "level 2" in line]
    assert doubt.startswith("AP(rel=2)")
    assert doubt.endswith(": 2")
    with pytest.raises(BadPlan, match=r"1 of 2 .*AP\(rel=2\); "):
        make_table(cube)

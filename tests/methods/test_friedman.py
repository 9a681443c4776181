"""Mean ranks: a plain oracle, SciPy, the example of Demsar 2006, exact p of agreement, collections as blocks, what is refused."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import scorecube as sc
from scorecube.errors import BadName, BadPlan
from scorecube.methods.friedman import mean_ranks
from scorecube.methods.friedman.view import bars_of
from scorecube.testing import simulate_cube
from tests.analyses.metamorphic import SCALE, Law
from tests.analyses.test_metamorphic import ALL_RUNS, RELATIONS

if TYPE_CHECKING:
    from tests.conftest import Cli

DRAWN = ("ranks", "mean_rank")
LAWS = dict.fromkeys(RELATIONS, Law()) | {
    "topics in the opposite order": Law(close=["mean"]),
    "fewer runs": ALL_RUNS,
    "a run twice": ALL_RUNS,
    "topics become easier": Law(free=["mean"]),
    "scores are halved": Law(times={"mean": SCALE}),
}
C45 = {
    "C4.5": (0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.940, 0.619, 0.972, 0.957),
    "C4.5+m": (0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978),
    "C4.5+cf": (0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.0, 0.965, 0.614, 0.9751, 0.946),
    "C4.5+m+cf": (0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.0, 0.962, 0.669, 0.975, 0.970),
}  # fmt: skip
"""Demsar 2006, Table 6: accuracies of four algorithms on 14 data sets; .9751 prints as .975, and ranks before it there."""
Rows = list[list[float]]


def cube_of(rows: Rows) -> xr.Dataset:
    """Return scores (run, topic) as a cube of one metric."""
    names = [f"r{k}" for k in range(len(rows))], [f"t{k:03d}" for k in range(len(rows[0]))]
    return sc.cube_from_scores({"score": pd.DataFrame(rows, *names)})


def result_of(rows: Rows, **options: str) -> xr.Dataset:
    """Return the result of one metric, with topics as blocks."""
    return sc.analyse(cube_of(rows), sc.Friedman(**options)).isel(metric=0, gain=0)  # type: ignore[arg-type]


def plain_ranks(values: list[float]) -> list[float]:
    """Return mid-ranks, 1 for the largest."""
    return [1 + sum(y > x for y in values) + (values.count(x) - 1) / 2 for x in values]


def plain(rows: Rows) -> tuple[list[float], float, float]:
    """Return mean ranks, chi-squared corrected for ties (Conover 1999, equation 5.8.6) and F."""
    k, n = len(rows), len(rows[0])
    blocks = [plain_ranks([row[t] for row in rows]) for t in range(n)]
    sums = [sum(block[j] for block in blocks) for j in range(k)]
    squares = sum(rank * rank for block in blocks for rank in block)
    least = n * k * (k + 1) ** 2 / 4
    chi = (k - 1) * (sum(s * s for s in sums) - n * least) / (squares - least)
    return [s / n for s in sums], chi, (n - 1) * chi / (n * (k - 1) - chi)


def plain_range_p(q: float, k: int) -> float:
    """Return P(range of k normals > q), by Simpson's rule over the smallest of them."""
    lows = np.linspace(-9, 9, 6001)
    inside = stats.norm.pdf(lows) * (stats.norm.cdf(lows + q) - stats.norm.cdf(lows)) ** (k - 1)
    weights = np.array([1, *[4, 2] * 2999, 4, 1])
    return float(1 - k * (inside @ weights) * (lows[1] - lows[0]) / 3)


def scores_of(seed: int, k: int, n: int, levels: int) -> Rows:
    chance = np.random.default_rng(seed)
    effects = chance.integers(0, 3, (k, 1))
    rows: Rows = ((effects + chance.integers(0, levels, (k, n))) / 10).tolist()
    return rows


@pytest.mark.parametrize(("k", "n", "levels"), [(2, 7, 3), (4, 12, 4), (6, 30, 50), (9, 5, 9)])
def test_results_are_those_of_the_oracle(k: int, n: int, levels: int) -> None:
    rows = scores_of(k, k, n, levels)
    found = result_of(rows, baseline="r1")
    ranks, chi, f = plain(rows)
    np.testing.assert_allclose(found["mean_rank"], ranks, rtol=1e-14)
    assert found["chi_squared"].item() == pytest.approx(chi, rel=1e-12)
    assert found["f"].item() == pytest.approx(f, rel=1e-11)
    assert found["p_value"].item() == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    assert found["concordance"].item() == pytest.approx(chi / (n * (k - 1)))
    if k > 2:
        theirs = stats.friedmanchisquare(*rows)
        assert found["chi_squared"].item() == pytest.approx(theirs.statistic, rel=1e-12)
        assert found["p_chi_squared"].item() == pytest.approx(theirs.pvalue, rel=1e-9)
    error = math.sqrt(k * (k + 1) / (6 * n))
    for pair, (a, b) in enumerate(combinations(range(k), 2)):
        assert found["rank_difference"].values[pair] == pytest.approx(
            ranks[a] - ranks[b], abs=1e-12
        )
        p = plain_range_p(abs(ranks[a] - ranks[b]) / error * math.sqrt(2), k)
        assert found["p_nemenyi"].values[pair] == pytest.approx(p, abs=1e-8)
    z = [(rank - ranks[1]) / error for rank in ranks]
    p_of = {j: math.erfc(abs(z[j]) / math.sqrt(2)) for j in range(k) if j != 1}
    worst = 0.0
    for place, j in enumerate(sorted(p_of, key=lambda j: p_of[j])):
        worst = max(worst, min(1.0, (k - 1 - place) * p_of[j]))
        assert found["z"].values[j] == pytest.approx(z[j])
        assert found["p_baseline"].values[j] == pytest.approx(worst)
    assert np.isnan(found["p_baseline"].values[1])


def test_the_example_of_demsar() -> None:
    """Mean ranks, chi-squared and critical difference as printed; he does not correct for ties."""
    found = result_of([list(row) for row in C45.values()], baseline="r0")
    assert found["mean_rank"].values.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    k, n = 4, 14
    spread = sum((rank - 2.5) ** 2 for rank in found["mean_rank"].values)
    chi = 12 * n / (k * (k + 1)) * spread
    assert round(chi, 2) == 9.28
    assert round((n - 1) * chi / (n * (k - 1) - chi), 2) == 3.69
    assert found["chi_squared"].item() > chi
    assert round(found["critical_difference"].item(), 2) == 1.25
    assert round(float(found["z"].values[3]), 2) == -2.42
    assert mean_ranks.critical_difference(5, 10, 0.05) == pytest.approx(1.929, abs=5e-4)
    assert mean_ranks.critical_difference(5, 30, 0.05) == pytest.approx(1.114, abs=5e-4)


def test_where_all_blocks_agree_p_is_exact_and_f_is_missing() -> None:
    found = result_of([[0.1] * 3, [0.2] * 3, [0.3] * 3])
    orders = list(permutations(range(3)))
    agree = sum(len(set(blocks)) == 1 for blocks in product(orders, repeat=3))
    assert found["p_value"].item() == pytest.approx(agree / len(orders) ** 3)
    assert np.isnan(found["f"].item())
    assert found["concordance"].item() == 1
    tied = result_of([[0.1] * 4, [0.1] * 4, [0.3] * 4])  # three orders in each block
    assert tied["p_value"].item() == pytest.approx(3.0**-3)
    equal = result_of([[0.1] * 4, [0.1] * 4])
    assert np.isnan([equal["f"].item(), equal["p_value"].item(), equal["chi_squared"].item()]).all()
    assert equal["mean_rank"].values.tolist() == [1.5, 1.5]
    many = result_of([[k / 40] * 300 for k in range(40)])
    assert 0 < many["p_value"].item() < 1e-300
    assert (many["p_nemenyi"].values > 0).all()


def test_groups_are_runs_within_a_critical_difference() -> None:
    found = result_of(scores_of(3, 7, 40, 9))
    critical = found["critical_difference"].item()
    ranks, groups = found["mean_rank"].values, found["groups"].values
    for a, b in combinations(range(7), 2):
        if not set(groups[a]) & set(groups[b]):
            between = (min(ranks[a], ranks[b]) <= ranks) & (ranks <= max(ranks[a], ranks[b]))
            assert np.ptp(ranks[between]) >= critical
        if abs(ranks[a] - ranks[b]) >= critical:
            assert not set(groups[a]) & set(groups[b])
    bars = list(bars_of(np.array([1.0, 1.5, 2.2, 4.0, 4.1, 9.0]), 1.3))
    assert bars == [(0, 2), (3, 4)]


def test_smaller_scores_are_better_where_that_is_declared() -> None:
    rows = scores_of(5, 4, 9, 20)
    lower = cube_of(rows).assign_coords(higher_is_better=("metric", [False]))
    ranks = sc.analyse(lower, sc.Friedman())["mean_rank"].values
    np.testing.assert_allclose(ranks + result_of(rows)["mean_rank"].values, 5.0)


def test_collections_are_blocks_where_there_are_several(scorecube: Cli, tmp_path: Path) -> None:
    cubes = {name: simulate_cube(n_runs=5, seed=seed) for seed, name in enumerate("abcd")}
    found = sc.analyse(cubes, sc.Friedman())
    assert found.attrs["blocks"] == "collections"
    means = np.stack([cubes[name]["score"].mean("topic").values for name in "abcd"])
    ranks = stats.rankdata(-means, axis=-1)
    np.testing.assert_array_equal(found["block_rank"], np.moveaxis(ranks, 0, 2))
    np.testing.assert_allclose(found["mean_rank"], ranks.mean(axis=0))
    by_topic = sc.analyse(cubes, sc.Friedman(blocks="topics"))
    assert by_topic.sizes["collection"] == 4
    study = sc.open_study(tmp_path / "study", mode="a")
    for name, cube in cubes.items():
        study.add(name, cube=cube)
    path = tmp_path / "study"
    scorecube("friedman", path).succeeded()
    shown = scorecube("friedman", path, "--blocks", "topics", "--collection", "b").succeeded()
    assert "over 50 topics" in shown.stdout
    page = tmp_path / "page.html"
    scorecube("report", path, "--out", page).succeeded()
    assert "over 4 collections" in page.read_text()


def test_what_is_refused_and_what_is_said(caplog: pytest.LogCaptureFixture) -> None:
    cubes = {name: simulate_cube(n_runs=4, seed=seed) for seed, name in enumerate("ab")}
    cubes["b"] = cubes["b"].isel(run=[0, 1, 2])
    with pytest.raises(BadPlan, match=r"b .*team04-run1"):
        sc.analyse(cubes, sc.Friedman())
    with pytest.raises(BadPlan, match="several collections"):
        sc.analyse(cubes["a"], sc.Friedman(blocks="collections"))
    with pytest.raises(BadPlan, match="there is one"):
        sc.Friedman(blocks="collections").grouped(["a"])
    with pytest.raises(BadPlan, match="2 blocks"):
        sc.analyse(cubes["a"].isel(topic=[0]), sc.Friedman())
    with pytest.raises(BadName, match="no run 'x'"):
        sc.analyse(cubes["a"], sc.Friedman(baseline="x"))
    gap = cubes["a"].copy(deep=True)
    gap["score"].values[0, 0, 0, 0] = np.nan
    with pytest.raises(BadPlan, match="missing"):
        sc.analyse(gap, sc.Friedman())
    many = result_of([[k + t % 3 for t in range(6)] for k in range(101)])
    assert many["p_nemenyi"].isnull().all()
    assert any("more than 100" in note for note in many.attrs["warnings"])
    assert sc.figure(sc.analyse(cube_of([[k + t % 3 for t in range(6)] for k in range(101)]), sc.Friedman()))  # fmt: skip


def test_tables_have_the_columns_that_scripts_rely_on() -> None:
    found = sc.analyse(
        cube_of([[k + (t * k) % 3 for t in range(8)] for k in range(4)]), sc.Friedman()
    )
    names = ("ranks", "tests", "pairs")
    columns = {name: {*sc.table(found, name).columns} for name in names}
    assert {"run", "mean_rank", "group"} <= columns["ranks"]
    assert {"statistic", "p_value", "iman_davenport", "iman_davenport_p_value", "critical_difference", "n_runs", "n_blocks"} <= columns["tests"]  # fmt: skip
    assert {"run_a", "run_b", "difference", "p_value", "p_value_holm"} <= columns["pairs"]
    assert {*sc.table(found).columns} == columns["ranks"]


def test_pairs_are_adjusted_by_holm_as_written_down() -> None:
    """Two-sided normal p-values of z = R_i - R_j / sqrt(k (k + 1) / 6 N) (Demsar 2006, section 3.2.2)."""
    scores = cube_of([[k + (t * k) % 3 for t in range(8)] for k in range(4)])
    table = sc.table(sc.analyse(scores, sc.Friedman()), "pairs")
    z = [abs(d) / (4 * 5 / (6 * 8)) ** 0.5 for d in table["difference"]]
    p = [2 * stats.norm.sf(each) for each in z]
    adjusted = dict.fromkeys(range(len(p)), 0.0)
    highest = 0.0
    for place, pair in enumerate(sorted(adjusted, key=lambda pair: p[pair])):
        highest = max(highest, min(1.0, p[pair] * (len(p) - place)))
        adjusted[pair] = highest
    assert table["p_value_holm"].tolist() == pytest.approx([*adjusted.values()], rel=1e-12)

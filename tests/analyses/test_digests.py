"""Digests of plans are those of earlier releases: stored results and blocks are found by them."""

from __future__ import annotations

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.base import Analysis
from scorecube.analyses.plan import make_plan
from scorecube.testing import simulate_cube, simulate_rankings

PLANS: dict[str, tuple[str, Analysis, str, str]] = {
    "swap": ("cube", sc.Swap(bins=21, required="suffix"), "10a352b3cecd08c4", "3476c22a40ad015c"),
    "swap, other options": ("cube", sc.Swap(sampling="replacement", size=(10, 5), rule="s1", confidence=(0.9,), bin_width=0.02, bins=30, allow_zero=True, signed=True, symmetric=True, share="all", interval="population", groups=5, required="suffix", run_groups="runs"), "f024c1a1dd569635", "218114b486735a96"),
    "stability": ("cube", sc.Stability(), "bfb13b4491e63276", "94f41edad8608d31"),
    "stability, other options": ("cube", sc.Stability(sampling="independent", size=7, fuzziness=(0.05, 0.1)), "f04941b9ecd5fc9f", "f0789b6e364aa9e7"),
    "splits": ("cube", sc.Splits(), "b4f2cc6dab7f2fa6", "878b3850480f7c28"),
    "splits, other options": ("cube", sc.Splits(size=(5, 10), thresholds=(0.7,)), "28ecfd2b357afde7", "500aa70cffd5accd"),
    "bootstrap": ("cube", sc.Bootstrap(plus_one=False), "9ae6d6d8366a7a5a", "f8c0bcb776d05cb3"),
    "bootstrap, other options": ("cube", sc.Bootstrap(alphas=(0.1,), sided=1, plus_one=True, only_significant=True, missing="pairwise", studentised=False, precision="mixed"), "ad377174e8699b34", "f209a57f77e7a5fd"),
    "randomisation": ("cube", sc.Randomisation(plus_one=False), "1a864f5132b596bc", "0f19f81ef8afdc41"),
    "randomisation, other options": ("cube", sc.Randomisation(alphas=(0.05,), missing="pairwise", sided=1, plus_one=False), "8a39c815860ea222", "4bbf3a4095e1f2f4"),
    "tukey": ("cube", sc.Tukey(plus_one=False), "8acff499d124193d", "71ef34199e43d245"),
    "tukey, other options": ("cube", sc.Tukey(alphas=(0.1,), plus_one=True), "d224978eeb3b7245", "71ef34199e43d245"),
    "unpaired": ("cube", sc.Unpaired(plus_one=False), "5869221a75f90ca1", "74d47717b10ffe93"),
    "unpaired, other options": ("cube", sc.Unpaired(plus_one=True, only_significant=True), "a8f5ff9ed9cf3d30", "74d47717b10ffe93"),
    "paired": ("cube", sc.Paired(bounds=()), "51c572e2c47b815e", "79eba7405720ea06"),
    "paired, other options": ("cube", sc.Paired(tests=("t", "sign"), alphas=(0.1,), missing="pairwise", bounds=()), "ed0f7069fe1232ca", "3dc9038bc9301eb3"),
    "correlate": ("cube", sc.Correlation(two_kinds=False), "ec5ee67ea0a125fd", "dd2fcfccb9facc55"),
    "correlate, other options": ("cube", sc.Correlation(along=("metric",), intervals=("runs", "topics"), confidence=0.9, bold=0.8, two_kinds=False), "0fff1d2423936413", "d3e8b51ded8b92c8"),
    "agreement": ("sets", sc.Agreement(two_kinds=False), "f62dcaccca25f4f6", "d892397429305bb6"),
    "agreement, other options": ("sets", sc.Agreement(p=0.8, ties="b", confidence=0.9, interval="basic", test="sign", alphas=(0.1,), top=5, two_kinds=False), "5e83d42f4b95c174", "96a20c9f39491b62"),
    "teams": ("ranked", sc.Teams(pool_depth=10), "70d4d96bda815b37", "bc57b044cb0d7f1b"),
    "teams, other options": ("ranked", sc.Teams(leave=(2, 1), topic_sizes=(5, 3), topic_chain="shared", pool_depth=5, keep_unpooled=False, lost_topics="all_runs_zero", distinct=True, interval="percentile", confidence=0.9, fewer_topics="survivors"), "ff7466d793ed101b", "b4aa7ab1bda1a6f3"),
}  # fmt: skip
"""Cube, analysis, digest of the result and digest of the blocks, for 50 trials and seed 1."""


@pytest.fixture(scope="module")
def cubes() -> dict[str, xr.Dataset]:
    cube = simulate_cube(n_runs=6, seed=3)
    rankings = simulate_rankings(n_runs=6, n_teams=3, depth=10, seed=1)
    ranked = sc.with_rankings(sc.evaluate(rankings, ["nDCG@10", "AP"], ["3:2:1"]), rankings)
    return {"cube": cube, "sets": sc.judgement_sets(cube, cube), "ranked": ranked}


@pytest.mark.parametrize(
    ("cube", "analysis", "digest", "work_digest"), PLANS.values(), ids=PLANS.keys()
)
def test_digests_are_those_of_earlier_releases(
    cubes: dict[str, xr.Dataset], cube: str, analysis: Analysis, digest: str, work_digest: str
) -> None:
    plan = make_plan(cubes[cube], analysis, trials=50, seed=1).plan
    assert (plan.digest, plan.work_digest) == (digest, work_digest)

"""Effect ratio and delta relative improvement: repro_eval's values, plain oracles, and how often intervals hold."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from scorecube.analyses.rank_agreement.replicability import effects, fieller
from scorecube.workflow.api import cube_from_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

ADVANCED = [[0.31, 0.52, 0.18, 0.77, 0.05, 0.64], [0.42, 0.11, 0.38, 0.27, 0.80]]
BASELINE = [[0.22, 0.49, 0.20, 0.60, 0.01, 0.55], [0.40, 0.13, 0.30, 0.20, 0.66]]
REPRO_EVAL_ER, REPRO_EVAL_DRI = 0.87, 0.02163908183975069


def cube_of(advanced: Any, baseline: Any, topics: list[str] | None = None) -> xr.Dataset:
    labels = topics or [f"t{k}" for k in range(len(advanced))]
    frame = pd.DataFrame([advanced, baseline], index=["new", "old"], columns=labels)
    return cube_from_scores({"AP": frame})


def test_values_are_those_of_repro_eval() -> None:
    """ER and DRI of repro_eval 0.5.0 for the scores above."""
    first, second = (cube_of(*pair) for pair in zip(ADVANCED, BASELINE, strict=True))
    (row,) = sc.replicability(first, second, baseline="old").to_dict("records")
    assert row["effect_ratio"] == pytest.approx(REPRO_EVAL_ER, abs=1e-12)
    assert row["delta_ri"] == pytest.approx(REPRO_EVAL_DRI, abs=1e-12)
    assert (row["run"], row["topics_a"], row["topics_b"]) == ("new", 6, 5)


@pytest.mark.parametrize("same", [False, True])
def test_limits_are_those_of_a_plain_oracle(same: bool) -> None:
    chance = np.random.default_rng(2)
    n, m = 30, 30 if same else 41
    old = [chance.beta(2, 4, size) for size in (n, m)]
    if same:
        old[1] = 0.8 * old[0] + 0.05 * chance.random(n)
    new = [values + 0.1 + 0.1 * chance.standard_normal(len(values)) for values in old]
    cubes = [cube_of(*pair) for pair in zip(new, old, strict=True)]
    (row,) = sc.replicability(*cubes, baseline="old", same_topics=same).to_dict("records")
    z = [(a - b).tolist() for a, b in zip(new, old, strict=True)]
    # A ratio r is inside if the t test of "second - r first" does not reject it.
    for r in (row["effect_ratio_low"], row["effect_ratio_high"]):
        if same:
            t = scipy.stats.ttest_1samp([y - r * x for x, y in zip(*z, strict=True)], 0).statistic
            freedom: float = n - 1
        else:
            v, w = statistics.variance(z[0]) / n, statistics.variance(z[1]) / m
            t = (statistics.fmean(z[1]) - r * statistics.fmean(z[0])) / math.sqrt(w + r * r * v)
            q = row["effect_ratio"] ** 2
            freedom = (w + q * v) ** 2 / (w**2 / (m - 1) + (q * v) ** 2 / (n - 1))
        assert abs(t) == pytest.approx(scipy.stats.t.ppf(0.975, freedom), rel=1e-8)
    # Delta RI: the jackknife has nearly the variance of the delta method.
    half = (row["delta_ri_high"] - row["delta_ri_low"]) / 2

    def improvement(k: int, left: int) -> float:
        keep = [j for j in range(len(z[k])) if j != left]
        return statistics.fmean(new[k][keep]) / statistics.fmean(old[k][keep]) - 1

    parts = [[improvement(k, left) for left in range(len(z[k]))] for k in (0, 1)]
    if same:
        changes = [x - y for x, y in zip(*parts, strict=True)]
        variance = (n - 1) ** 2 / n * statistics.variance(changes)
    else:
        variance = sum((len(x) - 1) ** 2 / len(x) * statistics.variance(x) for x in parts)
    assert half == pytest.approx(2.0 * math.sqrt(variance), rel=0.06)


def test_an_effect_that_is_not_there_has_no_interval() -> None:
    assert all(map(math.isnan, fieller((0.01, 0.1), (0.01, 0.01, 0.0), 2.0)))
    low, high = fieller((1.0, 0.5), (0.0, 0.0, 0.0), 2.0)
    assert (low, high) == (0.5, 0.5)
    equal = [np.full(8, 0.5), np.full(8, 0.5)]
    found = effects([(equal[0], equal[1]), (equal[0] + 0.1, equal[1])], False, 0.95)
    assert math.isnan(found["effect_ratio"])
    assert found["delta_ri"] == pytest.approx(-0.2)


def coverage(draw: Any, truth: tuple[float, float], trials: int, same: bool = False) -> Any:
    """Return the shares of intervals that hold the true ratio and delta RI, and of ratios with an interval."""
    ratio, change, given = 0, 0, 0
    for k in range(trials):
        found = effects(draw(np.random.default_rng((11, k))), same, 0.95)
        known = not math.isnan(found["effect_ratio_low"])
        given += known
        ratio += known and found["effect_ratio_low"] <= truth[0] <= found["effect_ratio_high"]
        change += found["delta_ri_low"] <= truth[1] <= found["delta_ri_high"]
    return ratio / max(given, 1), change / trials, given / trials


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m", "d_z", "replicated"),
    [(50, 50, 0.8, 1.0), (50, 50, 0.8, 0.3), (50, 50, 0.4, 1.0), (50, 25, 0.5, 0.0)],
)
def test_coverage_on_simulated_collections(n: int, m: int, d_z: float, replicated: float) -> None:
    """Beta scores of a baseline, of mean 1/3, and skewed differences of standard deviation .1."""
    effect = 0.1 * d_z

    def scores(chance: np.random.Generator, size: int, mean: float) -> tuple[Any, Any]:
        base = chance.beta(2, 4, size)
        return base + mean + 0.1 * (chance.exponential(1.0, size) - 1.0), base

    def draw(chance: np.random.Generator) -> Any:
        return [scores(chance, n, effect), scores(chance, m, replicated * effect)]

    found = coverage(draw, (replicated, 3 * effect * (1 - replicated)), 4000)
    print(f"n {n} {m}, d_z {d_z}, ratio {replicated}: {found[0]:.3f} {found[1]:.3f}; given {found[2]:.3f}")  # fmt: skip
    assert found[1] > 0.92
    assert found[0] > (0.92 if d_z >= 0.8 else 0.88)


@pytest.mark.data
def test_real_collections_of_two_judges(data: Path) -> None:
    frames = [
        pd.read_csv(data / "syndl-dl2019" / f"{judge}-AP.csv", index_col=0).T
        for judge in ("nist", "gpt4")
    ]
    cubes = [cube_from_scores({"AP": frame}) for frame in frames]
    table = sc.replicability(*cubes, baseline="bm25base_p").set_index("run")
    for run in table.index[:5]:
        mean = [frame.loc[run].mean() - frame.loc["bm25base_p"].mean() for frame in frames]
        assert table.loc[run, "effect_ratio"] == pytest.approx(mean[1] / mean[0])
    assert len(table) == 35


def test_the_command_compares_two_collections(scorecube: Cli, tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "s", mode="a")
    for name, k in (("one", 0), ("two", 1)):
        study.add(name, cube=cube_of(ADVANCED[k], BASELINE[k]))
    words = ["replicate", tmp_path / "s", "--collections", "one,two", "--baseline"]
    done = scorecube(*words, "old", "--format", "csv").succeeded()
    header, row = (line.split(",") for line in done.stdout.splitlines())
    assert row[:6] == ["one", "two", "AP", "auto", "new", "old"]
    assert float(row[header.index("effect_ratio")]) == pytest.approx(REPRO_EVAL_ER)
    for bad, message in (
        ([*words, "odl"], "no run 'odl'"),
        ([*words, "old", "--runs", "newer"], "no run 'newer' in both"),
        ([*words, "old", "--confidence", 2], "confidence"),
        ([*words[:3], "one,one", "--baseline", "old"], "two different collections"),
    ):
        refused = scorecube(*bad)
        assert refused.status == 1
        assert message in refused.stderr
    same = scorecube(*words, "old", "--same-topics").succeeded()
    assert same.stdout.splitlines()[-1].split()[6:8] == ["5", "5"]

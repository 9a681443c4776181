"""Comparisons and gates: situations with status and verdicts, plain arithmetic of differences and means, and no pass of what is not known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import scorecube as sc
from scorecube import names
from scorecube.errors import BadPlan
from scorecube.methods.compare import gate as module
from scorecube.methods.compare.view import NOT_JUDGED as NOT
from scorecube.statistics.intervals import Sample, mean_limits, p_of_mean

if TYPE_CHECKING:
    from tests.conftest import Cli

N = 60
Cubes = dict[str, xr.Dataset]
SYSTEMS = ("ours", "base")


def cube_of(differences: Any, metric: str = "score", name: str = "ours") -> xr.Dataset:
    """Return scores of ours and base, and of a third run, whose differences from base are given."""
    base = np.random.default_rng(1).uniform(0.3, 0.6, len(differences)).round(3)
    rows = {"base": base, name: base + differences, "other": base[::-1]}
    topics = [f"t{k:03d}" for k in range(len(base))]
    cube: xr.Dataset = sc.cube_from_scores({metric: pd.DataFrame(rows, topics).T})
    return cube


def noisy(mean: float, n: int = N, sd: float = 0.01) -> Any:
    """Return differences with exactly this mean and standard deviation."""
    values = np.random.default_rng(2).standard_normal(n)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


def binary(ours: Any, base: Any) -> Cubes:
    """Return two runs that are right on some items."""
    topics = [f"t{k:04d}" for k in range(len(base))]
    rows = pd.DataFrame([np.array(base, float), np.array(ours, float)], ["base", "ours"], topics)
    return {"a": sc.cube_from_scores({"accuracy": rows})}


def with_gap(run: str = "ours") -> Cubes:
    cube = cube_of(noisy(0.1))
    cube["score"].loc[{"run": run, "topic": "t005"}] = np.nan
    return {"a": cube}


def repeated(*means: float) -> Cubes:
    """Return two systems of three seeds each; of one the seeds differ from the other by these means."""
    base = np.random.default_rng(3).uniform(0.3, 0.6, N)
    chance = np.random.default_rng(4).standard_normal((6, N))
    rows = base + np.array([0.0, 0.0, 0.0, *means])[:, np.newaxis] + 0.01 * chance
    runs = [(system, seed) for system in ("base", "ours") for seed in "123"]
    table = [
        {"system": system, "seed": seed, "topic": f"t{k:03d}", "score": score}
        for (system, seed), scores in zip(runs, rows.clip(0).round(4), strict=True)
        for k, score in enumerate(scores)
    ]
    return {"a": sc.cube_from_scores(pd.DataFrame(table))}


def turned(cubes: Cubes) -> Cubes:
    """Return scores of which smaller ones are better."""
    return {
        name: cube.assign_coords({names.HIGHER_IS_BETTER: ("metric", [False])})
        for name, cube in cubes.items()
    }


def lost(n_items: int, n_lost: int) -> Cubes:
    right = np.arange(n_items) % 10 > 0
    return binary(right & (np.cumsum(right) > n_lost), right)


BETTER, WORSE = {"a": cube_of(noisy(0.05))}, {"a": cube_of(noisy(-0.05))}
LACKING = {"a": cube_of(noisy(0.05)), "b": cube_of(noisy(0.05), name="theirs")}
TWO_METRICS = {"a": cube_of(noisy(0.05)), "b": cube_of(noisy(0.05), "f1")}
PASS, FAIL, NONE = module.PASS, module.FAIL, module.NO_VERDICT


def bounded(cubes: Cubes, low: float = 0.0, high: float = 1.0) -> Cubes:
    """Return scores whose range is known."""
    ends = {"score_low": ("metric", [low]), "score_high": ("metric", [high])}
    return {name: cube.assign_coords(ends) for name, cube in cubes.items()}


def collections(*means: float, n: int = N, sd: float = 0.01) -> Cubes:
    return bounded({f"c{k}": cube_of(noisy(mean, n, sd)) for k, mean in enumerate(means)})


def two_metrics(loss: float, other: float) -> Cubes:
    first, second = cube_of(noisy(-loss), "f1"), cube_of(noisy(-other) * 100, "latency")
    return {"a": xr.concat([first, second], "metric")}


EQUAL = bounded({"a": cube_of(np.zeros(N))})
NOISE = bounded({"a": cube_of(noisy(0.0, N, 1e-6))})
SMALL = collections(0.05, 0.05) | bounded({"tiny": cube_of(noisy(0.05, 4))})
ONE = collections(0.05, 0.05) | bounded({"tiny": cube_of([0.05])})
# What there is, options, exit status, verdicts, and a part of a reason or of the message.
SITUATIONS: dict[str, tuple[Cubes, tuple[Any, ...], int, list[str], str]] = {
    "better": (BETTER, (), 0, [PASS], ""),
    "worse": (WORSE, (), 3, [FAIL], "worse by more than the margin (-0.0526 to -0.0474)"),
    "worse within the margin": (WORSE, ("--margin", 0.1), 0, [PASS], "worse (-0.0526 to -0.0474), by less than the margin"),
    "lower is better": (turned(WORSE), (), 0, [PASS], ""),
    "lower is better, worse": (turned(BETTER), (), 3, [FAIL], "worse by more"),
    "not shown": ({"a": cube_of(noisy(-0.005, 20, 0.05))}, (), 4, [NONE], "perhaps worse (-0.028 to +0.018)"),
    "not shown, allowed": ({"a": cube_of(noisy(-0.005, 20, 0.05))}, ("--allow-undecided",), 0, [NONE], "perhaps worse"),
    "worse, perhaps by the margin": ({"a": cube_of(noisy(-0.012))}, (), 4, [NONE], "worse (-0.0146 to -0.0094), perhaps by more"),
    "worse is never allowed": ({"a": cube_of(noisy(-0.012))}, ("--allow-undecided",), 4, [NONE], "worse (-0.0146"),
    "no limits are never allowed": ({"a": cube_of(np.zeros(N))}, ("--allow-undecided",), 4, [NONE], "too few topics differ"),
    "too few topics": ({"a": cube_of(noisy(0.3, 5))}, (), 4, [NONE], "fewer than 6 topics"),
    "a single topic": ({"a": cube_of([0.5])}, (), 4, [NONE], "single topic"),
    "equal scores follow their limits": (EQUAL, (), 4, [NONE], "perhaps worse (-0.05 to +0.05)"),
    "equal scores, a large margin": (EQUAL, ("--margin", 0.05), 0, [PASS], ""),
    "equal scores, no range": ({"a": cube_of(np.zeros(N))}, (), 4, [NONE], "too few topics differ"),
    "noise counts as equal": (NOISE, (), 4, [NONE], "perhaps worse (-0.05 to +0.05)"),
    "a constant difference": (bounded({"a": cube_of(np.full(N, -0.125))}), (), 3, [FAIL], ""),
    "a constant difference, no range": ({"a": cube_of(np.full(N, -0.125))}, (), 4, [NONE], "too few topics differ"),
    "0 and 1, equal": (lost(30, 0), (), 4, [NONE], "perhaps worse"),
    "0 and 1, lost the margin on few items": (lost(100, 1), (), 4, [NONE], ""),
    "0 and 1, lost many": (lost(1000, 100), (), 3, [FAIL], ""),
    "the mean decides": (collections(0.05, -0.005), (), 0, [NOT, NOT, PASS], "worse (-0.0076"),
    "a collection below the margin is named": (collections(0.2, -0.05), (), 4, [NOT, NOT, PASS], ""),
    "and is never allowed": (collections(0.2, -0.05), ("--allow-undecided",), 4, [NOT, NOT, PASS], ""),
    "each": (collections(0.2, -0.05), ("--each",), 3, [PASS, FAIL, PASS], ""),
    "each, all pass": (collections(0.2, 0.05), ("--each",), 0, [PASS] * 3, ""),
    "only Holm stops": (collections(0.0, 0.0, -0.0127), ("--each",), 4, [PASS, PASS, NONE, PASS], "not after Holm over 4 rows"),
    "a small collection is named": (SMALL, (), 0, [NOT, NOT, NOT, PASS], "fewer than 6 topics"),
    "a small collection of each": (SMALL, ("--each",), 4, [PASS, PASS, NONE, PASS], "fewer than 6 topics"),
    "one item, left out": (ONE, ("--collections", "c0,c1"), 0, [NOT, NOT, PASS], ""),
    "one item": (ONE, (), 4, [NOT, NOT, NOT, NONE], "unknown in tiny"),
    "a missing run in a collection": (LACKING, (), 4, [NOT, NOT, NONE], "no run 'ours'"),
    "a missing run": (BETTER, ("--run", "our"), 1, [], "nearest: ours"),
    "a missing baseline": (BETTER, ("--baseline", "bass"), 1, [], "nearest: base"),
    "a missing collection": (BETTER, ("--collections", "a,c"), 1, [], "c"),
    "a missing metric": (BETTER, ("--metrics", "AP"), 1, [], "no metric 'AP'"),
    "a metric of one collection": (TWO_METRICS, (), 4, [NOT, NOT, NONE], "unknown in b"),
    "the first metric": (two_metrics(-0.05, 9.0), (), 0, [PASS], ""),
    "margins by metric": (two_metrics(0.001, 0.3), ("--margin", "f1=0.01,latency=50"), 0, [PASS, PASS], ""),
    "one metric fails": (two_metrics(0.05, 0.3), ("--margin", "f1=0.01,latency=50"), 3, [FAIL, PASS], ""),
    "one margin for unlike ranges": (two_metrics(0.05, 0.3), ("--metrics", "f1,latency"), 1, [], "--margin f1=0.01,latency=0.01"),
    "a margin for another metric": (two_metrics(0.05, 0.3), ("--metrics", "f1", "--margin", "latency=1"), 1, [], "each of f1"),
    "gaps": (with_gap(), (), 4, [NONE], "scores are missing"),
    "gaps, dropped": (with_gap(), ("--missing", "drop"), 0, [PASS], ""),
    "gaps of a third run": (with_gap("other"), (), 0, [PASS], ""),
    "seeds, better": (repeated(0.08, 0.07, 0.09), (), 0, [PASS], ""),
    "a seed that is 0 everywhere": (repeated(0.02, 0.02, -1.0), (), 3, [FAIL], ""),
    "a margin of zero": (BETTER, ("--margin", 0), 1, [], "above 0"),
    "a margin that is no number": (BETTER, ("--margin", "nan"), 1, [], "above 0"),
    "a margin that is none": (BETTER, ("--margin", "1%"), 1, [], "valid"),
    "the baseline itself": (BETTER, ("--run", "base"), 1, [], "is the baseline"),
}  # fmt: skip


def study_of(path: Path, cubes: Cubes) -> Path:
    opened = sc.open_study(path, mode="a")
    for name, cube in cubes.items():
        opened.add(name, cube=cube)
    return path


@pytest.mark.parametrize("name", SITUATIONS)
def test_situations(name: str, tmp_path: Path, scorecube: Cli) -> None:
    cubes, options, status, verdicts, said = SITUATIONS[name]
    path = study_of(tmp_path / "s.zarr", cubes)
    usual = (("--run", "ours"), ("--baseline", "base"), ("--margin", 0.01))
    words = [word for pair in usual if pair[0] not in options for word in pair]
    outcome = scorecube("gate", path, *words, *options, "--format", "json")
    assert outcome.status == status, outcome.stderr + outcome.stdout
    if not verdicts:
        assert said in outcome.stderr
        assert not outcome.stdout
        return
    document = json.loads(outcome.stdout)
    rows = document["rows"]
    assert [row["verdict"] for row in rows] == verdicts
    assert said in " ".join(row["reason"] for row in rows)
    overall = {0: PASS, 3: FAIL, 4: NONE}[status]
    if "not shown, allowed" in name:
        overall = NONE
    assert (document["verdict"], document["status"]) == (overall, status)
    assert all((row["low"] is None) == (row["p_of_loss"] is None) for row in rows)
    assert bool(document["below"]) == (cubes.keys() == {"c0", "c1"} and said == "" and "each" not in name and status == 4)  # fmt: skip
    text = scorecube("gate", path, *words, *options)
    assert text.status == status
    assert f"\n{overall}: " in text.stdout
    assert scorecube("gate", path, *words, *options, "--quiet").stdout == ""
    table = scorecube("gate", path, *words, *options, "--format", "markdown")
    assert table.status == status
    assert table.stdout.startswith(f"{overall}: ours against base")
    assert sum(line.startswith("| ") for line in table.stdout.splitlines()) == len(rows) + 2


MEANS = {"a": cube_of(noisy(0.05))}
MEAN = float(MEANS["a"]["score"].sel(run="ours").mean())
AT_LEAST: dict[str, tuple[Cubes, tuple[Any, ...], int, list[str], str]] = {
    "above": (bounded(MEANS), (MEAN - 0.1,), 0, [PASS], ""),
    "below": (bounded(MEANS), (MEAN + 0.1,), 3, [FAIL], "worse by more than the margin"),
    "near": (bounded(MEANS), (MEAN + 0.001,), 4, [NONE], "perhaps worse"),
    "near, allowed": (bounded(MEANS), (MEAN + 0.001, "--allow-undecided"), 0, [NONE], ""),
    "lower is better": (turned(bounded(MEANS)), (MEAN + 0.1,), 0, [PASS], ""),
    "lower is better, above": (turned(bounded(MEANS)), (MEAN - 0.1,), 3, [FAIL], ""),
    "perfect scores on few items": (binary(np.ones(25), np.ones(25)), (0.95,), 4, [NONE], ""),
    "perfect scores on many": (binary(np.ones(250), np.ones(250)), (0.95,), 0, [PASS], ""),
    "outside the range": (bounded(MEANS), (45,), 1, [], "outside the range of score, 0 to 1"),
    "with a margin": (bounded(MEANS), (0.4, "--margin", 0.1), 1, [], "takes the place"),
    "by metric": (bounded(MEANS), (f"score={MEAN - 0.1}",), 0, [PASS], ""),
    "the mean of two": (collections(0.1, -0.1), (0.3,), 0, [NOT, NOT, PASS], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_LEAST)
def test_at_least(name: str, tmp_path: Path, scorecube: Cli) -> None:
    cubes, (number, *options), status, verdicts, said = AT_LEAST[name]
    path = study_of(tmp_path / "s.zarr", cubes)
    words = ("gate", path, "--run", "ours", "--at-least", number, *options)
    outcome = scorecube(*words, "--format", "json")
    assert outcome.status == status, outcome.stderr + outcome.stdout
    if not verdicts:
        assert said in outcome.stderr
        return
    document = json.loads(outcome.stdout)
    (row,) = document["rows"][-1:]
    assert [row["verdict"] for row in document["rows"]] == verdicts
    assert said in row["reason"]
    bound = document["at_least"][row["metric"]]
    mean = np.mean([cube["score"].sel(run="ours").mean() for cube in cubes.values()])
    assert row["difference"] == pytest.approx(mean - bound)
    outside = row["low"] > 0 or row["high"] < 0
    assert outside == (min(row["p_of_loss"], 1 - row["p_of_loss"]) < 0.025)
    assert "ours at least" in scorecube(*words).stdout


def test_p_of_a_mean_is_where_its_limit_is_the_bound() -> None:
    for scores, ends in (([0.2, 0.4, 0.5, 0.1, 0.7, 0.6, 0.35, 0.45, 0.15, 0.9], (0.0, 1.0)), ([1.0] * 20 + [0.0], (0.0, 1.0)), (list(range(12)), None)):  # fmt: skip
        sample = [Sample(1.0, np.array(scores, float), np.ones(len(scores)))]
        low, high = mean_limits(sample, ends, 0.9)
        if ends is None or high < 1:  # not clipped
            assert p_of_mean(sample, ends, high) == pytest.approx(0.05, abs=1e-6)
        assert p_of_mean(sample, ends, low) == pytest.approx(0.95, abs=1e-6)
    t = stats.ttest_1samp(range(12), 7.0, alternative="less").pvalue
    assert p_of_mean(sample, None, 7.0) == pytest.approx(t, rel=1e-6)


def test_noise_is_equal_and_said() -> None:
    found = sc.compare(NOISE, *SYSTEMS)
    assert found["verdict"].values.ravel().tolist() == ["equal"]
    assert (found["ties"].item(), found["difference"].item()) == (N, 0.0)
    assert any("counts as equal" in note for note in found.attrs["notes"])
    # The rule is about all items: one larger difference, and all count.
    mixed = noisy(0.0, N, 1e-6)
    mixed[0] = 0.01
    found = sc.compare(bounded({"a": cube_of(mixed)}), *SYSTEMS)
    assert found["ties"].item() < N


def test_compare_never_contradicts_itself() -> None:
    chance = np.random.default_rng(1)
    for n in (10, 25, 60, 200):
        for share in (0.5, 0.9, 0.97):
            right = chance.random((2, n)) < np.array([[share], [min(1.0, share + 0.08)]])
            found = sc.compare(binary(*right), *SYSTEMS)
            low, high, p = (found[name].item() for name in ("low", "high", "p_value"))
            assert (low > 0 or high < 0) == (p < 0.05)
            assert 0 < p <= 1
            assert high - low > 0


def test_the_margin_belongs_to_python_too() -> None:
    both = two_metrics(0.001, 0.3)
    found = sc.gate(both, *SYSTEMS, margin={"f1": 0.01, "latency": 50.0})
    assert found.attrs["status"] == 0
    assert found["margin"].values.ravel().tolist() == [0.01, 50.0]
    with pytest.raises(BadPlan, match="unlike ranges"):
        sc.gate(both, *SYSTEMS, margin=0.01, metrics=["f1", "latency"])
    with pytest.raises(BadPlan, match="margin"):
        sc.gate(both, *SYSTEMS)
    with pytest.raises(BadPlan, match="at_least"):
        sc.gate(both, "ours")


def test_a_gate_without_a_margin_offers_what_the_topics_would_show(
    tmp_path: Path, scorecube: Cli
) -> None:
    path = study_of(tmp_path / "s.zarr", BETTER)
    outcome = scorecube("gate", path, "--run", "ours", "--baseline", "base")
    half = stats.t.ppf(0.975, N - 1) * 0.01 / math.sqrt(N)
    assert outcome.status == 1
    assert f" {half:.2g}" in outcome.stderr


def test_compare_prints_the_difference_and_the_same_as_python(
    tmp_path: Path, scorecube: Cli
) -> None:
    cubes = {"a": cube_of(noisy(0.05)), "b": cube_of(noisy(0.03, 25, 0.2))}
    path = study_of(tmp_path / "s.zarr", cubes)
    rows = json.loads(scorecube("compare", path, *SYSTEMS, "--format", "json").stdout)
    found = sc.compare(cubes, *SYSTEMS)
    for place, row in enumerate(rows):
        for name in ("difference", "low", "high", "wins", "losses", "smallest_shown", "verdict"):
            expected = found[name].values.ravel()[place]
            assert row[name] == (pytest.approx(expected, abs=1e-12) if row[name] != expected else expected)  # fmt: skip
    assert [row["verdict"] for row in rows] == ["better", "not shown", "not shown"]
    text = scorecube("compare", path, *SYSTEMS).succeeded().stdout
    assert "60/0/0" in text
    assert "0.0500 (0.0474 to 0.0526)" in text


def test_the_form_of_the_scores_does_not_matter() -> None:
    cubes = {"a": cube_of(noisy(0.05)), "b": cube_of(noisy(0.03, 25, 0.2))}
    expected = sc.compare(cubes, *SYSTEMS)
    tree = xr.DataTree.from_dict({name: cube.transpose("topic", ...) for name, cube in cubes.items()})  # fmt: skip
    joined = xr.concat(list(cubes.values()), xr.Variable("collection", ["a", "b"]), join="outer")
    for form in (tree, joined):
        xr.testing.assert_identical(sc.compare(form, *SYSTEMS), expected)


def test_the_mean_is_that_of_the_collections() -> None:
    sizes, means = {"a": 40, "b": 15, "c": 300}, {"a": 0.03, "b": -0.01, "c": 0.005}
    cubes = {name: cube_of(noisy(means[name], n, 0.05)) for name, n in sizes.items()}
    found = sc.compare(cubes, *SYSTEMS).isel(metric=0, gain=0)
    variances = {name: (0.05 / 3) ** 2 / n for name, n in sizes.items()}
    for name, n in sizes.items():
        margin = stats.t.ppf(0.975, n - 1) * 0.05 / math.sqrt(n)
        assert found["difference"].sel(collection=name) == pytest.approx(means[name])
        assert found["low"].sel(collection=name) == pytest.approx(means[name] - margin)
    expected = sum(means.values()) / 3
    freedom = sum(variances.values()) ** 2 / sum(v**2 / (sizes[k] - 1) for k, v in variances.items())  # fmt: skip
    margin = stats.t.ppf(0.975, freedom) * math.sqrt(sum(variances.values()))
    mean = found.sel(collection="")
    assert mean["difference"] == pytest.approx(expected)
    assert (mean["low"], mean["high"]) == pytest.approx((expected - margin, expected + margin))


def test_a_mean_over_metrics_with_other_ranges_is_unknown() -> None:
    first, second = cube_of(noisy(0.05)), cube_of(noisy(0.05))
    second = second.assign_coords({names.HIGHER_IS_BETTER: ("metric", [False])})
    found = sc.compare({"a": first, "b": second}, *SYSTEMS)
    assert found["verdict"].values.ravel().tolist() == ["better", "worse", "unknown"]

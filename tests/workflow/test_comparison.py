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
from scorecube.workflow import comparison as module

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
# What there is, options, exit status, verdicts, and a part of a reason or of the message.
SITUATIONS: dict[str, tuple[Cubes, tuple[Any, ...], int, list[str], str]] = {
    "better": (BETTER, (), 0, [PASS], ""),
    "worse": (WORSE, (), 3, [FAIL], ""),
    "worse within the margin": (WORSE, ("--margin", 0.1), 0, [PASS], ""),
    "lower is better": (turned(WORSE), (), 0, [PASS], ""),
    "lower is better, worse": (turned(BETTER), (), 3, [FAIL], ""),
    "not shown": ({"a": cube_of(noisy(-0.005, 20, 0.05))}, (), 4, [NONE], ""),
    "not shown, allowed": ({"a": cube_of(noisy(-0.005, 20, 0.05))}, ("--allow-undecided",), 0, [NONE], ""),
    "too few topics": ({"a": cube_of(noisy(0.3, 5))}, (), 4, [NONE], "fewer than 6 topics"),
    "a single topic": ({"a": cube_of([0.5])}, (), 4, [NONE], "single topic"),
    "equal scores": ({"a": cube_of(np.zeros(N))}, (), 0, [PASS], "equal on every topic"),
    "a constant difference": ({"a": cube_of(np.full(N, -0.125))}, (), 3, [FAIL], ""),
    "0 and 1, equal": (lost(30, 0), (), 0, [PASS], ""),
    "0 and 1, lost the margin on few items": (lost(100, 1), (), 4, [NONE], ""),
    "0 and 1, lost many": (lost(1000, 100), (), 3, [FAIL], ""),
    "a missing run in a collection": (LACKING, (), 4, [PASS, NONE, NONE], "no run 'ours'"),
    "a missing run": (BETTER, ("--run", "our"), 1, [], "nearest: ours"),
    "a missing baseline": (BETTER, ("--baseline", "bass"), 1, [], "nearest: base"),
    "a missing collection": (BETTER, ("--collections", "a,c"), 1, [], "c"),
    "a missing metric": (BETTER, ("--metrics", "AP"), 1, [], "no metric 'AP'"),
    "a metric of one collection each": (TWO_METRICS, (), 4, [PASS, NONE, NONE, PASS, NONE, NONE], "unknown in b"),
    "gaps": (with_gap(), (), 4, [NONE], "scores are missing"),
    "gaps, dropped": (with_gap(), ("--missing", "drop"), 0, [PASS], ""),
    "gaps of a third run": (with_gap("other"), (), 0, [PASS], ""),
    "seeds, better": (repeated(0.08, 0.07, 0.09), (), 0, [PASS], ""),
    "a seed that is 0 everywhere": (repeated(0.02, 0.02, -1.0), (), 3, [FAIL], ""),
    "a margin of zero": (BETTER, ("--margin", 0), 1, [], "above 0"),
    "a margin that is no number": (BETTER, ("--margin", "nan"), 1, [], "above 0"),
    "a margin that is none": (BETTER, ("--margin", "1%"), 2, [], "valid"),
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
    rows = json.loads(outcome.stdout)
    assert [row["verdict"] for row in rows] == verdicts
    assert said in " ".join(row["reason"] for row in rows)
    assert all(row["low"] is None for row in rows if "missing" in row["reason"])
    text = scorecube("gate", path, *words, *options)
    assert text.status == status
    overall = {0: PASS, 3: FAIL, 4: NONE}[status] if "--allow-undecided" not in options else NONE
    assert f"\n{overall}: ours against base" in text.stdout
    assert scorecube("gate", path, *words, *options, "--quiet").stdout == ""


def test_a_gate_without_a_margin_offers_what_the_topics_would_show(
    tmp_path: Path, scorecube: Cli
) -> None:
    path = study_of(tmp_path / "s.zarr", BETTER)
    outcome = scorecube("gate", path, "--run", "ours", "--baseline", "base")
    half = stats.t.ppf(0.975, N - 1) * 0.01 / math.sqrt(N)
    assert outcome.status == 1
    assert f"a difference of {half:.2g}" in outcome.stderr


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

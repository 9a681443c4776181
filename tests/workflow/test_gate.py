"""Gates: twelve situations with status and JSON, plain arithmetic of the mean, and no pass of what cannot be computed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import scorecube as sc
from scorecube.errors import BadName, BadPlan
from scorecube.workflow import gate as module
from scorecube.workflow.api import cube_from_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

N = 60
Cubes = dict[str, xr.Dataset]


def cube_of(differences: Any, metric: str = "score", name: str = "ours") -> xr.Dataset:
    """Return scores of ours and base, and of a third run, whose differences from base are given."""
    chance = np.random.default_rng(1)
    base = chance.uniform(0.3, 0.6, len(differences)).round(3)
    rows = {"base": base, name: base + differences, "other": base[::-1]}
    topics = [f"t{k:03d}" for k in range(len(base))]
    return cube_from_scores({metric: pd.DataFrame(rows, topics).T})


def noisy(mean: float, n: int = N, sd: float = 0.01) -> Any:
    """Return differences with exactly this mean and standard deviation."""
    values = np.random.default_rng(2).standard_normal(n)
    values = (values - values.mean()) / values.std(ddof=1)
    return mean + sd * values


def with_gap() -> Cubes:
    cube = cube_of(noisy(0.1))
    cube["score"].loc[{"run": "ours", "topic": "t005"}] = np.nan
    return {"a": cube}


def repeated(mean: float) -> Cubes:
    """Return two systems of three seeds each."""
    chance = np.random.default_rng(3)
    base = chance.uniform(0.3, 0.6, N)
    index = pd.MultiIndex.from_product(
        [["base", "ours"], ["1", "2", "3"]], names=["system", "seed"]
    )
    rows = base + np.repeat([0.0, mean], 3)[:, np.newaxis] + 0.01 * chance.standard_normal((6, N))
    topics = [f"t{k:03d}" for k in range(N)]
    return {"a": cube_from_scores({"score": pd.DataFrame(rows.round(4), index, topics)})}


def equal_scores(n: int) -> Cubes:
    """Return two runs that are right on the same items, all but a tenth."""
    scores = (np.arange(n) % 10 > 0).astype(float)
    topics = [f"t{k:04d}" for k in range(n)]
    return {
        "a": cube_from_scores(
            {"accuracy": pd.DataFrame([scores, scores], ["base", "ours"], topics)}
        )
    }


BETTER, WORSE = {"a": cube_of(noisy(0.05))}, {"a": cube_of(noisy(-0.05))}
LACKING = {"a": cube_of(noisy(0.05)), "b": cube_of(noisy(0.05), name="theirs")}
# What there is, options, exit status, verdicts, and a part of a reason or of the message.
SITUATIONS: dict[str, tuple[Cubes, tuple[Any, ...], int, list[str], str]] = {
    "better": (BETTER, ("--require", "better"), 0, ["better"], ""),
    "worse": (WORSE, (), 3, ["worse"], ""),
    "worse, asked for equivalence": (WORSE, ("--require", "equivalent"), 3, ["worse"], ""),
    "better, asked for equivalence": (BETTER, ("--require", "equivalent"), 3, ["better"], ""),
    "equal within the margin": ({"a": cube_of(noisy(0.001))}, ("--require", "equivalent"), 0, ["equivalent"], ""),
    "slightly better is within the margin": ({"a": cube_of(noisy(0.005, sd=0.001))}, ("--require", "better"), 3, ["equivalent"], ""),
    "too few items to tell": ({"a": cube_of(noisy(0.02, 5, 0.1))}, ("--require", "not-worse"), 3, ["undecided"], ""),
    "too few items, nothing required": ({"a": cube_of(noisy(0.02, 5, 0.1))}, (), 0, ["undecided"], ""),
    "a single item": ({"a": cube_of([0.5])}, (), 3, ["unknown"], "needs 2 runs and 2 topics"),
    "missing run in a collection": (LACKING, (), 3, ["better", "unknown", "unknown"], "no run 'ours'"),
    "missing run": (BETTER, ("--run", "our"), 1, [], "no run 'our' in a; nearest: ours"),
    "missing baseline": (BETTER, ("--baseline", "bass"), 1, [], "nearest: base"),
    "missing collection": (BETTER, ("--collections", "a,c"), 1, [], "c"),
    "missing metric": (BETTER, ("--metrics", "AP"), 1, [], "no metric 'AP'"),
    "missing metric in a collection": (
        {"a": cube_of(noisy(0.05)), "b": cube_of(noisy(0.05), "f1")}, ("--metrics", "score"), 3, ["better", "unknown", "unknown"], "unknown in b",
    ),
    "metrics of one collection each": ({"a": cube_of(noisy(0.05)), "b": cube_of(noisy(0.05), "f1")}, (), 0, ["better", "better"], ""),
    "constant scores": ({"a": cube_of(np.full(N, 0.125))}, (), 3, ["unknown"], "does not vary"),
    "equal scores, few": (equal_scores(30), ("--require", "equivalent"), 3, ["undecided"], ""),
    "equal scores, many": (equal_scores(2000), ("--require", "equivalent"), 0, ["equivalent"], ""),
    "gaps": (with_gap(), (), 3, ["unknown"], "scores are missing"),
    "gaps left out": (with_gap(), ("--drop-missing",), 0, ["better"], ""),
    "seeds, better": (repeated(0.08), ("--require", "better"), 0, ["better"], ""),
    "seeds, undecided": (repeated(0.0), ("--require", "better", "--margin", "0.0001"), 3, ["undecided"], ""),
    "a requirement that is none": (BETTER, ("--require", "good"), 2, [], "good"),
    "a margin that is none": (BETTER, ("--margin", "1%"), 2, [], "valid number"),
    "a negative margin": (BETTER, ("--margin", "-1"), 2, [], "greater than or equal to 0"),
    "no margin to be equivalent within": (BETTER, ("--margin", 0, "--require", "equivalent"), 1, [], "needs a margin above 0"),
    "the baseline itself": (BETTER, ("--run", "base"), 1, [], "is the baseline"),
    "weights that are none": (BETTER, ("--weights", "b=1"), 1, [], "expected a collection"),
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
    named: tuple[str, ...] = () if "--run" in options else ("--run", "ours")
    named += () if "--baseline" in options else ("--baseline", "base")
    outcome = scorecube("gate", path, *named, *options, "--format", "json")
    assert outcome.status == status, outcome.stderr + outcome.stdout
    if not verdicts:
        assert said in outcome.stderr
        assert not outcome.stdout
        return
    record = json.loads(outcome.stdout)
    rows = record["comparisons"]
    assert [row["verdict"] for row in rows] == verdicts
    assert record["passed"] is (status == 0) is all(row["passes"] for row in rows)
    assert said in " ".join(row["reason"] for row in rows)
    assert not any(row["passes"] for row in rows if row["verdict"] == "unknown")
    assert list(record) == ["passed", "run", "baseline", "margin", "require", "confidence", "jointly", "comparisons"]  # fmt: skip
    text = scorecube("gate", path, *named, *options)
    assert text.status == status
    assert ("passed: " if status == 0 else "FAILED: ") in text.stdout
    assert scorecube("gate", path, *named, *options, "--quiet").stdout == ""


def test_a_replaced_collection_is_read_anew(tmp_path: Path, scorecube: Cli) -> None:
    """No stored result is used, so that none can be outdated."""
    path = study_of(tmp_path / "s.zarr", BETTER)
    words = ("gate", path, "--run", "ours", "--baseline", "base")
    scorecube("paired", path, "--baseline", "base", "--equivalence", "0.01").succeeded()
    assert scorecube(*words).status == 0
    sc.open_study(path, mode="a").add("a", cube=WORSE["a"], replace=True)
    assert scorecube(*words).status == 3


def test_an_interrupted_gate_does_not_pass(
    tmp_path: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study_of(tmp_path / "s.zarr", BETTER)

    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run_plan", interrupt)
    try:
        outcome = scorecube("gate", path, "--run", "ours", "--baseline", "base")
    except KeyboardInterrupt:
        return
    assert outcome.status not in (0, 3)
    assert "passed" not in outcome.stdout


def test_the_mean_is_that_of_the_collections() -> None:
    sizes, means = {"a": 40, "b": 15, "c": 300}, {"a": 0.03, "b": -0.01, "c": 0.005}
    cubes = {name: cube_of(noisy(means[name], n, 0.05)) for name, n in sizes.items()}
    found = sc.gate(cubes, run="ours", baseline="base", weights=("a=2",), require="not-worse")
    *single, board = found.comparisons
    shares = {"a": 0.5, "b": 0.25, "c": 0.25}
    below = 0.0
    for each in single:
        n = sizes[each.collection]
        assert each.difference == pytest.approx(means[each.collection], abs=1e-12)
        margin = stats.t.ppf(0.975, n - 1) * 0.05 / math.sqrt(n)
        assert each.low == pytest.approx(means[each.collection] - margin, abs=1e-9)
        below += (shares[each.collection] * margin) ** 2
    expected = sum(shares[name] * means[name] for name in sizes)
    assert board.collection == "mean of 3"
    assert board.difference == pytest.approx(expected, abs=1e-12)
    assert (board.low, board.high) == pytest.approx(
        (expected - math.sqrt(below), expected + math.sqrt(below)), abs=1e-9
    )


def test_limits_hold_together_where_one_failure_is_enough() -> None:
    cubes = {name: cube_of(noisy(0.0)) for name in "ab"}
    single = sc.gate(cubes, run="ours", baseline="base", require="not-worse")
    together = sc.gate(cubes, run="ours", baseline="base")
    assert (single.jointly, together.jointly) == (False, True)
    # Three comparisons: two collections and their mean.
    quantiles = [stats.t.ppf(1 - 0.025 / k, N - 1) for k in (1, 3)]
    halves = [found.comparisons[0].high for found in (single, together)]
    assert halves[0] is not None
    assert halves[1] is not None
    assert halves[1] / halves[0] == pytest.approx(quantiles[1] / quantiles[0])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"run": "x"}, BadName),
        ({"collections": ["z"]}, BadName),
        ({"require": "great"}, BadPlan),
        ({"margin": -0.1}, BadPlan),
        ({"margin": math.nan}, BadPlan),
        ({"confidence": 1.0}, BadPlan),
        ({"metrics": ["AP"]}, BadName),
    ],
)
def test_what_cannot_be_understood_is_refused(
    change: dict[str, Any], error: type[Exception]
) -> None:
    how: dict[str, Any] = {"run": "ours", "baseline": "base"} | change
    with pytest.raises(error):
        sc.gate(BETTER, **how)


def test_errors_of_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be computed for a reason that nobody foresaw is an error, and no verdict."""

    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    function: Callable[..., Any] = sc.gate
    monkeypatch.setattr(module, "run_plan", fail)
    with pytest.raises(ZeroDivisionError):
        function(BETTER, run="ours", baseline="base")


def test_snapshots_of_a_board_are_paired_collection_by_collection(
    tmp_path: Path, scorecube: Cli
) -> None:
    changes = {"nq": 0.03 + noisy(0.0, 40), "fiqa": noisy(-0.01, 90)}
    weeks: dict[str, xr.Dataset] = {}
    for name, change in changes.items():
        before = cube_of(noisy(0.0, len(change)))
        after = cube_of(noisy(0.0, len(change)))
        after["score"].loc[{"run": "ours"}] = before["score"].sel(run="ours") + change
        weeks |= {f"week1-{name}": before, f"week2-{name}": after}
    path = study_of(tmp_path / "s.zarr", weeks)
    words = ("gate", path, "--run", "ours", "--baseline", "ours", "--format", "json")
    chosen = ("--collections", "week2-nq,week2-fiqa", "--against", "week1-nq,week1-fiqa")
    rows = json.loads(scorecube(*words, *chosen).stdout)["comparisons"]
    expected = [change.mean() for change in changes.values()]
    assert [row["collection"] for row in rows] == ["week2-nq", "week2-fiqa", "mean of 2"]
    found = [row["difference"] for row in rows]
    assert found == pytest.approx([*expected, np.mean(expected)], abs=1e-12)


def test_snapshots_of_the_same_items_are_paired(tmp_path: Path, scorecube: Cli) -> None:
    before = cube_of(noisy(0.0, 50))
    after = cube_of(noisy(0.0, 50))
    change = noisy(-0.04, 50)
    after["score"].loc[{"run": "ours"}] = before["score"].sel(run="ours") + change
    path = study_of(
        tmp_path / "s.zarr", {"week1": before, "week2": after.isel(topic=slice(3, None))}
    )
    words = ("gate", path, "--run", "ours", "--baseline", "ours", "--against", "week1", "--format", "json")  # fmt: skip
    outcome = scorecube(*words)
    assert outcome.status == 3
    (row,) = json.loads(outcome.stdout)["comparisons"]
    assert (row["collection"], row["topics"], row["verdict"]) == ("week2", 47, "worse")
    assert row["reason"] == "47 of 50 topics are in both"
    expected = stats.ttest_1samp(change[3:], 0).confidence_interval(0.95)
    assert row["difference"] == pytest.approx(change[3:].mean(), abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected), abs=1e-9)
    cubes = {"week1": before, "week2": before.isel(topic=slice(0, 0))}
    found = sc.gate(cubes, run="ours", baseline="base", against="week1")
    assert [each.verdict for each in found.comparisons] == ["unknown"]
    with pytest.raises(BadName, match="no collection 'week0'"):
        sc.gate(cubes, run="ours", baseline="base", against="week0")
    with pytest.raises(BadPlan, match=r"expected one collection, or one for each of week2, in this order; found 2"):  # fmt: skip
        sc.gate({**cubes, "week3": after}, run="ours", baseline="ours", against=["week1", "week3"])
    seeds = repeated(0.0)["a"]
    later = seeds.assign(score=seeds["score"] + 0.05)
    found = sc.gate({"old": seeds, "new": later}, run="ours", baseline="ours", against="old")
    assert found.comparisons[0].difference == pytest.approx(0.05)

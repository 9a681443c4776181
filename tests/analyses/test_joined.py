"""Results of several collections along ``collection``: what is joined, what has gaps, and each of them again."""

from __future__ import annotations

import json
from itertools import chain, permutations
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import joined as module
from scorecube.analyses.joined import ATTRIBUTES, Template, join, part_of, template_of
from scorecube.analyses.protocol import Analysis
from scorecube.collection import schema
from scorecube.testing import simulate_cube

CUBES = {
    "a": simulate_cube(n_runs=4, seed=1),
    "b": simulate_cube(n_runs=6, seed=2, metrics=("AP", "nDCG@10", "RR")),
    "c": simulate_cube(n_runs=5, seed=3, gains=("3:2:1", "1:1:1")),
}
ANALYSES: dict[str, Analysis] = {
    "swap": sc.Swap(size=10),
    "tukey": sc.Tukey(),
    "leaderboard": sc.Leaderboard(),
    "correlate": sc.Correlation(),
    "reliability": sc.Reliability(),
    "stability": sc.Stability(size=10),
}


def results_of(name: str) -> dict[str, xr.Dataset]:
    analysis = ANALYSES[name]
    trials = 20 if analysis.resamples else None
    return {key: sc.analyse(cube, analysis, trials=trials) for key, cube in CUBES.items()}


@pytest.mark.parametrize("name", ANALYSES)
def test_each_result_comes_back_to_the_bit(name: str) -> None:
    parts = results_of(name)
    whole = join(parts)
    for collection, part in parts.items():
        xr.testing.assert_identical(part_of(whole, collection), part)
        xr.testing.assert_identical(part_of(whole.sel(collection=collection)), part)
    for variable in parts["a"].data_vars:
        assert whole[variable].dims[0] == "collection"
    table = sc.table(whole)
    assert table["collection"].unique().tolist() == list(parts)
    assert len(table) == sum(len(sc.table(part)) for part in parts.values())


def test_gaps_are_where_a_collection_lacks_a_label() -> None:
    parts = results_of("tukey")
    whole = join(parts)
    runs = sorted(set(chain.from_iterable(part.run.values.tolist() for part in parts.values())))
    assert whole.run.values.tolist() == runs
    pairs = [(a, b) for part in parts.values() for a, b in zip(part.run_a.values, part.run_b.values, strict=True)]  # fmt: skip
    found = list(zip(whole.run_a.values, whole.run_b.values, strict=True))
    assert found == sorted(set(pairs))
    for collection, part in parts.items():
        for metric, gain, run in np.ndindex(whole["mean"].shape[1:]):
            at = {"metric": whole.metric.item(metric), "gain": whole.gain.item(gain), "run": whole.run.item(run)}  # fmt: skip
            value = whole["mean"].sel(collection=collection).isel(metric=metric, gain=gain, run=run)
            held = all(label in part[dim].values for dim, label in at.items())
            expected = part["mean"].sel(at).item() if held else np.nan
            np.testing.assert_equal(value.item(), expected)
    mean = whole["mean"].mean("collection").sel(metric="AP", gain="3:2:1", run=runs[0]).item()
    lone = [part["mean"].sel(metric="AP", gain="3:2:1", run=runs[0]).item() for part in parts.values()]  # fmt: skip
    assert mean == pytest.approx(np.mean(lone))


def test_pairs_are_found_by_their_runs() -> None:
    part = results_of("tukey")["a"]
    first, second = part.run_a.values[2], part.run_b.values[2]
    xr.testing.assert_equal(part.sel(run_a=first, run_b=second), part.isel(pair=2))
    assert part.sel(run_a=[first]).sizes["pair"] == (part.run_a.values == first).sum()
    with pytest.raises(KeyError, match="no pair"):
        part.sel(run_a=second, run_b=first)
    some = part.isel(pair=slice(1, 4))
    xr.testing.assert_equal(some.sel(run_a=first, run_b=second), part.isel(pair=2))
    xr.testing.assert_identical(some + some, 2 * some)


def test_templates_are_joined_in_any_grouping() -> None:
    templates = [Template.of(part) for part in results_of("tukey").values()]
    shapes = []
    for one, two, three in permutations(templates):
        for whole in (one.joined(two).joined(three), one.joined(two.joined(three))):
            done = whole.finished()
            shapes.append({name: of.shape for name, of in done.own_variables().items()})
            for dim in ("run", "pair"):
                labels: Any = done.labels[dim]
                assert list(labels) == sorted(labels)
    assert all(shape == shapes[0] for shape in shapes)


def test_variables_with_too_many_labels_are_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MOST_LABELS", 5)
    parts = results_of("leaderboard")
    whole = join(parts)
    by_run = sorted(str(k) for k, of in parts["a"].variables.items() if "run" in of.dims)
    assert whole.attrs["by_collection"] == by_run
    assert "run" not in whole.dims
    for collection, part in parts.items():
        rest = part.drop_vars(by_run)
        xr.testing.assert_identical(part_of(whole, collection), rest)
    with pytest.raises(sc.ScorecubeError, match="one by one"):
        sc.table(whole, "systems")
    sc.analyse(CUBES, ANALYSES["leaderboard"], trials=20)
    assert "not joined" in caplog.text


def test_equal_labels_have_no_limit_and_no_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LABELS", 5)
    one = results_of("tukey")["b"]
    parts = {name: one.assign_attrs(collection=name) for name in "xy"}
    whole = join(parts)
    assert "by_collection" not in whole.attrs
    dtypes = {name: whole[name].dtype for name in whole.data_vars}
    assert dtypes == {name: of.dtype for name, of in parts["x"].data_vars.items()}
    assert json.loads(str(whole[ATTRIBUTES].values[0])) == {"attrs": {"collection": "x"}}


def test_gaps_that_would_be_nearly_all_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def result(k: int) -> xr.Dataset:
        labels: Any = [f"{k}-{j}" for j in range(3)]
        return xr.Dataset({"x": (("run", "topic"), np.ones((3, 3)))}, {"run": labels, "topic": labels})  # fmt: skip

    parts = {str(k): result(k) for k in range(40)}
    assert template_of(parts.values()).left_out() == []
    monkeypatch.setattr(module, "UNCHECKED", 1000)
    assert template_of(parts.values()).left_out() == ["x"]


@pytest.mark.parametrize("name", ANALYSES)
def test_labels_say_what_they_are(name: str) -> None:
    """As do variables; numbers have units, by the CF conventions."""
    part = results_of(name)["a"]
    for label, coord in part.coords.items():
        if label in schema.OF_COORDINATES:
            assert coord.attrs["long_name"]
            assert "units" in coord.attrs or coord.dtype.kind in "Ob"
    whole = join(results_of(name))
    assert whole.metric.attrs == part.metric.attrs

"""Command show: rows, order, files, and what tells results apart."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import scorecube as sc
from scorecube.storage import Collection
from scorecube.testing import simulate_cube, simulate_rankings
from scorecube.workflow.tasks import plan_in_study
from tests.conftest import Cli


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections with swaps of several sizes, and two bootstrap results of one of them."""
    path = tmp_path_factory.mktemp("shown") / "study.zarr"
    study = sc.open_study(path, mode="a")
    for seed, name in enumerate(("a", "b")):
        study.add(name, cube=simulate_cube(n_runs=5, seed=seed, gains=("3:2:1",)))
    entries = [
        sc.Entry(sc.Swap(size=(5, 10)), trials=20, seed=1),
        sc.Entry(sc.Bootstrap(), trials=20, seed=1),
    ]
    sc.sweep(entries, study, workers=1)
    (task,) = plan_in_study(study, sc.Bootstrap(), collections=["a"], trials=20, seed=2)
    task.run()
    return path


def frame_of(outcome_text: str) -> pd.DataFrame:
    return pd.DataFrame(json.loads(outcome_text))


def test_rows_are_chosen_and_sorted(scorecube: Cli, shown: Path) -> None:
    words = ["--metrics", "AP", "--sort", "share:desc,confidence", "--format", "json"]
    frame = frame_of(scorecube("show", shown, "swap", *words).succeeded().stdout)
    assert set(frame["metric"]) == {"AP"}
    known = frame["share"].dropna()
    assert known.is_monotonic_decreasing
    assert frame["share"].notna().tolist() == sorted(frame["share"].notna(), reverse=True)
    everything = frame_of(scorecube("show", shown, "swap", "--format", "json").succeeded().stdout)
    assert len(everything) == 2 * len(frame)


def test_metrics_are_found_by_other_spellings(scorecube: Cli, shown: Path) -> None:
    words = ["show", shown, "scores", "--format", "csv"]
    ours = scorecube(*words, "--metrics", "nDCG@10,AP").succeeded().stdout
    assert scorecube(*words, "--metrics", "ndcg_cut_10,MAP").succeeded().stdout == ours


def test_only_the_latest_is_shown_and_all_are_told_apart(scorecube: Cli, shown: Path) -> None:
    latest = scorecube("show", shown, "bootstrap", "--format", "json").succeeded()
    assert "result" not in frame_of(latest.stdout)
    words = ["bootstrap", "--table", "pairs", "--all", "--format", "json"]
    frame = frame_of(scorecube("show", shown, *words).succeeded().stdout)
    assert frame.groupby("collection")["result"].nunique().to_dict() == {"a": 2, "b": 1}


@pytest.mark.parametrize("words", [("--format", "csv"), ("--table", "variance"), ()])
def test_another_table_than_terminals_have_is_named(
    scorecube: Cli, analysed_study: Path, words: tuple[str, ...]
) -> None:
    outcome = scorecube("show", analysed_study, "teams", *words).succeeded()
    assert ("--table absent" in outcome.stderr) == ("csv" in words)


def test_means_are_of_rows_that_all_collections_have(scorecube: Cli, shown: Path) -> None:
    words = ["--metrics", "AP", "--format", "json"]
    means = frame_of(scorecube("show", shown, "swap", "--average", *words).succeeded().stdout)
    assert set(means["collection"]) == {"mean of 2"}
    every = frame_of(scorecube("show", shown, "swap", *words).succeeded().stdout)
    keys = ["size", "confidence"]
    expected = every.groupby(keys)["max_performance"].mean()
    found = means.set_index(keys)["max_performance"].sort_index()
    assert found.tolist() == pytest.approx(expected.tolist())


def test_results_are_forgotten(scorecube: Cli, tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    sc.open_study(path, mode="a").add("a", cube=simulate_cube(n_runs=4, seed=1))
    scorecube("paired", path).succeeded()
    scorecube("forget", path, "paired").succeeded()
    assert list(sc.open_study(path)["a"].results("paired")) == []
    assert scorecube("forget", path, "paired").status == 1
    assert scorecube("show", path, "paired").status == 1
    scorecube("paired", path).succeeded()
    assert len(list(sc.open_study(path)["a"].results("paired"))) == 1


def test_what_is_asked_for_last_is_shown_also_where_it_was_stored(
    tmp_path: Path, scorecube: Cli
) -> None:
    study = sc.open_study(tmp_path / "s", mode="a")
    study.add("a", cube=simulate_cube(n_runs=3))
    shown = []
    for seed in (1, 2, 1):
        words = ("swap", study.path, "--trials", 10, "--seed", seed)
        scorecube(*words).succeeded()
        shown.append(study["a"].result("swap").attrs["seed"])
    assert shown == ["1", "2", "1"]
    assert len(study["a"].results("swap")) == 2


def test_a_stored_result_is_shown_where_nothing_can_be_written(
    tmp_path: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = sc.open_study(tmp_path / "s", mode="a")
    study.add("a", cube=simulate_cube(n_runs=3))
    words = ("swap", study.path, "--trials", 10, "--seed")
    first = scorecube(*words, 1).succeeded()
    scorecube(*words, 2).succeeded()

    def refuse(*_: object) -> None:
        raise sc.StoreFailed("a study needs permission to write")

    monkeypatch.setattr(Collection, "write_result", refuse)
    again = scorecube(*words, 1).succeeded()
    assert again.stdout == first.stdout
    assert "note: show and report take another result" in again.stderr
    assert study["a"].result("swap").attrs["seed"] == "2"


def test_results_of_different_tests_are_apart(tmp_path: Path, scorecube: Cli) -> None:
    """Sakai 2007, Table 4, of two collections, one of which has unpaired tests of areas, too."""
    study = sc.open_study(tmp_path / "s", mode="a")
    for name in "ab":
        cube = sc.evaluate(simulate_rankings(n_runs=4, depth=20, seed=ord(name)), ["AP", "Q", "RR"])
        study.add(name, cube=cube)
    bootstrap = f"bootstrap {study.path} --trials 40"
    plain = f"show {study.path} bootstrap"
    shown = f"{plain} --format json"
    scorecube(*bootstrap.split()).succeeded()
    one = json.loads(scorecube(*shown.split()).succeeded().stdout)
    assert {len(one), "summary" in one[0]} == {6 * 2, False}
    for words in ("--summary area --collection a --metrics AP,Q", "--collection b --metrics RR"):
        scorecube(*bootstrap.split(), *words.split()).succeeded()
    rows = json.loads(scorecube(*shown.split()).succeeded().stdout)
    found = [(row["summary"], row["collection"]) for row in rows]
    assert found == [("mean", "a")] * 6 + [("mean", "b")] * 2 + [("area", "a")] * 4
    complete = scorecube(*shown.split(), "--metrics", "AP,Q,RR").succeeded().stdout
    assert json.loads(complete) == one  # the latest results that have all three
    areas = scorecube(*shown.split(), "--where", "summary=area").succeeded().stdout
    assert [row["collection"] for row in json.loads(areas)] == ["a"] * 4
    for words in ("--format latex", "--average"):
        refused = scorecube(*plain.split(), *words.split())
        assert refused.status == 1
        assert "--where summary=mean" in refused.stderr
    drawn = f"figure {study.path} bootstrap --out {tmp_path / 'x.png'}".split()
    assert "--where summary=mean" in scorecube(*drawn).stderr
    assert not (tmp_path / "x.png").exists()
    scorecube(*drawn, "--where", "summary=mean").succeeded()
    assert scorecube(*drawn, "--where", "summary=geo").status == 1
    assert scorecube(*drawn, "--where", "summary").status == 1

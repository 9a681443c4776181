"""The command ``agreement``: two collections of a study, run files with two files of judgements, and real collections."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import kendalltau, ttest_rel

import scorecube as sc
from scorecube.analyses import Agreement
from scorecube.analyses.rank_agreement.agreement_quantities import DECISIONS

if TYPE_CHECKING:
    from tests.conftest import Cli, Files

HOW = ["--metrics", "AP,Q", "--gains", "auto,1:1:1"]


@pytest.fixture
def two(tmp_path: Path, files: Files, scorecube: Cli) -> Path:
    """A study of the small collection, judged twice: without its lowest level, and with all of them."""
    path = tmp_path / "two.zarr"
    scorecube(
        "evaluate", path, "--name", "strict", *files.options(), *HOW, "--levels", "1:0"
    ).succeeded()
    scorecube("evaluate", path, "--name", "lenient", *files.options(), *HOW).succeeded()
    return path


def rows(scorecube: Cli, study: Path, table: str) -> pd.DataFrame:
    shown = (
        scorecube("show", study, "agreement", "--table", table, "--format", "json")
        .succeeded()
        .stdout
    )
    return pd.DataFrame(json.loads(shown))


def test_the_first_named_collection_is_the_truth(scorecube: Cli, two: Path) -> None:
    said = (
        scorecube("agreement", two, "--collections", "strict,lenient", "--trials", 40, "--seed", 2)
        .succeeded()
        .stdout
    )
    assert "between strict and lenient" in " ".join(said.split())
    table = rows(scorecube, two, "rankings")
    assert list(table)[:8] == [
        "collection",
        "metric",
        "gain",
        "set_a",
        "set_b",
        "tau",
        "tau_population",
        "tau_population_low",
    ]
    assert (set(table["collection"]), set(table["set_a"]), set(table["set_b"])) == (
        {"strict"},
        {"strict"},
        {"lenient"},
    )
    scorecube(
        "agreement", two, "--collection", "lenient,strict", "--trials", 40, "--seed", 2
    ).succeeded()
    other = sc.table(sc.open_study(two)["lenient"].result("agreement"), "rankings")
    assert (
        other.set_index(["metric", "gain"])["tau"].to_dict()
        == table.set_index(["metric", "gain"])["tau"].to_dict()
    )


def test_two_collections_need_no_names(scorecube: Cli, two: Path) -> None:
    scorecube("agreement", two, "--trials", 5, "--seed", 2).succeeded()
    assert set(rows(scorecube, two, "runs")["set_a"]) == {"lenient"}
    again = scorecube("agreement", two, "--trials", 5).succeeded().stderr
    assert "already there" in again


def test_the_result_is_that_of_the_joined_cubes(scorecube: Cli, two: Path) -> None:
    choice = ["--metrics", "Q", "--gains", "1:1:1", "--top-runs", 4, "--trials", 30, "--seed", 2]
    scorecube("agreement", two, "--collections", "strict,lenient", *choice).succeeded()
    study = sc.open_study(two)
    joined = sc.judgement_sets(study["strict"].cube, study["lenient"].cube, ("strict", "lenient"))
    # The best by the first metric, under the first set.
    means = joined["score"].sel(metric="AP", gain="strict auto").mean("topic").to_series()
    best = sorted(means.sort_values(ascending=False).index[:4])
    part = joined.sel(metric=["Q"], gain=["strict 1:1:1", "lenient 1:1:1"], run=best)
    chosen = study["strict"].result("agreement")
    assert chosen["gain"].values.tolist() == ["1:1:1"]
    expected = sc.analyse(part, Agreement(), trials=30, seed=2)
    xr.testing.assert_equal(chosen.drop_attrs(), expected.drop_attrs())
    assert chosen.sizes["run"] == 4


def test_more_trials_extend(scorecube: Cli, two: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(two, tmp_path / "copy.zarr")
    scorecube("agreement", two, "--trials", 16, "--seed", 3, block_units=5).succeeded()
    scorecube("agreement", two, "--trials", 40, "--seed", 3).succeeded()
    extended = sc.open_study(two)["lenient"].result("agreement").drop_attrs()
    scorecube("agreement", copy, "--trials", 40, "--seed", 3).succeeded()
    xr.testing.assert_equal(
        sc.open_study(copy)["lenient"].result("agreement").drop_attrs(), extended
    )
    scorecube("verify", two).succeeded()


def test_what_only_one_collection_has_is_said(scorecube: Cli, two: Path, files: Files) -> None:
    some = sorted(files.runs.iterdir())[:4]
    words = ["--runs", *some, "--qrels", files.qrels, *HOW]
    scorecube("evaluate", two, "--name", "some", *words).succeeded()
    said = (
        scorecube("agreement", two, "--collections", "strict,some", "--trials", 5, "--seed", 1)
        .succeeded()
        .stderr
    )
    assert "left out, as only strict has it (run): run4, run5" in said
    assert sc.open_study(two)["strict"].result("agreement").attrs["n_runs"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--collections", "strict"], "each a collection; found 1"),
        (["--collections", "strict,none"], "no collection 'none'"),
        (["--gains", "2:1"], "no gain setting '2:1' in both sets"),
        (["--metrics", "P@5"], "no metric 'P@5'"),
        (["--runs", "run1"], "needs 2 runs"),
    ],
)
def test_what_cannot_be_is_refused(
    scorecube: Cli, two: Path, words: list[str], message: str
) -> None:
    outcome = scorecube("agreement", two, *words, "--seed", 1)
    assert outcome.status == 1
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_the_report_has_a_chapter_for_each_pair_of_sets(
    scorecube: Cli, two: Path, tmp_path: Path
) -> None:
    for words in ("strict,lenient", "lenient,strict"):
        scorecube("agreement", two, "--collections", words, "--trials", 5, "--seed", 1).succeeded()
    scorecube("report", two, "--out", tmp_path / "report.html").succeeded()
    page = (tmp_path / "report.html").read_text()
    for words in ("strict against lenient", "lenient against strict", "Decisions on pairs of runs"):
        assert words in page


def evaluated(
    folder: Path, qrels: Path, run_name: str = "tag", metrics: str = "AP,P@10,nDCG@10"
) -> xr.Dataset:
    return sc.evaluate(
        sc.read_rankings(folder / "runs", qrels, run_name=run_name), metrics.split(",")
    )


def assert_as_scipy_says(first: xr.Dataset, second: xr.Dataset, result: xr.Dataset) -> None:
    """Compare tau-b and the decisions of a t test with SciPy, metric by metric."""
    for metric in result["metric"].values:
        cubes = [
            cube["score"].sel(metric=metric).isel(gain=0).sel(topic=shared(first, second)).values
            for cube in (first, second)
        ]
        # Means are rounded so that equal ones are equal.
        a, b = (np.round(scores.mean(axis=1), 12) for scores in cubes)
        at = result.sel(metric=metric).isel(gain=0)
        assert float(at["agreement"].sel(statistic="tau_b")) == pytest.approx(
            kendalltau(a, b).statistic, abs=1e-12
        )
        x, y = np.triu_indices(len(a), 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            p = [
                np.nan_to_num(ttest_rel(scores[x], scores[y], axis=1).pvalue, nan=1.0)
                for scores in cubes
            ]
        opposite = (a[x] - a[y]) * (b[x] - b[y]) < 0
        for level, alpha in enumerate(result["alpha"].values):
            number = (p[0] < alpha).astype(int) + (p[1] < alpha)
            for k, kind in enumerate(("passive", "mixed", "active")):
                for word, side in (("agreement", ~opposite), ("disagreement", opposite)):
                    assert int(at[f"{kind}_{word}"].values[level]) == int(
                        ((number == k) & side).sum()
                    )


def shared(first: xr.Dataset, second: xr.Dataset) -> list[str]:
    return sorted(set(first["topic"].values) & set(second["topic"].values))


@pytest.mark.data
@pytest.mark.filterwarnings("ignore:Precision loss occurred:RuntimeWarning")
def test_readability_is_another_judgement_than_relevance(data: Path) -> None:
    folder = data / "clef-ehealth-2015"
    first, second = (
        evaluated(folder, folder / name, "file") for name in ("qrels.txt", "qread.txt")
    )
    result = sc.analyse(
        sc.judgement_sets(first, second, ("relevance", "readability")),
        Agreement(),
        trials=300,
        seed=1,
    )
    assert result.attrs["n_runs"] == 68
    assert_as_scipy_says(first, second, result)
    tau = result["agreement"].sel(statistic="tau").isel(gain=0)
    assert float(tau.max()) < 0.75
    assert (result["high"].sel(statistic="tau") < 0.8).all()
    # Most documents are readable, relevant or not: many decisions are reversed.
    assert result["active_disagreement"].sel(metric="nDCG@10", alpha=0.05).item() > 100
    assert (result["drop"] > 20).all()


@pytest.mark.data
@pytest.mark.filterwarnings("ignore:Precision loss occurred:RuntimeWarning")
def test_half_of_the_judgements_rank_the_runs_of_trec_covid_nearly_alike(
    data: Path, tmp_path: Path
) -> None:
    folder, chance = data / "trec-covid-r5", random.Random(20)
    lines = (folder / "qrels.txt").read_text().splitlines()
    half = tmp_path / "half.txt"
    half.write_text("\n".join(sorted(chance.sample(lines, len(lines) // 2))) + "\n")
    full, reduced = (
        evaluated(folder, path, metrics="AP,P@20,bpref") for path in (folder / "qrels.txt", half)
    )
    result = sc.analyse(
        sc.judgement_sets(full, reduced, ("full", "half")), Agreement(), trials=300, seed=1
    )
    assert result.attrs["n_runs"] == 126
    assert_as_scipy_says(full, reduced, result)
    tau = result["agreement"].sel(statistic="tau").isel(gain=0)
    assert ((tau > 0.85) & (tau < 1)).all()
    assert (
        result["mean_second"].sel(metric="P@20") < result["mean_first"].sel(metric="P@20")
    ).all()
    assert int(result["active_disagreement"].max()) == 0
    assert (result[list(DECISIONS)].to_array().sum("variable") == 7875).all()
    # Samples of topics rank runs less well than all topics do.
    assert (result["bias"].sel(statistic="tau") < 0).all()
    same = sc.analyse(sc.judgement_sets(full, full), Agreement(), trials=20, seed=1)
    assert all(
        int(same[name].max()) == 0
        for name in DECISIONS
        if "disagreement" in name or "mixed" in name
    )

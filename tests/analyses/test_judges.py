"""Judges: oracles of rankings, decisions, labels and corrected means, disjoint and nested topics, files."""

from __future__ import annotations

import csv
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from scorecube.analyses.topic_units import groups_left_out
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.errors import UnknownName
from scorecube.kernels.random.philox import stream_key
from scorecube.methods.judges.agreement import labels as compared_labels
from scorecube.names import Purpose
from scorecube.statistics.agreement import label_coefficients
from scorecube.statistics.intervals import corrected_mean
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse
from tests.oracles import correlation
from tests.oracles import judges as oracle

if TYPE_CHECKING:
    from tests.conftest import Cli, Files

SMALL = sc.Judges(labels=(10, 20))


def pairs_of(seed: int, n: int = 60, levels: int = 4) -> list[tuple[int, int]]:
    """Return labels of two judges who agree more than by chance."""
    chance = np.random.default_rng(seed)
    first = chance.integers(0, levels, n)
    second = np.where(chance.random(n) < 0.6, first, chance.integers(0, levels, n))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def table_of(pairs: list[tuple[int, int]], levels: int = 4) -> np.ndarray[Any, Any]:
    counts = np.zeros((levels, levels), np.int64)
    for a, b in pairs:
        counts[a, b] += 1
    return counts


def judged(n_runs: int = 12, **judges: xr.Dataset) -> xr.Dataset:
    """Return the scores of a truth and of some judges."""
    return judgement_sets({"nist": simulate_cube(n_runs=n_runs, seed=1), **judges})


def renamed_topics(cube: xr.Dataset) -> xr.Dataset:
    return cube.assign_coords(topic=[f"x{label}" for label in cube.topic.values])


# Labels


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_equal_the_oracle(seed: int) -> None:
    pairs = pairs_of(seed)
    found = label_coefficients(table_of(pairs))
    expected = [oracle.kappa(pairs), oracle.weighted_kappa(pairs, 2), oracle.alpha(pairs)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def labels_of(counts: Any) -> Any:
    """Return agreement of labels, as `Judges` does."""
    found = compared_labels(np.asarray(counts))
    return [found[name] for name in ("label", "label_low", "label_high")]


def test_limits_are_those_of_ten_groups_of_topics() -> None:
    """By hand: kappa without each group, on the scale of atanh, with t of 9 degrees of freedom."""
    by_topic = [pairs_of(seed, 10 + 7 * seed) for seed in range(23)]
    _, low, high = labels_of(np.stack([table_of(pairs) for pairs in by_topic]))
    group = groups_left_out([23])
    left = [
        oracle.kappa(
            [pair for pairs, of in zip(by_topic, group, strict=True) if of != k for pair in pairs]
        )
        for k in range(10)
    ]
    z = np.arctanh(left)
    half = 2.262157 * np.sqrt(0.9 * ((z - z.mean()) ** 2).sum())
    middle = np.arctanh(oracle.kappa([pair for pairs in by_topic for pair in pairs]))
    np.testing.assert_allclose(
        [low[0], high[0]], np.tanh([middle - half, middle + half]), rtol=1e-6
    )


# Corrected means


@pytest.mark.parametrize("n_others", [3, 7])
@pytest.mark.parametrize("m", [8, 9, 19])
@pytest.mark.parametrize("larger", [0.0, 1e6])
def test_corrected_means_equal_the_oracle(m: int, n_others: int, larger: float) -> None:
    chance = np.random.default_rng(m)
    f, others = larger + chance.random(20), larger + chance.random(n_others)
    h = 0.6 * f + 0.2 * chance.random(20)
    found = corrected_mean(h[:m], f[:m], np.concatenate([f[m:], others]), None, 0.9)
    expected = oracle.corrected_mean(h.tolist(), f.tolist(), others.tolist(), range(m), 0.9)
    np.testing.assert_allclose(found, expected[:3], rtol=1e-6 if larger else 1e-9)
    assert found[2] - found[1] == pytest.approx(expected[2] - expected[1], rel=1e-5)


# Rankings and decisions


def test_rankings_and_decisions_equal_the_oracle() -> None:
    first, second = (simulate_cube(n_runs=12, seed=seed) for seed in (1, 2))
    result = (
        analyse({"nist": first, "y": second}, sc.Judges()).isel(judge=0, gain=0).sel(metric="AP")
    )
    scores = [
        [[Fraction(float(x)) for x in run] for run in cube["score"].sel(metric="AP").values[0]]
        for cube in (first, second)
    ]
    sums = [[sum(run) for run in rows] for rows in scores]
    assert float(result["tau"]) == pytest.approx(correlation.tau_a(*sums))
    assert float(result["tau_ap"]) == pytest.approx(correlation.ap_accuracy(*sums))
    assert float(result["tau_low"]) < float(result["tau"]) < float(result["tau_high"])
    counts = oracle.decisions(scores[0], scores[1], 0.05)
    for name in ("agree", "only_truth", "only_judge", "opposite", "neither"):
        assert int(result[name]) == counts[name], name


def test_nested_topics_use_all_of_the_judge() -> None:
    """The truth has 20 of the judge's 50 topics: all of them correct the mean of 50."""
    full = simulate_cube(n_runs=12, seed=2)
    truth = simulate_cube(n_runs=12, seed=1).isel(topic=slice(0, 20))
    result = analyse(judgement_sets({"nist": truth, "a": full}), sc.Judges(labels=(10,)))
    h, f = (cube["score"].sel(metric="AP").values[0, 0] for cube in (truth, full))
    expected = oracle.corrected_mean(h, f[:20], f[20:], range(20), 0.95)
    found = result.isel(metric=0, gain=0, judge=0, run=0, n_labelled=-1)
    values = [float(found[f"corrected{end}"]) for end in ("", "_low", "_high")]
    np.testing.assert_allclose(values, expected[:3], rtol=1e-9)


@pytest.mark.parametrize(("metric", "n_left"), [("accuracy", 40), ("AP", 37)])
def test_an_item_that_no_run_solves_counts_unless_a_metric_needs_relevant_documents(
    metric: str, n_left: int
) -> None:
    """Three items on which every run scores 0 are scores of accuracy; a topic of AP has no relevant documents."""
    solved = np.random.default_rng(5).integers(0, 2, (4, 40)).astype(float)
    solved[0] = 1
    solved[:, :3] = 0
    frame = pd.DataFrame(solved, list("abcd"), [f"t{k:02d}" for k in range(40)])
    truth = sc.cube_from_scores({metric: frame})
    result = analyse(judgement_sets({"people": truth, "machine": truth}), sc.Judges(labels=(10,)))
    last = result.isel(metric=0, gain=0, judge=0, n_labelled=-1)
    assert int(last["labelled_topics"]) == n_left
    means = solved.sum(axis=1) / n_left
    np.testing.assert_allclose(last["corrected"].values, means, rtol=1e-12)


def test_labelled_topics_are_those_with_the_smallest_numbers() -> None:
    """The choice is that of trial 0 of its stream, whatever the seed; a topic has the number of its place in the cube."""
    truth = simulate_cube(n_runs=12, seed=1)
    judge = simulate_cube(n_runs=12, seed=2).isel(topic=slice(4, None))
    result = analyse(judged(a=judge), SMALL, seed=5)
    words = np.random.Philox(key=stream_key(0, Purpose.LABELLED_TOPICS)).random_raw(50)[4:]
    h, f = truth["score"].sel(metric="AP").values[0, 0, 4:], judge["score"].sel(metric="AP").values[0, 0]  # fmt: skip
    for size in SMALL.labels:
        labelled = sorted(range(len(f)), key=lambda topic: words[topic])[:size]
        expected = oracle.corrected_mean(h.tolist(), f.tolist(), (), labelled, 0.95)
        found = result.sel(metric="AP", n_labelled=size).isel(gain=0, judge=0, run=0)
        values = [float(found[f"corrected{end}"]) for end in ("", "_low", "_high")]
        np.testing.assert_allclose(values, expected[:3], rtol=1e-9)


def test_differences_from_a_baseline_are_corrected_means_of_paired_differences() -> None:
    """Of h_a - h_b and f_a - f_b; labels that are needed are counted up until limits exclude 0."""
    truth = simulate_cube(n_runs=6, seed=1)
    noise = np.random.default_rng(3).normal(0, 0.05, truth["score"].shape)
    judge = truth.assign(score=(truth["score"] * 0.8 + 0.1 + noise).clip(0, 1))
    record = sc.Judges(labels=(10, 20), baseline="team03-run1")
    result = analyse(judgement_sets({"nist": truth, "a": judge}), record).sel(metric="AP")
    words = np.random.Philox(key=stream_key(0, Purpose.LABELLED_TOPICS)).random_raw(50)
    order = sorted(range(50), key=lambda topic: words[topic])
    h, f = (cube["score"].sel(metric="AP").values[0] for cube in (truth, judge))
    for run in (0, 1, 3, 5):
        apart, by_judge = (h[run] - h[2]).tolist(), (f[run] - f[2]).tolist()
        for size in (10, 20):
            found = result.isel(gain=0, judge=0, run=run).sel(n_labelled=size)
            expected = oracle.corrected_mean(apart, by_judge, (), order[:size], 0.95)
            values = [float(found[f"corrected_difference{end}"]) for end in ("", "_low", "_high")]
            np.testing.assert_allclose(values, expected[:3], rtol=1e-9)
            x, y = (np.array(each)[order[:size]] for each in (by_judge, apart))
            slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
            rest = y - slope * x
            residual = ((rest - rest.mean()) ** 2).sum() / (size - 2)
            of_judge = slope**2 * np.var(by_judge, ddof=1) / 50
            m = 4
            while m <= 50 and abs(expected[0]) <= scipy.stats.t.ppf(0.975, m - 2) * np.sqrt(residual / m + of_judge):  # fmt: skip
                m += 1
            assert float(found["labels_needed"]) == m or (
                m == 51 and found["labels_needed"].isnull()
            )
    every = result.isel(gain=0, judge=0, n_labelled=-1, run=0)
    limits = scipy.stats.ttest_rel(h[0], h[2]).confidence_interval(0.95)
    ends = float(every["corrected_difference_low"]), float(every["corrected_difference_high"])
    assert ends == pytest.approx((limits.low, limits.high))
    assert result["corrected_difference"].isel(run=2).isnull().all()
    with pytest.raises(UnknownName, match="no run 'x'"):
        analyse(judgement_sets({"nist": truth, "a": judge}), sc.Judges(baseline="x"))


def test_a_baseline_of_run_files_and_of_items(scorecube: Cli, files: Files, tmp_path: Path) -> None:
    study = tmp_path / "study"
    other = tmp_path / "machine.txt"
    other.write_text(files.qrels.read_text().replace(" 1\n", " 0\n"))
    for name, qrels in (("people", files.qrels), ("machine", other)):
        how = ["--runs", files.runs, "--qrels", qrels, "--metrics", "nDCG@10"]
        scorecube("evaluate", study, "--name", name, *how).succeeded()
    chance = np.random.default_rng(2)
    for name in ("raters", "llm"):
        rows = [f"s{k},i{t},{int(chance.random() < 0.4 + 0.1 * k)}" for k in range(3) for t in range(80)]  # fmt: skip
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["model,item,accuracy", *rows]))
        scorecube("import", study, path, "--name", name).succeeded()
    for truth, judge, run in (("people", "machine", "run0"), ("raters", "llm", "s0")):
        words = ["--truth", truth, "--judges", judge, "--labels", "5", "--baseline", run]
        said = scorecube("judges", study, *words).succeeded().stdout
        assert f"differ from {run}" in " ".join(said.split())
        shown = scorecube("show", study, "judges", "--table", "differences", "--collection", truth, "--format", "csv")  # fmt: skip
        table = csv.DictReader(shown.succeeded().stdout.splitlines())
        assert {(row["baseline"], row["n_labelled"]) for row in table} >= {(run, "5")}


def test_bias_is_that_of_means_with_limits_of_t() -> None:
    first, second = simulate_cube(n_runs=12, seed=1), simulate_cube(n_runs=12, seed=2)
    result = analyse(judged(a=second), SMALL).sel(metric="AP", judge="a").isel(gain=0)
    by_topic = (second["score"] - first["score"]).sel(metric="AP").values[0]
    scores = by_topic.mean(axis=0)
    limits = scipy.stats.ttest_1samp(scores, 0.0).confidence_interval(0.95)
    values = [float(result[f"bias{end}"]) for end in ("", "_low", "_high")]
    assert values == pytest.approx([scores.mean(), limits.low, limits.high])
    np.testing.assert_allclose(result["run_bias"], by_topic.mean(axis=1))


# Disjoint topics


def test_of_disjoint_topics_only_rankings_and_decisions_are_compared() -> None:
    other = renamed_topics(simulate_cube(n_runs=12, seed=2))
    result = analyse(judged(a=other), SMALL)
    assert sc.table(result, "corrected").empty
    rows = sc.table(result)
    assert (rows["tau_low"] < rows["tau"]).all()
    assert rows["bias"].isna().all()


def test_topics_without_any_score_count_as_not_judged() -> None:
    empty = simulate_cube(n_runs=12, seed=2)
    empty["score"].values[..., :4] = 0.0
    cube = judged(a=empty)
    result = analyse(cube, SMALL)
    assert int(result["labelled_topics"][0, -1]) == 46
    assert any(re.search(r"\b4\b.*\ba\b", note) for note in result.attrs["notes"])


# Files


@pytest.fixture(scope="module")
def labelled(files: Files, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write the judgements of a truth and of two judges who change some levels."""
    chance, folder = np.random.default_rng(6), tmp_path_factory.mktemp("labels")
    rows = [line.split() for line in files.qrels.read_text().splitlines()]
    for name, share in (("gpt4", 0.3), ("llama", 0.6)):
        changed = [
            f"{topic} 0 {document} {chance.integers(0, 4) if chance.random() < share else level}\n"
            for topic, _, document, level in rows
        ]
        (folder / name).write_text("".join(changed))
    return {"nist": files.qrels, "gpt4": folder / "gpt4", "llama": folder / "llama"}


def pairs_of_files(labelled: dict[str, Path], judge: str) -> list[tuple[int, int]]:
    levels = [
        [int(line.split()[3]) for line in labelled[name].read_text().splitlines()]
        for name in ("nist", judge)
    ]
    return list(zip(*levels, strict=True))


def test_judges_of_a_study(
    scorecube: Cli, files: Files, labelled: dict[str, Path], tmp_path: Path
) -> None:
    study = tmp_path / "s"
    for name, qrels in labelled.items():
        how = ["--name", name, "--runs", files.runs, "--qrels", qrels, "--metrics", "AP"]
        scorecube("evaluate", study, *how).succeeded()
    scorecube("judges", study, "--truth", "nist", "--labels", "4,6").succeeded()
    shown = scorecube("show", study, "judges", "--table", "labels", "--format", "json").succeeded()
    rows = {row["judge"]: row for row in json.loads(shown.stdout)}
    assert [*rows] == ["gpt4", "llama"]
    for judge, row in rows.items():
        pairs = pairs_of_files(labelled, judge)
        assert row["n_documents"] == len(pairs)
        found = [row["kappa"], row["weighted_kappa"], row["alpha"]]
        expected = [oracle.kappa(pairs), oracle.weighted_kappa(pairs, 2), oracle.alpha(pairs)]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert "--truth" in scorecube("judges", study).stderr

"""Judges: oracles of labels and corrected means, one machinery with agreement, disjoint and nested topics, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput, BadName, BadPlan
from scorecube.ingest.judge_labels import is_label_table, qrels_of_table
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.names import Purpose
from scorecube.statistics.corrected_means import corrected_means
from scorecube.statistics.label_agreement import label_coefficients, label_intervals
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse
from tests.oracles import judges as oracle

if TYPE_CHECKING:
    from tests.conftest import Cli

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
    return sc.many_judgement_sets({"nist": simulate_cube(n_runs=n_runs, seed=1), **judges})


def renamed_topics(cube: xr.Dataset) -> xr.Dataset:
    return cube.assign_coords(topic=[f"x{label}" for label in cube.topic.values])


# Labels


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_equal_the_oracle(seed: int) -> None:
    pairs = pairs_of(seed)
    found = label_coefficients(table_of(pairs))
    expected = [
        oracle.kappa(pairs),
        oracle.weighted_kappa(pairs, 2),
        oracle.alpha(pairs),
        sum(a == b for a, b in pairs) / len(pairs),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_limits_equal_the_oracle() -> None:
    by_topic = [pairs_of(seed, 10 + 7 * seed) for seed in range(8)]
    counts = np.stack([table_of(pairs) for pairs in by_topic])
    value, low, high = label_intervals(counts, 0.9)
    expected = oracle.jackknife(by_topic, 0.9)
    np.testing.assert_allclose([low[0], high[0]], expected, rtol=1e-9)
    assert low[0] < value[0] < high[0]


def test_equal_labels_everywhere_are_no_certainty() -> None:
    """Topics that all agree alike have no limits, as other topics may not."""
    same = np.stack([np.diag([5, 3]), np.diag([2, 9]), np.diag([4, 4])])
    value, low, high = label_intervals(same, 0.95)
    assert value.tolist() == [1.0] * 4
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_labels_without_variety_are_missing() -> None:
    found = label_coefficients(np.array([[5, 0], [0, 0]]))
    assert np.isnan(found[:3]).all()
    assert found[3] == 1.0


# Corrected means


def test_the_baseline_is_the_best_under_the_judge() -> None:
    """It is chosen without labels, by the mean on all of the judge's topics."""
    cube = judged(machine=simulate_cube(n_runs=12, seed=4))
    best = [str(cube.run.values[int(cube["score"].sel(gain=name).mean("topic").isel(metric=0).argmax("run"))]) for name in ("machine", "nist")]  # fmt: skip
    assert best[0] != best[1]
    result = sc.complete(analyse(cube, sc.Judges(labels=(10,))))
    assert result["baseline_run"].isel(metric=0, gain=0, judge=0).item() == best[0]
    assert np.isnan(result["difference"].isel(metric=0, gain=0, judge=0).sel(run=best[0])).all()


@pytest.mark.parametrize("n_others", [0, 7])
@pytest.mark.parametrize("m", [4, 9, 19])
@pytest.mark.parametrize(("larger", "topics"), [(0.0, 0), (1e9, 20), (1e9, 1)])
def test_corrected_means_equal_the_oracle(
    m: int, n_others: int, larger: float, topics: int
) -> None:
    """Also of scores that all are large, or on a topic without a label: sums of squares less those of means cancel."""
    chance = np.random.default_rng(m)
    f, others = chance.random((3, 20)), chance.random((3, n_others))
    h = 0.6 * f + 0.2 * chance.random((3, 20))
    h[:, :topics] += larger
    f[:, :topics] += larger
    chosen = np.zeros((2, 20), bool)
    chosen[0, :m], chosen[1, -m:] = True, True
    found = corrected_means(h, f, others, chosen, 0.9)
    for choice, labelled in enumerate((range(m), range(20 - m, 20))):
        for run in range(3):
            expected = oracle.corrected_mean(h[run], f[run], others[run], labelled, 0.9)
            values = [each[choice, run] for each in (found.mean, found.low, found.high, found.slope)]  # fmt: skip
            np.testing.assert_allclose(values, expected, rtol=1e-6 if larger else 1e-9)
            assert values[2] - values[1] == pytest.approx(expected[2] - expected[1], rel=1e-5)


def test_a_perfect_judge_leaves_only_the_topics() -> None:
    """With h = f + constant the interval is that of the judge's mean over all topics, by t with m - 2 degrees of freedom."""
    f = np.random.default_rng(2).random((1, 30))
    found = corrected_means(f + 0.1, f, f[:, :0], np.arange(30)[np.newaxis] < 10, 0.95)
    assert found.slope[0, 0] == pytest.approx(1.0)
    assert found.mean[0, 0] == pytest.approx(f.mean() + 0.1)
    assert found.high[0, 0] - found.low[0, 0] == pytest.approx(2 * 2.306004 * f.std(ddof=1) / np.sqrt(30), rel=1e-6)  # fmt: skip


def test_a_constant_judge_has_no_weight() -> None:
    h = np.random.default_rng(2).random((1, 30))
    found = corrected_means(
        h, np.full((1, 30), 0.3), h[:, :0], np.arange(30)[np.newaxis] < 10, 0.95
    )
    assert found.slope[0, 0] == 0
    assert found.mean[0, 0] == pytest.approx(h[0, :10].mean())


# One machinery


def test_two_sets_are_those_of_agreement() -> None:
    first, second = simulate_cube(n_runs=12, seed=1), simulate_cube(n_runs=12, seed=2)
    other = simulate_cube(n_runs=12, seed=3)
    of_two = analyse(sc.judgement_sets(first, second), sc.Agreement(), trials=10, seed=1)
    many = sc.many_judgement_sets({"nist": first, "x": other, "y": second})
    found = analyse(many, sc.Judges()).sel(judge="y")
    for name in ("agreement", "population", "population_low", "population_high", "drop", "drop_run"):  # fmt: skip
        np.testing.assert_array_equal(found[name].values, of_two[name].values, err_msg=name)
    at = of_two.sel(alpha=0.05)
    np.testing.assert_array_equal(found["agree"].values, at["active_agreement"].values)
    np.testing.assert_array_equal(found["opposite"].values, at["active_disagreement"].values)
    mixed = at["mixed_agreement"] + at["mixed_disagreement"]
    np.testing.assert_array_equal((found["only_truth"] + found["only_judge"]).values, mixed.values)
    np.testing.assert_array_equal(found["false_positives"].values, at["false_positives"].values)


def test_decisions_add_up_to_pairs() -> None:
    rows = sc.table(analyse(judged(a=simulate_cube(n_runs=12, seed=2)), SMALL))
    decided = rows[["agree", "only_truth", "only_judge", "opposite", "neither"]].sum(axis=1)
    assert decided.tolist() == rows["pairs"].tolist() == [66, 66]


def test_other_judges_change_nothing() -> None:
    a, b = simulate_cube(n_runs=12, seed=2), simulate_cube(n_runs=12, seed=3).isel(topic=slice(30))
    both, alone = analyse(judged(a=a, b=b), SMALL), analyse(judged(b=b), SMALL)
    for name in ("agreement", "corrected", "difference_low", "level_bias", "rank_judge"):
        one = both.sel(judge="b")[name].values
        np.testing.assert_array_equal(one, alone.sel(judge="b")[name].values, err_msg=name)


def test_nested_topics_use_all_of_the_judge() -> None:
    """The truth has 20 of the judge's 50 topics: all of them correct the mean of 50."""
    full = simulate_cube(n_runs=12, seed=2)
    truth = simulate_cube(n_runs=12, seed=1).isel(topic=slice(0, 20))
    result = analyse(sc.many_judgement_sets({"nist": truth, "a": full}), sc.Judges(labels=()))
    h, f = (cube["score"].sel(metric="AP").values[0, 0] for cube in (truth, full))
    expected = oracle.corrected_mean(h, f[:20], f[20:], range(20), 0.95)
    found = result.isel(metric=0, gain=0, judge=0, run=0, n_labelled=-1)
    values = [float(found[name]) for name in ("corrected", "corrected_low", "corrected_high", "slope")]  # fmt: skip
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_labelled_topics_are_those_with_the_smallest_numbers() -> None:
    """The choice is that of trial 0 of its stream, whatever the seed; a topic has the number of its place in the cube."""
    truth = simulate_cube(n_runs=12, seed=1)
    judge = simulate_cube(n_runs=12, seed=2).isel(topic=slice(4, None))
    result = analyse(judged(a=judge), SMALL, seed=5)
    words = uniforms(stream_key(0, Purpose.LABELLED_TOPICS), truth.sizes["topic"], 0, 1)[0, 4:]
    h, f = truth["score"].sel(metric="AP").values[0, 0, 4:], judge["score"].sel(metric="AP").values[0, 0]  # fmt: skip
    for size in SMALL.labels:
        labelled = sorted(range(len(f)), key=lambda topic: words[topic])[:size]
        expected = oracle.corrected_mean(h.tolist(), f.tolist(), (), labelled, 0.95)
        found = result.sel(metric="AP", n_labelled=size).isel(gain=0, judge=0, run=0)
        values = [float(found[name]) for name in ("corrected", "corrected_low", "corrected_high", "slope")]  # fmt: skip
        np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_bias_by_level_is_that_of_means() -> None:
    first, second = simulate_cube(n_runs=12, seed=1), simulate_cube(n_runs=12, seed=2)
    rows = sc.table(analyse(judged(a=second), SMALL), "bias").query("metric == 'AP'").set_index("level")  # fmt: skip
    a, b = (cube["score"].sel(metric="AP").values[0].mean(axis=1) for cube in (first, second))
    low = np.argsort(a)[:4]
    assert rows.loc["all", "bias"] == pytest.approx((b - a).mean())
    assert rows.loc["low", "bias"] == pytest.approx((b - a)[low].mean())
    assert rows["n_runs"].tolist() == [12, 4, 4, 4]


# Disjoint topics


def test_of_disjoint_topics_only_rankings_are_compared() -> None:
    other = renamed_topics(simulate_cube(n_runs=12, seed=2))
    result = analyse(judged(a=other), SMALL)
    assert sc.table(result, "corrected").empty
    rows = sc.table(result)
    assert rows["tau_low"].isna().all()
    assert rows["tau"].notna().all()


def test_bias_over_disjoint_topics_has_the_limits_of_welch() -> None:
    truth, other = (
        simulate_cube(n_runs=12, seed=1),
        renamed_topics(simulate_cube(n_runs=12, seed=2)),
    )
    other = other.isel(topic=slice(13))
    result = analyse(judged(a=other), SMALL)
    scores = [each["score"].values[0, 0].mean(axis=0) for each in (truth, other)]
    expected = scipy.stats.ttest_ind(*reversed(scores), equal_var=False).confidence_interval(0.95)
    found = [float(result[f"level_{end}"].values.flat[0]) for end in ("low", "high")]
    assert found == pytest.approx(list(expected))


def test_topics_without_any_score_count_as_not_judged() -> None:
    empty = simulate_cube(n_runs=12, seed=2)
    empty["score"].values[..., :4] = 0.0
    cube = judged(a=empty)
    result = analyse(cube, SMALL)
    assert int(result["n_shared"][0]) == 46
    assert any("4 topics of a left out" in note for note in result.attrs["notes"])


# Refusals


def test_refusals() -> None:
    cube = judged(a=simulate_cube(n_runs=12, seed=2))
    with pytest.raises(BadName, match="no run 'nobody'"):
        analyse(cube, sc.Judges(baseline="nobody"))
    with pytest.raises(BadPlan, match="the truth of the cube is nist"):
        analyse(cube, sc.Judges(truth="other"))
    with pytest.raises(BadPlan, match="several sets of judgements are needed"):
        analyse(simulate_cube(n_runs=4), sc.Judges())
    with pytest.raises(BadPlan, match="at least one judge"):
        sc.many_judgement_sets({"nist": simulate_cube(n_runs=4)})
    hole = simulate_cube(n_runs=12, seed=2)
    hole["score"].values[0, 0, 0, 0] = np.nan
    with pytest.raises(BadPlan, match="scores of nist or a are missing"):
        analyse(judged(a=hole), SMALL)


# Files


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write runs of twelve systems, judgements, and tables of labels of two judges."""
    chance = np.random.default_rng(6)
    (tmp_path / "runs").mkdir()
    documents = [f"d{k:02d}" for k in range(30)]
    truth = {(t, d): int(chance.integers(0, 3)) for t in range(1, 13) for d in documents}
    for run in range(12):
        lines = []
        for topic in range(1, 13):
            order = sorted(documents, key=lambda d, topic=topic, run=run: -(truth[topic, d] + chance.normal(0, 0.5 + 0.2 * run)))  # type: ignore[misc]  # fmt: skip
            lines += [f"{topic} Q0 {d} {k} {40 - k} run{run:02d}\n" for k, d in enumerate(order[:20], 1)]  # fmt: skip
        (tmp_path / "runs" / f"run{run:02d}").write_text("".join(lines))
    (tmp_path / "nist.txt").write_text("".join(f"{t} 0 {d} {level}\n" for (t, d), level in truth.items()))  # fmt: skip
    tables = {name: ["topic,document,label\n"] for name in ("gpt4", "llama")}
    for (t, d), level in truth.items():
        tables["gpt4"].append(f"{t},{d},{min(level + int(chance.random() < 0.3), 2)}\n")
        other = level if chance.random() < 0.6 else int(chance.integers(0, 3))
        tables["llama"].append(f"{t},{d},{other}\n")
    for name, rows in tables.items():
        (tmp_path / f"{name}.csv").write_text("".join(rows))
    return tmp_path


def test_judges_of_a_study(scorecube: Cli, files: Path) -> None:
    study = files / "s"
    for name, qrels in (("nist", "nist.txt"), ("gpt4", "gpt4.csv"), ("llama", "llama.csv")):
        scorecube("evaluate", study, "--name", name, "--runs", files / "runs", "--qrels", files / qrels, "--metrics", "AP,nDCG@10").succeeded()  # fmt: skip
    how = ["judges", study, "--truth", "nist", "--labels", "5,8"]
    scorecube(*how).succeeded()
    rows = json.loads(scorecube("show", study, "judges", "--table", "labels", "--format", "json").succeeded().stdout)  # fmt: skip
    assert [row["judge"] for row in rows] == ["gpt4", "llama"]
    assert [row["n_documents"] for row in rows] == [360, 360]
    truth = pd.read_csv(files / "nist.txt", sep=" ", header=None).set_index([0, 2])[3]
    for row in rows:
        table = pd.read_csv(files / f"{row['judge']}.csv").set_index(["topic", "document"])["label"]
        pairs = list(zip(truth.tolist(), table.loc[truth.index].tolist(), strict=True))
        assert row["kappa"] == pytest.approx(oracle.kappa(pairs), rel=1e-9)
        assert row["weighted_kappa"] == pytest.approx(oracle.weighted_kappa(pairs, 2), rel=1e-9)
        assert row["alpha"] == pytest.approx(oracle.alpha(pairs), rel=1e-9)
    assert "already there" in scorecube(*how).succeeded().stderr
    failed = scorecube("judges", study)
    assert "which collection counts as truth" in failed.stderr
    assert "--truth" in failed.stderr


def test_label_tables(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("qid\tdocno\trelevance\n1\td1\t2\n2\td1\t0\n")
    assert is_label_table(path)
    assert qrels_of_table(path).levels.tolist() == [2, 0]
    for line, message in (("1\td1\tgood\n", "level 'good' is not an integer"), ("1\td1\t1\n1\td1\t2\n", "judged twice"), ("1\t\t1\n", "document is missing")):  # fmt: skip
        path.write_text("qid\tdocno\trelevance\n" + line)
        with pytest.raises(BadInput, match=message):
            _ = qrels_of_table(path).tables
    path.write_text("1 0 d1 2\n")
    assert not is_label_table(path)

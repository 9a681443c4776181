"""Judges: oracles of labels and corrected means, one machinery with agreement, disjoint and nested topics, files in one step."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from scipy.special import stdtrit

import scorecube as sc
from scorecube.analyses.judges.one_judge import half_taus, judge_part
from scorecube.errors import BadInput, BadName, BadPlan
from scorecube.ingest.judge_labels import is_label_table, read_labels
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.names import Purpose
from scorecube.report.results import headline
from scorecube.report.views import view_of
from scorecube.statistics.corrected_means import corrected_means, labels_needed
from scorecube.statistics.label_agreement import (
    effective_judges,
    label_coefficients,
    label_intervals,
    largest_error,
)
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse
from tests.oracles import correlation
from tests.oracles import judges as oracle

if TYPE_CHECKING:
    from tests.conftest import Cli

SMALL = sc.Judges(labels=(10, 20), purchases=20)


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


# Judges together


def test_effective_judges_equal_the_oracle() -> None:
    errors = np.random.default_rng(3).standard_normal((3, 4, 11))
    errors[1] += errors[0]
    found = effective_judges(errors, 0.9)
    assert found == pytest.approx(oracle.effective_judges(errors.tolist(), 0.9), rel=1e-9)
    assert found[1] < found[0] < found[2]
    # A bias is no error that averages out.
    assert effective_judges(errors + np.arange(12.0).reshape(3, 4, 1), 0.9) == pytest.approx(found)
    # Correlations of rho: K / (1 + (K - 1) rho).
    common, own = np.random.default_rng(4).standard_normal((2, 4, 500, 400))
    many = np.sqrt(0.3) * common[:1] + np.sqrt(0.7) * own
    assert effective_judges(many, 0.95)[0] == pytest.approx(4 / 1.9, rel=0.02)
    for few in (errors[:1], errors[..., :2], np.zeros((2, 3, 5))):
        assert np.isnan(effective_judges(few, 0.95)).all()


def test_a_topic_with_most_of_the_errors_is_named() -> None:
    """In the finding of the number of judges, with its share; one that has no more than usual is not."""
    truth, chance = simulate_cube(n_runs=12, seed=1), np.random.default_rng(5)
    noise = {name: chance.normal(0, 0.05, truth["score"].shape) for name in ("a", "b")}
    text = "squared errors of this mean: the limits are not known to hold"
    named = []
    for more in (0.0, 1.0):
        for each in noise.values():
            each[..., 7] += more
        scores = {name: truth.assign(score=truth["score"] + each) for name, each in noise.items()}
        result = analyse(judged(a=scores["a"], b=scores["b"]), SMALL)
        found = [each.sentence for each in view_of("judges").findings(result)]
        named.append([each for each in found if text in each])
    assert named[0] == []
    share, place = largest_error(np.stack([*noise.values()])[:, 0, 0], np.arange(50))
    assert place == 7
    np.testing.assert_allclose(result["error_share"].values.flat[0], share)
    assert f"topic {truth.topic.values[7]} alone has {share:.0%} of the " in named[1][0]


def test_an_ensemble_is_the_mean_of_its_judges() -> None:
    """And it is no further judge of those that err together."""
    judges = {name: simulate_cube(n_runs=12, seed=seed) for name, seed in (("a", 4), ("b", 5))}
    plain = analyse(judged(a=judges["a"], b=judges["b"]), SMALL)
    found = analyse(judged(a=judges["a"], b=judges["b"]), replace(SMALL, ensemble=True))
    assert found.judge.values.tolist() == ["a", "b", "ensemble"]
    np.testing.assert_array_equal(found["effective"], plain["effective"])
    mean = judges["a"].assign(score=(judges["a"]["score"] + judges["b"]["score"]) / 2)
    alone = analyse(judged(c=mean), SMALL)
    for name in ("agreement", "agree", "width", "corrected"):
        np.testing.assert_allclose(found[name].sel(judge="ensemble"), alone[name].sel(judge="c"))
    np.testing.assert_array_equal(found["agreement"].sel(judge=["a", "b"]), plain["agreement"])
    with pytest.raises(BadPlan, match="two judges or more"):
        analyse(judged(a=judges["a"]), replace(SMALL, ensemble=True))


# Labels


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("distance", ["ordinal", "nominal", "interval"])
@pytest.mark.parametrize(("weights", "power"), [("linear", 1), ("quadratic", 2)])
def test_coefficients_equal_the_oracle(seed: int, distance: str, weights: str, power: int) -> None:
    pairs = pairs_of(seed)
    found = label_coefficients(table_of(pairs), weights=weights, distance=distance)
    expected = [
        oracle.kappa(pairs),
        oracle.weighted_kappa(pairs, power),
        oracle.alpha(pairs, distance),
        sum(a == b for a, b in pairs) / len(pairs),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("distance", ["ordinal", "nominal", "interval"])
def test_alpha_of_a_published_example(distance: str) -> None:
    """Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section A: two observers, binary data."""
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    value = label_coefficients(table_of(list(zip(first, second, strict=True)), 2), weights="linear", distance=distance)[2]  # fmt: skip
    # Of two levels all distances are the same up to a factor.
    assert round(float(value), 3) == 0.095


def test_limits_equal_the_oracle() -> None:
    by_topic = [pairs_of(seed, 10 + 7 * seed) for seed in range(8)]
    counts = np.stack([table_of(pairs) for pairs in by_topic])
    value, low, high = label_intervals(counts, 0.9, weights="linear", distance="nominal")
    expected = oracle.jackknife(by_topic, 0.9)
    np.testing.assert_allclose([low[0], high[0]], expected, rtol=1e-9)
    assert low[0] < value[0] < high[0]


def test_equal_labels_everywhere_are_no_certainty() -> None:
    """Topics that all agree alike have no limits, as other topics may not."""
    same = np.stack([np.diag([5, 3]), np.diag([2, 9]), np.diag([4, 4])])
    value, low, high = label_intervals(same, 0.95, weights="linear", distance="nominal")
    assert value.tolist() == [1.0] * 4
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_labels_without_variety_are_missing() -> None:
    found = label_coefficients(np.array([[5, 0], [0, 0]]), weights="linear", distance="ordinal")
    assert np.isnan(found[:3]).all()
    assert found[3] == 1.0


# Corrected means


def test_the_baseline_is_chosen_without_labels() -> None:
    """By the mean under the judge on all its topics; `baseline_by` truth is the choice of earlier versions, whose plans are found."""
    cube = judged(machine=simulate_cube(n_runs=12, seed=4))
    best = {name: str(cube.run.values[int(each.mean("topic").isel(metric=0).argmax("run"))]) for name, each in (("judge", cube["score"].sel(gain="machine")), ("truth", cube["score"].sel(gain="nist")))}  # fmt: skip
    assert best["judge"] != best["truth"]
    for by, run in best.items():
        result = sc.complete(analyse(cube, sc.Judges(labels=(10,), purchases=5, baseline_by=by)))  # type: ignore[arg-type]
        assert result["baseline_run"].isel(metric=0, gain=0, judge=0).item() == run
        assert np.isnan(result["difference"].isel(metric=0, gain=0, judge=0).sel(run=run)).all()


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


def test_a_judge_that_adds_nothing_narrows_nothing_and_says_so() -> None:
    truth = simulate_cube(n_runs=12, seed=1)
    chance = np.random.default_rng(3)
    scores = truth["score"].values
    noise = truth.copy(deep=True)
    noise["score"].values = chance.permuted(scores, axis=-1)
    result = analyse(
        sc.many_judgement_sets({"nist": truth, "noise": noise, "good": truth}), sc.Judges()
    )
    price = sc.table(result, "price").query("metric == 'AP' and of == 'mean' and n_labelled == 30")
    idle, good = (price[price["judge"] == judge].to_dict("records")[0] for judge in ("noise", "good"))  # fmt: skip
    assert abs(idle["lambda"]) < 0.15
    assert idle["narrowed"] < 0.02
    assert good["narrowed"] > 0.15
    lines = "\n".join(headline(result))
    assert "noise narrows them by less than 2%, and adds nothing that counts (lambda" in lines
    assert "good narrows them by" in lines
    cautions = view_of("judges").cautions(result, {})
    assert any("narrows no interval" in text and "noise" in numbers for text, numbers in cautions)


def test_labels_needed_reach_the_width() -> None:
    chance = np.random.default_rng(5)
    f = chance.normal(0.4, 0.15, (40, 200))
    h = f + chance.normal(0, 0.05, f.shape)
    needed, alone = labels_needed(h, f, f[:, :0], 0.1, 0.95)
    assert needed < alone
    for m, with_judge in ((int(needed), True), (int(alone), False)):
        chosen = np.zeros((100, 200), bool)
        for row in chosen:
            row[chance.choice(200, m, replace=False)] = True
        means = corrected_means(h, f, f[:, :0], chosen, 0.95)
        ends = (means.low, means.high) if with_judge else (means.human_low, means.human_high)
        assert (ends[1] - ends[0]).mean() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("m", [5, 12, 40])
def test_an_interval_of_the_wanted_width_is_enough(m: int) -> None:
    chance = np.random.default_rng(m)
    truth, judge = chance.normal(0.4, 0.15, (2, 7, 60))
    spread = np.sqrt(truth.var(axis=1, ddof=1)).mean()
    width = 2 * stdtrit(m - 1, 0.975) * spread / np.sqrt(float(m))
    assert labels_needed(truth, judge, judge[:, :0], width, 0.95)[1] == m


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
    for name in ("agreement", "corrected", "difference_low", "width", "level_bias", "rank_judge"):
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
    """The first purchase is that of trial 0 of its stream, whatever the seed; a topic has the number of its place in the cube."""
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


def test_preference_for_its_own_family() -> None:
    """The judge adds .1 to the scores of two runs."""
    truth = simulate_cube(n_runs=12, seed=1)
    judge = truth.copy(deep=True)
    judge["score"].values[:, :, [2, 7]] += 0.1
    runs = truth.run.values
    families = (f"{runs[2]}=a", f"{runs[7]}=a", f"{runs[0]}=other")
    cube = sc.many_judgement_sets({"nist": truth, "a": judge})
    rows = sc.table(analyse(cube, sc.Judges(labels=(), families=families)), "preference")
    np.testing.assert_allclose(rows["preference"], 0.1, rtol=1e-9)
    assert rows["n_own"].tolist() == [2, 2]
    assert sc.table(analyse(cube, SMALL), "preference").empty
    for wrong, message in ((("x",), "expected run=judge"), (("x=y",), "names no run")):
        with pytest.raises(BadPlan, match=message):
            analyse(cube, sc.Judges(families=wrong))


# Disjoint topics


def test_halves_of_one_judge_leave_no_part() -> None:
    """The judge is the truth on other topics: what remains is chance."""
    chance = np.random.default_rng(4)
    ability = chance.normal(0, 0.1, (30, 1))
    truth, other = (ability + chance.normal(0, 0.2, (30, n)) for n in (60, 120))
    taus = half_taus(truth[np.newaxis], other[np.newaxis])[0]
    assert abs(taus[0] - taus[2]) < 0.08
    worse = chance.permutation(ability) + chance.normal(0, 0.2, (30, 120))
    assert taus[0] - half_taus(truth[np.newaxis], worse[np.newaxis])[0, 2] > 0.3


def plain_halves(truth: Any, judge: Any) -> tuple[float, float, float]:
    """Return the mean taus of halves of one cell, split by split."""
    numbers = [truth.shape[1], judge.shape[1]]
    size = min(numbers) // 2
    splits = []
    for trial in range(200):
        halves = []
        for stream, scores in enumerate((truth, judge)):
            n = numbers[stream]
            words = uniforms(stream_key(0, Purpose.JUDGED_HALVES), 2 * n, trial, trial + 1)[0]
            order = sorted(range(n), key=lambda k, words=words, at=stream * n: words[at + k])  # type: ignore[misc]
            for half in (order[:size], order[size : 2 * size]):
                halves.append([sum(row[k] for k in half) for row in scores.tolist()])
        tau = correlation.tau_a
        one, two, first, second = halves
        splits.append((tau(one, two), tau(first, second), (tau(one, first) + tau(two, second)) / 2))
    return tuple(float(np.mean(each)) for each in zip(*splits, strict=True))  # type: ignore[return-value]


def test_halves_are_those_of_the_plain_splits() -> None:
    chance = np.random.default_rng(5)
    truth, judge = chance.integers(0, 50, (2, 5, 24)), chance.integers(0, 50, (2, 5, 27))
    found = half_taus(truth.astype(float), judge.astype(float))
    expected = [plain_halves(*pair) for pair in zip(truth, judge, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    taus, part, low, high = judge_part(truth.astype(float), judge.astype(float), 0.9)
    np.testing.assert_array_equal(taus, found)
    variance = 0.0
    for k, n in enumerate((24, 27)):
        left = []
        for group in range(10):
            pair = [truth[0], judge[0]]
            pair[k] = pair[k][:, [topic for topic in range(n) if topic % 10 != group]]
            own, _, both = half_taus(*(each[np.newaxis].astype(float) for each in pair))[0]
            left.append(own - both)
        variance += 9 / 10 * sum((each - np.mean(left)) ** 2 for each in left)
    half = (
        1.8331129326562374 * variance**0.5
    )  # the quantile .95 of Student's t with 9 degrees of freedom
    assert part[0] == pytest.approx(taus[0, 0] - taus[0, 2])
    assert (low[0], high[0]) == pytest.approx((part[0] - half, part[0] + half))


def test_halves_need_twenty_topics_of_each_set() -> None:
    scores = np.random.default_rng(6).random((1, 4, 40))
    assert np.isfinite(half_taus(scores[..., :20], scores)).all()
    assert np.isnan(half_taus(scores[..., :19], scores)).all()
    assert np.isnan(half_taus(scores, scores[..., :19])).all()


def test_disjoint_topics_are_ranked_against_halves() -> None:
    other = renamed_topics(simulate_cube(n_runs=12, seed=2))
    result = analyse(judged(a=other), SMALL)
    rows = sc.table(result, "disjoint")
    assert rows["n_topics"].tolist() == [25, 25]
    assert (rows["judge_part_low"] < rows["judge_part"]).all()
    assert sc.table(result, "corrected").empty
    assert sc.table(result, "price").empty
    assert sc.table(result)["tau_low"].isna().all()
    assert any("no topics are shared" in line for line in headline(result))


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
    """Write runs of three systems, judgements, and a table of labels of two judges."""
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
    rows = ["topic,document,judge,label\n"]
    for (t, d), level in truth.items():
        rows.append(f"{t},{d},gpt4,{min(level + int(chance.random() < 0.3), 2)}\n")
        rows.append(f"{t},{d},llama,{level if chance.random() < 0.6 else int(chance.integers(0, 3))}\n")  # fmt: skip
    (tmp_path / "labels.csv").write_text("".join(rows))
    return tmp_path


def test_files_in_one_step(scorecube: Cli, files: Path) -> None:
    study = files / "s"
    scorecube("judges", study, "--runs", files / "runs", "--truth-qrels", files / "nist.txt", "--qrels", files / "labels.csv", "--metrics", "AP,nDCG@10", "--labels", "5,8").succeeded()  # fmt: skip
    rows = json.loads(scorecube("show", study, "judges", "--table", "labels", "--format", "json").succeeded().stdout)  # fmt: skip
    assert [row["judge"] for row in rows] == ["gpt4", "llama"]
    assert [row["n_documents"] for row in rows] == [360, 360]
    table = pd.read_csv(files / "labels.csv").pivot(
        index=["topic", "document"], columns="judge", values="label"
    )
    truth = pd.read_csv(files / "nist.txt", sep=" ", header=None).set_index([0, 2])[3]
    for row in rows:
        pairs = list(zip(truth.tolist(), table[row["judge"]].loc[truth.index].tolist(), strict=True))  # fmt: skip
        assert row["kappa"] == pytest.approx(oracle.kappa(pairs), rel=1e-9)
        assert row["weighted_kappa"] == pytest.approx(oracle.weighted_kappa(pairs, 2), rel=1e-9)
        assert row["alpha"] == pytest.approx(oracle.alpha(pairs, "ordinal"), rel=1e-9)
    again = scorecube("judges", study, "--truth", "nist", "--metrics", "AP,nDCG@10", "--labels", "5,8").succeeded()  # fmt: skip
    assert "already there" in again.stderr
    failed = scorecube("judges", study)
    assert "which collection counts as truth" in failed.stderr
    assert "--truth" in failed.stderr


def test_label_tables(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("qid\tdocno\trelevance\n1\td1\t2\n1\td2\t\n2\td1\t0.0\n")
    assert is_label_table(path)
    assert read_labels(path) == {"labels": {"1": {"d1": 2, "d2": -1}, "2": {"d1": 0}}}
    for line, message in (("1\td1\tgood\n", "relevance level"), ("1\td1\t1\n1\td1\t2\n", "second label"), ("1\t\t1\n", "document is missing")):  # fmt: skip
        path.write_text("qid\tdocno\trelevance\n" + line)
        with pytest.raises(BadInput, match=message):
            read_labels(path)
    path.write_text("1 0 d1 2\n")
    assert not is_label_table(path)

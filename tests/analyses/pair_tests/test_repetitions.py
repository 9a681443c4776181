"""Systems with repeated runs: an oracle, laws, blocks, and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.analyses.base import Accumulator
from scorecube.analyses.pair_tests.repetitions import moderated_variances, systems_of
from scorecube.analyses.plan import make_plan
from scorecube.collection import schema
from scorecube.execute.clients import open_client
from scorecube.workflow.api import analyse, cube_from_scores
from tests.analyses.metamorphic import NEGATED, Case, base_case
from tests.analyses.test_metamorphic import RELATIONS
from tests.oracles.repetitions import Systems, adjusted, averaged, mean, variance
from tests.oracles.step_down import MODERATION
from tests.oracles.t_tests import critical_t, moments, t_tail

if TYPE_CHECKING:
    from tests.conftest import Cli

NAMES = ("maxt", "ranks", "leaderboard")
COUNTS = {"a": 1, "b": 2, "c": 3, "d": 5, "e": 4}


def scores_of_systems(seed: int = 2, n: int = 26) -> Systems:
    """Systems of 1 to 5 runs, whose means differ over repetitions."""
    chance = np.random.default_rng(seed)
    base = chance.uniform(0.2, 0.6, n)
    systems = {}
    for k, (name, count) in enumerate(COUNTS.items()):
        topics = base + 0.03 * k + 0.05 * chance.standard_normal(n)
        runs = [
            topics + 0.02 * chance.standard_normal() + 0.03 * chance.standard_normal(n)
            for _ in range(count)
        ]
        systems[name] = [run.round(4).tolist() for run in runs]
    return systems


def cube_of(systems: Systems, **more: Systems) -> xr.Dataset:
    frames = {}
    for metric, each in {"AP": systems, **more}.items():
        rows = {(s, str(k)): run for s, runs in each.items() for k, run in enumerate(runs)}
        topics = [f"t{k:02d}" for k in range(len(next(iter(rows.values()))))]
        index = pd.MultiIndex.from_tuples(list(rows), names=["system", "seed"])
        frames[metric] = pd.DataFrame(list(rows.values()), index, topics)
    return cube_from_scores(frames)


def p_values(result: xr.Dataset) -> dict[tuple[str, str], float]:
    labels = zip(result["run_a"].values.tolist(), result["run_b"].values.tolist(), strict=True)
    return dict(zip(labels, result["p_value"].values[0, 0].tolist(), strict=True))


def test_adjusted_p_values_are_those_of_the_oracle() -> None:
    systems, trials = scores_of_systems(), 200
    cube, analysis = (cube_of(systems), sc.MaxT(by_system=True, plus_one=False))
    drawn = analysis.samples(cube, 3, trials)
    position = {topic: k for k, topic in enumerate(cube["topic"].values)}
    samples = [[position[topic] for topic in row] for row in drawn["topic_sample"].values[:, 0]]
    by_run = drawn["repetition_error"]
    system_of = dict(zip(cube["run"].values, cube["system"].values, strict=True))
    runs = {s: [run for run in cube["run"].values if system_of[run] == s] for s in systems}
    deviates = [
        {s: by_run[k].sel(run=runs[s]).values.tolist() for s in systems} for k in range(trials)
    ]
    expected = adjusted(systems, samples, deviates, MODERATION)
    result = analyse(cube, analysis, trials=trials, seed=3)
    assert p_values(result) == expected
    assert len(set(expected.values())) > 4


@pytest.mark.parametrize("n_topics", [6, 26])
def test_leaderboard_is_that_of_the_oracle(n_topics: int) -> None:
    """The means of a trial are over its topics, with the errors over repetitions; t* is over both, about each system only."""
    systems, trials, alpha = scores_of_systems(2, n_topics), 400, 0.1
    cube, analysis = cube_of(systems), sc.Leaderboard(by_system=True, alpha=alpha)
    drawn = analysis.samples(cube, 3, trials)
    position = {topic: k for k, topic in enumerate(cube["topic"].values)}
    samples = [[position[topic] for topic in row] for row in drawn["topic_sample"].values[:, 0]]
    system_of = dict(zip(cube["run"].values, cube["system"].values, strict=True))
    means, t_stars = [], []
    for s, each in systems.items():
        scores, n = averaged(each), len(position)
        single = variance([mean(run) for run in each]) if len(each) > 1 else 0.0
        own = [run for run in cube["run"].values if system_of[run] == s]
        normal = drawn["repetition_error"].sel(run=own).values.tolist()
        shifts = [single**0.5 * mean(row) if len(each) > 1 else 0.0 for row in normal]
        within = [single * variance(row) / len(each) if len(each) > 1 else 0.0 for row in normal]
        picked = [[scores[topic] for topic in row] for row in samples]
        means.append([mean(row) + shift for row, shift in zip(picked, shifts, strict=True)])
        t_stars.append([
            (value - mean(scores)) / (variance(row) / n + more) ** 0.5
            for value, row, more in zip(means[-1], picked, within, strict=True)
        ])  # fmt: skip
        one = (variance(scores) / n + single / len(each)) ** 0.5
        ordered, k = sorted(t_stars[-1]), int(alpha / 2 * (trials + 1))
        limits = mean(scores) - ordered[trials - k] * one, mean(scores) - ordered[k - 1] * one
        result = analyse(cube, analysis, trials=trials, seed=3).sel(run=s).isel(metric=0, gain=0)
        found = float(result["mean_low"]), float(result["mean_high"])
        assert found == pytest.approx(limits, abs=1e-6)
    best = [max(range(5), key=lambda k, trial=trial: means[k][trial]) for trial in range(trials)]  # type: ignore[misc]
    result = analyse(cube, analysis, trials=trials, seed=3)
    assert result["best"].values.ravel().tolist() == [best.count(k) / trials for k in range(5)]


def test_standard_errors_are_those_of_the_formula() -> None:
    systems = scores_of_systems()
    result = analyse(cube_of(systems), sc.MaxT(by_system=True), trials=50, seed=1)
    pairs = zip(result["run_a"].values, result["run_b"].values, strict=True)
    for (a, b), error, t in zip(
        pairs, result["standard_error"].values[0, 0], result["t"].values[0, 0], strict=True
    ):
        first, second = (np.array(systems[name]) for name in (a, b))
        difference = first.mean(axis=0) - second.mean(axis=0)
        squared = difference.var(ddof=1) / difference.size
        for runs in (first, second):
            squared += runs.mean(axis=1).var(ddof=1) / len(runs) if len(runs) > 1 else 0.0
        assert error == pytest.approx(np.sqrt(squared), rel=1e-9)
        assert t == pytest.approx(difference.mean() / np.sqrt(squared), rel=1e-9)
    assert result["repetitions"].values.tolist() == list(COUNTS.values())
    assert "d_z" not in sc.table(result, "pairs")


@pytest.mark.parametrize("baseline", [None, "c"])
def test_t_tests_are_those_of_the_oracle(baseline: str | None) -> None:
    systems, margin, alpha = scores_of_systems(), 0.07, 0.1
    test = sc.Paired(by_system=True, equivalence=margin, alphas=(alpha,), baseline=baseline)
    result = analyse(cube_of(systems), test)
    table, found = sc.table(result, "pairs"), set()
    for row in table.itertuples():
        difference, error, freedom = moments(systems[str(row.run_a)], systems[str(row.run_b)])
        assert row.mean_difference == pytest.approx(difference, abs=1e-12)
        assert row.standard_error == pytest.approx(error, rel=1e-9)
        assert row.degrees_of_freedom == pytest.approx(freedom, rel=1e-9)
        assert row.p_t == pytest.approx(2 * t_tail(abs(difference) / error, freedom), abs=1e-9)
        within = max(t_tail((margin + sign * difference) / error, freedom) for sign in (1, -1))
        assert row.p_equivalence == pytest.approx(within, abs=1e-9)
        half = critical_t(alpha, freedom) * error
        assert row.difference_low == pytest.approx(difference - half, abs=1e-9)
        assert row.difference_high == pytest.approx(difference + half, abs=1e-9)
        unequal = 2 * t_tail(abs(difference) / error, freedom) < alpha
        verdict = "equivalent" if within < alpha else "different" if unequal else "inconclusive"
        assert row.verdict == verdict
        found.add(verdict)
    assert len(table) == (10 if baseline is None else 4)
    assert found == {"equivalent", "different", "inconclusive"}
    assert result["test"].values.tolist() == ["t"]
    assert result["repetitions"].values.tolist() == list(COUNTS.values())


def test_t_tests_have_the_standard_errors_of_the_max_t_test() -> None:
    cube = cube_of(scores_of_systems(), RR=scores_of_systems(7))
    other = analyse(cube, sc.MaxT(by_system=True), trials=50, seed=1)
    result = analyse(cube, sc.Paired(by_system=True))
    for name in ("standard_error", "repetitions"):
        np.testing.assert_array_equal(result[name].values, other[name].values)


@pytest.mark.parametrize("copies", [1, 3])
def test_equal_repetitions_give_the_t_test_of_one_run(copies: int) -> None:
    single = {s: runs[:1] for s, runs in scores_of_systems().items()}
    single |= {"like a": single["a"], "above a": [[score + 0.01 for score in single["a"][0]]]}
    cube = cube_of({s: runs * copies for s, runs in single.items()})
    if copies == 1:
        cube = cube.assign_coords(system=("run", cube["run"].values))
    rows = {s: runs[0] for s, runs in single.items()}
    plain = cube_from_scores(
        {"AP": pd.DataFrame(list(rows.values()), list(rows), cube["topic"].values)}
    )
    options: dict[str, Any] = {"tests": ("t",), "equivalence": 0.02, "bounds": ()}
    found = analyse(cube, sc.Paired(by_system=True, **options))
    expected = analyse(plain, sc.Paired(**options))
    assert found["run"].values.tolist() == expected["run"].values.tolist()
    assert {0.0, 1.0} <= set(expected["p_value"].values.ravel())
    for variable, array in expected.data_vars.items():
        np.testing.assert_allclose(
            found[variable].values, array.values, rtol=1e-9, atol=1e-12, err_msg=str(variable)
        )


@pytest.mark.parametrize("cut", [1, 3, 10])
def test_t_tests_of_every_cut_have_the_same_bits(cut: int) -> None:
    cube = cube_of(scores_of_systems(), RR=scores_of_systems(7))
    analysis = sc.Paired(by_system=True)
    whole = analyse(cube, analysis, workers=1)
    parts = analyse(cube, analysis, workers=2, block_units=cut)
    for name, array in whole.data_vars.items():
        assert parts[name].values.tobytes() == array.values.tobytes(), name


def test_what_other_tests_know_of_systems() -> None:
    cube = cube_of(scores_of_systems())
    warnings = make_plan(cube, sc.Paired(by_system=True), trials=1, seed=1).warnings
    assert warnings[0] == "systems are compared by the t test alone, without wilcoxon and sign"
    assert "up to .12 with 2 runs and .07 with 3" in warnings[2]
    plan = make_plan(cube, sc.Paired(by_system=True, tests=("t",)), trials=1, seed=1)
    assert len(plan.warnings) == 2
    with pytest.raises(sc.ScorecubeError, match=r"has the t test only: Wilcoxon's"):
        analyse(cube, sc.Paired(by_system=True, tests=("sign",)))
    with pytest.raises(sc.ScorecubeError, match="do not tell which runs are repetitions"):
        analyse(cube.drop_vars("system"), sc.Paired(by_system=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("copies", [1, 3])
def test_equal_repetitions_give_what_one_run_gives(name: str, copies: int) -> None:
    """Without variance over repetitions the other statistic, of compiled code, counts the same trials."""
    single = {s: runs[:1] for s, runs in scores_of_systems().items()}
    copied = {s: runs * copies for s, runs in single.items()}
    cube = cube_of(copied)
    rows = {s: runs[0] for s, runs in single.items()}
    plain = cube_from_scores(
        {"AP": pd.DataFrame(list(rows.values()), list(rows), cube["topic"].values)}
    )
    if copies == 1:
        cube = cube.assign_coords(system=("run", cube["run"].values))
    kind: Any = registry.load(name)
    found = analyse(cube, kind(by_system=True), trials=300, seed=5)
    expected = analyse(plain, kind(), trials=300, seed=5).drop_vars(
        "own_error_pairs", errors="ignore"
    )
    assert found["run"].values.tolist() == expected["run"].values.tolist()
    for variable, array in expected.data_vars.items():
        np.testing.assert_allclose(
            found[variable].values, array.values, rtol=1e-6, atol=1e-12, err_msg=str(variable)
        )


def case_of(name: str) -> Case:
    """Return the case of the metamorphic relations, the runs of a team being repetitions of one system."""
    base = base_case(name)
    cube = base.cubes[0]
    systems = [f"system {team}" for team in cube["team"].values]
    cube = cube.assign_coords(system=("run", schema.label_array(systems)))
    return Case(name, (cube,), {"by_system": True})


ROUNDED = ("mean", "residual_variance", "t", "standard_error", "moderated_error", "critical_value", "mean_low", "mean_high", "t_low", "t_high")  # fmt: skip
OTHER_SYSTEMS = "other runs are other repetitions of the systems"
NO_LAW = {
    "topics in the opposite order, samples drawn": "what is not resampled follows from the relation with the same samples",
    "teams in the opposite order": "systems, not teams, are compared",
    "fewer runs": OTHER_SYSTEMS,
    "a run twice": OTHER_SYSTEMS,
    "every topic twice": "t does not grow by a known factor where repetitions vary",
}
"""Relations without a law for systems, and why; the others have the laws of runs."""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "relation", [each for each in RELATIONS if each not in NO_LAW], ids=lambda text: text.replace(" ", "-")
)  # fmt: skip
def test_relations_of_runs_hold_for_systems(name: str, relation: str) -> None:
    case, each = case_of(name), RELATIONS[relation]
    law = each.laws[name]
    assert not isinstance(law, str)
    result, changed = case.result(), each.change(case)
    if relation == "scores are negated":  # errors of repetitions are scores
        changed = dataclasses.replace(changed, turned=NEGATED)
    found = changed.result()
    assert result.sizes["run"] == 3
    before, after = each.view(result, found)
    # Means over runs are rounded, as are those over topics of changed scores.
    rounded = {*ROUNDED, *law.close} & {*map(str, after.data_vars)} - {*law.free}
    exact = dataclasses.replace(law, free=[*law.free, *rounded])
    exact.compare(after, law.applied(before))
    for variable in rounded if not law.kept else rounded & {*law.kept}:
        expected = law.applied(before)[variable].transpose(*after[variable].dims)
        np.testing.assert_allclose(after[variable].values, expected.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_repetition_of_another_name_is_the_same(name: str) -> None:
    """Systems in the opposite order of labels exchange their places; better stays better."""
    case = case_of(name)
    result = case.result()
    new = {old: f"{chr(122 - k)}" for k, old in enumerate(result["run"].values.tolist())}

    def change(cube: xr.Dataset) -> xr.Dataset:
        systems = [new[system] for system in cube["system"].values]
        return cube.assign_coords(system=("run", schema.label_array(systems)))

    found = case.changed(change).result()
    for variable in ("rank_low", "rank_high") if name != "maxt" else ():
        for old, label in new.items():
            np.testing.assert_array_equal(
                result[variable].sel(run=old).values, found[variable].sel(run=label).values
            )
    if name == "maxt":
        np.testing.assert_array_equal(
            np.sort(result["reached"].values), np.sort(found["reached"].values)
        )


@pytest.mark.parametrize("cut", [1, 7, 511, 512, 600])
@pytest.mark.parametrize(
    "analysis",
    [
        sc.MaxT(by_system=True),
        sc.Ranks(by_system=True),
        sc.Leaderboard(by_system=True, baseline="c"),
    ],
    ids=["maxt", "ranks", "leaderboard"],
)
def test_every_cut_gives_the_same_bits(analysis: Any, cut: int) -> None:
    cube, trials = cube_of(scores_of_systems(), RR=scores_of_systems(7)), 1100
    prepared, _ = analysis.prepare_checked(cube)
    inputs = analysis.inputs(prepared, trials, 1)
    whole, parts = (Accumulator(analysis.outputs(prepared), trials) for _ in range(2))
    whole.add(0, trials, analysis.block(inputs, 0, trials))
    starts = range(0, trials, cut) if cut > 1 else [0, 1, 2]
    for start in starts:
        stop = min(start + cut, trials) if cut > 1 or start < 2 else trials
        parts.add(start, stop, analysis.block(inputs, start, stop))
    for name, array in whole.arrays.items():
        assert np.array_equal(array, parts.arrays[name]), name


@pytest.mark.process
def test_processes_and_threads_give_the_same_bits() -> None:
    cube = cube_of(scores_of_systems())
    analysis = sc.Leaderboard(by_system=True, baseline="c")
    expected = analyse(cube, analysis, trials=1100, seed=4, workers=1)
    with open_client({"kind": "processes"}, None, 2) as client:
        found = [
            analyse(cube, analysis, trials=1100, seed=4, workers=2, block_units=300),
            analyse(cube, analysis, trials=1100, seed=4, client=client, block_units=300),
        ]
    for result in found:
        for name, array in expected.data_vars.items():
            assert result[name].values.tobytes() == array.values.tobytes(), name


def test_the_plan_knows_the_systems_only_if_they_are_compared() -> None:
    cube = cube_of(scores_of_systems())
    other = cube.assign_coords(system=("run", np.roll(cube["system"].values, 1)))
    digests = [
        make_plan(each, sc.MaxT(by_system=by_system), trials=10, seed=1).plan.digest
        for by_system in (False, True)
        for each in (cube, cube.drop_vars("system") if not by_system else cube, other)
    ]
    assert digests[0] == digests[1] == digests[2]
    assert len({digests[0], digests[3], digests[5]}) == 3


def test_what_is_not_known_is_said() -> None:
    systems = scores_of_systems()
    cube = cube_of(systems)
    with pytest.raises(sc.ScorecubeError, match=r"do not tell which runs are repetitions"):
        analyse(cube.drop_vars("system"), sc.MaxT(by_system=True), trials=10, seed=1)
    with pytest.raises(sc.ScorecubeError, match="no run 'b#0' in the scores"):
        analyse(cube, sc.MaxT(by_system=True, baseline="b#0"), trials=10, seed=1)
    one, two = make_plan(cube, sc.MaxT(by_system=True), trials=10, seed=1).warnings
    assert one.startswith("1 system of 5 has one run only: conclusions about a ")
    assert two.startswith("3 systems with 2 to 4 runs")
    single = cube.isel(run=[0, 1, 3]).assign_coords(system=("run", np.array(["a", "b", "c"], object)))  # fmt: skip
    (warning,) = make_plan(single, sc.Ranks(by_system=True), trials=10, seed=1).warnings
    assert warning.startswith("no system has 2 runs or more")


def test_the_team_of_a_system_is_that_of_all_its_runs() -> None:
    cube = cube_of(scores_of_systems())
    teams = {"a": "one", "b": "one", "c": "two", "d": "d"}
    labels = [teams.get(s, run) for run, s in zip(cube["run"].values, cube["system"].values, strict=True)]  # fmt: skip
    averaged, found = systems_of(cube.assign_coords(team=("run", schema.label_array(labels))))
    assert averaged["team"].values.tolist() == ["one", "one", "two", "d", "e"]
    assert found.counts.tolist() == list(COUNTS.values())


def test_systems_on_the_command_line(scorecube: Cli, tmp_path: Path) -> None:
    rows = [
        (s, k, f"t{t:02d}", score)
        for s, runs in scores_of_systems().items()
        for k, run in enumerate(runs)
        for t, score in enumerate(run)
    ]
    frame = pd.DataFrame(rows, columns=["model", "seed", "item", "score"])
    frame.to_csv(tmp_path / "scores.csv", index=False)
    study = tmp_path / "study.zarr"
    asked = ("--by-system", "--trials", "300")
    scorecube("import", study, "--name", "x", "--metric", "m", tmp_path / "scores.csv").succeeded()
    scorecube("maxt", study, *asked, "--seed", "3").succeeded()
    words = ("--by-system", "--equivalence", "0.05", "--baseline", "c")
    scorecube("paired", study, *words).succeeded()
    assert "systems" in scorecube("info", study).succeeded().stdout
    assert "--by-system" in scorecube("leaderboard", "--help").succeeded().stdout


def test_the_only_system_with_two_runs_is_all_that_is_known() -> None:
    found = moderated_variances(np.array([0.04, 0.0, 0.0]), np.array([2, 1, 1]), 4.0)
    # The mean of all systems is its own variance, and it has two runs.
    assert found.tolist() == pytest.approx([0.02, 0.0, 0.0])

"""Battles: a plain maximisation, a plain sandwich, what has no strength, rank sets, files, growth, and what is refused."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.optimize import minimize

import scorecube as sc
from scorecube.collection.battles import cube_of_battles, matches_of
from scorecube.errors import BadPlan, BadStudy
from scorecube.testing import simulate_cube
from tests.analyses.test_metamorphic import RELATIONS

if TYPE_CHECKING:
    from tests.conftest import Cli

DRAWN = ("systems", "strength")
LAWS = dict.fromkeys(RELATIONS, "battles are no scores; relations of theirs are in test_battles.py")
Battle = tuple[str, str, int, float]


def simulated(seed: int, n: int = 300, prompts: int = 40, systems: int = 5) -> list[Battle]:
    """Return battles (system, system, prompt, won): a third of ties, prompts that shift them."""
    chance = np.random.default_rng(seed)
    strength = np.linspace(-1, 1, systems)
    shift = chance.normal(0, 0.7, (prompts, systems))
    found = []
    for _ in range(n):
        a, b = chance.permutation(systems)[:2].tolist()
        g = int(chance.integers(prompts))
        ahead = strength[a] - strength[b] + shift[g, a] - shift[g, b]
        won = 0.5 if chance.random() < 0.3 else float(chance.random() < 1 / (1 + math.exp(-ahead)))
        found.append((f"s{a}", f"s{b}", g, won))
    return found


def cube_of(battles: list[Battle]) -> xr.Dataset:
    return cube_of_battles(*zip(*battles, strict=True))


def CUBE() -> xr.Dataset:  # noqa: N802 - see tests/methods/__init__.py
    return cube_of(simulated(3))


def result_of(battles: list[Battle], **options: Any) -> xr.Dataset:
    found: xr.Dataset = sc.analyse(cube_of(battles), sc.Battles(**options))
    return found.isel(metric=0, gain=0)


def plain_covariance(battles: list[Battle], theta: dict[str, float]) -> np.ndarray:
    """Return the sandwich over prompts by loops: differences from the mean of systems."""
    names = sorted(theta)
    n = len(names)
    information, sums = np.zeros((n, n)), dict[int, np.ndarray]()
    for a, b, prompt, won in battles:
        i, j = names.index(a), names.index(b)
        p = 1 / (1 + math.exp(theta[b] - theta[a]))
        apart = np.zeros(n)
        apart[i], apart[j] = 1, -1
        information += p * (1 - p) * np.outer(apart, apart)
        sums[prompt] = sums.get(prompt, np.zeros(n)) + (won - p) * apart
    middle = sum(np.outer(each, each) for each in sums.values()) * len(sums) / (len(sums) - 1)
    bread = np.linalg.pinv(information, rcond=1e-10)
    return np.asarray(bread @ middle @ bread)


@pytest.mark.parametrize(("seed", "systems"), [(1, 3), (2, 5), (5, 8)])
def test_results_are_those_of_a_plain_maximisation(seed: int, systems: int) -> None:
    battles = simulated(seed, systems=systems)
    found = result_of(battles)
    names = [str(name) for name in found["run"].values]

    def loss(theta: np.ndarray) -> float:
        of = dict(zip(names, theta, strict=True))
        each = [
            won * math.log1p(math.exp(of[b] - of[a]))
            + (1 - won) * math.log1p(math.exp(of[a] - of[b]))
            for a, b, _, won in battles
        ]
        return math.fsum(each) + 0.5 * float(theta.sum()) ** 2

    def slope(theta: np.ndarray) -> np.ndarray:
        of = dict(zip(names, theta, strict=True))
        total = np.full(len(names), theta.sum())
        for a, b, _, won in battles:
            rest = won - 1 / (1 + math.exp(of[b] - of[a]))
            total[names.index(a)] -= rest
            total[names.index(b)] += rest
        return total

    best = minimize(loss, np.zeros(len(names)), jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(found["strength"], best - best.mean(), atol=1e-8)
    theta = dict(zip(names, found["strength"].values.tolist(), strict=True))
    covariance = plain_covariance(battles, theta)
    t = stats.t.ppf(0.975, len({battle[2] for battle in battles}) - 1)
    error = (found["strength_high"] - found["strength"]).values / t
    np.testing.assert_allclose(error, np.sqrt(np.diag(covariance)), rtol=1e-8)
    sets = sc.rank_sets([theta[name] for name in names], covariance)
    assert found["rank_low"].values.tolist() == sets["rank_low"].values.tolist()
    assert found["rank_high"].values.tolist() == sets["rank_high"].values.tolist()
    first, second = names.index("s0"), names.index("s1")
    pair = found.isel(pair=0)
    ahead = theta["s0"] - theta["s1"]
    spread = math.sqrt(
        np.array([1, -1]) @ covariance[np.ix_([first, second], [first, second])] @ [1, -1]
    )
    assert pair["win_probability"].item() == pytest.approx(1 / (1 + math.exp(-ahead)))
    assert pair["p_value"].item() == pytest.approx(
        2 * stats.t.sf(abs(ahead / spread), t_free(battles))
    )


def t_free(battles: list[Battle]) -> int:
    return len({battle[2] for battle in battles}) - 1


def test_order_names_and_sides_change_nothing() -> None:
    battles = simulated(4)
    found = result_of(battles)
    turned = [(b, a, prompt, 1 - won) for a, b, prompt, won in reversed(battles)]
    again = result_of(turned)
    names = {f"s{k}": f"z{9 - k}" for k in range(5)}
    renamed = result_of([(names[a], names[b], prompt, won) for a, b, prompt, won in battles])
    for name in ("strength", "strength_low", "strength_high", "won", "rank_low", "rank_high"):
        np.testing.assert_allclose(again[name], found[name], rtol=1e-9, err_msg=name)
        if not name.startswith("rank_"):
            np.testing.assert_allclose(renamed[name][::-1], found[name], rtol=1e-9, err_msg=name)
    twice = result_of([*battles, *battles])  # on the same prompts: no more is known
    np.testing.assert_allclose(twice["strength"], found["strength"], atol=1e-9)
    np.testing.assert_allclose(twice["strength_low"], found["strength_low"], atol=1e-9)
    elo = result_of(battles, scale="elo")
    points = 1000 + 400 * found["strength"].values / math.log(10)
    np.testing.assert_allclose(elo["strength"], points)


def test_who_only_wins_or_only_loses_has_no_strength_and_any_rank(caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    battles = simulated(5)
    battles += [("king", f"s{k}", k, 1.0) for k in range(5)] + [("s0", "pawn", k, 1.0) for k in range(9)]  # fmt: skip
    found = result_of(battles)
    apart = found.sel(run=["king", "pawn"])
    assert apart["strength"].isnull().all()
    assert not apart["connected"].any()
    assert apart["rank_low"].values.tolist() == [1, 1]
    assert apart["rank_high"].values.tolist() == [7, 7]
    alone = result_of(simulated(5))
    inside = found.sel(run=alone["run"].values)
    np.testing.assert_allclose(inside["strength"], alone["strength"])
    assert (inside["rank_high"] == alone["rank_high"] + 2).all()
    assert "king, pawn" in " ".join(found.attrs["warnings"])
    only = result_of([("a", "b", k, 1.0) for k in range(20)])
    assert only["strength"].isnull().all()
    assert only["rank_high"].values.tolist() == [2, 2]


def test_few_prompts_have_no_limits() -> None:
    few = result_of(simulated(6, prompts=9))
    assert few["strength"].notnull().all()
    assert few["strength_low"].isnull().all()
    assert (few["rank_low"] == 1).all()
    assert (few["rank_high"] == 5).all()
    assert "9 prompts" in " ".join(few.attrs["warnings"])


def test_runs_are_chosen_with_their_battles() -> None:
    battles = simulated(7)
    kept = {"s0", "s2", "s4"}
    expected = result_of([battle for battle in battles if {*battle[:2]} <= kept])
    for cube in (cube_of(battles).isel(run=[0, 2, 4]), cube_of(battles).isel(run=[4, 2, 0])):
        found = sc.analyse(cube, sc.Battles()).isel(metric=0, gain=0)
        np.testing.assert_allclose(found["strength"], expected["strength"], atol=1e-12)
        assert found["n_battles"].values.tolist() == expected["n_battles"].values.tolist()


def test_scores_are_no_battles_and_battles_no_scores() -> None:
    with pytest.raises(BadPlan, match="battles of pairs"):
        sc.analyse(simulate_cube(n_runs=3), sc.Battles())
    with pytest.raises(BadPlan, match="scores"):
        sc.analyse(CUBE(), sc.Paired())
    with pytest.raises(BadPlan, match="there is none"):
        sc.analyse(CUBE().isel(run=[0]), sc.Battles())


def test_battles_of_files_are_stored_analysed_and_shown(scorecube: Cli, tmp_path: Path) -> None:
    battles = simulated(8)
    study, page = tmp_path / "study", tmp_path / "page.html"
    words = {1.0: "model_a", 0.0: "model_b", 0.5: "tie (bothbad)"}
    lines = [json.dumps({"question_id": g, "model_a": a, "model_b": b, "winner": words[w]}) for a, b, g, w in battles]  # fmt: skip
    (tmp_path / "arena.jsonl").write_text("\n".join(lines))
    frame = pd.DataFrame(battles, columns=["run_a", "run_b", "prompt", "won"])
    frame["winner"] = [{1.0: a, 0.0: b, 0.5: "Tie"}[w] for a, b, _, w in battles]
    frame.drop(columns="won").to_csv(tmp_path / "plain.csv", index=False)
    flags = pd.DataFrame(
        {"id": frame["prompt"], "model_a": frame["run_a"], "model_b": frame["run_b"]}
    )
    for name, won in (("winner_model_a", 1.0), ("winner_model_b", 0.0), ("winner_tie", 0.5)):
        flags[name] = (frame["won"] == won).astype(int)
    flags.to_csv(tmp_path / "kaggle.csv", index=False)
    for name in ("arena.jsonl", "plain.csv", "kaggle.csv"):
        cube = sc.import_scores(tmp_path / name)
        for one, other in zip(matches_of(cube), matches_of(cube_of(battles)), strict=True):
            np.testing.assert_array_equal(one, other)
    imported = scorecube("import", study, tmp_path / "arena.jsonl", "--name", "arena").succeeded()
    assert re.findall(r"(\d+) battles on (\d+)", imported.stderr) == [("300", "40")]
    shown = scorecube("battles", study, "--scale", "elo").succeeded().stdout
    assert "leads with" in shown
    scorecube("report", study, "--out", page).succeeded()
    assert "sandwich covariance" in page.read_text()
    assert "booktabs" in scorecube("show", study, "battles", "--format", "latex").succeeded().stdout
    again = scorecube("import", study, tmp_path / "arena.jsonl", "--name", "arena")
    assert again.succeeded()
    (tmp_path / "more.csv").write_text("run_a,run_b,winner\ns0,s1,s0\n")
    more = scorecube("import", study, tmp_path / "more.csv", "--name", "arena")
    assert more.status == 1
    assert "--replace" in more.stderr
    with pytest.raises(BadStudy, match="holds battles"):
        sc.open_study(study, mode="a").add("arena", cube=cube_of(simulated(9)))


def test_commands_over_all_collections_leave_the_other_kind_out(
    tmp_path: Path, scorecube: Cli
) -> None:
    """One line names what is left out; a collection that is named is refused as before."""
    study = sc.open_study(tmp_path / "study", mode="a")
    study.add(
        "arena",
        cube=cube_of_battles(["a", "b", "a"] * 20, ["b", "c", "c"] * 20, range(60), [1, 1, 0] * 20),
    )
    study.add("scores", cube=simulate_cube(n_runs=4, seed=1))
    pair = ("team01-run1", "team02-run1")
    for words, out in (("leaderboard --trials 20", "arena"), ("variances", "arena"), ("reliability", "arena"), ("design", "arena"), (f"compare {' '.join(pair)}", "arena"), ("battles", "scores")):  # fmt: skip
        name, *others = words.split()
        found = scorecube(name, tmp_path / "study", *others).succeeded()
        lines = [line for line in found.stderr.splitlines() if "left out" in line]
        assert len(lines) == 1
        assert f"{out}: left out" in lines[0]
    assert scorecube("reliability", tmp_path / "study", "--collection", "arena").status == 1


def test_the_table_has_the_columns_that_scripts_rely_on() -> None:
    rows = [
        ("a", "b", 1, 1),
        ("b", "a", 1, 1),
        ("a", "c", 2, 0),
        ("b", "c", 2, 1),
        ("c", "a", 2, 1),
        ("a", "b", 3, 0.5),
    ]
    result = sc.analyse(cube_of_battles(*zip(*rows, strict=True)), sc.Battles())
    table = sc.table(result)
    assert {"rank", "run", "strength", "strength_low", "strength_high", "win_rate", "rank_low", "rank_high", "n_battles", "n_prompts"} <= {*table.columns}  # fmt: skip
    prompts = {run: len({p for a, b, p, _ in rows if run in (a, b)}) for run in "abc"}
    assert dict(zip(table["run"], table["n_prompts"], strict=True)) == prompts

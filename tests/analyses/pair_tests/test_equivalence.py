"""Two one-sided tests: a plain oracle, statsmodels, and how often runs at the margin are called equivalent."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.pair_tests.equivalence import equivalence, moments_over_topics
from scorecube.errors import BadPlan
from scorecube.report.cautions import cautions_of
from scorecube.report.results import headline
from scorecube.statistics.bounded_means import SHARES
from scorecube.workflow.api import analyse, cube_from_scores
from tests.oracles.bounded_means import betting, money
from tests.oracles.t_tests import t_tail

ALPHAS = (0.05, 0.01)


def oracle(
    x: list[float], y: list[float], margin: float, alpha: float
) -> tuple[str, float, float, float]:
    """Return the verdict, its p-value, and the 1 - 2 alpha interval, as Schuirmann 1987 has them."""
    z = [a - b for a, b in zip(x, y, strict=True)]
    n, mean = len(z), math.fsum(z) / len(z)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in z) / (n - 1) / n)
    if max(z) - min(z) < 1e-12:
        p, unequal, critical = float(abs(mean) >= margin), float(abs(mean) < 1e-12), 0.0
    else:
        above = t_tail((mean + margin) / error, n - 1)  # H0: the difference is -margin or less
        below = t_tail((margin - mean) / error, n - 1)  # H0: it is margin or more
        p, unequal = max(above, below), 2 * t_tail(abs(mean) / error, n - 1)
        low, high = 0.0, 1e3
        while high - low > 1e-12 * high:
            critical = (low + high) / 2
            low, high = (critical, high) if t_tail(critical, n - 1) > alpha else (low, critical)
    verdict = "equivalent" if p < alpha else "different" if unequal < alpha else "inconclusive"
    return verdict, p, mean - critical * error, mean + critical * error


def scores_of_runs() -> np.ndarray[Any, Any]:
    """Runs that are close, apart, in between, equal, and shifted by a constant within and beyond the margin."""
    chance = np.random.default_rng(5)
    base = np.round(chance.beta(2, 3, 30), 2)
    near = [np.round(base + 0.02 * chance.standard_normal(30), 2) for _ in range(3)]
    far = [np.round(base + 0.1 + 0.1 * chance.standard_normal(30), 2), base.copy(), base + 0.02]
    return np.stack([base, *near, *far, base + 0.2, np.round(chance.beta(2, 3, 30), 2)])


def cube_of(scores: Any) -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k:02d}" for k in range(scores.shape[1])]
    return cube_from_scores({"AP": pd.DataFrame(scores, *labels)})


@pytest.mark.parametrize("baseline", [None, "r3"])
@pytest.mark.parametrize("alphas", [(0.05,), (0.01, 0.1)])
def test_verdicts_are_those_of_the_oracle(baseline: str | None, alphas: tuple[float, ...]) -> None:
    scores, margin = scores_of_runs(), 0.03
    result = analyse(cube_of(scores), sc.Paired(equivalence=margin, alphas=alphas, baseline=baseline, bounds=()))  # fmt: skip
    table, found = sc.table(result, "pairs"), set()
    for row in table.itertuples():
        x, y = (scores[int(str(run)[1:])].tolist() for run in (row.run_a, row.run_b))
        verdict, p, low, high = oracle(x, y, margin, max(alphas))
        assert row.verdict == verdict
        assert row.p_equivalence == pytest.approx(p, abs=1e-9)
        assert (row.difference_low, row.difference_high) == pytest.approx((low, high), abs=1e-9)
        # The interval within the margins and the p-value below alpha are one decision.
        assert (p < max(alphas)) == (-margin < low and high < margin)
        found.add(verdict)
    assert found == {"equivalent", "different", "inconclusive"}
    counts = sc.table(result, "equivalence")
    chosen = counts[(counts["adjustment"] == "none") & (counts["alpha"] == max(alphas))]
    counted = chosen.iloc[0].to_dict()
    for verdict in sorted(found):
        assert counted[verdict] == (table["verdict"] == verdict).sum()
    assert (
        sum(counted[verdict] for verdict in found) == len(table) == (36 if baseline is None else 8)
    )
    (line,) = [line for line in headline(result) if "margin" in line]
    assert f"{counted['equivalent']} of {len(table)}" in line
    assert line.endswith("each comparison by itself" if baseline else "each pair by itself")
    assert (baseline in line) if baseline else (f" of {len(table)} pairs" in line)


def test_without_spread_nothing_is_concluded_unless_bounds_allow_it() -> None:
    """Runs that are equal, or apart by a constant, on all topics: of scores without known bounds there is no verdict, of AP that of betting within 0 and 1."""
    base = np.linspace(0.2, 0.6, 30)
    scores = np.stack([base, base, base + 0.02, base + 0.3])
    unknown = analyse(
        cube_of(scores).assign_coords(metric=["my score"]), sc.Paired(equivalence=0.03)
    )
    assert set(sc.table(unknown, "pairs")["verdict"]) == {"inconclusive"}
    assert (unknown["equivalence_p_value"] == 1).all()
    assert (unknown["difference_p_value"] == 1).all()
    assert np.isnan(unknown["difference_low"].values).all()
    known = analyse(cube_of(scores), sc.Paired(equivalence=0.03))
    verdicts = dict(
        zip(known["run_b"].values[:3], sc.table(known, "pairs")["verdict"], strict=False)
    )
    assert verdicts == {"r1": "inconclusive", "r2": "inconclusive", "r3": "different"}
    x = (scores[0] - scores[3] + 1) / 2
    assert float(known["difference_p_value"][0, 0, 2]) == pytest.approx(
        2 / money((1 - x).tolist(), 0.5, SHARES.tolist())
    )
    assert (known["difference_low"] > -1).all()
    assert known.attrs["analysis"] == "paired"


def test_p_values_and_limits_are_those_of_statsmodels() -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    chance = np.random.default_rng(3)
    scores = chance.beta(2, 3, (6, 40)) * 0.2 + chance.random(40)
    result = analyse(cube_of(scores), sc.Paired(tests=("t",), equivalence=0.04, alphas=ALPHAS))
    table = sc.table(result, "pairs")
    assert len(table) == 15
    for k, row in enumerate(table.itertuples()):
        x, y = (scores[int(str(run)[1:])] for run in (row.run_a, row.run_b))
        p, _, _ = weightstats.ttost_paired(x, y, -0.04, 0.04)
        assert row.p_equivalence == pytest.approx(p, rel=1e-9)
        for level, alpha in enumerate(ALPHAS):
            limits = weightstats.DescrStatsW(x - y).tconfint_mean(2 * alpha)
            found = [float(result[f"difference_{end}"][0, 0, level, k]) for end in ("low", "high")]
            assert found == pytest.approx(limits, rel=1e-9)
        assert float(result["difference_p_value"][0, 0, k]) == pytest.approx(row.p_t, rel=1e-9)


def test_adjusted_verdicts_are_fewer() -> None:
    chance = np.random.default_rng(1)
    scores = chance.random(40) + 0.03 * chance.standard_normal((14, 40))
    table = sc.table(analyse(cube_of(scores), sc.Paired(tests=("t",), equivalence=0.02)), "equivalence")  # fmt: skip
    at = table[table["alpha"] == 0.05].set_index("adjustment")["equivalent"]
    assert 0 < at["holm"] < at["bh"] <= at["none"]


@pytest.mark.parametrize("margin", [0.0, -0.1, math.inf, math.nan])
def test_a_margin_must_be_a_positive_number(margin: float) -> None:
    with pytest.raises(sc.ScorecubeError, match="equivalence"):
        sc.Paired(equivalence=margin)


def test_levels_of_one_half_have_no_interval() -> None:
    with pytest.raises(sc.ScorecubeError, match=r"below 0\.5, found 0\.6: .* 1 - 2 alpha"):
        analyse(cube_of(scores_of_runs()), sc.Paired(equivalence=0.1, alphas=(0.05, 0.6)))


def test_cautions_state_the_margin() -> None:
    scores = scores_of_runs()
    result = analyse(cube_of(scores), sc.Paired(equivalence=0.3)).assign_attrs(collection="c")
    texts = [each.text for each in cautions_of("paired", result, {})]
    assert any("chosen before the scores are seen" in text for text in texts)
    plain = analyse(cube_of(scores), sc.Paired()).assign_attrs(collection="c")
    assert cautions_of("paired", plain, {}) == []
    assert sc.table(plain, "equivalence").empty


def test_blocks_serve_every_margin() -> None:
    from scorecube.analyses.plan import make_plan

    cube = cube_of(scores_of_runs())
    plans = [make_plan(cube, sc.Paired(equivalence=m), trials=1, seed=0).plan for m in (None, 0.01, 0.02)]  # fmt: skip
    assert len({plan.work_digest for plan in plans}) == 1
    assert len({plan.digest for plan in plans}) == 3


def rate(differences: Any, margin: float, alpha: float = 0.05) -> float:
    """Return the share of rows of differences (experiment, topic) that are called equivalent."""
    scores = np.concatenate([differences, np.zeros((1, differences.shape[1]))])[np.newaxis]
    pairs = np.arange(len(differences), dtype=np.int32), np.full(len(differences), len(differences), np.int32)  # fmt: skip
    found = equivalence(moments_over_topics(scores, pairs), margin, (alpha,), certain=False)
    return float((found["equivalence_p_value"] < alpha).mean())


@pytest.mark.parametrize("n", [25, 50])
@pytest.mark.parametrize("sign", [1, -1])
def test_error_rate_at_the_margin_of_normal_differences_is_alpha(n: int, sign: int) -> None:
    chance = np.random.default_rng((n, sign + 1))
    found = rate(sign * 0.1 + 0.1 * chance.standard_normal((20_000, n)), 0.1)
    assert found == pytest.approx(0.05, abs=0.005)  # 3 standard errors of 20,000 are .0046


@pytest.mark.data
@pytest.mark.parametrize(
    ("collection", "limit"), [("adhoc8/ap.csv", 0.075), ("web2013/ap.csv", 0.075), ("web2013/rr.csv", 0.06)]
)  # fmt: skip
def test_error_rate_at_the_margin_of_real_differences(
    data: Path, collection: str, limit: float
) -> None:
    """The topics of a real collection, with each pair's mean difference moved to the margin, are the population; n is its size.

    Skewed differences of few topics: the rates of single pairs scatter about their mean, which is asserted.
    """
    scores = pd.read_csv(data / collection).to_numpy(float).T
    chance, n, rates = np.random.default_rng(4), scores.shape[1], []
    for _ in range(60):
        a, b = chance.choice(len(scores), 2, replace=False)
        z = scores[a] - scores[b]
        margin = 3.0 * z.std() / math.sqrt(n)
        if margin > 0:
            drawn = (z - z.mean() + margin)[chance.integers(0, n, (2000, n))]
            rates.append((rate(drawn, margin), rate(-drawn, margin)))
    mean = float(np.mean(rates))
    print(f"{collection}: mean {mean:.4f}, single pairs {np.min(rates):.3f} to {np.max(rates):.3f}")
    assert 0.03 < mean < limit


def test_equal_scores_are_no_proof_of_equivalence_where_bounds_are_known() -> None:
    """Two perfect runs on 25 topics may be .01 apart; p and limits are those of plain bets. A pair that varies keeps its t test."""
    chance = np.random.default_rng(4)
    scores = np.stack([np.ones(25), np.ones(25), np.full(25, 0.5), chance.random(25)])
    cube = cube_from_scores({"RR": pd.DataFrame(scores, list("abcd"), [f"t{k:02d}" for k in range(25)])})  # fmt: skip
    plain, found = (
        analyse(cube, sc.Paired(tests=("t",), alphas=(0.05,), equivalence=0.01, bounds=bounds)).isel(metric=0, gain=0, alpha=0)
        for bounds in ((), (0.0, 1.0))
    )  # fmt: skip
    # Pairs ab, ac, ad, bc, bd, cd: differences as scores in 0 .. 1.
    assert plain["equivalence_p_value"][0] == 0.0
    shares = SHARES.tolist()
    same, half = [0.5] * 25, [0.75] * 25
    assert float(found["equivalence_p_value"][0]) == pytest.approx(1 / money(same, 0.495, shares))
    assert float(found["difference_p_value"][1]) == pytest.approx(2 / money(half, 0.5, shares))
    limits = [2 * limit - 1 for limit in betting(half, shares, 0.05)]
    ends = [float(found[f"difference_{end}"][1]) for end in ("low", "high")]
    assert ends == pytest.approx(limits, abs=1e-8)
    assert found["difference_p_value"][0] == 1.0
    for name in ("equivalence_p_value", "difference_p_value", "difference_low"):
        np.testing.assert_array_equal(found[name][2], plain[name][2])


def test_bounds_without_a_use_are_refused() -> None:
    frame = pd.DataFrame(np.eye(3), list("abc"), list("xyz"))
    with pytest.raises(BadPlan, match="needs equivalence"):
        analyse(cube_from_scores({"RR": frame}), sc.Paired(bounds=(0.0, 1.0)))

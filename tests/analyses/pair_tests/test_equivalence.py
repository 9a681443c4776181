"""Two one-sided tests: a plain oracle, statsmodels, and how often runs at the margin are called equivalent."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.workflow.api import analyse, cube_from_scores
from tests.oracles.t_tests import critical_t, t_tail

ALPHAS = (0.05, 0.01)


def oracle(
    x: list[float], y: list[float], margin: float, alpha: float, width: float | None
) -> tuple[str, float, float, float]:
    """Return the verdict, its p-value, and the 95 % interval (Schuirmann 1987), with two more differences at the ends where few differ."""
    z = [round(a - b, 12) for a, b in zip(x, y, strict=True)]
    n, mean_of_z = len(z), math.fsum(z) / len(z)
    few = n - max(Counter(z).values()) < 8
    padded = [*z, -width, width] if width is not None and few else z
    m, mean = len(padded), math.fsum(padded) / len(padded)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in padded) / (m - 1) / m)
    own = math.sqrt(math.fsum((value - mean_of_z) ** 2 for value in z) / (n - 1) / n)
    if error == 0:
        p = float(abs(mean) >= margin)
    else:
        above = t_tail((mean + margin) / error, n - 1)  # H0: the difference is -margin or less
        below = t_tail((margin - mean) / error, n - 1)  # H0: it is margin or more
        p = max(above, below)
    unequal = 2 * t_tail(abs(mean_of_z) / own, n - 1) if own else float(mean_of_z == 0)
    verdict = "equivalent" if p < alpha else "different" if unequal < alpha else "inconclusive"
    low, high = (mean + sign * critical_t(0.025, n - 1) * error for sign in (-1, 1))
    if error == mean == 0:
        low = high = math.nan
    return verdict, p, max(low, -(width or math.inf)), min(high, width or math.inf)


def scores_of_runs() -> np.ndarray[Any, Any]:
    """Runs that are close, apart, in between, equal, and shifted by a constant within and beyond the margin."""
    chance = np.random.default_rng(5)
    base = np.round(chance.beta(2, 3, 30) * 0.7, 2)
    near = [np.round(base + 0.02 * chance.standard_normal(30), 2).clip(0) for _ in range(3)]
    far = [
        np.round(base + 0.1 + 0.1 * chance.standard_normal(30), 2).clip(0),
        base.copy(),
        base + 0.02,
    ]
    return np.stack([base, *near, *far, base + 0.2, np.round(chance.beta(2, 3, 30), 2)])


def cube_of(scores: Any, metric: str = "AP") -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k:02d}" for k in range(scores.shape[1])]
    return cube_from_scores({metric: pd.DataFrame(scores, *labels)})


@pytest.mark.parametrize("baseline", [None, "r3"])
@pytest.mark.parametrize("alphas", [(0.05,), (0.01, 0.1)])
@pytest.mark.parametrize(("metric", "width"), [("AP", 1.0), ("my score", None)])
def test_verdicts_are_those_of_the_oracle(
    baseline: str | None, alphas: tuple[float, ...], metric: str, width: float | None
) -> None:
    scores, margin = scores_of_runs(), 0.03
    analysis = sc.Paired(margin=margin, alphas=alphas, baseline=baseline)
    result = analyse(cube_of(scores, metric), analysis)
    table, found = sc.table(result, "pairs"), set()
    for row in table.itertuples():
        x, y = (scores[int(str(run)[1:])].tolist() for run in (row.run_a, row.run_b))
        verdict, p, low, high = oracle(x, y, margin, max(alphas), width)
        assert row.verdict == verdict
        assert row.p_equivalence == pytest.approx(p, abs=1e-9)
        assert (row.difference_low, row.difference_high) == pytest.approx(
            (low, high), abs=1e-9, nan_ok=True
        )
        found.add(verdict)
    assert found >= {"equivalent", "different"}
    assert (baseline is not None) or "inconclusive" in found
    counts = sc.table(result, "equivalence")
    chosen = counts[(counts["adjustment"] == "none") & (counts["alpha"] == max(alphas))]
    counted = chosen.iloc[0].to_dict()
    for verdict in sorted(found):
        assert counted[verdict] == (table["verdict"] == verdict).sum()
    n_pairs = 36 if baseline is None else 8
    assert sum(counted[verdict] for verdict in found) == len(table) == n_pairs


def test_p_values_and_limits_are_those_of_statsmodels() -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    chance = np.random.default_rng(3)
    scores = chance.beta(2, 3, (6, 40)) * 0.2 + 0.7 * chance.random(40)
    result = analyse(cube_of(scores), sc.Paired(margin=0.04, alphas=ALPHAS))
    table = sc.table(result, "pairs")
    assert len(table) == 15
    for k, row in enumerate(table.itertuples()):
        x, y = (scores[int(str(run)[1:])] for run in (row.run_a, row.run_b))
        p, _, _ = weightstats.ttost_paired(x, y, -0.04, 0.04)
        assert row.p_equivalence == pytest.approx(p, rel=1e-6)
        limits = weightstats.DescrStatsW(x - y).tconfint_mean(0.05)
        assert (row.difference_low, row.difference_high) == pytest.approx(limits, rel=1e-6)
        assert float(result["difference_p_value"][0, 0, k]) == pytest.approx(row.p_value, rel=1e-6)


def test_levels_of_one_half_have_no_interval() -> None:
    with pytest.raises(sc.ScorecubeError, match=r"below 0\.5"):
        analyse(cube_of(scores_of_runs()), sc.Paired(margin=0.1, alphas=(0.05, 0.6)))


def test_blocks_serve_every_margin() -> None:
    from scorecube.analyses.plan import make_plan

    cube = cube_of(scores_of_runs())
    plans = [make_plan(cube, sc.Paired(margin=m), trials=1, seed=0).plan for m in (None, 0.01, 0.02)]  # fmt: skip
    assert len({plan.work_digest for plan in plans}) == 1
    assert len({plan.digest for plan in plans}) == 3


def test_equal_scores_are_no_proof_of_equivalence() -> None:
    """Two perfect runs on 25 topics may be .01 apart."""
    scores = np.stack([np.ones(25), np.ones(25)])
    result = analyse(cube_of(scores, "RR"), sc.Paired(margin=0.01))
    assert sc.table(result, "pairs")["verdict"].tolist() == ["inconclusive"]

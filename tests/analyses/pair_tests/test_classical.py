"""Classical tests of pairs of runs are SciPy's, called pair by pair; two one-sided tests are those of a plain oracle."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import binomtest, ttest_ind, ttest_rel, wilcoxon

import scorecube as sc
from scorecube.statistics.paired_tests import signed_rank_p_values
from tests.oracles.paired_tests import critical_t, t_tail

Matrix = np.ndarray[Any, Any]
ALL: Any = ("t", "wilcoxon", "sign")


def expected(scores: Matrix) -> Matrix:
    """Return p-values (test, pair) of whole-number scores (run, topic), one call a pair."""
    rows = []
    for i, j in combinations(range(len(scores)), 2):
        x, y = scores[i], scores[j]
        if (x == y).all():
            rows.append([1.0, 1.0, 1.0])
            continue
        ahead, apart = int((x > y).sum()), int((x != y).sum())
        t = 0.0 if np.ptp(x - y) == 0 else ttest_rel(x, y).pvalue
        rows.append([t, wilcoxon(x, y).pvalue, binomtest(ahead, apart).pvalue])
    return np.transpose(rows)


def cube_of(scores: Any, metric: str = "AP", ends: tuple[float, ...] = (-1.0, 2.0)) -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k:03d}" for k in range(scores.shape[1])]
    cube = sc.cube_from_scores({metric: pd.DataFrame(scores, *labels)})
    if not ends:
        return cube
    return cube.assign_coords(score_low=("metric", [ends[0]]), score_high=("metric", [ends[1]]))


@pytest.mark.parametrize("n_topics", [2, 3, 7, 14, 30, 50, 51])
@pytest.mark.parametrize("levels", [2, 4, 10**4])
def test_random_scores_with_ties_and_zero_differences(n_topics: int, levels: int) -> None:
    whole = np.random.default_rng(n_topics).integers(0, levels + 1, (9, n_topics))
    whole[3] = whole[2]
    result = sc.analyse(cube_of(whole / levels), sc.Paired(tests=ALL), workers=1)
    assert result["test"].values.tolist() == list(ALL)
    found = result["p_value"].values[0, 0]
    np.testing.assert_allclose(found, expected(whole.astype(float)), rtol=1e-6, atol=1e-8)


def test_ties_are_ties_whatever_a_third_run_has() -> None:
    """SciPy issues 17667 and 26082: rounding breaks ties of |d|, and a run of long decimals must not, either."""
    chance = np.random.default_rng(2)
    tenths = chance.integers(0, 11, (2, 15)) / 10
    three = np.vstack([tenths, chance.random(15)])
    alone, together = (sc.analyse(cube_of(x), sc.Paired(tests=("wilcoxon",))) for x in (tenths, three))  # fmt: skip
    whole = np.rint(10 * (tenths[0] - tenths[1]))
    p = wilcoxon(whole, method="asymptotic").pvalue
    assert alone["p_value"].item() == pytest.approx(p, rel=1e-12)
    assert together["p_value"].values.ravel()[0] == alone["p_value"].item()


@pytest.mark.parametrize("n_topics", [6, 20, 60])
def test_a_p_value_does_not_depend_on_the_company(n_topics: int) -> None:
    chance = np.random.default_rng(1)
    smooth, tied = chance.normal(size=(3, n_topics)), chance.integers(-2, 3, (3, n_topics)) * 1.0
    tied[:, 0] = 1.0
    rows = np.vstack([smooth, tied])
    alone = [signed_rank_p_values(row[np.newaxis])[0] for row in rows]
    np.testing.assert_array_equal(signed_rank_p_values(rows), alone)


def test_unpaired_tests_are_welchs() -> None:
    scores = np.random.default_rng(1).beta(1, 2, (3, 20))
    p = sc.analyse(cube_of(scores), sc.Paired(tests=("unpaired",)))["p_value"].values.ravel()
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        assert p[k] == ttest_ind(scores[i], scores[j], equal_var=False).pvalue


def test_a_constant_difference_is_certain_and_equal_runs_are_alike() -> None:
    row = np.array([0.1, 0.2, 0.7, 0.4, 0.3, 0.6])
    cube = cube_of(np.stack([row, row + 0.1, row]))
    result = sc.analyse(cube, sc.Paired(tests=("t", "sign")), workers=1)
    p = result["p_value"].values[0, 0]
    np.testing.assert_allclose(p, [[0.0, 1.0, 0.0], [2 / 64, 1.0, 2 / 64]])
    assert result["significant"].values[0, 0].tolist() == [[2, 2], [2, 0]]


# Equivalence


def oracle(x: list[float], y: list[float], margin: float, alpha: float, width: float) -> Any:
    """Return the verdict, its p-value, and the 95 % interval (Schuirmann 1987), with two more differences at the ends where few differ."""
    z = [round(a - b, 12) for a, b in zip(x, y, strict=True)]
    n, mean_of_z = len(z), math.fsum(z) / len(z)
    few = n - max(Counter(z).values()) < 8
    padded = [*z, -width, width] if width < math.inf and few else z
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
    return verdict, p, max(low, -width), min(high, width)


def scores_of_runs() -> Matrix:
    """Runs that are close, apart, in between, equal, and shifted by a constant within and beyond the margin."""
    chance = np.random.default_rng(5)
    base = np.round(chance.beta(2, 3, 30) * 0.7, 2)
    near = [np.round(base + 0.02 * chance.standard_normal(30), 2).clip(0) for _ in range(3)]
    apart = np.round(base + 0.1 + 0.1 * chance.standard_normal(30), 2).clip(0)
    others = [apart, base.copy(), base + 0.02, base + 0.2, np.round(chance.beta(2, 3, 30), 2)]
    return np.stack([base, *near, *others])


@pytest.mark.parametrize("baseline", [None, "r3"])
@pytest.mark.parametrize(("metric", "width"), [("AP", 1.0), ("my score", math.inf)])
def test_verdicts_are_those_of_the_oracle(baseline: str | None, metric: str, width: float) -> None:
    scores, margin = scores_of_runs(), 0.03
    analysis = sc.Paired(margin=margin, alphas=(0.01, 0.1), baseline=baseline)
    table = sc.table(sc.analyse(cube_of(scores, metric, ()), analysis), "pairs")
    for row in table.itertuples():
        x, y = (scores[int(str(run)[1:])].tolist() for run in (row.run_a, row.run_b))
        verdict, p, low, high = oracle(x, y, margin, 0.1, width)
        assert row.verdict == verdict
        assert row.p_equivalence == pytest.approx(p, abs=1e-9)
        limits = row.difference_low, row.difference_high
        assert limits == pytest.approx((low, high), abs=1e-9, nan_ok=True)
    found = set(table["verdict"])
    assert found >= {"equivalent", "different"}
    assert (baseline is not None) or "inconclusive" in found
    assert len(table) == (36 if baseline is None else 8)


def test_equal_scores_are_no_proof_of_equivalence() -> None:
    """Two perfect runs on 25 topics may be .01 apart."""
    result = sc.analyse(cube_of(np.ones((2, 25)), "RR", ()), sc.Paired(margin=0.01))
    assert sc.table(result, "pairs")["verdict"].tolist() == ["inconclusive"]

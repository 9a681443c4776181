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
from scipy.stats import binomtest, ttest_ind, wilcoxon

import scorecube as sc
from scorecube.statistics.paired_tests import signed_rank_p_values
from tests.oracles.paired_tests import critical_t, t_tail

Matrix = np.ndarray[Any, Any]
ALL: Any = ("t", "wilcoxon", "sign")
WIDE = 3.0
"""Width of the range of `cube_of`."""


def of_t(z: Any, width: float, binary: bool = False) -> tuple[float, float, float]:
    """Return p and 95 % limits of Student's t, with two more differences at the ends where few differ, or of 0 and 1."""
    z = [round(value, 12) for value in z]
    n = len(z)
    few = n - max(sum(a <= b <= a + 0.001 * width for b in z) for a in z) < 8
    if width == math.inf:
        few = n - max(Counter(z).values()) < 8
        if few:
            return math.nan, math.nan, math.nan
    padded = [*z, -width, width] if few or binary else z
    m, mean = len(padded), math.fsum(padded) / len(padded)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in padded) / (m - 1) / m)
    half = critical_t(0.025, n - 1) * error
    p = 2 * t_tail(abs(mean) / error, n - 1)
    return p, max(mean - half, -width), min(mean + half, width)


def expected(scores: Matrix, levels: int) -> Matrix:
    """Return p-values (test, pair) of whole-number scores (run, topic), one call a pair."""
    rows = []
    for i, j in combinations(range(len(scores)), 2):
        x, y = scores[i], scores[j]
        if (x == y).all():
            rows.append([1.0, 1.0, 1.0])
            continue
        ahead, apart = int((x > y).sum()), int((x != y).sum())
        t, *_ = of_t(((x - y) / levels).tolist(), WIDE)
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
    whole = np.random.default_rng(n_topics).integers(0, levels + 1, (6, n_topics))
    whole[3] = whole[2]
    result = sc.analyse(cube_of(whole / levels), sc.Paired(tests=ALL), workers=1)
    assert result["test"].values.tolist() == list(ALL)
    found = result["p_value"].values[0, 0]
    np.testing.assert_allclose(found, expected(whole.astype(float), levels), rtol=1e-6, atol=1e-8)


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


def test_a_constant_difference_is_never_certain() -> None:
    row = np.array([0.1, 0.2, 0.7, 0.4, 0.3, 0.6])
    scores = np.stack([row, row + 0.1, row])
    result = sc.analyse(cube_of(scores), sc.Paired(tests=("t", "sign")), workers=1)
    apart, *_ = of_t([0.1] * 6, WIDE)
    p = result["p_value"].values[0, 0]
    np.testing.assert_allclose(p, [[apart, 1.0, apart], [2 / 64, 1.0, 2 / 64]])
    for name in ("t", "d_z"):  # without a spread
        assert result[name].isnull().all()
    # A thousand items: t is 10,000, and its p-value smaller than any number.
    many = np.random.default_rng(1).normal(0.3, 0.01, (2, 2000)) + np.array([[0.0], [0.5]])
    assert 0 < sc.analyse(cube_of(many), sc.Paired())["p_value"].item() < 1e-300


def test_effect_sizes_without_residual_variance_are_missing() -> None:
    row = np.random.default_rng(1).random(20)
    result = sc.analyse(cube_of(np.stack([row, row + 0.1]), "my score", (0.0, 2.0)), sc.Paired())
    frame = sc.table(result, "pairs").iloc[0]
    assert np.isnan([frame["effect_size"], frame["d_z"], frame["t"]]).all()
    assert frame["difference_low"] < 0 < frame["difference_high"]
    assert 0.05 < frame["p_value"] < 1


def test_without_a_range_few_differing_topics_have_neither_p_nor_limits() -> None:
    """Also equal scores; other pairs are as without them, and are adjusted for the number of all."""
    chance = np.random.default_rng(1)
    base = chance.normal(size=30)
    few = base + 0.3 * (np.arange(30) < 7)
    many = base + chance.normal(0.8, 1, 30)
    cube = cube_of(np.stack([base, base.copy(), few, many]), "my score", ())
    result = sc.analyse(cube, sc.Paired(tests=("t", "sign")))
    frame = sc.table(result, "pairs").query("test == 't'")
    missing = [True, True, False, True, False, False]
    for name in ("p_value", "p_value_holm", "difference_low", "difference_high"):
        assert frame[name].isnull().tolist() == missing
    assert frame["limits_reason"].tolist() == ["too few topics differ" if of else "" for of in missing]  # fmt: skip
    p = np.sort(frame["p_value"].dropna())
    assert np.sort(frame["p_value_holm"].dropna())[0] == pytest.approx(6 * p[0])
    assert sc.table(result, "pairs").query("test == 'sign'")["p_value"].notna().all()


def pairs_of_scores(kind: str, n: int) -> Matrix:
    """Return 40 pairs of runs, (run, topic): 0/1 near the ceiling, or P@10."""
    chance = np.random.default_rng((n, kind == "0/1"))
    share = chance.choice([0.5, 0.8, 0.9, 0.97, 0.99], (20, 1))
    gain = chance.choice([-0.2, -0.05, 0.0, 0.05], (20, 1))
    ability = np.concatenate([share, np.clip(share + gain, 0, 1)])
    if kind == "0/1":
        return (chance.random((40, n)) < ability).astype(float)
    return chance.binomial(10, ability, (40, n)) / 10


@pytest.mark.parametrize("n_topics", [10, 25, 50, 200])
@pytest.mark.parametrize("kind", ["0/1", "P@10"])
def test_p_and_limits_never_contradict(kind: str, n_topics: int) -> None:
    scores = pairs_of_scores(kind, n_topics)
    result = sc.analyse(cube_of(scores, ends=(0.0, 1.0)), sc.Paired()).isel(metric=0, gain=0)
    p = result["p_value"].values[0]
    outside = (result["difference_low"] > 0) | (result["difference_high"] < 0)
    assert (outside.values == (p < 0.05)).all()
    assert 0 < p.min() < 0.05 < p.max() <= 1
    assert (result["difference_high"] - result["difference_low"]).values.min() > 0
    for k in range(0, len(p), 41):
        first, second = (int(str(result[name].values[k])[1:]) for name in ("run_a", "run_b"))
        z = scores[first] - scores[second]
        expected_p, low, high = of_t(z.tolist(), 1.0, kind == "0/1")
        assert p[k] == pytest.approx(expected_p, abs=1e-9)
        limits = result["difference_low"].values[k], result["difference_high"].values[k]
        assert limits == pytest.approx((low, high), abs=1e-9)


# Equivalence


def oracle(x: list[float], y: list[float], margin: float, alpha: float, width: float) -> Any:
    """Return the verdict, its p-value, and the 95 % interval (Schuirmann 1987), with two more differences at the ends where few differ."""
    z = [round(a - b, 12) for a, b in zip(x, y, strict=True)]
    unequal, low, high = of_t(z, width)
    if math.isnan(unequal):
        return "inconclusive", math.nan, math.nan, math.nan
    n = len(z)
    few = n - max(Counter(z).values()) < 8
    padded = [*z, -width, width] if width < math.inf and few else z
    m, mean = len(padded), math.fsum(padded) / len(padded)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in padded) / (m - 1) / m)
    above = t_tail((mean + margin) / error, n - 1)  # H0: the difference is -margin or less
    below = t_tail((margin - mean) / error, n - 1)  # H0: it is margin or more
    p = max(above, below)
    verdict = "equivalent" if p < alpha else "different" if unequal < alpha else "inconclusive"
    return verdict, p, low, high


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
        assert row.p_equivalence == pytest.approx(p, abs=1e-9, nan_ok=True)
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

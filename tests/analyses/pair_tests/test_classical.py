"""Classical tests of pairs of runs are SciPy's, called pair by pair."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import binomtest, ttest_rel, wilcoxon

from scorecube.analyses.paired import Paired
from scorecube.errors import BadPlan
from scorecube.statistics.paired_tests import signed_rank_p_values
from scorecube.workflow.api import analyse, cube_from_scores, import_scores, open_study

if TYPE_CHECKING:
    from tests.conftest import Cli

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


def cube_of(scores: Matrix) -> xr.Dataset:
    labels = (
        [f"r{k:03d}" for k in range(len(scores))],
        [f"t{k:03d}" for k in range(scores.shape[1])],
    )
    cube = cube_from_scores({"AP": pd.DataFrame(scores, *labels)})
    return cube.assign_coords(score_low=("metric", [-1.0]), score_high=("metric", [2.0]))


@pytest.mark.parametrize("n_topics", [2, 3, 7, 14, 30, 50, 51])
@pytest.mark.parametrize("levels", [2, 4, 10**4])
def test_random_scores_with_ties_and_zero_differences(n_topics: int, levels: int) -> None:
    whole = np.random.default_rng(n_topics).integers(0, levels + 1, (9, n_topics))
    whole[3] = whole[2]
    result = analyse(cube_of(whole / levels), Paired(tests=ALL), workers=1)
    assert result["test"].values.tolist() == list(ALL)
    np.testing.assert_allclose(
        result["p_value"].values[0, 0], expected(whole.astype(float)), rtol=1e-6, atol=1e-8
    )


def test_ties_are_ties_whatever_a_third_run_has() -> None:
    """SciPy issues 17667 and 26082: rounding breaks ties of |d|, and a run of long decimals must not, either."""
    chance = np.random.default_rng(2)
    tenths = chance.integers(0, 11, (2, 15)) / 10
    three = np.vstack([tenths, chance.random(15)])
    alone, together = (analyse(cube_of(x), Paired(tests=("wilcoxon",))) for x in (tenths, three))
    whole = np.rint(10 * (tenths[0] - tenths[1]))
    expected = wilcoxon(whole, method="asymptotic").pvalue
    assert alone["p_value"].item() == pytest.approx(expected, rel=1e-12)
    assert together["p_value"].values.ravel()[0] == alone["p_value"].item()


def test_the_case_of_a_public_report(scorecube: Cli, tmp_path: Path) -> None:
    case = Path(__file__).parents[4] / "shared" / "cases" / "wilcoxon-ties"
    if not case.exists():
        pytest.skip("the cases of public reports are not beside the repository")
    for name in ("two", "three"):
        scorecube("import", tmp_path / "s", str(case / f"{name}.csv"), "--name", name, "--metric", "my_score").succeeded()  # fmt: skip
    study = open_study(tmp_path / "s")
    p = [
        float(analyse(study[name].cube, Paired(tests=("wilcoxon",)))["p_value"].values.ravel()[0])
        for name in ("two", "three")
    ]
    assert p[0] == p[1] == pytest.approx(0.2218, abs=5e-5)


@pytest.mark.data
def test_real_runs(data: Path) -> None:
    cube = import_scores([data / "adhoc5" / name for name in ("ap.csv", "p10.csv")]).isel(
        run=slice(0, 61, 3)
    )
    result = analyse(cube, Paired(tests=ALL), block_units=17)
    for k in range(2):
        whole = np.rint(cube["score"].values[k, 0] * 10_000)
        np.testing.assert_array_equal(whole / 10_000, cube["score"].values[k, 0])
        np.testing.assert_allclose(
            result["p_value"].values[k, 0], expected(whole), rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("n_topics", [6, 20, 60])
def test_a_p_value_does_not_depend_on_the_company(n_topics: int) -> None:
    chance = np.random.default_rng(1)
    smooth, tied = (
        chance.normal(size=(3, n_topics)),
        chance.integers(-2, 3, (3, n_topics)).astype(float),
    )
    tied[:, 0] = 1.0
    together = signed_rank_p_values(np.vstack([smooth, tied]))
    np.testing.assert_array_equal(
        together, [signed_rank_p_values(row[np.newaxis])[0] for row in [*smooth, *tied]]
    )


@pytest.mark.parametrize(("n_topics", "method"), [(13, "exact"), (14, "asymptotic"), (50, "asymptotic")])  # fmt: skip
def test_one_zero_difference_is_handled_as_a_tie(n_topics: int, method: str) -> None:
    differences = np.arange(n_topics) * np.where(np.arange(n_topics) % 3, 1, -1)
    result = analyse(
        cube_of(np.stack([differences, 0 * differences]) / 100), Paired(tests=ALL), workers=1
    )
    nonzero = differences[1:]
    p = wilcoxon(nonzero, method=method).pvalue
    if method == "exact":
        sums = np.array([0])
        for rank in range(1, n_topics):
            sums = np.concatenate([sums, sums + rank])
        found = int(nonzero[nonzero > 0].sum())
        p = min(1.0, 2 * min((sums >= found).mean(), (sums <= found).mean()))
    assert result["p_value"].sel(test="wilcoxon").item() == pytest.approx(p, rel=1e-12)


def test_a_constant_difference_is_certain_and_equal_runs_are_alike() -> None:
    row = np.array([0.1, 0.2, 0.7, 0.4, 0.3, 0.6])
    result = analyse(
        cube_of(np.stack([row, row + 0.1, row])), Paired(tests=("t", "sign")), workers=1
    )
    assert result["p_value"].sel(test="t").values.ravel().tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_allclose(
        result["p_value"].sel(test="sign").values.ravel(), [2 / 64, 1.0, 2 / 64]
    )
    assert result["significant"].values[0, 0].tolist() == [[2, 2], [2, 0]]


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ((), "tests: expected a list that is not empty"),
        (("t", "t"), "name each test once"),
        (("t", "anova"), "tests: expected a list, each one of t, wilcoxon, sign"),
    ],
)
def test_unknown_tests_are_refused(tests: tuple[str, ...], message: str) -> None:
    cube = cube_of(np.random.default_rng(5).uniform(size=(4, 9)))
    with pytest.raises(BadPlan, match=message):
        analyse(cube, Paired(tests=tests))  # type: ignore[arg-type]

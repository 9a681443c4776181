"""Rank correlation against exact arithmetic, the papers' numbers, and SciPy on public collections."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import kendalltau, spearmanr

from scorecube import Correlation
from scorecube.analyses.preparation import make_table
from scorecube.report.result_parts import table
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores, import_scores
from tests.oracles import correlation as oracle

Scores = list[list[Fraction]]
FUNCTIONS = {
    "tau": oracle.tau_a, "tau_b": oracle.tau_b, "tau_ap": oracle.ap_accuracy, "spearman": oracle.spearman,
}  # fmt: skip


def frame(values: Any) -> pd.DataFrame:
    """Scores (run, topic) with labels."""
    n_runs, n_topics = np.shape(values)
    return pd.DataFrame(
        values, [f"r{k:02d}" for k in range(n_runs)], [f"{k:03d}" for k in range(n_topics)]
    )


@pytest.fixture(scope="module")
def tenths() -> dict[str, Scores]:
    """Scores in tenths, so that means tie often: 6 runs, 7 topics, three metrics."""
    random = np.random.default_rng(6)
    quality = np.linspace(3, 5, 6)[:, np.newaxis]
    found = {name: np.clip(np.rint(quality + random.normal(0, 1, (6, 7))), 0, 10).astype(int) for name in ("AP", "RR", "P@10")}  # fmt: skip
    return {
        name: [[Fraction(int(x), 10) for x in row] for row in rows] for name, rows in found.items()
    }


@pytest.fixture(scope="module")
def cube(tenths: dict[str, Scores]) -> xr.Dataset:
    return cube_from_scores(
        {name: frame([[float(x) for x in row] for row in rows]) for name, rows in tenths.items()}
    )


def test_observed_values_are_exact(cube: xr.Dataset, tenths: dict[str, Scores]) -> None:
    result = analyse(cube, Correlation())
    sums = {metric: [sum(row) for row in rows] for metric, rows in tenths.items()}
    assert result.sizes["comparison"] == 3
    for k in range(3):
        at = result.isel(comparison=k)
        a, b = sums[at["metric_a"].item()], sums[at["metric_b"].item()]
        for statistic, function in FUNCTIONS.items():
            expected = function(a, b)
            assert at[statistic].item() == pytest.approx(expected, abs=1e-12), statistic
        counts = oracle.count(a, b)
        assert at["tied_pairs"].item() == counts.tied_a + counts.tied_b - counts.tied_both
        assert math.isnan(at["p_exact"].item()) == (at["tied_pairs"].item() > 0)
    assert result["tied_pairs"].max() > 0, "the example should have ties"


S3_TABLE_2 = {
    ".854": True, ".848": True, ".926": True, ".782": False, ".784": False,
    ".841": True, ".757": False, ".751": False, ".803": True, ".945": True,
}  # fmt: skip
"""Printed tau, and whether it is in bold: its upper limit exceeds 1."""


def ranked_apart(n_runs: int, discordant: int) -> xr.Dataset:
    """Two metrics without ties that order so many pairs differently."""
    left, order = discordant, list(range(n_runs))
    for k in range(n_runs):
        # A run that is moved up by s places passes s others.
        step = min(left, n_runs - 1 - k)
        order.insert(k, order.pop(k + step))
        left -= step
    other = np.argsort(order)
    return cube_from_scores({
        name: frame(np.tile(np.array(values, float)[:, np.newaxis] / n_runs, (1, 2))) for name, values in (("AP", range(n_runs)), ("RR", other))
    })  # fmt: skip


@pytest.mark.parametrize("printed", S3_TABLE_2)
def test_flags_of_s3_table_2(printed: str) -> None:
    result = analyse(ranked_apart(44, round(946 * (1 - float(printed)) / 2)), Correlation())
    (row,) = table(result, "metrics").to_dict("records")
    assert f"{row['tau']:.3f}".lstrip("0") == printed
    assert row["exceeds_one"] == S3_TABLE_2[printed]


def test_limits_are_those_of_ten_groups_of_topics() -> None:
    """By hand: tau without each tenth of the topics, on the scale of atanh, with t of 9 degrees of freedom."""
    scores = simulate_cube(metrics=("AP", "P@10"), n_runs=30, seed=4)
    result = analyse(scores, Correlation()).isel(comparison=0)
    table_ = make_table(scores)
    taus = [oracle.tau_a(*part.units.sum(axis=-1).tolist()) for part in table_.tables_left_out]
    z = np.arctanh(taus)
    half = 2.262157 * math.sqrt(0.9 * ((z - z.mean()) ** 2).sum())
    middle = math.atanh(float(result["tau"]))
    assert len(taus) == 10
    assert float(result["topics_low"]) == pytest.approx(math.tanh(middle - half), abs=1e-6)
    assert float(result["topics_high"]) == pytest.approx(math.tanh(middle + half), abs=1e-6)


def test_a_metric_of_which_less_is_better_is_turned() -> None:
    scores = simulate_cube(metrics=("AP", "P@10"), n_runs=12, seed=4)
    turned = scores.assign_coords(higher_is_better=("metric", [True, False]))
    one, other = analyse(scores, Correlation()), analyse(turned, Correlation())
    np.testing.assert_array_equal(other["tau"].values, -one["tau"].values)


WEB = ("web2010", "web2011", "web2014")


@pytest.fixture(scope="module")
def web(data: Path) -> dict[str, xr.Dataset]:
    return {name: import_scores(sorted((data / name).glob("*.csv"))) for name in WEB}


def exact_means(cube: xr.Dataset, metric: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Means without the rounding of sums: ties of these files' decimals stay ties."""
    scores = cube["score"].sel(metric=metric).isel(gain=0).values
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = np.round(scores.mean(axis=1), 12)
    return means


@pytest.mark.data
@pytest.mark.parametrize("name", WEB)
def test_metric_tables_equal_scipy(web: dict[str, xr.Dataset], name: str) -> None:
    cube = web[name]
    frame = table(analyse(cube, Correlation()), "metrics")
    assert len(frame) == 15
    for row in frame.itertuples():
        a, b = exact_means(cube, str(row.metric_a)), exact_means(cube, str(row.metric_b))
        assert row.tau_b == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
        assert row.spearman == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)
    # Some runs are equal on every topic (README of the data): they must tie.
    twins = sum(
        bool((cube["score"].values[..., i, :] == cube["score"].values[..., j, :]).all())
        for i in range(cube.sizes["run"])
        for j in range(i)
    )
    assert (frame["tied_pairs"] >= twins).all()

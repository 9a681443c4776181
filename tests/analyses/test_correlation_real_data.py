"""Rank correlation on the public collections: web tracks by metric, TREC-COVID and eHealth by gain setting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.stats import kendalltau, spearmanr

import scorecube as sc
from scorecube import Correlation
from scorecube.report.results import table
from scorecube.workflow.api import analyse, import_scores

pytestmark = pytest.mark.data
WEB = ("web2010", "web2011", "web2014")
GAINS = ["2:1", "20:10", "0.2:0.1", "1:1", "10:1"]
RUN_COLLECTIONS = {"trec-covid-r5": {"order": "score"}, "clef-ehealth-2015": {"run_name": "file"}}


@pytest.fixture(scope="module")
def web(data: Path) -> dict[str, xr.Dataset]:
    return {name: import_scores(sorted((data / name).glob("*.csv"))) for name in WEB}


def exact_means(cube: xr.Dataset, metric: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Means without the rounding of sums: ties of these files' decimals stay ties."""
    scores = cube["score"].sel(metric=metric).isel(gain=0).values
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = np.round(scores.mean(axis=1), 12)
    return means


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


@pytest.fixture(scope="module")
def by_gain(data: Path) -> Callable[[str], xr.Dataset]:
    def evaluated(name: str) -> xr.Dataset:
        how: dict[str, Any] = RUN_COLLECTIONS[name]
        rankings = sc.read_rankings(
            data / name / "runs", data / name / "qrels.txt", data / name / "teams.csv", **how
        )
        return sc.evaluate(
            rankings, metrics=["AP", "Q", "nDCG@10", "P+", "O", "Rmeasure"], gains=GAINS
        )

    return evaluated


@pytest.mark.parametrize("name", RUN_COLLECTIONS)
def test_gain_tables(by_gain: Callable[[str], xr.Dataset], name: str) -> None:
    cube = by_gain(name)
    result = analyse(cube, Correlation())
    taus = table(result, "gains").set_index(["metric", "gain"])["tau"].unstack()[GAINS[1:]]
    assert sorted(taus.index) == ["O", "P+", "Q", "Rmeasure", "nDCG@10"]
    # nDCG is the same whatever all gains are multiplied by; equal means stay equal in spite of rounded gains.
    low = table(result, "gains").set_index(["metric", "gain"])
    tied = low["tied_pairs"].loc["nDCG@10"]
    n_pairs = cube.sizes["run"] * (cube.sizes["run"] - 1) // 2
    for scaled in ("20:10", "0.2:0.1"):
        assert taus.loc["nDCG@10", scaled] == pytest.approx(1 - tied[scaled] / n_pairs)
        assert low["discordant"].loc["nDCG@10", scaled] == 0
    # The blended metrics change, a little: S4 section 4, S1 Table 5.
    blended = taus.drop("nDCG@10")
    assert (blended[["20:10", "0.2:0.1"]] > 0.8).all(axis=None)
    assert (taus <= 1).all(axis=None)
    # Small gains bring Q nearer to AP, large ones further away (S4: "smaller gain values means more resemblance").
    metrics = table(result, "metrics").set_index(["metric_a", "metric_b", "gain"])["tau"]
    assert metrics["AP", "Q", "0.2:0.1"] >= metrics["AP", "Q", "2:1"] >= metrics["AP", "Q", "20:10"]

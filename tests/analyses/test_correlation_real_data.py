"""Rank correlation on the public collections: web tracks by metric, TREC-COVID and eHealth by gain setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.stats import kendalltau, spearmanr

from scorecube import Correlation
from scorecube.report.results import table
from scorecube.workflow.api import analyse, import_scores

pytestmark = pytest.mark.data
WEB = ("web2010", "web2011", "web2014")


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

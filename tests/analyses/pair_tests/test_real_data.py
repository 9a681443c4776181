"""Replayed real runs against exact arithmetic: every pair of runs, no rounding anywhere in the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from scorecube import Bootstrap, Randomisation, Tukey
from scorecube.workflow.api import analyse, cube_from_scores, import_scores
from tests.ingest.reading import read_matrix
from tests.oracles.agreement import (
    Table,
    assert_pairs_agree,
    assert_tukey_agrees,
    labels,
    read_exactly,
)

pytestmark = pytest.mark.data
SEED = 5


@dataclass(frozen=True)
class Source:
    """Score matrices of a collection, its number of runs (without gaps) and topics."""

    folder: str
    files: tuple[str, ...]
    sizes: tuple[int, int]
    trials: int = 100


SOURCES = [
    Source("adhoc5", ("ap.csv", "p10.csv", "rr.csv"), (61, 50), 200),
    Source("web2011", ("ap.csv", "err20.csv", "p10.csv", "rr.csv"), (62, 50)),
    Source("robust2004", ("ap_249topics.csv", "p10_249topics.csv"), (110, 249), 40),
    Source("robust2004", ("ndcg_99topics.csv",), (110, 99), 40),
    # Ranks, numbers of documents, and scores below zero.
    Source("clef-tar-2017", ("ap.csv", "wss_95.csv", "last_rel.csv", "num_shown.csv"), (48, 30)),
]


@pytest.fixture(
    scope="module", params=SOURCES, ids=lambda source: f"{source.folder}-{source.sizes[1]}"
)
def source(request: pytest.FixtureRequest, data: Path) -> Source:
    chosen: Source = request.param
    if not (data / chosen.folder).is_dir():
        pytest.skip(f"{chosen.folder} is not among the third-party collections")
    return chosen


@pytest.fixture(scope="module")
def cube(source: Source, data: Path) -> xr.Dataset:
    every = import_scores([data / source.folder / name for name in source.files])
    gaps = every["score"].isnull().any(("metric", "gain", "topic"))
    complete = every.isel(run=~gaps.values)
    assert (complete.sizes["run"], complete.sizes["topic"]) == source.sizes
    return complete


@pytest.fixture(scope="module")
def tables(source: Source, data: Path, cube: xr.Dataset) -> dict[str, Table]:
    paths = [data / source.folder / name for name in source.files]
    return {
        metric: read_exactly(path, cube)
        for metric, path in zip(labels(cube, "metric"), paths, strict=True)
    }


@pytest.mark.slow
def test_bootstrap_of_every_pair_is_exact(
    source: Source, cube: xr.Dataset, tables: dict[str, Table]
) -> None:
    test = Bootstrap(alphas=(0.05, 0.01))
    samples = test.samples(cube, SEED, source.trials)
    drawn = samples["topic_sample"].values.tolist()
    result = analyse(cube, test, trials=source.trials, seed=SEED, workers=1)
    for metric, table in tables.items():
        # Printed scores lie on the grid, those of six digits and more within 2e-7 of it.
        found = result.sel(metric=metric).isel(gain=0)
        assert_pairs_agree(found, table, test, drawn, slack=1e-6)


@pytest.mark.slow
def test_signs_of_every_pair_are_exact(cube: xr.Dataset, tables: dict[str, Table]) -> None:
    signs = Randomisation()
    flips = signs.samples(cube, SEED, 25)
    flipped = analyse(cube, signs, trials=25, seed=SEED, workers=1)
    for metric, table in list(tables.items())[-1:]:
        found = flipped.sel(metric=metric).isel(gain=0)
        assert_pairs_agree(found, table, signs, flips["topic_sign"].values.tolist())


def test_tukey_of_every_pair_is_exact(
    source: Source, cube: xr.Dataset, tables: dict[str, Table]
) -> None:
    assert_tukey_agrees(cube, tables, Tukey().samples(cube, SEED, 40))


def test_the_estimated_difference_exceeds_the_largest_standard_error_of_a_pair(data: Path) -> None:
    frame = read_matrix(data / "adhoc6" / "ap.csv")
    cube = cube_from_scores({"AP": frame})
    result = analyse(cube, Bootstrap(alphas=(0.05,)), trials=2000, seed=1)
    covariances = np.cov(frame.to_numpy())
    variances = np.diagonal(covariances)
    deviation = np.sqrt((variances + variances[:, np.newaxis] - 2 * covariances).max())
    ratio = result["estimated_difference"].item() * np.sqrt(frame.shape[1]) / (1.96 * deviation)
    assert 1.1 < ratio < 1.4, "the page says a quarter"

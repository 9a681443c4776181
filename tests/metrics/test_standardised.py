"""What is made of scores: condensed lists, standardised scores."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube.collection.evaluation import evaluate
from scorecube.collection.selection import standardise
from scorecube.errors import BadInput, BadName
from scorecube.ingest.objects import cube_from_scores
from scorecube.testing import simulate_rankings


@pytest.fixture(scope="module")
def rankings() -> xr.Dataset:
    return simulate_rankings(n_runs=5, depth=100, seed=4)


SCORES = pd.DataFrame(
    [[0.1, 0.5, 0.2], [0.3, 0.5, 0.9], [0.8, 0.5, 0.1]], index=list("abc"), columns=["1", "2", "3"]
)
"""Of two reference runs, c has z = 4.2 on the first topic: std-AB is cut at 1, not z at 3."""


@pytest.mark.parametrize("reference", [None, ["a", "b"]])
@pytest.mark.parametrize("method", ["z", "std-AB", "std-CDF"])
def test_standardised_scores(method: str, reference: list[str] | None) -> None:
    found = standardise(cube_from_scores({"AP": SCORES}), method, reference_runs=reference)  # type: ignore[arg-type]
    known = SCORES.loc[reference or list("abc")]
    z = (
        ((SCORES - known.mean()) / known.std(ddof=1)).fillna(0.0).to_numpy()
    )  # 0 / 0 where all are equal
    expected = {
        "z": z,
        "std-AB": np.clip(0.15 * z + 0.5, 0, 1),
        "std-CDF": np.vectorize(NormalDist().cdf)(z),
    }[method]
    np.testing.assert_allclose(found["score"].values[0, 0], expected, rtol=1e-12)
    assert found["metric"].values.tolist() == [f"{method}:AP"]
    assert found.attrs["reference_runs"] == (reference or list("abc"))


def test_standardisation_that_cannot_be_done(rankings: xr.Dataset) -> None:
    cube = evaluate(rankings, ["AP"], ["auto"])
    with pytest.raises(BadInput, match="2 reference runs"):
        standardise(cube, reference_runs=cube["run"].values[:1].tolist())
    with pytest.raises(BadName, match=r"'AB'.*std-AB, std-CDF, z"):
        standardise(cube, "AB")  # type: ignore[arg-type]
    with pytest.raises(BadName, match="no run 'nobody'"):
        standardise(cube, reference_runs=["nobody", "else"])

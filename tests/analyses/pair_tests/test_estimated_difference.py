"""What Sakai's estimated difference estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from tests.ingest.reading import read_matrix

pytestmark = pytest.mark.data
ALPHA, NORMAL = 0.05, 1.96


def test_it_exceeds_the_largest_standard_error_of_a_pair(data: Path) -> None:
    frame = read_matrix(data / "adhoc6" / "ap.csv")
    cube = sc.cube_from_scores({"AP": frame})
    result = sc.analyse(cube, sc.Bootstrap(alphas=(ALPHA,)), trials=2000, seed=1)
    covariances = np.cov(frame.to_numpy())
    variances = np.diagonal(covariances)
    deviation = np.sqrt((variances + variances[:, np.newaxis] - 2 * covariances).max())
    ratio = result["estimated_difference"].item() * np.sqrt(frame.shape[1]) / (NORMAL * deviation)
    assert 1.1 < ratio < 1.4, "the page says a quarter"

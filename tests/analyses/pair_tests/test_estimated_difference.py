"""What Sakai's estimated difference estimates, and a few samples of the table that shows how badly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.ingest.matrix import read_matrix
from tests.simulations import estimated_difference

pytestmark = pytest.mark.data
ALPHA, NORMAL = 0.05, 1.96
SAMPLES = 40


def test_it_exceeds_the_largest_standard_error_of_a_pair(data: Path) -> None:
    frame = read_matrix(data / "adhoc6" / "ap.csv")
    cube = sc.cube_from_scores({"AP": frame})
    result = sc.analyse(cube, sc.Bootstrap(alphas=(ALPHA,)), trials=2000, seed=1)
    deviation = estimated_difference.largest_deviation(np.cov(frame.to_numpy()))
    ratio = result["estimated_difference"].item() * np.sqrt(frame.shape[1]) / (NORMAL * deviation)
    assert 1.1 < ratio < 1.4, "the page says a quarter"


def test_jackknife_intervals_do_not_hold(data: Path) -> None:
    scores = read_matrix(data / "adhoc6" / "rr.csv").to_numpy()
    bias, coverage = estimated_difference.row(scores, SAMPLES)
    assert 0.05 < bias < 0.15
    assert coverage < 0.85

"""Without any true difference the second sample is a coin: half of the comparisons are swaps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import scorecube as sc
from scorecube.collection.evaluation import cube_dataset
from tests.analyses.topic_samples.papers import paper_swap

ALPHA = 0.001
"""Of the binomial test; the seeds are fixed."""
EXPERIMENTS, TOPICS = 4000, 20


def swaps_of(shift: float, seed: int) -> int:
    """Compare two runs once on disjoint halves of the topics, in many independent experiments (a metric each)."""
    scores = np.random.default_rng(seed).random((EXPERIMENTS, 1, 2, TOPICS)) * 0.5
    scores[:, :, 0] += shift
    names = [f"m{k:04d}" for k in range(EXPERIMENTS)]
    cube = cube_dataset(scores, names, ["auto"], ["a", "b"], [f"{k:02d}" for k in range(TOPICS)])
    result = sc.analyse(cube, paper_swap(size=TOPICS // 2), trials=1, seed=seed, workers=1)
    assert int(result["count"].sum()) == EXPERIMENTS
    return int(result["swaps"].sum())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_half_of_the_comparisons_of_exchangeable_runs_are_swaps(seed: int) -> None:
    assert binomtest(swaps_of(0.0, seed), EXPERIMENTS, 0.5).pvalue > ALPHA


def test_a_true_difference_is_noticed() -> None:
    assert binomtest(swaps_of(0.02, 1), EXPERIMENTS, 0.5, alternative="less").pvalue < ALPHA

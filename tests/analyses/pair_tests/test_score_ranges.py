"""The range of topics and scores in which tests of pairs see what is there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube import Paired, Randomisation
from scorecube.collection.schema import LARGEST_SCORE
from scorecube.errors import BadInput
from scorecube.workflow.api import analyse, cube_from_scores

Floats = np.ndarray[Any, np.dtype[np.float64]]


def two_runs(n: int, scale: float, spread: float, share: float, t: float, seed: int) -> Floats:
    """Return the scores of two runs whose difference has about this t.

    Topics are `scale` times 10 to the power of up to `spread`; differences are about a `share` of the scale.
    """
    random = np.random.default_rng(seed)
    topics = scale * random.random(n) * 10.0 ** random.uniform(0.0, spread, n)
    noise = random.normal(0.0, share * scale, n)
    noise += t * noise.std(ddof=1) / math.sqrt(n) - noise.mean()
    scores = np.stack([topics, topics + noise])
    # Less than the largest score, which rounding could exceed.
    return np.asarray(scores * min(1.0, 0.999 * LARGEST_SCORE / np.abs(scores).max()))


@settings(max_examples=60, deadline=None)
@given(
    scores=st.builds(
        two_runs,
        n=st.sampled_from([10, 50, 300, 3_000, 30_000]),
        scale=st.integers(-11, 11).map(lambda power: 10.0**power),
        spread=st.sampled_from([0.0, 3.0, 6.0]),
        share=st.sampled_from([0.001, 0.01, 0.1, 1.0]),
        t=st.sampled_from([0.3, 3.0, 15.0]),
        seed=st.integers(0, 2**32),
    )
)
def test_tests_of_pairs_see_differences_of_any_size(scores: Floats) -> None:
    """Compare the numbers that all tests use with SciPy; a difference of two numbers is rounded once."""
    differences = scores[1] - scores[0]
    n = len(differences)
    t = scipy.stats.ttest_1samp(differences, 0.0)
    cube = cube_from_scores({"M": pd.DataFrame(scores, index=["a", "b"])})
    try:
        result = analyse(cube, Paired(tests=("t", "wilcoxon", "sign")))
    except BadInput:
        assert np.ptp(scores, axis=0).max() < 1e-4 * np.ptp(scores)
        return
    assert -result["t"].item() == pytest.approx(t.statistic, rel=0.01, abs=0.01)
    p = result["p_value"].squeeze().to_series()
    assert p["t"] == pytest.approx(t.pvalue, rel=0.05, abs=1e-300)
    # Without a range, differences of 1e-12 of the scores' size are ties.
    apart = np.rint(differences / (1e-12 * np.abs(scores).max()))
    sign = scipy.stats.binomtest(int((apart > 0).sum()), int((apart != 0).sum()))
    assert p["sign"] == pytest.approx(sign.pvalue, rel=1e-3, abs=1e-300)
    if n > 50:
        wilcoxon = scipy.stats.wilcoxon(differences, method="asymptotic").pvalue
        assert p["wilcoxon"] == pytest.approx(wilcoxon, rel=0.05, abs=1e-300)


def test_runs_that_differ_by_rounding_alone_are_equal() -> None:
    """Also where units are finer: the same system, computed twice."""
    for n in (50, 30_000):
        first = np.random.default_rng(1).random(n)
        scores = np.stack([first, first * (1.0 + 1e-16 * np.arange(n) % 3e-16)])
        scores[1, ::2] = np.nextafter(scores[0, ::2], 1.0)
        cube = cube_from_scores({"M": pd.DataFrame(scores, index=["a", "b"])})
        # Without a range, no topic that differs says nothing of rare ones.
        assert analyse(cube, Paired(tests=("t",)))["p_value"].isnull().all()
        assert (analyse(cube, Paired(tests=("wilcoxon", "sign")))["p_value"] == 1.0).all()
        result = analyse(cube, Randomisation(), trials=20, seed=1, workers=1)
        assert int(result["reached"].squeeze()) == 20

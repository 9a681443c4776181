"""Every number of the unpaired test beside exact arithmetic, over scores with ties, constants and equal runs.

What may differ is stated: statistics that are closer than `CLOSE` tie, and geometric means are those of logarithms on the grid.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import event, given, settings
from hypothesis import strategies as st

from scorecube.analyses.single_tests import replicate_rank
from scorecube.analyses.unpaired import Unpaired
from scorecube.workflow.api import analyse, cube_from_scores
from tests.oracles.unpaired import Outcome, outcome, summary

TRIALS, LEVELS = 30, (0.05, 0.3)
CLOSE = {"mean": 1e-9, "geo": 1e-5, "area": 1e-9}
"""Error of differences and standard errors."""


@st.composite
def tables(draw: Any) -> np.ndarray:
    """Draw scores (run, topic) on the grid: few values or many, perhaps constant runs and copies."""
    n_runs, n_topics = draw(st.integers(2, 4)), draw(st.integers(2, 9))
    values = draw(st.sampled_from([(0, 1), (0, 1, 2, 5), tuple(range(100))]))
    row = st.lists(st.sampled_from(values), min_size=n_topics, max_size=n_topics)
    rows = [draw(row) for _ in range(n_runs)]
    if draw(st.booleans()):
        rows[0] = [rows[0][0]] * n_topics
    if draw(st.booleans()):
        rows[1] = rows[0][::-1]
    return np.array(rows) / 100


def bounds(trial: tuple[Fraction, Fraction], error: float) -> tuple[float, float]:
    """Return the least and the largest |t| of a difference and a standard error that are off by up to this error."""
    difference, spread = abs(float(trial[0])), math.sqrt(trial[1])
    least, most = max(difference - error, 0.0), difference + error
    low, high = (  # without a standard error t is infinite, or is none
        size / by if by > 0.0 else math.inf * size if size else 0.0
        for size, by in ((least, spread + error), (most, spread - error))
    )
    return low, high


def check_pair(found: xr.Dataset, pair: Outcome, kind: str) -> list[tuple[float, float]]:
    """Check count and t of one pair; return the least and the largest difference that may be needed at each level."""
    error = CLOSE[kind]
    least, most = bounds(pair.observed, error)
    ranges = [bounds(trial, error) for trial in pair.trials]
    same = [trial == pair.observed or (-trial[0], trial[1]) == pair.observed for trial in pair.trials]  # fmt: skip
    sure = sum(equal or low >= most for equal, (low, _) in zip(same, ranges, strict=True))
    perhaps = sum(high >= least for _, high in ranges)
    event(f"{kind}: {'one count' if sure == perhaps else 'several counts'}")
    assert sure <= int(found["reached"]) <= perhaps
    difference, spread = pair.observed
    assert float(found["mean_difference"]) == pytest.approx(float(difference), abs=1e-12)
    if kind != "mean":
        assert math.isnan(float(found["t"]))
    elif difference or spread:
        assert least <= abs(float(found["t"])) <= most
    needed = []
    for level in LEVELS:
        low, high = sorted(ranges, key=lambda each: each[0], reverse=True)[replicate_rank(level, TRIALS) - 1]  # fmt: skip
        tied = [abs(float(trial[0])) for trial, (a, b) in zip(pair.trials, ranges, strict=True) if b >= low and a <= high]  # fmt: skip
        needed.append((min(tied) - error, max(tied) + error))
    return needed


@settings(deadline=None)
@given(table=tables(), seed=st.integers(0, 2**32), plus_one=st.booleans(), kind=st.sampled_from(sorted(CLOSE)))  # fmt: skip
def test_numbers_are_those_of_exact_arithmetic(
    table: np.ndarray, seed: int, plus_one: bool, kind: Any
) -> None:
    runs, topics = [f"r{k}" for k in range(len(table))], [f"t{k}" for k in range(table.shape[1])]
    cube = cube_from_scores({"AP": pd.DataFrame(table, runs, topics)})
    test = Unpaired(alphas=LEVELS, plus_one=plus_one, summary=kind)
    drawn = test.samples(cube, seed, TRIALS)["topic_sample"].values
    found = analyse(cube, test, trials=TRIALS, seed=seed, workers=1).isel(metric=0, gain=0)
    exact = [[Fraction(repr(score)) for score in row] for row in table.tolist()]
    for run, row in enumerate(exact):
        assert found["mean"].values[run] == pytest.approx(summary(kind, row), rel=1e-12)
    pairs = [outcome(kind, exact[i], exact[j], drawn) for i, j in combinations(range(len(exact)), 2)]  # fmt: skip
    needed = [check_pair(found.isel(pair=k), pair, kind) for k, pair in enumerate(pairs)]
    for level in range(len(LEVELS)):
        low, high = (max(each[level][end] for each in needed) for end in (0, 1))
        assert low <= float(found["estimated_difference"][level]) <= high
    p_values = (found["reached"].values + plus_one) / (TRIALS + plus_one)
    np.testing.assert_array_equal(found["p_value"].values, p_values)
    counts = [(p_values < level).sum() for level in LEVELS]
    assert found["significant"].values.tolist() == counts

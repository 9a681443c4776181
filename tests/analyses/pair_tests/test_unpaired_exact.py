"""Every number of the unpaired test beside exact arithmetic, over scores with ties, constants, tiny spreads and large offsets.

What may differ is stated: sums of scores that are no integers in any unit are rounded to 2^-40 of a usual score (`DIGITS`), statistics
that are closer than `EQUAL` tie, and geometric means and areas have the digits of float64, relative to the size of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from scorecube.analyses.pair_tests.base import replicate_rank
from scorecube.analyses.pair_tests.unpaired import Unpaired
from scorecube.kernels.pairs.tail_counts import EQUAL
from scorecube.statistics.integer_scores import DIGITS
from scorecube.workflow.api import analyse
from tests.analyses.pair_tests.test_unpaired import METRICS, alike
from tests.oracles.unpaired import Outcome, mean, outcome, summary

TRIALS, LEVELS = 30, (0.05, 0.3)
CLOSE, FLOAT = 1e-11, 1e-14
"""Relative error of t and of differences of exact sums; and of geometric means and areas, relative to the scores."""


@st.composite
def tables(draw: Any) -> np.ndarray:
    """Draw scores (run, topic): few values or many, perhaps constant runs and copies, a step and an offset."""
    n_runs, n_topics = draw(st.integers(2, 4)), draw(st.integers(2, 9))
    values = draw(st.sampled_from([(0, 1), (0, 1, 2, 5), tuple(range(100))]))
    rows = [draw(st.lists(st.sampled_from(values), min_size=n_topics, max_size=n_topics)) for _ in range(n_runs)]  # fmt: skip
    if draw(st.booleans()):
        rows[0] = [rows[0][0]] * n_topics
    if draw(st.booleans()):
        rows[1] = rows[0][::-1]
    step = draw(st.sampled_from([1.0, 0.1, 0.01, 1 / 3, 1 / 7, 2.0**-20, 1e-7, 1e-9, 1e-12]))
    offset = draw(st.sampled_from([0.0, 0.0, 1.0, 1 / 3, 1e3, 1e6]))
    return np.asarray(offset + np.array(rows) * step)


def bounds(trial: tuple[Fraction, Fraction], error: float) -> tuple[float, float]:
    """Return the least and the largest |t| of a difference and a standard error that are off by up to this error."""
    difference, spread = abs(float(trial[0])), math.sqrt(trial[1])
    least, most = max(difference - error, 0.0) * (1 - CLOSE), (difference + error) * (1 + CLOSE)
    low, high = (  # without a standard error t is infinite, or is none
        size / by if by > 0.0 else math.inf * size if size else 0.0
        for size, by in ((least, spread + error), (most, spread - error))
    )
    return low, high


def check_pair(found: xr.Dataset, pair: Outcome, kind: str, error: float) -> None:
    """Check count, t and differences of one pair; error: largest one of a difference and of a standard error."""
    least, most = bounds(pair.observed, error)
    if kind != "mean":
        least -= 2 * EQUAL * float(pair.size)
    ranges = [bounds(trial, error) for trial in pair.trials]
    same = [trial == pair.observed or (-trial[0], trial[1]) == pair.observed for trial in pair.trials]  # fmt: skip
    sure = sum(equal or low >= most for equal, (low, _) in zip(same, ranges, strict=True))
    perhaps = sum(high >= least for _, high in ranges)
    event(f"{kind}: {'one count' if sure == perhaps else 'several counts'}")
    assert sure <= int(found["reached"]) <= perhaps
    difference, spread = pair.observed
    t = float(found["t"])
    if kind != "mean":
        assert math.isnan(t)
    elif not difference and not spread:
        assert not t or math.isnan(t)
    elif max(abs(float(difference)), math.sqrt(spread)) > error:
        assert least <= abs(t) <= most
        assert least == 0.0 or (t > 0) == (difference > 0)
        assert bool(spread) or math.isinf(t)
    for level, value in zip(LEVELS, found["kth_difference"].values.tolist(), strict=True):
        # Trials without t come last, and have no difference.
        order = sorted(ranges, key=lambda each: each[0], reverse=True)
        low, high = order[replicate_rank(level, TRIALS) - 1]
        alike_ = [abs(float(trial[0])) for trial, (a, b) in zip(pair.trials, ranges, strict=True) if b >= low and a <= high]  # fmt: skip
        assert min(abs(value - each) - CLOSE * each for each in alike_) <= error


def check_cell(
    found: xr.Dataset, pairs: Sequence[Outcome], table: Sequence[Sequence[Fraction]], error: float
) -> None:
    """Check the counts of special pairs and replicates of means, and the residual variance; error: as of `check_pair`."""

    def special(pieces: Sequence[tuple[Fraction, Fraction]], *, equal: bool) -> tuple[int, int]:
        """Return the least and the largest number without spread, and without difference or with one."""
        still = [float(difference) for difference, spread in pieces if not spread]
        most = sum(math.sqrt(spread) <= error for _, spread in pieces)
        sure = sum(not each if equal else abs(each) > error for each in still)
        return sure, most - sum(abs(each) > error if equal else not each for each in still)

    trials = [trial for pair in pairs for trial in pair.trials]
    for name, pieces, equal in (
        ("undefined_replicates", trials, True),
        ("infinite_replicates", trials, False),
        ("constant_pairs", [pair.observed for pair in pairs], False),
    ):
        least, most = special(pieces, equal=equal)
        assert least <= int(found[name]) <= most, name
    apart = [max(abs(a - b) for a, b in zip(x, y, strict=True)) for x, y in combinations(table, 2)]
    assert sum(not each for each in apart) <= found["degenerate_pairs"]
    assert found["degenerate_pairs"] <= sum(each <= error for each in apart)
    columns = list(zip(*table, strict=True))
    whole = mean([score for row in table for score in row])
    left = [
        score - mean(row) - mean(column) + whole
        for row in table
        for score, column in zip(row, columns, strict=True)
    ]
    freedom = (len(table) - 1) * (len(columns) - 1)
    size = max(abs(float(score)) for row in table for score in row)
    assert math.sqrt(found["residual_variance"]) == pytest.approx(
        math.sqrt(sum(each**2 for each in left) / freedom), rel=CLOSE, abs=FLOAT * size
    )


SHIFTED = 1 / 3 + np.array([[0, 2, 0], [0, 5, 5], [5, 1, 2], [2, 0, 0]]) / 10
"""Samples of one topic have no spread, and some have no difference but for rounding."""


@settings(deadline=None)
@given(table=tables(), seed=st.integers(0, 2**32), plus_one=st.booleans())
@example(table=SHIFTED, seed=4, plus_one=True)
@example(table=SHIFTED, seed=6, plus_one=False)
def test_numbers_are_those_of_exact_arithmetic(
    table: np.ndarray, seed: int, plus_one: bool
) -> None:
    test, cube = Unpaired(alphas=LEVELS, plus_one=plus_one), alike(table)
    samples = test.samples(cube, seed, TRIALS)
    result = analyse(cube, test, trials=TRIALS, seed=seed, workers=1)
    place = {topic: k for k, topic in enumerate(cube["topic"].values)}
    drawn = np.vectorize(place.get)(samples["topic_sample"].values)
    # A score is the shortest decimal number that it is the nearest of, as it was printed.
    exact = [[Fraction(repr(score)) for score in row] for row in table.tolist()]
    for metric in METRICS:
        found = result.sel(metric=metric).isel(gain=0)
        kind = metric.split(":")[0] if ":" in metric else "mean"
        for run, row in enumerate(exact):
            assert found["mean"].values[run] == pytest.approx(
                summary(kind, row), rel=FLOAT, abs=0.0
            )
        pairs = [outcome(kind, exact[i], exact[j], drawn) for i, j in combinations(range(len(exact)), 2)]  # fmt: skip
        unit = float(np.median(np.abs(table[table != 0])) / DIGITS) if table.any() else 0.0
        for k, pair in enumerate(pairs):
            check_pair(found.isel(pair=k), pair, kind, 4 * unit if kind == "mean" else FLOAT * float(pair.size))  # fmt: skip
        if kind == "mean":
            check_cell(found, pairs, exact, 4 * unit)
        p_values = (found["reached"].values + plus_one) / (TRIALS + plus_one)
        np.testing.assert_array_equal(found["p_value"].values, p_values)
        counts = [(p_values < level).sum() for level in LEVELS]
        assert found["significant"].values.tolist() == counts

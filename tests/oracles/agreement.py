"""Comparison of the tests of pairs of runs with their exact oracles: labels to positions, numbers to fractions."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube import Bootstrap, Randomisation, Tukey
from scorecube.workflow.api import cube_from_scores
from tests.given_samples import analyse_given
from tests.oracles.paired_tests import (
    as_integers,
    by_bootstrap,
    by_signs,
    rank_of_level,
    run_positions,
    square_of,
    tukey_counts,
)

Table = list[list[Fraction]]
PairTests = Bootstrap | Randomisation
FAMILIES = {
    "tenths": [Fraction(k, 10) for k in range(11)],
    "ties": [Fraction(0), Fraction(1)],
    "zero": [Fraction(0)],
    "thirds": [Fraction(k, 3) for k in range(4)],
    "reciprocal ranks": [Fraction(0), *(Fraction(1, k) for k in (*range(1, 11), 12, 14, 15, 16))],
    "four decimals": [Fraction(k, 10000) for k in (0, 1, 99, 100, 101, 3333, 6667, 9999, 10000)],
    "negative": [Fraction(k, 10) for k in range(-10, 11)],
    "many sizes": [Fraction(text) for text in ("0", "0.1", "0.2", "0.5", "1", "250", "-99.5")],
    "binary": [Fraction(k, 64) for k in (0, 1, 2, 3, 32, 33, 63)],
}
"""Discrete scores on the grid of any range of `WIDTHS`, where ties and degenerate trials are common."""
WIDTHS = (1, 2, 3, 4, 5, 10, 20, 100, 400, 500, 1000, 2000, 10_000)
UNITS = 2_520_000


def as_cube(table: Table) -> xr.Dataset:
    """Return a cube of rational scores, rounded to floats as any file reader would, with a range whose grid holds them, if there is one."""
    runs = [f"r{k:03d}" for k in range(len(table))]
    topics = [f"t{k:03d}" for k in range(len(table[0]))]
    frame = pd.DataFrame(np.array(table, float), runs, topics)
    cube = cube_from_scores({"m": frame}, ranges={"m": (-1e12, 1e12)})
    low, high = grid_range([score for row in table for score in row])
    return cube.assign_coords(score_low=("metric", [low]), score_high=("metric", [high]))


def grid_range(scores: Sequence[Fraction]) -> tuple[float, float]:
    """Return a range in which all scores are whole numbers of units; NaN if there is none."""
    for width in WIDTHS:
        low = min(0, math.floor(min(scores)))
        units = [(score - low) * UNITS / width for score in scores]
        if max(scores) <= low + width and all(each.denominator == 1 for each in units):
            return float(low), float(low + width)
    return math.nan, math.nan


def read_exactly(path: Path, cube: xr.Dataset) -> Table:
    """Return the decimal texts of a score matrix (topics down) as fractions, for the runs and topics of a cube in their order."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    column, digits = {run: k for k, run in enumerate(header)}, len(str(len(rows)))
    named = header[0] == "topic"
    row_of = {row[0] if named else f"{k + 1:0{digits}d}": row for k, row in enumerate(rows)}
    topics, runs = (cube[dim].values.tolist() for dim in ("topic", "run"))
    return [[Fraction(row_of[topic][column[run]]) for topic in topics] for run in runs]


def outcomes(
    table: Table, test: PairTests, drawn: Sequence[Sequence[int]]
) -> dict[tuple[int, int], tuple[int, list[Fraction]]]:
    """Return what the oracle says of every pair: trials that reach it, and differences at each level."""
    whole, denominator = as_integers(table)
    ranks, unit = [rank_of_level(str(of), len(drawn)) for of in test.alphas], Fraction(1, denominator)  # fmt: skip
    found = {}
    for i, j in combinations(range(len(whole)), 2):
        if isinstance(test, Bootstrap):
            found[i, j] = by_bootstrap(whole[i], whole[j], unit, drawn, ranks)
        else:
            found[i, j] = by_signs(whole[i], whole[j], drawn), list[Fraction]()
    return found


def assert_pairs_agree(
    result: xr.Dataset,
    table: Table,
    test: PairTests,
    drawn: Sequence[Sequence[int]],
    slack: float = 1e-13,
) -> int:
    """Compare the result of one metric and gain setting with the oracle, all pairs; return the trials that reach the first.

    Counts must be equal; differences of means equal up to `slack`, which is more than roundoff if scores had to be rounded.
    """
    trials, expected = len(drawn) + test.plus_one, outcomes(table, test, drawn)
    assert list(zip(*run_positions(result), strict=True)) == list(expected)
    counts = [count for count, _ in expected.values()]
    assert result["reached"].values.tolist() == counts
    exact = [Fraction(count + test.plus_one, trials) for count in counts]
    assert result["p_value"].values.tolist() == [float(p) for p in exact]
    for level, alpha in enumerate(test.alphas):
        significant = sum(p < Fraction(str(alpha)) for p in exact)
        assert int(result["significant"].values[level]) == significant
        assert float(result["share"].values[level]) == significant / len(exact)
        if isinstance(test, Bootstrap):
            most = max(float(kth[level]) for _, kth in expected.values())
            estimated = float(result["estimated_difference"].values[level])
            assert estimated == pytest.approx(most, rel=1e-11, abs=slack)
    assert_statistics_agree(result, table)
    return counts[0]


def assert_statistics_agree(result: xr.Dataset, table: Table) -> None:
    """Compare the t statistics, which differences without a spread do not have."""
    whole, _ = as_integers(table)
    for place, (i, j) in enumerate(combinations(range(len(whole)), 2)):
        z = [a - b for a, b in zip(whole[i], whole[j], strict=True)]
        square = square_of(z, sum(z), sum(value * value for value in z))
        t = math.nan
        if square is not None and len(set(z)) > 1:
            t = math.copysign(math.sqrt(square), sum(z))
        assert float(result["t"].values[place]) == pytest.approx(t, rel=1e-9, nan_ok=True)


def assert_tukey_agrees(result: xr.Dataset, table: Table, drawn: Sequence[Sequence[Sequence[int]]]) -> None:  # fmt: skip
    """Compare Tukey p-values (count / B) of one metric and gain setting with the oracle."""
    counts = list(tukey_counts(as_integers(table)[0], drawn).values())
    assert result["reached"].values.tolist() == counts
    assert result["p_value"].values.tolist() == [count / len(drawn) for count in counts]
    assert_statistics_agree(result, table)


def one_result(cube: xr.Dataset, test: PairTests | Tukey, drawn: Sequence[Sequence[Any]]) -> xr.Dataset:  # fmt: skip
    """Return the result of given samples, signs or permutations on a cube of one metric and gain setting."""
    samples = np.array(drawn)
    given = samples[:, np.newaxis] if isinstance(test, Bootstrap) else samples
    return analyse_given(cube, test, given).isel(metric=0, gain=0)

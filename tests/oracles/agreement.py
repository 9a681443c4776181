"""Comparison of the tests of pairs of runs with their exact oracles: labels to positions, numbers to fractions."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube import Bootstrap, Randomisation, Tukey
from scorecube.workflow.api import cube_from_scores
from tests.given_samples import analyse_given
from tests.oracles.paired_tests import (
    Outcome,
    as_integers,
    by_bootstrap,
    by_signs,
    p_value,
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
    "sevenths": [Fraction(k, 7) for k in range(8)],
    "reciprocal ranks": [
        Fraction(0),
        *(Fraction(1, rank) for rank in (*range(1, 11), 12, 14, 15, 16)),
    ],
    "four decimals": [Fraction(k, 10000) for k in (0, 1, 99, 100, 101, 3333, 6667, 9999, 10000)],
    "negative": [Fraction(k, 10) for k in range(-10, 11)],
    "thousands": [Fraction(k) for k in (0, 1, 3, 333, 500, 667, 999, 1000)],
    "many sizes": [Fraction(text) for text in ("0", "0.1", "0.2", "0.5", "1", "250", "-99.5")],
    "binary": [Fraction(k, 64) for k in (0, 1, 2, 3, 32, 33, 63)],
}
"""Discrete scores on the grid of any range of `WIDTHS`, where ties and degenerate trials are common."""
WIDTHS = (1, 2, 3, 4, 5, 10, 20, 100, 400, 500, 1000, 2000, 10_000)
UNITS = 2_520_000


def as_cube(tables: Mapping[str, Table]) -> xr.Dataset:
    """Return a cube of rational scores, rounded to floats as any file reader would, with a range whose grid holds them, if there is one."""
    frames, ranges = {}, []
    for metric, table in tables.items():
        runs = [f"r{k:03d}" for k in range(len(table))]
        topics = [f"t{k:03d}" for k in range(len(table[0]))]
        scores = [[float(score) for score in row] for row in table]
        frames[metric] = pd.DataFrame(scores, index=runs, columns=topics)
        ranges.append(grid_range([score for row in table for score in row]))
    cube = cube_from_scores(frames)
    low, high = zip(*ranges, strict=True)
    return cube.assign_coords(score_low=("metric", list(low)), score_high=("metric", list(high)))


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
    column = {run: k for k, run in enumerate(header)}
    named = header[0] == "topic"
    row_of = {
        row[0] if named else f"{k + 1:0{len(str(len(rows)))}d}": row for k, row in enumerate(rows)
    }
    topics, runs = labels(cube, "topic"), labels(cube, "run")
    return [[Fraction(row_of[topic][column[run]]) for topic in topics] for run in runs]


def labels(cube: xr.Dataset, dim: str) -> list[str]:
    """Return the labels of a dim."""
    return [str(label) for label in cube[dim].values]


def outcomes(
    table: Table, test: PairTests, drawn: Sequence[Sequence[int]]
) -> dict[tuple[int, int], Outcome]:
    """Return what the oracle says of every pair."""
    whole, denominator = as_integers(table)
    ranks = [rank_of_level(str(alpha), len(drawn)) for alpha in test.alphas]
    found = {}
    for i, j in combinations(range(len(whole)), 2):
        if isinstance(test, Bootstrap):
            found[i, j] = by_bootstrap(whole[i], whole[j], denominator, drawn, ranks)
        else:
            found[i, j] = by_signs(whole[i], whole[j], denominator, drawn, ranks)
    return found


def assert_pairs_agree(
    result: xr.Dataset,
    table: Table,
    test: PairTests,
    drawn: Sequence[Sequence[int]],
    slack: float = 1e-13,
) -> dict[tuple[int, int], Outcome]:
    """Compare the result of one metric and gain setting with the oracle, all pairs; return what that says.

    Counts must be equal; differences of means equal up to `slack`, which is more than roundoff if scores had to be rounded.
    """
    trials, expected = len(drawn), outcomes(table, test, drawn)
    pairs = list(expected)
    assert list(zip(*run_positions(result), strict=True)) == pairs
    assert result["reached"].values.tolist() == [each.count for each in expected.values()]
    exact = [p_value(each.count, trials, plus_one=test.plus_one) for each in expected.values()]
    assert result["p_value"].values.tolist() == [float(p) for p in exact]
    for level, alpha in enumerate(test.alphas):
        kth = max(float(each.kth[level]) for each in expected.values())
        significant = [p < Fraction(str(alpha)) for p in exact]
        assert int(result["significant"].values[level]) == sum(significant)
        assert float(result["share"].values[level]) == sum(significant) / len(pairs)
        if isinstance(test, Bootstrap):
            estimated = float(result["estimated_difference"].values[level])
            assert estimated == pytest.approx(kth, rel=1e-11, abs=slack)
    assert_statistics_agree(result, table)
    return expected


def assert_statistics_agree(result: xr.Dataset, table: Table) -> None:
    """Compare the t statistics."""
    whole, _ = as_integers(table)
    for place, (i, j) in enumerate(combinations(range(len(whole)), 2)):
        z = [a - b for a, b in zip(whole[i], whole[j], strict=True)]
        square = square_of(z, sum(z), sum(value * value for value in z))
        found = float(result["t"].values[place])
        if square is None:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(math.copysign(math.sqrt(square), sum(z)), rel=1e-9)


def assert_tukey_agrees(cube: xr.Dataset, tables: Mapping[str, Table], samples: xr.Dataset) -> None:
    """Compare Tukey p-values of all metrics with the oracle."""
    drawn = samples["run_permutation"].values.tolist()
    result = analyse_given(cube, Tukey(plus_one=False), drawn)
    for metric, table in tables.items():
        counts = tukey_counts(as_integers(table)[0], drawn)
        one = result.sel(metric=metric).isel(gain=0)
        assert one["reached"].values.tolist() == list(counts.values())
        assert one["p_value"].values.tolist() == [count / len(drawn) for count in counts.values()]
        assert_statistics_agree(one, table)


def one_result(cube: xr.Dataset, test: PairTests, drawn: Sequence[Sequence[int]]) -> xr.Dataset:
    """Return the result of given samples or signs on a cube of one metric and gain setting."""
    samples = np.array(drawn)
    result = analyse_given(
        cube, test, samples[:, np.newaxis] if isinstance(test, Bootstrap) else samples
    )
    return result.isel(metric=0, gain=0)

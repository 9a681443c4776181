"""Swap and stability of geometric means and area measures against plain Python, trial by trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube import Stability, Swap
from scorecube.workflow.api import cube_from_scores


def mean(row: Sequence[float]) -> float:
    return math.fsum(row) / len(row)


def geometric(row: Sequence[float]) -> float:
    return math.exp(mean([math.log(score) for score in row]))


def area(row: Sequence[float]) -> float:
    """Mean over X = 1 .. n / 4 of the mean of the X worst scores."""
    worst = sorted(row)[: max(1, len(row) // 4)]
    return mean([mean(worst[:x]) for x in range(1, len(worst) + 1)])


SUMMARIES = {"mean": mean, "geo": geometric, "area": area}


def sign(x: float) -> int:
    return 0 if abs(x) < 1e-10 else 1 if x > 0 else -1


def cube_of(table: np.ndarray) -> xr.Dataset:
    return cube_from_scores({"AP": pd.DataFrame(table)})


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize("size", [2, 5, 9])
@pytest.mark.parametrize("largest", [1.0, 6.0])
def test_comparisons_are_those_of_plain_python(summary: Any, size: int, largest: float) -> None:
    table = np.random.default_rng(size).choice([0.1, 0.2, 0.4, 0.8, 1.0], (7, 18)) * largest
    table[1], table[2] = table[0][::-1], table[0]
    cube = cube_of(table / 6)
    scores = cube["score"].isel(metric=0, gain=0).values.tolist()
    swap = Swap(size=size, bin_width=0.05, summary=summary)
    count: dict[int, int] = {}
    swaps: dict[int, int] = {}
    better, concordant = [0, 0], 0
    for halves in sc.samples(cube, swap, trials=80, seed=3)["topic_sample"].values:
        first, second = (
            [SUMMARIES[summary]([row[topic] for topic in half]) for row in scores]
            for half in halves
        )
        for x, y in combinations(range(7), 2):
            d, e = sign(first[x] - first[y]), sign(second[x] - second[y])
            bin_ = int((abs(first[x] - first[y]) + 1e-7) / 0.05)
            count[bin_] = count.get(bin_, 0) + 1
            swaps[bin_] = swaps.get(bin_, 0) + (d != e)
            better[0] += d > 0
            better[1] += d < 0
            concordant += d * e
    result = sc.analyse(cube, swap, trials=80, seed=3).squeeze()
    for name, expected in (("count", count), ("swaps", swaps)):
        found = result[name].values
        assert {k: int(found[k]) for k in np.flatnonzero(result["count"].values)} == expected, name
    assert float(result["tau"]) == pytest.approx(concordant / (21 * 80))
    stability = Stability(size=size, fuzziness=(0.0,), summary=summary)
    orders = sc.analyse(cube, stability, trials=80, seed=3)
    assert [int(orders[f"{k}_better"].sum()) for k in ("first", "second")] == better

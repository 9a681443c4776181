"""Swap, stability and splits of geometric means and area measures against plain Python, trial by trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from scorecube.analyses import Splits, Stability, Swap
from scorecube.workflow.api import analyse
from tests.analyses.pair_tests.test_unpaired import METRICS, alike


def mean(row: Sequence[float]) -> float:
    return math.fsum(row) / len(row)


def geometric(row: Sequence[float]) -> float:
    return math.exp(mean([math.log(score) for score in row]))


def area(row: Sequence[float]) -> float:
    """Mean over X = 1 .. n / 4 of the mean of the X worst scores."""
    worst = sorted(row)[: max(1, len(row) // 4)]
    return mean([mean(worst[:x]) for x in range(1, len(worst) + 1)])


SUMMARIES = {"AP": mean, "geo:AP": geometric, "area:AP": area}


def sign(x: float) -> int:
    return 0 if abs(x) < 1e-10 else 1 if x > 0 else -1


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [2, 5, 9])
@pytest.mark.parametrize("largest", [1.0, 6.0])
def test_comparisons_are_those_of_plain_python(metric: str, size: int, largest: float) -> None:
    table = np.random.default_rng(size).choice([0.1, 0.2, 0.4, 0.8, 1.0], (7, 18)) * largest
    table[1], table[2] = table[0][::-1], table[0]
    cube = alike(table)
    swap = Swap(size=size, bin_width=0.05)
    drawn = swap.samples(cube, 3, 80)
    place = {topic: k for k, topic in enumerate(cube["topic"].values)}
    count: dict[int, int] = {}
    swaps: dict[int, int] = {}
    better, concordant = [0, 0], 0
    for halves in drawn["topic_sample"].values:
        first, second = (
            [SUMMARIES[metric]([row[place[topic]] for topic in half]) for row in table.tolist()]
            for half in halves
        )
        for x, y in combinations(range(7), 2):
            d, e = sign(first[x] - first[y]), sign(second[x] - second[y])
            bin_ = int((abs(first[x] - first[y]) + 1e-10) / 0.05)
            count[bin_] = count.get(bin_, 0) + 1
            swaps[bin_] = swaps.get(bin_, 0) + (d != e)
            better[0] += d > 0
            better[1] += d < 0
            concordant += d * e
    result = analyse(cube, swap, trials=80, seed=3).sel(metric=metric).squeeze()
    for name, expected in (("count", count), ("swaps", swaps)):
        found = result[name].values
        assert {k: int(found[k]) for k in np.flatnonzero(result["count"].values)} == expected, name
    orders = analyse(cube, Stability(size=size, fuzziness=(0.0,)), trials=80, seed=3)
    orders = orders.sel(metric=metric)
    assert [int(orders[f"{k}_better"].sum()) for k in ("first", "second")] == better
    rankings = analyse(cube, Splits(size=size), trials=80, seed=3).sel(metric=metric)
    assert float(rankings["tau_mean"].item()) == pytest.approx(concordant / (21 * 80))


def test_chunks_and_other_metrics_change_nothing() -> None:
    cube = alike(np.random.default_rng(1).uniform(0, 1, (110, 12)))
    whole = analyse(cube, Swap(), trials=60, seed=1, workers=1)
    parts = analyse(cube, Swap(), trials=60, seed=1, workers=1, block_units=7)
    np.testing.assert_array_equal(whole["count"], parts["count"])
    alone = analyse(cube.sel(metric=["geo:AP"]), Swap(), trials=60, seed=1, workers=1)
    n_bins = alone.sizes["bin"]
    np.testing.assert_array_equal(
        whole["swaps"].sel(metric="geo:AP")[..., :n_bins], alone["swaps"].sel(metric="geo:AP")
    )

"""Step-down max-T: a plain oracle of Romano and Wolf (2005), intervals, and the family-wise error rate."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube import names
from scorecube.kernels.random.draws import bootstrap_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.workflow.api import analyse, cube_from_scores
from tests.oracles.step_down import Scores, adjusted, varied
from tests.validation.rates import ALPHA


def cube_of(scores: Scores) -> xr.Dataset:
    labels = [f"r{k:02d}" for k in range(len(scores))], [f"t{k:02d}" for k in range(len(scores[0]))]
    cube = cube_from_scores({"AP": pd.DataFrame(scores, *labels)})
    return cube.assign_coords(score_low=("metric", [-1.0]), score_high=("metric", [2.0]))


def labelled_pairs(result: xr.Dataset) -> list[tuple[int, int]]:
    runs = result["run"].values.tolist()
    labels = zip(result["run_a"].values.tolist(), result["run_b"].values.tolist(), strict=True)
    return [(runs.index(first), runs.index(second)) for first, second in labels]


def drawn(n_topics: int, trials: int, seed: int = 1, purpose: Any = names.Purpose.BOOTSTRAP_TOPICS) -> Any:  # fmt: skip
    key = stream_key(seed, purpose)
    return bootstrap_samples(key, n_topics, 0, trials)[:, 0].tolist()


def odd_scores() -> Scores:
    """Runs with equal scores, a constant difference, a difference on one topic only, ties of |t|, and others."""
    chance = np.random.default_rng(4)
    base = (chance.integers(0, 6, 26) / 10).tolist()
    once = [*base[:-1], base[-1] + 0.3]
    shifted = [value + 0.2 for value in base]
    others = [(np.array(base) + chance.integers(-2, 4, 26) / 10).tolist() for _ in range(4)]
    return [base, list(base), once, shifted, *others]


@pytest.mark.parametrize("baseline", [None, "r02"])
@pytest.mark.parametrize("rounded", [False, True], ids=["on the grid", "rounded to it"])
def test_adjusted_p_values_are_those_of_the_oracle(baseline: str | None, rounded: bool) -> None:
    """Pairs that differ on fewer than 8 topics have p = 1."""
    scores = odd_scores()
    if rounded:
        scores = [[math.sqrt(2) * value for value in row] for row in scores]
    analysis = sc.MaxT(baseline=baseline)
    result = analyse(cube_of(scores), analysis, trials=150, seed=1)
    everything = list(combinations(range(len(scores)), 2))
    pairs = [pair for pair in everything if baseline is None or 2 in pair]
    samples = [[places] for places in drawn(26, 150)]
    expected = adjusted([scores], [1.0], samples, pairs)
    # Against a baseline it is the second run of each pair.
    tested = [(min(pair), max(pair)) for pair in labelled_pairs(result)]
    assert sorted(tested) == sorted(pairs)
    found = dict(zip(tested, result["p_value"].values.ravel().tolist(), strict=True))
    assert found == pytest.approx(expected)
    assert {expected[pair] for pair in ((0, 1), (0, 2), (0, 3)) if pair in expected} == {1.0}
    assert len(set(expected.values())) > (4 if baseline is None else 2)
    table = sc.table(result, "power")
    assert table["pairs"].tolist() == [len(pairs)] * 2
    assert len(sc.table(result, "pairs")) == len(pairs)


def test_limits_are_simultaneous_ones_of_the_moderated_t() -> None:
    """Half the width over the moderated standard error is one number: the critical value."""
    scores = odd_scores()
    result = analyse(cube_of(scores), sc.MaxT(), trials=400, seed=1)
    n = len(scores[0])
    rows = sc.table(result, "pairs").to_dict("records")
    own, enough = [], []
    for row in rows:
        a, b = int(row["run_a"][1:]), int(row["run_b"][1:])
        values = [x - y for x, y in zip(scores[a], scores[b], strict=True)]
        average = math.fsum(values) / n
        spread = math.sqrt(math.fsum((value - average) ** 2 for value in values) / (n - 1))
        own.append(spread / math.sqrt(n))
        enough.append(varied([values]) >= 8)
        assert row["mean_difference"] == pytest.approx(average, abs=1e-12)
        if spread > 1e-9:
            assert row["d_z"] == pytest.approx(average / spread, abs=1e-9)
    common = float(np.median(np.square(own)[enough]))
    half = np.array([(row["difference_high"] - row["difference_low"]) / 2 for row in rows])
    critical = half[enough] / np.sqrt((np.square(own)[enough] + 4 * common) / 5)
    assert critical == pytest.approx(np.full(sum(enough), critical[0]), rel=1e-6)
    assert 2 < critical[0] < 4
    assert np.isnan(half[~np.array(enough)]).all()
    # Step-down rejects all that the limits do, and more.
    apart = np.array([row["difference_low"] > 0 or row["difference_high"] < 0 for row in rows])
    assert (result["p_value"].values.ravel()[apart] < ALPHA).all()


def test_too_few_trials_bound_no_interval() -> None:
    result = analyse(cube_of(odd_scores()), sc.MaxT(), trials=10, seed=1)
    assert result["difference_high"].isnull().all()

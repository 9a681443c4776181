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


def test_step_down_rejects_more_than_one_step_and_p_values_are_in_the_order_of_t() -> None:
    rejected, by_one_step = 0, 0
    for seed in range(6):
        chance = np.random.default_rng(seed)
        scores = 0.4 + 0.05 * chance.standard_normal((7, 40)) + 0.03 * np.arange(7)[:, np.newaxis]
        result = analyse(cube_of(scores.tolist()), sc.MaxT(), trials=399, seed=1)
        p = result["p_value"].values.ravel()
        t = sc.table(result, "pairs")["mean_difference"] / result["moderated_error"].values.ravel()
        assert (np.diff(p[np.argsort(-np.abs(t))]) >= 0).all()
        found = np.abs(t) > float(result["critical_value"].values[0, 0, 0])
        assert (p[found] < ALPHA).all()
        rejected, by_one_step = rejected + (p < ALPHA).sum(), by_one_step + found.sum()
    assert rejected > by_one_step > 0


def test_intervals_and_effect_sizes() -> None:
    scores = odd_scores()
    result = analyse(cube_of(scores), sc.MaxT(), trials=400, seed=1)
    critical = float(result["critical_value"].values[0, 0, 0])
    n, p = len(scores[0]), len(scores)
    errors = result["standard_error"].values.ravel()
    runs = [math.fsum(row) / n for row in scores]
    topics = [math.fsum(column) / p for column in zip(*scores, strict=True)]
    mean = math.fsum(runs) / p
    residual = math.fsum(
        (scores[j][k] - runs[j] - topics[k] + mean) ** 2 for j in range(p) for k in range(n)
    ) / ((p - 1) * (n - 1))
    for row in sc.table(result, "pairs").itertuples():
        a, b = int(str(row.run_a)[1:]), int(str(row.run_b)[1:])
        values = [x - y for x, y in zip(scores[a], scores[b], strict=True)]
        average = math.fsum(values) / n
        spread = math.sqrt(math.fsum((value - average) ** 2 for value in values) / (n - 1))
        own = spread / math.sqrt(n)
        common = float(np.median(errors[result["moderated_error"].values.ravel() > 0] ** 2))
        margin = critical * math.sqrt((own**2 + 4 * common) / 5)
        margin = margin if varied([values]) >= 8 else math.nan
        assert row.mean_difference == pytest.approx(average, abs=1e-12)
        assert row.difference_low == pytest.approx(average - margin, abs=1e-9, nan_ok=True)
        assert row.difference_high == pytest.approx(average + margin, abs=1e-9, nan_ok=True)
        assert row.effect_size == pytest.approx(average / math.sqrt(residual), abs=1e-9)
        if spread > 1e-9:
            assert row.d_z == pytest.approx(average / spread, abs=1e-9)


def test_too_few_trials_bound_no_interval() -> None:
    result = analyse(cube_of(odd_scores()), sc.MaxT(), trials=10, seed=1)
    assert np.isnan(result["critical_value"].values).all()
    table = sc.table(result, "pairs")
    high = {(row.run_a, row.run_b): row.difference_high for row in table.itertuples()}
    assert math.isnan(float(str(high["r00", "r05"])))
    assert math.isnan(float(str(high["r00", "r01"])))

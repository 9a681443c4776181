"""Tests of pairs of runs against exact arithmetic: full enumerations, degenerate runs, awkward scores."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from scorecube import methods
from scorecube.workflow.api import analyse, cube_from_scores, import_scores, samples
from tests.oracles.agreement import (
    FAMILIES,
    Table,
    as_cube,
    assert_pairs_agree,
    assert_tukey_agrees,
    one_result,
    outcomes,
    read_exactly,
)

# Shares of all resamples, without one more for what was observed.
Bootstrap = partial(methods.Bootstrap, plus_one=False)
Randomisation = partial(methods.Randomisation, plus_one=False)
Tukey = partial(methods.Tukey, plus_one=False)
EXAMPLE: Table = [
    [Fraction(k, 10) for k in row] for row in ((7, 3, 2, 6, 4), (5, 1, 0, 2, 4), (0, 0, 2, 1, 3))
]  # SPEC B.2: a, b, c
ALL_SAMPLES = [list(sample) for sample in product(range(5), repeat=5)]
ALL_SIGNS = [list(signs) for signs in product((1, -1), repeat=5)]


def test_the_enumeration_of_all_resamples_gives_the_exact_asls() -> None:
    test = Bootstrap()
    result = one_result(as_cube(EXAMPLE), test, ALL_SAMPLES)
    assert result["reached"].values.tolist() == [32, 305, 1470]
    assert result["p_value"].values.tolist() == [32 / 3125, 305 / 3125, 1470 / 3125]
    np.testing.assert_allclose(np.abs(result["t"].values), [10**0.5, 2.498780, 1.077632], rtol=1e-6)
    assert_pairs_agree(result, EXAMPLE, test, ALL_SAMPLES)


def test_the_enumeration_of_all_permutations_gives_the_exact_tukey_p_values() -> None:
    every = list(product(list(permutations(range(3))), repeat=5))
    result = one_result(as_cube(EXAMPLE), Tukey(), every)
    assert result["reached"].values.tolist() == [3384, 264, 5640]
    assert_tukey_agrees(result, EXAMPLE, every)


def test_the_enumeration_of_all_signs_equals_scipy_and_the_oracle() -> None:
    test = Randomisation()
    result = one_result(as_cube(EXAMPLE), test, ALL_SIGNS)
    assert_pairs_agree(result, EXAMPLE, test, ALL_SIGNS)
    for place, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        x, y = (np.array([float(score) for score in EXAMPLE[run]]) for run in (i, j))
        theirs = stats.permutation_test(
            (x, y), lambda a, b, axis: (a - b).mean(axis=axis), permutation_type="samples", vectorized=True,
            alternative="two-sided",
        )  # fmt: skip
        # scipy doubles the smaller tail, which for symmetric null distributions is the same.
        assert float(result["p_value"][place]) == theirs.pvalue


def drawn_by(test: Any, cube: xr.Dataset, seed: int, trials: int) -> Any:
    drawn = samples(cube, test, trials=trials, seed=seed)
    (places,) = (of for name, of in drawn.items() if name != "unit_of_topic")
    return places.values.tolist()


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw a small table of scores with ties, equal runs and constant differences."""
    values = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    n_topics = draw(st.integers(2, 7))
    row = st.lists(st.sampled_from(values), min_size=n_topics, max_size=n_topics)
    table = draw(st.lists(row, min_size=2, max_size=4))
    extra = draw(st.sampled_from(["none", "copy", "shift", "mirror"]))
    if extra == "copy":
        table.append(list(table[0]))
    elif extra == "shift":
        table.append([score + values[-1] for score in table[0]])
    elif extra == "mirror":
        table.append(list(reversed(table[0])))
    return draw(st.permutations(table))


@pytest.mark.parametrize("test_of", [Bootstrap, Randomisation])
@settings(max_examples=150)
@given(
    table=tables(), trials=st.integers(1, 60), seed=st.integers(0, 2**64 - 1),
    plus_one=st.booleans(), alphas=st.sampled_from([(0.05, 0.01), (0.5, 0.93), (0.07, 0.2, 0.95), (0.999, 0.001)]),
)  # fmt: skip
def test_tests_of_awkward_scores_are_exact(
    test_of: Any, table: Table, trials: int, seed: int, **options: Any
) -> None:
    values = {score for row in table for score in row}
    assume(len(table[0]) > 5 or len(values) == 1 or values - {0, 1})  # else refused
    test, cube = test_of(**options), as_cube(table)
    result = analyse(cube, test, trials=trials, seed=seed, workers=1)
    assert_pairs_agree(
        result.isel(metric=0, gain=0), table, test, drawn_by(test, cube, seed, trials)
    )


@settings(max_examples=100)
@given(table=tables(), trials=st.integers(1, 40), seed=st.integers(0, 2**64 - 1))
def test_tukey_of_awkward_scores_is_exact(table: Table, trials: int, seed: int) -> None:
    cube = as_cube(table)
    drawn = drawn_by(Tukey(), cube, seed, trials)
    result = analyse(cube, Tukey(), trials=trials, seed=seed, workers=1)
    assert_tukey_agrees(result.isel(metric=0, gain=0), table, drawn)


def test_limits_of_tukey_are_the_range_that_5_percent_of_the_trials_reach() -> None:
    cube = as_cube([[Fraction(k * k % 11, 10) for k in range(n, n + 9)] for n in (0, 2, 5)])
    result = analyse(cube, Tukey(), trials=90, seed=3).squeeze()
    scores = cube["score"].values.squeeze()
    ranges = []
    for places in drawn_by(Tukey(), cube, 3, 90):
        means = np.mean([scores[runs, topic] for topic, runs in enumerate(places)], axis=0)
        ranges.append(np.ptp(means))
    margin = sorted(ranges)[-5]  # 0.05 of 90, rounded up
    for end, sign in (("low", -1), ("high", 1)):
        expected = result["mean_difference"] + sign * margin
        np.testing.assert_allclose(result[f"joint_{end}"], expected, atol=1e-6)


def test_differences_within_rounding_are_no_difference() -> None:
    """All trials reach a t that rounding may have made of 0."""
    x = np.random.default_rng(1).integers(630_000, 1_260_000, 10) / 2_520_000
    y = x - np.array([1, 1, 1, 1, -1, 1, -1, 1, -1, -1]) / 2_520_000
    scores = pd.DataFrame([x, y, x[::-1]], ["x", "y", "z"], [f"{k}" for k in range(10)])
    result = analyse(cube_from_scores({"AP": scores}), Bootstrap(), trials=200, seed=1)
    assert int(result["reached"].values[0, 0, 0]) == 200


@pytest.mark.parametrize("step", ["1/10", "1/7", "1/16", "1/1000", "300"])
@pytest.mark.parametrize(
    "z", [(-1, -1, -1, 4, 4), (-2, -2, 3, 3, 3), (-3, 2, 7, 7, 7), (-1, 1, 1, 1, 4)]
)
def test_replicates_that_tie_with_the_observed_t_count(z: tuple[int, ...], step: str) -> None:
    table = [[value * Fraction(step) for value in z], [Fraction(0)] * 5]
    test = Bootstrap(alphas=(0.3,))
    expected = assert_pairs_agree(
        one_result(as_cube(table), test, ALL_SAMPLES), table, test, ALL_SAMPLES, 1e-6
    )
    # The row means something only where there are ties: a little more difference, and fewer replicates reach it.
    more = [[value + Fraction(1, 10**6) * Fraction(step) for value in table[0]], table[1]]
    assert outcomes(more, test, ALL_SAMPLES)[0, 1][0] < expected


@pytest.mark.parametrize(
    "row",
    [("0.9999", "0.0001", "-1", "1"), ("0", "0", "0.5", "0.5001"), ("0.0001", "0.0002", "0.5")],
    ids=",".join,
)
def test_a_large_t_is_neither_infinite_nor_equal_to_another(row: tuple[str, ...]) -> None:
    # Trials of nearly equal differences: t* beyond 10,000, where S1^2 / S2 no longer tells one from another.
    table = [[Fraction(text) for text in row], [Fraction(0)] * len(row)]
    every = [list(sample) for sample in product(range(len(row)), repeat=len(row))]
    test = Bootstrap(alphas=(0.02, 0.03, 0.05, 0.15, 0.3))
    assert_pairs_agree(one_result(as_cube(table), test, every), table, test, every)


def test_a_share_that_equals_alpha_is_not_significant() -> None:
    # 32 of 3,125 count: 32 / 3125 = 0.01024, a double that is no multiple of a power of two.
    cube = as_cube(EXAMPLE[:2])
    result = one_result(cube, Bootstrap(alphas=(0.01024, 0.01025, 0.01023)), ALL_SAMPLES)
    assert result["significant"].values.tolist() == [0, 1, 0]
    # (31 + 1) / 3125: with one trial less, plus_one makes the same share.
    at_least, _ = outcomes(EXAMPLE[:2], Bootstrap(), ALL_SAMPLES)[0, 1]
    less = [sample for k, sample in enumerate(ALL_SAMPLES) if k != 0]
    plus = Bootstrap(plus_one=True, alphas=(0.01056, 0.01057))
    assert (at_least + 1) / 3125 == 0.01056
    assert one_result(cube, plus, less)["significant"].values.tolist() == [0, 1]


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "files", "sizes"),
    [
        ("adhoc5", ("ap.csv", "rr.csv"), (61, 50)),
        ("robust2004", ("ap_249topics.csv",), (110, 249)),
        # Ranks, numbers of documents, and scores below zero.
        ("clef-tar-2017", ("ap.csv", "wss_95.csv", "last_rel.csv", "num_shown.csv"), (48, 30)),
    ],
)
def test_every_pair_of_real_runs_is_exact(
    data: Path, folder: str, files: tuple[str, ...], sizes: tuple[int, int]
) -> None:
    if not (data / folder).is_dir():
        pytest.skip(f"{folder} is not among the third-party collections")
    paths = [data / folder / name for name in files]
    cube = import_scores(paths)
    cube = cube.isel(run=~cube["score"].isnull().any(("metric", "gain", "topic")).values)
    assert (cube.sizes["run"], cube.sizes["topic"]) == sizes
    metrics = zip(cube["metric"].values.tolist(), paths, strict=True)
    read = {metric: read_exactly(path, cube) for metric, path in metrics}
    for test in (Bootstrap(), Randomisation(), Tukey()):
        result, drawn = analyse(cube, test, trials=25, seed=5), drawn_by(test, cube, 5, 25)
        for metric, table in read.items():
            found = result.sel(metric=metric).isel(gain=0)
            if test.name == "tukey":
                assert_tukey_agrees(found, table, drawn)
            else:
                # Printed scores lie on the grid, those of six digits and more within 2e-7 of it.
                assert_pairs_agree(found, table, test, drawn, slack=1e-6)

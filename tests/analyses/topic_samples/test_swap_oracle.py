"""Swap and stability against exact rational arithmetic: every bin, both zero rules, on real and on awkward scores."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube import Stability, Swap
from scorecube.analyses.preparation import make_table
from scorecube.kernels.random.draws import Sampling
from scorecube.names import Purpose
from scorecube.workflow.api import analyse, cube_from_scores, import_scores
from tests.given_samples import analyse_given
from tests.kernels.random.test_draws import plain_samples
from tests.oracles.swap import SwapCounts, count_orders, count_swaps, required_suffix, share

FILES = {"AP": "ap.csv", "P@10": "p10.csv", "RR": "rr.csv"}
RULES = ("s0", "s1")
GRID = 1e-6
"""Scores move by 2e-7 of their range."""

Table = list[list[Fraction]]


def paper_swap(**options: Any) -> Swap:
    """Return the record with the papers' 21 bins, of which the last is open, and rule."""
    settings: dict[str, Any] = {"bins": 21, "required": "suffix"}
    return Swap(**(settings | options))


def make_cube(scores: Any) -> xr.Dataset:
    """Return a cube of one metric: runs a, b, ... on topics 000, 001, ..."""
    runs = [chr(ord("a") + k) for k in range(len(scores))]
    topics = [f"{k:03d}" for k in range(len(scores[0]))]
    return cube_from_scores({"AP": pd.DataFrame(scores, index=runs, columns=topics, dtype=float)})


def n_bins(swap: Swap) -> int:
    """Return the stated number of bins."""
    assert swap.bins != "auto"
    return swap.bins


def sample_positions(cube: xr.Dataset, swap: Swap, seed: int, trials: int) -> Any:
    """Return the topics that are drawn, as the oracle takes them."""
    return sc.samples(cube, swap, trials=trials, seed=seed)["topic_sample"].values.tolist()


def assert_agrees(result: xr.Dataset, expected: SwapCounts, swap: Swap) -> None:
    """Compare the result of one metric with the oracle."""
    swaps = expected.swaps_s0 if swap.rule == "s0" else expected.swaps_s1
    assert result["count"].values.tolist() == expected.count
    assert result["swaps"].values.tolist() == swaps
    assert float(result["max_performance"]) == pytest.approx(
        float(expected.max_performance), abs=GRID
    )
    rates = [
        float(Fraction(*pair)) if pair[1] else math.nan
        for pair in zip(swaps, expected.count, strict=True)
    ]
    np.testing.assert_array_equal(result["swap_rate"].values, rates)
    for confidence in swap.confidence:
        row = result.sel(confidence=confidence)
        accepted = 1 - Fraction(str(confidence))
        required = required_suffix(expected.count, swaps, accepted)
        assert_equal(row["required_difference"], required)
        assert_equal(row["share"], None if required is None else share(expected, required))
        if required is None:
            assert np.isnan(row["relative_difference"])
        elif expected.max_performance != 0:
            relative = float(required / expected.max_performance)
            assert float(row["relative_difference"]) == pytest.approx(relative, rel=1e-5)


def assert_equal(found: xr.DataArray, expected: Fraction | None) -> None:
    """Compare one number with the nearest float of an exact one; None stands for missing."""
    np.testing.assert_array_equal(found.values, math.nan if expected is None else float(expected))


def as_cube(tables: dict[str, Table]) -> xr.Dataset:
    """Return a cube of rational scores, rounded to floats as any file reader would."""
    frames = {}
    for metric, table in tables.items():
        runs, topics = (
            [f"r{k:02d}" for k in range(len(table))],
            [f"t{k:02d}" for k in range(len(table[0]))],
        )
        frames[metric] = pd.DataFrame(
            [[float(score) for score in row] for row in table], index=runs, columns=topics
        )
    # A stated range, as -1 may be a code for no score; without it the analyses decide.
    stated = cube_from_scores(frames, ranges=dict.fromkeys(frames, (-1e12, 1e12)))
    return stated.drop_vars(["score_low", "score_high"])


def read_exactly(path: Path, runs: list[str]) -> Table:
    """Return the decimal texts of a score matrix as fractions, runs in the order asked for."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    column = {run: k for k, run in enumerate(header)}
    return [[Fraction(row[column[run]]) for row in rows] for run in runs]


@pytest.mark.data
@pytest.mark.parametrize(
    ("swap", "trials"),
    [
        (paper_swap(sampling="disjoint", size=25), 30),
        (paper_swap(sampling="replacement", size=50), 30),
        (paper_swap(sampling="independent", size=17), 20),
    ],
    ids=["disjoint", "replacement", "independent"],
)
def test_every_bin_of_real_runs_is_exact(data: Path, swap: Swap, trials: int) -> None:
    folder = data / "adhoc5"
    if not folder.is_dir():
        pytest.skip("the TREC-5 ad hoc score matrices are not among the third-party collections")
    cube = import_scores([folder / name for name in FILES.values()])
    runs, topics = (
        [str(run) for run in cube["run"].values],
        [str(topic) for topic in cube["topic"].values],
    )
    assert (len(runs), topics[0], topics[-1]) == (61, "01", "50")
    drawn = sample_positions(cube, swap, 5, trials)
    exact = {
        metric: count_swaps(read_exactly(folder / name, runs), drawn)
        for metric, name in FILES.items()
    }
    # The comparison means something only where ties and edges occur.
    assert exact["P@10"].both_zero > 0
    assert any(
        units and (units * exact["P@10"].unit * 100).denominator == 1
        for units in exact["P@10"].differences
    )
    for rule in RULES:
        ruled = paper_swap(sampling=swap.sampling, size=swap.size, rule=rule)
        result = analyse(cube, ruled, trials=trials, seed=5, workers=1)
        for metric, expected in exact.items():
            assert_agrees(result.sel(metric=metric, gain="auto").isel(size=0), expected, ruled)


FAMILIES = {
    "tenths": [Fraction(k, 10) for k in range(11)],
    "thirds": [Fraction(k, 3) for k in range(4)],
    "reciprocal ranks": [Fraction(0), *(Fraction(1, rank) for rank in range(1, 11))],
    "bin edges": [Fraction(k, 100) for k in (0, 1, 2, 7, 19, 20, 21, 29, 57, 58, 100)],
    "four decimals": [Fraction(k, 10000) for k in (0, 1, 99, 100, 101, 3333, 6667, 9999, 10000)],
    "ties": [Fraction(0), Fraction(1)],
    "negative": [Fraction(k, 10) for k in range(-10, 11)],
    "three decimals": [Fraction(k, 1000) for k in (0, 1, 3, 333, 500, 667, 999, 1000)],
}


@dataclass(frozen=True)
class Case:
    """Scores, options and a seed."""

    tables: dict[str, Table]
    swap: Swap
    trials: int
    seed: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw small tables of discrete scores, where ties, edges and empty bins are common."""
    n_runs, n_topics = draw(st.integers(2, 5)), draw(st.integers(2, 7))
    tables = {
        f"m{k}": draw(
            st.lists(st.lists(st.sampled_from(values), min_size=n_topics, max_size=n_topics), min_size=n_runs, max_size=n_runs)
        )
        for k, values in enumerate(draw(st.lists(st.sampled_from(list(FAMILIES.values())), min_size=1, max_size=2)))
    }  # fmt: skip
    sampling = draw(st.sampled_from(["disjoint", "replacement", "independent"]))
    largest = {"disjoint": n_topics // 2, "replacement": 2 * n_topics, "independent": n_topics}[
        sampling
    ]
    swap = paper_swap(
        sampling=sampling,
        size=draw(st.integers(1, largest)),
        rule=draw(st.sampled_from(RULES)),
        confidence=draw(st.sampled_from([(0.95, 0.9, 0.8), (0.5,), (0.75, 0.25)])),
        bins=draw(st.sampled_from([2, 5, 21])),
    )
    return Case(tables, swap, draw(st.integers(1, 12)), draw(st.integers(0, 2**64 - 1)))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_drawn_trials_of_discrete_scores_are_exact(case: Case) -> None:
    cube = as_cube(case.tables)
    drawn = sample_positions(cube, case.swap, case.seed, case.trials)
    result = analyse(cube, case.swap, trials=case.trials, seed=case.seed, workers=1)
    for metric, table in case.tables.items():
        expected = count_swaps(table, drawn, n_bins(case.swap))
        assert_agrees(result.sel(metric=metric, gain="auto").isel(size=0), expected, case.swap)


def own_samples(swap: Swap, cube: xr.Dataset, trials: int, seed: int) -> dict[Any, Any]:
    """Draw the samples of every pair with NumPy's generator, each pair from a stream of its own."""
    n_runs, n_topics = cube.sizes["run"], cube.sizes["topic"]
    (size,) = swap.sizes(make_table(cube))
    pairs = [(x, y) for y in range(n_runs) for x in range(y)]
    purpose = int(Purpose.SWAP_PAIRS)
    return {
        pair: [
            plain_samples(Sampling[str(swap.sampling).upper()], n_topics, size, t, seed, purpose, k)
            for t in range(trials)
        ]
        for k, pair in enumerate(pairs)
    }


@settings(max_examples=40)
@given(case=cases())
def test_samples_of_every_pair_are_exact(case: Case) -> None:
    cube, swap = as_cube(case.tables), replace(case.swap, share="none")
    samples = own_samples(swap, cube, case.trials, case.seed)
    result = analyse(cube, swap, trials=case.trials, seed=case.seed, workers=1, block_units=5)
    for metric, scores in case.tables.items():
        expected = count_swaps(scores, samples, n_bins(swap))
        assert_agrees(result.sel(metric=metric, gain="auto").isel(size=0), expected, swap)
    trials = [[set(half) for half in trial] for each in samples.values() for trial in each]
    assert float(result["unique"].isel(size=0)) == pytest.approx(
        np.mean([len(half) for trial in trials for half in trial])
    )
    assert float(result["common"].isel(size=0)) == pytest.approx(
        np.mean([len(first & second) for first, second in trials])
    )


@settings(max_examples=100)
@given(case=cases(), fuzziness=st.sampled_from([(0.05,), (0.0, 0.1), (0.5, 0.25, 0.2)]))
def test_orders_are_exact(case: Case, fuzziness: tuple[float, ...]) -> None:
    cube = as_cube(case.tables)
    stability = Stability(sampling=case.swap.sampling, size=case.swap.size, fuzziness=fuzziness)
    # The trials are those of the swap method with the same seed.
    drawn = sample_positions(cube, case.swap, case.seed, case.trials)
    samples = [first for first, _ in drawn]
    result = analyse(cube, stability, trials=case.trials, seed=case.seed, workers=1, block_units=5)
    runs = [str(run) for run in cube["run"].values]
    for metric, scores in case.tables.items():
        for fuzzy in fuzziness:
            at = result.sel(metric=metric, gain="auto", fuzziness=fuzzy).isel(size=0)
            expected = count_orders(scores, samples, Fraction(str(fuzzy)))
            for k in range(at.sizes["pair"]):
                pair = at.isel(pair=k)
                x, y = runs.index(str(pair["run_a"].item())), runs.index(str(pair["run_b"].item()))
                found = tuple(
                    int(pair[name]) for name in ("first_better", "second_better", "equal")
                )
                assert found == expected[x, y]
            orders = list(expected.values())
            total = case.trials * len(orders)
            assert float(at["error_rate"]) == pytest.approx(
                sum(min(a, b) for a, b, _ in orders) / total
            )
            assert float(at["ties"]) == pytest.approx(sum(equal for _, _, equal in orders) / total)


def test_a_difference_of_exactly_the_fuzzy_share_is_no_tie() -> None:
    cube = make_cube([[0.95, 0.96], [1.0, 1.0]])
    result = analyse_given(cube, Stability(size=1), [[[0], [1]]])
    assert int(result["second_better"].sum()) == 1
    turned = analyse_given(cube, Stability(size=1), [[[1], [0]]])
    assert int(turned["equal"].sum()) == 1

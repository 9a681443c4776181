"""Relations between results of scores of any size, for every analysis: scaled scores, and topics on which all runs have more.

An analysis that has a law under "scores are halved" or "topics become easier" (`test_metamorphic.py`) obeys it over the whole range of scores, or refuses
with a message that states the limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.collection.score_range import LARGEST_SCORE, SMALLEST_MAXIMUM
from scorecube.errors import BadInput, BadPlan
from scorecube.workflow.api import cube_from_scores
from tests.analyses.metamorphic import MANY_SETS, SCALE, TRIALS, Case, Law, Relation
from tests.analyses.test_metamorphic import RELATIONS

Floats = np.ndarray[Any, np.dtype[np.float64]]
SCALED, EASIER = RELATIONS["scores are halved"], RELATIONS["topics become easier"]
LIMITS = r"too little of the range|cannot hold both|means of samples of .* hold differences down to .* is needed"
"""What a refusal says."""
N_RUNS, METRICS, STEP = 6, ("m1", "m2"), 2.0**-12
REFUSED, COARSE = 6.0, 2.5
"""Powers of ten of scores above which an analysis may refuse differences of 0.1: by exact sums, and on the one grid."""
ON_GRID = (
    *("maxt", "leaderboard", "board", "paired", "reliability", "bootstrap", "randomisation"),
    *("tukey", "swap", "stability"),
)
BLIND = 1e-2
"""Part of a standard error by which a mean may be rounded."""
APART = 3 * BLIND
"""Standard errors between the means of two runs: each may be rounded by `BLIND` of one."""
CLOSE, MOVED = 1e-6, 0.1
"""Relative difference of numbers that are close, and the largest share of values that may be missing on one side only."""
STEPS = ("required_", "share", "open_bin")
"""Variables that one comparison of two runs can move from one bin to another."""
OF_REPLICATES = ("tau_low", "tau_high")
"""Ends of jackknife limits: missing where one replicate has tau 1, which one rounded mean decides."""
RESOLVED = 2.0
"""Power of ten of scores up to which the grid resolves single comparisons of a few topics."""
COUNTED = ("swap", "stability", "correlate", "judges")
"""Analyses whose numbers are counts of such comparisons: runs within the rounding of the grid are tied."""


ALL = 8.0
"""Power of ten up to which all topics may become easier: beyond, differences of 0.1 come of rounding where scores were computed."""
SLOW = {"judges": 60, "reliability": 60}
"""Most topics of analyses whose time grows faster than their number."""


def with_laws(relation: Relation, without: Collection[str] = ()) -> list[Any]:
    """Return the names of the analyses that have a law, as parameters of tests."""
    names = [name for name, law in relation.laws.items() if isinstance(law, Law)]
    return [
        pytest.param(name, marks=pytest.mark.slow) if name == "judges" else name
        for name in names
        if name not in without
    ]


def separated(scores: Floats) -> bool:
    """Whether the means of all pairs of runs differ by more than their rounding, which would decide some in another way."""
    first, second = np.triu_indices(len(scores), 1)
    differences = scores[first] - scores[second]
    errors = differences.std(axis=1, ddof=1) / math.sqrt(scores.shape[1])
    return bool((np.abs(differences.mean(axis=1)) > APART * errors).all())


def drawn(name: str, n: int, seed: int, spread: float) -> list[Floats]:
    """Return scores (metric, run, topic) of about 1, up to 10 ** spread, for each set of judgements: multiples of `STEP`."""
    chance, found = np.random.default_rng(seed), []
    for _ in range(3 if name == MANY_SETS else 1):
        metrics: list[Floats] = []
        easy, times = chance.random((len(METRICS), n)), 10.0 ** chance.uniform(0.0, spread, n)
        while len(metrics) < len(METRICS):
            scores = easy[len(metrics)] + chance.normal(0.0, 0.1, (N_RUNS, n))
            scores += chance.normal(0.0, 0.05, (N_RUNS, 1))
            scores = np.rint(scores * times / STEP) * STEP
            if separated(scores):
                metrics.append(scores)
        found.append(np.stack(metrics))
    return found


def result_of(name: str, sets: list[Floats]) -> xr.Dataset:
    """Return the result of scores."""
    runs = [f"team{k // 2}-run{k % 2}" for k in range(N_RUNS)]
    topics = [f"{k:04d}" for k in range(sets[0].shape[-1])]
    frames = [
        {
            label: pd.DataFrame(each, runs, topics)
            for label, each in zip(METRICS, scores, strict=True)
        }
        for scores in sets
    ]
    teams = {run: run[:5] for run in runs}
    cubes = tuple(cube_from_scores(each, teams=teams) for each in frames)
    return Case(name, cubes).result()


def scaled_law(law: Law, scale: float) -> Law:
    """Return the law of halved scores for another factor."""
    times = {name: scale ** math.log(factor, SCALE) for name, factor in law.times.items()}
    return replace(law, times=times)


def equal(one: Any, other: Any, name: str) -> None:
    """Compare integers exactly, and other numbers up to `CLOSE`."""
    if one.dtype.kind == "f":
        np.testing.assert_allclose(one, other, rtol=CLOSE, err_msg=name)
    else:
        np.testing.assert_array_equal(one, other, err_msg=name)


def near(one: Any, other: Any, name: str) -> None:
    """Compare numbers on average: a mean may be rounded by `BLIND` of its standard error, which decides some comparisons in another way."""
    if name.startswith(STEPS) or name in OF_REPLICATES or one.dtype.kind not in "biuf":
        return
    few = BLIND * (TRIALS if one.dtype.kind != "f" else 1)
    one, other = (np.asarray(each, float) for each in (one, other))
    both = np.isfinite(one) & np.isfinite(other)
    assert (np.isnan(one) != np.isnan(other)).mean() <= MOVED, name
    one, other = one[both], other[both]
    if len(one):
        change, size = np.abs(one - other), np.abs(other)
        assert change.mean() <= few + 3 * BLIND * (size.mean() + size.max()), name


def check(law: Law, found: xr.Dataset, expected: xr.Dataset, compare: Callable[..., None]) -> None:
    """Compare the variables that the law names."""
    wanted, compared = law.applied(expected), 0
    for name in map(str, wanted.data_vars):
        if name not in law.free and (not law.kept or name in law.kept):
            compare(found[name].values, wanted[name].values, name)
            compared += 1
    assert compared


def check_scaled(name: str, n: int, seed: int, spread: float, power: int) -> None:
    """Scores times a power of two, within the range of scores: what is in their unit is scaled, nothing else changes."""
    sets = drawn(name, n, seed, spread)
    largest = max(float(np.abs(each).max()) for each in sets)
    scale = 2.0 ** min(power, math.floor(math.log2(LARGEST_SCORE / largest)))
    assert largest * scale > SMALLEST_MAXIMUM
    law = SCALED.laws[name]
    assert isinstance(law, Law)
    found = result_of(name, [each * scale for each in sets])
    # The grid of scores without a range has a decimal unit.
    check(scaled_law(law, scale), found, result_of(name, sets), near if name in ON_GRID else equal)


def check_easier(name: str, n: int, seed: int, size: float) -> None:
    """All runs have up to 10 ** size more, on all topics or on one: differences do not change, or are refused."""
    sets, chance = drawn(name, n, seed, 0.0), np.random.default_rng(seed)
    more = 10.0 ** chance.uniform(0.0, size, n) if size <= ALL else 10.0**size * (np.arange(n) == 3)
    more = np.rint(more / STEP) * STEP
    try:
        found = result_of(name, [each + more for each in sets])
    except (BadPlan, BadInput) as error:
        if size > (COARSE if name in (*ON_GRID, *COUNTED) else REFUSED) and re.search(
            LIMITS, str(error)
        ):
            return
        raise
    if name in COUNTED and size > RESOLVED:
        return
    law = EASIER.laws[name]
    assert isinstance(law, Law)
    found, expected = EASIER.view(found, result_of(name, sets))
    check(law, found, expected, near)


TOPICS = st.sampled_from([12, 60, 400, 3000])
SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("name", with_laws(SCALED))
@settings(derandomize=True)
@given(n=TOPICS, seed=SEEDS, spread=st.sampled_from([0.0, 2.0, 5.0]), power=st.integers(-39, 39))
def test_a_power_of_two_scales_results(
    name: str, n: int, seed: int, spread: float, power: int
) -> None:
    check_scaled(name, min(n, SLOW.get(name, n)), seed, spread, power)


@pytest.mark.parametrize("name", with_laws(EASIER))
@settings(derandomize=True)
@given(n=TOPICS, seed=SEEDS, size=st.floats(0.0, ALL) | st.floats(ALL, 11.5))
def test_topics_that_become_easier_change_no_difference(
    name: str, n: int, seed: int, size: float
) -> None:
    check_easier(name, min(n, SLOW.get(name, n)), seed, size)


@pytest.mark.slow
@pytest.mark.parametrize("name", with_laws(EASIER, without=SLOW))
def test_many_topics(name: str) -> None:
    """See also `test_a_million_topics` of tests of pairs."""
    for power in (-39, 30):
        check_scaled(name, 100_000, 1, 2.0, power)
    for size in (3.0, 11.0):
        check_easier(name, 100_000, 2, size)
